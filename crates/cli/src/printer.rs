//! Where commands write: data to standard output, messages to standard error.

use std::{
    fmt::Display,
    io::{self, BufRead as _, IsTerminal, Write},
};

use anstream::{AutoStream, ColorChoice, stream::RawStream};
use anstyle::{AnsiColor, Style};
use clap::builder::StyledStr;
use contexture_agents::wire::{ErrorObject, FailureObject};
use contexture_core::ErrorKind;
use serde::{Deserialize, Serialize};

use crate::{error::Result, lines, pager, progress::Progress, sanitize};

/// Writes the output of a command, for a person or as JSON.
pub(crate) struct Printer<'a> {
    out: &'a mut (dyn Write + Send),
    err: &'a mut (dyn Write + Send),
    paint: (Paint, Paint),
    terminal: (bool, bool),
    json: bool,
    /// The progress line, shown until something is written.
    work: Option<Progress>,
}

impl<'a> Printer<'a> {
    /// Writes data to `out` and messages to `err`, each painted as `paint` says.
    pub(crate) fn new(
        out: &'a mut (dyn Write + Send),
        err: &'a mut (dyn Write + Send),
        paint: (Paint, Paint),
    ) -> Self {
        Self { out, err, paint, terminal: (false, false), json: false, work: None }
    }

    /// Sets whether data and messages go to a terminal.
    pub(crate) fn set_terminal(&mut self, out: bool, err: bool) {
        self.terminal = (out, err);
    }

    pub(crate) fn set_json(&mut self, json: bool) {
        self.json = json;
    }

    /// Returns whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns how data is painted.
    pub(crate) fn paint(&self) -> Paint {
        self.paint.0
    }

    /// Returns how data and messages are painted.
    #[cfg(feature = "server")]
    pub(crate) fn paints(&self) -> (Paint, Paint) {
        self.paint
    }

    /// Returns whether data goes to a terminal.
    #[cfg(feature = "server")]
    pub(crate) fn is_screen(&self) -> bool {
        self.terminal.0
    }

    /// Returns whether messages go to a terminal, where tips are given.
    #[cfg(feature = "server")]
    pub(crate) fn tips(&self) -> bool {
        self.terminal.1
    }

    /// Returns whether a person reads the data: in a terminal, or if colour was asked for.
    pub(crate) fn is_read(&self) -> bool {
        self.terminal.0 || self.paint.0 == Paint::Colour
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.json_text(&text)
    }

    /// Writes JSON, and ends the line: exactly its bytes, unless a person reads it in a terminal.
    pub(crate) fn json_text(&mut self, text: &str) -> Result<()> {
        self.work = None;
        let text = text.strip_suffix('\n').unwrap_or(text);
        if self.terminal.0 {
            return Ok(writeln!(self.out, "{}", sanitize::json(text))?);
        }
        Ok(writeln!(self.out, "{text}")?)
    }

    /// Writes a line for a person. Text from pages must have been made harmless.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<()> {
        self.work = None;
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Says how to continue a list that has more entries, and how many, if known.
    pub(crate) fn more(&mut self, next: Option<&str>, remaining: Option<u64>) -> Result<()> {
        let Some(next) = next else { return Ok(()) };
        let left = remaining
            .map(|remaining| format!("{} ", lines::grouped(remaining)))
            .unwrap_or_default();
        self.note(&format!("… {left}more: --cursor {next}"))
    }

    /// Writes lines for a person, in the pager if there are more than the screen holds. Returns whether
    /// there are.
    pub(crate) fn pages(&mut self, lines: &[String]) -> Result<bool> {
        self.work = None;
        let text = lines.join("\n") + "\n";
        let is_long = self.terminal.0 && pager::is_long(&text);
        if is_long {
            self.out.flush()?;
            if pager::show(&text)? {
                return Ok(true);
            }
        }
        self.out.write_all(text.as_bytes())?;
        Ok(is_long)
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.work = None;
        Ok(self.out.write_all(bytes)?)
    }

    /// Writes messages that were worded and painted elsewhere.
    #[cfg(feature = "server")]
    pub(crate) fn messages(&mut self, text: &str) -> Result<()> {
        self.pause()?;
        Ok(self.err.write_all(text.as_bytes())?)
    }

