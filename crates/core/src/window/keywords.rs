//! What later work needs most of a page: the strings that tell what it was about, found without a
//! model, in any script.
//!
//! ```text
//!  messages ──► sources ──► scan · grams ──► candidates ──► the best
//!               text and     words, quotes,   one per        by score, none
//!               its place    repeated runs    string         within another
//! ```
//!
//! Everything is counted in whole numbers, so that the same messages give the same strings on any
//! machine. Work is bounded: of a large part only both ends are read.

mod choice;
mod grams;
mod kind;
mod names;
mod scan;

use std::{borrow::Cow, cmp::Reverse, collections::HashMap};

pub(crate) use choice::KeywordChoice;
use kind::Kind;
pub(crate) use names::is_number_like;

use super::trim::is_result;
use crate::{
    Message, Role,
    message::{Part, ToolResult},
};

/// What the score of a string is made of: kind × place × frequency × length.
mod weight {
    // Kinds: what sort of string it is.
    pub(super) const PATH: u64 = 100;
    pub(super) const ERROR: u64 = 95;
    pub(super) const EMAIL: u64 = 90;
    pub(super) const ID: u64 = 80;
    pub(super) const IDENTIFIER: u64 = 75;
    pub(super) const URL: u64 = 70;
    pub(super) const FULL_NAME: u64 = 65;
    pub(super) const QUOTED: u64 = 60;
    pub(super) const FUNCTION: u64 = 55;
    pub(super) const NUMBER: u64 = 50;
    pub(super) const VERSION: u64 = 45;
    pub(super) const NAME: u64 = 45;
    pub(super) const GRAM: u64 = 40;
    pub(super) const ACRONYM: u64 = 25;
    pub(super) const WORD: u64 = 15;

    // Places: where it stands.
    pub(super) const ARGUMENTS: u64 = 30;
    pub(super) const ASSISTANT: u64 = 28;
    pub(super) const USER: u64 = 22;
    pub(super) const FAILED_RESULT: u64 = 18;
    pub(super) const RESULT: u64 = 10;
    pub(super) const SYSTEM: u64 = 8;

    /// Frequency: once, and what each doubling adds; together 1 + ln of the count.
    pub(super) const ONCE: u64 = 256;
    pub(super) const DOUBLING: u64 = 177;

    /// Length: every string has this, and one more for each character up to a bound.
    pub(super) const LENGTH_BASE: u64 = 12;
    pub(super) const LENGTH_MOST: u64 = 24;
}

/// The longest string given, in characters.
const LONGEST: usize = 80;

/// Against how many of the best a further one is compared.
const COMPARED: usize = 24;

/// How much of each end of a part is read.
const END: usize = 64 * 1024;

/// Returns the most telling strings of a page's messages, the best first, at most `most`.
///
/// Each is one line of at most 80 characters, and none is contained in one before it.
pub(crate) fn top_keywords(messages: &[Message], most: usize) -> Vec<String> {
    let sources = sources(messages);
    let mut candidates = Candidates::default();
    candidates.read(&sources);
    candidates.best(most).into_iter().map(|candidate| candidate.text.to_owned()).collect()
}

/// Returns what a line may quote of one text that is cut: names in it, those that stand most often
/// first, then by the telling strings in scripts without blanks; at most `most`.
pub(crate) fn top_keywords_of_text(text: &str, most: usize) -> Vec<String> {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    let mut by_text: HashMap<&str, usize> = HashMap::new();
    for text in ends(text) {
        names::names(text, &mut |name| {
            let next = counts.len();
            let at = *by_text.entry(name).or_insert(next);
            if at == next {
                counts.push((name, 0));
            }
            counts[at].1 += 1;
        });
    }
    // Long names take more room than they are worth, so that counts are weighed by length.
    let worth = |&(name, count): &(&str, u32)| {
        Reverse(frequency(u64::from(count)) * 1_000 / (name.len() as u64).isqrt().max(1))
    };
    counts.sort_by_key(worth);
    counts.into_iter().take(most).map(|(name, _)| name.to_owned()).collect()
}

/// A telling string of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keyword {
    /// The string.
    pub text: Box<str>,
    /// Names it: equal strings have equal names.
    pub hash: u64,
    /// In how many of the page's messages it stands.
    pub messages: u32,
    /// In how many the model itself said it, in its text or its calls.
    pub said: u32,
    /// About how many tokens it takes.
    pub tokens: u32,
    /// The bytes of the smallest part it stands in, results counted four times: where parts are
    /// cut, it is not sure to be seen.
    pub part: u64,
}

