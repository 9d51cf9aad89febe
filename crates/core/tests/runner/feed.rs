//! The feed of a process: what it takes in, in order, to whoever subscribed, and never at their pace.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, FeedEntry, FeedEvent, MemoryStorage, PageStorage, PageUpdate, Revision,
    storage::{Hint, StorageError},
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{TickingClock, apply, leaf, new_leaf, page, reopen, session, session_id},
};
use futures::{FutureExt, StreamExt, executor::block_on, future::join_all, poll};

async fn store() -> (Arc<WatchedStorage>, ContextSystem) {
    let storage = WatchedStorage::shared(Arc::new(MemoryStorage::new()));
    storage.give_hints();
    let system = session(storage.clone()).await;
    (storage, system)
}

/// Returns all that waits in a subscription.
fn waiting(feed: &mut contexture_core::Subscription) -> Vec<FeedEvent> {
    std::iter::from_fn(|| feed.next().now_or_never().flatten()).collect()
}

fn revisions(events: &[FeedEvent]) -> Vec<u64> {
    let revision = |event: &FeedEvent| match event {
        FeedEvent::Change(entry) => entry.revision.0,
        FeedEvent::Lagged { upto } => panic!("lagged up to {upto}"),
    };
    events.iter().map(revision).collect()
}

// A subscriber that is in the middle of looking at the storage, and does something else, keeps nobody waiting.
#[test]
fn a_subscription_that_is_not_polled_holds_nobody_up() {
    block_on(async {
        let (storage, system) = store().await;
        let elsewhere = reopen(storage.clone()).await;
        let mut feed = system.subscribe();
        let held = storage.hold_next_read("session");
        assert!(feed.next().now_or_never().is_none());
        leaf(&elsewhere, "usr-0", "foreign").await;
        let mut refreshed = Box::pin(system.refresh());
        assert!(poll!(refreshed.as_mut()).is_pending(), "both wait for the storage");
        held.send(()).unwrap();
        assert!(refreshed.now_or_never().unwrap().unwrap());
        leaf(&system, "usr-0", "own").await;
        assert_eq!(waiting(&mut feed).len(), 2);
    });
}

#[test]
fn own_edits_and_others_come_once_and_in_order() {
    block_on(async {
        let (storage, system) = store().await;
        let elsewhere = reopen(storage.clone()).await;
        let mut feed = system.subscribe();
        let first = feed.since().0;
        leaf(&system, "usr-0", "own").await;
        // An own commit is made, then another's; the answer to the first comes last.
        let held = storage.hold_next_commit();
        let mut late = Box::pin(leaf(&system, "usr-0", "own, late"));
        assert!(poll!(late.as_mut()).is_pending());
        leaf(&elsewhere, "usr-0", "foreign").await;
        assert_eq!(revisions(&waiting(&mut feed)), [first + 1, first + 2, first + 3]);
        leaf(&system, "usr-0", "own").await;
        held.send(()).unwrap();
        late.await;
        leaf(&elsewhere, "usr-0", "foreign").await;
        leaf(&system, "usr-0", "own").await;
        let events = waiting(&mut feed);
        assert_eq!(revisions(&events), [first + 4, first + 5, first + 6]);
        // Each is what the storage would say.
        let read = storage.changes(&session_id(), Revision(first + 3), 9).await.unwrap();
        let read: Vec<FeedEvent> =
            read.into_iter().map(|entry| FeedEvent::Change(Arc::new(entry))).collect();
        assert_eq!(events, read);
    });
}

#[test]
fn what_a_change_says_is_what_its_history_entry_says() {
    block_on(async {
        let (storage, system) = store().await;
        let mut feed = system.subscribe();
        let first = feed.since();
        let bot = contexture_testkit::fixture::agent(&system, "bot");
        leaf(&system, "usr-0", "note").await;
        bot.pin_page("usr-1").await.unwrap();
        bot.focus_page("usr-1").await.unwrap();
        bot.undo(None).await.unwrap();
        apply(&system, Edit::RemovePage(page("usr-1"))).await;
        apply(&system, Edit::PurgePage(page("usr-1"))).await;
        let events = waiting(&mut feed);
        let read = storage.changes(&session_id(), first, 99).await.unwrap();
        assert_eq!(events.len(), read.len());
        for (event, read) in events.iter().zip(&read) {
            let FeedEvent::Change(entry) = event else { panic!("nothing was missed") };
            // Entries are scrubbed by the purge that came after them, and by nothing else.
            let mut scrubbed = FeedEntry::clone(entry);
            if entry.touched().any(|index| *index == page("usr-1")) {
                scrubbed.put.iter_mut().for_each(|put| put.content = None);
                scrubbed.purged = vec![page("usr-1")];
            }
            assert_eq!(scrubbed, *read);
        }
    });
}

