//! The file beside a store that says which server serves it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::Basis;

/// The longest file that is read as an entry.
const LONGEST: u64 = 64 << 10;

/// A server that runs on a store. The last one that began stands in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Where it listens.
    url: String,
    /// Its process.
    process: u32,
    #[serde(flatten)]
    pub(crate) basis: Basis,
}

/// An entry in its file, taken back when it is dropped.
#[derive(Debug)]
pub(crate) struct Announced {
    entry: Entry,
    file: PathBuf,
}

impl Entry {
    /// Describes this process.
    pub(crate) fn new(address: SocketAddr, basis: Basis) -> Self {
        Self { url: format!("http://{address}"), process: std::process::id(), basis }
    }

    /// Reads the entry of a store; none if there is none that can be read.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        let mut text = Vec::new();
        fs::File::open(file).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Returns where the server listens, on this machine.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let address: SocketAddr = self.url.strip_prefix("http://")?.parse().ok()?;
        address.ip().is_loopback().then_some(address)
    }

    /// Writes the entry to its file in one step.
    pub(crate) fn announce(self, file: PathBuf) -> io::Result<Announced> {
        let mut draft = file.clone().into_os_string();
        draft.push(format!(".{}.tmp", std::process::id()));
        let draft = PathBuf::from(draft);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&draft).and_then(|mut opened| {
            opened.write_all(&serde_json::to_vec(&self)?)?;
            fs::rename(&draft, &file)
        });
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written.map(|()| Announced { entry: self, file })
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        // Another server may have taken its place.
        if Entry::read(&self.file).as_ref() == Some(&self.entry) {
            let _ = fs::remove_file(&self.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreUrl;

    #[test]
    fn the_last_server_stands_in_the_file_and_removes_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (store, file) = (folder.path().join("a.db"), folder.path().join("a.db.server"));
        fs::write(&store, "").unwrap();
        let store: StoreUrl = format!("sqlite:{}", store.display()).parse().unwrap();
        let entry = |port: u16| {
            Entry::new(SocketAddr::from(([127, 0, 0, 1], port)), Basis::of(&store).unwrap())
        };
        let first = entry(1).announce(file.clone()).unwrap();
        let second = entry(2).announce(file.clone()).unwrap();
        drop(first);
        assert_eq!(Entry::read(&file), Some(entry(2)));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        drop(second);
        assert_eq!(Entry::read(&file), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn an_entry_names_this_machine() {
        let at = |url: &str| {
            let text = format!(
                r#"{{"url":"{url}","process":1,"version":"","build":"","store":"","project":"/","home":null,"config":null}}"#
            );
            serde_json::from_str::<Entry>(&text).unwrap().address()
        };
        assert!(at("http://127.0.0.1:1").is_some() && at("http://[::1]:1").is_some());
        for wrong in
            ["http://10.0.0.1:1", "https://127.0.0.1:1", "127.0.0.1:1", "http://localhost:1"]
        {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
