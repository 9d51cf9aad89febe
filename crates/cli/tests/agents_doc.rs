//! docs/agents.md shows what the program prints: its files are written and its commands run in one
//! project, against a provider on loopback whose answers stand here.
//!
//! `UPDATE_DOCS=1 cargo test -p contexture-cli --test runner agents_doc` writes what they print anew.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contexture_agents::{
    definition::Dialect,
    provider::{LOCAL_PLACES, Retry},
    run::Limits,
    runner::DEFAULT_BUDGET,
    settings::{DEFAULT_MAX_MESSAGES, DEFAULT_MODEL, DEFAULT_SUMMARIZER_TOKENS},
    tools::{
        ALWAYS,
        workspace::{COMMAND_OUTPUT, COMMAND_SECONDS, MOST_COMMAND_SECONDS},
    },
};
use contexture_testkit::provider::Reply;

use crate::agent_support::Stage;

const REVIEW: &str = "\
Two issues:
1. line 2: `first` fails on an empty list
2. line 5: `x` should have a telling name";

/// What the model says, in the order in which the page asks it.
fn replies() -> Vec<Reply> {
    // Spelt out: the page shows them as the model wrote them.
    let edit = |old: &str, new: &str| {
        format!(r#"{{"path":"src/utils.py","old_text":"{old}","new_text":"{new}"}}"#)
    };
    let guard = edit("    return x[0]", "    return x[0] if x else None");
    vec![
        // The reviewer, then the fixer.
        Reply::call("call_1", "read_file", r#"{"path":"src/utils.py"}"#),
        Reply::text(REVIEW),
        Reply::text("code-reviewer found two issues; I begin with the first.").tool_call(
            "call_2",
            "edit_file",
            &guard,
        ),
        Reply::text("The first is fixed. The second changes a name others may use: shall I?"),
        // Shared for one call.
        Reply::text("The main session says the release is on Friday, so fix only issue 1."),
        // As JSON.
        Reply::text("Nothing new."),
        // Without the server it was to use.
        Reply::text("I have no tool to keep notes with."),
        // A tool that is denied, then a person who says no.
        Reply::call("call_3", "edit_file", &guard),
        Reply::text("I may not edit files; here is the change to make instead."),
        Reply::call("call_4", "edit_file", &edit("def last(x)", "def last(items)")),
        Reply::text("Then I leave it."),
        // Calls that wait for an approval.
        Reply::call("call_6", "edit_file", &edit("def last(x)", "def last(items)")),
        Reply::text("Renamed; its body still says `x`."),
        Reply::call("call_7", "run_command", r#"{"command":"wc -l src/*.py ../*.py"}"#),
        Reply::call("call_8", "run_command", r#"{"command":"wc -l src/*.py"}"#),
        Reply::text("6 lines."),
        // A provider that fails in the middle of a run.
        Reply::call("call_5", "read_file", r#"{"path":"src/utils.py"}"#),
        Reply::failing(400, "the model is being replaced"),
        Reply::text("`last` still fails on an empty list."),
        // The group.
        Reply::text("A helper that returns the first item, or None."),
        // A fork, and a tool that its parent has and it has not.
        Reply::call("call_9", "edit_file", &edit("def last(items)", "def last(x)")),
        Reply::text("Line 6 still says `x`: `last` fails now."),
        // Shared contexts are forbidden.
        Reply::text("I cannot see any issues above: please tell me which."),
    ]
}

/// A fenced block of the page.
struct Block {
    /// What stands behind the fence: a language, and for files their path.
    info: String,
    /// Where its text begins and ends in the page.
    from: usize,
    to: usize,
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> PathBuf {
    project().join("docs/agents.md")
}

/// Finds the fenced blocks, in order.
fn blocks(text: &str) -> Vec<Block> {
    let (mut found, mut open, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (line.trim_end().strip_prefix("```"), open.take()) {
            (Some(info), None) => open = Some((info.to_owned(), end)),
            (Some(_), Some((info, from))) => found.push(Block { info, from, to: at }),
            (None, still) => open = still,
        }
        at = end;
    }
    assert!(open.is_none(), "a block of docs/agents.md is not closed");
    found
}

/// Runs a command as a shell does and returns what a terminal would show.
fn shown(stage: &Stage, command: &str) -> String {
    let mut shell = stage.sandbox.shell(&format!("exec 2>&1\n{command}"));
    let output = shell.envs(stage.environment()).output().unwrap();
    let mut text = steady(stage, &String::from_utf8(output.stdout).unwrap());
    match output.status.code() {
        Some(0) => {}
        Some(code) => text.push_str(&format!("[exit code {code}]\n")),
        None => panic!("{command} was killed"),
    }
    text
}

/// Puts fixed values where every run has its own: the folder, times, how long something took, and
/// the tokens of windows, in which lines of the engine carry a mark of the session.
fn steady(stage: &Stage, text: &str) -> String {
    let folder = stage.sandbox.path().canonicalize().unwrap();
    let text = text.replace(folder.to_str().unwrap(), "/home/me/project");
    let text = steady_number(&steady_times(&text), "\"durationMs\":", "1200");
    steady_number(&text, " · window ", "N")
}

fn steady_times(text: &str) -> String {
    const FORM: &str = "dddd-dd-dd dd:dd:ddZ";
    let is_time = |there: &[u8]| {
        there.iter().zip(FORM.bytes()).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            form => *byte == form,
        })
    };
    let mut bytes = text.as_bytes().to_vec();
    for at in 0..(bytes.len() + 1).saturating_sub(FORM.len()) {
        let there = &mut bytes[at..at + FORM.len()];
        if is_time(there) {
            there.copy_from_slice(b"2026-01-31 12:00:00Z");
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Puts something else where a number follows these words.
fn steady_number(text: &str, after: &str, number: &str) -> String {
    let mut parts = text.split(after);
    let mut steady = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A comma belongs to the number where thousands follow it.
        let (mut rest, is_digit) = (part, |it: char| it.is_ascii_digit());
        loop {
            rest = rest.trim_start_matches(is_digit);
            match rest.strip_prefix(',') {
                Some(more) if more.starts_with(is_digit) => rest = more,
                _ => break,
            }
        }
        steady.extend([after, number, rest]);
    }
    steady
}

/// Runs the commands of a block and returns it as it should stand.
fn transcript(stage: &Stage, block: &str) -> String {
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|command| format!("$ {command}\n{}", shown(stage, command))).collect()
}

// Every file of the page is one that can be used, every command prints what it shows.
#[test]
fn the_page_shows_what_the_program_prints() {
    let replies = replies();
    let asked = replies.len();
    let stage = Stage::openai(replies);
    // The page makes all of it itself.
    fs::remove_dir_all(stage.sandbox.path().join(".gemini")).unwrap();
    fs::remove_dir_all(stage.sandbox.path().join(".contexture")).unwrap();

    let text = fs::read_to_string(page()).unwrap();
    let (mut written, mut copied) = (String::new(), 0);
    for block in blocks(&text) {
        let inside = &text[block.from..block.to];
        let (language, path) = block.info.split_once(' ').unwrap_or((&block.info, ""));
        written.push_str(&text[copied..block.from]);
        copied = block.to;
        if language == "console" {
            written.push_str(&transcript(&stage, inside));
            continue;
        }
        written.push_str(inside);
        if !path.is_empty() {
            let file = stage.sandbox.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, inside).unwrap();
        }
    }
    written.push_str(&text[copied..]);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(page(), &written).unwrap();
    } else {
        similar(&text, &written);
    }
    assert_eq!(stage.requests().len(), asked, "every answer was asked for");
    // Keys are never stored.
    let environment = stage.environment();
    let (_, key) = environment.iter().find(|(name, _)| *name == "OPENAI_API_KEY").unwrap();
    for file in fs::read_dir(stage.sandbox.path().join(".contexture")).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(key.len()).any(|there| there == key.as_bytes()));
    }
}

// The first commands work when pasted, here and in the README, with a key or an address of one's own.
#[test]
fn the_first_commands_work_when_pasted() {
    for page in [page(), project().join("README.md")] {
        let text = fs::read_to_string(page).unwrap();
        let (_, after) = text.split_once("<!-- three commands: begin -->").unwrap();
        let (block, _) = after.split_once("<!-- three commands: end -->").unwrap();
        let script = block.trim().trim_start_matches("```sh").trim_end_matches("```");
        let (key, commands) = script.trim().split_once('\n').unwrap();
        assert!(key.starts_with("export OPENAI_API_KEY="), "{key}");

        let stage = Stage::openai([Reply::text(REVIEW)]);
        fs::remove_dir_all(stage.sandbox.path().join(".gemini")).unwrap();
        fs::remove_dir_all(stage.sandbox.path().join(".contexture")).unwrap();
        let said = shown(&stage, &format!("set -e\n{commands}"));
        assert!(said.contains(REVIEW), "{said}");
        assert!(!said.contains("[exit code "), "{said}");
        assert!(stage.last_request().contains("Review src/utils.py"));
    }
}

// JSON that the page shows can be read.
#[test]
fn the_json_on_the_page_is_valid() {
    let text = fs::read_to_string(page()).unwrap();
    let objects: Vec<&str> = blocks(&text)
        .iter()
        .filter(|block| block.info == "console")
        .flat_map(|block| text[block.from..block.to].lines())
        .filter(|line| line.starts_with('{'))
        .collect();
    assert!(!objects.is_empty());
    for object in objects {
        let read = serde_json::from_str::<serde_json::Value>(object);
        assert!(read.is_ok(), "{object}: {read:?}");
    }
}

/// Compares the page with what it should be, and names the first line that differs.
fn similar(stands: &str, should: &str) {
    let differs = stands.lines().zip(should.lines()).enumerate().find(|(_, (one, two))| one != two);
    if let Some((at, (stands, should))) = differs {
        panic!("docs/agents.md, line {}: it says\n{stands}\nbut should say\n{should}", at + 1);
    }
    assert_eq!(stands.lines().count(), should.lines().count());
}

// What the page says in numbers and names is what the program has.
#[test]
fn the_numbers_on_the_page_are_the_programs() {
    let text = fs::read_to_string(page()).unwrap();
    let says = |words: &str| assert!(text.contains(words), "docs/agents.md does not say: {words}");
    assert_eq!((DEFAULT_BUDGET, DEFAULT_MAX_MESSAGES), (100_000, 100));
    says("the tokens a window may take; 100,000 by default");
    says("stand in a window; 100 by default");
    assert_eq!(DEFAULT_SUMMARIZER_TOKENS, 20_000);
    says("may take in one run; 20,000 by default");
    assert_eq!(Limits::default(), Limits { iterations: 50, tokens: None });
    says("50 requests, `--max-turns`, `maxTurns`");
    let retry = Retry::default();
    assert_eq!((retry.attempts, retry.longest.as_secs()), (4, 60));
    says("four times at most, waiting as long as the provider asks within a minute");
    assert_eq!((COMMAND_SECONDS, MOST_COMMAND_SECONDS, COMMAND_OUTPUT), (120, 600, 1 << 20));
    says("It has 120 seconds, or up to 600 if the call says so");
    says("Up to 1 MiB of output is stored");
    says(&format!("else `{DEFAULT_MODEL}`"));
    says(&format!("| `{}` | the agent's own window", ALWAYS.join("`, `")));
    says(&format!("| `{}` |", LOCAL_PLACES.map(|place| place.provider).join("`, `")));
    says(&format!("ports {}", LOCAL_PLACES.map(|place| place.port.to_string()).join(", ")));
    for dialect in [
        Dialect::Contexture,
        Dialect::Gemini,
        Dialect::ClaudeCode,
        Dialect::OpenCode,
        Dialect::Letta,
        Dialect::Codex,
    ] {
        says(&format!("| {} | `{}", dialect.title(), dialect.folder()));
    }
}
