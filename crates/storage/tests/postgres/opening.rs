//! Opening: tables made once however many come at once, and errors that help and keep secrets.

use std::{
    io::{Read, Write},
    net::TcpListener,
    time::Duration,
};

use contexture_core::{Advice, ErrorKind, PageStorage, storage::StorageError};
use contexture_storage::{CreateMode, PostgresOptions, PostgresStorage};
use contexture_testkit::{fixture, server::PostgresServer};
use futures::executor::block_on;

use crate::{
    children::spawn,
    support::{append, database, open, options, sql, system},
};

pub(crate) fn child(url: &str) {
    open(url);
}

fn refused(url: &str, options: PostgresOptions) -> StorageError {
    block_on(PostgresStorage::open(url, options)).expect_err("it cannot be opened")
}

// Eight processes and eight threads of one open an empty database at once; all can use it.
#[test]
fn many_open_an_empty_database_at_once() {
    let url = database();
    let children: Vec<_> = (0..8).map(|_| spawn(&["open", &url])).collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| open(&url));
        }
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let storage = open(&url);
    let made = block_on(fixture::session(storage));
    append(&made, "first").unwrap();
    assert_eq!(
        sql(&url, "SELECT application, version FROM contexture_meta"),
        [["contexture", "1"]]
    );
}

#[test]
fn tables_that_must_exist_are_not_made() {
    let url = database();
    let must = PostgresOptions { create: CreateMode::MustExist, ..options() };
    let error = refused(&url, must);
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.advice(), Advice::MakeStore, "{error}");
    let tables = "SELECT count(*) FROM pg_class WHERE relname LIKE 'contexture%'";
    assert_eq!(sql(&url, tables), [["0"]]);
    open(&url);
    block_on(PostgresStorage::open(&url, must)).unwrap();
}

#[test]
fn tables_of_others_are_left_alone() {
    let url = database();
    sql(&url, "CREATE TABLE contexture_meta (application TEXT, version BIGINT)");
    assert!(matches!(refused(&url, options()), StorageError::Foreign { .. }));
    sql(&url, "DROP TABLE contexture_meta; CREATE TABLE contexture_meta (other INT)");
    assert!(matches!(refused(&url, options()), StorageError::Foreign { .. }));
    // Other tables are no trouble.
    sql(&url, "DROP TABLE contexture_meta; CREATE TABLE sessions (id INT)");
    open(&url);
    sql(&url, "UPDATE contexture_meta SET version = 1000");
    let newer = refused(&url, options());
    assert!(matches!(newer, StorageError::Newer { found: 1000, .. }), "{newer}");
}

/// A server that asks for a password and does not like it.
fn disliking_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 1_024];
            let _ = stream.read(&mut bytes);
            stream.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3]).unwrap();
            let _ = stream.read(&mut bytes);
            let said =
                b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user \"me\"\0\0";
            let length = u32::try_from(said.len() + 4).unwrap();
            let mut answer = vec![b'E'];
            answer.extend(length.to_be_bytes());
            answer.extend(said);
            stream.write_all(&answer).unwrap();
        }
    });
    port
}

// What is wrong is said clearly, and no secret with it.
#[test]
fn errors_are_clear_and_keep_secrets() {
    let port = disliking_server();
    let quick = PostgresOptions { timeout: Duration::from_secs(5), ..options() };
    let server = PostgresServer::shared().url().replace("postgres://", "");
    let host = server.rsplit_once('@').map_or(server.as_str(), |(_, host)| host);
    let host = host.split('/').next().unwrap();
    for (url, says) in [
        (
            format!("postgres://me:hunter2@127.0.0.1:{port}/x?sslmode=disable"),
            "password authentication",
        ),
        (format!("postgres://postgres:hunter2@{host}/nowhere"), "nowhere"),
        (format!("postgres://nobody:hunter2@{host}/postgres"), "nobody"),
        ("postgres://me:hunter2@127.0.0.1:1/x".to_owned(), "refused"),
        ("postgres://me:hunter2@no-such-host.invalid/x".to_owned(), "no-such-host"),
        ("postgres://me:hunter2@/x?sslmode=maybe".to_owned(), "sslmode"),
        ("postgres://me:hunter2@h:hunter2/x".to_owned(), "HOST:PORT"),
        (
            "postgres://me:hunter2@h/x?sslmode=verify-full&sslrootcert=/nowhere.pem".to_owned(),
            "nowhere.pem",
        ),
    ] {
        let error = refused(&url, quick);
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{url}: {error}");
        let told = format!("{error} {error:?} {}", error.advice());
        assert!(told.contains(says), "{url}: {told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
    let url = database().replace("postgres://postgres@", "postgres://postgres:hunter2@");
    assert!(!format!("{:?}", open(&url)).contains("hunter2"));
}

// A server without encryption is refused where encryption is asked for.
#[test]
fn encryption_that_is_required_is_not_forgone() {
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = refused(&format!("{}?sslmode={mode}", database()), options());
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().to_lowercase().contains("tls"), "{error}");
    }
    block_on(PostgresStorage::open(&format!("{}?sslmode=prefer", database()), options())).unwrap();
}

// A storage is used from threads that have no runtime, after others have come and gone.
#[test]
fn sessions_survive_reopening() {
    let url = database();
    block_on(fixture::session(open(&url)));
    append(&system(open(&url)), "kept").unwrap();
    let storage = open(&url);
    assert_eq!(storage.capabilities().name, "postgres");
    assert!(crate::support::names(&*storage).contains(&"kept".to_owned()));
}
