//! Finding the agent files of a folder.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::Folder;
use crate::definition::{Dialect, FileProblem};

/// The most agent files of a folder.
const MOST_FILES: usize = 1_000;
/// The most entries looked at in a folder and below it.
const MOST_ENTRIES: usize = 20_000;
/// How deep below a folder files are looked for.
const MOST_DEPTH: usize = 8;

/// What was found in a folder.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The agent files, in a fixed order.
    pub(super) files: Vec<PathBuf>,
    /// What could not be looked at.
    pub(super) problems: Vec<(PathBuf, FileProblem)>,
}

/// Lists the agent files of a folder. A folder that does not exist has none.
pub(super) fn files(folder: &Folder) -> Found {
    let mut found = Found::default();
    let root = match fs::canonicalize(&folder.path) {
        Ok(root) => root,
        Err(error) => {
            found.unreadable(&folder.path, &error);
            return found;
        }
    };
    let inside = |within: &PathBuf| fs::canonicalize(within).is_ok_and(|it| root.starts_with(it));
    if !folder.within.as_ref().is_none_or(inside) {
        let message = "this folder is a symlink that leads out of the project; it was not followed";
        found.problems.push((folder.path.clone(), FileProblem::warning(message)));
        return found;
    }
    let mut walk = Walk {
        root,
        extension: extension(folder.dialect),
        entries: 0,
        seen: BTreeSet::new(),
        found,
    };
    let below = folder.dialect == Dialect::ClaudeCode;
    walk.folder(&folder.path, if below { MOST_DEPTH } else { 0 });
    let mut found = walk.found;
    found.files.sort();
    found.problems.sort_by(|a, b| a.0.cmp(&b.0));
    if found.files.len() > MOST_FILES {
        found.files.truncate(MOST_FILES);
        let message = format!("more than {MOST_FILES} agent files; the rest were not read");
        found.problems.push((folder.path.clone(), FileProblem::warning(message)));
    }
    found
}

impl Found {
    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            let problem = FileProblem::error(format!("cannot be read: {error}"));
            self.problems.push((path.to_owned(), problem));
        }
    }

    fn refuse(&mut self, path: &Path, message: &str) {
        self.problems.push((path.to_owned(), FileProblem::warning(message)));
    }
}

struct Walk {
    root: PathBuf,
    extension: &'static str,
    entries: usize,
    /// Folders that were looked through: links may come back to them.
    seen: BTreeSet<PathBuf>,
    found: Found,
}

impl Walk {
    fn folder(&mut self, path: &Path, depth: usize) {
        if let Ok(real) = fs::canonicalize(path)
            && !self.seen.insert(real)
        {
            return;
        }
        let listed: io::Result<Vec<_>> = fs::read_dir(path).and_then(|entries| {
            entries.take(MOST_ENTRIES).map(|entry| entry.map(|entry| entry.path())).collect()
        });
        let mut paths = match listed {
            Ok(paths) => paths,
            Err(error) => return self.found.unreadable(path, &error),
        };
        paths.sort();
        for path in paths {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return;
            }
            self.entry(path, depth);
        }
    }

    fn entry(&mut self, path: PathBuf, depth: usize) {
        let wanted = path.extension().is_some_and(|it| it.eq_ignore_ascii_case(self.extension));
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(_) if !wanted => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.found.refuse(&path, "this symlink is broken");
            }
            Err(error) => return self.found.unreadable(&path, &error),
        };
        if hidden || (metadata.is_dir() && depth == 0) || (!metadata.is_dir() && !wanted) {
            return;
        }
        if self.leaves(&path) {
            let message = "this symlink leads out of the agents folder; it was not followed";
            return self.found.refuse(&path, message);
        }
        if metadata.is_dir() {
            self.folder(&path, depth - 1);
        } else if metadata.is_file() {
            self.found.files.push(path);
        } else {
            self.found.refuse(&path, "this is not a regular file");
        }
    }

    /// Tells whether a path is, in truth, somewhere else.
    fn leaves(&self, path: &Path) -> bool {
        let real = fs::canonicalize(path);
        !real.is_ok_and(|real| real.starts_with(&self.root))
    }
}

fn extension(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Codex => "toml",
        _ => "md",
    }
}
