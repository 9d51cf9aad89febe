//! The project folder as an open handle: paths, what may be read, what may be written.

use std::{
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

use cap_fs_ext::{DirExt, OpenOptionsSyncExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};

use super::{Failed, failed};
use crate::tools::shorten;

/// Files larger than this are neither searched nor edited.
pub(super) const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// How many bytes are looked at to tell text from other data.
pub(super) const PROBE: usize = 8 * 1024;

/// Folders an agent does not write into: its own settings and agent files, and what a repository
/// keeps for itself.
const PROTECTED: [&str; 7] =
    [".contexture", ".gemini", ".claude", ".opencode", ".letta", ".codex", ".git"];

/// The folder that holds our own store.
const STORE: &str = ".contexture";

/// A project folder, held open.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    dir: Dir,
    /// Files that are neither read nor written, relative to the root.
    refused: Vec<PathBuf>,
}

impl Workspace {
    /// Opens a folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { root, dir, refused: Vec::new() })
    }

    /// Refuses to read or write files, such as those of a store that lies in the folder. Relative paths
    /// count from the folder; what lies outside it is out of reach anyway.
    #[must_use]
    pub fn refusing(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        for file in files {
            let file = self.root.join(file);
            // The file itself may not be there yet; the folder it will be in decides where it lies.
            let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
            let lies = folder.zip(file.file_name()).map(|(folder, name)| folder.join(name));
            for path in [file.canonicalize().ok(), lies, Some(file)].into_iter().flatten() {
                self.refused.extend(path.strip_prefix(&self.root).ok().map(Path::to_owned));
            }
        }
        self
    }

    /// Tells whether a path, symlinks followed, is a file of a store.
    fn is_store(&self, real: &Path) -> bool {
        // Not every system tells upper case from lower.
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        is_store(real) || self.refused.iter().any(|refused| lower(refused) == lower(real))
    }

    /// Returns the folder's own path, without symlinks.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads a path a model wrote: relative to the root, without `.` and `..`; empty for the root.
    pub(super) fn path(&self, text: &str) -> Result<PathBuf, Failed> {
        if text.contains('\0') {
            return failed("a path cannot hold a NUL character");
        }
        let given = Path::new(text);
        let relative = match given.strip_prefix(&self.root) {
            Ok(inside) => inside,
            Err(_) if given.is_absolute() || given.has_root() => return outside(text),
            Err(_) => given,
        };
        let mut path = PathBuf::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir if path.pop() => {}
                _ => return outside(text),
            }
        }
        Ok(path)
    }

    /// Opens a regular file for reading; symlinks are followed while they stay inside.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, Metadata), Failed> {
        let real = self.real(path)?;
        if self.is_store(&real) {
            return failed(format!(
                "{} is the context store: it is not read as a file",
                show(path)
            ));
        }
        let before = self.dir.metadata(&real).map_err(|error| told(path, &error))?;
        regular(path, &before)?;
        let mut options = OpenOptions::new();
        // Should a pipe have taken the file's place meanwhile, opening it must not wait for a writer.
        options.read(true).nonblock(true);
        let file = self.dir.open_with(&real, &options).map_err(|error| told(path, &error))?;
        let metadata = file.metadata().map_err(|error| told(path, &error))?;
        regular(path, &metadata)?;
        Ok((file, metadata))
    }

    /// Returns where a path leads inside the folder, all symlinks followed; empty for the root.
    pub(super) fn real(&self, path: &Path) -> Result<PathBuf, Failed> {
        if path.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        let real = self.dir.canonicalize(path).map_err(|error| told(path, &error))?;
        Ok(real.components().filter(|part| !matches!(part, Component::CurDir)).collect())
    }

    /// Returns what stands at a path, symlinks followed while they stay inside.
    pub(super) fn metadata(&self, path: &Path) -> Result<Metadata, Failed> {
        if path.as_os_str().is_empty() {
            return self.dir.dir_metadata().map_err(|error| told(path, &error));
        }
        self.dir.metadata(path).map_err(|error| told(path, &error))
    }

    /// Opens the folder a file is to be written in, and returns it with the file's name. No symlink
    /// is gone through; with `make` folders that are missing are made.
    pub(super) fn open_parent(&self, path: &Path, make: bool) -> Result<(Dir, OsString), Failed> {
        let Some(name) = path.file_name() else {
            return failed("this is the project folder itself, not a file");
        };
        let protected = |part: &Component<'_>| {
            let part = part.as_os_str().to_string_lossy().to_lowercase();
            PROTECTED.contains(&part.as_str())
        };
        if let Some(part) = path.components().find(protected) {
            return failed(format!(
                "permission denied: nothing is written under {}: settings, agent files and repositories' own state are not an agent's to change",
                part.as_os_str().to_string_lossy()
            ));
        }
        // No symlink is gone through, so the path is where it lies.
        if self.is_store(path) {
            return failed(format!(
                "permission denied: {} is the context store: it is not written as a file",
                show(path)
            ));
        }
        let mut dir = self.dir.try_clone().map_err(|error| told(path, &error))?;
        let mut walked = PathBuf::new();
        for part in path.parent().into_iter().flat_map(Path::components) {
            walked.push(part);
            dir = self.step(&dir, part.as_os_str().as_ref(), &walked, make)?;
        }
        Ok((dir, name.to_owned()))
    }

    fn step(&self, dir: &Dir, part: &Path, walked: &Path, make: bool) -> Result<Dir, Failed> {
        if dir.symlink_metadata(part).is_ok_and(|found| found.is_symlink()) {
            return failed(through_link(walked));
        }
        match dir.open_dir_nofollow(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && make => {
                match dir.create_dir(part) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        Err(told(walked, &error))
                    }
                    _ => dir.open_dir_nofollow(part).map_err(|error| told(walked, &error)),
                }
            }
            opened => opened.map_err(|error| told(walked, &error)),
        }
    }
}

/// Says that a path would be written through a symlink.
pub(super) fn through_link(path: &Path) -> String {
    format!("permission denied: {} is a symlink, and nothing is written through one", show(path))
}

/// Shows a path to a model; the root is a dot.
pub(super) fn show(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return ".".to_owned();
    }
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Says what went wrong with a path.
pub(super) fn told(path: &Path, error: &io::Error) -> Failed {
    let path = show(path);
    Failed(match error.kind() {
        io::ErrorKind::NotFound => format!("no file {path}: list_files shows what there is"),
        io::ErrorKind::NotADirectory => format!("{path}: a part of the path is not a folder"),
        // The open folder refuses to be left with this, and says so.
        io::ErrorKind::PermissionDenied => format!(
            "permission denied: {path} cannot be opened, or leads out of the project folder"
        ),
        _ => format!("{path}: {error}"),
    })
}

/// Tells whether a path, symlinks followed, is a file of our own store.
fn is_store(real: &Path) -> bool {
    let lower = |part: &std::ffi::OsStr| part.to_string_lossy().to_lowercase();
    let name = real.file_name().map(lower).unwrap_or_default();
    real.iter().any(|part| lower(part) == STORE) && name.contains(".db")
}

fn outside<T>(text: &str) -> Result<T, Failed> {
    failed(format!(
        "permission denied: {} lies outside the project folder",
        shorten(&text.replace(char::is_control, " "), 200)
    ))
}

fn regular(path: &Path, metadata: &Metadata) -> Result<(), Failed> {
    if metadata.is_file() {
        return Ok(());
    }
    if metadata.is_dir() {
        return failed(format!("{} is a folder: list_files shows what is in it", show(path)));
    }
    failed(format!("{} is no regular file: a device, pipe or socket is not opened", show(path)))
}
