//! The five storage methods of the source document, on every storage that outlives the process.

use std::sync::Arc;

use contexture_core::{ErrorKind, Page, PageIndex, PageStorage, Timestamp, storage::PageStore};
use contexture_testkit::fixture::{
    TickingClock, directory, leaf, page, session, session_id, valid,
};
use futures::executor::block_on;

use crate::backends;

fn store(storage: &Arc<dyn PageStorage>) -> PageStore {
    PageStore::new(storage.clone(), session_id(), TickingClock::new())
}

/// A page at an index of its own, as another says the rest.
fn at(index: &str, like: &Page) -> Page {
    Page { index: page(index), ..like.clone() }
}

// B-01, B-03, B-06 to B-11: a storage that was not there is made; saving writes or replaces;
// loading reads back what was saved, also after reopening; what is missing is not found when loaded and
// no error when deleted; lists are in natural order; no name is part of a statement or a path.
#[test]
fn pages_are_saved_loaded_deleted_and_listed() {
    for backend in backends::durable() {
        let home = backend.home();
        block_on(async {
            let storage = home.open();
            let system = session(storage.clone()).await;
            directory(&system, "usr-0", "dir").await;
            leaf(&system, "usr-0", "note").await;
            let pages = store(&storage);
            let note = pages.load(&page("usr-2")).await.unwrap();
            let hostile = "'); DROP TABLE pages; -- ../../x";
            let mut last = Timestamp::from_millis(0);
            for (index, name) in [("usr-10", "ten"), ("usr-9", hostile), ("usr-9", "again")] {
                pages.save(&Page { name: valid(name), ..at(index, &note) }).await.unwrap();
                let loaded = pages.load(&page(index)).await.unwrap();
                assert_eq!(loaded.name.as_str(), name);
                assert!(loaded.updated_at > last, "every save has its time");
                last = loaded.updated_at;
            }
            drop((pages, system, storage));
            let storage = home.open();
            let pages = store(&storage);
            let listed: Vec<PageIndex> = pages.list().await.unwrap();
            let natural = ["sys-0", "usr-0", "usr-1", "usr-2", "usr-9", "usr-10"].map(page);
            assert_eq!(listed, natural);
            let kept = pages.load(&page("usr-9")).await.unwrap();
            assert_eq!((kept.name.as_str(), kept.body), ("again", note.body.clone()));
            assert!(pages.load(&page("usr-1")).await.unwrap().is_contents());

            for _ in 0..2 {
                pages.delete(&page("usr-9")).await.unwrap();
                assert!(!pages.exists(&page("usr-9")).await.unwrap());
            }
            assert!(pages.exists(&page("usr-10")).await.unwrap());
            let missing = pages.load(&page("usr-9")).await.unwrap_err();
            assert_eq!(missing.kind(), ErrorKind::NotFound);
            assert_eq!(storage.verify().await.unwrap(), [""; 0]);
        });
    }
}

// B-25, B-54, B-57: a page has a parent in its own segment, unless it is a root.
#[test]
fn pages_without_a_place_in_the_tree_are_not_saved() {
    for backend in backends::durable() {
        let home = backend.home();
        block_on(async {
            let storage = home.open();
            let system = session(storage.clone()).await;
            leaf(&system, "usr-0", "note").await;
            let pages = store(&storage);
            let note = pages.load(&page("usr-1")).await.unwrap();
            let refused = async |page: Page| pages.save(&page).await.unwrap_err();
            let orphan = refused(Page { parent: None, ..at("usr-5", &note) }).await;
            assert_eq!(orphan.to_string(), "page usr-5 has no parent and is not a segment root");
            let foreign = refused(Page { parent: Some(page("sys-0")), ..at("usr-5", &note) }).await;
            assert_eq!(foreign.to_string(), "page usr-5 names a parent in another segment");
            let lost = refused(Page { parent: Some(page("usr-7")), ..at("usr-5", &note) }).await;
            assert_eq!(lost.to_string(), "page usr-7 not found");
            let nowhere = refused(at("nil-1", &note)).await;
            assert_eq!(nowhere.to_string(), "segment nil not found");
            assert_eq!(pages.list().await.unwrap().len(), 3);
        });
    }
}
