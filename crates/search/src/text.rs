//! One way to cut any text into terms.
//!
//! ```text
//!  "the getUserName() of crates/search"   ──► the · getusername get user name · of · crates/search crate search
//!  "我喜欢徒步"                             ──► 我 我喜 喜 喜欢 欢 欢徒 徒 徒步 步
//! ```
//!
//! Words in scripts with spaces are folded and stemmed. Scripts without spaces, and Korean, give pairs of
//! neighbouring characters; Chinese characters also stand alone. What is written as one thing, such as an
//! identifier, a path or a number with dots, is found whole and by its parts. Stop words are terms like
//! others: the query decides what to do with them.
//!
//! The work is proportional to the text, and no term is longer than [`MAX_TERM`] bytes.

mod compose;
mod fold;
mod stem;

pub(crate) use fold::{fold, is_syllabic};
pub(crate) use stem::stem;

use compose::Composed;
use fold::{Script, is_han, script};

/// The longest term, in bytes. Longer ones are cut; nobody searches for the middle of a base64 text.
pub const MAX_TERM: usize = 64;

/// How many words an identifier or a path may join to be found whole.
const MAX_JOINED: usize = 16;

/// What a term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// A word, folded and stemmed.
    Word,
    /// Several words that are written as one, such as an identifier, folded.
    Whole,
    /// Two neighbouring characters of a script without spaces.
    Pair,
    /// One character of such a script.
    Single,
}

/// One term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term<'a> {
    /// The term, as it stands in an index.
    pub text: &'a str,
    /// What it is.
    pub kind: TermKind,
    /// The number of the word or character in the text. A whole stands at its first word.
    pub position: u32,
    /// Where it begins in the text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl Term<'_> {
    /// Returns whether it counts towards the length of a text. The parts of a word that is found whole do not.
    pub fn counts(&self) -> bool {
        matches!(self.kind, TermKind::Word | TermKind::Single)
    }
}

/// Calls `visit` with the terms of a text, in order.
pub fn cut(text: &str, visit: &mut dyn FnMut(Term<'_>)) {
    match Composed::of(text) {
        None => cut_composed(text, visit),
        Some(composed) => cut_composed(&composed.text, &mut |term| {
            let (start, end) = composed.places(term.start, term.end);
            visit(Term { start, end, ..term });
        }),
    }
}

fn cut_composed(text: &str, visit: &mut dyn FnMut(Term<'_>)) {
    let mut cutter = Cutter { text, position: 0, buffer: String::new(), visit };
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        if byte.is_ascii() {
            at = if byte.is_ascii_alphanumeric() { cutter.chunk(at) } else { at + 1 };
            continue;
        }
        let Some(letter) = text[at..].chars().next() else { break };
        at = match script(letter) {
            Script::None => at + letter.len_utf8(),
            Script::Spaced => cutter.chunk(at),
            Script::Unspaced => cutter.unspaced(at),
        };
    }
}

struct Cutter<'a, 'v> {
    text: &'a str,
    position: u32,
    buffer: String,
    visit: &'v mut dyn FnMut(Term<'_>),
}

impl Cutter<'_, '_> {
    /// Visits the terms of a run in a script without spaces. Returns where the run ends.
    fn unspaced(&mut self, start: usize) -> usize {
        let mut letters = self.text[start..]
            .char_indices()
            .map(|(at, letter)| (start + at, letter))
            .take_while(|(_, letter)| script(*letter) == Script::Unspaced)
            .peekable();
        let mut end = start;
        let mut first = true;
        while let Some((at, letter)) = letters.next() {
            end = at + letter.len_utf8();
            let next = letters.peek().copied();
            let alone = first && next.is_none();
            first = false;
            self.buffer.clear();
            fold(letter, &mut |folded| self.buffer.push(folded));
            if is_han(letter) || alone {
                self.show(TermKind::Single, at, end);
            }
            if let Some((at_next, next)) = next {
                fold(next, &mut |folded| self.buffer.push(folded));
                self.show(TermKind::Pair, at, at_next + next.len_utf8());
            }
            self.position = self.position.saturating_add(1);
        }
        end
    }

    /// Visits the terms of words that are written as one. Returns where they end.
    fn chunk(&mut self, start: usize) -> usize {
        let first = self.position;
        let mut at = start;
        let mut words = 0;
        let mut end;
        loop {
            end = self.word(at);
            words += 1;
            match joined(&self.text[end..]) {
                Some(next) if words < MAX_JOINED => at = end + next,
                _ => break,
            }
        }
        if words > 1 && end - start <= MAX_TERM {
            self.buffer.clear();
            for letter in self.text[start..end].chars().filter(|letter| *letter != ',') {
                fold(letter, &mut |folded| self.buffer.push(folded));
            }
            self.show_at(first, TermKind::Whole, start, end);
        }
        end
    }

