//! The index on disk: opening it, writing to it, reading what was last committed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use contexture_core::{Revision, SegmentId, SessionId};
use tantivy::{
    Index, IndexReader, ReloadPolicy, TantivyError,
    directory::{MmapDirectory, RamDirectory},
};

use super::{
    checked::CheckedDirectory,
    entry::Entry,
    schema::{self, Fields, VERSION},
    snapshot::Snapshot,
    state::{MarkHash, State},
    writing::{Rebuild, RebuildStart, Wanted, Writing},
};
use crate::{error::SearchError, follow::Anchor};

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
    /// That edit.
    pub(crate) anchor: Option<Anchor>,
    /// What the index has of the session must be of this build; none where it is to forget all of it first.
    pub(crate) build: Option<u64>,
    pub(crate) pages: Vec<ChangedPage>,
    /// Whether documents are to carry what vectors are made of. Those of a session that is there do as they did.
    pub(crate) pieces: bool,
}

/// A page that changed: its segment, its number and its documents, of which there are none if it is gone.
pub(crate) type ChangedPage = (SegmentId, u32, Arc<[Entry]>);

/// Whether an index that can be opened may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Yes,
    No,
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
        folder.into_iter().for_each(remove_earlier);
        let folder = folder.map(|folder| folder.join(format!("index-{VERSION}")));
        let opened = Self::open_at(folder.clone());
        match (opened, &folder) {
            (Err(error), Some(path)) if error.is_damage() => {
                tracing::warn!(path = %path.display(), "the search index is made again: {error}");
                wipe(path)?;
                Self::open_at(folder)
            }
            (opened, _) => opened,
        }
    }

    /// Opens it again after damage was noticed; one that cannot be read then either, or may not stay, is made again.
    pub(crate) fn reopen(&self, keep: Keep) -> Result<Self, SearchError> {
        let Some(path) = &self.folder else { return Self::open_at(None) };
        if keep == Keep::No {
            wipe(path)?;
        }
        match Self::open_at(Some(path.clone())) {
            Err(error) if error.is_damage() => {
                wipe(path)?;
                Self::open_at(Some(path.clone()))
            }
            opened => opened,
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
                let files = MmapDirectory::open(path).map_err(TantivyError::from)?;
                builder.open_or_create(CheckedDirectory::new(files))?
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
        let Some(mut writing) = Writing::begin(&self.index, &self.fields)? else { return Ok(None) };
        if scrub {
            writing.without_merges();
        }
        let builds: Result<_, SearchError> =
            batches.iter().map(|batch| writing.add(batch)).collect();
        let builds = builds?;
        let mut committed = writing.commit()?;
        if scrub {
            committed.scrub()?;
        }
        committed.merge()?;
        Ok(Some(builds))
    }

    /// Removes files of earlier commits, but for those that this process still reads.
    pub(crate) fn collect(&self) -> Result<Written, SearchError> {
        let Some(writing) = Writing::begin(&self.index, &self.fields)? else {
            return Ok(Written::Busy);
        };
        writing.collect()?;
        Ok(Written::Committed)
    }

    /// Begins to take in a session as a whole.
    pub(crate) fn rebuild(
        &self,
        session: &SessionId,
        mark: &MarkHash,
        wanted: Wanted,
    ) -> Result<RebuildStart, SearchError> {
        match Writing::begin(&self.index, &self.fields)? {
            Some(writing) => Rebuild::begin(writing, session, mark, wanted),
            None => Ok(RebuildStart::Busy),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) -> Result<Written, SearchError> {
        let Some(mut writing) = Writing::begin(&self.index, &self.fields)? else {
            return Ok(Written::Busy);
        };
        writing.clear()?;
        writing.commit()?.merge()?;
        Ok(Written::Committed)
    }

    /// Returns how many bytes it takes on disk.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let sizes = fs::read_dir(folder)?.map(|file| Ok(file?.metadata()?.len()));
        sizes.sum()
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

/// Removes indices of earlier versions: nobody takes purged words out of them any more.
fn remove_earlier(folder: &Path) {
    for version in 1..VERSION {
        let earlier = folder.join(format!("index-{version}"));
        if earlier.exists()
            && let Err(error) = wipe(&earlier)
        {
            tracing::warn!(path = %earlier.display(), "an index of an earlier version stays: {error}");
        }
    }
}
