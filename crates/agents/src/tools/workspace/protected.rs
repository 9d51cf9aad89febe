//! What lies in the project folder and is still not an agent's: stores, which are neither read nor
//! written as files, and the settings, agent files and programs that decide what runs, which are read
//! and not written.
//!
//! Files and folders are known by what they are ([`Identity`]) and not by how a path is spelt, so that a
//! symlink, a hard link, another case or a second name changes nothing. What is not there yet is known
//! by the folder it would be made in. Everything is looked up when a call begins: a store may have got
//! new files since the last one. Stores that nobody named are recognised when they are opened.

use std::{
    cell::OnceCell,
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use cap_fs_ext::MetadataExt;
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata},
};
use contexture_core::storage::signs;

use super::{
    place::{Identity, Place, Places, folded},
    recognise,
};
use crate::{catalog, settings::SettingsPlaces};

/// Names of folders that are not written into, wherever they are: they hold settings and agent files,
/// or what a repository keeps for itself.
const NAMES: [&str; 7] =
    [".contexture", ".gemini", ".claude", ".opencode", ".letta", ".codex", ".git"];

/// The folder that holds our own store when none is named.
const OURS: &str = ".contexture";

/// Files and folders that agents do not reach, or do not change. Relative paths count from the
/// project folder; what lies outside it is out of reach anyway.
#[derive(Debug, Clone, Default)]
pub struct Protected {
    databases: Vec<PathBuf>,
    stores: Vec<PathBuf>,
    settings: Vec<PathBuf>,
    kept: Vec<PathBuf>,
}

impl Protected {
    /// Adds a SQLite file with what SQLite keeps beside it: neither read nor written.
    #[must_use]
    pub fn database(mut self, file: impl Into<PathBuf>) -> Self {
        self.databases.push(file.into());
        self
    }

    /// Adds the folder of a store with everything below it: neither read nor written.
    #[must_use]
    pub fn store(mut self, folder: impl Into<PathBuf>) -> Self {
        self.stores.push(folder.into());
        self
    }

    /// Adds a file or folder that settings or agents are read from: not written, also where the whole
    /// project lies in it.
    #[must_use]
    pub fn settings(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.push(path.into());
        self
    }

    /// Adds a file or folder that is not written where it lies in the project. A project that lies in
    /// such a folder is still written.
    #[must_use]
    pub fn kept(mut self, path: impl Into<PathBuf>) -> Self {
        self.kept.push(path.into());
        self
    }

    /// Adds everything that decides what later runs do, wherever it lies: settings, agent files, and what
    /// other tools keep beside theirs.
    #[must_use]
    pub fn deciding(mut self, settings: &SettingsPlaces, agents: &catalog::Places) -> Self {
        let files = settings.paths().into_iter().chain(settings.config.clone());
        self = files.fold(self, Self::settings);
        for folder in agents.folders() {
            // Beside its agents lies what the other tool goes by.
            if let Some(whole) = folder.parent() {
                self = self.kept(whole);
            }
            self = self.settings(folder);
        }
        self
    }

    /// Looks up where everything is now.
    pub(super) fn look(&self, root: &Path) -> Guard {
        let mut guard = Guard::default();
        for file in &self.databases {
            for place in Place::all(&root.join(file)) {
                for end in signs::BESIDE {
                    let mut beside = OsString::from(&place.path);
                    beside.push(end);
                    Place::all(Path::new(&beside)).into_iter().for_each(|it| guard.stores.add(it));
                }
                guard.stores.add(place);
            }
        }
        for folder in &self.stores {
            let folder = root.join(folder);
            Place::all(&folder).into_iter().for_each(|it| guard.stores.add(it));
            guard.store_folders.push(folder);
        }
        let mut settings = HashSet::new();
        for place in self.settings.iter().flat_map(|path| Place::all(&root.join(path))) {
            settings.extend(place.here);
            guard.kept.add(place);
        }
        for path in self.kept.iter().chain(&repository(root)) {
            Place::all(&root.join(path)).into_iter().for_each(|it| guard.kept.add(it));
        }
        guard.root = guard.around(root, &settings);
        guard
    }
}

/// Returns where a project's repository keeps its state: a link or a file may lead to it.
fn repository(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    let pointer = fs::metadata(&git).ok().filter(|it| it.is_file() && it.len() < 64 * 1024);
    let pointer = pointer.and_then(|_| fs::read_to_string(&git).ok());
    let elsewhere =
        pointer.and_then(|pointer| Some(pointer.strip_prefix("gitdir:")?.trim().into()));
    [Some(git), elsewhere].into_iter().flatten().collect()
}

/// What a tool is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Why something is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It belongs to a store.
    Store,
    /// It decides what runs, and how.
    Kept,
}

