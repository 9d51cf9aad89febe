//! docs/json.md says what `--json` prints: every command is run, and its keys and types are written down.
//!
//! `UPDATE_DOCS=1 cargo test -p contexture-cli --test runner json_doc` writes them anew.

use std::{collections::BTreeMap, fs, path::Path};

use contexture_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::{
    agent_support::Stage,
    help,
    json_shape::{Named, Shape},
    support::talk,
};

/// Commands that print no JSON, or not only once: one speaks to people, one serves until it is stopped, the
/// others print a script or manual pages.
const WITHOUT: [&str; 5] = ["chat", "serve", "mcp", "completions", "man"];

/// Lines that print something else than their command does otherwise.
const VARIANTS: [&str; 7] = [
    "page tree usr-0",
    "window --format context",
    "window --account",
    "window --shares",
    "press find",
    "agents context --all",
    "agents context --graph",
];

/// A project in which commands are run, and what they printed.
struct Seen {
    stage: Stage,
    /// What is told of: commands and variants, those of one command side by side.
    titles: Vec<String>,
    /// What each printed, by its place among the titles.
    shapes: BTreeMap<usize, Shape>,
    named: Named,
}

impl Seen {
    fn new() -> Self {
        let edit = r#"{"path":"a.txt","old_text":"a","new_text":"b"}"#;
        let replies = [
            Reply::text("fine"),
            Reply::text("good"),
            Reply::failing(400, "no"),
            Reply::call("c1", "edit_file", edit).tool_call("c2", "edit_file", edit),
        ];
        let stage = Stage::openai(replies);
        let mut titles = Vec::new();
        for command in help::leaves(&stage.sandbox) {
            let variants = VARIANTS.iter().filter(|line| is_of(line, &command));
            let variants: Vec<String> = variants.map(|line| line.to_string()).collect();
            titles.push(command);
            titles.extend(variants);
        }
        Self { stage, titles, shapes: BTreeMap::new(), named: Named::new() }
    }

    /// Runs a command that must succeed, and notes the shape of what it printed.
    fn run(&mut self, args: &[&str]) -> Value {
        let value = self.stage.json(args);
        self.note(args, &value);
        value
    }

    fn note(&mut self, args: &[&str], value: &Value) {
        let line = args.join(" ");
        let at = self.titles.iter().rposition(|title| is_of(&line, title)).unwrap();
        self.shapes.entry(at).or_default().add(value, &mut self.named);
    }

    /// Runs a command that ends with another exit code than 0 and prints data all the same.
    fn run_not_ok(&mut self, args: &[&str], code: i32) {
        let ran = self.stage.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        self.note(args, &serde_json::from_str(&ran.out).unwrap());
    }

    /// Runs each of several command lines, words parted by spaces.
    fn run_all(&mut self, lines: &[&str]) {
        for line in lines {
            self.run(&line.split(' ').collect::<Vec<_>>());
        }
    }

    /// Writes what was seen: what many commands print first, then commands of one shape together.
    fn write(&self) -> String {
        let mut text = String::new();
        for (name, shape) in &self.named {
            text.push_str(&format!("\n### {name}\n\n```text\n{}\n```\n", shape.write(0)));
        }
        let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
        for (at, shape) in &self.shapes {
            let (shape, command) = (shape.write(0), format!("`{}`", self.titles[*at]));
            match grouped.iter_mut().find(|(known, _)| *known == shape) {
                Some((_, commands)) => commands.push(command),
                None => grouped.push((shape, vec![command])),
            }
        }
        for (shape, commands) in grouped {
            text.push_str(&format!("\n### {}\n\n```text\n{shape}\n```\n", commands.join(", ")));
        }
        text
    }
}

