//! What was last committed, ready to be read.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tantivy::{
    DocId, InvertedIndexReader, Opstamp, Searcher, SegmentReader,
    columnar::{Column, ColumnValues},
    index::SegmentId,
};

use super::{
    class::{PARTS, Parts},
    key::{At, Space},
    range,
    schema::{self, Fields},
    sight::{self, Sight},
    state::State,
};
use crate::{embedding::Piece, error::SearchError};

/// What was last committed.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) opstamp: Opstamp,
    pub(crate) state: Arc<State>,
    pub(crate) blocks: Arc<Vec<Arc<Block>>>,
    sizes: Arc<Mutex<HashMap<SizeKey, PartSizes>>>,
    // Keeps the files that the blocks read.
    _searcher: Searcher,
}

/// A part of the index that was written at once, sorted by key. tantivy calls it a segment.
pub(crate) struct Block {
    id: BlockId,
    pub(crate) reader: SegmentReader,
    pub(crate) terms: Arc<InvertedIndexReader>,
    pub(crate) keys: Arc<dyn ColumnValues<u64>>,
    pub(crate) classes: Arc<dyn ColumnValues<u64>>,
    lengths: Arc<dyn ColumnValues<u64>>,
    more: Column<u64>,
    has_more: bool,
    speakers: Column<u64>,
    said: Arc<dyn ColumnValues<i64>>,
    lags: Column<i64>,
    chapters: Arc<dyn ColumnValues<u64>>,
    turns: Column<u64>,
    pieces: Column<u64>,
    unpacked: Unpacked,
}

type BlockId = (SegmentId, Option<Opstamp>);

/// The columns that every posting needs, unpacked once they have been read as often as they have values: a process
/// that searches once never pays for it.
#[derive(Default)]
struct Unpacked {
    read: AtomicUsize,
    columns: OnceLock<(Vec<u64>, Vec<u64>)>,
}

/// How many documents there are, and how many terms in each part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PartSizes {
    pub(crate) documents: u64,
    pub(crate) terms: [u64; PARTS],
}

impl PartSizes {
    pub(crate) fn add(&mut self, lengths: &[u16; PARTS]) {
        self.documents += 1;
        self.terms.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += u64::from(*length));
    }

    pub(crate) fn subtract(&mut self, lengths: &[u16; PARTS]) {
        self.documents -= 1;
        self.terms.iter_mut().zip(lengths).for_each(|(sum, length)| *sum -= u64::from(*length));
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.documents += other.documents;
        self.terms.iter_mut().zip(&other.terms).for_each(|(sum, terms)| *sum += terms);
    }
}

type SizeKey = (BlockId, Space, u64);

impl Snapshot {
    pub(crate) fn new(
        searcher: Searcher,
        state: State,
        opstamp: Opstamp,
        fields: &Fields,
        before: Option<&Snapshot>,
    ) -> Result<Self, SearchError> {
        let readers = searcher.segment_readers().iter();
        let known = before.map(|before| &**before.blocks).unwrap_or_default();
        let block = |reader: &SegmentReader| {
            let id = Block::id_of(reader);
            match known.iter().find(|block| block.id == id) {
                Some(block) => Ok(block.clone()),
                None => Block::new(reader, fields).map(Arc::new),
            }
        };
        let blocks: Vec<Arc<Block>> = readers.map(block).collect::<Result<_, SearchError>>()?;
        // A class that nobody knows could be seen by nobody, so the index would be wrong.
        let is_known = |block: &Arc<Block>| block.knows_all(state.classes.len());
        if !blocks.iter().all(is_known) {
            return Err(SearchError::Damaged { what: "a class of documents".to_owned() });
        }
        let mut sizes = before.map(|before| before.lock_sizes().clone()).unwrap_or_default();
        sizes.retain(|(block, _, _), _| blocks.iter().any(|known| known.id == *block));
        let sizes = Arc::new(Mutex::new(sizes));
        Ok(Self {
            opstamp,
            state: Arc::new(state),
            blocks: Arc::new(blocks),
            sizes,
            _searcher: searcher,
        })
    }

    fn lock_sizes(&self) -> std::sync::MutexGuard<'_, HashMap<SizeKey, PartSizes>> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how much of a segment a view sees in one block. It is counted once.
    pub(crate) fn size(
        &self,
        block: &Block,
        space: Space,
        docs: Range<DocId>,
        sight: &Sight,
    ) -> PartSizes {
        let key = (block.id, space, sight.id());
        if let Some(known) = self.lock_sizes().get(&key) {
            return *known;
        }
        let mut size = PartSizes::default();
        for doc in docs.filter(|doc| !block.reader.is_deleted(*doc)) {
            if let Some(lengths) = block.seen_lengths(doc, sight) {
                size.add(&lengths);
            }
        }
        self.lock_sizes().insert(key, size);
        size
    }
}

impl Block {
    fn id_of(reader: &SegmentReader) -> BlockId {
        (reader.segment_id(), reader.delete_opstamp())
    }

