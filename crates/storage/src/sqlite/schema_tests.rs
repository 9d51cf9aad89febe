use std::{path::Path, sync::Arc};

use contexture_core::{
    Edit, PageStorage, Revision, Segment, SessionId, Tokens,
    storage::{CountKey, HistoryQuery, LedgerQuery, Mark, RunPut, ViewHead},
};
use contexture_testkit::{
    fixture::{agent, apply, leaf, page, reopen, session, session_id, valid},
    state,
};
use futures::executor::block_on;

use super::*;
use crate::sqlite::{
    SqliteOptions, SqliteStorage,
    rows::{SegmentRow, SessionRow},
};

fn open(path: &Path) -> Arc<SqliteStorage> {
    Arc::new(SqliteStorage::open(path, SqliteOptions::default()).unwrap())
}

fn ok<T>(outcome: FaultResult<T>) -> T {
    outcome.unwrap_or_else(|fault| panic!("{fault:?}"))
}

/// Writes what a storage holds to a file as a program would have written it that knew no checksums of
/// pages.
fn write_without_sums(storage: &SqliteStorage, to: &Path) {
    let db = Connection::open(to).unwrap();
    ok(super::apply(&db, 0, MIGRATIONS.len()));
    db.execute("ATTACH ?1 AS later", [storage.path().to_str().unwrap()]).unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    for table in ok(collect(&db, tables, [], |row| Ok(row.get::<_, String>(0)?))) {
        db.execute(&format!("INSERT INTO {table} SELECT * FROM later.{table}"), []).unwrap();
    }
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
}

/// Writes what a storage holds to a file as a program of the first version would have written it.
fn write_as_first(storage: &SqliteStorage, to: &Path) {
    let db = Connection::open(to).unwrap();
    ok(super::apply(&db, 0, 1));
    db.execute("ATTACH ?1 AS later", [storage.path().to_str().unwrap()]).unwrap();
    let kept = "id, name, app, revision, next_place, created_at, updated_at, checksum";
    db.execute(&format!("INSERT INTO sessions SELECT {kept} FROM later.sessions"), []).unwrap();
    for table in [
        "segments",
        "pages",
        "directories",
        "contents",
        "blobs",
        "levels",
        "focus",
        "custom",
        "history",
    ] {
        db.execute(&format!("INSERT INTO {table} SELECT * FROM later.{table}"), []).unwrap();
    }
    // Sessions had no marks, and segments did not know what touched their pages.
    for info in block_on(storage.sessions(None, 10)).unwrap() {
        let key = "SELECT id FROM sessions WHERE name = ?1";
        let key: i64 = db.query_row(key, [info.id.as_str()], |row| row.get(0)).unwrap();
        let checksum = SessionRow::checksum_with(key, &info, None);
        let sql = "UPDATE sessions SET checksum = ?2 WHERE id = ?1";
        db.execute(sql, rusqlite::params![key, checksum]).unwrap();
        for segment in block_on(storage.segments(&info.id)).unwrap() {
            let id = "SELECT id FROM segments WHERE session = ?1 AND name = ?2";
            let name = segment.id.as_str();
            let params = rusqlite::params![key, name];
            let id: i64 = db.query_row(id, params, |row| row.get(0)).unwrap();
            let data = SegmentRow::encode(&Segment { touched: Revision(0), ..segment.clone() });
            assert!(!String::from_utf8_lossy(&data).contains("touched"));
            let checksum = SegmentRow::checksum(key, id, name, Some(&data));
            let sql = "UPDATE segments SET data = ?2, checksum = ?3 WHERE id = ?1";
            db.execute(sql, rusqlite::params![id, data, checksum]).unwrap();
        }
    }
}

