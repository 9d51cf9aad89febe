//! What is loaded, and what stays in memory.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, ErrorKind, Format, MemoryStorage, PageIndex, PageUpdate, Permission,
    SegmentKind,
    storage::{ResidentLimits, SystemSettings},
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{
        TickingClock, add_segment, apply, confined, directory, leaf, page, reopen, segment,
        session, session_id, valid,
    },
    window::options,
};
use futures::executor::block_on;

fn watched() -> Arc<WatchedStorage> {
    WatchedStorage::new(Arc::new(MemoryStorage::new()))
}

/// Opens the session with so much room.
async fn open(storage: &Arc<WatchedStorage>, bytes: usize) -> ContextSystem {
    let settings =
        SystemSettings { resident: ResidentLimits { bytes }, ..SystemSettings::default() };
    let clock = TickingClock::new();
    ContextSystem::open_with(storage.clone(), session_id(), clock, settings).await.unwrap()
}

/// Reads pages `1..=count` of a segment with their messages.
async fn scan(system: &ContextSystem, id: &str, count: u64) {
    for number in 1..=count {
        let index = PageIndex::new(segment(id), number);
        system.as_system().reader().page(&index).await.unwrap();
        system.as_system().reader().messages(&index).await.unwrap();
    }
}

// P-24, P-15, B-31: reading a directory does not load its children; what is resident is not read
// again.
#[test]
fn reading_is_lazy() {
    block_on(async {
        let storage = watched();
        let system = session(storage.clone()).await;
        directory(&system, "usr-0", "dir").await;
        for number in 0..50 {
            leaf(&system, "usr-1", &format!("page {number}")).await;
        }
        drop(system);
        storage.reset();
        let system = reopen(storage.clone()).await;
        let directory = system.as_system().reader().page(&page("usr-1")).await.unwrap();
        assert!(directory.page.is_contents());
        assert_eq!(storage.count("pages"), 2, "the directory and the root above it");
        assert_eq!(storage.count("children") + storage.count("scan"), 0);
        assert_eq!(storage.count("contents"), 0);
        storage.reset();
        system.as_system().reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 0);
        // Appending to it does not read the others either.
        leaf(&system, "usr-1", "one more").await;
        assert_eq!(storage.count("children") + storage.count("scan") + storage.count("pages"), 0);
        system.evict_page(&page("usr-1")).unwrap();
        system.as_system().reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 1);
    });
}

// B-36, B-41: what is resident is bounded, contents included; roots and System-kind pages stay.
#[test]
fn resident_pages_are_bounded() {
    block_on(async {
        let storage = watched();
        let system = session(storage.clone()).await;
        leaf(&system, "sys-0", "Prompt").await;
        for number in 0..200 {
            leaf(&system, "usr-0", &format!("page {number}")).await;
        }
        let most = 16_000;
        let system = open(&storage, most).await;
        for index in ["sys-0", "sys-1", "usr-0"] {
            system.as_system().reader().page(&page(index)).await.unwrap();
        }
        for number in 1..=200 {
            let index = PageIndex::new(segment("usr"), number);
            system.as_system().reader().page(&index).await.unwrap();
            system.as_system().reader().messages(&index).await.unwrap();
            let usage = system.resident_usage();
            assert!(usage.bytes <= most, "{usage:?}");
        }
        let usage = system.resident_usage();
        assert!((4..50).contains(&usage.pages) && usage.pinned == 3, "{usage:?}");
        // B-36: what is in memory is listed apart; a listing covers all pages.
        let resident = system.resident_pages();
        assert_eq!(resident.len(), usage.pages);
        assert!(resident.contains(&page("usr-200")) && !resident.contains(&page("usr-1")));
        storage.reset();
        for index in ["sys-0", "sys-1", "usr-0", "usr-200"] {
            system.as_system().reader().page(&page(index)).await.unwrap();
        }
        system.as_system().reader().messages(&page("usr-200")).await.unwrap();
        let reads = storage.count("pages") + storage.count("contents");
        assert_eq!(reads, 0, "roots, system pages and the last used stay");
        system.as_system().reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 1, "the least recently used is read again");
    });
}

