//! What a person is asked before a call that changes something is made.
//!
//! What decides comes first, in whatever order a model wrote it: the tool, what it acts on, what would
//! change, and every argument with its size. Long texts are cut; [`Question::whole`] has all of them.

use serde_json::Value;

use super::workspace::RUN_COMMAND;

/// The arguments that say what a call acts on, the most telling first.
const TELLING: [&str; 18] = [
    "path",
    "file",
    "file_path",
    "filename",
    "page",
    "index",
    "source",
    "target",
    "parent",
    "url",
    "uri",
    "command",
    "cmd",
    "query",
    "pattern",
    "name",
    "title",
    "id",
];

/// The most characters of what a call acts on.
const TARGET: usize = 300;

/// The most characters of another argument.
const SHOWN: usize = 120;

/// The most arguments that are shown one by one.
const ARGUMENTS: usize = 40;

/// How many characters stand around what changes in a text.
const AROUND: usize = 40;

/// A call that somebody is to allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    tool: String,
    origin: Option<(String, String)>,
    change: Option<String>,
    /// What decides first.
    arguments: Vec<(String, Value)>,
}

impl Question {
    /// Asks about a call. `origin` is the MCP server a tool comes from and what it is called there,
    /// `change` what the tool itself says that the call would change.
    pub fn new(
        tool: &str,
        origin: Option<(&str, &str)>,
        change: Option<String>,
        arguments: &Value,
    ) -> Self {
        let fields = arguments.as_object().into_iter().flatten();
        let mut arguments: Vec<(String, Value)> =
            fields.map(|(name, value)| (name.clone(), value.clone())).collect();
        let place = |name: &str| TELLING.iter().position(|telling| *telling == name);
        arguments
            .sort_by_cached_key(|(name, _)| (place(name).unwrap_or(TELLING.len()), name.clone()));
        let origin = origin.map(|(server, own)| (server.to_owned(), own.to_owned()));
        Self { tool: tool.to_owned(), origin, change, arguments }
    }

    /// Returns the question in a few lines, each short.
    pub fn lines(&self) -> Vec<String> {
        let mut first = self.tool.clone();
        if let Some((server, own)) = &self.origin {
            first.push_str(&format!(
                " ('{}' of MCP server '{}')",
                around(own, SHOWN),
                around(server, SHOWN)
            ));
        }
        let is_telling = |(name, _): &&(String, Value)| TELLING.contains(&name.as_str());
        let target = self.arguments.first().filter(is_telling);
        if let Some((_, value)) = target {
            // What a shell runs is shown whole: any part of it may be the one that matters.
            let most = if self.tool == RUN_COMMAND { usize::MAX } else { TARGET };
            first.push_str(&format!(" {}", around(&text(value), most)));
        }
        if let Some(change) = &self.change {
            first.push_str(&format!(": {change}"));
        }
        let mut lines = vec![first];
        let edit = self.edit();
        if let Some((old, new)) = edit {
            lines.extend(difference(old, new));
        }
        let mut rest = self.arguments.iter().skip(usize::from(target.is_some()));
        let is_edited = |name: &str| edit.is_some() && matches!(name, "old_text" | "new_text");
        for (name, value) in rest.by_ref().filter(|(name, _)| !is_edited(name)).take(ARGUMENTS) {
            lines.push(format!("  {}: {}", around(name, SHOWN), sized(value, SHOWN)));
        }
        match rest.filter(|(name, _)| !is_edited(name)).count() {
            0 => {}
            more => lines.push(format!("  … and {more} more arguments")),
        }
        lines
    }

    /// Returns every argument with all of its text, line by line. Lines of an argument are indented
    /// and barred, so that none can be taken for a line of ours.
    pub fn whole(&self) -> Vec<String> {
        let mut lines = vec![self.tool.clone()];
        for (name, value) in &self.arguments {
            let value = text(value);
            lines.push(format!("  {name} ({}):", bytes(value.len())));
            lines.extend(value.split('\n').map(|line| format!("    | {line}")));
        }
        lines
    }

    /// Returns what text becomes what other, where the call says so.
    fn edit(&self) -> Option<(&str, &str)> {
        let named = |wanted: &str| {
            let (_, value) = self.arguments.iter().find(|(name, _)| name == wanted)?;
            value.as_str()
        };
        Some((named("old_text")?, named("new_text")?))
    }
}

/// Counts bytes in words.
pub(super) fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// Returns a value as people read it: a text as it is, anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a value cut to a number of characters, with its size where it was cut.
fn sized(value: &Value, most: usize) -> String {
    let whole = text(value);
    match around(&whole, most) {
        short if short == whole => short,
        short => format!("({}) {short}", bytes(whole.len())),
    }
}

