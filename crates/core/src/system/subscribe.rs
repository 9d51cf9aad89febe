//! Subscribing: a stream of what this process takes in, own edits and others', in order of revision.
//!
//! Handing on never waits. Each subscriber has a queue with a bound; one that does not read fast enough
//! loses what comes beyond it, is told so once, and can read what it missed from the storage
//! ([`PageStorage::changes`](crate::PageStorage::changes)).

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use futures::{Stream, future::BoxFuture};

use super::ContextSystem;
use crate::{FeedEntry, Revision, storage::StorageResult};

/// How many edits wait for a subscriber, and how many things they name together.
const MOST_WAITING: usize = 1_024;
const MOST_NAMED: usize = 65_536;

/// What a subscriber gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedEvent {
    /// An edit was taken in: readers of this context system see it.
    Change(Arc<FeedEntry>),
    /// Edits were taken in that are not in the stream: the subscriber was too slow, or this process had
    /// to catch up over many at once.
    Lagged {
        /// The last of them. What follows begins behind it. Where it is smaller than the last one that
        /// came, the session was taken back to it, by a backup or a checkout.
        upto: Revision,
    },
}

/// What this process takes in, from when it subscribed on.
///
/// Reading it also follows the edits of other processes ([`ContextSystem::follow`]). It ends when the
/// session is removed.
pub struct Subscription {
    queue: Arc<Queue>,
    since: Revision,
    following: Option<BoxFuture<'static, StorageResult<()>>>,
    ended: bool,
}

impl Subscription {
    /// Returns the revision it begins behind: everything up to it was taken in before.
    pub fn since(&self) -> Revision {
        self.since
    }

    /// Wakes its reader only once so many edits wait, or some were lost. For readers that gain nothing by being fast:
    /// waking one at every edit is most of what it costs.
    pub fn waking_at(self, edits: usize) -> Self {
        self.queue.lock().wakes_at = edits.min(MOST_WAITING);
        self
    }
}

impl ContextSystem {
    /// Subscribes to what this process takes in, own edits and others', in order of revision.
    pub fn subscribe(&self) -> Subscription {
        let queue = Arc::new(Queue::default());
        // Held while it joins, so that it gets everything behind the revision it begins at.
        let seen = self.revisions();
        let since = seen.upto();
        self.inner.subscribers.join(&queue);
        drop(seen);
        let system = self.clone();
        let following = async move { system.follow().await };
        Subscription { queue, since, following: Some(Box::pin(following)), ended: false }
    }
}

impl Stream for Subscription {
    type Item = FeedEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<FeedEvent>> {
        let this = &mut *self;
        if let Some(event) = this.queue.next(context) {
            return Poll::Ready(Some(event));
        }
        if let Some(following) = &mut this.following
            && let Poll::Ready(followed) = following.as_mut().poll(context)
        {
            this.following = None;
            this.ended = followed.is_err();
        }
        // What was just followed.
        match this.queue.next(context) {
            Some(event) => Poll::Ready(Some(event)),
            None if this.ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("since", &self.since).finish_non_exhaustive()
    }
}

/// Those who subscribed to a context system.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    /// Whether there may be any, so that nothing is made for nobody.
    any: AtomicBool,
    queues: Mutex<Vec<Weak<Queue>>>,
}

impl Subscribers {
    fn join(&self, queue: &Arc<Queue>) {
        let mut queues = self.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
        self.any.store(true, Ordering::Release);
    }

    /// Tells whether anybody may be listening.
    pub(super) fn are_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Hands on what a revision brought; none where that is not known. They are woken by
    /// [`wake`](Self::wake), when no lock is held any more.
    pub(super) fn hand(&self, revision: Revision, entry: Option<Arc<FeedEntry>>) {
        if !self.are_any() {
            return;
        }
        let mut queues = self.lock();
        queues.retain(|queue| match queue.upgrade() {
            Some(queue) => {
                queue.push(revision, entry.clone());
                true
            }
            None => false,
        });
        self.any.store(!queues.is_empty(), Ordering::Release);
    }

