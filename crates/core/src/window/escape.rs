//! Escaping for the `markdown` format: outside text cannot pass for the engine's own (D-31).
//!
//! A *token* is whatever the engine itself writes to say something: an anchor, a page marker, a
//! level tag, a heading, a fence, a role marker, the tag of its lines. In escaped text each has an
//! odd number of backslashes before it; the engine's own have none.
//!
//! ```text
//!  outside             escaped               rule
//!  [button:x]          \[button:x]           0 backslashes → 1
//!  \[button:x]         \\\[button:x]         k → 2k + 1
//!  U+202E              \u{202e}              bidi and control characters are spelled out
//!  \u{202e}            \\u{202e}             k → 2k before a `u{` that was there
//! ```
//!
//! Why this can be undone: tokens are recognised as if backslashes and zero-width characters were
//! not there, so adding or taking backslashes never makes a token or breaks one, and the
//! spelled-out form of a character ends a token just as the character does.
//!
//! Two things are left to whoever puts escaped text into a rendering. A text can end in a
//! backslash: the engine's next token does not follow it directly. And `**` is not put directly
//! around a text, which may begin with `[`.

mod anchor;
mod quote;

use std::{borrow::Cow, fmt::Write, str::Chars};

pub use anchor::{FoundAnchor, FoundAnchorKind, find_anchors};
pub(crate) use quote::flatten;
pub use quote::quote_text;
#[cfg(test)]
pub(crate) use quote::unquote_text;

/// Escapes outside text; text without tokens comes back as it is.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    rewrite(text, |found, backslashes| match found {
        Found::Token => Some((2 * backslashes + 1, None)),
        Found::Unprintable(c) => Some((2 * backslashes + 1, Some(Instead::Spelled(c)))),
        Found::Spelling(_) if backslashes > 0 => Some((2 * backslashes, None)),
        Found::Spelling(_) | Found::Nothing => None,
    })
}

/// Undoes [`escape_text`].
///
/// Text that `escape_text` would not have written is left alone where it makes no sense as escaped.
pub fn unescape_text(text: &str) -> Cow<'_, str> {
    rewrite(text, |found, backslashes| match found {
        Found::Token if backslashes % 2 == 1 => Some(((backslashes - 1) / 2, None)),
        Found::Spelling(Some(c)) if backslashes % 2 == 1 => {
            Some(((backslashes - 1) / 2, Some(Instead::Read(c))))
        }
        Found::Spelling(_) if backslashes > 0 && backslashes % 2 == 0 => {
            Some((backslashes / 2, None))
        }
        _ => None,
    })
}

/// What stands at a place of the text.
enum Found {
    Nothing,
    /// The beginning of a token.
    Token,
    /// A character that must not stand as it is.
    Unprintable(char),
    /// `u{`, with the unprintable character it spells, if it does.
    Spelling(Option<char>),
}

/// What is written in place of what was found.
enum Instead {
    /// The spelling of the character that stands there.
    Spelled(char),
    /// The character whose spelling stands there.
    Read(char),
}

/// Copies a text; `rule` sees each place with the number of backslashes directly before it, and may
/// give another number of them and something else in place of what was found.
fn rewrite(
    text: &str,
    rule: impl Fn(Found, usize) -> Option<(usize, Option<Instead>)>,
) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut backslashes = 0;
    let mut line = Line::default();
    let mut chars = text.chars();
    loop {
        let at = text.len() - chars.as_str().len();
        let Some(c) = chars.next() else { break };
        if c == '\\' {
            backslashes += 1;
            continue;
        }
        // Most of a text is this, and can be nothing else.
        if matches!(line, Line::Within) && (c.is_ascii_alphanumeric() || c == ' ') && c != 'u' {
            backslashes = 0;
            continue;
        }
        let found = find(c, &chars, &line);
        line.step(c);
        if let Some((wanted, instead)) = rule(found, backslashes) {
            out.push_str(&text[copied..at - backslashes]);
            out.extend(std::iter::repeat_n('\\', wanted));
            copied = at;
            match instead {
                Some(Instead::Spelled(c)) => {
                    write!(out, "u{{{:x}}}", u32::from(c)).expect("a string takes all");
                    copied += c.len_utf8();
                }
                Some(Instead::Read(c)) => {
                    out.push(c);
                    // The spelling is ASCII and ends at its brace.
                    copied += text[at..].find('}').map_or(0, |brace| brace + 1);
                    chars = text[copied..].chars();
                }
                None => {}
            }
        }
        backslashes = 0;
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn find(c: char, rest: &Chars<'_>, line: &Line) -> Found {
    if is_unprintable(c) {
        return Found::Unprintable(c);
    }
    if c == 'u' && rest.as_str().starts_with('{') {
        return Found::Spelling(spelled(&rest.as_str()[1..]));
    }
    if begins_token(c, rest, line) { Found::Token } else { Found::Nothing }
}

/// Reads `202e}`, as [`escape_text`] writes it and in no other way.
fn spelled(rest: &str) -> Option<char> {
    let digits = &rest[..rest.bytes().take(7).position(|byte| byte == b'}')?];
    let canonical = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    if !digits.bytes().all(canonical) || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    char::from_u32(u32::from_str_radix(digits, 16).ok()?).filter(|c| is_unprintable(*c))
}

/// Tells whether a character could change what a reader sees around it, or end a line unseen.
fn is_unprintable(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        c => c.is_control(),
    }
}

