//! Stores nobody named, recognised by what an open handle holds.

use std::{
    ffi::OsStr,
    io::{self, Read, Seek, SeekFrom},
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};
use contexture_core::storage::signs;

/// How much of a file is looked at that may say whose folder it lies in.
const IDENTITY_BYTES: u64 = 64 * 1024;

/// Returns how files are opened here: for reading, through no symlink. Should a pipe have taken the
/// file's place, opening it does not wait for a writer.
pub(super) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    options
}

/// Tells whether a folder is a store of files.
pub(super) fn is_store_of_files(dir: &Dir) -> bool {
    let Ok(file) = dir.open_with(signs::IDENTITY, &reading()) else { return false };
    let mut bytes = Vec::new();
    let read = file.take(IDENTITY_BYTES).read_to_end(&mut bytes);
    read.is_ok() && signs::is_identity(&bytes)
}

/// Tells whether an open file is a database of ours, or a file of a store under a second name.
pub(super) fn is_of_a_store(file: &mut File, links: u64) -> io::Result<bool> {
    let mut beginning = Vec::with_capacity(signs::HEADER);
    file.by_ref().take(signs::HEADER as u64).read_to_end(&mut beginning)?;
    let mut found = signs::is_database(&beginning);
    // A file of a store that was copied is only a file. One that was linked is still the store's.
    if !found && links > 1 && beginning.len() >= signs::RECORD_END {
        let mut end = Vec::with_capacity(signs::RECORD_END);
        file.seek(SeekFrom::End(-(signs::RECORD_END as i64)))?;
        file.by_ref().take(signs::RECORD_END as u64).read_to_end(&mut end)?;
        found = signs::is_record(&end);
    }
    file.rewind()?;
    Ok(found)
}

/// Returns the name of the database that a file would lie beside, if its name is one that SQLite
/// gives to what it keeps there.
pub(super) fn database_beside(name: &OsStr) -> Option<&str> {
    let name = name.to_str()?;
    let database = signs::BESIDE.iter().find_map(|end| {
        let (database, rest) = name.split_at_checked(name.len().checked_sub(end.len())?)?;
        rest.eq_ignore_ascii_case(end).then_some(database)
    });
    database.filter(|name| !name.is_empty())
}
