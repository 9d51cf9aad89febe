//! Walking over a range of keys, forward or backward, through all layers at once.

use std::{cmp::Ordering, collections::VecDeque, sync::Arc};

use futures::FutureExt;

use super::{
    fault::FaultResult,
    keys::Range,
    manifest::{ChunkRef, chunk_of},
    objects::{CHUNK, Home, at_once},
    root::ObjectRef,
    table::{Key, Record, Table, Value},
};

/// Which way a walk goes over the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// A walk. Where layers differ the newest counts, and what it says is gone is stepped over.
pub(crate) struct Cursor {
    home: Home,
    range: Range,
    direction: Direction,
    ahead: usize,
    /// Newest first.
    sources: Vec<Source>,
}

/// One layer: tables one after the other.
struct Source {
    waiting: VecDeque<Waiting>,
    current: Option<TableSlice>,
}

enum Waiting {
    Loaded(Arc<Table>),
    Chunk(ObjectRef),
}

/// The part of a table that the walk has not passed yet.
struct TableSlice {
    table: Arc<Table>,
    from: usize,
    to: usize,
}

impl TableSlice {
    fn new(table: Arc<Table>, range: &Range) -> Self {
        let (from, to) = (table.position(&range.from), table.position(&range.to));
        Self { table, from, to }
    }

    /// Returns where the next record stands.
    fn at(&self, direction: Direction) -> Option<usize> {
        (self.from < self.to).then(|| match direction {
            Direction::Forward => self.from,
            Direction::Backward => self.to - 1,
        })
    }

    fn step(&mut self, direction: Direction) {
        match direction {
            Direction::Forward => self.from += 1,
            Direction::Backward => self.to -= 1,
        }
    }
}

impl Source {
    /// Returns the next key.
    fn peek(&self, direction: Direction) -> Option<&[u8]> {
        let slice = self.current.as_ref()?;
        Some(slice.table.key(slice.at(direction)?))
    }

    fn record(&self, direction: Direction) -> Option<Record> {
        let slice = self.current.as_ref()?;
        Some(slice.table.record(slice.at(direction)?))
    }

    /// Sees to it that there is a record to look at, if there is any left.
    async fn fill(
        &mut self,
        home: &Home,
        range: &Range,
        direction: Direction,
        ahead: usize,
    ) -> FaultResult<()> {
        while self.peek(direction).is_none() {
            match self.waiting.pop_front() {
                None => return Ok(()),
                Some(Waiting::Loaded(table)) => self.current = Some(TableSlice::new(table, range)),
                Some(Waiting::Chunk(object)) => {
                    let mut wanted = vec![object];
                    while wanted.len() < ahead
                        && let Some(Waiting::Chunk(next)) = self.waiting.front()
                    {
                        wanted.push(*next);
                        self.waiting.pop_front();
                    }
                    let loads = wanted.iter().map(|object| home.table(CHUNK, object).boxed());
                    for table in at_once(loads.collect()).await?.into_iter().rev() {
                        self.waiting.push_front(Waiting::Loaded(table));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Cursor {
    pub(crate) fn new(
        home: Home,
        tables: impl Iterator<Item = Arc<Table>>,
        levels: &[Vec<ChunkRef>],
        range: Range,
        direction: Direction,
        ahead: usize,
    ) -> Self {
        let loaded =
            |table| Source { waiting: VecDeque::from([Waiting::Loaded(table)]), current: None };
        let chunked = |chunks: &Vec<ChunkRef>| {
            let first = chunk_of(chunks, &range.from).unwrap_or(0);
            let end = chunks.partition_point(|chunk| *chunk.first < *range.to);
            let chunks = chunks.get(first..end).unwrap_or_default();
            let waiting = chunks.iter().map(|chunk| Waiting::Chunk(chunk.object));
            let waiting = match direction {
                Direction::Forward => waiting.collect(),
                Direction::Backward => waiting.rev().collect(),
            };
            Source { waiting, current: None }
        };
        let filled = tables.filter(|table| !table.is_empty());
        let sources = filled.map(loaded).chain(levels.iter().map(chunked)).collect();
        Self { home, range, direction, ahead, sources }
    }

    /// Returns the next key with what it stands for, or with none where it is gone.
    pub(crate) async fn next_record(&mut self) -> FaultResult<Option<Record>> {
        let (direction, ahead) = (self.direction, self.ahead);
        let (home, range) = (&self.home, &self.range);
        if self.sources.iter().any(|source| source.peek(direction).is_none()) {
            let sources = self.sources.iter_mut();
            let fills = sources.map(|source| source.fill(home, range, direction, ahead).boxed());
            at_once(fills.collect()).await?;
            self.sources.retain(|source| source.peek(direction).is_some());
        }
        let mut next: Option<(&[u8], &Source)> = None;
        for source in &self.sources {
            let Some(key) = source.peek(direction) else { continue };
            let sooner = match direction {
                Direction::Forward => Ordering::Less,
                Direction::Backward => Ordering::Greater,
            };
            // Of equal keys the first counts: it is the newest.
            if next.is_none_or(|(next, _)| key.cmp(next) == sooner) {
                next = Some((key, source));
            }
        }
        let Some(next) = next.and_then(|(_, source)| source.record(direction)) else {
            return Ok(None);
        };
        for source in &mut self.sources {
            if source.peek(direction).is_some_and(|key| *key == *next.key)
                && let Some(slice) = &mut source.current
            {
                slice.step(direction);
            }
        }
        Ok(Some(next))
    }

    /// Returns the next key that is there.
    pub(crate) async fn next(&mut self) -> FaultResult<Option<(Key, Value)>> {
        while let Some(record) = self.next_record().await? {
            if let Some(value) = record.value {
                return Ok(Some((record.key, value)));
            }
        }
        Ok(None)
    }
}
