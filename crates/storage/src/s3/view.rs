//! A session as one root has it: what is laid over it, what the root holds, deltas, chunks.

use std::{collections::BTreeMap, sync::Arc};

use futures::{FutureExt, future};

use super::{
    cursor::{Cursor, Direction},
    fault::FaultResult,
    keys::Range,
    manifest::{Manifest, chunk_of},
    objects::{CHUNK, DELTA, Home, at_once},
    root::{ObjectRef, Root},
    table::{Key, Over, Table, Value},
};

/// A session as it stands under one root. It never changes, but for what a writer lays over it.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) home: Home,
    pub(crate) root: Arc<Root>,
    /// What a writer is about to write.
    pub(crate) over: Over,
}

/// Everything a read looks through, newest first.
pub(crate) struct Layers {
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) manifest: Arc<Manifest>,
}

impl View {
    pub(crate) fn new(home: Home, root: Arc<Root>) -> Self {
        Self { home, root, over: Over::new() }
    }

    /// Loads what is not in chunks.
    pub(crate) async fn layers(&self) -> FaultResult<Layers> {
        let meta = &self.root.meta;
        let deltas = meta.deltas.iter().rev().map(|delta| self.home.table(DELTA, delta).boxed());
        let deltas = at_once(deltas.collect());
        let (deltas, manifest) =
            future::try_join(deltas, self.home.manifest(meta.manifest.as_ref())).await?;
        let tables = std::iter::once(self.root.inline.clone()).chain(deltas).collect();
        Ok(Layers { tables, manifest })
    }

    /// Reads values in the order asked for.
    pub(crate) async fn get_many(&self, keys: &[Key]) -> FaultResult<Vec<Option<Value>>> {
        let layers = self.layers().await?;
        let mut found: Vec<Option<Value>> = vec![None; keys.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            if let Some(value) = self.over.get(key) {
                found[at].clone_from(value);
            } else if let Some(value) = layers.tables.iter().find_map(|table| table.get(key)) {
                found[at] = value.map(Into::into);
            } else {
                open.push(at);
            }
        }
        for chunks in &layers.manifest.levels {
            let mut wanted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            let mut still_open: Vec<usize> = Vec::new();
            for at in open {
                match chunk_of(chunks, &keys[at]) {
                    Some(chunk) => wanted.entry(chunk).or_default().push(at),
                    None => still_open.push(at),
                }
            }
            let looks = wanted.into_iter().map(|(chunk, wanted)| {
                let object = &chunks[chunk].object;
                self.look_up(object, keys, wanted).boxed()
            });
            for (at, value) in at_once(looks.collect()).await?.into_iter().flatten() {
                match value {
                    Some(value) => found[at] = value,
                    None => still_open.push(at),
                }
            }
            open = still_open;
        }
        Ok(found)
    }

    /// Looks for keys in a chunk; returns what it says of each, none where it says nothing.
    async fn look_up(
        &self,
        object: &ObjectRef,
        keys: &[Key],
        wanted: Vec<usize>,
    ) -> FaultResult<Vec<(usize, Option<Option<Value>>)>> {
        let table = self.home.table(CHUNK, object).await?;
        let found = |at: usize| table.get(&keys[at]).map(|value| value.map(Into::into));
        Ok(wanted.into_iter().map(|at| (at, found(at))).collect())
    }

    pub(crate) async fn get(&self, key: &Key) -> FaultResult<Option<Value>> {
        Ok(self.get_many(std::slice::from_ref(key)).await?.pop().flatten())
    }

    /// Walks over a range. `ahead` chunks are loaded at once.
    pub(crate) async fn walk(
        &self,
        range: Range,
        direction: Direction,
        ahead: usize,
    ) -> FaultResult<Cursor> {
        let layers = self.layers().await?;
        let over = self.over.range(range.from.clone()..range.to.clone());
        let over = Table::of(&over.map(|(key, value)| (key.clone(), value.clone())).collect());
        let tables = std::iter::once(Arc::new(over)).chain(layers.tables);
        Ok(Cursor::new(self.home.clone(), tables, &layers.manifest.levels, range, direction, ahead))
    }

    /// Reads a whole range that is known to be small.
    pub(crate) async fn all(&self, range: Range) -> FaultResult<Vec<(Key, Value)>> {
        let mut cursor = self.walk(range, Direction::Forward, 4).await?;
        let mut all = Vec::new();
        while let Some(record) = cursor.next().await? {
            all.push(record);
        }
        Ok(all)
    }
}