    /// Wakes those for whom something waits.
    pub(super) fn wake(&self) {
        if !self.are_any() {
            return;
        }
        let queues: Vec<Arc<Queue>> = self.lock().iter().filter_map(Weak::upgrade).collect();
        queues.iter().filter_map(|queue| queue.sleeper()).for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        // A list of queues cannot be left half changed.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What waits for one subscriber.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: VecDeque<Arc<FeedEntry>>,
    /// How many things they name.
    named: usize,
    /// Up to where edits were lost behind them.
    missed: Option<Revision>,
    /// How many edits must wait before the reader is woken.
    wakes_at: usize,
    waker: Option<Waker>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, revision: Revision, entry: Option<Arc<FeedEntry>>) {
        let mut waiting = self.lock();
        let room = |entry: &Arc<FeedEntry>| {
            waiting.missed.is_none()
                && waiting.entries.len() < MOST_WAITING
                && waiting.named + entry.weight() <= MOST_NAMED
        };
        match entry.filter(room) {
            Some(entry) => {
                waiting.named += entry.weight();
                waiting.entries.push_back(entry);
            }
            None => waiting.missed = Some(revision),
        }
    }

    /// Returns what comes next; where nothing does, whoever asked is woken when something comes.
    fn next(&self, context: &Context<'_>) -> Option<FeedEvent> {
        let mut waiting = self.lock();
        if let Some(entry) = waiting.entries.pop_front() {
            waiting.named -= entry.weight();
            return Some(FeedEvent::Change(entry));
        }
        let missed = waiting.missed.take().map(|upto| FeedEvent::Lagged { upto });
        if missed.is_none() {
            waiting.waker = Some(context.waker().clone());
        }
        missed
    }

    fn sleeper(&self) -> Option<Waker> {
        let mut waiting = self.lock();
        let enough = waiting.entries.len() >= waiting.wakes_at.max(1);
        let waits = enough || waiting.missed.is_some();
        waiting.waker.take_if(|_| waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Operation, PageIndex, Timestamp, storage::ViewId};

    /// An edit that takes so many pages away.
    fn edit(revision: u64, pages: usize) -> Arc<FeedEntry> {
        let page: PageIndex = "usr-1".parse().expect("an index");
        Arc::new(FeedEntry {
            revision: Revision(revision),
            at: Timestamp::from_millis(0),
            actor: Actor::System,
            view: ViewId::SYSTEM,
            operation: Operation::Batch,
            undoes: None,
            put: Vec::new(),
            gone: vec![page; pages],
            purged: Vec::new(),
            segments: Vec::new(),
            levels: Vec::new(),
            focus: Vec::new(),
            custom: Vec::new(),
        })
    }

    #[test]
    fn what_waits_is_bounded_by_what_it_names() {
        let (subscribers, queue) = (Subscribers::default(), Arc::new(Queue::default()));
        subscribers.join(&queue);
        for revision in 1..=9 {
            subscribers.hand(Revision(revision), Some(edit(revision, 9_000)));
        }
        // A small one does not overtake what was lost.
        subscribers.hand(Revision(10), Some(edit(10, 1)));
        let waker = futures::task::noop_waker();
        let context = Context::from_waker(&waker);
        let events: Vec<FeedEvent> = std::iter::from_fn(|| queue.next(&context)).collect();
        assert_eq!(events.len(), 8, "seven fit, the rest is one word");
        assert_eq!(events[7], FeedEvent::Lagged { upto: Revision(10) });
        subscribers.hand(Revision(11), Some(edit(11, 9_000)));
        assert_eq!(queue.next(&context), Some(FeedEvent::Change(edit(11, 9_000))));
        drop(queue);
        subscribers.hand(Revision(12), None);
        assert!(!subscribers.are_any());
    }

    #[test]
    fn a_patient_reader_sleeps_until_enough_waits_or_some_are_lost() {
        let (subscribers, queue) = (Subscribers::default(), Arc::new(Queue::default()));
        subscribers.join(&queue);
        queue.lock().wakes_at = 3;
        let (waker, woken) = counting_waker();
        let context = Context::from_waker(&waker);
        assert_eq!(queue.next(&context), None);
        for revision in 1..=3 {
            assert_eq!(woken.load(Ordering::Relaxed), 0, "before edit {revision}");
            subscribers.hand(Revision(revision), Some(edit(revision, 1)));
            subscribers.wake();
        }
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        let events: Vec<FeedEvent> = std::iter::from_fn(|| queue.next(&context)).collect();
        assert_eq!(events.len(), 3);
        subscribers.hand(Revision(4), None);
        subscribers.wake();
        assert_eq!(woken.load(Ordering::Relaxed), 2, "what was lost is said at once");
    }

    /// Returns a waker, and how often it was used.
    fn counting_waker() -> (Waker, Arc<std::sync::atomic::AtomicUsize>) {
        struct Counter(Arc<std::sync::atomic::AtomicUsize>);
        impl std::task::Wake for Counter {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let woken = Arc::default();
        (Waker::from(Arc::new(Counter(Arc::clone(&woken)))), woken)
    }
}
