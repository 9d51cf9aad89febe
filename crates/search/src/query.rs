//! Reading a query.
//!
//! A question needs no syntax, and nothing is ever a syntax error. Two signs mean something: a short text
//! in straight quotes must stand in a document word by word, and a star at the end of a word stands for
//! any ending. Where several sentences are given, such as the end of a conversation, later ones weigh
//! more.

mod date;
mod stop;
mod synonym;

use std::collections::HashMap;

use contexture_core::Timestamp;

use crate::{
    document::speaker_hash,
    text::{Term, TermKind, cut, fold, is_syllabic},
};

pub use date::DateHint;
use stop::{is_stop_character, is_stop_word, is_weak_word};
use synonym::synonyms;

/// How many terms of a query are looked up: those that weigh most.
const MAX_TERMS: usize = 256;

/// How many bytes of a query are read: the last ones.
const MAX_BYTES: usize = 8 << 10;

/// How many terms a quoted text may have; longer ones are quotations rather than phrases.
const MAX_PHRASE: usize = 12;

/// The factor by which a sentence weighs less than the next one.
const SENTENCE_DECAY: f32 = 0.9;

/// The weight of a word that questions need and answers can do without.
const WEAK: f32 = 0.7;

/// Roles, which are not names: "the user" does not name a speaker.
const ROLES: [&str; 4] = ["assistant", "system", "tool", "user"];

/// A query, ready to be looked up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// The terms to look up, heaviest first.
    pub asked: Vec<Asked>,
    /// Texts that must stand in a document word by word.
    pub phrases: Vec<Phrase>,
    /// Times that are named.
    pub dates: Vec<DateHint>,
    /// Names that may be those of speakers, as [`speaker_hash`] gives them.
    pub names: Vec<u32>,
    /// Whether it asks for a time.
    pub asks_when: bool,
}

/// One term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The term, or how it begins.
    pub term: String,
    /// Other terms that mean nearly the same.
    pub synonyms: &'static [String],
    /// How much it counts.
    pub weight: f32,
    /// Whether any ending will do.
    pub prefix: bool,
    /// Whether it is so common that it is looked up only if the query has no other words.
    pub stop: bool,
    /// The hash of the word as a speaker's name; 0 if it cannot be a name.
    pub name: u32,
    /// Whether a phrase needs it.
    pub required: bool,
}

/// A quoted text: its terms, each with its distance from the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(Vec<(u32, String)>);

impl Query {
    /// Reads a query; the time is the one that "yesterday" refers to.
    pub fn read(text: &str, now: Timestamp) -> Self {
        let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES));
        let text = &text[start..];
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let is_question = lines.len() == 1;
        let said = lines.iter().map(|line| if is_question { line } else { without_label(line) });
        let sentences: Vec<&str> = said.flat_map(sentences).collect();
        let mut reading = Reading::default();
        for (at, sentence) in sentences.iter().enumerate() {
            let behind = i32::try_from(sentences.len() - 1 - at).unwrap_or(i32::MAX);
            reading.sentence(sentence, SENTENCE_DECAY.powi(behind));
        }
        let mut query = Query { asked: reading.asked, ..Query::default() };
        if is_question {
            query.names = names(lines[0]);
            query.dates = date::read(lines[0], sentences.last().unwrap_or(&""), now);
            query.asks_when = date::asks_when(lines[0]);
            query.phrases = phrases(lines[0]);
            query.require_phrases();
        } else {
            query.asked.iter_mut().for_each(|asked| asked.name = 0);
        }
        if let [only] = query.asked.as_mut_slice()
            && is_syllable(&only.term)
        {
            // It stands in pairs only, unless it stands alone.
            (only.prefix, only.stop) = (true, false);
        }
        query.asked.reverse();
        query.asked.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        query.asked.truncate(MAX_TERMS);
        query
    }

    /// Returns whether a text holds all phrases of the query, word by word.
    pub fn confirms(&self, text: &str) -> bool {
        self.phrases.iter().all(|phrase| phrase.stands_in(text))
    }

    fn require_phrases(&mut self) {
        for (_, term) in self.phrases.iter().flat_map(|phrase| &phrase.0) {
            match self.asked.iter_mut().find(|asked| asked.term == *term && !asked.prefix) {
                Some(asked) => asked.required = true,
                None => self.asked.push(Asked { required: true, ..Asked::plain(term) }),
            }
        }
    }
}

impl Asked {
    fn plain(term: &str) -> Self {
        let term = term.to_owned();
        Self {
            term,
            synonyms: &[],
            weight: 1.0,
            prefix: false,
            stop: false,
            name: 0,
            required: false,
        }
    }
}

impl Phrase {
    fn read(text: &str) -> Option<Self> {
        let mut terms = Vec::new();
        let mut singles = Vec::new();
        cut(text, &mut |term| match term.kind {
            TermKind::Word | TermKind::Pair => terms.push((term.position, term.text.to_owned())),
            TermKind::Single => singles.push((term.position, term.text.to_owned())),
            TermKind::Whole => {}
        });
        // A character stands for itself only where it is in no pair.
        let paired =
            |position: u32| terms.iter().any(|(at, _)| *at == position || *at + 1 == position);
        let alone: Vec<_> = singles.into_iter().filter(|(at, _)| !paired(*at)).collect();
        terms.extend(alone);
        terms.sort();
        let first = terms.first()?.0;
        terms.iter_mut().for_each(|(position, _)| *position -= first);
        (terms.len() <= MAX_PHRASE).then_some(Self(terms))
    }

