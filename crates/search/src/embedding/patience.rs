//! Waiting with an end, under any executor.

use std::{
    future::Future,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use futures::{
    channel::oneshot,
    future::{self, Either},
};

/// Ends waits when its time is over.
pub(super) struct Alarm {
    rings: oneshot::Receiver<()>,
    has_rung: bool,
    // The thread behind it ends when this is dropped.
    _stop: mpsc::Sender<()>,
}

impl Alarm {
    pub(super) fn after(patience: Duration) -> Self {
        let (stop, stopped) = mpsc::channel();
        let (ring, rings) = oneshot::channel();
        let wait = move || {
            if stopped.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                // Nobody may be listening any more.
                let _ = ring.send(());
            }
        };
        // Without a thread it rings at once: what cannot be bounded is not waited for.
        if let Err(error) = thread::Builder::new().name("search patience".to_owned()).spawn(wait) {
            tracing::debug!(%error, "nothing is waited for");
        }
        Self { rings, has_rung: false, _stop: stop }
    }

    /// Waits for a future; none where the alarm rang first.
    pub(super) async fn wait<F: Future>(&mut self, future: F) -> Option<F::Output> {
        if self.has_rung {
            return None;
        }
        futures::pin_mut!(future);
        match future::select(future, &mut self.rings).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => {
                self.has_rung = true;
                None
            }
        }
    }

    pub(super) fn has_rung(&self) -> bool {
        self.has_rung
    }
}
