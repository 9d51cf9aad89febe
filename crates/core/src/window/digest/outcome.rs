//! How a call ended: one line of what came back, and whether that reads as a failure.

use super::head;

/// The most characters of an outcome.
pub(super) const LENGTH: usize = 80;

/// How much of each end of a result is looked through for the line.
const READ: usize = 16 * 1024;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallOutcome {
    /// The last line that speaks of a failure, else the last line; empty where nothing came back.
    pub line: Box<str>,
    /// Whether it failed, by what the tool or the line says.
    pub failed: bool,
}

/// Words by which a line speaks of a failure.
const FAILURES: [&str; 13] = [
    "error",
    "failed",
    "failure",
    "fail:",
    "failing",
    "exception",
    "traceback",
    "panicked",
    "fatal",
    "not found",
    "no such file",
    "denied",
    "cannot",
];

/// Words that say that there was none of it.
const NONE: [&str; 9] = [
    "0 failed",
    "0 failures",
    "failures=0",
    "0 errors",
    "errors=0",
    "0 error",
    "no errors",
    "no error",
    "without error",
];

impl CallOutcome {
    /// Reads how a call ended from what came back; `failed`: whether the tool itself says so.
    pub(super) fn of(text: &str, failed: bool) -> Self {
        let from = text.ceil_char_boundary(text.len().saturating_sub(READ));
        // Tags of a harness around a result say nothing of it.
        let lines = text[from..].lines().map(str::trim).filter(|line| tells(line));
        let (mut last, mut failure) = ("", None);
        for line in lines {
            last = line;
            if speaks_of_failure(line) {
                failure = Some(line);
            }
        }
        let line = head(failure.unwrap_or(last), LENGTH).into();
        Self { line, failed: failed || failure.is_some() }
    }
}

fn tells(line: &str) -> bool {
    let tag = line.starts_with('<') && line.ends_with('>') && !line.contains(' ');
    !tag && line.contains(char::is_alphanumeric)
}

fn speaks_of_failure(line: &str) -> bool {
    let mut small = line.to_lowercase();
    for none in NONE {
        if small.contains(none) {
            small = small.replace(none, "");
        }
    }
    FAILURES.into_iter().any(|word| stands_in(&small, word))
}

/// Tells whether a word stands in a line by itself: not within another, nor as a part of a name.
fn stands_in(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + word.len()..].chars().next();
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
        let is_type = word == "error" || word == "exception";
        // `ValueError: …` speaks of one, `error_page` and `errors.rs` do not.
        before.is_none_or(|c| !joins(c) || (is_type && c.is_alphabetic()))
            && behind.is_none_or(|c| !joins(c) || (c == '.' && line.ends_with('.')))
    })
}
