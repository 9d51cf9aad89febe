//! What is sent to a server and what it answers. Both sides are the same program, so this is no format of its own.

use std::sync::{Arc, Mutex, PoisonError};

use contexture_core::{Actor, ErrorKind, SessionId};
use serde::{Deserialize, Serialize};

use super::{Basis, basis::version};
use crate::{
    commands::Status,
    error::{Result, Stop},
    job::Job,
    printer::{Paint, Printer},
    settings::Settings,
};

/// A command to run. `J` is how its job is held.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request<J = Job> {
    /// The version of the program that asks.
    pub(crate) version: String,
    /// What the outcome must depend on; none if it may be the server's own.
    pub(crate) basis: Option<Basis>,
    pub(crate) session: SessionId,
    pub(crate) caller: Actor,
    pub(crate) json: bool,
    pub(crate) paint: (Paint, Paint),
    /// Whether a person reads the messages in a terminal.
    pub(crate) tips: bool,
    pub(crate) job: J,
}

/// What a command printed, and how it ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) printed: Vec<Printed>,
    pub(crate) end: End,
}

/// Something that was printed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Printed {
    stream: Stream,
    text: String,
}

/// Where something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stream {
    /// Data.
    Out,
    /// Messages.
    Err,
}

/// How a command ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum End {
    Status(Status),
    Failed { kind: String, message: String, hint: String },
}

impl<'a> Request<&'a Job> {
    pub(super) fn new(
        job: &'a Job,
        basis: Option<Basis>,
        settings: &Settings,
        printer: &Printer<'_>,
    ) -> Self {
        Self {
            version: version(),
            basis,
            session: settings.session.clone(),
            caller: settings.caller.clone(),
            json: printer.is_json(),
            paint: printer.paints(),
            tips: printer.tips(),
            job,
        }
    }
}

impl Answer {
    /// Prints what was printed there, and ends as it ended there.
    pub(super) fn take(self, printer: &mut Printer<'_>) -> Result<Status> {
        for Printed { stream, text } in &self.printed {
            match stream {
                Stream::Out => printer.bytes(text.as_bytes())?,
                Stream::Err => printer.messages(text)?,
            }
        }
        match self.end {
            End::Status(status) => Ok(status),
            End::Failed { kind, message, hint } => Err(Stop::failed(kind_of(&kind), message, hint)),
        }
    }
}

/// Returns the kind of an error by its name.
pub(super) fn kind_of(name: &str) -> ErrorKind {
    let kinds = [
        ErrorKind::Invalid,
        ErrorKind::NotFound,
        ErrorKind::PermissionDenied,
        ErrorKind::Conflict,
        ErrorKind::TooLarge,
        ErrorKind::Unavailable,
        ErrorKind::Corrupt,
    ];
    kinds.into_iter().find(|kind| kind.as_str() == name).unwrap_or(ErrorKind::Unavailable)
}

/// Takes down what a command prints, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Pieces>>);

/// What was printed, piece by piece.
type Pieces = Vec<(Stream, Vec<u8>)>;

/// One of the two streams of a recorder.
#[derive(Debug)]
pub(crate) struct Recording(Recorder, Stream);

impl Recorder {
    pub(crate) fn stream(&self, stream: Stream) -> Recording {
        Recording(self.clone(), stream)
    }

    /// Returns what was printed; none if it is no text.
    pub(crate) fn printed(&self) -> Option<Vec<Printed>> {
        let pieces = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let text =
            |(stream, bytes)| String::from_utf8(bytes).ok().map(|text| Printed { stream, text });
        pieces.into_iter().map(text).collect()
    }
}

impl std::io::Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut pieces = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        match pieces.last_mut() {
            Some((stream, piece)) if *stream == self.1 => piece.extend_from_slice(bytes),
            _ => pieces.push((self.1, bytes.to_vec())),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
