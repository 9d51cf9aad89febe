//! How far a call reaches: every path is walked from the open project folder, one name at a time, and
//! each folder and file on the way is judged as it was opened.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, File, Metadata};

use super::{
    Failed, failed,
    folder::{io_failure, show},
    place::{Identity, folded},
    protected::{Access, Guard, Refusal},
    recognise::reading,
};

/// The project folder during one call.
pub(super) struct Reach<'a> {
    root: &'a Dir,
    guard: Guard,
}

/// An open folder of the project which no rule refuses to open.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) dir: Dir,
    /// Where it lies, relative to the project folder.
    pub(super) path: PathBuf,
    identity: Identity,
}

/// What a path leads to.
pub(super) enum OpenedPath {
    Folder(Folder),
    File(File, Metadata),
}

impl<'a> Reach<'a> {
    pub(super) fn new(root: &'a Dir, guard: Guard) -> Self {
        Self { root, guard }
    }

    /// Opens what a path leads to, for reading; symlinks are followed while they stay inside.
    pub(super) fn open(&self, path: &Path) -> Result<OpenedPath, Failed> {
        let real = self.real(path)?;
        let refuse = |refusal| refused(path, refusal);
        self.guard.path(&real, Access::Read).map_err(refuse)?;
        let names: Vec<String> = real.iter().map(folded).collect();
        let mut folder = self.root(path)?;
        for (at, name) in real.iter().enumerate() {
            self.guard.names(folder.identity, &names[at..], Access::Read).map_err(refuse)?;
            let is_last = at + 1 == names.len();
            let is_folder = || folder.dir.symlink_metadata(name).map(|found| found.is_dir());
            if is_last && !is_folder().map_err(|error| io_failure(path, &error))? {
                let (file, metadata) = self.open_in(&folder, name, path)?;
                return Ok(OpenedPath::File(file, metadata));
            }
            folder = self.enter(&folder, name, path, Access::Read)?;
        }
        Ok(OpenedPath::Folder(folder))
    }

