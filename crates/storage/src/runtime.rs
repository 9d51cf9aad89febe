//! The runtime of storages that talk over a network.
//!
//! Their clients need tokio; whoever uses the storage may run anything, or block. So the work is done
//! on threads of its own, and the caller waits for the answer. A caller that stops waiting stops
//! nothing: a commit on its way is made or refused, never torn.

use std::{future::Future, sync::OnceLock};

use contexture_core::storage::{StorageError, StorageResult};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

/// Does some work on the runtime's threads. `what` names the storage in an error.
pub(crate) async fn run<T: Send + 'static>(
    what: &str,
    work: impl Future<Output = StorageResult<T>> + Send + 'static,
) -> StorageResult<T> {
    let unavailable = |reason| StorageError::Unavailable { what: what.to_owned(), reason };
    let runtime =
        RUNTIME.get_or_init(start).as_ref().map_err(|reason| unavailable(reason.clone()))?;
    match runtime.spawn(work).await {
        Ok(done) => done,
        Err(error) => Err(unavailable(format!("its work was aborted: {error}"))),
    }
}

/// Begins some work on the runtime's threads that nobody waits for; none where they cannot be started.
#[cfg(feature = "postgres")]
pub(crate) fn spawn(
    work: impl Future<Output = ()> + Send + 'static,
) -> Option<tokio::task::JoinHandle<()>> {
    let runtime = RUNTIME.get_or_init(start).as_ref().ok()?;
    Some(runtime.spawn(work))
}

fn start() -> Result<Runtime, String> {
    // One runtime for all storages of the process: they wait more than they work.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("contexture-storage")
        .enable_all()
        .build();
    runtime.map_err(|error| format!("its threads cannot be started: {error}"))
}
