//! Merging: records move from deltas into chunks, and from a level of chunks into the next.
//!
//! Only chunks that something falls into are written anew. Nothing is deleted here: what is replaced
//! is collected later, so that readers of an older root go on undisturbed.

use std::{sync::Arc, time::Instant};

use contexture_core::storage::ContentHash;
use futures::FutureExt;

use super::{
    cursor::{Cursor, Direction},
    fault::FaultResult,
    keys::{self, Range, family},
    manifest::{ChunkRef, Manifest},
    objects::{CHUNK, Home, at_once, object_name},
    packs::PackBuilder,
    records::Copy,
    root::Id,
    session::{Inner, Known, Published, Session},
    table::{Over, Record, Table},
};

/// All keys.
pub(crate) fn everything() -> Range {
    Range { from: Arc::from([].as_slice()), to: Arc::from([0xff].as_slice()) }
}

/// A manifest being made from another.
pub(crate) struct Merger {
    pub(crate) home: Home,
    pub(crate) manifest: Manifest,
    /// Chunks that it no longer names.
    pub(crate) replaced: Vec<String>,
}

impl Merger {
    pub(crate) fn new(home: Home, manifest: Manifest) -> Self {
        Self { home, manifest, replaced: Vec::new() }
    }

    /// Lays newer records, newest table first, over what the manifest names.
    pub(crate) async fn add(&mut self, tables: Vec<Arc<Table>>) -> FaultResult<()> {
        let upper = self.cursor(tables, &[]);
        self.merge(upper, 0).await?;
        let mut level = 0;
        while self.manifest.raw(level) > self.most(level) {
            self.lower(level).await?;
            level += 1;
        }
        Ok(())
    }

    /// Brings everything into one level, so that nothing that was replaced is left in another.
    pub(crate) async fn flatten(&mut self) -> FaultResult<()> {
        let last = self.manifest.levels.iter().rposition(|chunks| !chunks.is_empty()).unwrap_or(0);
        for level in 0..last {
            self.lower(level).await?;
        }
        Ok(())
    }

    fn most(&self, level: usize) -> u64 {
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        self.home.objects.tuning.level_bytes.saturating_mul(10_u64.saturating_pow(level))
    }

    fn cursor(&self, tables: Vec<Arc<Table>>, levels: &[Vec<ChunkRef>]) -> Cursor {
        let home = self.home.clone();
        Cursor::new(home, tables.into_iter(), levels, everything(), Direction::Forward, 4)
    }

    /// Merges a level into the next.
    async fn lower(&mut self, level: usize) -> FaultResult<()> {
        let Some(chunks) = self.manifest.levels.get_mut(level).map(std::mem::take) else {
            return Ok(());
        };
        let names = chunks.iter().map(|chunk| object_name(CHUNK, chunk.object.id));
        self.replaced.extend(names);
        let upper = self.cursor(Vec::new(), std::slice::from_ref(&chunks));
        self.merge(upper, level + 1).await
    }

    /// Merges records into a level.
    async fn merge(&mut self, mut upper: Cursor, level: usize) -> FaultResult<()> {
        if self.manifest.levels.len() <= level {
            self.manifest.levels.resize_with(level + 1, Vec::new);
        }
        let lower = std::mem::take(&mut self.manifest.levels[level]);
        // What says that something is gone is of use only while that something is below.
        let keeps_gone =
            self.manifest.levels.iter().skip(level + 1).any(|chunks| !chunks.is_empty());
        let mut output = Output::new(self.home.clone(), keeps_gone);
        let mut next = upper.next_record().await?;
        for (at, chunk) in lower.iter().enumerate() {
            let end = lower.get(at + 1).map(|next| &next.first);
            let falls_in = |record: &Record| end.is_none_or(|end| record.key < *end);
            if !next.as_ref().is_some_and(falls_in) {
                output.keep(chunk.clone()).await?;
                continue;
            }
            self.replaced.push(object_name(CHUNK, chunk.object.id));
            let table = self.home.table(CHUNK, &chunk.object).await?;
            for (key, value) in table.records() {
                while let Some(record) = next.take_if(|record| *record.key < *key) {
                    output.push(&record.key, record.value.as_deref()).await?;
                    next = upper.next_record().await?;
                }
                match next.take_if(|record| *record.key == *key) {
                    Some(record) => {
                        output.push(&record.key, record.value.as_deref()).await?;
                        next = upper.next_record().await?;
                    }
                    None => output.push(key, value).await?,
                }
            }
            while let Some(record) = next.take_if(|record| falls_in(record)) {
                output.push(&record.key, record.value.as_deref()).await?;
                next = upper.next_record().await?;
            }
        }
        while let Some(record) = next {
            output.push(&record.key, record.value.as_deref()).await?;
            next = upper.next_record().await?;
        }
        self.manifest.levels[level] = output.finish().await?;
        Ok(())
    }

