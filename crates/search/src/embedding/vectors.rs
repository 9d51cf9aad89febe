//! The vectors of a store: those in memory, those on disk, and whom to ask for more.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
    time::Instant,
};

use contexture_core::storage::ContentHash;

use super::{
    Embedder, EmbedderError, EmbeddingLimits,
    file::{self, Header, VectorFile},
    table::Table,
    vector::Vector,
};

/// Changes whenever files of before cannot be read any more.
const VERSION: u32 = 1;

/// Stands in the folder while vectors of purged texts may be there.
const UNSCRUBBED: &str = "unscrubbed";

/// The vectors of a store.
pub(crate) struct Vectors {
    /// Where vectors are kept; none: in memory alone.
    folder: Option<PathBuf>,
    embedder: Option<(Arc<dyn Embedder>, VectorFile)>,
    pub(super) limits: EmbeddingLimits,
    held: RwLock<Held>,
    /// When the embedder failed, and how.
    failed: Mutex<Option<(Instant, EmbedderError)>>,
}

#[derive(Default)]
struct Held {
    table: Table,
    header: Option<Header>,
    /// How much of the file is in the table.
    offset: u64,
    /// The generation, where there is no file.
    generation: u64,
}

impl Vectors {
    /// Opens the vectors beside an index. Nothing is read before it is needed.
    pub(crate) fn new(
        folder: Option<&Path>,
        embedder: Option<Arc<dyn Embedder>>,
        limits: EmbeddingLimits,
    ) -> Self {
        let folder = folder.map(|folder| folder.join(format!("vectors-{VERSION}")));
        let embedder = embedder.map(|embedder| {
            let name = ContentHash::of(embedder.name().as_bytes()).to_string();
            let file = VectorFile::new(
                folder.as_deref().unwrap_or(Path::new("")),
                &format!("{}.vectors", &name[..32]),
            );
            (embedder, file)
        });
        Self { folder, embedder, limits, held: RwLock::default(), failed: Mutex::default() }
    }

    /// Returns whom to ask for vectors.
    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref().map(|(embedder, _)| embedder)
    }

    /// Returns the vectors in memory.
    pub(crate) fn table(&self) -> impl std::ops::Deref<Target = Table> + '_ {
        struct Guard<'a>(RwLockReadGuard<'a, Held>);
        impl std::ops::Deref for Guard<'_> {
            type Target = Table;
            fn deref(&self) -> &Table {
                &self.0.table
            }
        }
        Guard(self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes in what any process has added; returns the generation of what is there.
    ///
    /// What is made of texts read after this may be [added](Self::add) under that generation.
    pub(super) fn refresh(&self) -> io::Result<u64> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let (Some(folder), Some((_, file))) = (&self.folder, &self.embedder) else {
            return Ok(held.generation);
        };
        create_private(folder)?;
        let generation = file.begin()?;
        let Held { table, header, offset, .. } = &mut *held;
        match file.read(*header, *offset, table)? {
            Some((read, end)) => {
                (*header, *offset) = (Some(read), end);
                Ok(read.generation)
            }
            None => {
                // Another process has just removed it.
                *held = Held::default();
                Ok(generation)
            }
        }
    }

    /// Adds vectors of texts that were read in a generation. If vectors were removed since, these are not added: their
    /// texts may be gone as well.
    pub(super) fn add(
        &self,
        generation: u64,
        vectors: &[(u64, Vector)],
    ) -> Result<(), EmbedderError> {
        let Some((_, first)) = vectors.first() else { return Ok(()) };
        let got = first.dimensions();
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let wanted = match held.table.dimensions() {
            0 => got,
            known => known,
        };
        let fits =
            |vectors: &[(u64, Vector)]| vectors.iter().all(|(_, it)| it.dimensions() == wanted);
        if !fits(vectors) {
            return Err(self.misfit(wanted, got));
        }
        let (Some(folder), Some((_, file))) = (&self.folder, &self.embedder) else {
            if held.generation == generation {
                vectors.iter().for_each(|(hash, vector)| held.table.insert(*hash, vector));
            }
            return Ok(());
        };
        let unavailable = |error: io::Error| EmbedderError::Unavailable {
            reason: format!("vectors cannot be kept in {}: {error}", folder.display()),
        };
        let kept = file.add(generation, vectors).map_err(unavailable)?;
        drop(held);
        if kept != got {
            return Err(self.misfit(kept, got));
        }
        self.refresh().map_err(unavailable).map(|_| ())
    }

    fn misfit(&self, wanted: usize, got: usize) -> EmbedderError {
        let folder = self.folder.as_ref().map(|folder| folder.display().to_string());
        let folder = folder.unwrap_or_else(|| "of the search index".to_owned());
        EmbedderError::Dimensions { wanted, got, folder }
    }

    /// Returns whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.table().bytes() < self.limits.bytes
    }

    /// Notes that vectors of purged texts may be there, until [`keep`](Self::keep) has removed them.
    pub(crate) fn note_unscrubbed(&self) -> io::Result<()> {
        match self.folder.as_ref().filter(|folder| folder.exists()) {
            Some(folder) => fs::write(folder.join(UNSCRUBBED), ""),
            None => Ok(()),
        }
    }

    /// Returns whether a process was killed before it removed vectors of purged texts.
    pub(crate) fn is_unscrubbed(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.join(UNSCRUBBED).exists())
    }

    /// Keeps only the vectors of some texts, of whatever model.
    pub(crate) fn keep(&self, is_kept: &dyn Fn(u64) -> bool) -> io::Result<()> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let Some(folder) = self.folder.as_ref().filter(|folder| folder.exists()) else {
            let mut table = Table::default();
            let kept = held.table.vectors().filter(|(hash, _)| is_kept(*hash));
            kept.for_each(|(hash, vector)| table.insert(hash, &vector));
            *held = Held { table, generation: held.generation + 1, ..Held::default() };
            return Ok(());
        };
        for name in file::names(folder)? {
            VectorFile::new(folder, &name).keep(is_kept)?;
        }
        // Read again when they are next needed.
        *held = Held::default();
        match fs::remove_file(folder.join(UNSCRUBBED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns why the embedder is not to be asked now; none where it may be.
    pub(super) fn resting(&self) -> Option<EmbedderError> {
        let mut failed = self.lock_failed();
        if failed.as_ref().is_some_and(|(when, _)| when.elapsed() >= self.limits.rest) {
            *failed = None;
        }
        failed.as_ref().map(|(_, error)| error.clone())
    }

    /// Notes that the embedder failed.
    pub(super) fn rest(&self, error: &EmbedderError) {
        *self.lock_failed() = Some((Instant::now(), error.clone()));
    }

    fn lock_failed(&self) -> MutexGuard<'_, Option<(Instant, EmbedderError)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a folder that others cannot read: a vector tells what its text says.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
