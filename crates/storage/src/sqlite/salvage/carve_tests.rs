//! Carving: what does not fit is no row, and a page says whether there is more in it than its rows.

use std::{fs, path::Path};

use rusqlite::{Connection, OpenFlags};

use super::*;
use crate::sqlite::open;

const PAGE: usize = 4_096;

fn open(path: &Path) -> Connection {
    let db = open::connection(path, OpenFlags::default(), contexture_vfs::SALVAGE).unwrap();
    // So that it is known how large a page is.
    let _ = db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    db
}

/// Makes a table that begins in page 2 and leads to no other, with these rows.
fn make(path: &Path, rows: &[&str]) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE t (x TEXT)").unwrap();
    for row in rows {
        db.execute("INSERT INTO t VALUES (?1)", [row]).unwrap();
    }
}

fn carved(path: &Path) -> Carved {
    let db = open(path);
    page(&mut Pages::of(&db).unwrap(), 2, 0).unwrap()
}

#[test]
fn a_row_that_goes_on_in_a_page_twice_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path, &["short", &"long ".repeat(4_000)]);
    let Carved { cells, is_all } = carved(&path);
    assert_eq!((cells.len(), is_all), (2, true));
    let overflow = &cells[1].overflow;
    assert!(overflow.len() > 3, "{overflow:?}");
    let mut bytes = fs::read(&path).unwrap();
    let second = usize::try_from(overflow[1]).unwrap();
    let first = u32::try_from(overflow[0]).unwrap();
    bytes[(second - 1) * PAGE..][..4].copy_from_slice(&first.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let Carved { cells, is_all } = carved(&path);
    assert_eq!((cells.len(), is_all), (1, false));
}

#[test]
fn a_page_in_which_rows_are_no_longer_listed_holds_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path, &["one", "two", "three"]);
    // A hole between rows is free, not unknown.
    let db = Connection::open(&path).unwrap();
    db.execute("DELETE FROM t WHERE x = 'two'", []).unwrap();
    drop(db);
    let Carved { cells, is_all } = carved(&path);
    assert_eq!((cells.len(), is_all), (2, true));
    let mut bytes = fs::read(&path).unwrap();
    bytes[PAGE + 4] = 1;
    fs::write(&path, bytes).unwrap();
    let Carved { cells, is_all } = carved(&path);
    assert_eq!((cells.len(), is_all), (1, false));
}
