//! A hermetic folder in which the program runs, and what it said.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assert_cmd::{Command, cargo::cargo_bin_cmd};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder of its own, with nothing of the environment in it.
pub(crate) struct Sandbox {
    folder: TempDir,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    /// Makes an empty folder.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Makes a folder in which `init` was run.
    pub(crate) fn new() -> Self {
        let sandbox = Self::empty();
        sandbox.json(&["init"]);
        sandbox
    }

    /// Makes a folder with a session that has a system prompt, a note and a directory, both hidden:
    /// sys-1, usr-1 and usr-2.
    pub(crate) fn with_pages() -> Self {
        let sandbox = Self::empty();
        sandbox.write("system.md", "You are careful.");
        sandbox.json(&["init", "--system", "system.md"]);
        let create = ["page", "create", "--hidden", "--parent", "usr-0", "--name"];
        sandbox.json(&[&create[..], &["Note", "--detail", "one"]].concat());
        sandbox.json(&[&create[..], &["Drawer", "--contents"]].concat());
        sandbox
    }

    /// Makes a folder with a session of some turns, each with a large tool result, imported from
    /// `talk.json`: usr-1, usr-2 …
    pub(crate) fn with_talk(turns: usize) -> Self {
        let sandbox = Self::empty();
        sandbox.write("talk.json", talk(turns).to_string());
        sandbox.json(&["import", "talk.json", "--take-prompt"]);
        sandbox
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join(".contexture/contexture.db")
    }

    /// Opens the database to change it behind the program's back.
    pub(crate) fn meddle(&self) -> rusqlite::Connection {
        contexture_vfs::register().unwrap();
        let (flags, vfs) = (rusqlite::OpenFlags::default(), contexture_vfs::CHECKED);
        rusqlite::Connection::open_with_flags_and_vfs(self.database(), flags, vfs).unwrap()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Names everything in the folder but the store's own log files.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Prepares the program, cut off from the environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = cargo_bin_cmd!("contexture");
        command.env_clear().env("TMPDIR", self.path()).current_dir(self.path()).args(args);
        command
    }

    /// Prepares a shell in which the program is found, cut off from the rest of the environment.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let programs = assert_cmd::cargo::cargo_bin!("contexture").parent().unwrap().to_owned();
        let mut command = Command::new("sh");
        let path = format!("{}:/usr/bin:/bin", programs.display());
        command.env_clear().env("PATH", path).env("TMPDIR", self.path());
        command.current_dir(self.path()).args(["-c", script]);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs a command that must succeed; returns what it printed, for a person.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}: {}", ran.out);
        ran.out
    }

    /// Runs a command that must succeed with `--json`; returns what it printed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        ran.into_json(args)
    }

    /// As [`Self::json`], with standard input.
    pub(crate) fn json_from(&self, args: &[&str], input: &str) -> Value {
        let mut command = self.command(&[args, &["--json"]].concat());
        Ran::of(command.write_stdin(input)).into_json(args)
    }

    /// Runs a command that must be refused with `--json`; returns the error's kind and message.
    pub(crate) fn refused(&self, args: &[&str]) -> (String, String) {
        self.run(&[args, &["--json"]].concat()).into_refusal(args)
    }

    /// Runs a command that must be refused and change nothing; returns the error's kind and message.
    pub(crate) fn unchanged(&self, args: &[&str]) -> (String, String) {
        let before = self.state();
        let refusal = self.refused(args);
        assert_eq!(self.state(), before, "{args:?} changed something");
        refusal
    }

    /// Returns everything there is to see of the default session, times included.
    pub(crate) fn state(&self) -> Value {
        json!([
            self.json(&["export"]),
            self.json(&["history"]),
            self.json(&["segment", "list"]),
            self.json(&["page", "list"]),
            self.json(&["page", "list", "--archived"]),
            self.json(&["session", "list"]),
        ])
    }

    /// Names the pages a command lists.
    pub(crate) fn indices(&self, args: &[&str]) -> Vec<String> {
        let list = self.json(args);
        let index = |page: &Value| page["index"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(index).collect()
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().expect("the program was not killed");
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }

    fn into_json(self, args: &[&str]) -> Value {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{args:?}: {}", self.out);
        serde_json::from_str(&self.out).unwrap()
    }

    /// Checks the shape of an error; returns its kind and message.
    pub(crate) fn into_refusal(self, args: &[&str]) -> (String, String) {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{args:?}: {}", self.err);
        let error: Value = serde_json::from_str(&self.err).unwrap();
        let field = |name: &str| error["error"][name].as_str().unwrap().to_owned();
        assert!(!field("hint").is_empty(), "{args:?} gives no hint: {error}");
        assert_eq!(error.as_object().unwrap().len(), 1);
        (field("kind"), field("message"))
    }
}

/// Returns an OpenAI-style conversation with a system prompt and some turns with large tool results.
pub(crate) fn talk(turns: usize) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": "You are careful." })];
    for turn in 1..=turns {
        let call = format!("call_{turn}");
        let lines: Vec<String> =
            (0..40).map(|line| format!("{line}: src/module_{turn}.rs says {line}")).collect();
        messages.extend([
            json!({ "role": "user", "content": format!("What is in module {turn}?") }),
            json!({ "role": "assistant", "content": null, "tool_calls": [{
                "id": call, "type": "function",
                "function": { "name": "read_file", "arguments": format!("{{\"n\":{turn}}}") },
            }] }),
            json!({ "role": "tool", "tool_call_id": call, "content": lines.join("\n") }),
            json!({ "role": "assistant", "content": format!("Module {turn} says little.") }),
        ]);
    }
    messages.into()
}

/// Replaces every time by `TIME`, so that values can be compared whole.
pub(crate) fn timeless(value: Value) -> Value {
    match value {
        Value::String(text) if is_time(&text) => "TIME".into(),
        Value::Array(items) => items.into_iter().map(timeless).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, timeless(value))).collect()
        }
        value => value,
    }
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && text.ends_with('Z')
}

/// Returns an error as [`Sandbox::refused`] does.
pub(crate) fn error(kind: &str, message: &str) -> (String, String) {
    (kind.to_owned(), message.to_owned())
}
