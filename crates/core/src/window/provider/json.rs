//! JSON as text: escaping, foreign values as they were, and the mark taken out of their strings.

use std::borrow::Cow;

use crate::window::piece::Mark;

/// How deep a foreign value may nest: readers of whole bodies commonly stop at 128.
const DEEPEST: usize = 100;

/// Writes a text as a JSON string.
pub(super) fn push_text(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// Writes a text as it stands inside a JSON string.
pub(super) fn push_escaped(out: &mut String, text: &str) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        if short.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(short);
        }
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

/// Tells whether a text is a JSON object that every reader of a body can read.
///
/// Half a surrogate pair, a number without end or a very deep value would make the body unreadable.
pub(super) fn is_sound_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && is_sound(text)
}

/// Tells whether a text is a JSON value that every reader of a body can read.
pub(super) fn is_sound(text: &str) -> bool {
    depth(text) <= DEEPEST && serde_json::from_str::<serde_json::Value>(text).is_ok()
}

fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let mut rest = text;
    while let Some(at) = rest.find(['"', '{', '[', '}', ']']) {
        match rest.as_bytes()[at] {
            b'"' => {
                rest = &rest[at + literal_len(&rest[at..])..];
                continue;
            }
            b'{' | b'[' => depth += 1,
            _ => depth = depth.saturating_sub(1),
        }
        deepest = deepest.max(depth);
        rest = &rest[at + 1..];
    }
    deepest
}

/// Takes the mark out of every string of a JSON value, leaving all other bytes as they were.
///
/// Replacing it in the raw text would miss a mark spelled with `\u` escapes, and could break an
/// escape whose letter begins the mark.
pub(super) fn defuse<'a>(mark: &Mark, raw: &'a str) -> Cow<'a, str> {
    if !raw.contains(mark.as_str()) && !raw.contains("\\u") {
        return raw.into();
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('"') {
        let end = at + literal_len(&rest[at..]);
        let literal = &rest[at..end];
        out.push_str(&rest[..at]);
        match serde_json::from_str::<String>(literal) {
            Ok(text) if text.contains(mark.as_str()) => push_text(&mut out, &mark.defuse(&text)),
            Ok(_) => out.push_str(literal),
            // Half a surrogate pair is no text, but may stand beside the mark.
            Err(_) => out.push_str(&mark.defuse(literal)),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out.into()
}

/// Returns the length of the string literal a text begins with, quotes included.
fn literal_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_readers_expect() {
        let text = "a\"\\\n\r\t\u{1}\u{1f}é\u{7f}𝄞/";
        let mut out = String::new();
        push_text(&mut out, text);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        assert_eq!(out, "\"a\\\"\\\\\\n\\r\\t\\u0001\\u001fé\u{7f}𝄞/\"");
    }

    #[test]
    fn the_mark_leaves_strings_and_nothing_else_changes() {
        let mark = Mark::try_from("nbcdfghj".to_owned()).unwrap();
        let raw =
            r#"{ "a" : "x nbcdfghj\ty", "nbcdfghj":1.50, "b":"\u006ebcdfghj","c":"\nbcdfghj" }"#;
        let expected = r#"{ "a" : "x (mark)\ty", "(mark)":1.50, "b":"(mark)","c":"\nbcdfghj" }"#;
        assert_eq!(defuse(&mark, raw), expected);
        let digits = Mark::try_from("12345678".to_owned()).unwrap();
        assert_eq!(defuse(&digits, "[912345678]"), "[912345678]");
        assert_eq!(defuse(&mark, r#""\ud800nbcdfghj""#), r#""\ud800(mark)""#);
    }

    #[test]
    fn only_what_every_reader_reads_is_sound() {
        assert!(is_sound_object(" {\"a\":[{}],\"a\":\"[[[\"} "));
        for text in ["", "[]", "{", "{\"a\":\"\\ud800\"}", "{\"a\":1e999}", "{} {}"] {
            assert!(!is_sound_object(text), "{text}");
        }
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_sound_object(&deep(99)) && !is_sound_object(&deep(100)));
    }
}
