//! What the tour shows: an agent that looks into a failing test.

use std::path::Path;

use super::command_line;

/// The files it reads, by name.
pub(super) const FILES: [(&str, &str); 2] =
    [("system.md", include_str!("system.md")), ("turn.json", include_str!("turn.json"))];

/// One line of the tour.
pub(super) struct Step {
    /// What it is about; empty where it goes on from the line before.
    pub(super) says: &'static str,
    /// The command line, word by word.
    pub(super) line: Vec<String>,
    /// How it ends: 1 where a refusal is what is shown.
    pub(super) exit: u8,
}

/// Returns the steps, on a store and with the files in a folder.
pub(super) fn steps(store: &str, folder: &Path) -> Vec<Step> {
    let file = |name: &str| folder.join(name).display().to_string();
    let (system, turn) = (file("system.md"), file("turn.json"));
    let step = |says, words: &[&str], exit| Step {
        says,
        line: command_line(store, words.iter().copied()),
        exit,
    };
    vec![
        step(
            "A store and a session, with a system prompt that binds every agent.",
            &["init", "--system", &system],
            0,
        ),
        step(
            "An agent works: the request, a tool call with its result and the answer are one turn.",
            &["--as", "fixer", "turn", "add", "--messages", &turn],
            0,
        ),
        step(
            "It keeps a note, and a directory that adopts it.",
            &[
                "--as",
                "fixer",
                "page",
                "create",
                "--parent",
                "usr-0",
                "--name",
                "Cause",
                "--description",
                "why parses_empty_line fails",
                "--detail",
                r#"split(" ") gives one empty word for an empty line."#,
            ],
            0,
        ),
        step(
            "",
            &[
                "--as",
                "fixer",
                "page",
                "create",
                "--contents",
                "--parent",
                "usr-0",
                "--name",
                "Findings",
                "--child",
                "usr-2",
            ],
            0,
        ),
        step("All of it is a tree of pages.", &["page", "tree"], 0),
        step("What was said can be read back in full.", &["page", "show", "usr-1"], 0),
        step(
            "Permissions hold: the agent can neither rewrite its system prompt nor look away from it.",
            &["--as", "fixer", "page", "update", "sys-1", "--name", "Mine"],
            1,
        ),
        step("", &["--as", "fixer", "page", "hide", "sys-0"], 1),
        step(
            "It arranges its own view: opens the directory, pins the note.",
            &["--as", "fixer", "page", "expand", "usr-3"],
            0,
        ),
        step("", &["--as", "fixer", "page", "pin", "usr-2"], 0),
        step("That is what it sees now …", &["--as", "fixer", "page", "tree", "usr-0"], 0),
        step("… and nobody else's view has changed.", &["page", "tree", "usr-0"], 0),
        step(
            "It edits its note, and takes that back.",
            &[
                "--as",
                "fixer",
                "page",
                "update",
                "usr-2",
                "--name",
                "Cause and cure",
                "--detail",
                "Use split_whitespace().",
            ],
            0,
        ),
        step("", &["--as", "fixer", "undo"], 0),
        step("", &["--as", "fixer", "page", "show", "usr-2"], 0),
        step("Who did what is on record.", &["history"], 0),
        step("And the store is in order.", &["store", "check"], 0),
    ]
}
