//! What is known of sessions: their roots as they were last seen, and how a root is replaced.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use contexture_core::{
    SessionId, Tokens,
    storage::{CountKey, StorageError, StorageResult},
};
use object_store::UpdateVersion;

use super::{
    fault::{Fault, FaultResult},
    import::Importing,
    objects::{Home, Looked, Objects, Wrote},
    root::{Id, Root},
    snapshot::Frozen,
    view::View,
    writer::Queue,
};
use crate::random;

/// All that a storage of this process shares.
pub(crate) struct Inner {
    pub(crate) objects: Arc<Objects>,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    pub(crate) snapshots: Mutex<Vec<Weak<Frozen>>>,
    pub(crate) imports: tokio::sync::Mutex<HashMap<SessionId, Importing>>,
    pub(crate) counts: Mutex<Counts>,
}

/// Token counts, in memory only: asking the server takes longer than counting again.
#[derive(Default)]
pub(crate) struct Counts {
    kept: HashMap<CountKey, (Tokens, u64)>,
    /// Counts how often some were kept, by which a snapshot knows its own.
    pub(crate) times: u64,
}

impl Counts {
    /// About ten megabytes of them.
    const MOST: usize = 200_000;

    /// Reads counts that were kept by the time given.
    pub(crate) fn read(&self, keys: &[CountKey], time: Option<u64>) -> Vec<Option<Tokens>> {
        let read = |key| {
            let (tokens, kept) = self.kept.get(key)?;
            time.is_none_or(|time| *kept <= time).then_some(*tokens)
        };
        keys.iter().map(read).collect()
    }

    pub(crate) fn keep(&mut self, counts: &[(CountKey, Tokens)]) {
        if self.kept.len() + counts.len() > Self::MOST {
            self.kept.clear();
        }
        self.times += 1;
        for (key, tokens) in counts.iter().take(Self::MOST) {
            let kept = self.kept.entry(*key).or_insert((*tokens, self.times));
            if kept.0 != *tokens {
                *kept = (*tokens, self.times);
            }
        }
    }
}

/// A session that was used lately.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    known: Mutex<Option<Known>>,
    pub(crate) queue: Queue,
}

/// A root as it was last seen.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) version: UpdateVersion,
    pub(crate) root: Arc<Root>,
}

/// How a root's replacement ended.
pub(crate) enum Published {
    Done(Known),
    /// Somebody else's came before.
    Lost,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while holding one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// How many sessions are remembered.
    const MOST: usize = 256;

    pub(crate) fn new(objects: Arc<Objects>) -> Self {
        Self {
            objects,
            sessions: Mutex::default(),
            snapshots: Mutex::default(),
            imports: tokio::sync::Mutex::default(),
            counts: Mutex::default(),
        }
    }

    pub(crate) fn session(&self, id: &SessionId) -> Arc<Session> {
        let mut sessions = lock(&self.sessions);
        if sessions.len() > Self::MOST {
            sessions.retain(|_, session| Arc::strong_count(session) > 1);
        }
        let new = || {
            let (known, queue) = (Mutex::default(), Queue::default());
            Arc::new(Session { id: id.clone(), known, queue })
        };
        sessions.entry(id.clone()).or_insert_with(new).clone()
    }

    /// Returns a session's root as it is now.
    pub(crate) async fn fresh(&self, session: &Session) -> FaultResult<Option<Known>> {
        let known = session.known();
        let path = self.objects.root_path(&session.id);
        let unless = known.as_ref().map(|known| &known.version);
        match self.objects.look(&path, unless).await? {
            Looked::Same => Ok(known),
            Looked::Missing => {
                *lock(&session.known) = None;
                Ok(None)
            }
            Looked::Found(found) => {
                let root = Arc::new(Root::decode(&session.id, &found.bytes)?);
                let known = Known { version: found.version, root };
                session.remember(known.clone());
                Ok(Some(known))
            }
        }
    }

    /// Returns a session as it is now; none when there is none.
    pub(crate) async fn view(&self, session: &SessionId) -> FaultResult<Option<View>> {
        let known = self.fresh(&self.session(session)).await?;
        Ok(known.and_then(|known| self.view_of(session, &known)))
    }

    pub(crate) fn view_of(&self, session: &SessionId, known: &Known) -> Option<View> {
        let root = known.root.clone();
        let home = Home::new(&self.objects, session, &root);
        (!root.is_importing()).then(|| View::new(home, root))
    }