/// How many words of a page are known; lines choose among them.
const KNOWN: usize = 1_024;

/// How many of a page's words are telling strings in scripts without blanks.
const GRAMS: usize = 24;

/// Returns what a line may quote of a page, the most telling first.
pub(crate) fn words(messages: &[Message]) -> Vec<Keyword> {
    let mut words: Vec<Keyword> = Vec::new();
    // Only looked into, never walked: its order is no one's.
    let mut by_text: HashMap<String, (usize, usize)> = HashMap::new();
    for (number, message) in messages.iter().enumerate() {
        let said = message.role == Role::Assistant;
        for source in sources(std::slice::from_ref(message)) {
            names::names(&source.text, &mut |name| {
                if let Some((at, last)) = by_text.get_mut(name) {
                    words[*at].part = words[*at].part.min(source.size);
                    if *last != number {
                        *last = number;
                        words[*at].messages += 1;
                        words[*at].said += u32::from(said);
                    }
                } else if words.len() < KNOWN {
                    by_text.insert(name.to_owned(), (words.len(), number));
                    words.push(Keyword { part: source.size, ..Keyword::of(name, said) });
                }
            });
        }
    }
    if messages.iter().any(has_other_script) {
        let grams = top_keywords(messages, KNOWN).into_iter().filter(|text| !text.is_ascii());
        words.extend(grams.take(GRAMS).map(|text| Keyword::of(&text, false)));
    }
    // The model's own words first, then what stands in most messages, then in order.
    words.sort_by_key(|word| Reverse((word.said, word.messages)));
    words
}

/// Tells whether much of a message is written without blanks.
fn has_other_script(message: &Message) -> bool {
    let wide = |text: &str| text.chars().take(2_000).filter(|c| *c >= '\u{2e80}').count() > 20;
    message.parts.iter().any(|part| matches!(part, Part::Text(text) if wide(&text.text)))
}

impl Keyword {
    fn of(text: &str, said: bool) -> Self {
        let hash = blake3::hash(text.as_bytes());
        let mut name = [0; 8];
        name.copy_from_slice(&hash.as_bytes()[..8]);
        let chars = text.chars().count();
        // About four characters make a token in names and paths, one in scripts without blanks;
        // what has blanks stands in quotes.
        let quotes = if text.contains(' ') { 2 } else { 0 };
        let tokens = if text.is_ascii() { chars.div_ceil(4) + quotes } else { chars };
        Self {
            text: text.into(),
            hash: u64::from_le_bytes(name),
            part: u64::MAX,
            messages: 1,
            said: u32::from(said),
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
        }
    }
}

/// A text, and what a string is worth that stands in it.
struct Source<'a> {
    text: Cow<'a, str>,
    place: u64,
    /// The bytes of the whole part, results counted four times.
    size: u64,
}

fn sources(messages: &[Message]) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    for message in messages {
        let place = match message.role {
            Role::System => weight::SYSTEM,
            Role::User => weight::USER,
            Role::Assistant => weight::ASSISTANT,
            Role::Tool => weight::RESULT,
        };
        // What a tool gave back is worth as much in a user message.
        let place = if is_result(message) { weight::RESULT } else { place };
        for part in &message.parts {
            add_part(&mut sources, part, place);
        }
    }
    sources
}

fn add_part<'a>(sources: &mut Vec<Source<'a>>, part: &'a Part, place: u64) {
    match part {
        Part::Text(text) => {
            let size = text.text.len() as u64 * if place == weight::RESULT { 4 } else { 1 };
            for text in ends(&text.text) {
                sources.push(Source { text: text.into(), place, size });
            }
        }
        Part::ToolCall(call) => {
            for text in ends(&call.arguments) {
                let size = call.arguments.len() as u64;
                sources.push(Source { text: read_escapes(text), place: weight::ARGUMENTS, size });
            }
        }
        Part::ToolResult(ToolResult { content, error, .. }) => {
            let place = if *error { weight::FAILED_RESULT } else { weight::RESULT };
            for part in content {
                add_part(sources, part, place);
            }
        }
        // What is opaque is not read: no one wrote it for later.
        Part::Image(_) | Part::Thinking(_) | Part::Other(_) => {}
    }
}

