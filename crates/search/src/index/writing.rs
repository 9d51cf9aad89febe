//! Writing to the index: one commit, of what changed in some sessions or of one session as a whole.

use std::ops::Range;

use contexture_core::{Revision, SegmentId, SessionId};
use tantivy::{
    Index, IndexWriter, TantivyError,
    directory::error::LockError,
    indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy, UserOperation},
};

use super::{
    classes::Classes,
    disk::Batch,
    entry::Entry,
    indexed::IndexedDocument,
    key::Space,
    range::KeyRanges,
    schema::Fields,
    state::{MarkHash, SessionState, State},
};
use crate::{error::SearchError, follow::Reached};

/// How many bytes the writer fills before it writes a block.
const WRITER_BYTES: usize = 48 << 20;

/// How many documents are handed over at a time.
const HANDED_OVER: usize = 256;

/// One commit to the index. No other process writes meanwhile.
pub(super) struct Writing {
    index: Index,
    fields: Fields,
    writer: IndexWriter<IndexedDocument>,
    state: State,
    classes: Classes,
}

impl Writing {
    /// Begins to write; none while another process is writing.
    pub(super) fn begin(index: &Index, fields: &Fields) -> Result<Option<Self>, SearchError> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let writer: IndexWriter<IndexedDocument> = match index.writer_with_options(options) {
            Ok(writer) => writer,
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        writer.set_merge_policy(merge_policy());
        let payload = index.load_metas()?.payload;
        let state = State::read(payload.as_deref())
            .ok_or(SearchError::Damaged { what: "what it says of itself".to_owned() })?;
        let classes = Classes::new(&state.classes);
        let (index, fields) = (index.clone(), fields.clone());
        Ok(Some(Self { index, fields, writer, state, classes }))
    }

    /// Adds what changed in a session. Returns the build that it became part of; none where another process
    /// has overtaken it.
    pub(super) fn add(&mut self, batch: &Batch) -> Result<Option<u64>, SearchError> {
        let known = self.state.sessions.get(&batch.session).cloned();
        let current = known.filter(|known| Some(known.build) == batch.build);
        let is_done =
            |known: &SessionState| known.revision.is_some() && known.revision >= batch.upto;
        if current.as_ref().is_some_and(is_done) || (batch.build.is_some() && current.is_none()) {
            return Ok(None);
        }
        let mut session = match current {
            Some(current) => current,
            None => self.begin_session(&batch.session, &batch.mark, batch.pieces)?,
        };
        (session.revision, session.anchor) = (batch.upto, batch.anchor.clone());
        let (mut deleted, mut fresh) = (Vec::new(), Vec::new());
        for (segment, page, _) in &batch.pages {
            match session.spaces.get(segment) {
                Some(space) if fresh.contains(space) => {}
                Some(space) => deleted.push(Space(*space).page(*page)),
                None => fresh.push(self.space(&mut session, segment)?.0),
            }
        }
        delete(&self.writer, deleted)?;
        for (segment, _, entries) in &batch.pages {
            let space = self.space(&mut session, segment)?;
            self.add_entries(space, entries, session.pieces)?;
        }
        let build = session.build;
        self.state.sessions.insert(batch.session.clone(), session);
        Ok(Some(build))
    }

    /// Forgets a session, and begins its next build.
    fn begin_session(
        &mut self,
        session: &SessionId,
        mark: &MarkHash,
        mut pieces: bool,
    ) -> Result<SessionState, SearchError> {
        if let Some(known) = self.state.sessions.get(session) {
            let spaces = known.spaces.values().map(|space| Space(*space).keys()).collect();
            delete(&self.writer, spaces)?;
            pieces |= known.pieces;
        }
        let build = self.state.next_build();
        let (mark, spaces) = (mark.clone(), Default::default());
        Ok(SessionState { mark, build, revision: None, anchor: None, spaces, pieces })
    }

    /// Returns the number of a segment, which is given one if it has none.
    fn space(
        &mut self,
        session: &mut SessionState,
        segment: &SegmentId,
    ) -> Result<Space, SearchError> {
        if let Some(space) = session.spaces.get(segment) {
            return Ok(Space(*space));
        }
        let space = self.state.next_space().ok_or(SearchError::Full)?;
        session.spaces.insert(segment.clone(), space.0);
        Ok(space)
    }

    fn add_entries(
        &mut self,
        space: Space,
        entries: &[Entry],
        pieces: bool,
    ) -> Result<(), SearchError> {
        for entries in entries.chunks(HANDED_OVER) {
            let documents = entries.iter().map(|entry| {
                let class = self.classes.number(&entry.class);
                UserOperation::Add(self.fields.document(space, entry, class, pieces))
            });
            let documents: Vec<UserOperation<IndexedDocument>> = documents.collect();
            self.writer.run(documents)?;
        }
        Ok(())
    }