// Pages, chunks and contents are one order: a content that is used outlives pages that are not.
#[test]
fn one_bound_covers_pages_and_contents() {
    block_on(async {
        let storage = watched();
        let system = session(storage.clone()).await;
        for number in 0..100 {
            leaf(&system, "usr-0", &format!("page {number}")).await;
        }
        let system = open(&storage, 16_000).await;
        for number in 2..=100 {
            let index = PageIndex::new(segment("usr"), number);
            system.as_system().reader().page(&index).await.unwrap();
            system.as_system().reader().messages(&page("usr-1")).await.unwrap();
        }
        assert_eq!((storage.count_of(&page("usr-1")), storage.count("contents")), (1, 1));
    });
}

// B-35: dropping a page drops the copy in memory only; what is not there is not found; what is
// pinned stays, and the error says why.
#[test]
fn a_page_is_dropped_by_hand() {
    block_on(async {
        let storage = watched();
        let system = session(storage.clone()).await;
        leaf(&system, "sys-0", "Prompt").await;
        leaf(&system, "usr-0", "note").await;
        scan(&system, "usr", 1).await;
        system.evict_page(&page("usr-1")).unwrap();
        let missing = system.evict_page(&page("usr-1")).unwrap_err();
        assert_eq!(
            (missing.kind(), missing.to_string().as_str()),
            (ErrorKind::NotFound, "page usr-1 in memory not found")
        );
        storage.reset();
        scan(&system, "usr", 1).await;
        assert_eq!((storage.count("pages"), storage.count("contents")), (1, 1), "it is stored");
        for (index, why) in [
            ("usr-0", "page usr-0 cannot be dropped from memory: it is the root of its segment"),
            ("sys-1", "page sys-1 cannot be dropped from memory: its segment is of kind system"),
        ] {
            system.as_system().reader().page(&page(index)).await.unwrap();
            let refused = system.evict_page(&page(index)).unwrap_err();
            assert_eq!((refused.kind(), refused.to_string().as_str()), (ErrorKind::Invalid, why));
        }
    });
}

// B-41: nothing happens while there is room; else what was used longest ago goes, down to the
// bound; what is pinned stays even then.
#[test]
fn the_least_recently_used_are_dropped_by_hand() {
    block_on(async {
        let storage = watched();
        let system = session(storage.clone()).await;
        leaf(&system, "sys-0", "Prompt").await;
        for number in 0..20 {
            leaf(&system, "usr-0", &format!("page {number}")).await;
        }
        let system = open(&storage, 1 << 20).await;
        system.as_system().reader().page(&page("sys-1")).await.unwrap();
        scan(&system, "usr", 20).await;
        system.as_system().reader().page(&page("usr-3")).await.unwrap();
        let before = system.resident_usage();
        assert_eq!(system.evict_lru(before.bytes), 0);
        assert_eq!(system.resident_usage(), before);
        let freed = system.evict_lru(before.bytes / 2);
        let after = system.resident_usage();
        assert_eq!(after.bytes, before.bytes - freed);
        assert!(after.bytes <= before.bytes / 2, "{after:?}");
        assert!(after.bytes > before.bytes / 4, "no more than needed: {after:?}");
        let resident = system.resident_pages();
        let stays = |index: &str| resident.contains(&page(index));
        assert!(stays("usr-3") && stays("usr-20") && !stays("usr-1") && !stays("usr-4"));
        system.evict_lru(0);
        let left = ["sys-0", "sys-1", "usr-0"].map(page);
        assert_eq!(system.resident_pages(), left);
        let usage = system.resident_usage();
        assert_eq!((usage.pinned, usage.bytes), (3, usage.pinned_bytes));
    });
}

// B-34: a forced load takes what is stored now in place of what is in memory, is not found where
// nothing is stored, and leaves memory alone when the storage cannot be reached.
#[test]
fn a_page_is_loaded_anew() {
    block_on(async {
        let storage = watched();
        let system = session(storage.clone()).await;
        leaf(&system, "usr-0", "note").await;
        system.as_system().reader().page(&page("usr-1")).await.unwrap();
        // Another process changes it; this one has not looked since.
        let name = Some(valid("changed"));
        let other = reopen(storage.clone()).await;
        apply(&other, Edit::UpdatePage(PageUpdate { name, ..PageUpdate::of(page("usr-1")) })).await;
        let name = async || {
            let seen = system.as_system().reader().page(&page("usr-1")).await.unwrap();
            seen.page.name.as_str().to_owned()
        };
        assert_eq!(name().await, "note");
        storage.fail_reads(true);
        let failed = system.reload_page(&page("usr-1")).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Unavailable);
        assert_eq!(name().await, "note");
        storage.fail_reads(false);
        let loaded = system.reload_page(&page("usr-1")).await.unwrap();
        assert_eq!(loaded.name.as_str(), "changed");
        storage.reset();
        assert_eq!(name().await, "changed");
        assert_eq!(storage.count("pages"), 0, "it is in memory");
        let missing = system.reload_page(&page("usr-9")).await.unwrap_err();
        assert_eq!(missing.to_string(), "page usr-9 not found");
    });
}

