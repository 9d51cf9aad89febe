//! Where a text is cut: so many tokens in, at a line's end where one is near, never within what
//! reads as one character, word or number.

use crate::TokenCounter;

/// How often the length of a slice is guessed anew; each guess comes from the count of the last.
const GUESSES: usize = 6;

/// Returns a beginning of the text of at most `room` tokens, and its count.
pub(super) fn head<'a>(
    counter: &dyn TokenCounter,
    text: &'a str,
    total: u64,
    room: u64,
) -> (&'a str, u64) {
    fit(counter, text.len(), text.len(), total, room, |bytes| {
        let slice = &text[..before(text, bytes)];
        match slice.rfind('\n') {
            Some(line_end) if slice.len() - line_end <= slice.len() / 4 => {
                let line = &slice[..line_end];
                line.strip_suffix('\r').unwrap_or(line)
            }
            _ => slice,
        }
    })
}

/// Returns an end of `rest`, the remainder of a text of `length` bytes and `total` tokens, of at
/// most `room` tokens, and its count.
pub(super) fn tail<'a>(
    counter: &dyn TokenCounter,
    rest: &'a str,
    length: usize,
    total: u64,
    room: u64,
) -> (&'a str, u64) {
    fit(counter, rest.len(), length, total, room, |bytes| {
        let slice = &rest[after(rest, rest.len() - bytes)..];
        match slice.find('\n') {
            Some(line_end) if line_end < slice.len() / 4 => &slice[line_end + 1..],
            _ => slice,
        }
    })
}

/// Finds a slice that fills the room: its bytes are guessed by what a token of the text has on
/// average, then by what one of the slice has.
fn fit<'a>(
    counter: &dyn TokenCounter,
    most: usize,
    length: usize,
    total: u64,
    room: u64,
    slice: impl Fn(usize) -> &'a str,
) -> (&'a str, u64) {
    let mut best = ("", 0);
    let mut bytes = scale(length, room, total).min(most);
    for _ in 0..GUESSES {
        let guess = slice(bytes);
        let count = counter.count(guess).0;
        if count <= room && guess.len() >= best.0.len() {
            best = (guess, count);
        }
        // Full enough, or there is no more.
        if count <= room && (count >= room - room / 8 || bytes == most) {
            break;
        }
        // A little less than would just fit; at most twice as much as was counted.
        let wanted = scale(bytes, room.saturating_sub(room / 32), count.max(1));
        bytes = wanted.min(bytes.saturating_mul(2)).min(most);
    }
    if best.0.is_empty() {
        // Every token has at least one byte.
        let bytes = usize::try_from(room).unwrap_or(usize::MAX).min(most);
        let guess = slice(bytes);
        best = (guess, counter.count(guess).0);
        if best.1 > room {
            return ("", 0);
        }
    }
    best
}

/// Returns `length * part / whole`, without overflow.
fn scale(length: usize, part: u64, whole: u64) -> usize {
    let scaled = length as u128 * u128::from(part) / u128::from(whole.max(1));
    usize::try_from(scaled).unwrap_or(usize::MAX)
}

/// How far a cut moves, in characters, to keep together what reads as one character, word or number;
/// stacks of marks and strings of letters can be endless.
const LONGEST_CLUSTER: usize = 32;
const LONGEST_WORD: usize = 48;

/// Returns the nearest place at or before `at` where the text may be cut.
fn before(text: &str, at: usize) -> usize {
    let back = |at| text.floor_char_boundary(at - 1);
    let at = first_free(text.floor_char_boundary(at), LONGEST_CLUSTER, back, |at| {
        within_cluster(text, at)
    });
    first_free(at, LONGEST_WORD, back, |at| within_cluster(text, at) || within_word(text, at))
}

/// Returns the nearest place at or after `at` where the text may be cut.
fn after(text: &str, at: usize) -> usize {
    let on = |at| text.ceil_char_boundary(at + 1);
    let at =
        first_free(text.ceil_char_boundary(at), LONGEST_CLUSTER, on, |at| within_cluster(text, at));
    first_free(at, LONGEST_WORD, on, |at| within_cluster(text, at) || within_word(text, at))
}

/// Steps on from a place until one is free, so many times at most; else it is the place itself.
fn first_free(
    from: usize,
    most: usize,
    step: impl Fn(usize) -> usize,
    is_within: impl Fn(usize) -> bool,
) -> usize {
    let mut at = from;
    for _ in 0..most {
        if !is_within(at) {
            return at;
        }
        at = step(at);
    }
    from
}

/// Tells whether a cut would split a word or a number. Scripts that put no spaces between words may be
/// cut anywhere.
fn within_word(text: &str, at: usize) -> bool {
    let joins = |c: char| c.is_alphanumeric() && c < '\u{2e80}' || c == '_';
    let mut ahead = text[at..].chars();
    let (mut behind, next) = (text[..at].chars().rev(), ahead.next());
    let (Some(last), Some(next)) = (behind.next(), next) else { return false };
    if joins(last) && joins(next) {
        return true;
    }
    // 1,024 and 3.14 are one number.
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let points = |c: char| matches!(c, '.' | ',');
    (points(next) && is_digit(Some(last)) && is_digit(ahead.next()))
        || (points(last) && is_digit(Some(next)) && is_digit(behind.next()))
}

/// Tells whether a cut would part a character from its marks, joined characters, or `\r\n`.
fn within_cluster(text: &str, at: usize) -> bool {
    let (Some(last), Some(next)) = (text[..at].chars().next_back(), text[at..].chars().next())
    else {
        return false;
    };
    last == '\u{200d}' || (last == '\r' && next == '\n') || is_extending(next)
}

/// Tells whether a character belongs to the one before it: the common marks of all scripts.
fn is_extending(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}' | '\u{900}'..='\u{903}'
        | '\u{93a}'..='\u{93c}' | '\u{93e}'..='\u{94f}' | '\u{981}'..='\u{983}' | '\u{9bc}'
        | '\u{9be}'..='\u{9cd}' | '\u{b82}' | '\u{bbe}'..='\u{bcd}' | '\u{e31}'
        | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{102b}'..='\u{103e}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}'
        | '\u{3099}' | '\u{309a}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_stand_between_words_and_numbers() {
        let text = "alpha beta 1,024 3.14 snake_case 中文字 end";
        let whole = |at: usize| (&text[..before(text, at)], &text[after(text, at)..]);
        assert_eq!(whole(8), ("alpha ", " 1,024 3.14 snake_case 中文字 end"));
        assert_eq!(whole(13), ("alpha beta ", " 3.14 snake_case 中文字 end"));
        assert_eq!(whole(18), ("alpha beta 1,024 ", " snake_case 中文字 end"));
        assert_eq!(whole(27), ("alpha beta 1,024 3.14 ", " 中文字 end"));
        // Between two characters of a script without spaces it may be cut as it is.
        let chinese = text.find('文').unwrap();
        assert_eq!(whole(chinese).1, "文字 end");
    }

    #[test]
    fn what_has_no_end_in_sight_is_cut_all_the_same() {
        let text = "x".repeat(1_000);
        assert_eq!((before(&text, 500), after(&text, 500)), (500, 500));
        assert_eq!((before(&text, 10), after(&text, 990)), (0, 1_000));
    }
}