    /// Commits all of it.
    pub(super) fn commit(mut self) -> Result<Committed, SearchError> {
        self.state.classes = self.classes.into_list();
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&self.state.write());
        commit.commit()?;
        Ok(Committed { index: self.index, writer: self.writer })
    }

    /// Makes nothing be merged behind this commit: what is scrubbed must not be taken away meanwhile.
    pub(super) fn without_merges(&mut self) {
        self.writer.set_merge_policy(Box::new(NoMergePolicy));
    }

    /// Removes the files that belong to no commit and that this process does not read.
    pub(super) fn collect(self) -> Result<(), SearchError> {
        self.writer.garbage_collect_files().wait()?;
        Ok(self.writer.wait_merging_threads()?)
    }

    /// Empties the index.
    pub(super) fn clear(&mut self) -> Result<(), SearchError> {
        self.writer.delete_all_documents()?;
        (self.state, self.classes) = (State::begin(), Classes::default());
        Ok(())
    }
}

/// What was committed. Blocks may still be merged.
pub(crate) struct Committed {
    index: Index,
    writer: IndexWriter<IndexedDocument>,
}

impl Committed {
    /// Writes all blocks again that have deleted documents, so that none of their words stay on disk.
    pub(super) fn scrub(&mut self) -> Result<(), SearchError> {
        let metas = self.index.searchable_segment_metas()?;
        for meta in metas.iter().filter(|meta| meta.num_deleted_docs() > 0) {
            self.writer.merge(&[meta.id()]).wait()?;
        }
        self.writer.garbage_collect_files().wait()?;
        Ok(())
    }

    /// Waits until blocks are merged.
    pub(crate) fn merge(self) -> Result<(), SearchError> {
        Ok(self.writer.wait_merging_threads()?)
    }
}

/// A session that is read from the beginning, and committed as a whole. Until then nothing of it is found on
/// disk, so a process that is killed begins again.
pub(crate) struct Rebuild {
    writing: Writing,
    name: SessionId,
    session: SessionState,
}

/// What makes a session that is in the index already as good as a rebuild of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// It is no later than this edit.
    pub(crate) head: Revision,
    /// It is not this build.
    pub(crate) refused: Option<u64>,
    /// Its documents carry what vectors are made of.
    pub(crate) pieces: bool,
}

impl Wanted {
    pub(crate) fn is_met_by(&self, known: &SessionState) -> bool {
        known.revision.is_some_and(|revision| revision <= self.head)
            && Some(known.build) != self.refused
            && (known.pieces || !self.pieces)
    }
}

/// How a rebuild begins.
pub(crate) enum RebuildStart {
    /// Documents can be added.
    Begun(Box<Rebuild>),
    /// Another process is writing.
    Busy,
    /// Another process has done it.
    Done,
}

impl Rebuild {
    pub(super) fn begin(
        mut writing: Writing,
        name: &SessionId,
        mark: &MarkHash,
        wanted: Wanted,
    ) -> Result<RebuildStart, SearchError> {
        let is_done = |known: &SessionState| known.mark == *mark && wanted.is_met_by(known);
        if writing.state.sessions.get(name).is_some_and(is_done) {
            return Ok(RebuildStart::Done);
        }
        let session = writing.begin_session(name, mark, wanted.pieces)?;
        Ok(RebuildStart::Begun(Box::new(Self { writing, name: name.clone(), session })))
    }

    /// Adds the documents of a page.
    pub(crate) fn add(&mut self, segment: &SegmentId, page: &[Entry]) -> Result<(), SearchError> {
        let space = self.writing.space(&mut self.session, segment)?;
        self.writing.add_entries(space, page, self.session.pieces)
    }

    /// Commits it. Returns its build.
    pub(crate) fn commit(self, reached: Reached) -> Result<(u64, Committed), SearchError> {
        let Self { mut writing, name, mut session } = self;
        (session.revision, session.anchor) = (Some(reached.0), reached.1);
        let build = session.build;
        writing.state.sessions.insert(name, session);
        Ok((build, writing.commit()?))
    }
}

fn merge_policy() -> Box<dyn MergePolicy> {
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(0.3);
    Box::new(policy)
}

/// Deletes documents by their keys, many ranges at a time: each query opens all blocks.
fn delete(
    writer: &IndexWriter<IndexedDocument>,
    ranges: Vec<Range<u64>>,
) -> Result<(), SearchError> {
    if !ranges.is_empty() {
        writer.delete_query(Box::new(KeyRanges(ranges)))?;
    }
    Ok(())
}
