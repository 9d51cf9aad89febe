//! Derived data that stays in memory: token counts, telling words and rendered pieces.
//!
//! All of it is named by what it was made from and cannot be stale. Counts are also kept by the
//! storage, so that a fresh process needs no tokenizer for what was counted before.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{ContextSystem, bounded::Bounded, load::CONTENTS, memory::Memory};
use crate::{
    Message, Result, TokenCounter, Tokens,
    message::MessageFilter,
    storage::{ContentHash, CountKey, StorageError},
    window::{
        PieceKey,
        digest::Digest,
        keywords::{self, Keyword},
        line::Style,
        line_count_key,
        provider::RenderedPiece,
        source::{Family, ShownBody, shown},
    },
};

/// How many counts are gathered before the storage gets them: one by one they would cost a
/// transaction each, and a few that are lost are soon made again.
const OWED: usize = 32;

/// What is kept in memory of each kind.
const COUNTS: usize = 16 << 20;
const WORD_BYTES: usize = 16 << 20;
const DIGEST_BYTES: usize = 16 << 20;
const HEARD_BYTES: usize = 4 << 20;
const RENDERED_BYTES: usize = 64 << 20;

/// A content, and which of its messages are seen.
type HeardKey = (ContentHash, MessageFilter);

/// Derived data in memory.
#[derive(Debug)]
pub(super) struct DerivedCache {
    counts: Mutex<Bounded<CountKey, Tokens>>,
    words: Mutex<Bounded<HeardKey, Arc<[Keyword]>>>,
    digests: Mutex<Bounded<HeardKey, Arc<Digest>>>,
    heard: Mutex<Bounded<HeardKey, Heard>>,
    rendered: Mutex<Bounded<PieceKey, Arc<RenderedPiece>>>,
    texts: Mutex<Bounded<PieceKey, Arc<str>>>,
    /// Counts how often everything was dropped: text that was read before is not kept after.
    drops: AtomicU64,
    /// Counts the storage does not have yet.
    owed: Mutex<Vec<(CountKey, Tokens)>>,
}

fn lock<K: Hash + Eq, V>(cache: &Mutex<Bounded<K, V>>) -> MutexGuard<'_, Bounded<K, V>> {
    // Copies of what can be made again cannot be left half changed.
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DerivedCache {
    pub(super) fn new(memory: &Arc<Memory>) -> Self {
        Self {
            counts: Mutex::new(Bounded::new(COUNTS, memory)),
            words: Mutex::new(Bounded::new(WORD_BYTES, memory)),
            digests: Mutex::new(Bounded::new(DIGEST_BYTES, memory)),
            heard: Mutex::new(Bounded::new(HEARD_BYTES, memory)),
            rendered: Mutex::new(Bounded::new(RENDERED_BYTES, memory)),
            texts: Mutex::new(Bounded::new(RENDERED_BYTES, memory)),
            drops: AtomicU64::new(0),
            owed: Mutex::default(),
        }
    }

    /// Drops everything, counts included, for lack of room.
    pub(super) fn drop_all(&self) {
        self.clear();
        lock(&self.counts).clear();
    }

    /// Drops everything that was made from text: what a purge took must not stay in words or rendered pieces.
    pub(super) fn clear(&self) {
        // First, so that what is put in afterwards is refused, and what was put in before goes.
        self.drops.fetch_add(1, Ordering::SeqCst);
        lock(&self.words).clear();
        lock(&self.digests).clear();
        lock(&self.heard).clear();
        lock(&self.rendered).clear();
        lock(&self.texts).clear();
    }

    /// Notes the moment before text is read.
    pub(super) fn drops(&self) -> u64 {
        self.drops.load(Ordering::SeqCst)
    }

    /// Keeps what was made from text, unless that may have been purged since.
    fn keep_text_of<K: Hash + Eq, V>(
        &self,
        cache: &Mutex<Bounded<K, V>>,
        (key, value, size): (K, V, usize),
        since: u64,
    ) {
        let mut cache = lock(cache);
        if self.drops() == since {
            cache.put(key, value, size);
        }
    }

    fn keep(&self, counts: impl Iterator<Item = (CountKey, Tokens)>) {
        let mut cache = lock(&self.counts);
        counts.for_each(|(key, tokens)| cache.put(key, tokens, 64));
    }

    /// Gathers counts for the storage; returns how many there are now.
    fn owe(&self, made: HashMap<CountKey, Tokens>) -> usize {
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        owed.extend(made);
        owed.len()
    }

    fn take_owed(&self) -> Vec<(CountKey, Tokens)> {
        std::mem::take(&mut *self.owed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn rendered(&self, keys: &[PieceKey]) -> Vec<Option<Arc<RenderedPiece>>> {
        let mut cache = lock(&self.rendered);
        keys.iter().map(|key| cache.get(key).cloned()).collect()
    }

    pub(super) fn keep_rendered(&self, key: PieceKey, piece: &Arc<RenderedPiece>, since: u64) {
        let entry = (key, piece.clone(), piece.bytes() + 64);
        self.keep_text_of(&self.rendered, entry, since);
    }

    pub(super) fn texts(&self, keys: &[PieceKey]) -> Vec<Option<Arc<str>>> {
        let mut cache = lock(&self.texts);
        keys.iter().map(|key| cache.get(key).cloned()).collect()
    }

    pub(super) fn keep_text(&self, key: PieceKey, text: &Arc<str>, since: u64) {
        self.keep_text_of(&self.texts, (key, text.clone(), text.len() + 64), since);
    }
}

/// What is known of the messages of a content that a view sees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) messages: u32,
    pub(super) weight: u64,
    /// Whether any of them says something in words.
    pub(super) worded: bool,
}

/// What is to be counted.
#[derive(Debug, Clone)]
pub(crate) enum Countable {
    /// A page's messages as they are shown.
    Body(ShownBody),
    /// A line of the engine.
    Line(Arc<str>),
}

/// How things are counted and shown.
#[derive(Clone, Copy)]
pub(crate) struct Scale<'a> {
    pub(crate) family: Family,
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) style: Style<'a>,
}