/// Tells whether a character is passed over when tokens are recognised.
fn is_passed_over(c: char) -> bool {
    matches!(c, '\\' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Where in its line a character stands; white space, quoting and list markers only lead up to the
/// line's beginning.
enum Line {
    /// At its beginning, after so many columns of white space.
    Begin { indent: usize },
    /// After what becomes a list marker if white space follows: `-`, or the `.` of `1.`.
    Marker,
    /// After the digits of what may become `1.`.
    Number,
    /// Within its text.
    Within,
}

impl Default for Line {
    fn default() -> Self {
        Self::Begin { indent: 0 }
    }
}

impl Line {
    fn step(&mut self, c: char) {
        *self = match (&*self, c) {
            (_, '\n') => Self::default(),
            (Self::Within, _) => return,
            (_, c) if is_passed_over(c) => return,
            (_, c) if is_unprintable(c) => Self::Within,
            (Self::Begin { indent }, '\t') => Self::Begin { indent: indent + 4 },
            (Self::Begin { indent }, c) if c.is_whitespace() => Self::Begin { indent: indent + 1 },
            (Self::Begin { .. }, '>') => Self::default(),
            (Self::Begin { .. }, '-' | '+' | '*') => Self::Marker,
            (Self::Begin { .. } | Self::Number, c) if c.is_ascii_digit() => Self::Number,
            (Self::Number, '.' | ')') => Self::Marker,
            (Self::Marker, c) if c.is_whitespace() => Self::default(),
            _ => Self::Within,
        };
    }

    fn at_beginning(&self) -> bool {
        matches!(self, Self::Begin { .. })
    }

    /// Tells whether a heading could begin here; deeper in, a `#` is the comment of some code.
    fn near_margin(&self) -> bool {
        matches!(self, Self::Begin { indent: 0..=3 })
    }
}

const ANCHORS: [&str; 4] = ["button:", "form:", "ref:", "ctx:"];
const TAGS: [&str; 4] = ["FULL]", "SUMMARY]", "GIST]", "RUN]"];
const ROLES: [&str; 5] = ["user", "assistant", "system", "tool", "human"];

/// The longest text taken between a role and its colon, as in `**tool result:**`.
const MOST_ROLE_TEXT: usize = 80;

/// Tells whether a token begins with `c`, which `rest` follows.
fn begins_token(c: char, rest: &Chars<'_>, line: &Line) -> bool {
    match c {
        '[' => {
            ANCHORS.iter().any(|anchor| follows(rest, anchor, |a, b| a.eq_ignore_ascii_case(&b)))
                || TAGS.iter().any(|tag| follows(rest, tag, |a, b| a == b))
        }
        '<' => follows(rest, "|", |a, b| a == b),
        '*' => {
            follows(rest, "*[", |a, b| a == b)
                || line.at_beginning()
                    && follows(rest, "*", |a, b| a == b)
                    && is_bold_role(rest.clone())
        }
        '`' => line.at_beginning() && follows(rest, "``", |a, b| a == b),
        '~' => line.at_beginning() && follows(rest, "~~", |a, b| a == b),
        '#' => line.near_margin(),
        'H' | 'U' | 'A' | 'S' | 'T' => line.near_margin() && is_bare_role(c, rest.clone()),
        _ => false,
    }
}

fn follows(rest: &Chars<'_>, token: &str, same: impl Fn(char, char) -> bool) -> bool {
    let mut seen = significant(rest.clone());
    token.chars().all(|c| seen.next().is_some_and(|seen| same(seen, c)))
}

fn significant(chars: Chars<'_>) -> impl Iterator<Item = char> + Clone {
    chars.filter(|c| !is_passed_over(*c))
}

/// Recognises the rest of `**user:**`, `**tool result:**` or `**Assistant**:` after its first star.
fn is_bold_role(rest: Chars<'_>) -> bool {
    let mut seen = significant(rest).skip(1).take(MOST_ROLE_TEXT);
    let mut word = String::new();
    let end = loop {
        match seen.next() {
            // Braces are not among these: a spelled-out character ends a token.
            Some(c) if c.is_alphanumeric() || " _-.,()#/".contains(c) => word.push(c),
            end => break end,
        }
    };
    let word = word.trim_start_matches(' ');
    let begins = |role: &&str| {
        word.get(..role.len()).is_some_and(|start| start.eq_ignore_ascii_case(role))
            && !word[role.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    if !ROLES.iter().any(begins) {
        return false;
    }
    match end {
        Some(':' | '：') => seen.next() == Some('*') && seen.next() == Some('*'),
        Some('*') => seen.next() == Some('*') && matches!(seen.next(), Some(':' | '：')),
        _ => false,
    }
}

/// Recognises the rest of `Human:` or `USER:` after its first letter, a capital.
fn is_bare_role(first: char, rest: Chars<'_>) -> bool {
    ROLES.iter().filter(|role| role.starts_with(first.to_ascii_lowercase())).any(|role| {
        let mut seen = significant(rest.clone());
        role.chars().skip(1).all(|c| seen.next().is_some_and(|seen| seen.eq_ignore_ascii_case(&c)))
            && matches!(seen.next(), Some(':' | '：'))
    })
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
