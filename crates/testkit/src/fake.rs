//! Storages that watch or hold back: they wrap a real one.

mod storage;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use contexture_core::{
    PageIndex, PageStorage, SegmentId,
    storage::{Hint, HintSender, ImportPart, StorageError, StorageResult},
};
use futures::channel::oneshot;

/// Wraps a storage; counts what is asked of it, holds back or fails reads and commits when told to.
pub struct WatchedStorage {
    inner: Arc<dyn PageStorage>,
    /// Whether it says that several processes may use it, whatever the one behind it says.
    is_shared: AtomicBool,
    /// Those who wait for hints, if the test gives them.
    watched: Mutex<Option<Vec<HintSender>>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// How often each method was called, however much was asked for.
    calls: Mutex<BTreeMap<&'static str, u64>>,
    /// How often each page was asked for by its index.
    page_counts: Mutex<BTreeMap<PageIndex, u64>>,
    /// The next read by this method is answered only when this fires.
    held_read: Mutex<Option<(&'static str, oneshot::Receiver<()>)>>,
    fails_reads: AtomicBool,
    fails_heads: AtomicBool,
    imported: Mutex<Vec<ImportPart>>,
    /// The next commit is acknowledged only when this fires.
    held: Mutex<Option<oneshot::Receiver<()>>>,
    fails: AtomicBool,
    /// Whether contents are not found, in snapshots too.
    loses_contents: AtomicBool,
    /// The pages and segments that are not found any more, and where.
    lost: Mutex<Vec<Lost>>,
    /// How many writes are left before the process counts as dead.
    writes_left: AtomicI64,
    /// Whether the last write is still made, though nobody hears of it.
    last_is_made: AtomicBool,
}

/// How a process dies at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// Before the write is made.
    Before,
    /// After it was made and before anybody heard of it.
    After,
}

/// What a damaged storage does not find any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// A page, wherever it is looked for.
    Page(PageIndex),
    /// A page in the lists of its directory; it is still found by its index.
    Listing(PageIndex),
    /// A segment. Its pages are still found.
    Segment(SegmentId),
    /// All that history says of a page.
    Edits(PageIndex),
}

