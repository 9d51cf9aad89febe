//! Values assigned to what is named like a secret: `password=…`, `"api_key": "…"`, `TOKEN: …`.

use super::{REDACTED, run};

/// How the names of secrets end, in lower case and without `_` and `-`.
const NAMES: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "token",
    "secret",
    "secretkey",
    "accesskey",
    "privatekey",
];

/// Words that stand where a value does and are none.
const NO_VALUES: [&str; 12] = [
    "none",
    "null",
    "true",
    "false",
    "nil",
    "undefined",
    "string",
    "bytes",
    "redacted",
    "required",
    "optional",
    "default",
];

/// The longest name looked at.
const LONGEST_NAME: usize = 64;

/// Returns where the value of the assignment whose `:` or `=` stands at `sign` begins and ends, if
/// it is a secret's.
pub(super) fn value(text: &str, sign: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let before = bytes[..sign].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let name_end = sign - before - quotes_before(&bytes[..sign - before]);
    if !names_secret(&bytes[..name_end]) {
        return None;
    }
    let after = sign + 1 + run(&bytes[sign + 1..], |byte| matches!(byte, b' ' | b'\t'));
    let escapes = run(&bytes[after..], |byte| byte == b'\\');
    match bytes.get(after + escapes) {
        Some(quote @ (b'"' | b'\'' | b'`')) => quoted(text, after + escapes + 1, *quote),
        _ => {
            let tight = bytes[sign] == b'=' && before == 0 && after == sign + 1;
            bare(text, after, tight)
        }
    }
}

/// Tells whether a word announces a token in a header, and is not the token.
pub(super) fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

/// Counts the closing quote of a quoted name, with the backslashes of JSON within JSON.
fn quotes_before(bytes: &[u8]) -> usize {
    match bytes.last() {
        Some(b'"' | b'\'') => {
            1 + bytes[..bytes.len() - 1].iter().rev().take_while(|byte| **byte == b'\\').count()
        }
        _ => 0,
    }
}

fn names_secret(before: &[u8]) -> bool {
    NAMES.iter().any(|name| {
        let letters =
            before.iter().rev().take(LONGEST_NAME).filter(|byte| !matches!(byte, b'_' | b'-'));
        let mut letters = letters.map(u8::to_ascii_lowercase);
        // A name that ends in a dash is the dash of something else.
        before.last().is_some_and(u8::is_ascii_alphanumeric)
            && name.bytes().rev().all(|byte| letters.next() == Some(byte))
    })
}

/// A value in quotes, on one line: all of it.
fn quoted(text: &str, from: usize, quote: u8) -> Option<(usize, usize)> {
    const LEAST: usize = 4;
    let bytes = text.as_bytes();
    let length = run(&bytes[from..], |byte| byte != quote && byte != b'\n');
    if bytes.get(from + length) != Some(&quote) {
        return None;
    }
    let escapes =
        bytes[from..from + length].iter().rev().take_while(|byte| **byte == b'\\').count();
    let (from, to) = (from, from + length - escapes);
    let value = &text[from..to];
    let label = value.contains(char::is_whitespace) || stands_in(value) || is_name(value);
    (value.len() >= LEAST && !label).then_some((from, to))
}

/// A value without quotes: up to white space or what ends a value in a query, a list or a call.
fn bare(text: &str, from: usize, tight: bool) -> Option<(usize, usize)> {
    const LEAST_TIGHT: usize = 4;
    const LEAST: usize = 6;
    const LONGEST: usize = 4_096;
    let bytes = text.as_bytes();
    let ends = |byte: u8| {
        byte <= b' '
            || matches!(byte, b'"' | b'\'' | b'`' | b'&' | b';' | b',' | b')' | b'}' | b']' | b'\\')
    };
    let length = run(&bytes[from..bytes.len().min(from + LONGEST + 1)], |byte| !ends(byte));
    if length > LONGEST {
        return None;
    }
    let value = &text[from..from + length];
    // `token=next()`, `token: Vec<u8>`, `secret: crate::Key`: a program's own words.
    let code =
        value.contains(['(', '<', '{', '[', '|']) || value.contains("::") || value.contains("=>");
    if code || stands_in(value) || is_name(value) {
        return None;
    }
    let digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let random = value.len() >= LEAST && digit && !value.contains("//");
    // In a call, `f(password=given)` passes a name on.
    let in_call = matches!(bytes.get(from + length), Some(b',' | b')'));
    let given =
        tight && value.len() >= LEAST_TIGHT && !in_call && !value.starts_with(['=', '/', '.']);
    (random || given).then_some((from, from + length))
}

/// Tells whether a value only stands for one: a variable, a template, stars, or our own word.
fn stands_in(value: &str) -> bool {
    value.starts_with(['$', '{', '<', '%', '[', '&'])
        || value.starts_with(REDACTED)
        || value.bytes().all(|byte| matches!(byte, b'*' | b'.' | b'x' | b'X'))
        || value.contains("…")
}

/// Tells whether a value is a word of the language, or again the name of a secret.
fn is_name(value: &str) -> bool {
    let equals = |word: &&str| value.eq_ignore_ascii_case(word);
    let named = names_secret(value.as_bytes()) && !value.bytes().any(|byte| byte.is_ascii_digit());
    NO_VALUES.iter().any(equals) || is_scheme(value) || named
}
