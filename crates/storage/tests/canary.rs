//! Canaries: a text is written by every path there is, purged, and looked for in all that a storage keeps.

use std::{fs, io::Read, path::Path};

use contexture_core::{
    ContextSystem, Edit, ErrorKind, NewDetailPage, PageIndex, PageUpdate, Permission, Principal,
    SegmentKind, Timestamp,
    storage::{
        Quarantine, RunPut, Trace,
        check::{Losses, repair_storage},
    },
};
use contexture_testkit::{
    backend::{Backend, Home},
    fixture::{
        add_segment, agent, apply, assistant, calls, directory, new_directory, new_leaf, page,
        reopen, returned, segment, session, user, valid,
    },
    window::options,
};
use futures::{TryStreamExt, executor::block_on};
use object_store::{ObjectStore, ObjectStoreExt, aws::AmazonS3Builder};
use tokio_postgres::NoTls;

use crate::backends;

/// What must be nowhere, and what must be found: the search looks in the right places.
const CANARY: &str = "CANARY";
const KEPT: &str = "KEPT";

async fn undo(system: &ContextSystem, revision: contexture_core::Revision) {
    apply(system, Edit::Undo { revision: Some(revision) }).await;
}

/// Writes the text by every path, all of it under one page; returns that page.
async fn hide(system: &ContextSystem) -> PageIndex {
    add_segment(system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
    let top = directory(system, "usr-0", "CANARY directory").await;
    let under = top.to_string();
    // A page with name, description and text; long ones are compressed, or lie in files of their own.
    let plain = apply(system, new_leaf(&under, "CANARY page")).await.pages[0].clone();
    for (name, size) in [("CANARY words", 9_000), ("CANARY noise", 300_000)] {
        let text: String = match size {
            300_000 => noise(size),
            _ => format!("{CANARY} and again. ").repeat(size / 18),
        };
        apply(system, Edit::CreateDetailPage(NewDetailPage::new(top.clone(), valid(name), text)))
            .await;
    }
    // A turn with a call and its result; the first line is its name.
    let turn = vec![
        user("CANARY request"),
        calls("c1", "{\"path\":\"CANARY argument\"}"),
        returned("c1", "CANARY result"),
        assistant("CANARY answer"),
    ];
    let turn = apply(system, Edit::AddTurn { segment: segment("usr"), messages: turn }).await;
    apply(system, Edit::MovePage { page: turn.pages[0].clone(), to: top.clone() }).await;
    // A text that was replaced: only history knows it.
    let made = apply(system, new_leaf(&under, "CANARY before")).await;
    let mut update = PageUpdate::of(made.pages[0].clone());
    (update.name, update.detail) = (Some(valid("after")), Some("harmless".to_owned()));
    update.description = Some(valid("harmless"));
    apply(system, Edit::UpdatePage(update)).await;
    // Creations and a move that were undone.
    let made = apply(system, new_leaf(&under, "CANARY undone")).await;
    undo(system, made.revision).await;
    let inner = apply(system, new_directory(&under, "CANARY inner", &[])).await;
    let made = apply(system, new_leaf(&inner.pages[0].to_string(), "CANARY deep")).await;
    undo(system, made.revision).await;
    undo(system, inner.revision).await;
    let made = apply(system, new_leaf(&under, "CANARY there and back")).await;
    let gone = Edit::MovePage { page: made.pages[0].clone(), to: page("oth-0") };
    undo(system, apply(system, gone).await.revision).await;
    // A page that came from another segment, and one in the archive.
    let made = apply(system, new_leaf("oth-0", "CANARY moved")).await;
    apply(system, Edit::MovePage { page: made.pages[0].clone(), to: top.clone() }).await;
    let made = apply(system, new_leaf(&under, "CANARY archived")).await;
    apply(system, Edit::RemovePage(made.pages[0].clone())).await;
    // What views say of them, folds, and windows sent in every format.
    let bot = agent(system, "bot");
    bot.pin_page(&plain).await.expect("it may");
    for format in contexture_core::Format::ALL {
        let mut asked = options(format);
        system.as_system().send(&asked).await.expect("it is sent");
        asked.budget = Some(contexture_core::Tokens(4_000));
        bot.send(&asked).await.expect("it is folded and sent");
    }
    bot.unpin_page(&plain).await.expect("it may");
    // A run that was interrupted.
    let value = "{\"answer\":\"CANARY pending\"}";
    let run = RunPut::first(valid("run.bot.000001"), value, Timestamp::from_millis(1));
    system.keep_run(&run).await.expect("there is none");
    top
}

/// Returns a text that is about so long however it is compressed.
fn noise(size: usize) -> String {
    let noise =
        |at: usize| contexture_core::storage::ContentHash::of(&at.to_le_bytes()).to_string();
    (0..size / 64).map(|at| format!("{CANARY} {}", noise(at))).collect()
}

/// Purges it; first it is refused, for the sake of the run.
async fn purge(system: &ContextSystem, top: PageIndex) {
    let refused = system.as_system().apply(Edit::PurgePage(top.clone())).await;
    assert_eq!(refused.expect_err("a run has not ended").kind(), ErrorKind::Conflict);
    let run = system.runs("run.").await.expect("it reads").remove(0);
    let ended = [run.removal(Timestamp::from_millis(2))];
    system
        .apply_with_runs(&Principal::System, &Edit::PurgePage(top), &ended)
        .await
        .expect("it is purged");
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Adds bytes, and what is compressed anywhere in them.
fn add(all: &mut Vec<u8>, bytes: &[u8]) {
    const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
    all.extend_from_slice(bytes);
    for (at, _) in bytes.windows(4).enumerate().filter(|(_, window)| *window == MAGIC) {
        let mut plain = Vec::new();
        if let Ok(decoder) = zstd::stream::read::Decoder::new(&bytes[at..]) {
            // What follows the frame is no frame; what was read before that counts.
            let _ = decoder.single_frame().read_to_end(&mut plain);
        }
        all.extend(plain);
    }
}

/// Adds all files below a folder, and all that the tables of databases among them hold.
fn add_folder(all: &mut Vec<u8>, folder: &Path, databases: bool) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_folder(all, &path, databases);
            continue;
        }
        all.extend(path.display().to_string().into_bytes());
        add(all, &fs::read(&path).unwrap());
        if databases && path.extension().is_some_and(|ending| ending == "db") {
            add_database(all, &path);
        }
    }
}