impl WatchedStorage {
    /// Wraps a storage.
    pub fn new(inner: Arc<dyn PageStorage>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            is_shared: AtomicBool::new(false),
            watched: Mutex::default(),
            counts: Mutex::default(),
            calls: Mutex::default(),
            page_counts: Mutex::default(),
            held_read: Mutex::default(),
            fails_reads: AtomicBool::new(false),
            fails_heads: AtomicBool::new(false),
            imported: Mutex::default(),
            held: Mutex::default(),
            fails: AtomicBool::new(false),
            loses_contents: AtomicBool::new(false),
            lost: Mutex::default(),
            writes_left: AtomicI64::new(i64::MAX),
            last_is_made: AtomicBool::new(false),
        })
    }

    /// Wraps a storage that several context systems use as if each were a process of its own.
    pub fn shared(inner: Arc<dyn PageStorage>) -> Arc<Self> {
        let storage = Self::new(inner);
        storage.is_shared.store(true, Ordering::Relaxed);
        storage
    }

    /// Gives hints to those who watch a session from now on, in place of the storage behind it.
    pub fn give_hints(&self) {
        *lock(&self.watched) = Some(Vec::new());
    }

    /// Gives those who watch a hint; returns how many there are.
    pub fn hint(&self, hint: Hint) -> usize {
        let mut watched = lock(&self.watched);
        let watched = watched.get_or_insert_default();
        watched.retain(|sender| sender.send(hint));
        watched.len()
    }

    /// Returns how often a method was called since the last reset; for `pages`, `contents`, `levels`,
    /// `counts` and `keep_counts`, how many were asked for. `run_bytes` counts what run records took.
    pub fn count(&self, method: &str) -> u64 {
        lock(&self.counts).get(method).copied().unwrap_or(0)
    }

    /// Returns how often a method was called since the last reset, however much it was asked for.
    pub fn calls(&self, method: &str) -> u64 {
        lock(&self.calls).get(method).copied().unwrap_or(0)
    }

    /// Returns how often a page was asked for by its index since the last reset.
    pub fn count_of(&self, page: &PageIndex) -> u64 {
        lock(&self.page_counts).get(page).copied().unwrap_or(0)
    }

    /// Returns the parts of sessions that were to be taken over, in order.
    pub fn imported(&self) -> Vec<ImportPart> {
        lock(&self.imported).clone()
    }

    /// Begins to count anew.
    pub fn reset(&self) {
        lock(&self.counts).clear();
        lock(&self.calls).clear();
        lock(&self.page_counts).clear();
    }

    /// Holds back the answer to the next read by a method, `session`, `pages`, `contents` or `levels`, until the
    /// sender fires. What it answers is read at once.
    pub fn hold_next_read(&self, method: &'static str) -> oneshot::Sender<()> {
        let (sender, receiver) = oneshot::channel();
        *lock(&self.held_read) = Some((method, receiver));
        sender
    }

    /// Lets every read of pages, contents and levels fail from now on, or none.
    pub fn fail_reads(&self, fail: bool) {
        self.fails_reads.store(fail, Ordering::Relaxed);
    }

    /// Lets every read of a session's head fail from now on, or none.
    pub fn fail_heads(&self, fail: bool) {
        self.fails_heads.store(fail, Ordering::Relaxed);
    }

    async fn wait_if_held(&self, method: &'static str) {
        let held = lock(&self.held_read).take_if(|(held, _)| *held == method);
        if let Some((_, held)) = held {
            held.await.ok();
        }
    }

    /// Hands out the answer to a read: at once, later, or not at all.
    async fn answer<T>(&self, method: &'static str, answer: StorageResult<T>) -> StorageResult<T> {
        self.wait_if_held(method).await;
        if self.fails_reads.load(Ordering::Relaxed) { Err(told_to_fail()) } else { answer }
    }

    /// Holds back the answer to the next commit, which is made at once, until the sender fires.
    pub fn hold_next_commit(&self) -> oneshot::Sender<()> {
        let (sender, receiver) = oneshot::channel();
        *lock(&self.held) = Some(receiver);
        sender
    }

    /// Lets every commit fail from now on, or none.
    pub fn fail_commits(&self, fail: bool) {
        self.fails.store(fail, Ordering::Relaxed);
    }

    /// Lets no content be found from now on, as if all were lost.
    pub fn lose_contents(&self) {
        self.loses_contents.store(true, Ordering::Relaxed);
    }

    /// Loses something from now on, as a damaged storage does: it is not found, and nobody says so.
    pub fn lose(&self, lost: Lost) {
        lock(&self.lost).push(lost);
    }

    fn has_lost(&self, lost: &Lost) -> bool {
        lock(&self.lost).contains(lost)
    }

    /// Lets the process die at its `number`-th write from now, counted from 1: that write and all
    /// that is asked afterwards fail, as seen from the process.
    pub fn die_at_write(&self, number: u32, death: Death) {
        self.last_is_made.store(death == Death::After, Ordering::Relaxed);
        self.writes_left.store(i64::from(number), Ordering::Relaxed);
    }

    /// Tells whether the process has died.
    pub fn is_dead(&self) -> bool {
        self.writes_left.load(Ordering::Relaxed) <= 0
    }

    /// Counts a write; tells whether it is to be made and whether it is to be acknowledged.
    fn write(&self) -> (bool, bool) {
        match self.writes_left.fetch_sub(1, Ordering::Relaxed) {
            2.. => (true, true),
            1 => (self.last_is_made.load(Ordering::Relaxed), false),
            _ => (false, false),
        }
    }

    fn tally(&self, method: &'static str, by: usize) {
        *lock(&self.counts).entry(method).or_default() += by as u64;
        *lock(&self.calls).entry(method).or_default() += 1;
    }
}

fn dead() -> StorageError {
    let (what, reason) = ("the fake".to_owned(), "the process is dead".to_owned());
    StorageError::Unavailable { what, reason }
}

fn told_to_fail() -> StorageError {
    let (what, reason) = ("the fake".to_owned(), "it was told to fail".to_owned());
    StorageError::Unavailable { what, reason }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
