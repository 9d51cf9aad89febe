//! Lines of JSON, with what real files put between them.

use crate::message::Fields;

/// A line that is neither blank nor a comment.
pub(super) enum Line {
    /// An object.
    Object(Fields),
    /// Something else, and what is wrong with it.
    Bad(String),
    /// The last line, cut off in the middle: the file is being written.
    Unfinished,
}

/// Reads the lines of a text, each with its number from 1.
///
/// Blank lines, lines that begin with `//` or `#`, a byte order mark and Windows line ends are
/// passed over.
pub(super) fn json_lines(text: &str) -> impl Iterator<Item = (u64, Line)> {
    let mut lines = (1..)
        .zip(without_mark(text).lines())
        .map(|(number, line)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with("//") && !line.starts_with('#'))
        .peekable();
    std::iter::from_fn(move || {
        let (number, line) = lines.next()?;
        Some((number, read_line(line, lines.peek().is_none())))
    })
}

/// Returns the text without the byte order mark at its head.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn read_line(line: &str, is_last: bool) -> Line {
    match serde_json::from_str(line) {
        Ok(fields) => Line::Object(fields),
        Err(error) if error.is_eof() && is_last => Line::Unfinished,
        Err(error) if error.is_data() => Line::Bad("it is not a JSON object".to_owned()),
        Err(error) => Line::Bad(format!("it is not valid JSON at column {}", error.column())),
    }
}