#[test]
fn a_slow_reader_is_told_and_holds_nobody_up() {
    const EDITS: u64 = 5_000;
    block_on(async {
        let (storage, system) = store().await;
        leaf(&system, "usr-0", "plan").await;
        let mut slow = system.subscribe();
        let mut quick = system.subscribe();
        let mut heard = 0;
        for round in 0..EDITS {
            apply(&system, Edit::PinPage(page("usr-1"))).await;
            // Others go on in time, whatever the slow one does.
            if round % 100 == 99 {
                heard += revisions(&waiting(&mut quick)).len() as u64;
            }
        }
        assert_eq!(heard, EDITS);
        let mut events = waiting(&mut slow);
        let Some(FeedEvent::Lagged { upto }) = events.pop() else { panic!("it lagged") };
        assert_eq!(upto.0, slow.since().0 + EDITS);
        let kept = revisions(&events);
        assert_eq!(kept.len(), 1_024);
        // What it missed is in the storage.
        let last = Revision(*kept.last().unwrap());
        let missed = storage.changes(&session_id(), last, usize::MAX).await.unwrap();
        assert_eq!(missed.len() as u64, EDITS - 1_024);
        assert_eq!(missed.last().unwrap().revision, upto);
        leaf(&system, "usr-0", "again in time").await;
        assert_eq!(revisions(&waiting(&mut slow)), [upto.0 + 1]);
    });
}

#[test]
fn hints_are_followed_and_known_revisions_cost_nothing() {
    block_on(async {
        let (storage, system) = store().await;
        leaf(&system, "usr-0", "plan").await;
        let elsewhere = reopen(storage.clone()).await;
        let mut feed = system.subscribe();
        assert_eq!(waiting(&mut feed), []);
        let mut update = PageUpdate::of(page("usr-1"));
        update.name = Some("changed elsewhere".parse().unwrap());
        let made = apply(&elsewhere, Edit::UpdatePage(update)).await.revision;
        assert_eq!(waiting(&mut feed), [], "nobody has hinted at it");
        assert_eq!(storage.hint(Hint::Reached(made)), 1);
        assert_eq!(revisions(&waiting(&mut feed)), [made.0]);
        let seen = system.as_system().reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(seen.page.name.as_str(), "changed elsewhere");
        storage.reset();
        storage.hint(Hint::Reached(made));
        assert_eq!(waiting(&mut feed), []);
        assert_eq!(system.refresh_to(made).await.unwrap(), made);
        assert_eq!((storage.calls("session"), storage.calls("history")), (0, 0));
        // The revision is the truth: one that was never reached is looked for once.
        assert_eq!(system.refresh_to(made.next()).await.unwrap(), made);
        assert_eq!(storage.calls("session"), 1);
        storage.remove_session(&session_id()).await.unwrap();
        storage.hint(Hint::Look);
        assert_eq!(feed.next().await, None);
    });
}

#[test]
fn many_who_refresh_at_once_share_a_look() {
    block_on(async {
        let (storage, system) = store().await;
        let elsewhere = reopen(storage.clone()).await;
        leaf(&elsewhere, "usr-0", "foreign").await;
        storage.reset();
        let held = storage.hold_next_read("session");
        let mut all: Vec<_> = (0..100).map(|_| Box::pin(system.refresh())).collect();
        for refresh in &mut all {
            assert!(poll!(refresh.as_mut()).is_pending());
        }
        held.send(()).unwrap();
        assert!(join_all(all).await.into_iter().all(|found| found.unwrap()));
        // The first was asking already when the others came; one of them asks for all the others.
        assert_eq!((storage.calls("session"), storage.calls("history")), (2, 1));
    });
}

