//! The context system: load → decide → commit → publish, for one session.
//!
//! It keeps recently used pages resident (`resident`), loads what a decision needs (`load_mentioned`),
//! and answers questions for a view (`reader`). Callers reach it through a [`Session`]: a context system
//! that a principal holds ([`held_by`](ContextSystem::held_by)).

mod bounded;
mod branch;
mod change_counts;
mod custom_cache;
mod derived_cache;
mod evict;
mod filtered;
mod lists;
mod load;
pub(crate) mod memory;
mod outline;
mod publish;
mod reader;
mod refresh;
mod resident;
mod revisions;
mod runs;
mod seed;
mod single_flight;
mod subscribe;
mod switch;
mod switchable_storage;
mod turns;
mod window;

use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use futures::lock::Mutex;

pub use branch::{Branch, BranchParent};
pub(crate) use load::CONTENTS;
pub use reader::{
    AdmittedMessage, AdmittedMessages, AdmittedPage, ListQuery, Listing, PageView, Reader,
    SeenChange,
};
pub use resident::{ResidentLimits, ResidentUsage};
pub use subscribe::{FeedEvent, Subscription};
pub use turns::{FoldedTurn, TurnLimits, TurnLine};
pub(crate) use window::Purpose;
pub use window::{FoldOutcome, Pressed};

use crate::{
    Actor, Clock, Edit, Error, Finder, PageIndex, PageStorage, Principal, Result, Revision,
    Segment, Session, SessionId, Timestamp,
    decide::{EditRequest, Halt, Known, decide},
    storage::{
        BranchPoint, Change, Commit, EditLimits, Mark, NewSession, RunPut, Segments, SessionInfo,
        StorageError, ViewId,
    },
};
use change_counts::ChangeCounts;
use derived_cache::DerivedCache;
use lists::Lists;
use memory::Memory;
use refresh::Looks;
use resident::Resident;
use revisions::KnownRevisions;
use single_flight::SharedLoads;
use subscribe::Subscribers;
use switchable_storage::{SwitchableStorage, WriteGuard};

/// How often a lost race is tried again before the caller is told.
const ATTEMPTS: u32 = 64;

/// How many edits of one session may wait side by side, each for what it touches.
const LANES: usize = 64;

/// One session's segments, pages, history and level states. Cheap to clone; usable from many threads.
#[derive(Clone)]
pub struct ContextSystem {
    inner: Arc<Inner>,
}

struct Inner {
    /// Holds the storage: read it with [`ContextSystem::storage`], write with `writing`.
    switchable: SwitchableStorage,
    session: SessionId,
    app: String,
    /// In milliseconds: a document that fills the session brings its own.
    created_at: AtomicI64,
    mark: Mark,
    clock: Arc<dyn Clock>,
    settings: SystemSettings,
    memory: Arc<Memory>,
    /// When it was last used, in uses of all sessions that share its memory.
    used: AtomicU64,
    /// Where it branched off, where it is a branch.
    branch: std::sync::OnceLock<BranchPoint>,
    /// Who finds pages by what they say, where somebody does.
    finder: std::sync::OnceLock<Arc<dyn Finder>>,
    /// Whether the session was found removed.
    gone: AtomicBool,
    resident: Resident,
    loads: SharedLoads,
    lists: Lists,
    derived: DerivedCache,
    frozen: window::FrozenContexts,
    custom: custom_cache::CustomCache,
    newest_windows: window::NewestWindows,
    moves: ChangeCounts,
    revisions: std::sync::Mutex<KnownRevisions>,
    subscribers: Subscribers,
    looks: Looks,
    /// Whether the answer to a commit was lost, so that it may have been made or not.
    unsure: AtomicBool,
    /// Edits that read before they write queue here briefly, by what they touch, so that a hot
    /// session does not become a storm of retries. Appends never wait.
    lanes: Vec<Mutex<()>>,
    /// Which lists of segments were read again.
    reloads: std::sync::Mutex<publish::Reloads>,
    /// Held while the storage is switched.
    switching: Mutex<()>,
}

/// What can be set of a context system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemSettings {
    /// What is too large.
    pub limits: EditLimits,
    /// How much stays in memory.
    pub resident: ResidentLimits,
}

