//! Taking secrets out of text before it is shown in stubs and published results (D-29).
//!
//! [`CommonSecrets`] knows what keys and tokens commonly look like. It is a net, not a wall: it
//! catches what is pasted by accident. Where it must choose, code and prose stay readable: a value
//! after `token =` that could be a name in a program is left.
//!
//! Deliberately absent: e-mail addresses, phone numbers and the like, which are what the work is
//! about, and guessing at secrets by how random they look, which would eat every hash.

mod assignment;

use std::borrow::Cow;

/// Takes sensitive text out.
///
/// For implementers: `redact` is a pure function, and redacting twice gives what redacting once
/// did. Text in which it finds nothing comes back borrowed.
pub trait SensitiveFilter: Send + Sync {
    /// Names it: two filters of the same name redact alike. What was rendered is kept by it.
    fn name(&self) -> &str;

    /// Returns the text without what is sensitive.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str>;
}

/// Leaves every text as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFilter;

impl SensitiveFilter for NoFilter {
    fn name(&self) -> &str {
        "none"
    }

    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text.into()
    }
}

/// Redacts keys, tokens and passwords of the common shapes.
///
/// ```
/// use contexture_core::window::{CommonSecrets, SensitiveFilter};
/// let text = "curl -H 'Authorization: Bearer abcdef0123456789' https://bob:pw1@example.com";
/// assert_eq!(
///     CommonSecrets.redact(text),
///     "curl -H 'Authorization: Bearer [redacted]' https://bob:[redacted]@example.com"
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct CommonSecrets;

/// What stands where a secret stood.
const REDACTED: &str = "[redacted]";

impl SensitiveFilter for CommonSecrets {
    fn name(&self) -> &str {
        "common-secrets"
    }

    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        let mut search = Search { text, pem_ends: true };
        while at < text.len() {
            let Some((from, to)) = search.secret_at(at, copied) else {
                at += 1;
                continue;
            };
            out.push_str(&text[copied..from]);
            out.push_str(REDACTED);
            copied = to;
            at = to;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }
}

/// A key with a telling beginning: what may follow it, and how much must.
struct Shape {
    prefix: &'static str,
    least: usize,
    most: usize,
    allowed: fn(u8) -> bool,
}

const fn shape(prefix: &'static str, least: usize, most: usize, allowed: fn(u8) -> bool) -> Shape {
    Shape { prefix, least, most, allowed }
}

const SHAPES: [Shape; 20] = [
    shape("sk-", 20, usize::MAX, is_word),
    shape("sk_live_", 16, usize::MAX, is_word),
    shape("rk_live_", 16, usize::MAX, is_word),
    shape("ghp_", 30, usize::MAX, is_alphanumeric),
    shape("gho_", 30, usize::MAX, is_alphanumeric),
    shape("ghu_", 30, usize::MAX, is_alphanumeric),
    shape("ghs_", 30, usize::MAX, is_alphanumeric),
    shape("ghr_", 30, usize::MAX, is_alphanumeric),
    shape("github_pat_", 30, usize::MAX, is_word),
    shape("glpat-", 20, usize::MAX, is_word),
    shape("npm_", 36, usize::MAX, is_alphanumeric),
    shape("hf_", 30, usize::MAX, is_alphanumeric),
    shape("AKIA", 16, 16, is_upper),
    shape("ASIA", 16, 16, is_upper),
    shape("AIza", 35, 35, is_word),
    shape("xoxa-", 10, usize::MAX, is_word),
    shape("xoxb-", 10, usize::MAX, is_word),
    shape("xoxp-", 10, usize::MAX, is_word),
    shape("xoxr-", 10, usize::MAX, is_word),
    shape("xoxs-", 10, usize::MAX, is_word),
];

/// The bytes that a shape begins with: for most words the first letter rules all of them out.
const BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let mut at = 0;
    while at < SHAPES.len() {
        begins[SHAPES[at].prefix.as_bytes()[0] as usize] = true;
        at += 1;
    }
    begins
};

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_bearer(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

struct Search<'a> {
    text: &'a str,
    /// Whether the end of a private key may still follow: it is looked for in vain only once.
    pem_ends: bool,
}

