//! Learning of other processes' commits: the server tells, and now and then somebody looks.
//!
//! Whoever commits says so on a channel of the store (`NOTIFY`), and one connection of each process that
//! follows sessions listens there. What is heard is a hint and may be lost: the revisions are looked at
//! as well, seldom while the channel works and often while it does not, because the server does not know
//! it or because a pooler stands in between that swallows it.
//!
//! It is said behind the `COMMIT`, not before it: within the transaction, PostgreSQL makes all
//! transactions of a database that notify wait for each other's sync to disk.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use contexture_core::{Revision, SessionId, storage::StorageResult};
use futures::{StreamExt, executor::block_on, future::select, stream};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Notification};

use super::{
    Following,
    error::FaultResult,
    pool::{Connections, pause},
    read::ask,
};
use crate::{
    runtime,
    watch::{Found, Look, Watch, Watched},
};

/// How often revisions are looked at while the channel works, and while it does not.
const SELDOM: Duration = Duration::from_secs(5);
const OFTEN: Duration = Duration::from_millis(250);

pub(crate) fn watch(connections: Arc<Connections>, following: Following) -> Watch {
    Watch::new("postgres", false, move |watched| {
        let works = Arc::new(AtomicBool::new(false));
        let listens = (following == Following::Listen).then(|| {
            let listen = listen(connections.clone(), watched, works.clone());
            runtime::spawn(listen)
        });
        let listener = Listener(listens.flatten());
        Box::new(Looks { connections: connections.clone(), works, _listener: listener })
    })
}

/// Returns what says that this process took a session to a revision.
pub(crate) fn notify(connections: &Connections, session: &SessionId, reached: Revision) -> String {
    let payload = format!("{} {reached} {session}", connections.tag).replace('\'', "''");
    format!("NOTIFY {}, '{payload}'", connections.channel())
}

struct Looks {
    connections: Arc<Connections>,
    /// Whether what others say is heard.
    works: Arc<AtomicBool>,
    _listener: Listener,
}

impl Look for Looks {
    fn look(&mut self, sessions: &[SessionId], _: bool) -> StorageResult<Option<Found>> {
        let connections = self.connections.clone();
        let names: Vec<String> = sessions.iter().map(|session| session.to_string()).collect();
        let found = runtime::run(&self.connections.what, async move {
            let revisions = connections.read(|db| {
                let names = names.clone();
                Box::pin(async move { revisions(db, &names).await })
            });
            revisions.await
        });
        block_on(found).map(Some)
    }

    fn pause(&mut self, moved: bool) -> Duration {
        // What a look finds first, nobody said, or it was not heard.
        if moved {
            self.works.store(false, Ordering::Release);
        }
        if self.works.load(Ordering::Acquire) { SELDOM } else { OFTEN }
    }
}

/// Reads revisions. They are hints as well, so their rows are not verified.
async fn revisions(db: &deadpool_postgres::ClientWrapper, names: &[String]) -> FaultResult<Found> {
    let sql = "SELECT name, revision FROM contexture_sessions WHERE name = ANY($1)";
    let mut found: Found = vec![None; names.len()];
    for row in ask(db, sql, &[&names]).await? {
        let (name, revision): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        let at = names.iter().position(|asked| *asked == name);
        let revision = u64::try_from(revision).ok().map(Revision);
        at.into_iter().for_each(|at| found[at] = revision);
    }
    Ok(found)
}

/// A task that listens, ended with whatever it listens for.
struct Listener(Option<JoinHandle<()>>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

async fn listen(connections: Arc<Connections>, watched: Arc<Watched>, works: Arc<AtomicBool>) {
    let mut attempt = 0;
    loop {
        if let Err(error) = listen_once(&connections, &watched, &works).await {
            tracing::debug!("cannot listen to {}: {error}", connections.what);
        }
        // Looked at often from now on, beginning at once.
        if works.swap(false, Ordering::AcqRel) {
            attempt = 0;
        }
        watched.look_now();
        pause(attempt, Duration::from_millis(500)).await;
        attempt += 1;
    }
}

/// Listens until the connection ends.
async fn listen_once(
    connections: &Connections,
    watched: &Watched,
    works: &AtomicBool,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = connections.config.connect(connections.tls.clone()).await?;
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let hear = async {
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(heard) = message?
                && let Some((tag, reached, session)) = read(&heard)
            {
                works.store(true, Ordering::Release);
                match tag == connections.tag {
                    true => watched.note_own(&session, reached),
                    false => watched.note_reached(&session, reached),
                }
            }
        }
        Ok(())
    };
    let begin = async {
        client.batch_execute(&format!("LISTEN {}", connections.channel())).await?;
        works.store(true, Ordering::Release);
        // What was committed before anybody listened.
        watched.look_now();
        future::pending().await
    };
    select(Box::pin(hear), Box::pin(begin)).await.factor_first().0
}

fn read(heard: &Notification) -> Option<(&str, Revision, SessionId)> {
    let mut parts = heard.payload().splitn(3, ' ');
    let (tag, reached) = (parts.next()?, parts.next()?.parse().ok()?);
    Some((tag, Revision(reached), parts.next()?.parse().ok()?))
}