fn add_database(all: &mut Vec<u8>, path: &Path) {
    let db = rusqlite::Connection::open(path).unwrap();
    let mut query = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> =
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let mut query = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = query.column_count();
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                match row.get_ref(column).unwrap() {
                    rusqlite::types::ValueRef::Text(text) => add(all, text),
                    rusqlite::types::ValueRef::Blob(blob) => add(all, blob),
                    _ => {}
                }
            }
        }
    }
}

/// Adds every column of every table.
async fn add_tables(all: &mut Vec<u8>, url: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let sql = "SELECT table_name, column_name, data_type FROM information_schema.columns
               WHERE table_schema = 'public'";
    for column in client.query(sql, &[]).await.unwrap() {
        let (table, name, kind): (&str, &str, &str) = (column.get(0), column.get(1), column.get(2));
        let is_bytes = kind == "bytea";
        let shown = if is_bytes { "" } else { "::text" };
        let sql = format!("SELECT \"{name}\"{shown} FROM \"{table}\" WHERE \"{name}\" IS NOT NULL");
        for row in client.query(&sql, &[]).await.unwrap() {
            if is_bytes {
                add(all, row.get(0));
            } else {
                add(all, row.get::<_, &str>(0).as_bytes());
            }
        }
    }
    drop(client);
    connection.await.unwrap().unwrap();
}

/// Opens the bucket of a storage; returns its prefix too.
fn bucket(locator: &str) -> (impl ObjectStore, String) {
    let words: Vec<&str> = locator.trim_start_matches("s3:").split(' ').collect();
    let (bucket, prefix) = words[0].trim_start_matches("//").split_once('/').unwrap();
    let store = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_endpoint(words[1])
        .with_access_key_id(words[2])
        .with_secret_access_key(words[3])
        .with_region(words[4])
        .with_allow_http(true)
        .build()
        .unwrap();
    (store, prefix.to_owned())
}