    /// Moves contents out of records into packs; returns what to lay over those records.
    pub(crate) async fn pack(&mut self, tables: &[Arc<Table>]) -> FaultResult<Table> {
        let most = self.home.objects.tuning.pack_bytes;
        let mut over = Over::new();
        let mut pack = PackBuilder::default();
        let range = Range::family(family::CONTENT);
        let home = self.home.clone();
        let tables = tables.iter().cloned();
        let mut cursor = Cursor::new(home, tables, &[], range, Direction::Forward, 1);
        while let Some((key, value)) = cursor.next().await? {
            let Copy::Inline { raw, data } = Copy::decode(&key, &value)? else { continue };
            if data.len() < Copy::LEAST_PACKED {
                continue;
            }
            // The whole hash is in no key, but the content tells it.
            let bytes = crate::packing::unpack(raw, &data)
                .map_err(|reason| super::fault::Fault::corrupt(keys::named(&key), reason))?;
            pack.add(ContentHash::of(&bytes), raw, &data);
            over.insert(key, None);
            if pack.size() >= most {
                self.write_pack(std::mem::take(&mut pack), &mut over).await?;
            }
        }
        if !pack.is_empty() {
            self.write_pack(pack, &mut over).await?;
        }
        Ok(Table::of(&over))
    }

    pub(crate) async fn write_pack(
        &mut self,
        pack: PackBuilder,
        over: &mut Over,
    ) -> FaultResult<Id> {
        let (id, records) = pack.write(&self.home).await?;
        self.manifest.packs.push(id);
        over.extend(records.into_iter().map(|(key, value)| (key, Some(value))));
        Ok(id)
    }
}

/// Chunks being written.
struct Output {
    home: Home,
    keeps_gone: bool,
    table: Table,
    /// Tables to be written together.
    full: Vec<Table>,
    chunks: Vec<ChunkRef>,
}

impl Output {
    fn new(home: Home, keeps_gone: bool) -> Self {
        Self { home, keeps_gone, table: Table::default(), full: Vec::new(), chunks: Vec::new() }
    }

    async fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> FaultResult<()> {
        if value.is_none() && !self.keeps_gone {
            return Ok(());
        }
        self.table.push(key, value);
        if self.table.raw() >= self.home.objects.tuning.chunk_bytes {
            self.full.push(std::mem::take(&mut self.table));
        }
        if self.full.len() >= 4 { self.write().await } else { Ok(()) }
    }

    /// Keeps a chunk as it is.
    async fn keep(&mut self, chunk: ChunkRef) -> FaultResult<()> {
        self.write().await?;
        self.chunks.push(chunk);
        Ok(())
    }

    async fn write(&mut self) -> FaultResult<()> {
        self.full.extend(Some(std::mem::take(&mut self.table)).filter(|table| !table.is_empty()));
        let home = &self.home;
        let write = |table: Table| async move {
            let (first, raw) = (table.key(0).into(), table.raw() as u64);
            let object = home.put_table(CHUNK, table).await?;
            Ok(ChunkRef { first, object, raw })
        };
        let writes = self.full.drain(..).map(|table| write(table).boxed());
        let chunks = at_once(writes.collect()).await?;
        self.chunks.extend(chunks);
        Ok(())
    }

    async fn finish(mut self) -> FaultResult<Vec<ChunkRef>> {
        self.write().await?;
        Ok(self.chunks)
    }
}

impl Inner {
    /// Merges the deltas of a root into chunks.
    pub(crate) async fn compact(&self, session: &Session, known: Known) -> FaultResult<()> {
        let Some(view) = self.view_of(&session.id, &known) else { return Ok(()) };
        let begun = Instant::now();
        let base = view.root.meta.clone();
        let layers = view.layers().await?;
        // What the root holds itself stays there.
        let mut tables = layers.tables[1..].to_vec();
        let mut merger = Merger::new(view.home.clone(), (*layers.manifest).clone());
        merger.manifest.packs.extend(&base.packs);
        let packed = merger.pack(&tables).await?;
        tables.insert(0, Arc::new(packed));
        merger.add(tables).await?;
        let manifest = view.home.put_manifest(&merger.manifest).await?;
        self.check_time(begun)?;
        let mut known = Some(known);
        while let Some(Known { version, root }) = known {
            let meta = &root.meta;
            let is_based = meta.incarnation == base.incarnation
                && meta.manifest == base.manifest
                && meta.deltas.starts_with(&base.deltas)
                && meta.packs.starts_with(&base.packs);
            if !is_based {
                // Somebody else merged first. What was written here nothing refers to.
                return Ok(());
            }
            let mut root = (*root).clone();
            root.meta.deltas.drain(..base.deltas.len());
            root.meta.packs.drain(..base.packs.len());
            root.meta.manifest = Some(manifest);
            match self.publish(session, Some(version), root).await? {
                Published::Done(_) => return Ok(()),
                Published::Lost => known = self.fresh(session).await?,
            }
        }
        Ok(())
    }
}
