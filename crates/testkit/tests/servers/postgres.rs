//! PostgreSQL.

use std::{collections::BTreeSet, net::TcpStream, ptr, thread};

use contexture_testkit::server::PostgresServer;

use crate::client::Postgres;

fn ask(url: &str, sql: &str) -> Vec<String> {
    Postgres::connect(url).unwrap().query(sql).unwrap()
}

fn address(server: &PostgresServer) -> String {
    let url = server.url().strip_prefix("postgres://postgres@").unwrap();
    url.strip_suffix("/postgres").unwrap().to_owned()
}

#[test]
fn databases_are_empty_and_apart() {
    let server = PostgresServer::shared();
    let (one, other) = (server.fresh_database(), server.fresh_database());
    assert_ne!(one, other);
    let tables = "select tablename from pg_tables where schemaname = 'public'";
    for url in [&one, &other] {
        assert_eq!(ask(url, tables), [""; 0]);
    }
    ask(&one, "create table pages (name text)");
    assert_eq!(ask(&one, tables), ["pages"]);
    assert_eq!(ask(&other, tables), [""; 0]);
    // The client tells one that is not there, so the others are.
    let missing = Postgres::connect(&one.replace("/test_", "/missing_")).err().unwrap();
    assert!(missing.starts_with("3D000 "), "{missing}");
}

#[test]
fn databases_are_made_by_many_threads_at_once() {
    let server = PostgresServer::shared();
    let urls: BTreeSet<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| server.fresh_database())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(urls.len(), 4);
    for url in urls {
        let name = url.rsplit('/').next().unwrap();
        assert_eq!(ask(&url, "select current_database()"), [name]);
    }
}

#[test]
fn the_shared_server_is_one() {
    assert!(ptr::eq(PostgresServer::shared(), PostgresServer::shared()));
}

#[test]
fn what_was_committed_outlives_a_stop_and_a_kill() {
    let server = PostgresServer::start();
    let url = server.fresh_database();
    let mut open = Postgres::connect(&url).unwrap();
    open.query("create table pages (name text)").unwrap();

    open.query("insert into pages values ('before the stop')").unwrap();
    server.stop();
    // Connections that are open are ended, new ones refused.
    open.query("select 1").unwrap_err();
    TcpStream::connect(address(&server)).unwrap_err();
    server.start_again();
    assert_eq!(ask(&url, "select name from pages"), ["before the stop"]);

    ask(&url, "insert into pages values ('before the kill')");
    let mut open = Postgres::connect(&url).unwrap();
    open.query("begin").unwrap();
    open.query("insert into pages values ('never committed')").unwrap();
    server.kill();
    open.query("commit").unwrap_err();
    TcpStream::connect(address(&server)).unwrap_err();
    server.start_again();
    assert_eq!(ask(&url, "select name from pages"), ["before the stop", "before the kill"]);
    server.fresh_database();
}

#[test]
fn stopping_and_starting_twice_changes_nothing() {
    let server = PostgresServer::start();
    server.start_again();
    server.stop();
    server.stop();
    server.kill();
    server.start_again();
    assert_eq!(ask(server.url(), "select 1"), ["1"]);
}

#[test]
fn settings_are_those_promised() {
    let fast = PostgresServer::shared();
    let durable = PostgresServer::start_durable();
    assert_ne!(fast.url(), durable.url());
    for (server, fsync) in [(fast, "off"), (&durable, "on")] {
        for (setting, value) in [
            ("fsync", fsync),
            ("synchronous_commit", "on"),
            ("listen_addresses", "127.0.0.1"),
            ("max_connections", "400"),
            ("server_encoding", "UTF8"),
        ] {
            assert_eq!(ask(server.url(), &format!("show {setting}")), [value], "{setting}");
        }
    }
}

#[test]
fn a_dropped_server_is_gone() {
    let server = PostgresServer::start();
    let folder = ask(server.url(), "show data_directory").remove(0);
    assert!(std::fs::exists(&folder).unwrap());
    let address = address(&server);
    drop(server);
    TcpStream::connect(address).unwrap_err();
    assert!(!std::fs::exists(&folder).unwrap());
}
