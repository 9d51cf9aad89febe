//! `list_files`, and the walk it shares with `grep`.

use std::path::{Path, PathBuf};

use ignore::{
    Walk, WalkBuilder,
    gitignore::{Gitignore, GitignoreBuilder},
};
use serde::Deserialize;
use serde_json::Value;

use super::{Done, Failed, Workspace, failed, folder::show};
use crate::tools::{arguments, shorten};

pub(super) const DESCRIPTION: &str = "Lists the files of the project, sorted, without those that .gitignore leaves out; those of one folder, or those a glob pattern matches.";

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"A folder, relative to the project folder, which is the default."},"pattern":{"type":"string","description":"A glob such as *.rs or src/**/*.md; without a slash it matches names at any depth."}},"additionalProperties":false}"#;

/// How many files one call lists.
const FILES: usize = 500;

/// How many entries of folders one call looks at.
const LOOKS: usize = 200_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    pattern: Option<String>,
}

pub(super) fn run(workspace: &Workspace, arguments: &Value) -> Done {
    let Arguments { path, pattern } = arguments::read(arguments)?;
    let path = workspace.path(path.as_deref().unwrap_or_default())?;
    if !workspace.metadata(&path)?.is_dir() {
        return failed(format!("{} is not a folder: read_file reads files", show(&path)));
    }
    let glob = pattern.as_deref().map(Glob::new).transpose()?;
    let mut found = Files::new(workspace, &path, glob)?;
    let mut listed: Vec<String> = found.by_ref().take(FILES).map(|file| file.shown()).collect();
    let more = listed.len() == FILES && found.next().is_some();
    if listed.is_empty() && !found.exhausted {
        return Ok(format!("no files in {} that fit", show(&path)));
    }
    listed.sort();
    let mut answer = listed.join("\n");
    if more {
        answer.push_str(&format!("\n[only the first {FILES}: name a folder or a pattern]"));
    } else if found.exhausted {
        answer.push_str(&format!(
            "\n[stopped after looking at {LOOKS} entries: name a smaller folder]"
        ));
    }
    Ok(answer)
}

/// A glob as `.gitignore` has it.
pub(super) struct Glob(Gitignore);

impl Glob {
    /// Reads a pattern.
    pub(super) fn new(pattern: &str) -> Result<Self, Failed> {
        let wrong = |error: ignore::Error| {
            Failed(format!("'{}' is no glob: {error}", shorten(pattern, 200)))
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
    /// Its path, relative to the root.
    pub(super) path: PathBuf,
    /// It is a link: named, never gone through.
    pub(super) link: bool,
}

impl Found {
    fn shown(&self) -> String {
        let link = if self.link { " (symlink)" } else { "" };
        format!("{}{link}", show(&self.path).replace(char::is_control, "?"))
    }
}

/// Walks the files under a folder in a fixed order; it goes through no symlink.
pub(super) struct Files {
    root: PathBuf,
    walk: Walk,
    glob: Option<Glob>,
    looks: usize,
    /// It gave up before the end.
    pub(super) exhausted: bool,
}

impl Files {
    pub(super) fn new(
        workspace: &Workspace,
        path: &Path,
        glob: Option<Glob>,
    ) -> Result<Self, Failed> {
        // The walk would go through a link it begins at, so it begins where the link leads.
        let start = workspace.root().join(workspace.real(path)?);
        let mut builder = WalkBuilder::new(start);
        builder
            .follow_links(false)
            .hidden(false)
            // Neither the user's settings nor what stands above the root says what belongs to it.
            .git_global(false)
            .parents(false)
            .require_git(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            // What these two hold is no work of the project's.
            .filter_entry(|entry| {
                entry.file_name() != ".git" && entry.file_name() != ".contexture"
            });
        let root = workspace.root().to_owned();
        Ok(Self { root, walk: builder.build(), glob, looks: 0, exhausted: false })
    }
}

impl Iterator for Files {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if self.looks == LOOKS {
                self.exhausted = true;
                return None;
            }
            self.looks += 1;
            // A folder that cannot be read holds nothing for us.
            let Ok(entry) = self.walk.next()? else { continue };
            let kind = entry.file_type();
            if kind.is_none_or(|kind| kind.is_dir()) {
                continue;
            }
            let Ok(path) = entry.path().strip_prefix(&self.root) else { continue };
            if self.glob.as_ref().is_some_and(|glob| !glob.matches(path)) {
                continue;
            }
            let link = kind.is_some_and(|kind| kind.is_symlink());
            return Some(Found { path: path.to_owned(), link });
        }
    }
}
