//! Whose folder it is: looked at before anything is touched, and written down once.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use contexture_core::storage::{
    StorageError, StorageResult,
    signs::{FORMAT, IDENTITY},
};
use serde::Deserialize;

use super::{
    folder::{Folder, refused},
    names,
    record::corrupt,
};
use crate::options::CreateMode;

/// The version of the files this program knows: in version 2 heads count the files beside them. No
/// release wrote an earlier one.
const VERSION: i64 = 2;

/// What may lie in a folder that is to become ours: git, and what a crash left of our own making.
const WELCOME: [&str; 4] = [".git", ".gitattributes", ".gitignore", ".local"];

/// Files that make git keep its hands off what is local, and off the ends of lines.
const FOR_GIT: [(&str, &str); 3] = [
    (".gitignore", "/.local/\n"),
    (".gitattributes", "*.json -text\n"),
    (".local/.gitignore", "*\n"),
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    format: String,
    schema_version: i64,
}

/// Looks at what lies there, and makes an empty folder where that is asked for. Returns the path by
/// which the folder is known from now on.
pub(crate) fn look(path: &Path, create: CreateMode) -> StorageResult<PathBuf> {
    let what = path.display().to_string();
    match fs::metadata(path) {
        Ok(there) if !there.is_dir() => {
            return Err(StorageError::Foreign { what, reason: "it is not a folder".to_owned() });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if create == CreateMode::MustExist {
                return Err(StorageError::Missing { what });
            }
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|error| refused(path, &error))?;
        }
        Err(error) => return Err(refused(path, &error)),
    }
    // Paths are walked from here, whatever the working folder becomes.
    let path = fs::canonicalize(path).map_err(|error| refused(path, &error))?;
    let is_ours = check(&Folder::open(&path)?)?;
    if !is_ours && create == CreateMode::MustExist {
        return Err(StorageError::Missing { what });
    }
    Ok(path)
}

/// Refuses a folder that is not ours; tells whether it is ours already.
pub(crate) fn check(folder: &Folder) -> StorageResult<bool> {
    let what = folder.path().display().to_string();
    let Some((bytes, _)) = folder.look().read(IDENTITY)? else {
        let foreign = folder.list("")?.into_iter().find(|entry| !WELCOME.contains(&&*entry.name));
        return match foreign {
            Some(entry) => {
                let reason = format!("it holds '{}', but no {IDENTITY}", entry.name);
                Err(StorageError::Foreign { what, reason })
            }
            None => Ok(false),
        };
    };
    let identity: Identity =
        serde_json::from_slice(&bytes).map_err(|error| corrupt(IDENTITY, &error.to_string()))?;
    if identity.format != FORMAT {
        let reason =
            format!("its {IDENTITY} names the format '{}'", identity.format.escape_debug());
        return Err(StorageError::Foreign { what, reason });
    }
    if identity.schema_version > VERSION {
        let found = identity.schema_version;
        return Err(StorageError::Newer { what, found, known: VERSION });
    }
    if identity.schema_version < VERSION {
        let found = identity.schema_version;
        let reason = format!(
            "its {IDENTITY} has schema version {found}, which no release wrote; this program reads \
             version {VERSION}"
        );
        return Err(StorageError::Foreign { what, reason });
    }
    Ok(true)
}

/// Writes down whose folder it is, where that is not said yet. The folder must be locked.
pub(crate) fn claim(folder: &Folder) -> StorageResult<()> {
    for (path, text) in FOR_GIT {
        // Whatever lies there, a link included, is left to its owner.
        if matches!(folder.look().stamp(path), Ok(None)) {
            write(folder, path, text)?;
        }
    }
    if !check(folder)? {
        write_identity(folder)?;
    }
    folder.make(names::SESSIONS).map(|_| ())
}

/// Writes down whose folder it is.
pub(crate) fn write_identity(folder: &Folder) -> StorageResult<()> {
    let text = format!("{{\n  \"format\": \"{FORMAT}\",\n  \"schemaVersion\": {VERSION}\n}}\n");
    write(folder, IDENTITY, &text)
}

fn write(folder: &Folder, path: &str, text: &str) -> StorageResult<()> {
    let new = format!("{}/claim", names::TMP);
    folder.remove(&new)?;
    folder.write(&new, text.as_bytes(), now())?;
    folder.rename(&new, path)
}

/// Returns the time in nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}
