//! What is loaded, and what stays in memory.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, MemoryStorage, PageIndex,
    system::{ResidentLimits, Settings},
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{TickingClock, directory, leaf, page, reopen, segment, session, session_id},
};
use futures::executor::block_on;

// P-24, P-15, B-31: reading a directory does not load its children; what is resident is not read
// again.
#[test]
fn reading_is_lazy() {
    block_on(async {
        let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
        let system = session(storage.clone()).await;
        directory(&system, "usr-0", "dir").await;
        for number in 0..50 {
            leaf(&system, "usr-1", &format!("page {number}")).await;
        }
        drop(system);
        storage.reset();
        let system = reopen(storage.clone()).await;
        let directory = system.reader().page(&page("usr-1")).await.unwrap();
        assert!(directory.page.is_contents());
        assert_eq!(storage.count("pages"), 2, "the directory and the root above it");
        assert_eq!(storage.count("children") + storage.count("scan"), 0);
        assert_eq!(storage.count("contents"), 0);
        storage.reset();
        system.reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 0);
        // Appending to it does not read the others either.
        leaf(&system, "usr-1", "one more").await;
        assert_eq!(storage.count("children") + storage.count("scan") + storage.count("pages"), 0);
        assert!(system.evict(&page("usr-1")));
        assert!(!system.evict(&page("usr-1")), "B-35: it is not resident any more");
        system.reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 1);
    });
}

// B-35, B-36, B-41, C25: what is resident is bounded; roots and System-kind pages stay.
#[test]
fn resident_pages_are_bounded() {
    block_on(async {
        let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
        let system = session(storage.clone()).await;
        leaf(&system, "sys-0", "Prompt").await;
        for number in 0..200 {
            leaf(&system, "usr-0", &format!("page {number}")).await;
        }
        let limits = ResidentLimits { page_bytes: 4_000, content_bytes: 1_000 };
        let settings = Settings { resident: limits, ..Settings::default() };
        let clock = TickingClock::new();
        let system =
            ContextSystem::open_with(storage.clone(), session_id(), clock, settings).await.unwrap();
        for index in ["sys-0", "sys-1", "usr-0"] {
            system.reader().page(&page(index)).await.unwrap();
        }
        for number in 1..=200 {
            let index = PageIndex::new(segment("usr"), number);
            system.reader().page(&index).await.unwrap();
            system.reader().messages(&index).await.unwrap();
            let (_, bytes) = system.resident_usage();
            assert!(bytes <= limits.page_bytes, "{bytes} bytes are resident");
        }
        let (pages, _) = system.resident_usage();
        assert!((3..50).contains(&pages), "{pages} pages are resident");
        storage.reset();
        for index in ["sys-0", "sys-1", "usr-0", "usr-200"] {
            system.reader().page(&page(index)).await.unwrap();
        }
        assert_eq!(storage.count("pages"), 0, "roots, system pages and the last used stay");
        system.reader().page(&page("usr-1")).await.unwrap();
        assert_eq!(storage.count("pages"), 1, "the least recently used is read again");
    });
}
