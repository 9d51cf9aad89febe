//! What a terminal is shown: nothing that comes from a page, a model or a file acts on it.

use std::fs;

use contexture_testkit::provider::{Protocol, Reply};
use serde_json::Value;

use crate::chat_support::Room;

/// What would clear the screen, hide text, set the title, go back in the line or turn it around.
const EVIL: &str =
    "a\u{1b}[2Jb\u{1b}[8mc\u{1b}]0;owned\u{7}d\u{9b}31me\u{202e}f\u{2066}g\u{7f}h\u{200f}i";

/// Characters that must not reach a terminal, and the beginnings of sequences that must not.
const HARMFUL: [&str; 10] = [
    "\u{1b}[2J",
    "\u{1b}[8m",
    "\u{1b}]",
    "\u{7}",
    "\u{9b}",
    "\u{202e}",
    "\u{2066}",
    "\u{7f}",
    "\u{200f}",
    "\u{8}",
];

/// A project whose pages, agents and messages hold such characters wherever they may.
fn room(replies: impl IntoIterator<Item = Reply>) -> Room {
    let room = Room::new(Protocol::OpenAi, replies);
    let sandbox = &room.sandbox;
    sandbox.json(&["init"]);
    let name = "n\u{202e}ame\u{2066}";
    let page = ["page", "create", "--parent", "usr-0", "--name", name, "--description", name];
    sandbox.json(&[&page[..], &["--detail", EVIL]].concat());
    sandbox.json(&["turn", "add", "--user", EVIL, "--assistant", EVIL]);
    sandbox.json(&["session", "set", "mood", "\u{202e}doom"]);
    let agent = format!(
        "---\nkind: agent\nname: evil\ntitle: \"t\\u202e\\u001b[2J\"\ndescription: \"d\\u009b\"\n\
         contextMode: shared\nmood\u{202e}: x\n---\n{EVIL}\n"
    );
    sandbox.write(".gemini/agents/evil.md", agent);
    room
}

fn check(shown: &str, command: &[&str]) {
    for harmful in HARMFUL {
        assert!(!shown.contains(harmful), "{command:?} showed {harmful:?}:\n{shown:?}");
    }
    // The terminal itself puts one before each end of a line; no other may stand there.
    let alone = shown.replace("\r\n", "\n").replace("\r\u{1b}[K", "");
    assert!(!alone.contains('\r'), "{command:?}: {shown:?}");
}

const COMMANDS: &[&[&str]] = &[
    &["window"],
    &["window", "--format", "openai"],
    &["window", "--format", "responses"],
    &["window", "--format", "anthropic"],
    &["window", "--format", "gemini"],
    &["window", "--format", "context"],
    &["window", "--json"],
    &["window", "--account"],
    &["window", "--account", "--json"],
    &["window", "--level", "summary"],
    &["window", "--fold", "--format", "openai"],
    &["window", "--sent", "1", "--format", "openai"],
    &["export"],
    &["page", "show", "usr-1"],
    &["page", "show", "usr-1", "--json"],
    &["page", "list"],
    &["page", "list", "--json"],
    &["page", "tree"],
    &["page", "tree", "--json"],
    &["page", "children", "usr-0"],
    &["page", "find", "ame"],
    &["page", "update", "usr-1", "--description", "x\u{202e}\u{9b}y"],
    &["page", "show", "\u{1b}[2J\u{202e}"],
    &["page", "show", "\u{1b}[2J\u{202e}", "--json"],
    &["page", "show", "usr-1", "--\u{1b}[2J\u{202e}"],
    &["--\u{1b}]0;x\u{7}"],
    &["history"],
    &["history", "--json"],
    &["segment", "list"],
    &["session", "list"],
    &["session", "set", "mood", "\u{202e}x"],
    &["press", "find"],
    &["turn", "add", "--user", EVIL],
    &["agents", "list"],
    &["agents", "list", "--json"],
    &["agents", "show", "evil"],
    &["agents", "show", "evil", "--json"],
    &["agents", "validate"],
    &["agents", "validate", "--json"],
    &["agents", "context", "evil"],
    &["agents", "graph"],
    &["store", "check"],
    &["--store", "sqlite:\u{1b}[2J\u{202e}.db", "page", "list"],
];

// Every command, for a person and as JSON, talk and data: shown in a terminal nothing acts on it.
#[test]
fn no_command_lets_text_act_on_the_terminal() {
    let room = room([]);
    for command in COMMANDS {
        let mut terminal = room.terminal(command, &[]);
        terminal.end();
        check(&terminal.text(), command);
    }
    // What the log tells stands on the same terminal.
    let log = [("CONTEXTURE_LOG", "trace")];
    let mut terminal = room.terminal(&["page", "find", EVIL], &log);
    terminal.end();
    check(&terminal.text(), &["page", "find"]);
}

// JSON in a terminal is the same JSON; in a file it is the same bytes.
#[test]
fn json_in_a_terminal_is_the_same_json() {
    let room = room([]);
    for command in [
        &["export"][..],
        &["page", "show", "usr-1", "--json"],
        &["window", "--format", "openai"],
        &["window", "--format", "context"],
    ] {
        let piped = room.sandbox.text(command);
        let mut terminal = room.terminal(command, &[]);
        assert_eq!(terminal.end(), 0);
        let shown = terminal.text();
        assert_ne!(shown.replace("\r\n", "\n"), piped, "{command:?}");
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown, serde_json::from_str::<Value>(&piped).unwrap(), "{command:?}");
        assert!(piped.contains('\u{202e}'), "{command:?}");
    }
}

// A run: what the model says, its calls, their results and errors of the provider.
#[test]
fn a_run_lets_nothing_act_on_the_terminal() {
    let call = r#"{"path":"x\u001b[2J\u202e.txt"}"#;
    let replies = || [Reply::text(EVIL).tool_call("call_1", "read_file", call), Reply::text(EVIL)];
    for json in [&[][..], &["--json"]] {
        let room = room(replies());
        fs::write(room.sandbox.path().join("x\u{1b}[2J\u{202e}.txt"), EVIL).unwrap();
        let run = ["agents", "run", "--model", "openai/gpt-4o", "bug-fixer", "go"];
        let command = [json, &run[..]].concat();
        let mut terminal = room.terminal(&command, &[]);
        assert_eq!(terminal.end(), 0, "{}", terminal.text());
        check(&terminal.text(), &command);
        assert_eq!(room.requests().len(), 2);
    }
}