    fn stands_in(&self, text: &str) -> bool {
        // How many terms of the phrase fit a beginning at a position.
        let mut fitting: HashMap<u32, usize> = HashMap::new();
        let mut found = false;
        cut(text, &mut |term: Term<'_>| {
            for (distance, _) in self.0.iter().filter(|(_, wanted)| wanted == term.text) {
                if let Some(begin) = term.position.checked_sub(*distance) {
                    let count = fitting.entry(begin).or_default();
                    *count += 1;
                    found |= *count == self.0.len();
                }
            }
        });
        found
    }
}

/// Splits a line into its sentences.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let ends = |letter: char| matches!(letter, '。' | '！' | '？' | '!' | '?' | '；');
    line.split_inclusive(ends)
        .flat_map(|piece| piece.split_inclusive(". "))
        .filter(|piece| piece.contains(char::is_alphanumeric))
}

#[derive(Default)]
struct Reading {
    asked: Vec<Asked>,
    places: HashMap<(String, bool), usize>,
}

impl Reading {
    fn sentence(&mut self, line: &str, weight: f32) {
        cut(line, &mut |term| {
            let raw = &line[term.start..term.end];
            let prefix = term.kind != TermKind::Whole && ends_with_star(line, term.end);
            let text = if prefix { folded(raw) } else { term.text.to_owned() };
            let weak = term.kind == TermKind::Word && is_weak_word(&folded(raw));
            let weight = if weak { WEAK * weight } else { weight };
            let stop = match term.kind {
                TermKind::Word => is_stop_word(&folded(raw)),
                TermKind::Single => is_stop_character(raw),
                TermKind::Whole | TermKind::Pair => false,
            };
            let name = match term.kind {
                TermKind::Word if !stop => name_of(raw),
                _ => 0,
            };
            let stop = stop && !prefix;
            let synonyms = match term.kind {
                TermKind::Word if !prefix && !stop => synonyms(term.text),
                _ => &[],
            };
            let asked = Asked { synonyms, weight, prefix, stop, name, ..Asked::plain(&text) };
            match self.places.get(&(text.clone(), prefix)) {
                Some(at) => self.asked[*at].weight = self.asked[*at].weight.max(weight),
                None => {
                    self.places.insert((text, prefix), self.asked.len());
                    self.asked.push(asked);
                }
            }
        });
    }
}

/// Returns whether a term is one syllable, and no Chinese character: these are terms by themselves.
fn is_syllable(term: &str) -> bool {
    let mut letters = term.chars();
    letters.next().is_some_and(is_syllabic) && letters.next().is_none()
}

fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    text.chars().for_each(|letter| fold(letter, &mut |letter| folded.push(letter)));
    folded
}

/// Returns whether a star stands directly behind a term, and nothing behind the star.
fn ends_with_star(line: &str, end: usize) -> bool {
    let rest = line[end..].strip_prefix('*');
    rest.is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

/// Removes the speaker from a line of a conversation: `<Ann>:` or `Ann:`.
fn without_label(line: &str) -> &str {
    let line = line.trim_start();
    let Some((label, rest)) = line.split_once([':', '：']) else { return line };
    let name = label.trim().trim_start_matches('<').trim_end_matches('>');
    let is_label = name.chars().count() <= 24 && !name.contains(char::is_whitespace);
    if is_label { rest } else { line }
}

fn name_of(word: &str) -> u32 {
    let word = folded(word);
    if ROLES.contains(&word.as_str()) { 0 } else { speaker_hash(&word) }
}

/// Returns what may be names in a line: words, pairs of words, and short runs of Chinese characters.
fn names(line: &str) -> Vec<u32> {
    let mut names = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    cut(line, &mut |term| {
        let raw = &line[term.start..term.end];
        match term.kind {
            TermKind::Word => {
                names.push(name_of(raw));
                if let Some((start, end)) = last
                    && line[end..term.start].chars().all(char::is_whitespace)
                {
                    names.push(name_of(&line[start..term.end]));
                }
                last = Some((term.start, term.end));
            }
            TermKind::Single | TermKind::Pair => {
                let letters = line[term.start..].char_indices().take(4);
                for (at, letter) in letters.skip(1).filter(|(_, letter)| letter.is_alphanumeric()) {
                    names.push(name_of(&line[term.start..term.start + at + letter.len_utf8()]));
                }
            }
            TermKind::Whole => names.push(name_of(raw)),
        }
    });
    names.retain(|name| *name != 0);
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the short texts in straight quotes.
fn phrases(line: &str) -> Vec<Phrase> {
    let mut pieces = line.split('"').collect::<Vec<_>>();
    if pieces.len().is_multiple_of(2) {
        // The last quote is not closed.
        pieces.pop();
    }
    pieces.iter().skip(1).step_by(2).filter_map(|piece| Phrase::read(piece)).collect()
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