/// What is protected, as it stands during one call.
#[derive(Debug, Default)]
pub(super) struct Guard {
    stores: Places,
    store_folders: Vec<PathBuf>,
    kept: Places,
    /// What the whole project lies in.
    root: Option<Refusal>,
    /// Files of stores that have a second name.
    linked: OnceCell<HashSet<Identity>>,
}

impl Guard {
    /// Judges a path before anything on it is opened, by its names alone.
    pub(super) fn path(&self, path: &Path, access: Access) -> Result<(), Refusal> {
        self.root.filter(|it| refuses(*it, access)).map_or(Ok(()), Err)?;
        let mut names = path.iter().map(folded);
        if access == Access::Write && names.clone().any(|name| NAMES.contains(&name.as_str())) {
            return Err(Refusal::Kept);
        }
        let is_database = path.file_name().is_some_and(|name| folded(name).contains(".db"));
        if is_database && names.any(|name| name == OURS) {
            return Err(Refusal::Store);
        }
        Ok(())
    }

    /// Judges names that are about to be gone through from a folder.
    pub(super) fn names(
        &self,
        folder: Identity,
        names: &[String],
        access: Access,
    ) -> Result<(), Refusal> {
        if self.stores.is_on_the_way(folder, names) {
            return Err(Refusal::Store);
        }
        if access == Access::Write && self.kept.is_on_the_way(folder, names) {
            return Err(Refusal::Kept);
        }
        Ok(())
    }

    /// Judges a folder that was opened.
    pub(super) fn folder(
        &self,
        dir: &Dir,
        identity: Identity,
        access: Access,
    ) -> Result<(), Refusal> {
        if self.stores.is_here(identity) || recognise::is_store_of_files(dir) {
            return Err(Refusal::Store);
        }
        if access == Access::Write && self.kept.is_here(identity) {
            return Err(Refusal::Kept);
        }
        Ok(())
    }

    /// Judges a file by what it is, without opening it: closing a database that this process has open
    /// would drop its locks.
    pub(super) fn file(&self, metadata: &Metadata, access: Access) -> Result<(), Refusal> {
        let identity = Identity::of(metadata);
        if self.stores.is_here(identity) {
            return Err(Refusal::Store);
        }
        if metadata.nlink() > 1 && self.linked().contains(&identity) {
            return Err(Refusal::Store);
        }
        if access == Access::Write && self.kept.is_here(identity) {
            return Err(Refusal::Kept);
        }
        Ok(())
    }

    /// Judges a file by what it holds.
    pub(super) fn opened(
        &self,
        file: &mut File,
        metadata: &Metadata,
    ) -> io::Result<Option<Refusal>> {
        let found = recognise::is_of_a_store(file, metadata.nlink())?;
        Ok(found.then_some(Refusal::Store))
    }

    /// Judges a name, taken or not, by the database it would lie beside.
    pub(super) fn beside(&self, dir: &Dir, name: &OsStr) -> Result<(), Refusal> {
        let Some(database) = recognise::database_beside(name) else { return Ok(()) };
        let Ok(metadata) = dir.symlink_metadata(database) else { return Ok(()) };
        if !metadata.is_file() {
            return Ok(());
        }
        self.file(&metadata, Access::Read)?;
        let opened = dir.open_with(database, &recognise::reading());
        let judged = opened.and_then(|mut file| self.opened(&mut file, &metadata));
        judged.ok().flatten().map_or(Ok(()), Err)
    }

    /// Returns what a project folder lies in, or is.
    fn around(&self, root: &Path, settings: &HashSet<Identity>) -> Option<Refusal> {
        let folders = root.ancestors().filter_map(|path| {
            let dir = Dir::open_ambient_dir(path, ambient_authority()).ok()?;
            let identity = Identity::of_folder(&dir).ok()?;
            Some((dir, identity))
        });
        let refusals = folders.filter_map(|(dir, identity)| {
            let store = self.folder(&dir, identity, Access::Read).err();
            store.or_else(|| settings.contains(&identity).then_some(Refusal::Kept))
        });
        // In a store nothing is even read.
        refusals.max_by_key(|refusal| *refusal == Refusal::Store)
    }

    fn linked(&self) -> &HashSet<Identity> {
        self.linked.get_or_init(|| {
            let mut linked = HashSet::new();
            let mut folders = self.store_folders.clone();
            while let Some(folder) = folders.pop() {
                let Ok(entries) = fs::read_dir(folder) else { continue };
                for entry in entries.flatten() {
                    // Symlinks are not followed: a store does not, either.
                    let Ok(metadata) = entry.metadata() else { continue };
                    if metadata.is_dir() {
                        folders.push(entry.path());
                    } else if MetadataExt::nlink(&metadata) > 1 {
                        linked.insert(Identity::of(&metadata));
                    }
                }
            }
            linked
        })
    }
}

fn refuses(refusal: Refusal, access: Access) -> bool {
    refusal == Refusal::Store || access == Access::Write
}
