//! `list_files`: the files of the project.

use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Workspace, failed,
    folder::show,
    reach::OpenedPath,
    walk::{DEPTH, Files, Found, Glob, LOOKS},
};
use crate::tools::arguments;

pub(super) const DESCRIPTION: &str = "Lists the files of the project, sorted, without those that .gitignore excludes; all of them, those of one folder, or those that match a glob pattern.";

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"A folder, relative to the project folder, which is the default."},"pattern":{"type":"string","description":"A glob such as *.rs or src/**/*.md; without a slash it matches names at any depth."}},"additionalProperties":false}"#;

/// How many files one call lists.
const FILES: usize = 500;

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
    let glob = pattern.as_deref().map(Glob::new).transpose()?;
    let reach = workspace.reach();
    let OpenedPath::Folder(folder) = reach.open(&path)? else {
        return failed(format!("{} is not a folder: read_file reads files", show(&path)));
    };
    let mut found = Files::new(&reach, folder, glob);
    let mut listed: Vec<String> = found.by_ref().take(FILES).map(|file| shown(&file)).collect();
    let more = listed.len() == FILES && found.next().is_some();
    let mut notes = Vec::new();
    if more {
        notes.push(format!("[only the first {FILES}: name a folder or a pattern]"));
    } else if found.exhausted {
        notes.push(format!("[stopped after looking at {LOOKS} entries: name a smaller folder]"));
    }
    if found.too_deep {
        notes.push(format!("[files more than {DEPTH} folders deep are left out: name a folder]"));
    }
    if listed.is_empty() && notes.is_empty() {
        return Ok(format!("no matching files in {}", show(&path)));
    }
    listed.sort();
    listed.extend(notes);
    Ok(listed.join("\n"))
}

/// Shows a file that a walk found.
fn shown(found: &Found) -> String {
    let link = if found.link { " (symlink)" } else { "" };
    format!("{}{link}", show(&found.path).replace(char::is_control, "?"))
}
