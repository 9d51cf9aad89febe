//! Commands that a running server may run for this process.
//!
//! A short command spends its time on opening: the store, the session, a tokenizer's vocabulary, the search
//! index. A server on the same store has them open. So a command that only works on a session is sent there as
//! its arguments. The server runs the same function that this process would run, on what it has open, and
//! sends back what was printed and how it ended.
//!
//! ```text
//!  arguments ─► Job ──┬─ run here, on a store that is opened for it
//!                     └─ /command ─► Job, run there ─► what it printed ─► printed here
//! ```
//!
//! With `auto`, a server is used only where the outcome is the same: same build, same store, same places for
//! settings and agents ([`Basis`]). Whatever keeps it from answering, the command runs here, unless it may have
//! been run there already and must not be run twice.

mod basis;
mod choice;
mod client;
mod entry;
mod message;

use contexture_core::ErrorKind;
use contexture_server::OwnerToken;
use futures::executor::block_on;

use crate::{
    commands::Status,
    error::{Result, Stop},
    job::Job,
    printer::Printer,
    settings::Settings,
};
pub(crate) use basis::{Basis, version};
pub(crate) use choice::ServerChoice;
use client::{Failure, Server};
pub(crate) use entry::{Announced, Entry};
pub(crate) use message::{Answer, End, Recorder, Request, Stream};

/// The variable with a token to use instead of the one beside the store, where a server is named.
const TOKEN: &str = "CONTEXTURE_TOKEN";

/// Runs a command through a server if there is one to use, and otherwise here.
pub(crate) fn run(
    job: Job,
    choice: &ServerChoice,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let answered = match choice {
        ServerChoice::Never => None,
        ServerChoice::Auto => through_own(&job, settings, printer)?,
        ServerChoice::At(address) => {
            let token = named_token(settings)?;
            let server = Server { address: *address, token };
            let answer = server.run(&Request::new(&job, None, settings, printer));
            Some(answer.map_err(|failure| failed(failure, &job, choice))?)
        }
    };
    match answered {
        Some(answer) => answer.take(printer),
        None => block_on(job.run(settings, printer)),
    }
}

/// Asks the store's own server; none if the command is to run here.
fn through_own(job: &Job, settings: &Settings, printer: &Printer<'_>) -> Result<Option<Answer>> {
    let Some((server, basis)) = usable(settings, printer) else { return Ok(None) };
    match server.run(&Request::new(job, Some(basis), settings, printer)) {
        Ok(answer) => Ok(Some(answer)),
        Err(failure @ Failure::Lost(_)) if job.writes().is_some() => {
            Err(failed(failure, job, &ServerChoice::Auto))
        }
        // Nothing was run there, or nothing that matters if it is run again.
        Err(_) => Ok(None),
    }
}

/// Returns the server whose answer would be the same as that of this process.
fn usable(settings: &Settings, printer: &Printer<'_>) -> Option<(Server, Basis)> {
    // A person reads at the screen's own pace, with the pager; and a log is about the work of this process.
    if printer.is_screen() || crate::log::is_wanted() {
        return None;
    }
    let entry = Entry::read(&settings.store.server_file()?)?;
    let basis = Basis::of(&settings.store)?;
    let address = entry.address().filter(|_| entry.basis == basis)?;
    let token = OwnerToken::read(&settings.store.token_path().ok()??).ok()??;
    Some((Server { address, token }, basis))
}

/// Returns the token for a server that was named.
fn named_token(settings: &Settings) -> Result<OwnerToken> {
    if let Some(text) = std::env::var(TOKEN).ok().filter(|text| !text.is_empty()) {
        return text.parse().map_err(|_| {
            let hint = "give the owner's token, as the file beside the server's store holds it";
            Stop::invalid(format!("{TOKEN} holds no token"), hint)
        });
    }
    let read = match settings.store.token_path()? {
        Some(file) => OwnerToken::read(&file)?,
        None => None,
    };
    read.ok_or_else(|| {
        let message = format!("there is no token of a server beside {}", settings.store);
        let hint = format!(
            "name the store that it serves with --store, or give its owner's token in {TOKEN}"
        );
        Stop::failed(ErrorKind::NotFound, message, hint)
    })
}

/// Reports that a server did not run a command, or may have.
fn failed(failure: Failure, job: &Job, choice: &ServerChoice) -> Stop {
    let server = match choice {
        ServerChoice::At(address) => format!("the server at http://{address}"),
        ServerChoice::Auto | ServerChoice::Never => "the server of this store".to_owned(),
    };
    match (failure, job.writes()) {
        (Failure::Unused(why), _) => {
            let hint = "start it with `contexture serve`, or leave out --server";
            Stop::failed(ErrorKind::Unavailable, format!("cannot use {server}: {why}"), hint)
        }
        (Failure::Refused { kind, message, hint }, _) => Stop::failed(kind, message, hint),
        (Failure::Lost(why), None) => {
            let message = format!("no answer from {server}: {why}");
            Stop::failed(ErrorKind::Unavailable, message, "run it again: nothing is done twice")
        }
        (Failure::Lost(why), Some(maybe)) => {
            let message = format!("no answer from {server}: {why}; {maybe}");
            let hint = match job {
                Job::Turn(_) => {
                    "look with `contexture history` before you write it again; with --key, it can be sent again safely"
                }
                _ => {
                    "look with `contexture history` and `contexture window --account` before you run it again"
                }
            };
            Stop::failed(ErrorKind::Unavailable, message, hint)
        }
    }
}
