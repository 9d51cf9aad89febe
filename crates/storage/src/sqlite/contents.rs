//! Contents: each stored once for the whole database, and counted.

use contexture_core::storage::{Content, ContentHash};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::{Fault, FaultResult};
use crate::packing::{PackedContent, unpack_content};

/// Counts a reference to a content, storing it with the first; tells whether it is there now.
pub(crate) fn refer(
    db: &Connection,
    hash: ContentHash,
    new: Option<&PackedContent>,
) -> FaultResult<bool> {
    let known = db
        .prepare_cached("UPDATE contents SET refs = refs + 1 WHERE hash = ?1")?
        .execute([hash.as_bytes()])?;
    let Some(new) = new.filter(|_| known == 0) else { return Ok(known > 0) };
    let blob = db
        .prepare_cached("INSERT INTO blobs (data) VALUES (?1)")?
        .insert([new.packed.stored(new.content.bytes())])?;
    db.prepare_cached("INSERT INTO contents VALUES (?1, 1, ?2, ?3)")?.execute(params![
        hash.as_bytes(),
        new.packed.raw,
        blob
    ])?;
    Ok(true)
}

/// Gives references to a content back. With the last it goes.
pub(crate) fn release(db: &Connection, hash: ContentHash, references: i64) -> FaultResult<()> {
    let released: Option<(i64, i64)> = db
        .prepare_cached(
            "UPDATE contents SET refs = refs - ?2 WHERE hash = ?1 RETURNING refs, blob",
        )?
        .query_row(params![hash.as_bytes(), references], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((..=0, blob)) = released {
        db.prepare_cached("DELETE FROM contents WHERE hash = ?1")?.execute([hash.as_bytes()])?;
        db.prepare_cached("DELETE FROM blobs WHERE id = ?1")?.execute([blob])?;
    }
    Ok(())
}

/// Reads a content from the columns `raw` and `data`, which begin at `at`.
pub(crate) fn read(row: &Row<'_>, at: usize, hash: ContentHash) -> FaultResult<Content> {
    let missing = |_| Fault::corrupt(format!("content {hash}"), "its blob is missing");
    let data = row.get_ref(at + 1)?.as_blob().map_err(missing)?;
    Ok(unpack_content(hash, row.get(at)?, data)?)
}