impl Countable {
    fn key(&self, scale: &Scale<'_>) -> CountKey {
        match self {
            Countable::Body(body) => {
                let filter = scale.style.filter.name();
                body.count_key(scale.family, scale.counter.name(), filter)
            }
            Countable::Line(line) => line_count_key(scale.counter.name(), line),
        }
    }
}

impl ContextSystem {
    /// Counts things in order; nothing is counted twice, also across processes.
    pub(crate) async fn count(&self, scale: &Scale<'_>, things: &[Countable]) -> Result<Vec<u64>> {
        let keys: Vec<CountKey> = things.iter().map(|thing| thing.key(scale)).collect();
        let mut counts: Vec<Option<Tokens>> = {
            let mut cache = lock(&self.inner.derived.counts);
            keys.iter().map(|key| cache.get(key).copied()).collect()
        };
        let missing: Vec<usize> = (0..keys.len()).filter(|&at| counts[at].is_none()).collect();
        if !missing.is_empty() {
            self.count_missing(scale, things, &keys, &missing, &mut counts).await?;
        }
        Ok(counts.into_iter().map(|count| count.map_or(0, |tokens| tokens.0)).collect())
    }

    async fn count_missing(
        &self,
        scale: &Scale<'_>,
        things: &[Countable],
        keys: &[CountKey],
        missing: &[usize],
        counts: &mut [Option<Tokens>],
    ) -> Result<()> {
        let wanted: Vec<CountKey> = missing.iter().map(|&at| keys[at]).collect();
        let stored = self.storage().counts(&wanted).await?;
        let unknown = missing.iter().zip(&stored).filter(|(_, stored)| stored.is_none());
        let contents = unknown.filter_map(|(&at, _)| match &things[at] {
            Countable::Body(body) => Some(body.content),
            Countable::Line(_) => None,
        });
        self.fetch_contents(contents).await?;
        let mut made: HashMap<CountKey, Tokens> = HashMap::new();
        for (&at, stored) in missing.iter().zip(stored) {
            let known = stored.or_else(|| made.get(&keys[at]).copied());
            let tokens = match (known, &things[at]) {
                (Some(tokens), _) => tokens,
                (None, Countable::Line(line)) => scale.counter.count(line),
                (None, Countable::Body(body)) => {
                    let messages = self.shown(body, scale).await?;
                    Tokens(body.count(scale.family, scale.counter, &messages))
                }
            };
            if stored.is_none() {
                made.insert(keys[at], tokens);
            }
            counts[at] = Some(tokens);
        }
        self.inner.derived.keep(missing.iter().filter_map(|&at| Some((keys[at], counts[at]?))));
        if self.inner.derived.owe(made) >= OWED {
            self.keep_counts().await?;
        }
        Ok(())
    }

