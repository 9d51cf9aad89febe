//! What somebody would write by hand: the same rows in the same tables, in one transaction.
//!
//! Rows are made ready beforehand and not timed, so the comparison is with SQLite alone.

use std::path::Path;

use contexture_core::*;
use contexture_storage::sqlite::SqliteStorage;
use rusqlite::{Connection, params};

use crate::session::{Session, text};

pub(crate) struct Hand {
    db: Connection,
    next: i64,
}

/// The rows of one append.
pub(crate) struct Rows {
    page: Vec<u8>,
    hash: [u8; 32],
    raw: i64,
    blob: Vec<u8>,
    history: Vec<u8>,
    checksum: [u8; 16],
}

impl Hand {
    /// Makes the tables, a session and a segment as ours are made, then takes the file over.
    pub(crate) fn new(path: &Path) -> Self {
        drop(Session::on(
            std::sync::Arc::new(SqliteStorage::open(path, Default::default()).unwrap()),
            "hand",
        ));
        let db = Connection::open(path).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.pragma_update(None, "synchronous", "FULL").unwrap();
        db.pragma_update(None, "secure_delete", true).unwrap();
        db.pragma_update(None, "cache_size", -65_536).unwrap();
        db.pragma_update(None, "wal_autocheckpoint", 4_000).unwrap();
        db.set_prepared_statement_cache_capacity(32);
        Self { db, next: 1 }
    }

    /// Makes rows ready.
    pub(crate) fn rows(seed: usize, count: usize) -> Vec<Rows> {
        (seed..seed + count).map(Rows::new).collect()
    }

    /// Writes them in one transaction.
    pub(crate) fn commit(&mut self, rows: &[Rows]) {
        let db = &self.db;
        db.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        for row in rows {
            let number = self.next;
            self.next += 1;
            db.prepare_cached("INSERT INTO pages VALUES (1, ?1, 0, ?1, 0, 1, NULL, ?2, ?3)")
                .unwrap()
                .execute(params![number, row.page, row.checksum])
                .unwrap();
            db.prepare_cached("INSERT INTO blobs (data) VALUES (?1)")
                .unwrap()
                .execute([&row.blob])
                .unwrap();
            let blob = db.last_insert_rowid();
            db.prepare_cached("INSERT INTO contents VALUES (?1, 1, ?2, ?3)")
                .unwrap()
                .execute(params![row.hash, row.raw, blob])
                .unwrap();
            db.prepare_cached("INSERT INTO history VALUES (1, ?1, 'system', 1, NULL, ?2, ?3)")
                .unwrap()
                .execute(params![number + 1, row.history, row.checksum])
                .unwrap();
        }
        let last = rows.last().unwrap();
        db.prepare_cached("UPDATE sessions SET revision = ?1, next_place = ?1, updated_at = ?1, checksum = ?2 WHERE id = 1")
            .unwrap()
            .execute(params![self.next, last.checksum])
            .unwrap();
        db.prepare_cached("UPDATE segments SET data = ?1, checksum = ?2 WHERE id = 1")
            .unwrap()
            .execute(params![last.page, last.checksum])
            .unwrap();
        db.prepare_cached("INSERT INTO directories VALUES (1, 0, ?1) ON CONFLICT DO UPDATE SET listed = ?1")
            .unwrap()
            .execute([self.next])
            .unwrap();
        db.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }
}

impl Rows {
    fn new(seed: usize) -> Self {
        let message = Message { at: Some(Timestamp::from_millis(0)), ..Message::text(Role::System, text(seed)) };
        let content = Content::encode(&[message]);
        let page = Page {
            index: format!("usr-{seed}").parse().unwrap(),
            parent: Some("usr-0".parse().unwrap()),
            place: Place(seed as u64),
            body: Body::Detail(Detail { content: content.hash(), messages: 1, weight: 1_000 }),
            name: format!("Page {seed}").parse().unwrap(),
            description: Description::default(),
            visibility: Visibility::Hidden,
            standing: Standing::InTree,
            author: Actor::System,
            trust: Trust::System,
            sources: Vec::new(),
            turn: None,
            version: Version(1),
            revision: Revision(seed as u64),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        };
        let before = PageBefore {
            index: page.index.clone(),
            before: None,
            after: Some(Version(1)),
            previous: None,
            assigned: Some(content.hash()),
            purged: false,
            restores: None,
        };
        let entry = HistoryEntry {
            revision: Revision(seed as u64),
            at: Timestamp::from_millis(0),
            actor: Actor::System,
            view: ViewId::SYSTEM,
            operation: Operation::CreateDetailPage,
            pages: vec![page.index.clone()],
            segments: Vec::new(),
            undoes: None,
            undone_by: None,
            redone_by: None,
            inverse: Inverse { pages: vec![before], ..Inverse::default() },
        };
        let page_bytes = page.encode();
        Self {
            checksum: Checksum::of(&page_bytes).0,
            page: page_bytes,
            hash: *content.hash().as_bytes(),
            raw: content.bytes().len() as i64,
            blob: zstd::bulk::compress(content.bytes(), 3).unwrap(),
            history: serde_json::to_vec(&entry).unwrap(),
        }
    }
}
