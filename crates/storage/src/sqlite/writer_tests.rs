use super::*;
use crate::sqlite::SqliteOptions;

fn worker(path: &Path, durability: Durability) -> Worker {
    let options = SqliteOptions { durability, ..SqliteOptions::default() };
    Worker {
        path: path.to_owned(),
        what: path.display().to_string(),
        due: Due::of(path),
        db: open::writer(path, &options).unwrap(),
        heads: Heads::default(),
        pace: Pace::default(),
        durability,
        present: durability,
        queue: Arc::new(Queue::new()),
    }
}

/// Returns SQLite's number for how far it waits for the disk, inside such a transaction.
fn waits(worker: &mut Worker, lasting: bool) -> i64 {
    worker.begin(lasting).unwrap_or_else(|_| panic!("it can begin"));
    let waits = worker.db.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
    worker.end().unwrap_or_else(|_| panic!("it can end"));
    waits
}

#[test]
fn only_what_may_be_lost_does_not_wait_for_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.db");
    let (full, normal) = (2, 1);
    let mut durable = worker(&path, Durability::PowerCut);
    for (lasting, expected) in [(true, full), (false, normal), (false, normal), (true, full)] {
        assert_eq!(waits(&mut durable, lasting), expected);
    }
    let mut light = worker(&path, Durability::Process);
    for lasting in [true, false, true] {
        assert_eq!(waits(&mut light, lasting), normal);
    }
}

#[test]
fn counts_wait_for_the_disk_only_in_company() {
    let counts = || Job::Write(Task::Counts(Vec::new(), oneshot::channel().0));
    let report = || {
        let (session, keep) = ("s".parse().unwrap(), Default::default());
        let report = Keeping { session, keep, found: false };
        Job::Write(Task::Keep(Box::new(report), oneshot::channel().0))
    };
    let remove = || Job::Remove("s".parse().unwrap(), oneshot::channel().0);
    assert!(!must_last(&VecDeque::from([counts(), counts()])));
    assert!(must_last(&VecDeque::from([counts(), report()])));
    // What comes after a removal is not in the same transaction.
    assert!(!must_last(&VecDeque::from([counts(), remove(), report()])));
}
