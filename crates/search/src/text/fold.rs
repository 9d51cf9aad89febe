//! Folding of characters: case, accents and widths, and which script a character is of.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// How a character takes part in terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// It stands between terms.
    None,
    /// It is of a script that writes spaces between words, or a digit.
    Spaced,
    /// It is of a script that does not, or of Korean, where particles are written onto words.
    Unspaced,
}

pub(super) fn script(letter: char) -> Script {
    if letter.is_ascii() {
        return if letter.is_ascii_alphanumeric() { Script::Spaced } else { Script::None };
    }
    if is_unspaced(letter) {
        Script::Unspaced
    } else if letter.is_alphanumeric() || is_combining_mark(letter) {
        Script::Spaced
    } else {
        Script::None
    }
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e01}'..='\u{0e4e}' // Thai
        | '\u{0e81}'..='\u{0ece}' // Lao
        | '\u{1000}'..='\u{109f}' // Myanmar
        | '\u{1780}'..='\u{17d3}' // Khmer
        | '\u{3005}'..='\u{3007}' // Iteration marks of Han
        | '\u{3041}'..='\u{3096}' | '\u{3099}'..='\u{309f}' // Hiragana
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' // Katakana
        | '\u{ac00}'..='\u{d7a3}' // Hangul
        | '\u{ff66}'..='\u{ff9f}' // Katakana of half width
    ) || is_han(letter)
}

/// Returns whether a character is written without spaces, and is no Chinese one.
pub(crate) fn is_syllabic(letter: char) -> bool {
    is_unspaced(letter) && !is_han(letter)
}

/// Returns whether a character is a Chinese one.
pub(super) fn is_han(letter: char) -> bool {
    matches!(letter,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Folds a character: lower case, full width and ligatures as plain letters, accents left out.
pub(crate) fn fold(letter: char, push: &mut dyn FnMut(char)) {
    if letter.is_ascii() {
        push(letter.to_ascii_lowercase());
        return;
    }
    // Decomposing would take the voice from kana and split the syllables of Hangul.
    if matches!(letter, '\u{3000}'..='\u{d7a3}') {
        push(letter);
        return;
    }
    decompose_compatible(letter, |part| {
        if !is_left_out(part) {
            part.to_lowercase().for_each(|part| plain(part, push));
        }
    });
}

/// Returns whether a character only adds to the one before it: accents, and the points and vowel signs that Hebrew and
/// Arabic are rarely written with.
fn is_left_out(letter: char) -> bool {
    matches!(letter,
        '\u{0300}'..='\u{036f}'
        | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}'..='\u{05c2}' | '\u{05c4}'..='\u{05c5}' | '\u{05c7}'
        | '\u{0610}'..='\u{061a}' | '\u{0640}' | '\u{064b}'..='\u{065f}' | '\u{0670}')
}

/// Shows a small letter as people write it who do not have it on their keyboard.
fn plain(letter: char, push: &mut dyn FnMut(char)) {
    let (first, second) = match letter {
        'ß' => ('s', Some('s')),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        'þ' => ('t', Some('h')),
        'ø' => ('o', None),
        'đ' | 'ð' => ('d', None),
        'ł' => ('l', None),
        'ı' => ('i', None),
        'ς' => ('σ', None),
        letter => (letter, None),
    };
    push(first);
    second.into_iter().for_each(push);
}
