//! Making a folder ready that cannot be opened: whose it is, and what is local to this machine.
//!
//! Everything here can be made again. What is in the way is moved aside and not touched.

use std::{os::unix::fs::MetadataExt, path::Path};

use contexture_core::storage::{StorageError, StorageResult, signs::IDENTITY};

use super::{
    super::{
        folder::{Folder, Form},
        identity,
        names::SESSIONS,
        sync::{read_head, session_folders},
    },
    set_aside,
};

/// Files of our own that are written in place.
const FILES: [&str; 7] =
    ["lock", "journal", "applied", "index.db", "index.db-wal", "index.db-shm", "index.db-journal"];

/// Moves what keeps a folder from being opened out of the way, and says again whose folder it is.
/// Returns what was done, a sentence each.
pub(crate) fn make_ready(path: &Path) -> StorageResult<Vec<String>> {
    let mut report = Vec::new();
    let Ok(folder) = Folder::open(path) else { return Ok(report) };
    if !is_ours(&folder)? {
        return Ok(report);
    }
    for place in [".local", SESSIONS] {
        if form(&folder, "", place)?.is_some_and(|form| form != Form::Folder) {
            let away = free_name(&folder, "", &format!("{place}-damaged"))?;
            folder.rename(place, &away)?;
            report.push(format!("{place} was not a folder and was moved to {away}"));
        }
    }
    for place in ["quarantine", "tmp", "imports"] {
        if form(&folder, ".local", place)?.is_some_and(|form| form != Form::Folder) {
            let away = free_name(&folder, ".local", &format!("{place}-damaged"))?;
            folder.rename(&format!(".local/{place}"), &format!(".local/{away}"))?;
            report.push(format!(".local/{place} was not a folder and was moved to .local/{away}"));
        }
    }
    for name in FILES {
        let place = format!(".local/{name}");
        let why = match form(&folder, ".local", name)? {
            Some(Form::Other) => "it is a symlink or special file",
            Some(Form::Folder) => "there is a folder where a file should be",
            Some(Form::File) if has_other_names(&path.join(&place)) => "it is a hard link",
            Some(Form::File) | None => continue,
        };
        let away = set_aside(&folder, &place, why, identity::now())?;
        report.push(format!("{place} was moved to {away}: {why}"));
    }
    match identity::check(&folder) {
        Ok(true) | Err(StorageError::Newer { .. }) => {}
        Ok(false) => {
            identity::write_identity(&folder)?;
            report.push(format!("{IDENTITY} was missing and was written again"));
        }
        Err(error) => {
            if form(&folder, "", IDENTITY)?.is_some() {
                let away = set_aside(&folder, IDENTITY, &error.to_string(), identity::now())?;
                report.push(format!("{IDENTITY} was moved to {away}: {error}"));
            }
            identity::write_identity(&folder)?;
            report.push(format!("{IDENTITY} was written again"));
        }
    }
    Ok(report)
}

/// Tells whether a folder is a storage of ours, though it may not say so any more: a session's head in
/// it carries our checksum.
fn is_ours(folder: &Folder) -> StorageResult<bool> {
    match identity::check(folder) {
        Ok(is_ours) => return Ok(is_ours),
        Err(StorageError::Corrupt { .. } | StorageError::Foreign { .. }) => {}
        Err(error) => return Err(error),
    }
    let folders = session_folders(folder)?;
    Ok(folders.iter().any(|name| matches!(read_head(folder, name), Ok(Some(_)))))
}

fn form(folder: &Folder, above: &str, name: &str) -> StorageResult<Option<Form>> {
    let entries = folder.list(above)?.into_iter();
    Ok(entries.filter(|entry| entry.name == name).map(|entry| entry.form).next())
}

fn has_other_names(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|file| file.nlink() > 1)
}

fn free_name(folder: &Folder, above: &str, name: &str) -> StorageResult<String> {
    let taken = folder.list(above)?;
    let numbered = (2..).map(|count| format!("{name}-{count}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let is_free = |name: &String| !taken.iter().any(|entry| entry.name == *name);
    Ok(names.find(is_free).expect("there are more names than files"))
}