fn marks_stored(path: &Path) -> Vec<Option<String>> {
    let db = Connection::open(path).unwrap();
    let mut query = db.prepare("SELECT mark FROM sessions").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn version(path: &Path) -> i64 {
    Identity::read(&Connection::open(path).unwrap()).unwrap().version
}

/// A session with a level, a focus and custom state.
async fn fill(storage: Arc<SqliteStorage>) {
    let system = session(storage).await; // 1, 2
    let note = leaf(&system, "usr-0", "note").await; // 3
    agent(&system, "bot").pin_page(&note).await.unwrap(); // 4
    agent(&system, "eve").focus_page(&note).await.unwrap(); // 5
    let (key, value) = (valid("goal"), Some("win".to_owned()));
    apply(&system, Edit::SetCustom { key, value }).await; // 6
}

#[test]
fn a_file_of_the_first_version_opens_and_works() {
    let folder = tempfile::tempdir().unwrap();
    let (new, old) = (folder.path().join("new.db"), folder.path().join("old.db"));
    let id: SessionId = session_id();
    let history = HistoryQuery { limit: 100, ..HistoryQuery::default() };
    let made = open(&new);
    block_on(fill(made.clone()));
    write_as_first(&made, &old);
    assert_eq!(version(&old), 1);

    let storage = open(&old);
    assert_eq!((version(&old), version(&new)), (VERSION, VERSION));
    block_on(async {
        // All that was there is there.
        assert_eq!(storage.verify().await.unwrap(), [""; 0]);
        let (was, is) = (state::read(&*made, &id).await, state::read(&*storage, &id).await);
        assert_eq!(was.differences(&is), [""; 0]);
        let entries = storage.history(&id, &history).await.unwrap();
        assert_eq!(entries, made.history(&id, &history).await.unwrap());
        // Its mark can only be what can be worked out, and stays that.
        let info = storage.session(&id).await.unwrap().unwrap();
        assert_eq!(info.mark, Mark::of_session(&id, info.created_at));
        assert_eq!(marks_stored(&old), [None]);
        // What changed its views is not known better.
        let head = |view: &str, focus: Option<&str>| ViewHead {
            view: valid(view),
            focus: focus.map(page),
            touched: Revision(6),
        };
        let heads = [head("system", None), head("bot", None), head("eve", Some("usr-1"))];
        assert_eq!(storage.views(&id).await.unwrap(), heads);

        // And everything can be done with it.
        let system = reopen(storage.clone()).await;
        agent(&system, "bot").expand_details("usr-1").await.unwrap(); // 7
        leaf(&system, "usr-0", "another").await; // 8
        let heads = storage.views(&id).await.unwrap();
        let touched: Vec<u64> = heads.iter().map(|head| head.touched.0).collect();
        assert_eq!(touched, [6, 7, 6]);
        let touched: Vec<u64> =
            storage.segments(&id).await.unwrap().iter().map(|segment| segment.touched.0).collect();
        assert_eq!(touched, [0, 8]);
        apply(&system, Edit::Undo { revision: Some(Revision(7)) }).await; // 9
        apply(&system, Edit::Undo { revision: Some(Revision(4)) }).await; // 10
        storage.keep_counts(&[(CountKey([1; 16]), Tokens(1))]).await.unwrap();
        assert_eq!(storage.counts(&[CountKey([1; 16])]).await.unwrap(), [Some(Tokens(1))]);
        let run = RunPut::first(valid("run"), "{}", info.created_at);
        assert_eq!(storage.runs(&id, "").await.unwrap(), []);
        storage.keep_run(&id, &run).await.unwrap();
        assert_eq!(storage.runs(&id, "").await.unwrap(), [run.record().unwrap()]);
        let key =
            contexture_core::storage::LedgerKey { view: valid("bot"), format: valid("openai") };
        let query = LedgerQuery { upto: None, limit: 9 };
        assert_eq!(storage.ledger(&id, &key, &query).await.unwrap(), []);
        assert_eq!(storage.verify().await.unwrap(), [""; 0]);
        assert_eq!(marks_stored(&old), [Some(info.mark.as_str().to_owned())]);
        assert_eq!(storage.session(&id).await.unwrap().unwrap().mark, info.mark);
    });
    drop(storage);
    let again = open(&old);
    assert_eq!(block_on(again.verify()).unwrap(), [""; 0]);
    assert!(block_on(again.remove_session(&id)).unwrap());
    assert_eq!(block_on(again.verify()).unwrap(), [""; 0]);
}

/// Returns the numbers of damaged pages; none where pages carry no checksums.
fn damaged_pages(path: &Path) -> Option<Vec<u64>> {
    let db = ok(crate::sqlite::open::reader(path, std::time::Duration::ZERO));
    Identity::read(&db).unwrap();
    contexture_vfs::is_checked(&db).then(|| contexture_vfs::damaged_pages(&db).unwrap())
}

fn without_sums(folder: &Path) -> (Arc<SqliteStorage>, std::path::PathBuf) {
    let old = folder.join("old.db");
    let made = open(&folder.join("new.db"));
    block_on(fill(made.clone()));
    write_without_sums(&made, &old);
    assert_eq!((version(&old), damaged_pages(&old)), (TABLES, None));
    (made, old)
}

#[test]
fn a_file_without_checksums_gets_them_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (made, old) = without_sums(folder.path());
    drop(open(&old));
    assert_eq!((version(&old), damaged_pages(&old)), (VERSION, Some(vec![])));
    let storage = open(&old);
    let id = session_id();
    block_on(async {
        assert_eq!(storage.verify().await.unwrap(), [""; 0]);
        let (was, is) = (state::read(&*made, &id).await, state::read(&*storage, &id).await);
        assert_eq!(was.differences(&is), [""; 0]);
    });
}