    /// Opens a regular file for reading.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, Metadata), Failed> {
        match self.open(path)? {
            OpenedPath::File(file, metadata) => Ok((file, metadata)),
            OpenedPath::Folder(_) => failed(is_folder(path)),
        }
    }

    /// Opens a regular file of a folder for reading, through no symlink.
    pub(super) fn open_in(
        &self,
        folder: &Folder,
        name: &OsStr,
        path: &Path,
    ) -> Result<(File, Metadata), Failed> {
        let wrong = |error: io::Error| io_failure(path, &error);
        let refuse = |refusal| refused(path, refusal);
        // Before it is opened, because opening and closing a file may do something to it.
        let before = folder.dir.symlink_metadata(name).map_err(wrong)?;
        regular(path, &before)?;
        self.guard.names(folder.identity, &[folded(name)], Access::Read).map_err(refuse)?;
        self.guard.file(&before, Access::Read).map_err(refuse)?;
        self.guard.beside(&folder.dir, name).map_err(refuse)?;
        let mut file = folder.dir.open_with(name, &reading()).map_err(wrong)?;
        // And again, because another may have taken its place.
        let metadata = file.metadata().map_err(wrong)?;
        regular(path, &metadata)?;
        self.guard.file(&metadata, Access::Read).map_err(refuse)?;
        match self.guard.opened(&mut file, &metadata).map_err(wrong)? {
            Some(refusal) => Err(refuse(refusal)),
            None => Ok((file, metadata)),
        }
    }

    /// Opens a folder of a folder, through no symlink.
    pub(super) fn enter(
        &self,
        folder: &Folder,
        name: &OsStr,
        path: &Path,
        access: Access,
    ) -> Result<Folder, Failed> {
        let wrong = |error: io::Error| io_failure(path, &error);
        let dir = folder.dir.open_dir_nofollow(name).map_err(wrong)?;
        let identity = Identity::of_folder(&dir).map_err(wrong)?;
        self.guard.folder(&dir, identity, access).map_err(|refusal| refused(path, refusal))?;
        Ok(Folder { dir, path: folder.path.join(name), identity })
    }

    /// Tells whether a walk passes a name of a folder over, because a store has it.
    pub(super) fn is_passed_over(&self, folder: &Folder, name: &OsStr) -> bool {
        let path = self.guard.path(&folder.path.join(name), Access::Read);
        path.and_then(|()| self.guard.names(folder.identity, &[folded(name)], Access::Read))
            .is_err()
    }

    /// Opens the folder a file is to be written in, and returns it with the file's name. No symlink
    /// is gone through; with `make` folders that are missing are made.
    pub(super) fn open_parent(
        &self,
        path: &Path,
        make: bool,
    ) -> Result<(Folder, OsString), Failed> {
        let Some(name) = path.file_name() else {
            return failed("this is the project folder itself, not a file");
        };
        let refuse = |refusal| refused(path, refusal);
        self.guard.path(path, Access::Write).map_err(refuse)?;
        let names: Vec<String> = path.iter().map(folded).collect();
        let mut folder = self.root(path)?;
        for (at, part) in path.iter().enumerate() {
            self.guard.names(folder.identity, &names[at..], Access::Write).map_err(refuse)?;
            if at + 1 < names.len() {
                folder = self.enter_or_make(&folder, part, make)?;
            }
        }
        self.guard.beside(&folder.dir, name).map_err(refuse)?;
        Ok((folder, name.to_owned()))
    }

    fn enter_or_make(&self, folder: &Folder, name: &OsStr, make: bool) -> Result<Folder, Failed> {
        let walked = folder.path.join(name);
        match folder.dir.symlink_metadata(name) {
            Ok(found) if found.is_symlink() => return failed(through_link(&walked)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && make => {
                match folder.dir.create_dir(name) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(io_failure(&walked, &error));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        self.enter(folder, name, &walked, Access::Write)
    }

    /// Returns what stands where a file is to be written: nothing, or a regular file that may be
    /// replaced.
    pub(super) fn replaceable(
        &self,
        folder: &Folder,
        name: &OsStr,
        path: &Path,
    ) -> Result<Option<Metadata>, Failed> {
        let found = match folder.dir.symlink_metadata(name) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_failure(path, &error)),
        };
        if found.is_symlink() {
            return failed(through_link(path));
        }
        if found.is_dir() {
            return failed(format!("{} is a folder", show(path)));
        }
        if !found.is_file() {
            return failed(format!("{} is a device, pipe or socket, not a file", show(path)));
        }
        let refuse = |refusal| refused(path, refusal);
        self.guard.file(&found, Access::Write).map_err(refuse)?;
        // What cannot be read is no store of ours, and may be replaced.
        let judged = folder.dir.open_with(name, &reading()).and_then(|mut file| {
            let metadata = file.metadata()?;
            self.guard.opened(&mut file, &metadata)
        });
        judged.ok().flatten().map_or(Ok(Some(found)), |refusal| Err(refuse(refusal)))
    }

    fn root(&self, path: &Path) -> Result<Folder, Failed> {
        let wrong = |error: io::Error| io_failure(path, &error);
        let dir = self.root.try_clone().map_err(wrong)?;
        let identity = Identity::of_folder(&dir).map_err(wrong)?;
        Ok(Folder { dir, path: PathBuf::new(), identity })
    }

    /// Returns where a path leads inside the folder, all symlinks followed; empty for the root.
    fn real(&self, path: &Path) -> Result<PathBuf, Failed> {
        if path.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        let real = self.root.canonicalize(path).map_err(|error| io_failure(path, &error))?;
        Ok(real.components().filter(|part| !matches!(part, Component::CurDir)).collect())
    }
}

/// Says that a folder is not read as a file is.
fn is_folder(path: &Path) -> String {
    format!("{} is a folder: list_files shows what is in it", show(path))
}

/// Says that a path would be written through a symlink.
fn through_link(path: &Path) -> String {
    format!("permission denied: {} is a symlink, and nothing is written through one", show(path))
}

/// Says why a path is out of reach.
fn refused(path: &Path, refusal: Refusal) -> Failed {
    let path = show(path);
    Failed(match refusal {
        Refusal::Store => format!(
            "permission denied: {path} belongs to a context store, which is not reached as files: the tools on your context show what you may see of it"
        ),
        Refusal::Kept => format!(
            "permission denied: {path} is not written: settings, agent files, repositories' own state and this program are not an agent's to change"
        ),
    })
}

fn regular(path: &Path, metadata: &Metadata) -> Result<(), Failed> {
    if metadata.is_file() {
        return Ok(());
    }
    if metadata.is_dir() {
        return failed(is_folder(path));
    }
    failed(format!(
        "{} is not a regular file: devices, pipes and sockets are not opened",
        show(path)
    ))
}
