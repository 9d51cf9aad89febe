//! Commands of other processes, run on what the server has open.

use contexture_core::ErrorKind;
use contexture_server::{Commands, Host, ServerError};
use tokio::runtime::Handle;

use crate::{
    error::Stop,
    printer::Printer,
    project,
    served::{Answer, Basis, End, Recorder, Request, Stream, version},
    settings::{Opened, Settings},
    store::StoreUrl,
};

/// Runs the commands of other processes on this store.
pub(super) struct StoreJobs {
    store: StoreUrl,
    /// What the outcome depends on here; none where that cannot be known.
    basis: Option<Basis>,
    /// Whether searches compare meanings with a model.
    embeds: bool,
}

impl StoreJobs {
    /// Prepares to run commands on a store.
    pub(super) fn new(store: StoreUrl, basis: Option<Basis>) -> Self {
        Self { store, basis, embeds: project::embedder().is_some() }
    }

    /// Refuses what would come out otherwise in the process that asks.
    fn require_same(&self, request: &Request) -> Result<(), ServerError> {
        let Some(basis) = &request.basis else { return Ok(()) };
        let hint = "run it there with --server never";
        if self.basis.as_ref().and_then(Basis::now).as_ref() != Some(basis) {
            let message = "this server has another store, project or build";
            return Err(ServerError::of_kind(ErrorKind::Conflict, message, hint));
        }
        // A model is asked with the keys and addresses of the environment, which may differ.
        if request.job.searches() && (self.embeds || project::embedder().is_some()) {
            let message = "searches that compare meanings ask a model";
            return Err(ServerError::of_kind(ErrorKind::Conflict, message, hint));
        }
        Ok(())
    }
}

impl Commands for StoreJobs {
    fn run(&self, host: &Host, request: &[u8]) -> Result<Vec<u8>, ServerError> {
        let request = read(request)?;
        self.require_same(&request)?;
        let Request { session, caller, json, paint, tips, job, .. } = request;
        let opened = Opened { engine: host.engine().clone(), index: host.lazy_index() };
        let settings =
            Settings { store: self.store.clone(), session, caller, opened: Some(opened) };
        let recorder = Recorder::default();
        let (mut out, mut err) = (recorder.stream(Stream::Out), recorder.stream(Stream::Err));
        let mut printer = Printer::new(&mut out, &mut err, paint);
        printer.set_json(json);
        printer.set_terminal(false, tips);
        let done = Handle::current().block_on(job.run(&settings, &mut printer));
        let end = match done {
            Ok(status) => End::Status(status),
            Err(Stop::Failed { kind, message, hint }) => {
                End::Failed { kind: kind.as_str().to_owned(), message, hint }
            }
            // Nobody closes a recording.
            Err(Stop::Closed) => return Err(unreadable("the output was closed")),
        };
        let printed = recorder.printed().ok_or_else(|| unreadable("the output is no text"))?;
        let answer = serde_json::to_vec(&Answer { printed, end });
        answer.map_err(|error| unreadable(&error.to_string()))
    }
}

/// Reads a request, which must come from the same version of the program.
fn read(request: &[u8]) -> Result<Request, ServerError> {
    #[derive(serde::Deserialize)]
    struct Version {
        version: String,
    }
    let theirs = serde_json::from_slice(request).map(|Version { version }| version);
    let (theirs, ours) = (theirs.unwrap_or_else(|_| "unknown".to_owned()), version());
    if theirs != ours {
        let message = format!("this server is version {ours} of contexture, not {theirs}");
        let hint = "use one version for both, or --server never";
        return Err(ServerError::of_kind(ErrorKind::Conflict, message, hint));
    }
    serde_json::from_slice(request).map_err(|error| {
        let message = format!("the command cannot be read: {error}");
        ServerError::invalid(message, "use one build for both, or --server never")
    })
}

/// Reports that a command was run and its answer cannot be sent.
fn unreadable(why: &str) -> ServerError {
    let hint = "look what it did with `contexture history`, and run it again with --server never";
    ServerError::of_kind(ErrorKind::Corrupt, format!("the answer cannot be sent: {why}"), hint)
}
