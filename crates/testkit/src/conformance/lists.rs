//! Lists: children, scans, turns.

use std::sync::Arc;

use contexture_core::{
    Actor, Edit, PageIndex, PageStorage,
    storage::{Order, ScanQuery, StandingFilter},
};

use super::children;
use crate::fixture::{
    agent, apply, directory, leaf, page, segment, session, session_id, user, valid,
};

/// `usr-1` holds `usr-2` to `usr-11`, of which `usr-4` went to the archive, `usr-6` to the hot
/// archive, `usr-8` to another segment and `usr-2` to the end.
async fn prepare(storage: &Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    directory(&system, "usr-0", "dir").await;
    for number in 0..10 {
        leaf(&system, "usr-1", &format!("page {number}")).await;
    }
    for edit in [
        Edit::RemovePage(page("usr-4")),
        Edit::ArchivePage(page("usr-6")),
        Edit::MovePage { page: page("usr-8"), to: page("sys-0") },
        Edit::MovePage { page: page("usr-2"), to: page("usr-1") },
    ] {
        apply(&system, edit).await;
    }
}

fn usr(numbers: &[u64]) -> Vec<PageIndex> {
    numbers.iter().map(|number| PageIndex::new(segment("usr"), *number)).collect()
}

pub(super) async fn children_come_in_order_from_both_ends(storage: Arc<dyn PageStorage>) {
    prepare(&storage).await;
    let (id, dir) = (session_id(), page("usr-1"));
    for (standing, expected) in [
        (StandingFilter::Listed, usr(&[3, 5, 6, 7, 9, 10, 11, 2])),
        (StandingFilter::ColdArchived, usr(&[4])),
        (StandingFilter::Any, usr(&[3, 4, 5, 6, 7, 8, 9, 10, 11, 2])),
    ] {
        let forward = children(&*storage, &id, &dir, standing, Order::Forward).await;
        assert_eq!(forward, expected, "{standing:?}");
        let mut backward = children(&*storage, &id, &dir, standing, Order::Backward).await;
        backward.reverse();
        assert_eq!(backward, expected, "{standing:?} from the end");
    }
    let leaf = children(&*storage, &id, &page("usr-3"), StandingFilter::Any, Order::Forward).await;
    assert_eq!(leaf, []);
    // A directory of another segment with the same number is another directory.
    let other = children(&*storage, &id, &page("sys-1"), StandingFilter::Any, Order::Forward).await;
    assert_eq!(other, []);
}

pub(super) async fn counts_and_last_places(storage: Arc<dyn PageStorage>) {
    prepare(&storage).await;
    let id = session_id();
    let count = |index: &'static str| {
        let storage = storage.clone();
        async move { storage.child_count(&session_id(), &page(index)).await.expect("it counts") }
    };
    assert_eq!((count("usr-1").await, count("usr-0").await), (8, 1));
    assert_eq!((count("usr-3").await, count("usr-99").await), (0, 0));
    let last = storage.last_place(&id, &page("usr-1")).await.expect("it can be read");
    assert_eq!(last, Some(super::stored(&*storage, &id, "usr-2").await.place));
    // An archived page holds its place: the list's end does not go back.
    let system = crate::fixture::reopen(storage.clone()).await;
    apply(&system, Edit::RemovePage(page("usr-2"))).await;
    assert_eq!(storage.last_place(&id, &page("usr-1")).await.expect("it can be read"), last);
    assert_eq!(storage.last_place(&id, &page("usr-3")).await.expect("it can be read"), None);
}

pub(super) async fn scans_come_in_order_of_number(storage: Arc<dyn PageStorage>) {
    prepare(&storage).await;
    for (standing, expected) in [
        (StandingFilter::Any, usr(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])),
        (StandingFilter::Listed, usr(&[0, 1, 2, 3, 5, 6, 7, 9, 10, 11])),
        (StandingFilter::ColdArchived, usr(&[4])),
    ] {
        let mut all: Vec<PageIndex> = Vec::new();
        loop {
            let after = all.last().map(PageIndex::number);
            let query = ScanQuery { segment: segment("usr"), standing, after, limit: 4 };
            let piece = storage.scan(&session_id(), &query).await.expect("it can be read");
            assert!(piece.len() <= 4, "a limit was not honoured");
            all.extend(piece.iter().map(|page| page.index.clone()));
            if piece.len() < 4 {
                break;
            }
        }
        assert_eq!(all, expected, "{standing:?}");
    }
}

pub(super) async fn pages_are_read_in_the_order_asked_for(storage: Arc<dyn PageStorage>) {
    prepare(&storage).await;
    let asked = ["usr-5", "nil-3", "sys-0", "usr-99", "usr-4", "usr-5", "usr-18446744073709551615"];
    let read = storage.pages(&session_id(), &asked.map(page)).await.expect("they can be read");
    let found: Vec<Option<String>> =
        read.iter().map(|page| page.as_ref().map(|page| page.index.to_string())).collect();
    let some = |index: &str| Some(index.to_owned());
    assert_eq!(
        found,
        [some("usr-5"), None, some("sys-0"), None, some("usr-4"), some("usr-5"), None]
    );
    assert_eq!(storage.pages(&session_id(), &[]).await.expect("nothing is nothing"), []);
}

pub(super) async fn the_last_page_of_a_turn(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let (left, right) = (agent(&system, "left"), agent(&system, "right"));
    let last = |author: &str| {
        let (storage, author): (_, Actor) = (storage.clone(), valid(author));
        async move {
            let page = storage.last_turn_page(&session_id(), &segment("usr"), &author).await;
            page.expect("it can be read").map(|page| page.index.to_string())
        }
    };
    assert_eq!(last("left").await, None);
    left.add_turn(vec![user("a")]).await.expect("it may"); // usr-1
    right.add_turn(vec![user("b")]).await.expect("it may"); // usr-2
    left.add_turn(vec![user("c")]).await.expect("it may"); // usr-3
    left.create_detail_page("no turn", "", "", "usr-0").await.expect("it may"); // usr-4
    assert_eq!(last("left").await.as_deref(), Some("usr-3"));
    assert_eq!(last("right").await.as_deref(), Some("usr-2"));
    assert_eq!(last("system").await, None);
    let first = storage.pages(&session_id(), &[page("usr-1")]).await.expect("it can be read");
    let place = first[0].as_ref().expect("it was made").place;
    let next = storage.next_turn_page(&session_id(), &segment("usr"), &valid("left"), place).await;
    assert_eq!(next.expect("it can be read").map(|page| page.index), Some(page("usr-3")));
    let next = storage.next_turn_page(&session_id(), &segment("usr"), &valid("right"), place).await;
    assert_eq!(next.expect("it can be read").map(|page| page.index), Some(page("usr-2")));
    left.remove_page("usr-3").await.expect("it may");
    assert_eq!(last("left").await.as_deref(), Some("usr-1"));
    left.restore_page("usr-3").await.expect("it may");
    // By place, not by number.
    left.move_page("usr-1", "usr-0").await.expect("it may");
    assert_eq!(last("left").await.as_deref(), Some("usr-1"));
}