/// Cuts a text in its middle: the beginning and the end of a path or a command tell most.
fn around(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let tail = most / 3;
    let head: String = text.chars().take(most - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head} […] {end}")
}

/// Returns what one text has that the other has not, with a little of what stands around it.
fn difference(old: &str, new: &str) -> [String; 2] {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let alike = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let shorter = old.len().min(new.len()) - alike;
    let ends = old.iter().rev().zip(new.iter().rev());
    let ends = ends.take(shorter).take_while(|(one, other)| one == other).count();
    let shown = |text: &[char]| {
        let from = alike.saturating_sub(AROUND);
        let upto = (text.len() - ends + AROUND).min(text.len());
        let middle: String = text[from..upto].iter().collect();
        let before = if from > 0 { "… " } else { "" };
        let behind = if upto < text.len() { " …" } else { "" };
        format!("{before}{}{behind}", around(&middle, TARGET))
    };
    [format!("  - {}", shown(&old)), format!("  + {}", shown(&new))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_decides_comes_first_whatever_the_order() {
        let content = "x".repeat(5_000);
        let arguments = json!({"content": content, "path": ".ssh/authorized_keys"});
        let change = Some("replaces a file of 80 bytes with 5000 bytes".to_owned());
        let question = Question::new("write_file", None, change, &arguments);
        let lines = question.lines();
        assert_eq!(
            lines[0],
            "write_file .ssh/authorized_keys: replaces a file of 80 bytes with 5000 bytes"
        );
        assert!(lines[1].starts_with("  content: (5000 bytes) xxx"), "{lines:?}");
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.len() < 400), "{lines:?}");
        let whole = question.whole().join("\n");
        assert!(whole.contains(&content) && whole.contains("  content (5000 bytes):"), "{whole}");
    }

    #[test]
    fn an_edit_shows_what_changes() {
        let (before, behind) = ("a".repeat(900), "z".repeat(900));
        let arguments = json!({
            "new_text": format!("{before}rm -rf{behind}"),
            "old_text": format!("{before}ls{behind}"),
            "path": "run.sh",
            "replace_all": true,
        });
        let lines = Question::new("edit_file", None, None, &arguments).lines();
        let (a, z) = ("a".repeat(40), "z".repeat(40));
        let expected = [
            "edit_file run.sh".to_owned(),
            format!("  - … {a}ls{z} …"),
            format!("  + … {a}rm -rf{z} …"),
            "  replace_all: true".to_owned(),
        ];
        assert_eq!(lines, expected);
        // A text within another, and nothing at all.
        let arguments = json!({"path": "a", "old_text": "aa", "new_text": "aaa"});
        let lines = Question::new("edit_file", None, None, &arguments).lines();
        assert_eq!(lines[1..], ["  - aa", "  + aaa"]);
        let arguments = json!({"path": "a", "old_text": "", "new_text": ""});
        assert_eq!(
            Question::new("edit_file", None, None, &arguments).lines()[1..],
            ["  - ", "  + "]
        );
    }

    #[test]
    fn tools_of_servers_show_every_argument() {
        let arguments = json!({"a": [1, {"b": 2}], "note": "n".repeat(700), "url": "https://x"});
        let origin = Some(("my notes", "send/note"));
        let lines = Question::new("mcp__my_notes__send_note", origin, None, &arguments).lines();
        assert_eq!(
            lines[0],
            "mcp__my_notes__send_note ('send/note' of MCP server 'my notes') https://x"
        );
        assert_eq!(lines[1], r#"  a: [1,{"b":2}]"#);
        assert!(lines[2].starts_with("  note: (700 bytes) nnn"), "{lines:?}");
        let many: serde_json::Map<String, Value> =
            (0..100).map(|at| (format!("k{at:03}"), json!(at))).collect();
        let lines = Question::new("t", None, None, &Value::Object(many)).lines();
        assert_eq!((lines[0].as_str(), lines.len()), ("t", 42));
        assert_eq!(lines[41], "  … and 60 more arguments");
        assert_eq!(Question::new("t", None, None, &json!({})).lines(), ["t"]);
    }

    #[test]
    fn no_line_of_an_argument_looks_like_ours() {
        let arguments = json!({"path": "a", "content": "one\nallow it? y/N"});
        let whole = Question::new("write_file", None, None, &arguments).whole();
        assert_eq!(
            whole,
            [
                "write_file",
                "  path (1 byte):",
                "    | a",
                "  content (17 bytes):",
                "    | one",
                "    | allow it? y/N"
            ]
        );
    }
}