/// Tells whether a line begins with the words of a command.
fn is_of(line: &str, command: &str) -> bool {
    line.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Makes and changes what is kept: sessions, segments, pages and turns.
fn keep(seen: &mut Seen) {
    let sandbox = &seen.stage.sandbox;
    sandbox.write("system.md", "You are careful.");
    sandbox.write("talk.json", talk(6).to_string());
    let mut turn = talk(1).as_array().unwrap()[1..].to_vec();
    sandbox.write("turn.json", json!(turn).to_string());
    turn.remove(0);
    sandbox.write("more.json", json!(turn).to_string());
    sandbox.write("parts.json", parts().to_string());
    sandbox.write("open.json", open().to_string());
    let call = r#"{"type":"tool_use","id":"c1","name":"find","input":{"query":"note"}}"#;
    sandbox.write("call.json", call);
    sandbox.write("broken.jsonl", "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\n");
    seen.run_all(&[
        "init --system system.md",
        "init",
        "window --account",
        "session create other --app notes",
        "session set budget 100000",
        "session set note hello",
        "session list",
        "session list --limit 1",
        "session remove other --yes",
        "segment add lib --kind custom --permission read-write",
        "segment update lib --name Library",
        "segment show lib",
        "segment list",
        "segment list --limit 1",
        "segment remove lib --force",
        "page create --parent usr-0 --name Note --detail one",
        "page create --parent usr-0 --name Drawer --contents --child usr-1",
        "page update usr-1 --detail two",
        "page update usr-1 --detail three --as fixer",
        "page parent usr-1",
        "page parent usr-0",
        "turn add --messages turn.json",
        "turn extend --messages more.json",
        "turn add --messages parts.json",
        "turn open --messages open.json",
        "turn result c1 --text done",
        "page show usr-4",
        "turn close --interrupted",
        "import talk.json",
        "import talk.json",
        "import broken.jsonl",
    ]);
}

/// Reads pages and acts on them.
fn read_and_act(seen: &mut Seen) {
    seen.run_all(&[
        "page show usr-0",
        "page show usr-1",
        "page show usr-3",
        "page show usr-4",
        "page children usr-0",
        "page children usr-0 --limit 1",
        "page ancestors usr-1",
        "page ancestors usr-1 --limit 1",
        "page list",
        "page list --limit 1",
        "page list --full",
        "page tree",
        "page tree usr-0",
        "find note",
        "find note --explain",
        "tools call call.json --format anthropic",
        "page find note",
        "recall note --preview",
        "page expand usr-2",
        "page hide usr-2",
        "recall note",
        "undo",
        "page pin usr-1",
        "page unpin usr-1",
        "page focus usr-2",
        "page archive usr-1",
        "page restore usr-1",
        "page move usr-1 --to usr-0",
        "press expand-usr-2",
        "press find query=note",
        "page remove usr-1",
        "page list --archived",
        "undo",
        "history",
        "history --limit 1",
        "page purge usr-1",
    ]);
}

/// Renders windows, and looks after the store.
fn render_and_look_after(seen: &mut Seen) {
    seen.run_all(&[
        "window",
        "window --format context",
        "window --format context --budget 1200",
        "fold --budget 3000 --preview",
        "fold --budget 3000",
        "window --account --fold --budget 1200 --model claude-opus-4-6",
        "window --account --model claude-opus-4-6",
        "window --shares",
        "history --limit 3",
        "level gist",
        "level gist",
        "export",
        "store check",
        "store copy --to sqlite:copy.db",
        "store scrub",
        "tour",
        "token create --agent fixer --expires 30d",
        "token list",
    ]);
    let token = seen.run(&["token", "create", "--user", "anna"]);
    seen.run(&["token", "revoke", token["id"].as_str().unwrap()]);
    let document = seen.stage.text(&["export"]);
    seen.stage.sandbox.write("session.json", document);
    let loaded = seen.stage.json(&["--session", "copy", "load", "session.json"]);
    seen.note(&["load"], &loaded);
}

/// Returns a message with calls that have no results.
fn open() -> Value {
    let call = |id: &str| json!({ "id": id, "function": { "name": "ls", "arguments": "{}" } });
    json!([{ "role": "assistant", "tool_calls": [call("c1"), call("c2")] }])
}

/// Returns a turn with the kinds of parts that a talk with tools lacks.
fn parts() -> Value {
    json!([
        { "role": "user", "content": [
            { "type": "text", "text": "What is this?" },
            { "type": "image", "source": { "type": "url", "url": "https://example.com/a.png" } },
            { "type": "sound", "id": 7 },
        ] },
        { "role": "assistant", "model": "claude-opus-4-6", "content": [
            { "type": "thinking", "thinking": "Let me see.", "signature": "c2ln" },
            { "type": "tool_use", "id": "call_9", "name": "look", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "call_9", "content": "no", "is_error": true },
        ] },
    ])
}

/// An agent whose file says all there is to say.
const PAINTER: &str = "\
---
kind: agent
name: painter
title: Painter
description: Paints.
model: openai/gpt-4o
color: red
version: \"1\"
contextGroup: studio
contextParent: lead
contextFilter:
  agents: [painter]
  roles: [user]
  since: 2026-01-01T00:00:00Z
  maxAge: 1h
tools:
  allow: [read_file]
  deny: [grep]
maxTurns: 3
temperature: 0.5
effort: high
window:
  shares:
    recent: 0.3
---
Paint.
";

fn agents(seen: &mut Seen) {
    let agents = seen.stage.sandbox.path().join(".contexture/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("painter.md"), PAINTER).unwrap();
    seen.run_all(&[
        "agents list",
        "agents show code-reviewer",
        "agents show painter",
        "agents validate",
        "agents create writer --tool read_file",
        "agents run code-reviewer hello",
        "agents run bug-fixer hello",
        "agents context code-reviewer",
        "agents context code-reviewer --mode shared",
        "agents context --all",
        "agents context --graph",
        "page list",
        "segment list",
        "window --account --format openai --as bug-fixer",
        "agents clear bug-fixer",
        "agents clear code-reviewer --scope all",
    ]);
    // A run that the provider broke off has not ended.
    assert_eq!(seen.stage.run(&["agents", "run", "bug-fixer", "again"]).code, 1);
    seen.run(&["agents", "context", "bug-fixer"]);
    // Two calls wait for an approval.
    seen.run_not_ok(&["agents", "run", "bug-fixer", "--ask=later", "edit"], 4);
    let run = seen.run(&["agents", "approvals"])["items"][0]["run"].clone();
    let run = run.as_str().unwrap();
    seen.run(&["agents", "approve", run, "c1"]);
    seen.run(&["agents", "deny", run, "c2", "--reason", "no"]);
    seen.stage.agent("broken", "---\nkind: agent\nname: [\n---\nNo.\n");
    seen.stage.agent("odd", "---\nkind: agent\nname: odd\ntitle: Odd\nshoe: 7\n---\nNo.\n");
    seen.run_not_ok(&["agents", "validate"], 1);
    seen.run(&["agents", "show", "odd"]);
}

#[test]
fn every_shape_is_the_documented_one() {
    let mut seen = Seen::new();
    keep(&mut seen);
    read_and_act(&mut seen);
    render_and_look_after(&mut seen);
    agents(&mut seen);
    let missing: Vec<&String> = (0..seen.titles.len())
        .filter(|at| !seen.shapes.contains_key(at))
        .map(|at| &seen.titles[at])
        .filter(|command| !WITHOUT.contains(&command.as_str()))
        .collect();
    assert_eq!(missing, Vec::<&String>::new(), "no line runs these");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let mut text = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- shapes: begin -->\n", "<!-- shapes: end -->");
    let from = text.find(begin).unwrap() + begin.len();
    let to = text.find(end).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        text.replace_range(from..to, &format!("{}\n", seen.write()));
        fs::write(&path, &text).unwrap();
        return;
    }
    assert_eq!(&text[from..to], format!("{}\n", seen.write()), "docs/json.md says otherwise");
}

#[test]
fn a_misuse_is_an_error_object_too() {
    let stage = Stage::openai([]);
    let misused = [
        (&["page", "show", "--json"][..], "the following required arguments", "usage: contexture"),
        (&["--json", "page", "shwo", "usr-1"], "unrecognized subcommand 'shwo'", "show"),
        (&["page", "list", "--limit", "0", "--json"], "invalid value '0' for '--limit <N>'", "-"),
        (&["--json", "page"], "no command was given", "usage: contexture page"),
        (&["--json"], "no command was given", "usage: contexture"),
        (&["window", "--json", "--nosuch"], "unexpected argument '--nosuch'", "usage: contexture"),
    ];
    for (args, message, hint) in misused {
        let ran = stage.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        let error: Value = serde_json::from_str(&ran.err).unwrap();
        let field = |name: &str| error["error"][name].as_str().unwrap().to_owned();
        assert_eq!(field("kind"), "invalid");
        assert!(field("message").starts_with(message), "{args:?}: {error}");
        assert!(field("hint").contains(hint), "{args:?}: {error}");
    }
    // Help that was asked for stays help.
    let help = stage.run(&["--json", "page", "--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    // After `--` the word is an argument like others.
    let ran = stage.run(&["page", "shwo", "--", "--json"]);
    assert!(ran.code == 2 && ran.err.starts_with("error: "), "{}", ran.err);
}

#[test]
fn lists_carry_texts_only_when_asked() {
    let stage = Stage::openai([]);
    stage.sandbox.write("talk.json", talk(1).to_string());
    stage.json(&["import", "talk.json", "--take-prompt"]);
    let shown = stage.json(&["page", "show", "usr-1"]);
    assert_eq!(shown["messages"][0]["parts"][0]["text"]["text"], "What is in module 1?");
    assert_eq!(shown["messages"][1]["parts"][0]["toolCall"]["name"], "read_file");
    assert_eq!(shown["messages"].as_array().unwrap().len(), 4);
    let exported = stage.json(&["export"]);
    assert_eq!(shown["messages"], exported["pages"]["usr-1"]["messages"]);

    let lists: [&[&str]; 3] = [
        &["page", "list", "--cursor", "usr-0"],
        &["page", "children", "usr-0"],
        &["page", "tree", "usr-0"],
    ];
    for list in lists {
        let page = |args: &[&str]| {
            let list = stage.json(args);
            list.get("items").or_else(|| list.get("children")).unwrap()[0].clone()
        };
        let (brief, full) = (page(list), page(&[list, &["--full"]].concat()));
        assert_eq!(brief["messageCount"], 4, "{list:?}");
        assert!(brief.get("detail").is_none() && brief.get("messages").is_none(), "{list:?}");
        assert_eq!(full, shown, "{list:?}");
    }
    // A root has no parent, wherever it is told.
    assert_eq!(stage.json(&["page", "show", "usr-0"])["parent"], Value::Null);
    assert_eq!(stage.json(&["page", "tree", "usr-0"])["parent"], Value::Null);
    assert_eq!(stage.json(&["page", "parent", "usr-0"]), Value::Null);
    assert_eq!(exported["pages"]["usr-0"]["parent"], Value::Null);
}
