//! Which words a run's line gives: those that later work most likely needs.
//!
//! A word counts by how many pages hold it, more where the model itself said it, less the longer
//! ago that was and the more tokens it takes. What still stands in full elsewhere is not repeated.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::Folding;
use crate::{
    Level, PageIndex,
    storage::{Citation, CitationDetail},
    window::{
        keywords::{Keyword, KeywordChoice, is_number_like},
        outline::Shape,
        plan::{BlockContent, Item},
    },
};

/// How many names of a numbered series a line gives.
const SERIES: usize = 2;

/// How often and how lately a word occurred.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Use {
    messages: u32,
    said: u32,
    last: usize,
}

impl Folding<'_> {
    /// Chooses words of a range of pages and runs, for at most so many tokens.
    pub(super) fn choose_words(&self, range: Range<usize>, most: u64) -> Vec<Citation> {
        let uses = self.uses.get_or_init(|| self.count_uses());
        let mut visible: HashSet<u64> = HashSet::new();
        for (at, item) in self.items.iter().enumerate() {
            if !range.contains(&at) {
                visible.extend(self.shown_words(item).map(|word| word.hash));
            }
        }
        let mut candidates: Vec<Candidate<'_>> = Vec::new();
        let mut seen: HashSet<u64> = HashSet::new();
        // The latest mention speaks for a word.
        for item in self.items[range.clone()].iter().rev() {
            self.candidates(item, &mut |candidate| {
                if !visible.contains(&candidate.word.hash) && seen.insert(candidate.word.hash) {
                    candidates.push(candidate);
                }
            });
        }
        let now = self.items.len();
        let mut scored: Vec<(u64, usize)> = Vec::with_capacity(candidates.len());
        for (at, candidate) in candidates.iter().enumerate() {
            let used = uses.get(&candidate.word.hash).copied().unwrap_or_default();
            // Hashes and ids that nobody used again are noise.
            if used.messages < 2 && used.said == 0 && is_number_like(&candidate.word.text) {
                continue;
            }
            scored.push((score(candidate.word, used, now), at));
        }
        scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        // What a line gives already is not given again, nor as a part of something longer.
        let mut choice = KeywordChoice::new(self.given(&range), most);
        let mut series: HashMap<String, usize> = HashMap::new();
        for (_, at) in scored {
            if choice.is_full() {
                break;
            }
            let word = candidates[at].word;
            // Of a numbered series two say what it is.
            if word.text.contains(|c: char| c.is_ascii_digit()) {
                let stem = word.text.replace(|c: char| c.is_ascii_digit(), "");
                let seen = series.entry(stem).or_default();
                *seen += 1;
                if *seen > SERIES {
                    continue;
                }
            }
            choice.offer(at, &word.text, u64::from(word.tokens));
        }
        cite(&candidates, choice.taken())
    }

    /// Returns what the lines outside a range say.
    fn given(&self, range: &Range<usize>) -> String {
        let mut given = String::new();
        for (at, item) in self.items.iter().enumerate() {
            let line = match &item.block_content {
                BlockContent::Line(line) | BlockContent::Folded { line: Some(line), .. } => line,
                _ => continue,
            };
            if !range.contains(&at) {
                given.push_str(line);
                given.push('\n');
            }
        }
        given
    }

    /// Counts the words of all pages that are known to this window, before any is folded.
    fn count_uses(&self) -> HashMap<u64, Use> {
        let mut uses: HashMap<u64, Use> = HashMap::new();
        for (at, item) in self.items.iter().enumerate() {
            self.candidates(item, &mut |candidate| {
                let used = uses.entry(candidate.word.hash).or_default();
                used.messages += candidate.word.messages;
                used.said += candidate.word.said;
                used.last = at;
            });
        }
        uses
    }

    /// Returns the words that stand in the window in full.
    ///
    /// What stands in parts only that may have been cut is not taken to stand.
    fn shown_words<'s>(&'s self, item: &'s Item) -> impl Iterator<Item = &'s Keyword> {
        let full = item.block.as_page().is_some_and(|shape| shape.level == Level::Full);
        let limit = item.body().and_then(|body| body.limit);
        // A token has about three bytes.
        let sure = limit.map_or(u64::MAX, |limit| limit.0.saturating_mul(3));
        let words = if full { self.ground.quotes.of(&item.block.page) } else { &[] };
        words.iter().filter(move |word| word.part <= sure)
    }

    fn candidates<'s>(&'s self, item: &'s Item, each: &mut dyn FnMut(Candidate<'s>)) {
        let quotes = self.ground.quotes;
        match &item.block.shape {
            Shape::Page(_) => {
                let page = &item.block.page.index;
                for (rank, word) in quotes.of(&item.block.page).iter().enumerate() {
                    each(Candidate { page, rank, word });
                }
            }
            Shape::Run(run) => {
                let within = quotes.in_runs.get(&run.from).map_or(&[][..], Vec::as_slice);
                for page in within {
                    for (rank, word) in quotes.of(page).iter().enumerate() {
                        each(Candidate { page: &page.index, rank, word });
                    }
                }
                let known = |index: &PageIndex| within.iter().any(|page| page.index == *index);
                for cited in run.cited.iter().filter(|cited| !known(&cited.page)) {
                    let Some(page) = quotes.pages.get(&cited.page) else { continue };
                    let words = quotes.of(page);
                    for rank in cited.words.iter().map(|&rank| usize::from(rank)) {
                        let Some(word) = words.get(rank) else { continue };
                        each(Candidate { page: &cited.page, rank, word });
                    }
                }
            }
        }
    }
}

/// A word that may be given.
struct Candidate<'a> {
    page: &'a PageIndex,
    rank: usize,
    word: &'a Keyword,
}

/// Scores a word, in whole numbers: logarithms of a machine's own would differ from another's.
fn score(word: &Keyword, used: Use, now: usize) -> u64 {
    let weight = logarithm(1 + 4 * u64::from(used.said) + u64::from(used.messages));
    let age = logarithm(4 + (now - used.last.min(now)) as u64);
    let length = (u64::from(word.tokens.max(1)) * 1_000_000).isqrt();
    weight * 1_000_000_000 / length / age
}

/// Returns a thousand times the binary logarithm; between powers of two it is a straight line.
fn logarithm(number: u64) -> u64 {
    let number = number.clamp(1, 1 << 32);
    let doublings = u64::from(number.ilog2());
    let between = ((number << 10) >> doublings) - 1_024;
    doublings * 1_000 + between * 1_000 / 1_024
}

/// Groups the words taken by page, in the order of the pages.
fn cite(candidates: &[Candidate<'_>], mut taken: Vec<usize>) -> Vec<Citation> {
    // Candidates run from the last page to the first.
    taken.sort_unstable_by(|a, b| b.cmp(a));
    let mut cited: Vec<Citation> = Vec::new();
    for at in taken {
        let candidate = &candidates[at];
        let Ok(rank) = u16::try_from(candidate.rank) else { continue };
        match cited.last_mut() {
            Some(last) if last.page == *candidate.page => last.words.push(rank),
            _ => cited.push(Citation {
                page: candidate.page.clone(),
                told: CitationDetail::Nothing,
                words: vec![rank],
            }),
        }
    }
    cited.iter_mut().for_each(|cited| cited.words.sort_unstable());
    cited
}