#[test]
fn what_was_purged_elsewhere_does_not_stay() {
    block_on(async {
        let (storage, system) = store().await;
        let elsewhere = reopen(storage.clone()).await;
        leaf(&system, "usr-0", "secret").await;
        let content = {
            let seen = system.as_system().reader().page(&page("usr-1")).await.unwrap();
            system.as_system().reader().messages(&page("usr-1")).await.unwrap();
            seen.page.detail().unwrap().content
        };
        assert!(system.resident_usage().bytes > 0);
        elsewhere.refresh().await.unwrap();
        apply(&elsewhere, Edit::PurgePage(page("usr-1"))).await;
        let mut feed = system.subscribe();
        let events = waiting(&mut feed);
        let [FeedEvent::Change(entry)] = &events[..] else { panic!("one edit was made") };
        assert_eq!(entry.purged, [page("usr-1")]);
        assert_eq!(system.resident_usage().bytes, 0);
        assert!(system.as_system().reader().page(&page("usr-1")).await.is_err());
        assert_eq!(storage.contents(&session_id(), &[content]).await.unwrap(), [None]);
    });
}

#[test]
fn many_edits_at_once_are_passed_over_and_said_to_be() {
    block_on(async {
        let (storage, system) = store().await;
        leaf(&system, "usr-0", "plan").await;
        let elsewhere = reopen(storage.clone()).await;
        let mut feed = system.subscribe();
        assert_eq!(waiting(&mut feed), []);
        for _ in 0..300 {
            apply(&elsewhere, Edit::PinPage(page("usr-1"))).await;
        }
        let last = elsewhere.info().await.unwrap().revision;
        storage.reset();
        storage.hint(Hint::Reached(last));
        assert_eq!(waiting(&mut feed), [FeedEvent::Lagged { upto: last }]);
        assert_eq!(storage.calls("history"), 0);
        assert!(system.as_system().reader().page(&page("usr-1")).await.unwrap().pinned);
    });
}

#[test]
fn a_session_that_was_taken_back_is_read_again() {
    block_on(async {
        let (storage, system) = store().await;
        leaf(&system, "usr-0", "plan").await;
        let snapshot = storage.snapshot().await.unwrap();
        let earlier = system.info().await.unwrap().revision;
        leaf(&system, "usr-0", "later").await;
        // As a checkout or a backup does, behind everybody's back.
        storage.remove_session(&session_id()).await.unwrap();
        contexture_core::storage::copy::copy_session(
            &*snapshot,
            &*storage,
            &session_id(),
            &mut |_| {},
        )
        .await
        .unwrap();
        let mut feed = system.subscribe();
        assert_eq!(waiting(&mut feed), [FeedEvent::Lagged { upto: earlier }]);
        assert!(system.as_system().reader().page(&page("usr-2")).await.is_err());
        assert_eq!(leaf(&system, "usr-0", "anew").await, page("usr-2"));
    });
}

#[test]
fn followers_go_along_to_another_storage() {
    block_on(async {
        let (_, system) = store().await;
        let mut feed = system.subscribe();
        assert_eq!(waiting(&mut feed), []);
        let to = WatchedStorage::shared(Arc::new(MemoryStorage::new()));
        to.give_hints();
        system.switch_storage(to.clone(), &mut |_| {}).await.unwrap();
        assert_eq!(waiting(&mut feed), []);
        let clock = TickingClock::new();
        let elsewhere = ContextSystem::open(to.clone(), session_id(), clock).await.unwrap();
        leaf(&elsewhere, "usr-0", "foreign").await;
        let reached = elsewhere.info().await.unwrap().revision;
        assert_eq!(to.hint(Hint::Reached(reached)), 1);
        assert_eq!(revisions(&waiting(&mut feed)), [reached.0]);
    });
}

#[test]
fn a_storage_that_cannot_be_reached_is_followed_again_later() {
    block_on(async {
        let storage = WatchedStorage::shared(Arc::new(MemoryStorage::new()));
        storage.give_hints();
        let system = session(storage.clone()).await;
        let mut feed = system.subscribe();
        assert_eq!(waiting(&mut feed), []);
        let elsewhere = reopen(storage.clone()).await;
        let reached = apply(&elsewhere, new_leaf("usr-0", "foreign")).await.revision;
        storage.fail_heads(true);
        storage.hint(Hint::Reached(reached));
        assert_eq!(waiting(&mut feed), []);
        let refused = system.refresh().await.unwrap_err();
        assert!(matches!(refused, StorageError::Unavailable { .. }));
        storage.fail_heads(false);
        storage.hint(Hint::Reached(reached));
        assert_eq!(revisions(&waiting(&mut feed)), [reached.0]);
    });
}
