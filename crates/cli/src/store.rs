//! Which storage: its URL, and opening it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use contexture_core::{ErrorKind, MemoryStorage, PageStorage};
use contexture_storage::{CreateMode, Durability, SqliteOptions, SqliteStorage};

use crate::error::{Result, Stop};

/// The store that is used when none is named.
pub(crate) const DEFAULT: &str = "sqlite:.contexture/contexture.db";

const HINT: &str = "use sqlite:PATH, sqlite:PATH?durability=process or memory:";

/// A storage by its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// A SQLite file.
    Sqlite { path: PathBuf, durability: Durability },
    /// Memory that lives as long as one command.
    Memory,
}

/// Whether opening may make what is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only what exists.
    Existing,
    /// Makes it, folder included, where it does not exist.
    Create,
}

impl StoreUrl {
    /// Opens the storage; without [`Access::Create`] nothing is ever made on disk.
    pub(crate) fn open(&self, access: Access) -> Result<Arc<dyn PageStorage>> {
        let (path, durability) = match self {
            StoreUrl::Memory => return Ok(Arc::new(MemoryStorage::new())),
            StoreUrl::Sqlite { path, durability } => (path, *durability),
        };
        let create = match access {
            Access::Create => CreateMode::IfMissing,
            Access::Existing if is_missing(path) => return Err(self.missing(path)),
            Access::Existing => CreateMode::MustExist,
        };
        let options = SqliteOptions { create, durability, ..SqliteOptions::default() };
        Ok(Arc::new(SqliteStorage::open(path, options)?))
    }

    /// Returns the files it lies in.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let StoreUrl::Sqlite { path, .. } = self else { return Vec::new() };
        let beside = |end: &&str| {
            let mut file = path.clone().into_os_string();
            file.push(end);
            PathBuf::from(file)
        };
        ["", "-wal", "-shm", "-journal"].iter().map(beside).collect()
    }

    fn missing(&self, path: &Path) -> Stop {
        let init = if self.to_string() == DEFAULT {
            "contexture init".to_owned()
        } else {
            format!("contexture --store {self} init")
        };
        Stop::failed(
            ErrorKind::NotFound,
            format!("there is no store at {}", path.display()),
            format!("`{init}` makes one; --store or CONTEXTURE_STORE names another"),
        )
    }
}

/// Tells whether nothing lies there, or an empty file; where that cannot be told, opening says why.
fn is_missing(path: &Path) -> bool {
    match path.metadata() {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

impl FromStr for StoreUrl {
    type Err = Stop;

    fn from_str(url: &str) -> Result<Self> {
        let wrong = |reason: &str| Stop::invalid(format!("invalid store '{url}': {reason}"), HINT);
        let (scheme, rest) = url.split_once(':').ok_or_else(|| wrong("it names no storage"))?;
        match scheme {
            "sqlite" => sqlite(rest).map_err(|reason| wrong(&reason)),
            "memory" if rest.is_empty() => Ok(StoreUrl::Memory),
            "memory" => Err(wrong("memory: takes nothing after it")),
            "files" | "postgres" | "postgresql" | "s3" => {
                Err(wrong(&format!("this build does not have the storage '{scheme}' yet")))
            }
            _ => Err(wrong(&format!("there is no storage '{scheme}'"))),
        }
    }
}

fn sqlite(rest: &str) -> Result<StoreUrl, String> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if path.is_empty() {
        return Err("sqlite: needs a path".to_owned());
    }
    if path.contains('\0') {
        return Err("a path has no NUL".to_owned());
    }
    let mut durability = Durability::PowerCut;
    for option in query.split('&').filter(|option| !option.is_empty()) {
        durability = match option {
            "durability=process" => Durability::Process,
            "durability=power-cut" => Durability::PowerCut,
            _ => return Err(format!("sqlite: has no option '{option}'")),
        };
    }
    Ok(StoreUrl::Sqlite { path: path.into(), durability })
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Memory => f.write_str("memory:"),
            StoreUrl::Sqlite { path, durability } => {
                write!(f, "sqlite:{}", path.display())?;
                match durability {
                    Durability::PowerCut => Ok(()),
                    Durability::Process => f.write_str("?durability=process"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_written_the_same() {
        for url in [DEFAULT, "sqlite:/a b/c.db", "sqlite:x.db?durability=process", "memory:"] {
            assert_eq!(url.parse::<StoreUrl>().unwrap().to_string(), url);
        }
    }

    #[test]
    fn what_is_not_a_store_is_invalid() {
        for url in [
            "",
            "x.db",
            "sqlite:",
            "sqlite:?durability=process",
            "sqlite:x?durability=maybe",
            "sqlite:x?mode=ro",
            "memory:x",
            "files:dir",
            "postgres://host/db",
            "s3://bucket",
            "mysql://x",
        ] {
            let Err(Stop::Failed { kind, message, .. }) = url.parse::<StoreUrl>() else {
                panic!("{url} was accepted");
            };
            assert_eq!(kind, ErrorKind::Invalid, "{message}");
        }
    }
}