/// What an edit did.
#[derive(Debug, Clone)]
pub struct EditOutcome {
    /// The number of the state after it.
    pub revision: Revision,
    /// The pages made or acted on, in order.
    pub pages: Vec<PageIndex>,
    /// Pages that got a new index, old to new.
    pub moved: Vec<(PageIndex, PageIndex)>,
    /// The edit it took back, when it was an undo.
    pub undone: Option<Revision>,
}

impl ContextSystem {
    /// Opens a session that exists.
    pub async fn open(
        storage: Arc<dyn PageStorage>,
        session: SessionId,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Self::open_with(storage, session, clock, SystemSettings::default()).await
    }

    /// Opens a session that exists, with settings.
    pub async fn open_with(
        storage: Arc<dyn PageStorage>,
        session: SessionId,
        clock: Arc<dyn Clock>,
        settings: SystemSettings,
    ) -> Result<Self> {
        Self::open_in(Memory::unbounded(), storage, session, clock, settings).await
    }

    /// Opens a session whose caches count in a budget.
    pub(crate) async fn open_in(
        memory: Arc<Memory>,
        storage: Arc<dyn PageStorage>,
        session: SessionId,
        clock: Arc<dyn Clock>,
        settings: SystemSettings,
    ) -> Result<Self> {
        let info = storage.session(&session).await?;
        let info = info.ok_or_else(|| Error::SessionNotFound { session: session.clone() })?;
        let segments = Segments::new(storage.segments(&session).await?);
        let inner = Inner {
            switchable: SwitchableStorage::new(storage),
            session,
            app: info.app,
            created_at: AtomicI64::new(info.created_at.as_millis()),
            mark: info.mark,
            clock,
            settings,
            resident: Resident::new(settings.resident, segments, &memory),
            loads: SharedLoads::default(),
            lists: Lists::new(&memory),
            derived: DerivedCache::new(&memory),
            frozen: window::FrozenContexts::new(&memory),
            custom: custom_cache::CustomCache::default(),
            newest_windows: window::NewestWindows::new(&memory),
            used: AtomicU64::new(0),
            branch: std::sync::OnceLock::new(),
            finder: std::sync::OnceLock::new(),
            gone: AtomicBool::new(false),
            memory,
            moves: ChangeCounts::default(),
            revisions: std::sync::Mutex::new(KnownRevisions::at(info.revision)),
            subscribers: Subscribers::default(),
            looks: Looks::default(),
            unsure: AtomicBool::new(false),
            lanes: (0..LANES).map(|_| Mutex::new(())).collect(),
            reloads: Default::default(),
            switching: Mutex::new(()),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes a session and opens it.
    pub async fn create(
        storage: Arc<dyn PageStorage>,
        session: SessionId,
        app: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Self::make(&*storage, &session, app, clock.now(), None).await?;
        Self::open(storage, session, clock).await
    }

    /// Makes a session that begins with an edit, or nothing at all, and opens it.
    pub async fn create_with(
        storage: Arc<dyn PageStorage>,
        session: SessionId,
        app: &str,
        clock: Arc<dyn Clock>,
        edit: &Edit,
    ) -> Result<Self> {
        Self::make(&*storage, &session, app, clock.now(), Some(edit)).await?;
        Self::open(storage, session, clock).await
    }

    /// Makes a session, with the edit it begins with.
    pub(crate) async fn make(
        storage: &dyn PageStorage,
        session: &SessionId,
        app: &str,
        at: Timestamp,
        edit: Option<&Edit>,
    ) -> Result<()> {
        let change = edit.map(|edit| first_change(edit, at)).transpose()?;
        let create = Some(NewSession { app: app.to_owned(), at, mark: None });
        storage.commit(session, Commit { create, change }).await?;
        Ok(())
    }

    /// Returns the session as it stands now, to be read in many steps that all see one state.
    pub async fn snapshot(&self) -> Result<Self> {
        let storage = self.storage().snapshot().await?;
        let (session, clock) = (self.inner.session.clone(), self.inner.clock.clone());
        let (memory, settings) = (self.inner.memory.clone(), self.inner.settings);
        let snapshot = Self::open_in(memory, storage, session, clock, settings).await?;
        Ok(snapshot.finding_as(self.finder()))
    }

    /// Gives it a finder, by which [`find_page`](Session::find_page) finds. The first one that it is given stays.
    pub fn finding_with(self, finder: Arc<dyn Finder>) -> Self {
        self.finding_as(Some(&finder))
    }

    /// Gives it the finder of an engine or of another system, if that has one.
    pub(crate) fn finding_as(self, finder: Option<&Arc<dyn Finder>>) -> Self {
        if let Some(finder) = finder {
            // Every clone shares it: one that has a finder keeps it.
            let _ = self.inner.finder.set(finder.clone());
        }
        self
    }

    /// Returns who finds pages by what they say, where somebody does.
    pub(crate) fn finder(&self) -> Option<&Arc<dyn Finder>> {
        self.inner.finder.get()
    }

    /// Tells whether the session was found removed since it was opened.
    pub(crate) fn is_gone(&self) -> bool {
        self.inner.gone.load(Ordering::Relaxed)
    }

    /// Returns the session's name.
    pub fn session(&self) -> &SessionId {
        &self.inner.session
    }

    /// Returns the application the session belongs to.
    pub fn app(&self) -> &str {
        &self.inner.app
    }

    /// Returns when the session was made.
    pub fn created_at(&self) -> Timestamp {
        Timestamp::from_millis(self.inner.created_at.load(Ordering::Relaxed))
    }

    /// Returns the mark of the engine's own lines.
    pub fn mark(&self) -> &Mark {
        &self.inner.mark
    }

    /// Returns the edit that last changed a segment's pages.
    fn touched(&self, segment: &Segment) -> Revision {
        self.inner.resident.touched(segment)
    }

    /// Returns the storage behind it (the seed's GetStorage).
    pub fn storage(&self) -> Arc<dyn PageStorage> {
        self.inner.switchable.storage()
    }

    /// Returns the storage to write to; it is not switched before the write is done.
    async fn writing(&self) -> WriteGuard<'_> {
        self.inner.switchable.begin_write().await
    }

    /// Returns the time from its clock.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// Reads the session's head.
    pub async fn info(&self) -> Result<SessionInfo> {
        let info = self.storage().session(&self.inner.session).await?;
        info.ok_or_else(|| Error::SessionNotFound { session: self.inner.session.clone() })
    }

    /// Returns the segments, removed ones included.
    pub fn segments(&self) -> Arc<Segments> {
        self.inner.resident.segments()
    }

    /// Returns a segment with its counter as it stands now.
    pub fn with_counter(&self, segment: &Segment) -> Segment {
        self.inner.resident.with_counter(segment)
    }

    /// Puts it into the hands of a principal. Whose hands these are is for the host to know: a session
    /// of the system side or of a user checks nothing.
    pub fn held_by(&self, principal: Principal) -> Session {
        Session::new(self.clone(), principal)
    }

    /// Puts it into the hands of the system side: everything is seen, nothing is checked.
    pub fn as_system(&self) -> Session {
        self.held_by(Principal::System)
    }

    /// Answers questions for the system side: everything is seen.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader::of(self, &Principal::System)
    }

