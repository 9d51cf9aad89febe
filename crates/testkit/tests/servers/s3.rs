//! S3.

use std::{net::TcpStream, thread};

use contexture_testkit::server::S3Server;

use crate::client::request;

#[test]
fn conditions_hold() {
    let server = S3Server::shared();
    let key = format!("{}/root", server.fresh_prefix());
    let put = |condition: &str, body: &str| request(server, "PUT", &key, condition, body);
    let get = || request(server, "GET", &key, "", "").body;

    let made = put("If-None-Match: *", "1");
    assert_eq!(made.status, 200);
    assert_eq!(put("If-None-Match: *", "2").status, 412);
    assert_eq!(get(), "1");

    let matching = format!("If-Match: {}", made.etag);
    assert_eq!(put(&matching, "3").status, 200);
    assert_eq!(put(&matching, "4").status, 412);
    assert_eq!(get(), "3");
    let missing = format!("{key}-missing");
    assert_eq!(request(server, "PUT", &missing, &matching, "5").status, 404);
}

#[test]
fn of_many_who_write_at_once_one_wins() {
    let server = S3Server::shared();
    let prefix = server.fresh_prefix();
    for round in 0..8 {
        let key = format!("{prefix}/{round}");
        let write = || request(server, "PUT", &key, "If-None-Match: *", "x").status;
        let mut statuses: Vec<u16> = thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(write)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        statuses.sort();
        assert_eq!(statuses[0], 200);
        assert_eq!(statuses[1..], [412; 15]);
    }
}

#[test]
fn prefixes_are_apart() {
    let server = S3Server::shared();
    assert_ne!(server.fresh_prefix(), server.fresh_prefix());
}

#[test]
fn the_other_server_ignores_conditions() {
    let server = S3Server::start_ignoring_conditions();
    for body in ["1", "2"] {
        let answer = request(&server, "PUT", "root", "If-None-Match: *", body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(request(&server, "PUT", "root", "If-Match: \"other\"", "3").status, 200);
    assert_eq!(request(&server, "GET", "root", "", "").body, "3");
}

#[test]
fn dropped_servers_are_gone() {
    for server in [S3Server::start(), S3Server::start_ignoring_conditions()] {
        let address = server.endpoint().strip_prefix("http://").unwrap().to_owned();
        TcpStream::connect(&address).unwrap();
        drop(server);
        TcpStream::connect(&address).unwrap_err();
    }
}
