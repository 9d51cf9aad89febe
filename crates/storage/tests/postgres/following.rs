//! Following other processes: by what the server tells, and without it.

use std::sync::Arc;

use contexture_core::{ContextSystem, FeedEvent, PageIndex, Subscription};
use contexture_storage::{Following, PostgresOptions, PostgresStorage};
use contexture_testkit::fixture::session;
use futures::{StreamExt, executor::block_on};

use crate::support::{append, database, open, options, sql, system};

const LISTENERS: &str = "FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%'";

fn listeners(url: &str) -> String {
    sql(url, &format!("SELECT count(*) {LISTENERS}"))[0][0].clone()
}

/// Waits until somebody listens: connecting takes a moment, and nothing says when it is done.
fn wait_for_listener(url: &str) {
    while listeners(url) == "0" {
        std::thread::yield_now();
    }
}

/// Has another process append, and waits until that is seen here.
fn hears(feed: &mut Subscription, elsewhere: &ContextSystem, name: &str) {
    let made: PageIndex = append(elsewhere, name).unwrap();
    match block_on(feed.next()) {
        Some(FeedEvent::Change(entry)) => assert_eq!(entry.put[0].index, made),
        other => panic!("{other:?}"),
    }
}

#[test]
fn commits_are_seen_where_nobody_listens() {
    let url = database();
    let options = PostgresOptions { following: Following::Look, ..options() };
    let storage = Arc::new(block_on(PostgresStorage::open(&url, options)).unwrap());
    let here = block_on(session(storage));
    let elsewhere = system(open(&url));
    let mut feed = here.subscribe();
    hears(&mut feed, &elsewhere, "one");
    hears(&mut feed, &elsewhere, "two");
    assert_eq!(listeners(&url), "0");
}

#[test]
fn one_connection_listens_for_all_and_again_when_it_was_cut() {
    let url = database();
    let here = block_on(session(open(&url)));
    let elsewhere = system(open(&url));
    let mut feed = here.subscribe();
    let mut others: Vec<Subscription> = (0..5).map(|_| here.subscribe()).collect();
    hears(&mut feed, &elsewhere, "before");
    for other in &mut others {
        assert!(matches!(block_on(other.next()), Some(FeedEvent::Change(_))));
    }
    wait_for_listener(&url);
    assert_eq!(listeners(&url), "1");
    sql(&url, &format!("SELECT pg_terminate_backend(pid) {LISTENERS}"));
    hears(&mut feed, &elsewhere, "while nobody listens");
    wait_for_listener(&url);
    hears(&mut feed, &elsewhere, "after");
    assert_eq!(listeners(&url), "1");
}