/// A session with 20 pages in `usr`, where a scout looks, and 200 in `log`.
async fn with_window(storage: &Arc<WatchedStorage>) {
    let system = session(storage.clone()).await;
    add_segment(&system, "log", SegmentKind::Custom, Permission::ReadWrite).await;
    for (parent, count) in [("usr-0", 20), ("log-0", 200)] {
        for number in 0..count {
            leaf(&system, parent, &format!("page {number}")).await;
        }
    }
}

// The pages of a view's window are pinned: no scan and no hand drops them until another window
// takes their place.
#[test]
fn pages_in_a_window_stay() {
    block_on(async {
        let storage = watched();
        with_window(&storage).await;
        let system = open(&storage, 40_000).await;
        let scout = confined(&system, "scout", &["usr"]);
        let markdown = options(Format::Markdown);
        let first = scout.window(&markdown).await.unwrap();
        assert_eq!(system.resident_usage().pinned, 21, "20 pages and the root");
        scan(&system, "log", 200).await;
        system.evict_lru(0);
        storage.reset();
        assert_eq!(scout.window(&markdown).await.unwrap().hash, first.hash);
        assert_eq!(storage.count("pages"), 0);
        let refused = system.evict_page(&page("usr-7")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "page usr-7 cannot be dropped from memory: it is in the window of a view"
        );
        // A newer copy of it stays as well.
        let name = Some(valid("changed"));
        apply(&system, Edit::UpdatePage(PageUpdate { name, ..PageUpdate::of(page("usr-7")) }))
            .await;
        scan(&system, "log", 200).await;
        storage.reset();
        let seen = system.as_system().reader().page(&page("usr-7")).await.unwrap();
        assert_eq!((seen.page.name.as_str(), storage.count("pages")), ("changed", 0));
        // What leaves the window may go.
        apply(&system, Edit::RemovePage(page("usr-7"))).await;
        scout.window(&markdown).await.unwrap();
        system.evict_page(&page("usr-7")).unwrap();
        assert!(system.evict_page(&page("usr-8")).is_err());
    });
}

// What windows pin is bounded: half of the room at most, and the window that was rendered longest
// ago is let go first.
#[test]
fn windows_do_not_pin_without_bound() {
    block_on(async {
        let storage = watched();
        with_window(&storage).await;
        let bytes = 60_000;
        let system = open(&storage, bytes).await;
        let markdown = options(Format::Markdown);
        let scout = confined(&system, "scout", &["usr"]);
        scout.window(&markdown).await.unwrap();
        // One that is larger than all there is.
        confined(&system, "miner", &["log"]).window(&markdown).await.unwrap();
        let usage = system.resident_usage();
        assert!(usage.pinned_bytes < bytes / 2 + 2_000, "{usage:?}");
        assert!(usage.pinned > 20, "{usage:?}");
        system.evict_page(&page("usr-7")).ok();
        assert!(!system.resident_pages().contains(&page("usr-7")), "it was let go");
        assert!(system.evict_page(&page("log-200")).is_err(), "its end is held");
        // Many views that look at one page each: the last 64 are held.
        let system = open(&storage, 1 << 20).await;
        for number in 1..=200 {
            let mut view = confined(&system, &format!("a{number}"), &["log"]).view().clone();
            let others = (1..=200).filter(|other| *other != number);
            view.filter.without =
                others.map(|other| PageIndex::new(segment("log"), other)).collect();
            let agent = contexture_core::AgentContext::new(system.clone(), view);
            agent.window(&markdown).await.unwrap();
        }
        assert_eq!(system.resident_usage().pinned, 64 + 1);
        assert!(system.evict_page(&page("log-137")).is_err());
        assert!(system.evict_page(&page("log-136")).is_ok());
    });
}
