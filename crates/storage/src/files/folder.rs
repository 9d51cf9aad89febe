//! The folder on disk: every path is walked from an open handle, part by part, and no symlink is
//! ever followed below it. Folders are made 0700, files 0600.

use std::{
    collections::HashMap,
    fs::{File, FileTimes},
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use contexture_core::storage::StorageError;
use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, mkdirat, openat, renameat,
        renameat_with, statat, unlinkat,
    },
    io::Errno,
};

use super::{overlay::Overlay, record::corrupt};

/// More than any file we write has; what claims to be larger is not read.
const LARGEST: u64 = 1 << 30;

/// What is wrong with a file that is written in place and has another name.
pub(crate) const OTHER_NAMES: &str = "it is a hard link: the same file has another name too";

/// What tells one state of a file from another without reading it.
///
/// We choose the time ourselves, to the nanosecond, when we write a file. Whoever else writes it gets
/// the system's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Nanoseconds since 1970.
    pub(crate) time: i64,
    pub(crate) size: i64,
}

impl Stamp {
    #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
    fn of(stat: &Stat) -> Self {
        let seconds = i64::try_from(stat.st_mtime).unwrap_or_default();
        let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let time = seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self { time, size: i64::try_from(stat.st_size).unwrap_or(i64::MAX) }
    }
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    root: OwnedFd,
    /// What stands before the files, where nothing can be written.
    overlay: RwLock<Arc<Overlay>>,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, StorageError> {
        let root = File::open(path).map_err(|error| refused(path, &error))?;
        Ok(Self { path: path.to_owned(), root: root.into(), overlay: RwLock::default() })
    }

    /// Lets files be read as if this were in place.
    pub(crate) fn set_overlay(&self, overlay: Overlay) {
        *self.overlay.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(overlay);
    }

    fn overlay(&self) -> Arc<Overlay> {
        self.overlay.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at many files, opening each folder once.
    pub(crate) fn look(&self) -> Look<'_> {
        Look { folder: self, overlay: self.overlay(), open: HashMap::new() }
    }

    /// Opens a folder below; none where there is none.
    fn folder(&self, path: &str) -> Result<Option<OwnedFd>, StorageError> {
        let mut at: Option<OwnedFd> = None;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let opened = match &at {
                Some(above) => openat(above, part, FOLDER, Mode::empty()),
                None => openat(&self.root, part, FOLDER, Mode::empty()),
            };
            at = match opened {
                Ok(folder) => Some(folder),
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(self.fault(path, error)),
            };
        }
        match at {
            Some(folder) => Ok(Some(folder)),
            None => openat(&self.root, ".", FOLDER, Mode::empty())
                .map(Some)
                .map_err(|error| self.fault(path, error)),
        }
    }

    /// Opens a folder below, making it and all above it where they are missing.
    pub(crate) fn make(&self, path: &str) -> Result<OwnedFd, StorageError> {
        if let Some(folder) = self.folder(path)? {
            return Ok(folder);
        }
        let (above, name) = split(path);
        let above = self.make(above)?;
        match mkdirat(&above, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(self.fault(path, error)),
        }
        openat(&above, name, FOLDER, Mode::empty()).map_err(|error| self.fault(path, error))
    }

    /// Opens a file of our own to be read and written, making it where it is missing.
    pub(crate) fn open_file(&self, path: &str) -> Result<File, StorageError> {
        let (folder, name) = split(path);
        let folder = self.make(folder)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR);
        let file = file.map(File::from).map_err(|error| self.fault(path, error))?;
        let meta = file.metadata().map_err(|error| refused(&self.path.join(path), &error))?;
        // It is written in place: a file of somebody else that goes by this name must not be.
        if meta.nlink() > 1 {
            return Err(corrupt(path, OTHER_NAMES));
        }
        Ok(file)
    }

    /// Opens a file of our own to be read; none where there is none.
    pub(crate) fn open_to_read(&self, path: &str) -> Result<Option<File>, StorageError> {
        let (folder, name) = split(path);
        let Some(folder) = self.folder(folder)? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&folder, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.fault(path, error)),
        }
    }

    /// Writes a new file.
    pub(crate) fn write(&self, path: &str, bytes: &[u8], time: i64) -> Result<(), StorageError> {
        let (folder, name) = split(path);
        let folder = self.make(folder)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR);
        let mut file = file.map(File::from).map_err(|error| self.fault(path, error))?;
        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(time.unsigned_abs());
        let written = file
            .write_all(bytes)
            .and_then(|()| file.set_times(FileTimes::new().set_modified(time)));
        if let Err(error) = written {
            // What is half written would only take room that is short.
            let _ = unlinkat(&folder, name, AtFlags::empty());
            return Err(refused(&self.path.join(path), &error));
        }
        Ok(())
    }

    /// Puts a file or folder in another's place, making the folder it goes to.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let ((from_folder, from_name), (to_folder, to_name)) = (split(from), split(to));
        let from_folder =
            self.folder(from_folder)?.ok_or_else(|| self.fault(from, Errno::NOENT))?;
        let to_folder = self.make(to_folder)?;
        renameat(&from_folder, from_name, &to_folder, to_name)
            .map_err(|error| self.fault(to, error))
    }

    /// Puts two folders in each other's place, in one step.
    pub(crate) fn exchange(&self, one: &str, other: &str) -> Result<(), StorageError> {
        let ((one_folder, one_name), (other_folder, other_name)) = (split(one), split(other));
        let missing = |path: &str| self.fault(path, Errno::NOENT);
        let one_folder = self.folder(one_folder)?.ok_or_else(|| missing(one))?;
        let other_folder = self.folder(other_folder)?.ok_or_else(|| missing(other))?;
        let flags = RenameFlags::EXCHANGE;
        renameat_with(&one_folder, one_name, &other_folder, other_name, flags)
            .map_err(|error| self.fault(other, error))
    }

    /// Removes a file; none is as good.
    pub(crate) fn remove(&self, path: &str) -> Result<(), StorageError> {
        let (folder, name) = split(path);
        let Some(folder) = self.folder(folder)? else { return Ok(()) };
        match unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.fault(path, error)),
        }
    }

    /// Removes a folder with all it holds; none is as good.
    pub(crate) fn remove_all(&self, path: &str) -> Result<(), StorageError> {
        for entry in self.list(path)? {
            let below = format!("{path}/{}", entry.name);
            match entry.form {
                Form::Folder => self.remove_all(&below)?,
                Form::File | Form::Other => self.remove(&below)?,
            }
        }
        let (above, name) = split(path);
        let Some(above) = self.folder(above)? else { return Ok(()) };
        match unlinkat(&above, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.fault(path, error)),
        }
    }

    /// Lists a folder by name; a missing one is empty.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Entry>, StorageError> {
        let fault = |error| self.fault(path, error);
        let overlay = self.overlay();
        let Some(folder) = self.folder(path)? else { return Ok(overlay.listed(path, Vec::new())) };
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = String::from_utf8_lossy(entry.file_name().to_bytes()).into_owned();
            if name == "." || name == ".." {
                continue;
            }
            let mut form = entry.file_type();
            if form == FileType::Unknown {
                let stat = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                form = FileType::from_raw_mode(stat.map_err(fault)?.st_mode);
            }
            let form = match form {
                FileType::Directory => Form::Folder,
                FileType::RegularFile => Form::File,
                _ => Form::Other,
            };
            entries.push(Entry { name, form });
        }
        let mut entries = overlay.listed(path, entries);
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// Sees to it that everything written so far survives a power cut.
    pub(crate) fn sync(&self) -> Result<(), StorageError> {
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&self.root).map_err(|error| self.fault("", error))?;
        #[cfg(not(target_os = "linux"))]
        rustix::fs::sync();
        Ok(())
    }

    fn fault(&self, path: &str, error: Errno) -> StorageError {
        match error {
            Errno::LOOP | Errno::MLINK => corrupt(path, "it is a symlink, which is never followed"),
            Errno::NOTDIR => corrupt(path, "there is a file or a symlink where a folder should be"),
            Errno::ISDIR => corrupt(path, "there is a folder where a file should be"),
            error => refused(&self.path.join(path), &error.into()),
        }
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What lies in a folder.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Folder,
    File,
    Other,
}

