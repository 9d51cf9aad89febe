//! The engine: one per process, over one storage.
//!
//! It opens each session once, whoever asks and however many ask at the same time, and shares one budget of
//! memory over all of them. A session that nobody holds stays open while there is room.

use std::sync::{Arc, OnceLock};

use crate::{
    Clock, ContextSystem, Edit, Finder, PageStorage, Principal, Result, Session, SessionId,
    storage::{StorageResult, SystemSettings},
    system::memory::Memory,
};

/// What can be set of an engine.
#[derive(Debug, Clone, Copy)]
pub struct EngineSettings {
    /// What holds for each session.
    pub session: SystemSettings,
    /// How many bytes all sessions together may hold in memory, beside what is pinned in those in use.
    pub memory: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self { session: SystemSettings::default(), memory: 256 << 20 }
    }
}

/// What an engine holds in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineUsage {
    /// How many sessions are open.
    pub sessions: usize,
    /// How many bytes they hold together.
    pub bytes: usize,
}

/// The sessions of a storage, opened when they are wanted. Cheap to clone; usable from many threads.
///
/// ```
/// use std::sync::Arc;
/// use contexture_core::*;
/// # futures::executor::block_on(async {
/// let storage = Arc::new(MemoryStorage::new());
/// let engine = Engine::new(storage, Arc::new(ManualClock::at_millis(1_760_000_000_000)));
/// let usr = NewSegment::new("usr".parse()?, SegmentKind::User);
/// engine.create(&"demo".parse()?, "demo-app", &Edit::AddSegment(usr)).await?;
///
/// // Two callers, one session in memory.
/// let host = engine.session(&"demo".parse()?, Principal::System).await?;
/// let helper = engine.session(&"demo".parse()?, View::common("helper".parse()?).into()).await?;
/// helper.create_detail_page("Plan", "", "1. read 2. think", "usr-0").await?;
/// assert_eq!(host.get_children("usr-0").await?.len(), 1);
/// assert_eq!(engine.usage().sessions, 1);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    storage: Arc<dyn PageStorage>,
    clock: Arc<dyn Clock>,
    settings: SystemSettings,
    memory: Arc<Memory>,
    finder: OnceLock<Arc<dyn Finder>>,
}

impl Engine {
    /// Makes an engine over a storage.
    pub fn new(storage: Arc<dyn PageStorage>, clock: Arc<dyn Clock>) -> Self {
        Self::with(storage, clock, EngineSettings::default())
    }

    /// Makes an engine with settings.
    pub fn with(
        storage: Arc<dyn PageStorage>,
        clock: Arc<dyn Clock>,
        settings: EngineSettings,
    ) -> Self {
        let memory = Memory::bounded(settings.memory);
        let (settings, finder) = (settings.session, OnceLock::new());
        Self { inner: Arc::new(Inner { storage, clock, settings, memory, finder }) }
    }

    /// Gives it a finder, by which its sessions [find](Session::find_page) pages. The first one that it is given
    /// stays.
    pub fn finding_with(self, finder: Arc<dyn Finder>) -> Self {
        // Every clone shares it: one that has a finder keeps it.
        let _ = self.inner.finder.set(finder);
        self
    }

    /// Returns the storage behind it.
    pub fn storage(&self) -> &Arc<dyn PageStorage> {
        &self.inner.storage
    }

    /// Returns the clock that all its sessions use.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// Returns a session that exists, in the hands of a principal.
    pub async fn session(&self, session: &SessionId, principal: Principal) -> Result<Session> {
        Ok(self.open(session).await?.held_by(principal))
    }

    /// Returns a session that exists, opened now or before.
    pub async fn open(&self, session: &SessionId) -> Result<ContextSystem> {
        let Inner { storage, clock, settings, memory, finder } = &*self.inner;
        let slot = memory.slot(session);
        if let Some(system) = slot.system() {
            return Ok(system);
        }
        let _turn = slot.opening.lock().await;
        if let Some(system) = slot.system() {
            return Ok(system);
        }
        let (memory, storage, clock) = (memory.clone(), storage.clone(), clock.clone());
        let opened =
            ContextSystem::open_in(memory, storage, session.clone(), clock, *settings).await;
        let opened = opened.map(|system| system.finding_as(finder.get()));
        match &opened {
            Ok(system) => slot.put(system),
            // A name that was misspelt leaves nothing behind.
            Err(_) => self.close(session),
        }
        opened
    }

    /// Makes a session that begins with an edit, and opens it.
    pub async fn create(
        &self,
        session: &SessionId,
        app: &str,
        edit: &Edit,
    ) -> Result<ContextSystem> {
        let Inner { storage, clock, .. } = &*self.inner;
        // What was opened under this name before is another session.
        self.close(session);
        ContextSystem::make(&**storage, session, app, clock.now(), Some(edit)).await?;
        self.open(session).await
    }

    /// Removes a session with all it holds; tells whether it was there.
    pub async fn remove(&self, session: &SessionId) -> StorageResult<bool> {
        let removed = self.inner.storage.remove_session(session).await;
        self.close(session);
        removed
    }

    /// Forgets a session: it is opened again when it is next wanted. Those who hold it go on.
    pub fn close(&self, session: &SessionId) {
        self.inner.memory.close(session);
    }

    /// Returns what it holds in memory.
    pub fn usage(&self) -> EngineUsage {
        EngineUsage { sessions: self.inner.memory.sessions(), bytes: self.inner.memory.used() }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Sessions know the budget, and the budget knows them.
        self.memory.close_all();
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("memory", &self.memory.used()).finish_non_exhaustive()
    }
}