    /// Replaces a root if it still is the version given, or makes it where none is given.
    ///
    /// Where an answer was lost, what stands there afterwards tells how it went: a root remembers
    /// its last writers.
    pub(crate) async fn publish(
        &self,
        session: &Session,
        base: Option<UpdateVersion>,
        mut root: Root,
    ) -> FaultResult<Published> {
        /// How often a write whose answer was lost is made again.
        const TRIES: u32 = 4;
        let write = Id::random(&self.objects.name)?;
        root.sign(write);
        let bytes = root.encode();
        let path = self.objects.root_path(&session.id);
        let mut tries = 0;
        loop {
            let wrote = match self.objects.swap(&path, bytes.clone(), base.clone()).await {
                // Whoever is refused takes it that nothing changed; an earlier try may have.
                Err(fault) if tries > 0 => {
                    return Err(self.unsure(&fault.into_storage_error().to_string()));
                }
                wrote => wrote?,
            };
            match wrote {
                Wrote::Done(version) => {
                    let known = Known { version, root: Arc::new(root) };
                    session.remember(known.clone());
                    return Ok(Published::Done(known));
                }
                Wrote::Lost => {
                    // It may have been lost to itself: made once, its answer lost, made again.
                    let now = match self.fresh(session).await {
                        Err(fault) if tries > 0 => {
                            return Err(self.unsure(&fault.into_storage_error().to_string()));
                        }
                        now => now?,
                    };
                    return match now {
                        Some(known) if known.root.is_signed(write) => Ok(Published::Done(known)),
                        Some(known) if tries == 0 || known.root.would_remember(&root) => {
                            Ok(Published::Lost)
                        }
                        None if tries == 0 => Ok(Published::Lost),
                        _ => Err(self.unsure("too much was written since to find out")),
                    };
                }
                Wrote::Unknown(error) if tries == TRIES => {
                    return Err(self.unsure(&error.to_string()));
                }
                Wrote::Unknown(_) => {
                    tries += 1;
                    self.wait(tries).await?;
                }
            }
        }
    }

    /// Returns the error for a write whose outcome is unknown.
    fn unsure(&self, why: &str) -> Fault {
        let reason = format!(
            "a response was lost, so whether the last change was made is unknown; it may have \
             been: {why}"
        );
        StorageError::Unavailable { what: self.objects.name.clone(), reason }.into()
    }

    /// Waits a while, longer each time, and not as long as others do.
    pub(crate) async fn wait(&self, tries: u32) -> StorageResult<()> {
        let most = (4_000_u64 << tries.min(7)).min(400_000);
        let random = u64::from_le_bytes(random::bytes(&self.objects.name)?);
        tokio::time::sleep(Duration::from_micros(random % most)).await;
        Ok(())
    }

    /// Lists the names of all sessions, those being taken over included, in order.
    pub(crate) async fn names(&self) -> FaultResult<Vec<SessionId>> {
        let listed = self.objects.list(&["sessions"]).await?;
        let name = |path: &object_store::path::Path| path.filename()?.parse().ok();
        let mut names: Vec<SessionId> =
            listed.iter().filter_map(|meta| name(&meta.location)).collect();
        names.sort();
        Ok(names)
    }

    /// Reads from a session as it is now, once more where what its root names was just replaced.
    pub(crate) async fn read<T, F, Fut>(
        &self,
        session: &SessionId,
        read: F,
    ) -> FaultResult<Option<T>>
    where
        F: Fn(Arc<View>) -> Fut,
        Fut: Future<Output = FaultResult<T>>,
    {
        let mut tried: Option<(Id, u64)> = None;
        loop {
            let Some(view) = self.view(session).await? else { return Ok(None) };
            let root = (view.root.meta.incarnation, view.root.meta.sequence);
            match read(Arc::new(view)).await {
                Err(Fault::Gone(_)) if tried.replace(root) != Some(root) => {}
                outcome => return outcome.map(Some),
            }
        }
    }
}

impl Session {
    pub(crate) fn known(&self) -> Option<Known> {
        lock(&self.known).clone()
    }

    pub(crate) fn forget(&self) {
        *lock(&self.known) = None;
    }

    /// Remembers a root, unless a later one is known.
    fn remember(&self, new: Known) {
        let mut known = lock(&self.known);
        let meta = &new.root.meta;
        let is_later = known.as_ref().is_some_and(|known| {
            let known = &known.root.meta;
            known.incarnation == meta.incarnation && known.sequence > meta.sequence
        });
        if !is_later {
            *known = Some(new);
        }
    }
}
