//! Where lines come from: a terminal with editing, history and completion, or plain standard input.

use std::{
    env, fs,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use contexture_core::ErrorKind;
use rustyline::{
    Behavior, CompletionType, Config, Editor, error::ReadlineError, history::FileHistory,
};

use super::completion::Completion;
use crate::{
    error::{Result, Stop},
    printer::Printer,
};

/// How many lines to remember.
const REMEMBERED: usize = 1_000;

const PROMPT: &str = "> ";

/// The prompt for a continued line.
const CONTINUED: &str = "… ";

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line, with those that continue it.
    Line(String),
    /// A line that is not valid UTF-8.
    Unreadable,
    /// Ctrl-C; the text of the line is discarded.
    Interrupted,
    /// The end of the input.
    End,
}

/// Where lines come from.
pub(super) enum Input {
    Terminal {
        editor: Box<Editor<Completion, FileHistory>>,
        /// Where lines are remembered.
        history: Option<PathBuf>,
    },
    Plain,
}

impl Input {
    /// Prepares to read. If the history cannot be kept, warns and continues without it.
    pub(super) fn open(
        terminal: bool,
        completion: Completion,
        printer: &mut Printer<'_>,
    ) -> Result<Self> {
        if !terminal {
            return Ok(Input::Plain);
        }
        let mut config = Config::builder().completion_type(CompletionType::List);
        if !io::stdout().is_terminal() {
            // The answers go elsewhere, the line is still typed here.
            config = config.behavior(Behavior::PreferTerm);
        }
        let config = config.max_history_size(REMEMBERED).map_err(unreadable)?.build();
        let mut editor = Editor::with_config(config).map_err(unreadable)?;
        editor.set_helper(Some(completion));
        let history = match history() {
            Some(path) => match remember(&mut editor, &path) {
                Ok(()) => Some(path),
                Err(error) => {
                    let path = path.display();
                    printer
                        .warn(&format!("cannot keep the history of lines in {path}: {error}"))?;
                    None
                }
            },
            None => None,
        };
        Ok(Input::Terminal { editor: Box::new(editor), history })
    }

    /// Reads a line, and those that continue it.
    pub(super) fn next(&mut self) -> Result<Typed> {
        let mut text = String::new();
        loop {
            let prompt = if text.is_empty() { PROMPT } else { CONTINUED };
            match self.line(prompt)? {
                Typed::Line(line) => match line.strip_suffix('\\') {
                    Some(begun) => {
                        text.push_str(begun);
                        text.push('\n');
                        continue;
                    }
                    None => text.push_str(&line),
                },
                Typed::End if !text.is_empty() => {}
                other => return Ok(other),
            }
            self.remember(&text);
            return Ok(Typed::Line(text));
        }
    }

    fn line(&mut self, prompt: &str) -> Result<Typed> {
        match self {
            Input::Plain => plain(&mut io::stdin().lock()),
            Input::Terminal { editor, .. } => match editor.readline(prompt) {
                Ok(line) => Ok(Typed::Line(line)),
                Err(ReadlineError::Eof) => Ok(Typed::End),
                Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted),
                Err(error) => Err(unreadable(error)),
            },
        }
    }

    fn remember(&mut self, text: &str) {
        let Input::Terminal { editor, history } = self else { return };
        let kept = match history.as_deref() {
            Some(path) => {
                editor.add_history_entry(text).and_then(|_| editor.append_history(path)).is_ok()
            }
            None => editor.add_history_entry(text).is_ok(),
        };
        // A full disk must not end the chat; the lines of this chat stay in memory.
        if !kept {
            *history = None;
        }
    }
}

fn plain(input: &mut impl io::BufRead) -> Result<Typed> {
    let mut bytes = Vec::new();
    if input.read_until(b'\n', &mut bytes).map_err(|error| unreadable(error.into()))? == 0 {
        return Ok(Typed::End);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        bytes.pop_if(|byte| *byte == b'\r');
    }
    Ok(String::from_utf8(bytes).map_or(Typed::Unreadable, Typed::Line))
}

fn unreadable(error: ReadlineError) -> Stop {
    let message = format!("cannot read the input: {error}");
    Stop::failed(ErrorKind::Unavailable, message, "start again; the conversation so far is kept")
}

/// Returns the file that remembers lines, in the user's folder for state.
fn history() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("contexture/history"))
}

/// Makes the history readable only by its owner, and reads it.
fn remember(
    editor: &mut Editor<Completion, FileHistory>,
    path: &Path,
) -> Result<(), ReadlineError> {
    let mut folder = fs::DirBuilder::new();
    let mut file = fs::OpenOptions::new();
    folder.recursive(true);
    file.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        folder.mode(0o700);
        file.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        folder.create(parent)?;
    }
    let made = file.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        made.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    if made.metadata()?.len() > 0 {
        editor.load_history(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_lose_their_end_and_nothing_else() {
        let mut input = &b" a \\\r\n\nb\xff\nlast"[..];
        let line = |text: &str| Typed::Line(text.to_owned());
        for expected in [line(" a \\"), line(""), Typed::Unreadable, line("last"), Typed::End] {
            assert_eq!(plain(&mut input).unwrap(), expected);
        }
    }
}