    /// Hands the storage the counts that it does not have yet.
    ///
    /// They are handed over by the dozen, and when a window is sent. A host that is about to end calls
    /// this, so that the next process need not count again.
    pub async fn keep_counts(&self) -> Result<()> {
        let owed = self.inner.derived.take_owed();
        if owed.is_empty() {
            return Ok(());
        }
        match self.storage().keep_counts(&owed).await {
            // Counts can be made again: where they cannot be kept, that is no reason to fail.
            Ok(()) | Err(StorageError::ReadOnly { .. } | StorageError::Unavailable { .. }) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a page's messages as a window shows them.
    pub(crate) async fn shown(&self, body: &ShownBody, scale: &Scale<'_>) -> Result<Vec<Message>> {
        let messages = body.speech.heard(self.messages(body.content).await?);
        Ok(shown(messages, body.limit, scale.counter, scale.style))
    }

    /// Measures the messages of a content that a view sees.
    pub(super) async fn heard(&self, hash: ContentHash, speech: MessageFilter) -> Result<Heard> {
        if let Some(known) = lock(&self.inner.derived.heard).get(&(hash, speech)) {
            return Ok(*known);
        }
        let messages = speech.heard(self.messages(hash).await?);
        let heard = Heard {
            messages: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            weight: messages.iter().map(Message::weight).sum(),
            worded: messages.iter().any(|message| !message.plain_text().trim().is_empty()),
        };
        lock(&self.inner.derived.heard).put((hash, speech), heard, 96);
        Ok(heard)
    }

    async fn messages(&self, hash: ContentHash) -> Result<Vec<Message>> {
        let content = self.content(hash).await?;
        content.messages().map_err(|reason| {
            StorageError::Corrupt { what: format!("content {hash}"), reason }.into()
        })
    }

    /// Returns the most telling words of what is seen of contents, in the order asked for.
    pub(crate) async fn words(&self, asked: &[HeardKey]) -> Result<Vec<Arc<[Keyword]>>> {
        let size = |words: &Arc<[Keyword]>| {
            words.iter().map(|word| word.text.len() + 48).sum::<usize>() + 64
        };
        let make = |messages: &[Message]| -> Arc<[Keyword]> { keywords::words(messages).into() };
        self.derived(&self.inner.derived.words, asked, &make, &size).await
    }

    /// Returns what happened in what is seen of contents, in the order asked for.
    pub(crate) async fn digests(&self, asked: &[HeardKey]) -> Result<Vec<Arc<Digest>>> {
        let make = |messages: &[Message]| Arc::new(Digest::of(messages));
        let size = |digest: &Arc<Digest>| digest.size() + 128;
        self.derived(&self.inner.derived.digests, asked, &make, &size).await
    }

    /// Returns what is made from what is seen of contents, each once.
    async fn derived<T: Clone>(
        &self,
        cache: &Mutex<Bounded<HeardKey, T>>,
        asked: &[HeardKey],
        make: &(dyn Fn(&[Message]) -> T + Sync),
        size: &(dyn Fn(&T) -> usize + Sync),
    ) -> Result<Vec<T>> {
        let derived = &self.inner.derived;
        let since = derived.drops();
        let known: Vec<Option<T>> = {
            let mut cache = lock(cache);
            asked.iter().map(|key| cache.get(key).cloned()).collect()
        };
        let mut all = Vec::with_capacity(asked.len());
        for (asked, known) in asked.chunks(CONTENTS).zip(known.chunks(CONTENTS)) {
            let unknown = asked.iter().zip(known).filter(|(_, known)| known.is_none());
            self.fetch_contents(unknown.map(|((hash, _), _)| *hash)).await?;
            for (key @ (hash, speech), known) in asked.iter().zip(known) {
                if let Some(known) = known {
                    all.push(known.clone());
                    continue;
                }
                let made = make(&speech.heard(self.messages(*hash).await?));
                let size = size(&made);
                derived.keep_text_of(cache, (*key, made.clone(), size), since);
                all.push(made);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Text that was read before a purge and is rendered after it does not stay.
    #[test]
    fn text_from_before_a_purge_is_not_kept() {
        let derived = DerivedCache::new(&Memory::unbounded());
        let key = PieceKey([0; 32]);
        let since = derived.drops();
        derived.keep_text(key, &"secret".into(), since);
        assert!(derived.texts(&[key])[0].is_some());
        derived.clear();
        derived.keep_text(key, &"secret".into(), since);
        assert!(derived.texts(&[key])[0].is_none());
        derived.keep_text(key, &"fresh".into(), derived.drops());
        assert!(derived.texts(&[key])[0].is_some());
    }
}
