//! Counts that a storage keeps, so that a process that counts nothing new loads no vocabulary.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use contexture_core::{
    PageStorage, TokenCounter, Tokens,
    storage::{CountKey, StorageError, StorageResult},
    window::line_count_key,
};

/// How many counts are handed to the storage at most: a window with a fold takes about a thousand.
const MOST: usize = 16_384;

/// Looks counts up in a storage before it counts.
///
/// For short-lived processes, such as a command that prints a window: loading a vocabulary would take
/// longer than everything else they do. The core looks up whole pages and lines by itself; this counter
/// also finds what is counted while a fold is planned or a large part is cut.
///
/// The first text that the storage does not know loads the vocabulary. From then on counting is cheaper
/// than asking, so the storage is asked no more. [`keep`](Self::keep) hands it what was counted.
///
/// Counting does not wait. A storage that cannot answer at once, such as one behind a network, is not
/// asked again and keeps nothing for this counter.
pub struct KeptCounter {
    counter: Arc<dyn TokenCounter>,
    storage: Arc<dyn PageStorage>,
    state: Mutex<State>,
}

/// What is known of the storage so far.
enum State {
    /// It knew every text.
    Known,
    /// It did not know one; what was counted since.
    Missed(HashMap<CountKey, Tokens>),
    /// It does not answer at once.
    Slow,
}

impl KeptCounter {
    /// Makes a counter over another and the storage that keeps its counts.
    pub fn new(counter: Arc<dyn TokenCounter>, storage: Arc<dyn PageStorage>) -> Self {
        Self { counter, storage, state: Mutex::new(State::Known) }
    }

    /// Hands the storage what was counted since it was last called.
    pub async fn keep(&self) -> StorageResult<()> {
        let made: Vec<(CountKey, Tokens)> = match &mut *self.state() {
            State::Missed(made) => made.drain().collect(),
            State::Known | State::Slow => return Ok(()),
        };
        match self.storage.keep_counts(&made).await {
            // Counts can be made again: where they cannot be kept, that is no reason to fail.
            Err(StorageError::ReadOnly { .. } | StorageError::Unavailable { .. }) => Ok(()),
            kept => kept,
        }
    }

    /// Asks the storage for a count; it is pending where the storage does not answer at once.
    fn stored(&self, key: CountKey) -> Poll<Option<Tokens>> {
        let keys = [key];
        let counts = pin!(self.storage.counts(&keys));
        let answer = counts.poll(&mut Context::from_waker(Waker::noop()));
        // What cannot be read is counted again.
        answer.map(|counts| counts.ok().and_then(|counts| counts.first().copied().flatten()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What can be counted again cannot be left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenCounter for KeptCounter {
    fn name(&self) -> &str {
        self.counter.name()
    }

    fn count(&self, text: &str) -> Tokens {
        let key = line_count_key(self.name(), text);
        let mut state = self.state();
        if let State::Known = *state {
            match self.stored(key) {
                Poll::Ready(Some(tokens)) => return tokens,
                Poll::Ready(None) => *state = State::Missed(HashMap::new()),
                Poll::Pending => *state = State::Slow,
            }
        }
        let tokens = self.counter.count(text);
        if let State::Missed(made) = &mut *state
            && made.len() < MOST
        {
            made.insert(key, tokens);
        }
        tokens
    }

    fn is_exact(&self) -> bool {
        self.counter.is_exact()
    }
}
