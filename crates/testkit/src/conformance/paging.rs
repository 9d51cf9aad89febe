//! Lists in many pages of results, while pages come and go.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, PageIndex, PageStorage,
    storage::{ChildQuery, HistoryQuery, Order, Place, ScanQuery, StandingFilter},
};

use crate::fixture::{apply, directory, leaf, new_leaf, page, segment, session, session_id, valid};

/// `usr-1` with `count` pages: `usr-2` and on.
async fn prepare(storage: &Arc<dyn PageStorage>, count: usize) -> ContextSystem {
    let system = session(storage.clone()).await;
    directory(&system, "usr-0", "dir").await;
    let pages = (0..count).map(|at| new_leaf("usr-1", &format!("page {at}"))).collect();
    apply(&system, Edit::Batch(pages)).await;
    system
}

fn usr(number: u64) -> PageIndex {
    PageIndex::new(segment("usr"), number)
}

/// Reads a directory in pieces of 7 and does something after each.
async fn read_while(
    storage: &dyn PageStorage,
    order: Order,
    mut between: impl AsyncFnMut(usize),
) -> Vec<PageIndex> {
    let mut all: Vec<(Place, PageIndex)> = Vec::new();
    for piece in 0.. {
        let (parent, after) = (page("usr-1"), all.last().map(|(place, _)| *place));
        let standing = StandingFilter::Listed;
        let query = ChildQuery { parent, standing, order, after, limit: 7 };
        let read = storage.children(&session_id(), &query).await.expect("it can be read");
        assert!(read.len() <= 7, "a limit was not honoured");
        let done = read.len() < 7;
        all.extend(read.into_iter().map(|page| (page.place, page.index)));
        if done {
            break;
        }
        between(piece).await;
    }
    let sorted = match order {
        Order::Forward => all.is_sorted_by(|left, right| left.0 < right.0),
        Order::Backward => all.is_sorted_by(|left, right| left.0 > right.0),
    };
    assert!(sorted, "places are in order, none twice: {all:?}");
    all.into_iter().map(|(_, index)| index).collect()
}

pub(super) async fn lists_go_on_while_pages_come(storage: Arc<dyn PageStorage>) {
    let system = prepare(&storage, 60).await;
    let read = read_while(&*storage, Order::Forward, async |piece| match piece {
        // What was read already goes, moves to the end, or comes back: the rest is as it was.
        0 => drop(apply(&system, Edit::RemovePage(usr(2))).await),
        1 => drop(apply(&system, Edit::MovePage { page: usr(3), to: page("usr-1") }).await),
        2 => drop(apply(&system, Edit::RestorePage { page: usr(2), to: None }).await),
        // What is still to come goes.
        3 => drop(apply(&system, Edit::RemovePage(usr(55))).await),
        4..8 => drop(leaf(&system, "usr-1", "new at the end").await),
        _ => {}
    });
    let mut expected: Vec<PageIndex> = (2..62).map(usr).filter(|index| *index != usr(55)).collect();
    // The one that moved is read again at the end, then the new ones.
    expected.push(usr(3));
    expected.extend((62..66).map(usr));
    assert_eq!(read.await, expected);
}

pub(super) async fn backward_lists_go_on_while_pages_come(storage: Arc<dyn PageStorage>) {
    let system = prepare(&storage, 40).await;
    let read = read_while(&*storage, Order::Backward, async |piece| match piece {
        0..3 => drop(leaf(&system, "usr-1", "behind what was read").await),
        3 => drop(apply(&system, Edit::RemovePage(usr(4))).await),
        _ => {}
    });
    let expected: Vec<PageIndex> =
        (2..42).rev().map(usr).filter(|index| *index != usr(4)).collect();
    assert_eq!(read.await, expected);
}

pub(super) async fn scans_go_on_while_pages_come(storage: Arc<dyn PageStorage>) {
    let system = prepare(&storage, 30).await;
    let mut all: Vec<u64> = Vec::new();
    loop {
        let query = ScanQuery {
            segment: segment("usr"),
            standing: StandingFilter::Any,
            after: all.last().copied(),
            limit: 5,
        };
        let read = storage.scan(&session_id(), &query).await.expect("it can be read");
        all.extend(read.iter().map(|page| page.index.number()));
        if read.len() < 5 {
            break;
        }
        if all.len() <= 20 {
            leaf(&system, "usr-0", "new").await;
            leaf(&system, "sys-0", "elsewhere").await;
        }
    }
    // Root, directory, 30 pages and 4 new ones.
    assert_eq!(all, (0..36).collect::<Vec<u64>>());
}

pub(super) async fn limits_at_the_edges(storage: Arc<dyn PageStorage>) {
    prepare(&storage, 9).await;
    let id = session_id();
    let last = storage.last_place(&id, &page("usr-1")).await.expect("reads").expect("it has pages");
    for order in [Order::Forward, Order::Backward] {
        for (after, limit, count) in [
            (None, 0, 0),
            (None, 1, 1),
            (None, 9, 9),
            (None, 10, 9),
            (None, usize::MAX, 9),
            (Some(Place(0)), 10, if order == Order::Forward { 9 } else { 0 }),
            (Some(last), 10, if order == Order::Forward { 0 } else { 8 }),
            (Some(Place(i64::MAX as u64)), 10, if order == Order::Forward { 0 } else { 9 }),
            (Some(Place(u64::MAX)), 10, if order == Order::Forward { 0 } else { 9 }),
        ] {
            let (parent, standing) = (page("usr-1"), StandingFilter::Listed);
            let query = ChildQuery { parent, standing, order, after, limit };
            let read = storage.children(&id, &query).await.expect("it can be read");
            assert_eq!(read.len(), count, "{query:?}");
        }
    }
    for (after, limit, count) in [
        (None, 0, 0),
        (None, usize::MAX, 11),
        (Some(0), 100, 10),
        (Some(10), 100, 0),
        (Some(i64::MAX as u64), 100, 0),
        (Some(u64::MAX), 100, 0),
    ] {
        let (segment, standing) = (segment("usr"), StandingFilter::Any);
        let query = ScanQuery { segment, standing, after, limit };
        let read = storage.scan(&id, &query).await.expect("it can be read");
        assert_eq!(read.len(), count, "{query:?}");
    }
    let all = HistoryQuery { limit: usize::MAX, ..HistoryQuery::default() };
    assert_eq!(storage.history(&id, &all).await.expect("reads").len(), 4);
    assert_eq!(storage.sessions(None, 0).await.expect("reads").len(), 0);
    assert_eq!(storage.sessions(None, usize::MAX).await.expect("reads").len(), 1);
    assert_eq!(storage.sessions(Some(&valid("test")), 9).await.expect("reads").len(), 0);
    assert_eq!(storage.sessions(Some(&valid("tes")), 9).await.expect("reads").len(), 1);
}
