//! Watching sessions for those who follow them: one look at a time for all of them.
//!
//! A storage has one [`Watch`], with one thread that looks at the revisions of the sessions that
//! somebody follows, as often as the storage says. The thread starts with the first follower and ends
//! with the last one. Hints are sent where a revision has moved, and again after a second, in case that
//! somebody could not heed one; a hint at what is known costs nothing.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle, Thread},
    time::{Duration, Instant},
};

use contexture_core::{
    Revision, SessionId,
    storage::{Hint, HintSender, Hints, StorageResult},
};

/// After how long a hint is sent again.
const AGAIN: Duration = Duration::from_secs(1);

/// What a look found of the sessions asked for, in order: their revisions, none where there is none.
pub(crate) type Found = Vec<Option<Revision>>;

/// How a storage looks at revisions.
pub(crate) trait Look: Send {
    /// Reads the revisions of some sessions; none if nothing can have moved since the last look. `new`
    /// says that some of them were never looked at.
    fn look(&mut self, sessions: &[SessionId], new: bool) -> StorageResult<Option<Found>>;

    /// Returns how long to wait before the next look. `moved` says that the last one found something
    /// that nobody had heard of.
    fn pause(&mut self, moved: bool) -> Duration;
}

/// The sessions that somebody follows.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    state: Mutex<WatchState>,
}

#[derive(Debug, Default)]
struct WatchState {
    sessions: BTreeMap<SessionId, Followed>,
    thread: Option<Thread>,
    /// Whether the storage is closed.
    closed: bool,
}

#[derive(Debug, Default)]
struct Followed {
    senders: Vec<HintSender>,
    /// Its revision when it was last looked at, and when a hint at it was sent.
    last: Option<(Revision, Instant)>,
}

impl Followed {
    /// Hints at it; those who do not listen any more are let go at the next look.
    fn send(&self, hint: Hint) {
        for sender in &self.senders {
            sender.send(hint);
        }
    }
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sessions to look at, and whether any is new; none when nobody is left, or the storage
    /// is closed. Then the thread ends.
    fn sessions(&self) -> Option<(Vec<SessionId>, bool)> {
        let mut state = self.lock();
        state.sessions.retain(|_, followed| {
            followed.senders.retain(|sender| !sender.is_closed());
            !followed.senders.is_empty()
        });
        if state.closed || state.sessions.is_empty() {
            state.thread = None;
            return None;
        }
        let new = state.sessions.values().any(|followed| followed.last.is_none());
        Some((state.sessions.keys().cloned().collect(), new))
    }

    /// Notes the revision that a session was found at; tells whether that is news.
    pub(crate) fn note(&self, session: &SessionId, found: Option<Revision>) -> bool {
        let mut state = self.lock();
        let Some(followed) = state.sessions.get_mut(session) else { return false };
        let last = followed.last.map(|(last, _)| last);
        let hint = match (last, found) {
            (Some(last), Some(found)) if found == last => return false,
            (Some(last), Some(found)) if found < last => Hint::Look,
            (_, Some(found)) => Hint::Reached(found),
            (_, None) => Hint::Look,
        };
        followed.last = Some((found.unwrap_or_default(), Instant::now()));
        followed.send(hint);
        last.is_some()
    }

    /// Notes a revision that a session has reached, as others say; what they say may come late.
    #[cfg(feature = "postgres")]
    pub(crate) fn note_reached(&self, session: &SessionId, reached: Revision) {
        let mut state = self.lock();
        let Some(followed) = state.sessions.get_mut(session) else { return };
        if followed.last.is_none_or(|(last, _)| last < reached) {
            followed.last = Some((reached, Instant::now()));
            followed.send(Hint::Reached(reached));
        }
    }

    /// Notes the revision that this process itself took a session to: nobody need be told.
    #[cfg(feature = "postgres")]
    pub(crate) fn note_own(&self, session: &SessionId, reached: Revision) {
        let mut state = self.lock();
        if let Some(followed) = state.sessions.get_mut(session) {
            let last = followed.last.map_or(reached, |(last, _)| last.max(reached));
            followed.last = Some((last, Instant::now()));
        }
    }

    /// Sends those hints again that were sent a while ago.
    fn repeat(&self) {
        for followed in self.lock().sessions.values_mut() {
            let Some((last, sent)) = followed.last else { continue };
            if sent.elapsed() >= AGAIN {
                followed.last = Some((last, Instant::now()));
                followed.send(Hint::Reached(last));
            }
        }
    }

    /// Has the next look made at once.
    #[cfg(feature = "postgres")]
    pub(crate) fn look_now(&self) {
        self.lock().thread.iter().for_each(Thread::unpark);
    }
}

/// Watches the sessions of one storage.
pub(crate) struct Watch {
    name: &'static str,
    watched: Arc<Watched>,
    looks: Box<dyn Fn(Arc<Watched>) -> Box<dyn Look> + Send + Sync>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether closing waits for the thread, because it holds something open.
    joins: bool,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("watched", &self.watched).finish_non_exhaustive()
    }
}

impl Watch {
    /// Prepares to watch; `looks` makes what looks, each time the thread starts.
    pub(crate) fn new(
        name: &'static str,
        joins: bool,
        looks: impl Fn(Arc<Watched>) -> Box<dyn Look> + Send + Sync + 'static,
    ) -> Self {
        let (watched, looks) = (Arc::default(), Box::new(looks));
        Self { name, watched, looks, thread: Mutex::default(), joins }
    }

    /// Returns hints at a session.
    pub(crate) fn hints(&self, session: &SessionId) -> Hints {
        let (sender, hints) = Hints::channel();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.watched.lock();
        let followed = state.sessions.entry(session.clone()).or_default();
        if let Some((last, _)) = followed.last {
            sender.send(Hint::Reached(last));
        }
        followed.senders.push(sender);
        if state.thread.is_some() {
            return hints;
        }
        let (watched, look) = (self.watched.clone(), (self.looks)(self.watched.clone()));
        let started = thread::Builder::new()
            .name(format!("contexture-{}-watch", self.name))
            .spawn(move || run(&watched, look));
        match started {
            Ok(handle) => {
                state.thread = Some(handle.thread().clone());
                *thread = Some(handle);
            }
            Err(error) => tracing::warn!("sessions are not watched: {error}"),
        }
        hints
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.watched.lock();
        state.closed = true;
        // Those who listen hear that nothing more will come.
        state.sessions.clear();
        drop(state);
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return };
        thread.thread().unpark();
        if self.joins && thread.thread().id() != thread::current().id() {
            drop(thread.join());
        }
    }
}

fn run(watched: &Watched, mut look: Box<dyn Look>) {
    while let Some((sessions, new)) = watched.sessions() {
        let mut moved = false;
        match look.look(&sessions, new) {
            Ok(Some(found)) => {
                for (session, found) in sessions.iter().zip(found) {
                    moved |= watched.note(session, found);
                }
            }
            Ok(None) => {}
            Err(error) => tracing::debug!("sessions could not be checked for changes: {error}"),
        }
        watched.repeat();
        thread::park_timeout(look.pause(moved));
    }
}
