//! The steps of the tour: an agent looks into a failing test.

use std::path::Path;

use super::command_line;

/// The files that the tour reads, by name.
pub(super) const FILES: [(&str, &str); 3] = [
    ("system.md", include_str!("system.md")),
    ("turn.json", include_str!("turn.json")),
    ("talk.json", include_str!("talk.json")),
];

/// The budget the window of the tour is folded to, in tokens.
const BUDGET: &str = "1000";

/// One line of the tour.
pub(super) struct Step {
    /// What it shows; empty if it continues the step before.
    pub(super) says: &'static str,
    /// The command line, word by word.
    pub(super) line: Vec<String>,
    /// Its exit code: 1 if it shows a refusal.
    pub(super) exit: u8,
}

/// Returns the steps, on a store and with the files in a folder.
pub(super) fn steps(store: &str, folder: &Path) -> Vec<Step> {
    let file = |name: &str| folder.join(name).display().to_string();
    let step = |says, words: &[&str], exit| Step {
        says,
        line: command_line(store, words.iter().copied()),
        exit,
    };
    let mut steps = pages(&step, &file);
    steps.extend(window(&step));
    steps
}

type MakeStep<'a> = &'a dyn Fn(&'static str, &[&str], u8) -> Step;

/// Steps on pages: what is kept, and who may change it.
fn pages(step: MakeStep<'_>, file: &dyn Fn(&str) -> String) -> Vec<Step> {
    vec![
        step(
            "Create a store and a session, with a system prompt that binds every agent.",
            &["init", "--system", &file("system.md")],
            0,
        ),
        step(
            "An agent works: the request, a tool call with its result and the answer form one turn.",
            &["--as", "fixer", "turn", "add", "--messages", &file("turn.json")],
            0,
        ),
        step(
            "The agent keeps a note.",
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
            "Permissions hold: the agent can neither rewrite nor hide its system prompt.",
            &["--as", "fixer", "page", "update", "sys-1", "--name", "Mine"],
            1,
        ),
        step("", &["--as", "fixer", "page", "hide", "sys-0"], 1),
        step(
            "Import a conversation that another tool recorded; importing a file again adds only what is new.",
            &["import", &file("talk.json")],
            0,
        ),
    ]
}

/// Steps on the window: what the model sees.
fn window(step: MakeStep<'_>) -> Vec<Step> {
    vec![
        step(
            "Where do the tokens of the agent's window go?",
            &["--as", "fixer", "window", "--account"],
            0,
        ),
        step(
            "A budget cuts large results to head and tail. What more would folding save, and at what cost?",
            &["--as", "fixer", "fold", "--budget", BUDGET, "--preview"],
            0,
        ),
        step("Worth it.", &["--as", "fixer", "fold", "--budget", BUDGET], 0),
        step(
            "This is what the model sees now: the requests and calls of old turns, and the latest turn in full.",
            &["--as", "fixer", "window", "--budget", BUDGET],
            0,
        ),
        step(
            "Nothing is lost: what was folded can be found by what was said in it …",
            &["--as", "fixer", "find", "why does the empty line fail", "--limit", "2"],
            0,
        ),
        step("… expanded again …", &["--as", "fixer", "page", "expand", "usr-4"], 0),
        step("", &["--as", "fixer", "page", "tree", "usr-0"], 0),
        step("… nobody else's view has changed …", &["page", "tree", "usr-0"], 0),
        step("… and an edit can be undone.", &["--as", "fixer", "undo"], 0),
        step("The history records who did what.", &["history"], 0),
        step("And the store can be checked.", &["store", "check"], 0),
    ]
}
