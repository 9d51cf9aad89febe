//! A server that goes away and comes back, while the storage stays open.

use std::sync::atomic::{AtomicBool, Ordering};

use contexture_core::{ErrorKind, PageStorage};
use contexture_storage::{PostgresOptions, PostgresStorage};
use contexture_testkit::{
    fixture::{self, session_id},
    server::PostgresServer,
};
use futures::executor::block_on;

use crate::support::{append, assert_sound, names};

// While the server is away calls are unavailable; when it is back they succeed again without
// reopening; every acknowledged edit is there, and none that was said not to be made.
#[test]
fn calls_recover_when_the_server_comes_back() {
    let server = PostgresServer::start();
    let url = server.fresh_database();
    let options = PostgresOptions {
        timeout: std::time::Duration::from_secs(3),
        max_connections: 4,
        ..PostgresOptions::default()
    };
    let storage = std::sync::Arc::new(block_on(PostgresStorage::open(&url, options)).unwrap());
    let system = block_on(fixture::session(storage.clone()));
    let over = AtomicBool::new(false);
    let (mut made, mut refused, mut doubtful) = (Vec::new(), Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (system, over) = (&system, &over);
                scope.spawn(move || {
                    let (mut made, mut refused, mut doubtful) = (vec![], vec![], vec![]);
                    for round in 0.. {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        let name = format!("{worker} {round}");
                        match append(system, &name) {
                            Ok(_) => made.push(name),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                                let doubt = error.to_string().contains("may have been made");
                                if doubt { doubtful.push(name) } else { refused.push(name) }
                            }
                        }
                    }
                    (made, refused, doubtful)
                })
            })
            .collect();
        for way in [PostgresServer::stop, PostgresServer::kill] {
            // Until edits are being made.
            let before = names(&*storage).len();
            while names(&*storage).len() < before + 20 {}
            way(&server);
            let error = block_on(storage.session(&session_id())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            server.start_again();
            let before = names(&*storage).len();
            while names(&*storage).len() < before + 20 {}
        }
        over.store(true, Ordering::Relaxed);
        for worker in workers {
            let (some, other, rest) = worker.join().unwrap();
            made.extend(some);
            refused.extend(other);
            doubtful.extend(rest);
        }
    });
    println!("{} made, {} refused, {} in doubt", made.len(), refused.len(), doubtful.len());
    let found = names(&*storage);
    for name in &made {
        assert_eq!(found.iter().filter(|found| *found == name).count(), 1, "{name}");
    }
    for name in &refused {
        assert!(!found.contains(name), "{name} was said not to be made");
    }
    assert_sound(&*storage);
}
