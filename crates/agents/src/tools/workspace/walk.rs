//! The walk that `list_files` and `grep` share.
//!
//! It goes from open folder to open folder and through no symlink: whatever somebody puts in the place
//! of a folder meanwhile, no name from outside the project is ever seen. Stores are passed over.

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    rc::Rc,
    vec,
};

use cap_std::fs::{DirEntry, File, Metadata};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{
    Failed,
    ignored::{Rules, is_ignored},
    protected::Access,
    reach::{Folder, Reach},
};
use crate::tools::shorten;

/// How many entries of folders one call looks at.
pub(super) const LOOKS: usize = 200_000;

/// How many folders deep a walk goes: each is held open.
pub(super) const DEPTH: usize = 100;

/// Folders that hold no work of the project's.
const PASSED_OVER: [&str; 2] = [".git", ".contexture"];

/// A glob as `.gitignore` has it.
pub(super) struct Glob(Gitignore);

impl Glob {
    /// Reads a pattern.
    pub(super) fn new(pattern: &str) -> Result<Self, Failed> {
        let wrong = |error: ignore::Error| {
            Failed(format!("'{}' is not a valid glob: {error}", shorten(pattern, 200)))
        };
        let mut builder = GitignoreBuilder::new("");
        // What would be a comment or a negation there is a plain character here.
        let plain = if pattern.starts_with(['!', '#']) { "\\" } else { "" };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        builder.add_line(None, &format!("{plain}{pattern}")).map_err(wrong)?;
        Ok(Self(builder.build().map_err(wrong)?))
    }

    fn matches(&self, path: &Path) -> bool {
        self.0.matched_path_or_any_parents(path, false).is_ignore()
    }
}

/// A file that a walk found.
pub(super) struct Found {
    folder: Rc<Folder>,
    name: OsString,
    /// Its path, relative to the root.
    pub(super) path: PathBuf,
    /// It is a link: named, never gone through.
    pub(super) link: bool,
}

impl Found {
    /// Opens it, if it is a regular file.
    pub(super) fn open(&self, reach: &Reach<'_>) -> Result<(File, Metadata), Failed> {
        reach.open_in(&self.folder, &self.name, &self.path)
    }
}

/// Walks the files under a folder in a fixed order.
pub(super) struct Files<'a> {
    reach: &'a Reach<'a>,
    /// The folders the walk is in, the innermost last.
    open: Vec<Level>,
    glob: Option<Glob>,
    looks: usize,
    /// It gave up before the end.
    pub(super) exhausted: bool,
    /// It left out folders that lie too deep.
    pub(super) too_deep: bool,
}

/// A folder that a walk is in.
struct Level {
    folder: Rc<Folder>,
    rules: Rules,
    rest: vec::IntoIter<Entry>,
}

impl<'a> Files<'a> {
    pub(super) fn new(reach: &'a Reach<'a>, folder: Folder, glob: Option<Glob>) -> Self {
        let mut files =
            Self { reach, open: Vec::new(), glob, looks: 0, exhausted: false, too_deep: false };
        files.go_into(folder);
        files
    }

    fn go_into(&mut self, folder: Folder) {
        // A folder that cannot be read holds nothing for us.
        let Ok(entries) = folder.dir.entries() else { return };
        let rules = Rules::of(&folder.dir);
        let (folder, rest) = (Rc::new(folder), Vec::new().into_iter());
        self.open.push(Level { folder: folder.clone(), rules, rest });
        let mut kept = BinaryHeap::new();
        for entry in entries.flatten().filter_map(|entry| Entry::of(&entry)) {
            if !self.leaves_out(&folder, &entry) {
                kept.push(entry);
            }
            // No more than these are looked at, and those that come first come first.
            if kept.len() > LOOKS {
                kept.pop();
            }
        }
        if let Some(level) = self.open.last_mut() {
            level.rest = kept.into_sorted_vec().into_iter();
        }
    }

    fn leaves_out(&self, folder: &Folder, entry: &Entry) -> bool {
        if PASSED_OVER.iter().any(|name| *name == entry.name) {
            return true;
        }
        let path = folder.path.join(&entry.name);
        let named =
            self.open.iter().rev().filter_map(|level| {
                Some((path.strip_prefix(&level.folder.path).ok()?, &level.rules))
            });
        is_ignored(named, entry.kind == Kind::Folder)
            || self.reach.is_passed_over(folder, &entry.name)
    }

    fn enter(&mut self, folder: &Folder, name: &OsStr) {
        if self.open.len() == DEPTH {
            self.too_deep = true;
            return;
        }
        let path = folder.path.join(name);
        if let Ok(entered) = self.reach.enter(folder, name, &path, Access::Read) {
            self.go_into(entered);
        }
    }
}

impl Iterator for Files<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let level = self.open.last_mut()?;
            let folder = level.folder.clone();
            let Some(Entry { name, kind }) = level.rest.next() else {
                self.open.pop();
                continue;
            };
            if self.looks == LOOKS {
                self.exhausted = true;
                self.open.clear();
                return None;
            }
            self.looks += 1;
            if kind == Kind::Folder {
                self.enter(&folder, &name);
                continue;
            }
            let path = folder.path.join(&name);
            if self.glob.as_ref().is_none_or(|glob| glob.matches(&path)) {
                return Some(Found { folder, name, path, link: kind == Kind::Link });
            }
        }
    }
}

/// What stands in a folder, as it was when the folder was read.
struct Entry {
    name: OsString,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    Link,
    Other,
}

impl Entry {
    fn of(entry: &DirEntry) -> Option<Self> {
        let mut form = entry.file_type().ok()?;
        // Not every file system says in its lists what a thing is.
        if !form.is_dir() && !form.is_file() && !form.is_symlink() {
            form = entry.metadata().ok()?.file_type();
        }
        let kind = match form {
            form if form.is_dir() => Kind::Folder,
            form if form.is_symlink() => Kind::Link,
            _ => Kind::Other,
        };
        Some(Self { name: entry.file_name(), kind })
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}
