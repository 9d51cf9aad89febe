//! The index on disk: opening it, writing a batch to it, reading what was last committed.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use contexture_core::{Revision, SegmentId, SessionId};
use tantivy::{
    Index, IndexReader, IndexWriter, ReloadPolicy, TantivyError,
    directory::{MmapDirectory, RamDirectory, error::LockError},
    indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy},
};

use super::{
    entry::Entry,
    key::Space,
    range::KeyRanges,
    schema::{self, Fields, VERSION},
    snapshot::Snapshot,
    state::{MarkHash, SessionState, State},
};
use crate::error::SearchError;

/// How many bytes the writer fills before it writes a part of the index.
const WRITER_BYTES: usize = 48 << 20;

/// How often a reader looks for a commit and its documents that belong together.
const LOOKS: usize = 16;

/// Where the documents are.
pub(crate) struct Disk {
    folder: Option<PathBuf>,
    fields: Fields,
    index: Index,
    reader: IndexReader,
}

/// What is to be written of a session.
pub(crate) struct Batch {
    pub(crate) session: SessionId,
    pub(crate) mark: MarkHash,
    pub(crate) upto: Option<Revision>,
    /// What the index has of the session must be of this build; none where it is to forget all of it first.
    pub(crate) build: Option<u64>,
    pub(crate) pages: Vec<(SegmentId, u32, Arc<[Entry]>)>,
    /// Whether documents are to carry what vectors are made of. Those of a session that is there do as they did.
    pub(crate) pieces: bool,
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Committed,
    /// Another process writes.
    Busy,
}

impl Disk {
    /// Opens the index in a folder, or in memory. One that cannot be read is made again.
    pub(crate) fn open(folder: Option<&Path>) -> Result<Self, SearchError> {
        let folder = folder.map(|folder| folder.join(format!("index-{VERSION}")));
        let opened = Self::open_at(folder.clone());
        match (opened, &folder) {
            (Err(error), Some(path)) if is_damage(&error) => {
                tracing::warn!(path = %path.display(), "the search index is made again: {error}");
                wipe(path)?;
                Self::open_at(folder)
            }
            (opened, _) => opened,
        }
    }

    fn open_at(folder: Option<PathBuf>) -> Result<Self, SearchError> {
        let fields = Fields::new();
        let builder = Index::builder()
            .schema(fields.schema.clone())
            .settings(Fields::settings())
            .tokenizers(schema::tokenizers());
        let mut index = match &folder {
            Some(path) => {
                create_private(path)?;
                builder.open_or_create(MmapDirectory::open(path).map_err(TantivyError::from)?)?
            }
            None => builder.open_or_create(RamDirectory::create())?,
        };
        schema::equip(&mut index);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let disk = Self { folder, fields, index, reader };
        // Reads what it says of itself, and opens every part of it.
        disk.snapshot(None)?;
        Ok(disk)
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns what was last committed, by whichever process.
    pub(crate) fn snapshot(&self, before: Option<&Snapshot>) -> Result<Snapshot, SearchError> {
        for _ in 0..LOOKS {
            let meta = self.index.load_metas()?;
            if let Some(before) = before.filter(|before| before.opstamp == meta.opstamp) {
                return Ok(before.clone());
            }
            self.reader.reload()?;
            // A commit in between would leave the documents of one beside the words of another.
            if self.index.load_metas()?.opstamp != meta.opstamp {
                continue;
            }
            let state = State::read(meta.payload.as_deref())
                .ok_or(SearchError::Damaged { what: "what it says of itself".to_owned() })?;
            return Snapshot::new(
                self.reader.searcher(),
                state,
                meta.opstamp,
                &self.fields,
                before,
            );
        }
        Err(SearchError::Busy)
    }

    /// Writes batches and commits them as one. Returns the build that each became part of; none for one that
    /// another process has overtaken. Nothing is written while another process is writing.
    pub(crate) fn write(
        &self,
        batches: &[&Batch],
        scrub: bool,
    ) -> Result<Option<Vec<Option<u64>>>, SearchError> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let mut writer: IndexWriter = match self.index.writer_with_options(options) {
            Ok(writer) => writer,
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        writer.set_merge_policy(merge_policy(scrub));
        let payload = self.index.load_metas()?.payload;
        let mut state = State::read(payload.as_deref())
            .ok_or(SearchError::Damaged { what: "what it says of itself".to_owned() })?;
        let mut classes = super::classes::Classes::new(&state.classes);
        let mut builds = Vec::with_capacity(batches.len());
        for batch in batches {
            builds.push(self.add(&writer, &mut state, &mut classes, batch)?);
        }
        state.classes = classes.into_list();
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&state.write());
        commit.commit()?;
        if scrub {
            self.scrub(&mut writer)?;
        }
        writer.wait_merging_threads()?;
        Ok(Some(builds))
    }

