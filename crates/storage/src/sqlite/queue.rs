//! The queue before the writer: it is woken once for as many jobs as it hopes for, not for each.

use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Jobs that wait. Once closed it takes no more, and drops what nobody will do.
pub(crate) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    /// How many jobs wait; more than any number once closed.
    waiting: AtomicUsize,
    enough: Condvar,
}

struct QueueState<T> {
    jobs: VecDeque<T>,
    /// How many the writer hopes for.
    wanted: usize,
    closed: bool,
}

impl<T> std::fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({} waiting)", self.len())
    }
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        let state = QueueState { jobs: VecDeque::new(), wanted: 1, closed: false };
        Self { state: Mutex::new(state), waiting: AtomicUsize::new(0), enough: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job; one that comes too late is dropped.
    pub(crate) fn push(&self, job: T) {
        let mut state = self.lock();
        if !state.closed {
            state.jobs.push_back(job);
            self.waiting.store(state.jobs.len(), Ordering::Relaxed);
        }
        if state.jobs.len() >= state.wanted {
            self.enough.notify_one();
        }
    }

    /// Tells how many jobs wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Lets no more jobs in; those that wait are still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.waiting.store(usize::MAX, Ordering::Relaxed);
        self.enough.notify_one();
    }

    /// Drops the jobs that wait, because nobody is left to do them.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        drop(jobs);
    }

    /// Waits for jobs and takes all there are. Takes none when the queue is closed and empty.
    pub(crate) fn take(&self) -> VecDeque<T> {
        self.take_when(1, None)
    }

    /// Takes all there are once there are `wanted`, or at the deadline; perhaps none.
    pub(crate) fn take_when(&self, wanted: usize, deadline: Option<Instant>) -> VecDeque<T> {
        self.watch(wanted, deadline);
        let mut state = self.lock();
        state.wanted = wanted;
        while state.jobs.len() < wanted && !state.closed {
            let Some(deadline) = deadline else {
                state = self.enough.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            let waited = self.enough.wait_timeout(state, rest);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        // While the writer is busy nobody need wake it.
        state.wanted = usize::MAX;
        if !state.closed {
            self.waiting.store(0, Ordering::Relaxed);
        }
        std::mem::take(&mut state.jobs)
    }

    /// Looks out for jobs for a moment before sleeping: who writes once mostly writes again, and
    /// waking up takes as long as a small commit.
    fn watch(&self, wanted: usize, deadline: Option<Instant>) {
        let end = Instant::now() + Self::WATCH;
        let end = deadline.map_or(end, |deadline| deadline.min(end));
        while self.waiting.load(Ordering::Relaxed) < wanted && Instant::now() < end {
            std::thread::yield_now();
        }
    }

    const WATCH: Duration = Duration::from_micros(100);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Option<Instant> {
        Some(Instant::now() + Duration::from_millis(1))
    }

    fn late() -> Option<Instant> {
        Some(Instant::now() + Duration::from_secs(600))
    }

    #[test]
    fn what_waits_is_taken_at_once_and_in_order() {
        let queue = Queue::new();
        (0..5).for_each(|job| queue.push(job));
        assert_eq!(queue.len(), 5);
        assert_eq!(queue.take(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn waiting_for_more_ends() {
        let queue = Queue::new();
        queue.push(7);
        assert_eq!(queue.take_when(100, soon()), [7]);
        assert!(queue.take_when(100, soon()).is_empty());
    }

    #[test]
    fn a_closed_queue_gives_what_it_has_and_takes_no_more() {
        let queue = Queue::new();
        queue.push(1);
        queue.close();
        queue.push(2);
        assert_eq!(queue.take_when(9, late()), [1]);
        assert!(queue.take().is_empty());
    }

    #[test]
    fn the_writer_is_woken_by_as_many_as_it_wants() {
        let queue = Queue::new();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| queue.take_when(3, late()));
            (0..3).for_each(|job| queue.push(job));
            assert_eq!(taken.join().unwrap().len(), 3);
        });
    }

    #[test]
    fn what_is_abandoned_is_dropped() {
        let (queue, job) = (Queue::new(), std::sync::Arc::new(()));
        queue.push(job.clone());
        queue.abandon();
        queue.push(job.clone());
        assert_eq!(std::sync::Arc::strong_count(&job), 1);
    }
}