    /// Visits a word and its parts. Returns where the word ends.
    fn word(&mut self, start: usize) -> usize {
        match self.plain_word(start) {
            Some(end) => end,
            None => self.any_word(start),
        }
    }

    /// Shows a word that has only the letters a to z, of which the first may be a capital; returns where it
    /// ends. Most words are such. Returns none for any other word.
    fn plain_word(&mut self, start: usize) -> Option<usize> {
        let rest = &self.text.as_bytes()[start..];
        let (first, letters) = rest.split_first()?;
        let end = 1 + letters.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let goes_on =
            |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'\'' || !byte.is_ascii();
        if !first.is_ascii_alphabetic() || end > MAX_TERM || rest.get(end).is_some_and(goes_on) {
            return None;
        }
        self.buffer.clear();
        self.buffer.push_str(&self.text[start..start + end]);
        self.buffer.make_ascii_lowercase();
        stem(&mut self.buffer);
        self.show(TermKind::Word, start, start + end);
        self.position = self.position.saturating_add(1);
        Some(start + end)
    }

    fn any_word(&mut self, start: usize) -> usize {
        let rest = &self.text[start..];
        let mut end = rest.len();
        let mut cut_at = None;
        let mut count = 0;
        for (at, letter) in rest.char_indices() {
            let inside = script(letter) == Script::Spaced
                || (is_apostrophe(letter) && begins_with_letter(&rest[at + letter.len_utf8()..]));
            if !inside {
                end = at;
                break;
            }
            count += 1;
            if count > MAX_TERM && cut_at.is_none() {
                cut_at = Some(at);
            }
        }
        let word = &rest[..cut_at.unwrap_or(end)];
        let (word, _) = word.split_once(is_apostrophe).unwrap_or((word, ""));
        let parts = parts(word);
        if parts.len() > 1 {
            self.fill(word);
            // As it is stemmed where somebody writes it in small letters.
            stem(&mut self.buffer);
            self.show(TermKind::Whole, start, start + word.len());
        }
        for part in parts {
            self.fill(&word[part.clone()]);
            stem(&mut self.buffer);
            self.show(TermKind::Word, start + part.start, start + part.end);
            self.position = self.position.saturating_add(1);
        }
        start + end
    }

    fn fill(&mut self, word: &str) {
        self.buffer.clear();
        for letter in word.chars() {
            fold(letter, &mut |folded| self.buffer.push(folded));
        }
        if self.buffer.len() > MAX_TERM {
            let end = self.buffer.floor_char_boundary(MAX_TERM);
            self.buffer.truncate(end);
        }
    }

    fn show(&mut self, kind: TermKind, start: usize, end: usize) {
        self.show_at(self.position, kind, start, end);
    }

    fn show_at(&mut self, position: u32, kind: TermKind, start: usize, end: usize) {
        if !self.buffer.is_empty() {
            (self.visit)(Term { text: &self.buffer, kind, position, start, end });
        }
    }
}

fn is_apostrophe(letter: char) -> bool {
    matches!(letter, '\'' | '’' | '＇')
}

fn begins_with_letter(text: &str) -> bool {
    text.chars()
        .next()
        .is_some_and(|letter| letter.is_alphabetic() && script(letter) == Script::Spaced)
}

/// Returns the length of the sign that joins a word to the next one; none if there is no such sign.
fn joined(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let sign = match bytes.first()? {
        b':' if bytes.get(1) == Some(&b':') => 2,
        b'_' | b'-' | b'.' | b'/' | b'\\' | b':' | b'@' => 1,
        // The comma of 350,000.
        b',' if bytes.get(1).is_some_and(u8::is_ascii_digit) => 1,
        _ => return None,
    };
    let next = rest[sign..].chars().next()?;
    (script(next) == Script::Spaced).then_some(sign)
}

/// Returns the parts of a word: at the humps of camelCase, and between letters and digits where both are
/// more than one.
fn parts(word: &str) -> Vec<std::ops::Range<usize>> {
    let plain = word.bytes().all(|byte| byte.is_ascii_lowercase())
        || word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
    if plain || !word.is_ascii() {
        return std::iter::once(0..word.len()).filter(|part| !part.is_empty()).collect();
    }
    let bytes = word.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..bytes.len() {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let next = bytes.get(at + 1);
        let hump = before.is_ascii_lowercase() && here.is_ascii_uppercase();
        let acronym_ends = before.is_ascii_uppercase()
            && here.is_ascii_uppercase()
            && next.is_some_and(u8::is_ascii_lowercase);
        let same = |byte: &u8| byte.is_ascii_digit() == here.is_ascii_digit();
        let kind_changes = before.is_ascii_digit() != here.is_ascii_digit()
            && at - start > 1
            && next.is_some_and(same);
        if hump || acronym_ends || kind_changes {
            parts.push(start..at);
            start = at;
        }
    }
    parts.push(start..bytes.len());
    parts
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
