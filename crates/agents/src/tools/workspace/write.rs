//! `write_file`, and how files are written: whole, or not at all.

use std::{
    ffi::OsStr,
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};
use contexture_core::storage::signs;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Failed, Workspace, failed,
    folder::{MOST_BYTES, io_failure, show},
    place::folded,
    reach::Reach,
};
use crate::tools::{arguments, question::bytes};

pub(super) const DESCRIPTION: &str = "Writes a whole file of the project: creates it, with the folders above it, or replaces what is there. To change a part of a file use edit_file.";

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Relative to the project folder."},"content":{"type":"string","description":"The whole content of the file."}},"required":["path","content"],"additionalProperties":false}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

pub(super) fn run(workspace: &Workspace, arguments: &Value) -> Done {
    let Arguments { path, content } = arguments::read(arguments)?;
    if content.len() as u64 > MOST_BYTES {
        return failed(format!("the content has more than {MOST_BYTES} bytes"));
    }
    let path = workspace.path(&path)?;
    let reach = workspace.reach();
    let (folder, name) = reach.open_parent(&path, true)?;
    let before = reach.replaceable(&folder, &name, &path)?;
    replace(&folder.dir, &name, &path, content.as_bytes(), before.as_ref())?;
    let bytes = content.len();
    Ok(match before {
        Some(before) => format!(
            "wrote {}: {bytes} bytes; it replaced a file of {} bytes",
            show(&path),
            before.len()
        ),
        None => format!("wrote {}: {bytes} bytes; a new file", show(&path)),
    })
}

/// Says whether a file would be made or replaced.
pub(super) fn foresee(workspace: &Workspace, arguments: &Value) -> Done {
    let Arguments { path, content } = arguments::read(arguments)?;
    let becomes = bytes(content.len());
    let path = workspace.path(&path)?;
    let reach = workspace.reach();
    let before = match reach.open_parent(&path, false) {
        Ok((folder, name)) => reach.replaceable(&folder, &name, &path)?,
        // Folders that are not there yet would be made.
        Err(_) if lacks_folder(&reach, &path) => None,
        Err(failed) => return Err(failed),
    };
    Ok(match before {
        Some(before) => {
            let there = usize::try_from(before.len()).unwrap_or(usize::MAX);
            format!("replaces a file of {} with {becomes}", bytes(there))
        }
        None => format!("creates a new file of {becomes}"),
    })
}

/// Tells whether one of the folders above a file is not there yet.
fn lacks_folder(reach: &Reach<'_>, path: &Path) -> bool {
    path.ancestors().skip(1).any(|above| {
        reach.open_parent(above, false).is_ok_and(|(folder, name)| {
            let found = folder.dir.symlink_metadata(&name);
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        })
    })
}

/// Puts a file in its place at once: written beside it, synced, then renamed. It takes the place of
/// what is there and never writes into it, so a link that appears meanwhile is replaced, not followed.
pub(super) fn replace(
    dir: &Dir,
    name: &OsStr,
    path: &Path,
    content: &[u8],
    before: Option<&Metadata>,
) -> Result<(), Failed> {
    if folded(name) == signs::IDENTITY && signs::is_identity(content) {
        return failed(format!(
            "permission denied: {} would make its folder a context store: `contexture init` makes one",
            show(path)
        ));
    }
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let beside = format!(".contexture-{}-{count}.tmp", std::process::id());
    let permissions = before.map(Metadata::permissions);
    let written = write_beside(dir, &beside, content, permissions)
        .and_then(|()| dir.rename(&beside, dir, name));
    if let Err(error) = written {
        // It may not be there at all; what matters is that nothing is left.
        let _ = dir.remove_file(&beside);
        return Err(io_failure(path, &error));
    }
    // The name is only safe from a power cut when the folder is synced; not every system can.
    if let Ok(folder) = dir.open(".") {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn write_beside(
    dir: &Dir,
    name: &str,
    content: &[u8],
    permissions: Option<Permissions>,
) -> io::Result<()> {
    let mut file = dir.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(content)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}