/// Returns the text, or both ends of a large one.
fn ends(text: &str) -> impl Iterator<Item = &str> {
    let (head, tail) = if text.len() <= 2 * END {
        (text, None)
    } else {
        let tail = &text[text.ceil_char_boundary(text.len() - END)..];
        (&text[..text.floor_char_boundary(END)], Some(tail))
    };
    [Some(head), tail].into_iter().flatten()
}

/// Reads the escapes of JSON text, so that `\n` does not begin a word with an `n`.
///
/// A quote within a string becomes a space, for it would end the string.
fn read_escapes(json: &str) -> Cow<'_, str> {
    if !json.contains('\\') {
        return json.into();
    }
    let mut text = String::with_capacity(json.len());
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('\\') => text.push('\\'),
            Some('/') => text.push('/'),
            Some('u') => {
                let code =
                    chars.as_str().get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                text.push(code.and_then(char::from_u32).filter(|c| *c != '"').unwrap_or(' '));
                if code.is_some() {
                    chars = chars.as_str()[4..].chars();
                }
            }
            Some('n' | 'r') => text.push('\n'),
            _ => text.push(' '),
        }
    }
    text.into()
}

/// The strings found so far, each once, in order of their first occurrence.
#[derive(Default)]
struct Candidates<'a> {
    found: Vec<Candidate<'a>>,
    // Only looked into, never walked: its order is no one's.
    by_text: HashMap<&'a str, usize>,
}

struct Candidate<'a> {
    text: &'a str,
    kind: Kind,
    place: u64,
    count: u64,
}

impl<'a> Candidates<'a> {
    fn read(&mut self, sources: &'a [Source<'_>]) {
        for source in sources {
            scan::scan(&source.text, &mut |text, kind| self.add(text, kind, source.place, 1));
        }
        grams::find(sources, &mut |text, place, count| {
            self.at_least(text, Kind::Gram, place, count);
        });
    }

    /// Notes so many further occurrences.
    fn add(&mut self, text: &'a str, kind: Kind, place: u64, count: u64) {
        self.entry(text, kind, place).count += count;
    }

    /// Notes that there are at least so many occurrences.
    fn at_least(&mut self, text: &'a str, kind: Kind, place: u64, count: u64) {
        let entry = self.entry(text, kind, place);
        entry.count = entry.count.max(count);
    }

    fn entry(&mut self, text: &'a str, kind: Kind, place: u64) -> &mut Candidate<'a> {
        let next = self.found.len();
        let at = *self.by_text.entry(text).or_insert(next);
        if at == next {
            self.found.push(Candidate { text, kind, place, count: 0 });
        }
        let entry = &mut self.found[at];
        entry.place = entry.place.max(place);
        if kind.weight() > entry.kind.weight() {
            entry.kind = kind;
        }
        entry
    }

    fn best(&self, most: usize) -> Vec<&Candidate<'a>> {
        let mut order: Vec<(Reverse<u64>, usize)> = self
            .found
            .iter()
            .enumerate()
            .filter(|(_, candidate)| candidate.count >= candidate.kind.least_count())
            .map(|(at, candidate)| (Reverse(candidate.score()), at))
            .collect();
        order.sort_unstable();
        let mut best: Vec<&Candidate<'a>> = Vec::new();
        for (_, at) in order {
            if best.len() == most {
                break;
            }
            let candidate = &self.found[at];
            // Only the best are looked through: they are what most lines quote.
            let contained = |better: &&Candidate<'_>| better.text.contains(candidate.text);
            if !best.iter().take(COMPARED).any(contained) {
                best.push(candidate);
            }
        }
        best
    }
}

impl Candidate<'_> {
    fn score(&self) -> u64 {
        let chars = self.text.chars().count() as u64;
        let length = weight::LENGTH_BASE + chars.min(weight::LENGTH_MOST);
        self.kind.weight() * self.place * frequency(self.count) * length
    }
}

/// Returns 1 + ln of a count in whole numbers; between powers of two it is a straight line.
fn frequency(count: u64) -> u64 {
    let count = count.clamp(1, 1 << 32);
    let doublings = u64::from(count.ilog2());
    let between = ((count << 8) >> doublings) - 256;
    weight::ONCE + weight::DOUBLING * doublings + (weight::DOUBLING * between) / 256
}

#[cfg(test)]
#[path = "keywords_tests.rs"]
mod tests;