    fn add(
        &self,
        writer: &IndexWriter,
        state: &mut State,
        classes: &mut super::classes::Classes,
        batch: &Batch,
    ) -> Result<Option<u64>, SearchError> {
        let known = state.sessions.get(&batch.session).cloned();
        let current = known.clone().filter(|known| Some(known.build) == batch.build);
        let is_done =
            |known: &SessionState| known.revision.is_some() && known.revision >= batch.upto;
        if current.as_ref().is_some_and(is_done) || (batch.build.is_some() && current.is_none()) {
            return Ok(None);
        }
        if let (Some(known), None) = (&known, &current) {
            let spaces: Vec<Range<u64>> =
                known.spaces.values().map(|space| Space(*space).keys()).collect();
            delete(writer, spaces)?;
        }
        let mut session = current.unwrap_or_else(|| SessionState {
            mark: batch.mark.clone(),
            build: state.next_build(),
            revision: batch.upto,
            spaces: Default::default(),
            pieces: batch.pieces || known.is_some_and(|known| known.pieces),
        });
        session.revision = batch.upto;
        let (mut deleted, mut fresh) = (Vec::new(), Vec::new());
        for (segment, page, _) in &batch.pages {
            match session.spaces.get(segment) {
                Some(space) if fresh.contains(space) => {}
                Some(space) => deleted.push(Space(*space).page(*page)),
                None => {
                    let space = state.next_space().ok_or(SearchError::Full)?;
                    session.spaces.insert(segment.clone(), space.0);
                    fresh.push(space.0);
                }
            }
        }
        delete(writer, deleted)?;
        let pieces = session.pieces;
        for (segment, _, entries) in &batch.pages {
            let Some(space) = session.spaces.get(segment).copied().map(Space) else { continue };
            for entry in &**entries {
                let class = classes.number(&entry.class);
                let document = self.fields.document(space, entry, class, pieces);
                writer.add_document(document)?;
            }
        }
        let build = session.build;
        state.sessions.insert(batch.session.clone(), session);
        Ok(Some(build))
    }

    /// Writes everything again that has deleted documents in it, so that none of their words stay.
    fn scrub(&self, writer: &mut IndexWriter) -> Result<(), SearchError> {
        let metas = self.index.searchable_segment_metas()?;
        for meta in metas.iter().filter(|meta| meta.num_deleted_docs() > 0) {
            writer.merge(&[meta.id()]).wait()?;
        }
        writer.garbage_collect_files().wait()?;
        Ok(())
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) -> Result<Written, SearchError> {
        let mut writer: IndexWriter = match self.index.writer_with_num_threads(1, WRITER_BYTES) {
            Ok(writer) => writer,
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(Written::Busy),
            Err(error) => return Err(error.into()),
        };
        writer.delete_all_documents()?;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&State::default().write());
        commit.commit()?;
        writer.wait_merging_threads()?;
        Ok(Written::Committed)
    }

    /// Returns how many bytes it takes on disk.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let sizes = fs::read_dir(folder)?.map(|file| Ok(file?.metadata()?.len()));
        sizes.sum()
    }
}

/// Returns how parts of the index are joined. What is scrubbed must not be taken away meanwhile.
fn merge_policy(scrub: bool) -> Box<dyn MergePolicy> {
    if scrub {
        return Box::new(NoMergePolicy);
    }
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(0.3);
    Box::new(policy)
}

/// Deletes documents by their keys, many ranges at a time: each query opens every part of the index.
fn delete(writer: &IndexWriter, ranges: Vec<Range<u64>>) -> Result<(), SearchError> {
    if !ranges.is_empty() {
        writer.delete_query(Box::new(KeyRanges(ranges)))?;
    }
    Ok(())
}

/// Tells whether an index must be made again.
fn is_damage(error: &SearchError) -> bool {
    match error {
        SearchError::Damaged { .. } => true,
        SearchError::Index(error) => !matches!(
            error,
            TantivyError::IoError(_)
                | TantivyError::LockFailure(..)
                | TantivyError::OpenDirectoryError(_)
        ),
        _ => false,
    }
}

fn wipe(folder: &Path) -> Result<(), SearchError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Makes a folder that others cannot read: an index tells what the store says.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