impl Search<'_> {
    /// Returns where the secret that is recognised at `at` begins and ends; `redacted` is where the
    /// last one ended.
    ///
    /// Everything is recognised at a byte of ASCII, so that all bounds are those of characters.
    fn secret_at(&mut self, at: usize, redacted: usize) -> Option<(usize, usize)> {
        let bytes = self.text.as_bytes();
        // After a secret a word begins: so it does once our own word stands there.
        let starts_word = at == redacted || !is_word(bytes[at - 1]);
        match bytes[at] {
            b'-' if self.text[at..].starts_with("-----BEGIN ") => self.private_key(at),
            b':' if self.text[at..].starts_with("://") => self.password_in_url(at + 3),
            b':' | b'=' => assignment::value(self.text, at),
            b'b' | b'B' if starts_word => self.authorization(at),
            b'e' if starts_word => self.web_token(at),
            byte if BEGINS[usize::from(byte)] && starts_word => self.shaped(at),
            _ => None,
        }
    }

    fn shaped(&self, at: usize) -> Option<(usize, usize)> {
        let rest = &self.text[at..];
        let shape = SHAPES.iter().find(|shape| rest.starts_with(shape.prefix))?;
        let body = &rest.as_bytes()[shape.prefix.len()..];
        let length = run(body, shape.allowed);
        // Without a digit it is a name such as `sk-` and words joined by dashes.
        let random = body[..length].iter().any(u8::is_ascii_digit);
        let fits = (shape.least..=shape.most).contains(&length) && random;
        // One of a fixed length ends there; any other takes the rest of its word along.
        let word = run(body, is_word);
        let ends = shape.most == usize::MAX || word == length;
        (fits && ends).then_some((at, at + shape.prefix.len() + word))
    }

    /// `eyJ….….…`: a JSON web token begins with the encoding of `{"`.
    fn web_token(&self, at: usize) -> Option<(usize, usize)> {
        const LEAST: usize = 8;
        let bytes = self.text.as_bytes();
        if !self.text[at..].starts_with("eyJ") {
            return None;
        }
        let mut end = at;
        for part in 0..3 {
            if part > 0 {
                end += usize::from(bytes.get(end) == Some(&b'.'));
            }
            let length = run(&bytes[end..], is_word);
            if length < LEAST || (part > 0 && bytes[end - 1] != b'.') {
                return None;
            }
            end += length;
        }
        Some((at, end))
    }

    /// `Bearer <token>`, and `Basic <token>`: the token alone.
    fn authorization(&self, at: usize) -> Option<(usize, usize)> {
        const LEAST: usize = 16;
        let bytes = self.text.as_bytes();
        let length = run(&bytes[at..], |byte| byte.is_ascii_alphabetic());
        let scheme = &self.text[at..at + length];
        if !assignment::is_scheme(scheme) || bytes.get(at + length) != Some(&b' ') {
            return None;
        }
        let from = at + length + 1;
        let token = &bytes[from..from + run(&bytes[from..], is_bearer)];
        let random = token.iter().any(u8::is_ascii_digit);
        (token.len() >= LEAST && random).then_some((from, from + token.len()))
    }

    /// A private key in PEM: the whole block, or what is there of one that was cut off.
    fn private_key(&mut self, at: usize) -> Option<(usize, usize)> {
        const CLOSE: &str = "PRIVATE KEY-----";
        const LONGEST_LABEL: usize = 40;
        let label = at + "-----BEGIN ".len();
        let label_length =
            run(&self.text.as_bytes()[label..], |byte| byte.is_ascii_uppercase() || byte == b' ');
        let dashes = label + label_length;
        let begins = self.text[label..dashes].ends_with("PRIVATE KEY")
            && self.text[dashes..].starts_with("-----");
        if !begins || label_length > LONGEST_LABEL {
            return None;
        }
        let body = dashes + "-----".len();
        if self.pem_ends
            && let Some(end) = self.text[body..].find("-----END ")
        {
            let end = body + end + "-----END ".len();
            let tail = self.text.as_bytes()[end..].iter().take(LONGEST_LABEL + CLOSE.len());
            let tail = tail.take_while(|byte| byte.is_ascii() && **byte != b'\n').count();
            let close =
                self.text[end..end + tail].find(CLOSE).map_or(0, |close| close + CLOSE.len());
            return Some((at, end + close));
        }
        self.pem_ends = false;
        let cut = run(&self.text.as_bytes()[body..], |byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'\n' | b'\r')
        });
        Some((at, body + cut))
    }

    /// `scheme://user:password@host`: the password alone.
    fn password_in_url(&self, at: usize) -> Option<(usize, usize)> {
        const LONGEST: usize = 256;
        let ends = |byte: u8| {
            byte <= b' ' || matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'?' | b'#')
        };
        let rest = &self.text.as_bytes()[at..];
        let length = rest.iter().take(LONGEST).take_while(|byte| !ends(**byte)).count();
        let sign = rest[..length].iter().rposition(|byte| *byte == b'@')?;
        let colon = rest[..sign].iter().position(|byte| *byte == b':')?;
        let (from, to) = (at + colon + 1, at + sign);
        let password = &self.text[from..to];
        let stands_in = password.starts_with(['$', '{', '%', '[']) || password.is_empty();
        (!stands_in).then_some((from, to))
    }
}

/// Returns how many bytes a run has.
fn run(bytes: &[u8], allowed: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| allowed(**byte)).count()
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