    fn new(reader: &SegmentReader, fields: &Fields) -> Result<Self, SearchError> {
        let columns = reader.fast_fields();
        let full = |name: &str| -> Result<Arc<dyn ColumnValues<u64>>, SearchError> {
            Ok(columns.u64(name)?.first_or_default_col(0))
        };
        let more = columns.u64(schema::MORE)?;
        Ok(Self {
            id: Self::id_of(reader),
            terms: reader.inverted_index(fields.terms)?,
            keys: full(schema::KEY)?,
            classes: full(schema::CLASS)?,
            lengths: full(schema::LENGTH)?,
            has_more: more.values.num_vals() > 0,
            more,
            speakers: columns.u64(schema::SPEAKER)?,
            said: columns.i64(schema::SAID)?.first_or_default_col(0),
            lags: columns.i64(schema::LAG)?,
            chapters: full(schema::CHAPTER)?,
            turns: columns.u64(schema::TURN)?,
            pieces: columns.u64(schema::PIECE)?,
            unpacked: Unpacked::default(),
            reader: reader.clone(),
        })
    }

    /// Returns whether all documents are of one of the first so many classes.
    fn knows_all(&self, classes: usize) -> bool {
        self.reader.max_doc() == 0 || self.classes.max_value() < classes as u64
    }

    /// Returns the documents of a segment.
    pub(crate) fn documents(&self, space: Space) -> Range<DocId> {
        range::documents(&*self.keys, &space.keys())
    }

    pub(crate) fn at(&self, doc: DocId) -> At {
        At::of(self.keys.get_val(doc))
    }

    pub(crate) fn class(&self, doc: DocId) -> usize {
        self.classes.get_val(doc) as usize
    }

    pub(crate) fn lengths(&self, doc: DocId) -> [u16; PARTS] {
        self.lengths_from(doc, self.lengths.get_val(doc))
    }

    pub(crate) fn speaker(&self, doc: DocId) -> u32 {
        self.speakers.first(doc).map_or(0, |speaker| speaker as u32)
    }

    pub(crate) fn said(&self, doc: DocId) -> i64 {
        self.said.get_val(doc)
    }

    pub(crate) fn began(&self, doc: DocId) -> i64 {
        self.said(doc).saturating_sub(self.lags.first(doc).unwrap_or(0))
    }

    pub(crate) fn chapter(&self, doc: DocId) -> u32 {
        self.chapters.get_val(doc) as u32
    }

    pub(crate) fn turn(&self, doc: DocId) -> Option<u64> {
        self.turns.first(doc)
    }

    /// Returns what the vectors of a document are made of.
    pub(crate) fn pieces(&self, doc: DocId) -> impl Iterator<Item = Piece> + '_ {
        self.pieces.values_for_doc(doc).map(Piece::from_bits)
    }

    /// Tells whether any document has something that vectors are made of.
    pub(crate) fn has_pieces(&self) -> bool {
        self.pieces.values.num_vals() > 0
    }

    /// Reads what every posting needs of some documents, column by column.
    pub(crate) fn fill(&self, docs: &[DocId], keys: &mut [u64], lengths: &mut [u64]) {
        let Some((all_keys, all_lengths)) = self.unpacked(docs.len()) else {
            self.keys.get_vals(docs, keys);
            self.lengths.get_vals(docs, lengths);
            return;
        };
        for ((doc, key), length) in docs.iter().zip(keys).zip(lengths) {
            (*key, *length) = (all_keys[*doc as usize], all_lengths[*doc as usize]);
        }
    }

    /// Returns the unpacked columns, if they are read often enough. Some more documents are about to be read.
    fn unpacked(&self, more: usize) -> Option<&(Vec<u64>, Vec<u64>)> {
        let Unpacked { read, columns } = &self.unpacked;
        let all = self.reader.max_doc();
        if let Some(columns) = columns.get() {
            return Some(columns);
        }
        if read.fetch_add(more, Ordering::Relaxed) < all as usize {
            return None;
        }
        let unpack = |column: &dyn ColumnValues<u64>| {
            let mut values = vec![0; all as usize];
            column.get_range(0, &mut values);
            values
        };
        Some(columns.get_or_init(|| (unpack(&*self.keys), unpack(&*self.lengths))))
    }

    /// Returns the lengths of a document, given the first of them.
    pub(crate) fn lengths_from(&self, doc: DocId, length: u64) -> [u16; PARTS] {
        let more = if self.has_more { self.more.first(doc).unwrap_or(0) } else { 0 };
        schema::unpack(length, more)
    }

    /// Returns the pages of a segment that name one of these turns.
    pub(crate) fn pages_of(&self, space: Space, turns: &BTreeSet<u64>) -> BTreeSet<u32> {
        if self.turns.values.num_vals() == 0 {
            return BTreeSet::new();
        }
        let names = |doc: &DocId| self.turn(*doc).is_some_and(|turn| turns.contains(&turn));
        self.documents(space).filter(names).map(|doc| self.at(doc).page).collect()
    }

    /// Returns the lengths of a document as a view sees it; none where it sees nothing of it.
    pub(crate) fn seen_lengths(&self, doc: DocId, sight: &Sight) -> Option<[u16; PARTS]> {
        let parts = sight.of_document(self, doc);
        if parts == Parts::NONE {
            return None;
        }
        let mut lengths = self.lengths(doc);
        sight::mask(&mut lengths, parts);
        Some(lengths)
    }
}
