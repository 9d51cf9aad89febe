//! Korean and Japanese that is written in pieces: syllables as letters, as file names often have them, voice marks
//! behind kana, and kana of half width. They are put together before a text is cut.

use unicode_normalization::UnicodeNormalization;

/// A text with its pieces put together, and where each byte of it comes from.
pub(super) struct Composed {
    pub(super) text: String,
    /// For each byte, where the piece that it came from begins and ends.
    from: Vec<(usize, usize)>,
}

impl Composed {
    /// Returns a text put together; none where nothing of it is in pieces.
    pub(super) fn of(text: &str) -> Option<Self> {
        if text.is_ascii() || !text.chars().any(is_piece) {
            return None;
        }
        let mut composed = Self { text: String::with_capacity(text.len()), from: Vec::new() };
        let mut letters = text.char_indices().peekable();
        while let Some((start, letter)) = letters.next() {
            let mut end = start + letter.len_utf8();
            let joins = |next: char| is_mark(next) || (is_jamo(letter) && is_inner(next));
            while let Some((at, next)) = letters.next_if(|(_, next)| joins(*next)) {
                end = at + next.len_utf8();
            }
            let piece = &text[start..end];
            match piece.chars().any(is_piece) {
                true => composed.text.extend(piece.nfkc()),
                false => composed.text.push_str(piece),
            }
            composed.from.resize(composed.text.len(), (start, end));
        }
        Some(composed)
    }

    /// Returns where a piece of this text stands in the one that it was made of.
    pub(super) fn places(&self, start: usize, end: usize) -> (usize, usize) {
        let begins = self.from.get(start).map_or(0, |from| from.0);
        let ends =
            end.checked_sub(1).and_then(|last| self.from.get(last)).map_or(begins, |it| it.1);
        (begins, ends)
    }
}

fn is_piece(letter: char) -> bool {
    is_jamo(letter) || is_mark(letter) || is_half(letter)
}

/// Returns whether a character is a letter of a syllable of Hangul.
fn is_jamo(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{d7b0}'..='\u{d7ff}')
}

/// Returns whether a letter of Hangul stands behind the first of its syllable: a vowel, or what closes it.
fn is_inner(letter: char) -> bool {
    matches!(letter, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}')
}

/// Returns whether a character gives its voice to the kana before it.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{3099}' | '\u{309a}' | '\u{ff9e}' | '\u{ff9f}')
}

/// Returns whether a character is a kana of half width.
fn is_half(letter: char) -> bool {
    matches!(letter, '\u{ff66}'..='\u{ff9d}')
}