/// Adds every object of a prefix.
async fn add_objects(all: &mut Vec<u8>, locator: &str) {
    let (store, prefix) = bucket(locator);
    let listed: Vec<_> = store.list(Some(&prefix.into())).try_collect().await.unwrap();
    for meta in listed {
        all.extend(meta.location.to_string().into_bytes());
        add(all, &store.get(&meta.location).await.unwrap().bytes().await.unwrap());
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Returns all that a storage keeps, unpacked where it is packed.
fn everything(home: &dyn Home, databases: bool) -> Vec<u8> {
    let mut all = Vec::new();
    if let Some(folder) = home.folder() {
        add_folder(&mut all, &folder, databases);
        return all;
    }
    let locator = home.locator().unwrap();
    match locator.starts_with("s3:") {
        true => runtime().block_on(add_objects(&mut all, &locator)),
        false => runtime().block_on(add_tables(&mut all, &locator)),
    }
    all
}

fn leaves_nothing(backend: &dyn Backend) {
    let name = backend.name();
    let home = backend.home();
    let storage = home.open();
    let system = block_on(session(storage.clone()));
    for at in 0..20 {
        block_on(apply(&system, new_leaf("usr-0", &format!("{KEPT} {at}"))));
    }
    let top = block_on(hide(&system));
    let before = everything(&*home, false);
    assert!(holds(&before, CANARY) && holds(&before, KEPT), "{name}: it looks in the right places");
    block_on(purge(&system, top));
    // At once, in all that is not the server's own: its dead rows no question shows.
    let after = everything(&*home, false);
    assert!(!holds(&after, CANARY), "{name}: after the purge, still open: {}", around(&after));
    assert!(holds(&after, KEPT), "{name}");
    let left = block_on(storage.scrub(Quarantine::Keep)).unwrap();
    assert!(left.is_empty(), "{name}: {left:?}");
    assert_eq!(block_on(storage.traces()).unwrap(), [], "{name}");
    drop(system);
    drop(storage);
    let after = everything(&*home, true);
    assert!(!holds(&after, CANARY), "{name}: after scrubbing, closed: {}", around(&after));
    assert!(holds(&after, KEPT), "{name}");
    let again = home.open();
    assert_eq!(block_on(again.verify()).unwrap(), [""; 0], "{name}");
}

/// Returns what stands around the canary, to be shown.
fn around(bytes: &[u8]) -> String {
    let at = bytes.windows(CANARY.len()).position(|window| window == CANARY.as_bytes());
    let at = at.unwrap_or(0);
    let around = &bytes[at.saturating_sub(80)..(at + 80).min(bytes.len())];
    String::from_utf8_lossy(around).into_owned()
}

// After a purge nothing is left in the bytes of a SQLite file and its log.
#[test]
fn sqlite_keeps_nothing_of_it() {
    leaves_nothing(&backends::SqliteBackend);
}

// Nor in a folder of files, its journal and its index.
#[test]
fn files_keep_nothing_of_it() {
    leaves_nothing(&backends::FilesBackend);
}

// Nor in any column of any table of a PostgreSQL database.
#[test]
fn postgres_keeps_nothing_of_it() {
    leaves_nothing(&backends::PostgresBackend);
}

// Nor in any object under a prefix of a bucket.
#[test]
fn s3_keeps_nothing_of_it() {
    leaves_nothing(&backends::S3Backend);
}

/// Tells whether bytes hold the canary, also as the hexadecimal digits of bytes set aside.
fn holds_canary(bytes: &[u8]) -> bool {
    let digits: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    holds(bytes, CANARY) || holds(bytes, &digits)
}

fn names_quarantine(trace: &Trace) -> bool {
    trace.place.starts_with("the quarantine of ") && trace.until.contains("quarantine")
}

/// Damages what holds the page, repairs, purges the page, and empties the quarantine.
fn quarantine_is_named_and_emptied(
    backend: &dyn Backend,
    damage: impl FnOnce(&dyn Home, &PageIndex),
) {
    let name = backend.name();
    let home = backend.home();
    let system = block_on(session(home.open()));
    block_on(apply(&system, new_leaf("usr-0", KEPT)));
    let new = NewDetailPage::new(page("usr-0"), valid("CANARY page"), noise(300_000));
    let canary = block_on(apply(&system, Edit::CreateDetailPage(new))).pages[0].clone();
    drop(system);
    damage(&*home, &canary);
    let storage = home.open();
    assert!(!block_on(storage.traces()).unwrap().iter().any(names_quarantine), "{name}");
    let at = Timestamp::from_millis(9);
    let repaired = block_on(repair_storage(&*storage, Losses::Report, at)).unwrap();
    assert!(repaired.done.iter().any(|done| done.contains("quarantine")), "{name}: {repaired:?}");

    let system = block_on(reopen(storage.clone()));
    block_on(apply(&system, Edit::PurgePage(canary)));
    let after = everything(&*home, false);
    assert!(holds_canary(&after), "{name}: the quarantine keeps it");
    let left = block_on(storage.traces()).unwrap();
    assert!(left.iter().any(names_quarantine), "{name}: {left:?}");
    let left = block_on(storage.scrub(Quarantine::Keep)).unwrap();
    assert!(left.len() == 1 && names_quarantine(&left[0]), "{name}: {left:?}");
    assert!(holds_canary(&everything(&*home, false)), "{name}: nobody asked for it to be emptied");
    assert_eq!(block_on(storage.traces()).unwrap(), left, "{name}");

    assert_eq!(block_on(storage.scrub(Quarantine::Empty)).unwrap(), [], "{name}");
    assert_eq!(block_on(storage.traces()).unwrap(), [], "{name}");
    let after = everything(&*home, false);
    assert!(!holds_canary(&after), "{name}: still open: {}", around(&after));
    drop(system);
    drop(storage);
    let after = everything(&*home, true);
    assert!(!holds_canary(&after), "{name}: closed: {}", around(&after));
    assert!(holds(&after, KEPT), "{name}");
    assert_eq!(block_on(home.open().verify()).unwrap(), [""; 0], "{name}");
}

// What a repair set aside is named after a purge, and emptied when asked for: a row of a SQLite file.
#[test]
fn sqlite_names_and_empties_its_quarantine() {
    quarantine_is_named_and_emptied(&backends::SqliteBackend, |home, page| {
        contexture_vfs::register().unwrap();
        let (flags, vfs) = (rusqlite::OpenFlags::default(), contexture_vfs::CHECKED);
        let file = home.folder().unwrap().join("contexture.db");
        let db = rusqlite::Connection::open_with_flags_and_vfs(file, flags, vfs).unwrap();
        let sql = "UPDATE pages SET checksum = zeroblob(16) WHERE number = ?1
                   AND segment = (SELECT id FROM segments WHERE name = 'usr')";
        let number = i64::try_from(page.number()).unwrap();
        assert_eq!(db.execute(sql, [number]).unwrap(), 1);
    });
}

// A file that somebody edited.
#[test]
fn files_name_and_empty_their_quarantine() {
    quarantine_is_named_and_emptied(&backends::FilesBackend, |home, page| {
        let sessions = home.folder().unwrap().join("store/sessions");
        let one = fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
        let file = one.join(format!("pages/{page}.json"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("CANARY page", "CANARY edited")).unwrap();
    });
}

// A row of a PostgreSQL database.
#[test]
fn postgres_names_and_empties_its_quarantine() {
    quarantine_is_named_and_emptied(&backends::PostgresBackend, |home, page| {
        let damage = async {
            let url = home.locator().unwrap();
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let sql = "UPDATE contexture_pages SET checksum = decode(repeat('00', 16), 'hex')
                       WHERE number = $1";
            let number = i64::try_from(page.number()).unwrap();
            assert!(client.execute(sql, &[&number]).await.unwrap() > 0);
            drop(client);
            connection.await.unwrap().unwrap();
        };
        runtime().block_on(damage);
    });
}

// An object of a bucket.
#[test]
fn s3_names_and_empties_its_quarantine() {
    quarantine_is_named_and_emptied(&backends::S3Backend, |home, _| {
        let damage = async {
            let (store, prefix) = bucket(&home.locator().unwrap());
            let listed: Vec<_> = store.list(Some(&prefix.into())).try_collect().await.unwrap();
            let is_pack = |name: &str| name.starts_with("p-");
            let mut packs = listed.iter().map(|meta| &meta.location);
            let pack = packs.find(|path| path.filename().is_some_and(is_pack)).unwrap();
            let mut bytes = store.get(pack).await.unwrap().bytes().await.unwrap().to_vec();
            // At its end, so that the text can still be looked for.
            *bytes.last_mut().unwrap() ^= 1;
            store.put(pack, bytes.into()).await.unwrap();
        };
        runtime().block_on(damage);
    });
}
