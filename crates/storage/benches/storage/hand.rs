//! What somebody would write by hand: the same rows in the same tables, in one transaction.
//!
//! Rows can be made ready beforehand and not timed, so that the comparison is with SQLite alone, or
//! timed too: whoever writes them by hand has to encode, hash and compress as well.

use std::{path::Path, sync::Arc};

use contexture_core::{
    storage::{
        Checksum, Content, Inverse, PageBefore, PageBody, PageDetail, PageStanding, Place, Version,
        ViewId,
    },
    *,
};
use contexture_storage::sqlite::SqliteStorage;
use rusqlite::{Connection, params};

use crate::session::Session;

/// From how many bytes contents are compressed, as ours are.
const PACKED_FROM: usize = 2_048;

pub(crate) struct Hand {
    db: Connection,
    next: i64,
    compressor: zstd::bulk::Compressor<'static>,
}

/// The rows of one append.
pub(crate) struct Rows {
    session: i64,
    segment: Vec<u8>,
    page: Vec<u8>,
    hash: [u8; 32],
    raw: Option<i64>,
    blob: Vec<u8>,
    history: Vec<u8>,
    checksum: [u8; 16],
}

impl Hand {
    /// Makes the tables, sessions and segments as ours are made, then takes the file over.
    pub(crate) fn new(path: &Path, sessions: usize) -> Self {
        let storage: Arc<dyn PageStorage> =
            Arc::new(SqliteStorage::open(path, Default::default()).unwrap());
        for at in 0..sessions {
            drop(Session::on(storage.clone(), &format!("h{at}")));
        }
        drop(storage);
        let db = Connection::open(path).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.pragma_update(None, "synchronous", "FULL").unwrap();
        db.pragma_update(None, "secure_delete", true).unwrap();
        db.pragma_update(None, "cache_size", -8_192).unwrap();
        db.pragma_update(None, "wal_autocheckpoint", 4_000).unwrap();
        db.set_prepared_statement_cache_capacity(32);
        Self { db, next: 1, compressor: zstd::bulk::Compressor::new(3).unwrap() }
    }

    /// Makes rows ready, each for the next of some sessions.
    pub(crate) fn rows(&mut self, texts: &[String], seed: usize, sessions: usize) -> Vec<Rows> {
        let compressor = &mut self.compressor;
        let row = |(at, text): (usize, &String)| {
            Rows::new(compressor, text, seed + at, (at % sessions) as i64 + 1)
        };
        texts.iter().enumerate().map(row).collect()
    }

    /// Writes them in one transaction; the heads of the sessions once each.
    pub(crate) fn commit(&mut self, rows: &[Rows]) {
        let db = &self.db;
        db.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        for row in rows {
            let number = self.next;
            self.next += 1;
            db.prepare_cached("INSERT INTO pages VALUES (?1, ?2, 0, ?2, 0, 1, NULL, ?3, ?4)")
                .unwrap()
                .execute(params![row.session, number, row.page, row.checksum])
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
            db.prepare_cached("INSERT INTO history VALUES (?1, ?2, 'system', 1, NULL, ?3, ?4)")
                .unwrap()
                .execute(params![row.session, number + 1, row.history, row.checksum])
                .unwrap();
        }
        let mut heads: Vec<&Rows> = rows.iter().collect();
        heads.sort_by_key(|row| row.session);
        heads.dedup_by_key(|row| row.session);
        for head in heads {
            self.write_head(head);
        }
        db.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }

    fn write_head(&self, row: &Rows) {
        let sql =
            "UPDATE sessions SET revision = ?2, next_place = ?2, updated_at = ?2, checksum = ?3
                   WHERE id = ?1";
        let values = params![row.session, self.next, row.checksum];
        self.db.prepare_cached(sql).unwrap().execute(values).unwrap();
        let sql = "UPDATE segments SET data = ?2, checksum = ?3 WHERE id = ?1";
        let values = params![row.session, row.segment, row.checksum];
        self.db.prepare_cached(sql).unwrap().execute(values).unwrap();
        let sql = "INSERT INTO directories VALUES (?1, 0, ?2)
                   ON CONFLICT DO UPDATE SET listed = excluded.listed";
        self.db.prepare_cached(sql).unwrap().execute([row.session, self.next]).unwrap();
    }
}

impl Rows {
    fn new(
        compressor: &mut zstd::bulk::Compressor<'_>,
        text: &str,
        seed: usize,
        session: i64,
    ) -> Self {
        let message =
            Message { at: Some(Timestamp::from_millis(0)), ..Message::text(Role::System, text) };
        let content = Content::encode(&[message]);
        let page = Page {
            index: format!("usr-{seed}").parse().unwrap(),
            parent: Some("usr-0".parse().unwrap()),
            place: Place(seed as u64),
            body: PageBody::Detail(PageDetail {
                content: content.hash(),
                messages: 1,
                counted: None,
                weight: 1_000,
                open: Vec::new(),
            }),
            name: format!("Page {seed}").parse().unwrap(),
            description: Description::default(),
            visibility: Visibility::Hidden,
            standing: PageStanding::InTree,
            author: Actor::System,
            rewritten_by: None,
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
            fold: None,
            inverse: Inverse { pages: vec![before], ..Inverse::default() },
        };
        let page_bytes = page.encode();
        let compressed = (content.bytes().len() >= PACKED_FROM)
            .then(|| compressor.compress(content.bytes()).unwrap());
        Self {
            session,
            segment: page_bytes[..300.min(page_bytes.len())].to_vec(),
            checksum: Checksum::of(&page_bytes).0,
            page: page_bytes,
            hash: *content.hash().as_bytes(),
            raw: compressed.as_ref().map(|_| content.bytes().len() as i64),
            blob: compressed.unwrap_or_else(|| content.bytes().to_vec()),
            history: serde_json::to_vec(&entry).unwrap(),
        }
    }
}
