//! Feeds one event stream: first what was missed, then what comes.

use std::{sync::Arc, time::Duration};

use contexture_agents::wire::ChangeObject;
use contexture_core::{
    ContextSystem, FeedEntry, FeedEvent, Revision, Session, SessionId, Subscription,
};
use futures::StreamExt as _;
use tokio::{sync::mpsc, time};

use super::Sent;
use crate::{
    Caller, Host, Result,
    http::held::{Asked, Held},
};

/// How many edits are read at a time.
const BATCH: usize = 256;

/// How long a reader may leave the queue full before its stream is ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a stream in which nothing happens looks whether its token is still valid.
const LOOK: Duration = Duration::from_secs(5);

/// Why a stream ends.
enum Ended {
    /// The server is about to end.
    Stopping,
    /// The reader does not keep up.
    Slow,
    /// The reader has gone.
    Gone,
    /// The session or the token is no longer there.
    Closed,
}

/// What one stream is fed from and for whom.
struct Feed {
    host: Arc<Host>,
    caller: Caller,
    asked: Asked,
    id: SessionId,
    queue: mpsc::Sender<Sent>,
    /// The last edit that was looked at.
    last: Revision,
}

/// Feeds a stream until it ends.
pub(super) async fn feed(held: Held, last: Revision, queue: mpsc::Sender<Sent>) {
    let Held { host, caller, asked, session } = held;
    let counters = host.clone();
    let _counted = counters.counters().stream();
    let Ok(system) = host.engine().open(session.id()).await else { return };
    let mut subscription = system.subscribe();
    let id = session.id().clone();
    let mut feed = Feed { host, caller, asked, id, queue, last };
    let ended = match feed.run(&system, &mut subscription).await {
        Ok(()) | Err(Ended::Closed) => "the session or the token is no longer valid",
        Err(Ended::Stopping) => "the server ends: go on at another one from the last id",
        Err(Ended::Gone) => return,
        Err(Ended::Slow) => {
            counters.counters().stream_dropped();
            "the stream was not read fast enough: go on from the last id"
        }
    };
    // A reader that does not read gets this when it reads again, or never.
    let _ = time::timeout(PATIENCE, feed.queue.send(Sent::End(ended))).await;
}

impl Feed {
    async fn run(
        &mut self,
        system: &ContextSystem,
        subscription: &mut Subscription,
    ) -> Result<(), Ended> {
        let begin = subscription.since();
        if self.last > begin {
            // Another session of the name, or one that was taken back to an earlier state.
            self.reset(begin).await?;
        }
        self.catch_up(system, begin).await?;
        let mut stopping = self.host.stopping();
        let mut look = time::interval(LOOK);
        loop {
            if *stopping.borrow() {
                return Err(Ended::Stopping);
            }
            tokio::select! {
                event = subscription.next() => match event {
                    Some(FeedEvent::Change(entry)) => self.take(&entry).await?,
                    Some(FeedEvent::Lagged { upto }) if upto < self.last => self.reset(upto).await?,
                    Some(FeedEvent::Lagged { upto }) => self.catch_up(system, upto).await?,
                    None => return Ok(()),
                },
                _ = look.tick() => drop(self.session().await?),
                _ = stopping.changed() => {}
                () = self.queue.closed() => return Err(Ended::Gone),
            }
        }
    }

    /// Reads from the storage what is not in the stream.
    async fn catch_up(&mut self, system: &ContextSystem, upto: Revision) -> Result<(), Ended> {
        while self.last < upto {
            let read = system.storage().changes(&self.id, self.last, BATCH).await;
            let entries = read.map_err(|_| Ended::Closed)?;
            if entries.is_empty() {
                return self.reset(upto).await;
            }
            for entry in entries {
                self.take(&entry).await?;
            }
        }
        Ok(())
    }

    /// Sends what the caller may know of an edit.
    async fn take(&mut self, entry: &FeedEntry) -> Result<(), Ended> {
        if entry.revision <= self.last {
            return Ok(());
        }
        self.last = entry.revision;
        let session = self.session().await?;
        let seen = session.reader().change(entry).await.map_err(|_| Ended::Closed)?;
        match seen {
            Some(seen) => self.send(Sent::Change(ChangeObject::from(seen))).await,
            None => Ok(()),
        }
    }

    async fn reset(&mut self, upto: Revision) -> Result<(), Ended> {
        self.last = upto;
        drop(self.session().await?);
        self.send(Sent::Reset(upto)).await
    }

    /// Returns the session as the caller holds it now, if the token is still valid.
    async fn session(&self) -> Result<Session, Ended> {
        self.host.confirm(&self.caller).await.map_err(|_| Ended::Closed)?;
        let session = self.host.session(&self.caller, &self.id, self.asked.as_ref()).await;
        session.map_err(|_| Ended::Closed)
    }

    async fn send(&self, sent: Sent) -> Result<(), Ended> {
        match time::timeout(PATIENCE, self.queue.send(sent)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Ended::Gone),
            Err(_) => Err(Ended::Slow),
        }
    }
}
