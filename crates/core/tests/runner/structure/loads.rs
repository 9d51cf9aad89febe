//! Loads that meet: one thing that many want at a time is read once.

use std::{
    pin::{Pin, pin},
    sync::{Arc, Barrier, mpsc},
    task::{Context, Poll, Waker},
};

use contexture_core::{ContextSystem, Edit, ErrorKind, MemoryStorage, PageUpdate, WindowOptions};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{apply, leaf, page, reopen, session, valid},
    window::FourBytes,
};
use futures::executor::block_on;

// A session that was just opened shows its window with few questions, whatever the format: behind a
// server each takes a round trip.
#[test]
fn contents_are_asked_for_together() {
    block_on(async {
        let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
        let system = session(storage.clone()).await;
        for at in 0..100 {
            let index = leaf(&system, "usr-0", &format!("leaf {at}")).await;
            if at < 50 {
                apply(&system, Edit::ExpandDetails(index)).await;
            }
        }
        for format in ["openai", "markdown"] {
            let system = reopen(storage.clone()).await;
            storage.reset();
            let format = format.parse().unwrap();
            let options = WindowOptions::new(format, Arc::new(FourBytes));
            let window = system.as_system().reader().window(&options).await.unwrap();
            assert!(window.body.contains("text of leaf 49"));
            assert_eq!(storage.count("contents"), 100, "{format}: all are read, and none twice");
            assert!(storage.calls("contents") <= 4, "{format}: {}", storage.calls("contents"));
        }
    });
}

/// Polls a future once: as far as it goes by itself.
fn begin<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A session that was just opened, on a storage that holds `usr-1`, `usr-2` and a directory above
/// them. What they share is resident, they are not.
async fn opened() -> (Arc<WatchedStorage>, ContextSystem) {
    let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    let system = session(storage.clone()).await;
    for name in ["one", "two", "three"] {
        leaf(&system, "usr-0", name).await;
    }
    let system = reopen(storage.clone()).await;
    system.as_system().reader().page(&page("usr-3")).await.unwrap();
    storage.reset();
    (storage, system)
}

// 64 threads want one page and its messages while nothing of it is in memory: each is read
// once, and all get the same.
#[test]
fn sixty_four_threads_read_once() {
    for method in ["pages", "contents", "levels"] {
        let (storage, system) = block_on(opened());
        if method == "levels" {
            // Chunks are read anew with everything else.
            system.evict_all();
        }
        let release = storage.hold_next_read(method);
        let (begun, all_begun) = mpsc::channel();
        let start = Barrier::new(64);
        let read = |begun: mpsc::Sender<()>| {
            let session = system.as_system();
            let (reader, index) = (session.reader(), page("usr-1"));
            let mut read = pin!(reader.messages(&index));
            start.wait();
            assert!(begin(read.as_mut()).is_pending(), "the answer is held back");
            begun.send(()).unwrap();
            drop(begun);
            block_on(read).unwrap()[0].plain_text()
        };
        let texts: Vec<String> = std::thread::scope(|scope| {
            let read = &read;
            let readers: Vec<_> = (0..64)
                .map(|_| {
                    let begun = begun.clone();
                    scope.spawn(move || read(begun))
                })
                .collect();
            drop(begun);
            for _ in 0..64 {
                all_begun.recv().unwrap();
            }
            release.send(()).unwrap();
            readers.into_iter().map(|reader| reader.join().unwrap()).collect()
        });
        assert!(texts.iter().all(|text| text == "text of one"), "{texts:?}");
        assert_eq!(storage.count_of(&page("usr-1")), 1, "{method}");
        assert_eq!(storage.count("contents"), 1, "{method}");
        assert!(storage.count("levels") <= 1, "{method}");
    }
}