/// Looks at many files, opening each folder once.
pub(crate) struct Look<'a> {
    folder: &'a Folder,
    overlay: Arc<Overlay>,
    open: HashMap<String, Option<OwnedFd>>,
}

impl Look<'_> {
    fn at(&mut self, folder: &str) -> Result<Option<&OwnedFd>, StorageError> {
        if !self.open.contains_key(folder) {
            if self.open.len() > 256 {
                self.open.clear();
            }
            self.open.insert(folder.to_owned(), self.folder.folder(folder)?);
        }
        Ok(self.open[folder].as_ref())
    }

    /// Returns a file's stamp; none where there is no file.
    pub(crate) fn stamp(&mut self, path: &str) -> Result<Option<Stamp>, StorageError> {
        if let Some(file) = self.overlay.file(path) {
            return Ok(file.map(|(_, stamp)| stamp));
        }
        let (folder, name) = split(path);
        let Some(above) = self.at(folder)? else { return Ok(None) };
        match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Ok(Some(Stamp::of(&stat))),
                FileType::Symlink => Err(self.folder.fault(path, Errno::LOOP)),
                FileType::Directory => Err(self.folder.fault(path, Errno::ISDIR)),
                _ => Err(corrupt(path, "it is not a regular file")),
            },
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.folder.fault(path, error)),
        }
    }

    /// Reads a file with its stamp; none where there is no file.
    pub(crate) fn read(&mut self, path: &str) -> Result<Option<(Vec<u8>, Stamp)>, StorageError> {
        if let Some(file) = self.overlay.file(path) {
            return Ok(file.map(|(bytes, stamp)| (bytes.to_vec(), stamp)));
        }
        let (folder, name) = split(path);
        let Some(above) = self.at(folder)? else { return Ok(None) };
        // Not to wait where somebody put a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(above, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.folder.fault(path, error)),
        };
        let failed = |error: io::Error| refused(&self.folder.path.join(path), &error);
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Err(self.folder.fault(path, Errno::ISDIR));
        }
        if !meta.is_file() {
            return Err(corrupt(path, "it is not a regular file"));
        }
        if meta.len() > LARGEST {
            return Err(corrupt(path, &format!("it is larger than {LARGEST} bytes")));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
        file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
        let time = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
        let size = i64::try_from(meta.len()).unwrap_or(i64::MAX);
        Ok(Some((bytes, Stamp { time, size })))
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Says what the system said.
pub(crate) fn refused(path: &Path, error: &io::Error) -> StorageError {
    let (what, reason) = (path.display().to_string(), error.to_string());
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StorageError::ReadOnly { what, reason }
        }
        _ => StorageError::Unavailable { what, reason },
    }
}
