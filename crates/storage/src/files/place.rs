//! From a record of the journal to files and index.

use std::collections::BTreeMap;

use contexture_core::{SessionId, storage::StorageResult};

use super::{
    folder::{Folder, Stamp},
    index::{self, FilesFaultResult},
    journal::{Op, Ops},
    names::{self, Kind},
    record::{Record, corrupt},
};

/// Writes the new files of a record aside, and makes the folders they will lie in.
pub(crate) fn write_new(
    folder: &Folder,
    prefix: &str,
    count: &mut u64,
    ops: &Ops,
) -> StorageResult<Vec<String>> {
    let mut made = Vec::new();
    for (path, op) in ops {
        let Op::Put { time, bytes } = op else { continue };
        *count += 1;
        let new = format!("{}/{prefix}-{count}", names::TMP);
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let written = folder.make(above).and_then(|_| folder.write(&new, bytes, *time));
        if let Err(error) = written {
            discard(folder, &made);
            return Err(error);
        }
        made.push(new);
    }
    Ok(made)
}

/// Removes new files that are not wanted after all.
pub(crate) fn discard(folder: &Folder, made: &[String]) {
    for path in made {
        // Whatever stays is cleared when the folder is next opened.
        let _ = folder.remove(path);
    }
}

/// Takes into the index what a record of the journal does.
pub(crate) fn take_in(db: &rusqlite::Connection, ops: &Ops) -> FilesFaultResult<()> {
    // Heads come first: they give their session a key.
    let head = |path: &str| path.ends_with("/session.json");
    let mut sessions: BTreeMap<&str, (i64, SessionId)> = BTreeMap::new();
    for (path, op) in ops.iter().filter(|(path, _)| head(path)) {
        let Op::Put { time, bytes } = op else { continue };
        let Record::Head(head) = Record::decode(path, Kind::Head, bytes)? else { continue };
        let stamp = Stamp { time: *time, size: bytes.len() as i64 };
        let key = index::put_head(db, &head, stamp)?;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        sessions.insert(folder, (key, head.info.id));
    }
    for (path, op) in ops.iter().filter(|(path, _)| !head(path)) {
        if let Op::RemoveSession(session) = op {
            index::remove_session(db, session)?;
            continue;
        }
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        let (_, end) = (slashes.next(), slashes.next());
        let (folder, rest) =
            end.map_or((path.as_str(), ""), |end| (&path[..end], &path[end + 1..]));
        let (Some((key, id)), Some(kind)) = (sessions.get(folder), Kind::of(rest)) else {
            return Err(corrupt(path, "the journal names it without its session").into());
        };
        match op {
            Op::Put { time, bytes } => {
                let record = Record::decode(path, kind, bytes)?;
                let stamp = Stamp { time: *time, size: bytes.len() as i64 };
                index::put(db, *key, id, &record, stamp)?;
            }
            Op::Delete => {
                if let Some(spot) = index::spot(db, *key, rest)? {
                    index::remove(db, *key, id, &spot)?;
                }
            }
            Op::RemoveSession(_) => {}
        }
    }
    Ok(())
}
