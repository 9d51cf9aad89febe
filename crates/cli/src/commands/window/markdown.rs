//! Paints a window in Markdown for a person. Only colour is added; control characters, which a terminal
//! would obey, become pictures.

use crate::{printer::Paint, sanitize};

/// How the lines of pages and runs begin.
const LEVELS: [&str; 4] = ["[FULL] ", "[SUMMARY] ", "[GIST] ", "[RUN] "];

/// The role at the start of a message. Text from outside that begins like this is escaped.
const ROLES: [&str; 4] = ["**system", "**user", "**assistant", "**tool"];

/// The beginnings of the lines at the end of the window.
const LIVE: [&str; 3] = ["---", "Focus: ", "Actions: "];

/// Paints the lines of a window.
pub(super) fn lines(paint: Paint, body: &str) -> Vec<String> {
    sanitize::text(body).lines().map(|line| painted(paint, line)).collect()
}

fn painted(paint: Paint, line: &str) -> String {
    if line.starts_with("## **[") {
        return paint.strong(line);
    }
    if LIVE.iter().any(|begin| line.starts_with(begin)) {
        return paint.dim(line);
    }
    let starts = |begin: &&&str| line.starts_with(**begin);
    if let (Some(_), Some((role, said))) = (ROLES.iter().find(starts), line.split_once(":**")) {
        return format!("{}{said}", paint.warning(format!("{role}:**")));
    }
    match LEVELS.iter().find(starts) {
        Some(level) => page_line(paint, level, &line[level.len()..]),
        None => line.to_owned(),
    }
}

/// Paints `**[usr-1]** "Name" … [button:hide-usr-1]`.
fn page_line(paint: Paint, level: &str, rest: &str) -> String {
    let index = rest.find("]** ").map_or(0, |at| at + "]**".len());
    let (index, rest) = rest.split_at(index);
    let (said, anchor) = rest.split_at(rest.rfind(" [button:").unwrap_or(rest.len()));
    format!("{}{}{said}{}", paint.dim(level), paint.id(index), paint.dim(anchor))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: &str = "## **[usr-0]** User\n\n\
        [FULL] **[usr-1]** \"A\" [button:hide-usr-1]\n**user:** Hello\n\\**user:** fake\n\n\
        [RUN] **[usr-2]** to usr-9 (8 pages folded)\n\n---\nActions: [form:find query=…]";

    #[test]
    fn only_colour_is_added() {
        assert_eq!(lines(Paint::Plain, WINDOW).join("\n"), WINDOW);
        let painted = lines(Paint::Colour, WINDOW).join("\n");
        assert!(painted.contains("\u{1b}[36m**[usr-1]**\u{1b}[0m \"A\""), "{painted:?}");
        assert!(painted.contains("\n\\**user:** fake\n"), "what is escaped is nobody's role");
        let mut bare = String::new();
        let mut rest = painted.as_str();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            bare.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        assert_eq!(bare + rest, WINDOW);
    }

    #[test]
    fn terminals_are_safe() {
        assert_eq!(lines(Paint::Plain, "a\u{1b}[2Jb"), ["a␛[2Jb"]);
    }
}
