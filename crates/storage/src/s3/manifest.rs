//! The manifest: in which chunks a session's older records lie.
//!
//! Chunks are sorted and do not overlap within a level; a record in an upper level stands before one
//! in a lower. New records go to the first level, and a level that has grown too large goes into the
//! next, so that what is added at random places is not written again and again.

use super::{
    fault::{Fault, FaultResult},
    frame::{Parts, put_bytes, put_number},
    root::{Id, ObjectRef},
    table::Key,
};

/// Where older records are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) levels: Vec<Vec<ChunkRef>>,
    /// All packs whose contents the records name.
    pub(crate) packs: Vec<Id>,
}

/// One chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkRef {
    /// Its first key.
    pub(crate) first: Key,
    pub(crate) object: ObjectRef,
    /// How many bytes its records are.
    pub(crate) raw: u64,
}

impl Manifest {
    /// Returns about how much memory it takes.
    pub(crate) fn weight(&self) -> usize {
        let chunks = self.levels.iter().flatten();
        chunks.map(|chunk| chunk.first.len() + 96).sum::<usize>() + self.packs.len() * 16 + 64
    }

    /// Returns how many bytes the records of a level are.
    pub(crate) fn raw(&self, level: usize) -> u64 {
        self.levels.get(level).map_or(0, |chunks| chunks.iter().map(|chunk| chunk.raw).sum())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, self.levels.len() as u64);
        for chunks in &self.levels {
            put_number(&mut bytes, chunks.len() as u64);
            for ChunkRef { first, object, raw } in chunks {
                put_bytes(&mut bytes, first);
                bytes.extend_from_slice(&object.id.0);
                bytes.extend_from_slice(&object.sum.0);
                put_number(&mut bytes, object.size);
                put_number(&mut bytes, *raw);
            }
        }
        put_number(&mut bytes, self.packs.len() as u64);
        self.packs.iter().for_each(|pack| bytes.extend_from_slice(&pack.0));
        bytes
    }

    pub(crate) fn decode(bytes: &[u8], what: &str) -> FaultResult<Self> {
        read(&mut Parts(bytes)).ok_or_else(|| Fault::corrupt(what, "it is cut off"))
    }
}

fn read(parts: &mut Parts<'_>) -> Option<Manifest> {
    let mut manifest = Manifest::default();
    for _ in 0..parts.number()? {
        let mut chunks = Vec::new();
        for _ in 0..parts.number()? {
            let first = parts.bytes()?.into();
            let (id, sum) = (Id(parts.array()?), Id(parts.array()?));
            let object = ObjectRef { id, sum, size: parts.number()? };
            chunks.push(ChunkRef { first, object, raw: parts.number()? });
        }
        manifest.levels.push(chunks);
    }
    for _ in 0..parts.number()? {
        manifest.packs.push(Id(parts.array()?));
    }
    parts.0.is_empty().then_some(manifest)
}

/// Returns the chunk in which a key would lie.
pub(crate) fn chunk_of(chunks: &[ChunkRef], key: &[u8]) -> Option<usize> {
    chunks.partition_point(|chunk| *chunk.first <= *key).checked_sub(1)
}
