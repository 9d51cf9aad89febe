//! Splitting an agent file into its front matter and its body.

use super::problem::FileProblem;

/// The longest agent file.
pub(crate) const MOST_BYTES: usize = 1 << 20;
/// The longest front matter.
const MOST_FRONT: usize = 64 << 10;

/// An agent file in its two parts.
#[derive(Debug, PartialEq)]
pub(crate) struct Parts {
    /// What stands between the fences, line breaks as `\n`.
    pub(crate) front: String,
    /// The file's line on which that begins.
    pub(crate) first: u32,
    /// What follows, line breaks as `\n`, without blank lines around it.
    pub(crate) body: String,
    /// What is odd about the way it is written.
    pub(crate) problems: Vec<FileProblem>,
}

/// Reads the bytes of a file as text: UTF-8, with or without a byte order mark, any line breaks.
pub(crate) fn text_of(bytes: &[u8]) -> Result<String, FileProblem> {
    if bytes.len() > MOST_BYTES {
        return Err(too_big());
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(FileProblem::error("the file is UTF-16").at(1, 1).hint("save it as UTF-8"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.replace("\r\n", "\n").replace('\r', "\n")),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let breaks = before.iter().filter(|byte| **byte == b'\n').count();
            let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let problem = FileProblem::error("the file is not UTF-8");
            Err(problem
                .at(number(breaks + 1), number(before.len() - start + 1))
                .hint("save it as UTF-8"))
        }
    }
}

/// Says that a file is too long to be read.
pub(crate) fn too_big() -> FileProblem {
    FileProblem::error("the file is larger than 1 MiB, the limit for agent files")
        .hint("keep the system prompt short and let the agent read files instead")
}

/// Splits a file at its `---` fences.
pub(crate) fn split(text: &str) -> Result<Parts, FileProblem> {
    let mut problems = Vec::new();
    let lines: Vec<&str> = text.split('\n').collect();
    let opening = lines.iter().position(|line| !line.trim().is_empty());
    let Some(opening) = opening.filter(|at| is_fence(lines[*at])) else {
        return Err(no_front_matter(opening.map(|at| lines[at])));
    };
    if opening > 0 {
        let message =
            "there are blank lines before the front matter, so other tools do not find it";
        problems.push(FileProblem::warning(message).at(1, 1).hint("begin the file with `---`"));
    }
    let closing = (opening + 1..lines.len()).find(|at| is_fence(lines[*at]));
    let Some(closing) = closing else {
        let message = "the front matter is not closed: the second `---` line is missing";
        return Err(FileProblem::error(message)
            .at(number(opening + 1), 1)
            .hint("put a `---` line between the fields and the system prompt"));
    };
    let front = lines[opening + 1..closing].join("\n");
    if front.len() > MOST_FRONT {
        let message = "the front matter is larger than 64 KiB";
        return Err(FileProblem::error(message)
            .at(number(opening + 1), 1)
            .hint("move long text into the body"));
    }
    let body = lines[closing + 1..].join("\n");
    let body = body.trim_start_matches('\n').trim_end().to_owned();
    Ok(Parts { front, first: number(opening + 2), body, problems })
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

fn no_front_matter(first: Option<&str>) -> FileProblem {
    let problem = match first {
        None => FileProblem::error("the file is empty"),
        Some(_) => FileProblem::error("the file has no front matter").at(1, 1),
    };
    problem.hint(match first {
        Some(line) if line.starts_with("```") => {
            "the file begins with a code fence: remove it, so that `---` is the first line"
        }
        _ => {
            "begin the file with a `---` line, fields such as `name: …`, and a second `---` line; keep files that are not agents elsewhere"
        }
    })
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, u32, String) {
        let parts = split(&text_of(text.as_bytes()).unwrap()).unwrap();
        (parts.front, parts.first, parts.body)
    }

    #[test]
    fn every_way_to_write_fences_is_understood() {
        let expected = ("a: 1\nb: 2".to_owned(), 2, "Body".to_owned());
        for text in [
            "---\na: 1\nb: 2\n---\nBody",
            "---\r\na: 1\r\nb: 2\r\n---\r\n\r\nBody\r\n",
            "\u{feff}---\na: 1\nb: 2\n---\n\n\nBody\n\n",
            "---  \na: 1\nb: 2\n--- \t\nBody",
        ] {
            assert_eq!(parts(text), expected, "{text:?}");
        }
        // A rule in the body is part of it.
        assert_eq!(parts("---\na: 1\n---\nX\n---\nY").2, "X\n---\nY");
        assert_eq!(parts("---\n---"), (String::new(), 2, String::new()));
    }

    #[test]
    fn front_matter_that_cannot_be_split_says_why() {
        let refused = |text: &str| {
            let problem = text_of(text.as_bytes()).and_then(|text| split(&text)).unwrap_err();
            problem.display(std::path::Path::new("x.md")).to_string()
        };
        insta::assert_snapshot!(refused("\n---\nname: a\nYou are a.\n"), @r"
        x.md:2: error: the front matter is not closed: the second `---` line is missing
          hint: put a `---` line between the fields and the system prompt
        ");
        insta::assert_snapshot!(refused("# Title\n\nText\n---\n"), @r"
        x.md:1: error: the file has no front matter
          hint: begin the file with a `---` line, fields such as `name: …`, and a second `---` line; keep files that are not agents elsewhere
        ");
        insta::assert_snapshot!(refused("```yaml\n---\nname: a\n---\n```\n"), @r"
        x.md:1: error: the file has no front matter
          hint: the file begins with a code fence: remove it, so that `---` is the first line
        ");
        insta::assert_snapshot!(refused(" \n"), @r"
        x.md: error: the file is empty
          hint: begin the file with a `---` line, fields such as `name: …`, and a second `---` line; keep files that are not agents elsewhere
        ");
        let long = format!("---\na: {}\n---\n", "x".repeat(70_000));
        insta::assert_snapshot!(refused(&long), @r"
        x.md:1: error: the front matter is larger than 64 KiB
          hint: move long text into the body
        ");
        let bad = text_of(b"---\nname: \xff\n---\n").unwrap_err();
        assert_eq!((bad.line, bad.column), (Some(2), Some(7)));
    }
}