    /// Prints a warning.
    pub(crate) fn warn(&mut self, text: &str) -> Result<()> {
        self.pause()?;
        let label = self.paint.1.warning("warning:");
        Ok(writeln!(self.err, "{label} {}", sanitize::line(text))?)
    }

    /// Prints a message that needs no attention.
    pub(crate) fn note(&mut self, text: &str) -> Result<()> {
        self.pause()?;
        Ok(writeln!(self.err, "{}", self.paint.1.dim(sanitize::line(text)))?)
    }

    /// Suggests what to try next, in a terminal only.
    pub(crate) fn tip(&mut self, text: &str) -> Result<()> {
        if self.terminal.1 { self.note(text) } else { Ok(()) }
    }

    /// Shows progress of long work until something else is written. Only in a terminal.
    pub(crate) fn progress(&mut self, doing: &str) {
        match &self.work {
            Some(work) => work.set(doing),
            None if self.terminal.1 && !self.json => {
                self.work = Some(Progress::begin(doing, self.paint.1));
            }
            None => {}
        }
    }

    /// Returns whether a person at the terminal can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.terminal.1 && !self.json && io::stdin().is_terminal()
    }

    /// Asks the person at the terminal; any answer but yes means no.
    pub(crate) fn asks(&mut self, question: &str) -> Result<bool> {
        self.pause()?;
        write!(self.err, "{} [y/N] ", sanitize::line(question))?;
        self.err.flush()?;
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        if !matches!(read, Ok(1..)) {
            writeln!(self.err)?;
        }
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Clears the progress line and flushes the data written so far.
    fn pause(&mut self) -> io::Result<()> {
        self.work = None;
        self.out.flush()
    }

    /// Reports an error. If that cannot be written either, the exit code has to suffice.
    pub(crate) fn fail(&mut self, kind: ErrorKind, message: &str, hint: &str) {
        let _ = self.pause();
        let _ = if self.json {
            let failure =
                FailureObject { error: ErrorObject { kind: kind.as_str(), message, hint } };
            let text = serde_json::to_string(&failure).unwrap_or_default();
            let text = if self.terminal.1 { sanitize::json(&text) } else { text };
            writeln!(self.err, "{text}")
        } else {
            let (error, label) = (self.paint.1.failure("error:"), self.paint.1.dim("hint:"));
            let (message, hint) = (sanitize::line(message), sanitize::line(hint));
            writeln!(self.err, "{error} {message}\n{label} {hint}")
        };
    }

    /// Writes the output of the command-line parser: help, or a usage error.
    pub(crate) fn clap(&mut self, text: &StyledStr, is_talk: bool) -> io::Result<()> {
        self.work = None;
        let (stream, paint) =
            if is_talk { (&mut self.err, self.paint.1) } else { (&mut self.out, self.paint.0) };
        match paint {
            Paint::Colour => write!(stream, "{}", text.ansi())?,
            Paint::Plain => write!(stream, "{text}")?,
        }
        stream.flush()
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(self.pause()?)
    }
}

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Paint {
    Colour,
    Plain,
}

impl Paint {
    /// Colours text for a terminal, unless `NO_COLOR` or a similar variable says otherwise.
    pub(crate) fn for_stream(stream: &(impl RawStream + IsTerminal)) -> Self {
        match AutoStream::choice(stream) {
            ColorChoice::Never => Paint::Plain,
            ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => Paint::Colour,
        }
    }

    /// Paints a page index or another id.
    pub(crate) fn id(self, text: impl Display) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    /// Paints a heading or a directory.
    pub(crate) fn strong(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    /// Paints text that matters less.
    pub(crate) fn dim(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// Paints a warning.
    pub(crate) fn warning(self, text: impl Display) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Paints an error.
    pub(crate) fn failure(self, text: impl Display) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    fn with(self, style: Style, text: impl Display) -> String {
        let text = text.to_string();
        match self {
            Paint::Colour if !text.is_empty() => format!("{style}{text}{style:#}"),
            Paint::Colour | Paint::Plain => text,
        }
    }
}
