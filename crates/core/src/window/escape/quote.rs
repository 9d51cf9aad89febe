//! Quoting: an outside name within a line of the engine, which it can neither end nor leave.
//!
//! Between the quotes stands escaped text on one line. A quote in it has an odd number of
//! backslashes before it, the one that ends it an even number; all other backslashes stay as they
//! are.
//!
//! ```text
//!  outside       quoted          rule
//!  Plan          "Plan"
//!  a" b          "a\" b"         k backslashes before a quote → 2k + 1
//!  C:\dir        "C:\dir"
//!  C:\           "C:\\"          k backslashes at the end → 2k
//! ```

use super::escape_text;

/// Writes outside text between quotes, white space flattened to single blanks.
pub fn quote_text(text: &str) -> String {
    let flat = flatten(text);
    let escaped = escape_text(&flat);
    let mut quoted = String::with_capacity(escaped.len() + 2);
    quoted.push('"');
    let mut backslashes = 0;
    for c in escaped.chars() {
        match c {
            '\\' => backslashes += 1,
            '"' => {
                quoted.extend(std::iter::repeat_n('\\', backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        quoted.push(c);
    }
    quoted.extend(std::iter::repeat_n('\\', backslashes));
    quoted.push('"');
    quoted
}

/// Reads the quoted text that a text begins with: what was quoted, and what follows it.
#[cfg(test)]
pub(crate) fn unquote_text(text: &str) -> Option<(String, &str)> {
    let body = text.strip_prefix('"')?;
    let mut escaped = String::new();
    let mut backslashes: usize = 0;
    for (at, c) in body.char_indices() {
        if c == '"' {
            // Half of those that stand there were written here, and one more before an inner quote.
            escaped.truncate(escaped.len() - backslashes.div_ceil(2));
            if backslashes.is_multiple_of(2) {
                return Some((super::unescape_text(&escaped).into_owned(), &body[at + 1..]));
            }
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        escaped.push(c);
    }
    None
}

/// Puts a text on one line.
pub(crate) fn flatten(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