// Whoever began a load may go away: another carries it on, without asking the storage again.
#[test]
fn another_carries_on() {
    let (storage, system) = block_on(opened());
    let release = storage.hold_next_read("pages");
    let session = system.as_system();
    let reader = session.reader();
    let index = page("usr-1");
    let mut first = Box::pin(reader.page(&index));
    let mut second = pin!(reader.page(&index));
    let mut third = pin!(reader.page(&index));
    assert!(begin(first.as_mut()).is_pending());
    assert!(begin(second.as_mut()).is_pending());
    assert!(begin(third.as_mut()).is_pending());
    drop(first);
    release.send(()).unwrap();
    // The second is not polled: who waits behind it is not stuck.
    assert_eq!(block_on(third).unwrap().page.name.as_str(), "one");
    assert_eq!(block_on(second).unwrap().page.name.as_str(), "one");
    assert_eq!(storage.count_of(&index), 1);
}

// When all who wanted it are gone, the load is gone too, and the next one begins anew.
#[test]
fn a_load_nobody_waits_for_leaves_nothing() {
    let (storage, system) = block_on(opened());
    let _never = storage.hold_next_read("pages");
    let index = page("usr-1");
    {
        let session = system.as_system();
        let reader = session.reader();
        let mut first = pin!(reader.page(&index));
        assert!(begin(first.as_mut()).is_pending());
    }
    block_on(system.as_system().reader().page(&index)).unwrap();
    assert_eq!(storage.count_of(&index), 2);
}

// An error reaches those who waited for that load; it is not kept.
#[test]
fn an_error_is_not_kept() {
    let (storage, system) = block_on(opened());
    let index = page("usr-1");
    let release = storage.hold_next_read("pages");
    let session = system.as_system();
    let reader = session.reader();
    let mut first = pin!(reader.page(&index));
    let mut second = pin!(reader.page(&index));
    assert!(begin(first.as_mut()).is_pending());
    assert!(begin(second.as_mut()).is_pending());
    storage.fail_reads(true);
    release.send(()).unwrap();
    assert_eq!(block_on(first).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(block_on(second).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(storage.count_of(&index), 1);
    storage.fail_reads(false);
    assert_eq!(block_on(reader.page(&index)).unwrap().page.name.as_str(), "one");
}

// A load that began before an edit is not joined after it: whoever asks then sees the edit.
#[test]
fn a_load_from_before_an_edit_is_not_joined() {
    let (storage, system) = block_on(opened());
    let index = page("usr-1");
    let release = storage.hold_next_read("pages");
    let session = system.as_system();
    let reader = session.reader();
    let mut early = pin!(reader.page(&index));
    assert!(begin(early.as_mut()).is_pending());
    let name = Some(valid("changed"));
    let other = block_on(reopen(storage));
    block_on(apply(&other, Edit::UpdatePage(PageUpdate { name, ..PageUpdate::of(index.clone()) })));
    assert!(block_on(system.refresh()).unwrap());
    let Poll::Ready(late) = begin(pin!(reader.page(&index))) else {
        panic!("it waits for a load from before the edit")
    };
    assert_eq!(late.unwrap().page.name.as_str(), "changed");
    release.send(()).unwrap();
    block_on(early).unwrap();
    assert_eq!(block_on(reader.page(&index)).unwrap().page.name.as_str(), "changed");
}

// A content that was being read while its page was purged does not stay in memory.
#[test]
fn what_is_purged_while_it_is_read_is_not_kept() {
    let (storage, system) = block_on(opened());
    let release = storage.hold_next_read("contents");
    let session = system.as_system();
    let reader = session.reader();
    let index = page("usr-1");
    let mut read = pin!(reader.messages(&index));
    assert!(begin(read.as_mut()).is_pending());
    block_on(apply(&system, Edit::PurgePage(index.clone())));
    release.send(()).unwrap();
    assert_eq!(block_on(read).unwrap()[0].plain_text(), "text of one");
    // The same text comes again: it is read from the storage.
    let again = block_on(leaf(&system, "usr-0", "one"));
    storage.reset();
    block_on(system.as_system().reader().messages(&again)).unwrap();
    assert_eq!(storage.count("contents"), 1);
}
