//! The project folder as an open handle, and how paths are read and shown.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};

use super::{Failed, failed, protected::Protected, reach::Reach};
use crate::tools::shorten;

/// Files larger than this are neither searched nor edited.
pub(super) const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// How many bytes are looked at to tell text from other data.
pub(super) const PROBE: usize = 8 * 1024;

/// A project folder, held open.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    dir: Dir,
    protected: Protected,
}

impl Workspace {
    /// Opens a folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { root, dir, protected: Protected::default() })
    }

    /// Keeps agents off what is not theirs, beside what is always protected: every store that can be
    /// recognised, and folders of settings, agent files and repositories by their names.
    #[must_use]
    pub fn protecting(mut self, protected: Protected) -> Self {
        self.protected = protected;
        self
    }

    /// Returns the folder's own path, without symlinks.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Begins a call: looks up where everything protected is now.
    pub(super) fn reach(&self) -> Reach<'_> {
        Reach::new(&self.dir, self.protected.look(&self.root))
    }

    /// Reads a path a model wrote: relative to the root, without `.` and `..`; empty for the root.
    pub(super) fn path(&self, text: &str) -> Result<PathBuf, Failed> {
        if text.contains('\0') {
            return failed("a path cannot contain a NUL character");
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
pub(super) fn io_failure(path: &Path, error: &io::Error) -> Failed {
    let path = show(path);
    Failed(match error.kind() {
        io::ErrorKind::NotFound => format!("no file {path}: list_files shows which files exist"),
        io::ErrorKind::NotADirectory => format!("{path}: a part of the path is not a folder"),
        // The open folder refuses to be left with this, and says so.
        io::ErrorKind::PermissionDenied => format!(
            "permission denied: {path} cannot be opened, or leads out of the project folder"
        ),
        _ => format!("{path}: {error}"),
    })
}

fn outside<T>(text: &str) -> Result<T, Failed> {
    failed(format!(
        "permission denied: {} lies outside the project folder",
        shorten(&text.replace(char::is_control, " "), 200)
    ))
}
