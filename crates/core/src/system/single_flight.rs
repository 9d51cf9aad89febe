//! Loads under way, so that many who want one thing at a time read it once.
//!
//! Whoever waits for a load also drives it: when the one who began it goes away, any other carries
//! it on, and when all go it ends with them. There is no task behind it. An error reaches those who
//! waited for it and nobody else.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};

use super::resident::Stamp;
use crate::{
    Page, PageIndex,
    storage::{ChunkKey, Content, ContentHash, LevelChunk, StorageResult},
};

type Load<V> = BoxFuture<'static, StorageResult<V>>;

/// The loads of one kind of thing that are under way.
pub(super) struct SingleFlight<K, V: Clone> {
    under_way: Arc<Mutex<UnderWay<K, V>>>,
}

struct UnderWay<K, V: Clone> {
    loads: HashMap<K, Entry<V>>,
    begun: u64,
}

struct Entry<V: Clone> {
    number: u64,
    stamp: Stamp,
    /// Those who wait hold it, so that nothing is left of it without them.
    load: WeakShared<Load<V>>,
}

impl<K, V: Clone> Default for SingleFlight<K, V> {
    fn default() -> Self {
        let under_way = UnderWay { loads: HashMap::new(), begun: 0 };
        Self { under_way: Arc::new(Mutex::new(under_way)) }
    }
}

impl<K, V> SingleFlight<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Joins the load of a key that is under way, or begins it with `read`.
    ///
    /// One that began before something newer was published is not joined: whoever asks after an edit
    /// sees it. `known` looks once more whether the thing came in meanwhile.
    pub(super) async fn load<F>(
        &self,
        key: &K,
        stamp: Stamp,
        known: impl FnOnce() -> Option<V>,
        read: impl FnOnce() -> F,
    ) -> StorageResult<V>
    where
        F: Future<Output = StorageResult<V>> + Send + 'static,
    {
        match self.join(key, stamp, known, read) {
            Joined::Known(value) => Ok(value),
            Joined::Waiting(load) => load.await,
        }
    }

    fn join<F>(
        &self,
        key: &K,
        stamp: Stamp,
        known: impl FnOnce() -> Option<V>,
        read: impl FnOnce() -> F,
    ) -> Joined<V>
    where
        F: Future<Output = StorageResult<V>> + Send + 'static,
    {
        let mut under_way = lock(&self.under_way);
        let entry = under_way.loads.get(key).filter(|entry| entry.stamp >= stamp);
        if let Some(load) = entry.and_then(|entry| entry.load.upgrade()) {
            return Joined::Waiting(load);
        }
        // A load is kept before it leaves this list.
        if let Some(value) = known() {
            return Joined::Known(value);
        }
        under_way.begun += 1;
        let number = under_way.begun;
        let leave = Leave { under_way: self.under_way.clone(), key: key.clone(), number };
        let read = read();
        let load = async move {
            let _leave = leave;
            read.await
        };
        let load = load.boxed().shared();
        if let Some(weak) = load.downgrade() {
            under_way.loads.insert(key.clone(), Entry { number, stamp, load: weak });
        }
        Joined::Waiting(load)
    }
}

/// All loads of a session that are under way.
#[derive(Default)]
pub(super) struct SharedLoads {
    pub(super) pages: SingleFlight<PageIndex, Option<Arc<Page>>>,
    pub(super) chunks: SingleFlight<ChunkKey, Arc<LevelChunk>>,
    pub(super) contents: SingleFlight<ContentHash, Content>,
}

enum Joined<V: Clone> {
    Known(V),
    Waiting(Shared<Load<V>>),
}

/// Takes a load off the list when it is done, or when nobody waits for it any more.
struct Leave<K: Hash + Eq, V: Clone> {
    under_way: Arc<Mutex<UnderWay<K, V>>>,
    key: K,
    number: u64,
}

impl<K: Hash + Eq, V: Clone> Drop for Leave<K, V> {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        // A later load of the same key may have taken its place.
        if under_way.loads.get(&self.key).is_some_and(|entry| entry.number == self.number) {
            under_way.loads.remove(&self.key);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A list of what is under way cannot be left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
