//! What is wrong with an agent file, said so that its author can mend it.

use std::{fmt, path::Path};

use serde::Serialize;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file makes no agent.
    Error,
    /// The file makes an agent, though perhaps not the one that was meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// Something wrong with an agent file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileProblem {
    /// How bad it is.
    pub severity: Severity,
    /// The line of the file, from 1.
    pub line: Option<u32>,
    /// The column in that line, from 1.
    pub column: Option<u32>,
    /// The field it is about.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl FileProblem {
    /// Makes an error.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            line: None,
            column: None,
            field: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Makes a warning.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    /// Says where in the file it is.
    pub fn at(self, line: u32, column: u32) -> Self {
        Self { line: Some(line), column: Some(column), ..self }
    }

    /// Says which field it is about.
    pub fn field(self, field: &str) -> Self {
        Self { field: Some(quoted(field)), ..self }
    }

    /// Says what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Shows it as compilers do: `FILE:LINE: error: MESSAGE`, and the hint on a line of its own.
    pub fn display<'a>(&'a self, file: &'a Path) -> impl fmt::Display + 'a {
        FileProblemIn { file, problem: self }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

struct FileProblemIn<'a> {
    file: &'a Path,
    problem: &'a FileProblem,
}

impl fmt::Display for FileProblemIn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", clean(&self.file.to_string_lossy()))?;
        if let Some(line) = self.problem.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.problem)
    }
}

/// Returns a text of the file, fit to be shown in a message: short, on one line, with nothing a
/// terminal obeys.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    let text = text.trim();
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    clean(&short)
}

/// Returns a text with its control characters escaped.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        // The second range turns the direction of the text around it.
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            cleaned.extend(c.escape_default());
        } else {
            cleaned.push(c);
        }
    }
    cleaned
}

/// Returns the candidate that was probably meant.
///
/// Spelling that differs only in case, `-` and `_` always counts; else a letter or two, by length.
pub(crate) fn nearest<'a>(
    meant: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let bare = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = bare(meant);
    let length = wanted.chars().count();
    // Distances of very long texts are never small, and dear to compute.
    if length == 0 || length > 100 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &bare(candidate)), candidate))
        .filter(|(distance, _)| *distance == 0 || *distance <= (length / 3).clamp(1, 2))
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_read_like_a_compilers() {
        let problem = FileProblem::error("no such mode").at(4, 14).hint("did you mean 'shared'?");
        insta::assert_snapshot!(problem.display(Path::new("a.md")), @r"
        a.md:4: error: no such mode
          hint: did you mean 'shared'?
        ");
        let bare = FileProblem::warning("odd");
        assert_eq!(
            bare.display(Path::new("b\u{1b}[2J.md")).to_string(),
            "b\\u{1b}[2J.md: warning: odd"
        );
    }

    #[test]
    fn what_was_meant_is_near() {
        let known = ["contextMode", "contextGroup", "tools", "title"];
        for (typed, meant) in [
            ("contextmode", Some("contextMode")),
            ("context_mode", Some("contextMode")),
            ("tool", Some("tools")),
            ("tolos", Some("tools")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }

    #[test]
    fn texts_of_files_do_not_reach_the_terminal_as_they_are() {
        assert_eq!(quoted("a\u{1b}[31m\nb\u{202e}"), "a\\u{1b}[31m\\nb\\u{202e}");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 61);
    }
}