// A program that knows no checksums would go on writing pages without.
#[test]
fn a_file_in_use_gets_its_checksums_later() {
    let folder = tempfile::tempdir().unwrap();
    let (_, old) = without_sums(folder.path());
    let other = Connection::open(&old).unwrap();
    other.query_row("SELECT count(*) FROM pages", [], |_| Ok(())).unwrap();
    let storage = open(&old);
    block_on(async {
        let system = reopen(storage.clone()).await;
        leaf(&system, "usr-0", "another").await;
        assert_eq!(storage.verify().await.unwrap(), [""; 0]);
    });
    drop(storage);
    assert_eq!((version(&old), damaged_pages(&old)), (TABLES, None));
    drop(other);
    drop(open(&old));
    assert_eq!((version(&old), damaged_pages(&old)), (VERSION, Some(vec![])));
}

// Writing it anew would give what is left of it checksums that are right.
#[test]
fn a_damaged_file_gets_no_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let (_, old) = without_sums(folder.path());
    let db = Connection::open(&old).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'pages'";
    let root: u32 = db.query_row(root, [], |row| row.get(0)).unwrap();
    drop(db);
    let mut bytes = std::fs::read(&old).unwrap();
    bytes[(root as usize - 1) * 4_096..][..512].fill(0);
    std::fs::write(&old, &bytes).unwrap();
    drop(open(&old));
    assert_eq!(version(&old), TABLES);
}

#[test]
fn giving_checksums_can_be_cut_off_after_every_step() {
    type Step = fn(&Connection);
    let steps: [Step; 3] = [
        |db| drop(db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))),
        |db| {
            contexture_vfs::reserve(db).unwrap();
            db.execute_batch("VACUUM").unwrap();
        },
        |db| contexture_vfs::seal(db).unwrap(),
    ];
    for cut_off in 1..=steps.len() {
        let folder = tempfile::tempdir().unwrap();
        let (made, old) = without_sums(folder.path());
        let flags = rusqlite::OpenFlags::default();
        let db = crate::sqlite::open::connection(&old, flags, contexture_vfs::CHECKED).unwrap();
        steps[..cut_off].iter().for_each(|step| step(&db));
        drop(db);
        assert_eq!((version(&old), damaged_pages(&old)), (TABLES, None), "step {cut_off}");
        let storage = open(&old);
        assert_eq!((version(&old), damaged_pages(&old)), (VERSION, Some(vec![])));
        let id = session_id();
        block_on(async {
            assert_eq!(storage.verify().await.unwrap(), [""; 0]);
            let (was, is) = (state::read(&*made, &id).await, state::read(&*storage, &id).await);
            assert_eq!(was.differences(&is), [""; 0]);
        });
    }
}