    /// Makes an edit and moves run records on with it, all or nothing.
    pub(crate) async fn apply(
        &self,
        edit: &Edit,
        by: &Principal,
        runs: &[RunPut],
    ) -> Result<EditOutcome> {
        let _turn = match lane(edit) {
            Some(lane) => Some(self.inner.lanes[lane].lock().await),
            None => None,
        };
        let mut subject = String::new();
        for _ in 0..ATTEMPTS {
            let request = EditRequest {
                view: by.view_id(),
                actor: by.actor(),
                at: self.now(),
                guard: by.view(),
                limits: self.inner.settings.limits,
            };
            let mut known = self.load_mentioned(edit).await?;
            let mut change = self.decide(edit, &request, &mut known).await?;
            self.refuse_unfinished(edit, runs).await?;
            change.runs = runs.to_vec();
            match self.commit(change).await {
                Ok(outcome) => return Ok(outcome),
                Err(StorageError::Conflict { subject: moved }) => {
                    subject = moved;
                    self.forget(&known).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::TooManyRaces { attempts: ATTEMPTS, subject })
    }

    async fn decide(
        &self,
        edit: &Edit,
        request: &EditRequest<'_>,
        known: &mut Known,
    ) -> Result<Change> {
        let mut fresh = !self.storage().capabilities().shared;
        loop {
            match decide(edit, request, known) {
                Ok(change) => return Ok(change),
                Err(Halt::Need(need)) => self.load(known, need).await?,
                // Another process may have changed what the refusal rests on.
                Err(Halt::Refused(_)) if !fresh && self.refresh().await? => {
                    fresh = true;
                    *known = self.load_mentioned(edit).await?;
                }
                Err(Halt::Refused(error)) => {
                    tracing::info!(
                        session = %self.inner.session,
                        actor = %request.actor,
                        operation = %edit.operation(),
                        kind = %error.kind(),
                        "refused: {error}"
                    );
                    return Err(error);
                }
            }
        }
    }

    async fn commit(&self, change: Change) -> Result<EditOutcome, StorageError> {
        let writing = self.writing().await;
        let pending = self.begin_commit();
        let commit = Commit { create: None, change: Some(change) };
        let committed = match writing.commit(&self.inner.session, commit).await {
            Ok(committed) => committed,
            Err(error) => {
                pending.failed(&error);
                // Only this one may have stood before a gap that is others'.
                if let Err(error) = self.close_gap().await {
                    tracing::warn!(session = %self.inner.session, "cannot follow changes by others: {error}");
                }
                return Err(error);
            }
        };
        let change = committed.change.as_ref();
        let outcome = EditOutcome {
            revision: committed.revision,
            pages: change.map(|change| change.subjects.clone()).unwrap_or_default(),
            moved: change.map(|change| change.moved.clone()).unwrap_or_default(),
            undone: change.and_then(|change| change.undoes),
        };
        self.publish(committed, pending).await;
        self.used();
        Ok(outcome)
    }
}

/// Decides the edit that a session begins with.
fn first_change(edit: &Edit, at: Timestamp) -> Result<Change> {
    let (actor, view) = (Actor::System, ViewId::SYSTEM);
    let request = EditRequest { actor, view, at, guard: None, limits: EditLimits::default() };
    // A session that does not exist yet holds nothing: all that could be needed is known.
    let mut known = Known { views: Some(Vec::new()), ..Known::default() };
    loop {
        match decide(edit, &request, &known) {
            Ok(change) => return Ok(change),
            Err(Halt::Refused(error)) => return Err(error),
            Err(Halt::Need(need)) => load::assume_empty(&mut known, need),
        }
    }
}

/// Returns the lane an edit waits in; none for appends, which never conflict with each other.
fn lane(edit: &Edit) -> Option<usize> {
    let hash = |what: &dyn std::fmt::Display| {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        usize::try_from(hasher.hash_one(what.to_string()) % LANES as u64).unwrap_or(0)
    };
    match edit {
        Edit::CreateDetailPage(_) | Edit::AddTurn { .. } | Edit::PublishTurn { .. } => None,
        Edit::AddSegment(new) => Some(hash(&new.id)),
        Edit::UpdateSegment(update) => Some(hash(&update.segment)),
        Edit::RemoveSegment { segment, .. }
        | Edit::SetPermission { segment, .. }
        | Edit::ExtendTurn { segment, .. }
        | Edit::OpenExchange { segment, .. }
        | Edit::AddResults { segment, .. }
        | Edit::CloseExchange { segment } => Some(hash(segment)),
        Edit::CreateContentsPage(new) => new.children.first().map(|child| hash(child)),
        Edit::UpdatePage(update) => Some(hash(&update.page)),
        Edit::ExpandDetails(page)
        | Edit::HideDetails(page)
        | Edit::PinPage(page)
        | Edit::UnpinPage(page)
        | Edit::FocusPage(page)
        | Edit::ArchivePage(page)
        | Edit::RemovePage(page)
        | Edit::PurgePage(page)
        | Edit::MovePage { page, .. }
        | Edit::RestorePage { page, .. } => Some(hash(page)),
        Edit::SetCustom { key, .. } | Edit::ExpectCustom { key, .. } => Some(hash(key)),
        Edit::FoldPages(_)
        | Edit::BranchView { .. }
        | Edit::SwitchLevel(_)
        | Edit::RecordRound { .. }
        | Edit::Undo { .. }
        | Edit::Load(_) => Some(0),
        Edit::Batch(edits) | Edit::Init(edits) | Edit::Import(edits) | Edit::Recall(edits) => {
            edits.iter().find_map(lane)
        }
    }
}

impl std::fmt::Debug for ContextSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContextSystem")
            .field("session", &self.inner.session)
            .finish_non_exhaustive()
    }
}
