//! A call as a digest has it: what was called with what, in words and not as JSON.

use super::{
    CallOutcome,
    files::{base, each_file, each_read, each_written, without_documents},
    head,
};
use crate::message::{Fields, RawJson, ToolCall};

/// The most bytes of a call that are kept; of a larger one both ends.
const LONGEST: usize = 16 * 1024;

/// How many characters of a value stand on the line of the call.
const INLINE: usize = 120;

/// The most characters of a call in a line.
const SHORT: usize = 100;

/// How many files of a call are kept.
const FILES: usize = 16;

/// Arguments that name the file a tool works on.
const PATHS: [&str; 7] =
    ["path", "file_path", "filepath", "filename", "file", "target_file", "notebook_path"];

/// Arguments that hold a command.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "code"];

/// Parts of the names of tools that write the file they name.
const WRITING: [&str; 8] =
    ["write", "edit", "create", "replace", "insert", "patch", "append", "delete"];

/// Parts of the names of tools that write a file as a whole.
const WHOLE: [&str; 2] = ["write", "create"];

/// Something the model called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// What was called with what: one line, then long values below it.
    pub text: Box<str>,
    /// The files it names, by name without folders.
    pub files: Vec<Box<str>>,
    /// The files it writes, as it names them.
    pub written: Vec<Box<str>>,
    /// The files whose text it shows, by name without folders.
    pub read: Vec<Box<str>>,
    /// The files it writes as a whole, as it names them.
    pub whole: Vec<Box<str>>,
    /// What was called without the texts of those files, where there are any.
    pub bare: Option<Box<str>>,
    /// How it ended, where that is known.
    pub outcome: Option<CallOutcome>,
}

impl Call {
    /// Reads the call of a tool.
    pub(super) fn of(call: &ToolCall) -> Self {
        let arguments = read(&call.arguments);
        let mut text = call.name.clone();
        let (mut long, mut bare) = (String::new(), String::new());
        let Some(arguments) = arguments else {
            // What is no object stands as it is.
            text.push(' ');
            text.push_str(call.arguments.trim());
            let mut read = Self::new(text);
            read.names(&call.arguments);
            return read;
        };
        let mut read = Self::new(String::new());
        let name = call.name.to_lowercase();
        let writes = WRITING.into_iter().any(|part| name.contains(part));
        let is_whole = WHOLE.into_iter().any(|part| name.contains(part));
        for (key, value) in &arguments {
            let inline = !value.contains('\n') && value.chars().count() <= INLINE;
            let small = key.to_lowercase();
            let is_command = COMMANDS.contains(&small.as_str());
            if inline {
                text.push_str(&format!(" {key}={value}"));
            } else {
                long.push_str(&format!("\n{key}:\n{value}"));
                match is_command {
                    true => bare.push_str(&format!("\n{key}:\n{}", without_documents(value).0)),
                    false => bare.push_str(&format!("\n{key}: …")),
                }
            }
            if is_command {
                read.runs(value);
            } else if PATHS.contains(&small.as_str()) {
                read.name(base(value));
                if writes {
                    read.writes(value);
                } else {
                    read.reads(base(value));
                }
                if is_whole {
                    read.whole.push(value.as_str().into());
                }
            }
        }
        if !read.whole.is_empty() && bare != long {
            read.bare = Some(shortened(format!("{text}{bare}")).into());
        }
        text.push_str(&long);
        read.text = shortened(text).into();
        read
    }

    /// Finds the commands in the fenced blocks of a text, where nothing else calls.
    pub(super) fn in_fences(text: &str) -> impl Iterator<Item = Self> {
        let mut blocks: Vec<String> = Vec::new();
        let mut open: Option<String> = None;
        for line in text.lines() {
            match (&mut open, line.trim_start().starts_with("```")) {
                (None, true) => open = Some(String::new()),
                (Some(_), true) => blocks.extend(open.take()),
                (Some(block), false) => {
                    block.push_str(line);
                    block.push('\n');
                }
                (None, false) => {}
            }
        }
        blocks.extend(open);
        blocks.into_iter().map(|block| {
            let mut call = Self::new(format!("$ {}", block.trim_end()));
            call.runs(&block);
            if !call.whole.is_empty() {
                let (bare, _) = without_documents(block.trim_end());
                call.bare = Some(shortened(format!("$ {bare}")).into());
            }
            call
        })
    }

    fn new(text: String) -> Self {
        Self {
            text: shortened(text).into(),
            files: Vec::new(),
            written: Vec::new(),
            read: Vec::new(),
            whole: Vec::new(),
            bare: None,
            outcome: None,
        }
    }

    fn name(&mut self, file: &str) {
        if self.files.len() < FILES && !self.files.iter().any(|known| **known == *file) {
            self.files.push(file.into());
        }
    }

    fn names(&mut self, text: &str) {
        each_file(text, &mut |file| self.name(base(file)));
    }

    fn writes(&mut self, file: &str) {
        if self.written.len() < FILES && !self.written.iter().any(|known| **known == *file) {
            self.written.push(file.into());
        }
    }

    fn reads(&mut self, file: &str) {
        if self.read.len() < FILES && !self.read.iter().any(|known| **known == *file) {
            self.read.push(file.into());
        }
    }

    fn runs(&mut self, command: &str) {
        each_read(command, &mut |file| self.reads(base(file)));
        self.whole.extend(without_documents(command).1.into_iter().map(Into::into));
        each_written(command, &mut |file| self.writes(file));
        self.names(command);
    }

    /// Returns its first words on one line.
    pub(crate) fn short(&self) -> String {
        head(&self.text, SHORT)
    }

    /// Tells whether it failed.
    pub(crate) fn failed(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.failed)
    }

    pub(super) fn size(&self) -> usize {
        let names = self.files.iter().chain(&self.written).chain(&self.read).chain(&self.whole);
        let names = names.map(|name| name.len() + 16);
        self.text.len()
            + self.bare.as_ref().map_or(0, |bare| bare.len())
            + names.sum::<usize>()
            + self.outcome.as_ref().map_or(0, |outcome| outcome.line.len())
    }
}

/// Reads arguments in the order they were written; none where they are no object.
fn read(arguments: &str) -> Option<Vec<(String, String)>> {
    let fields: Fields = serde_json::from_str(arguments).ok()?;
    let text = |raw: &RawJson| raw.read::<String>().unwrap_or_else(|_| raw.as_str().to_owned());
    Some(fields.iter().map(|(key, raw)| (key.to_owned(), text(raw))).collect())
}

/// Returns both ends of a text that is too long.
fn shortened(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let begin = &text[..text.floor_char_boundary(LONGEST * 2 / 3)];
    let end = &text[text.ceil_char_boundary(text.len() - LONGEST / 3)..];
    format!("{begin}\n…\n{end}")
}
