//! What a loss leaves behind in a session is mended, on any storage.

use std::sync::Arc;

use contexture_core::{
    Edit, MemoryStorage, Page, PageIndex, PageStorage, Timestamp, Visibility,
    message::detail_text,
    storage::{
        HistoryQuery, ImportPart, PageStanding, Place,
        check::{check_session, repair_session},
        copy::copy_session,
    },
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{agent, apply, directory, leaf, page, reopen, session, session_id},
};
use futures::executor::block_on;

/// A session of which something is lost: every part of it goes through `lose` on its way.
pub(crate) async fn damaged(lose: impl Fn(&mut ImportPart)) -> Arc<dyn PageStorage> {
    let whole: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let system = session(whole.clone()).await;
    let outer = directory(&system, "usr-0", "outer").await; // usr-1
    let inner = directory(&system, &outer.to_string(), "inner").await; // usr-2
    leaf(&system, &inner.to_string(), "deep").await; // usr-3
    leaf(&system, "usr-0", "flat").await; // usr-4
    leaf(&system, "usr-0", "last").await; // usr-5
    leaf(&system, "sys-0", "prompt").await; // sys-1
    agent(&system, "bot").pin_page("usr-4").await.unwrap();
    copied(&whole, lose).await
}

/// A copy of a session of which something is lost.
pub(crate) async fn copied(
    whole: &Arc<dyn PageStorage>,
    lose: impl Fn(&mut ImportPart),
) -> Arc<dyn PageStorage> {
    let watched = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    copy_session(&**whole, &*watched, &session_id(), &mut |_| {}).await.unwrap();
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    for mut part in watched.imported() {
        lose(&mut part);
        storage.import(&session_id(), part).await.unwrap();
    }
    storage
}

pub(crate) fn pages(part: &mut ImportPart, change: impl Fn(&mut Vec<Page>)) {
    if let ImportPart::Pages(pages) = part {
        change(pages);
    }
}

fn edit(part: &mut ImportPart, index: &str, change: impl Fn(&mut Page)) {
    let index = page(index);
    pages(part, |pages| pages.iter_mut().filter(|page| page.index == index).for_each(&change));
}

pub(crate) async fn problems(storage: &dyn PageStorage) -> Vec<String> {
    check_session(storage, &session_id()).await.unwrap()
}

/// Mends it; returns what was done. Everything is in order afterwards, and nothing is done twice.
pub(crate) async fn mended(storage: &Arc<dyn PageStorage>) -> Vec<String> {
    assert_ne!(problems(&**storage).await, [""; 0], "there is nothing to mend");
    let at = Timestamp::from_millis(7);
    let done = repair_session(&**storage, &session_id(), at).await.unwrap();
    assert_eq!(problems(&**storage).await, [""; 0], "{done:?}");
    assert_eq!(storage.verify().await.unwrap(), [""; 0]);
    assert_eq!(repair_session(&**storage, &session_id(), at).await.unwrap(), [""; 0]);
    done
}

async fn parent(storage: &Arc<dyn PageStorage>, index: &str) -> Option<PageIndex> {
    let pages = storage.pages(&session_id(), &[page(index)]).await.unwrap();
    pages[0].as_ref().unwrap().parent.clone()
}

#[test]
fn a_sound_session_is_left_alone() {
    block_on(async {
        let storage = damaged(|_| {}).await;
        let before = storage.session(&session_id()).await.unwrap();
        let at = Timestamp::from_millis(7);
        assert_eq!(repair_session(&*storage, &session_id(), at).await.unwrap(), [""; 0]);
        assert_eq!(storage.session(&session_id()).await.unwrap(), before);
    });
}

#[test]
fn orphans_go_to_the_root_and_keep_what_is_below() {
    block_on(async {
        // Nor does history know of it.
        let lose = |part: &mut ImportPart| {
            pages(part, |pages| pages.retain(|lost| lost.index != page("usr-1")));
            if let ImportPart::History(entries) = part {
                let touched = entries.iter_mut().map(|entry| &mut entry.inverse.pages);
                touched.for_each(|pages| pages.retain(|lost| lost.index != page("usr-1")));
            }
        };
        let storage = damaged(lose).await;
        let done = mended(&storage).await;
        assert_eq!(done, ["page usr-2 could not be reached and was moved to usr-0"]);
        assert_eq!(parent(&storage, "usr-3").await, Some(page("usr-2")));
        // It is an edit like any other: in history, and the session goes on.
        let system = reopen(storage.clone()).await;
        let newest = HistoryQuery { limit: 1, ..HistoryQuery::default() };
        let newest = storage.history(&session_id(), &newest).await.unwrap().remove(0);
        assert_eq!(newest.pages, [page("usr-2")]);
        assert!(system.as_system().reader().page(&page("usr-3")).await.is_ok());
        leaf(&system, "usr-2", "new").await;
    });
}

#[test]
fn a_root_that_is_gone_is_made() {
    block_on(async {
        let lose = |part: &mut ImportPart| {
            pages(part, |pages| pages.retain(|lost| !lost.index.is_root()));
        };
        let storage = damaged(lose).await;
        let done = mended(&storage).await;
        assert!(
            done.contains(&"the root usr-0 was missing and was created".to_owned()),
            "{done:?}"
        );
        assert_eq!(parent(&storage, "usr-1").await, Some(page("usr-0")));
        let archived = |part: &mut ImportPart| {
            edit(part, "usr-0", |root| root.standing = PageStanding::ColdArchived);
        };
        mended(&damaged(archived).await).await;
    });
}

#[test]
fn counters_are_raised() {
    block_on(async {
        let storage = damaged(|part| match part {
            ImportPart::Segments(segments) => {
                segments.iter_mut().for_each(|segment| segment.next_number = 2);
            }
            ImportPart::Finish(info) => info.next_place = Place(3),
            _ => {}
        })
        .await;
        mended(&storage).await;
        let system = reopen(storage.clone()).await;
        assert_eq!(leaf(&system, "usr-0", "new").await, page("usr-6"));
        assert_eq!(problems(&*storage).await, [""; 0]);
    });
}

#[test]
fn circles_and_impossible_directories_are_undone() {
    block_on(async {
        let storage = damaged(|part| {
            edit(part, "usr-1", |outer| outer.parent = Some(page("usr-2")));
        })
        .await;
        mended(&storage).await;
        assert_eq!(parent(&storage, "usr-1").await, Some(page("usr-0")));
        assert_eq!(parent(&storage, "usr-2").await, Some(page("usr-1")));
        // Below a leaf, below a retired page, without a directory: to the nearest that stands.
        let below_leaf = damaged(|part| {
            edit(part, "usr-5", |last| last.parent = Some(page("usr-3")));
        })
        .await;
        mended(&below_leaf).await;
        assert_eq!(parent(&below_leaf, "usr-5").await, Some(page("usr-2")));
        let retired = damaged(|part| {
            edit(part, "usr-2", |inner| inner.standing = PageStanding::Moved(page("sys-9")));
        })
        .await;
        mended(&retired).await;
        assert_eq!(parent(&retired, "usr-3").await, Some(page("usr-1")));
        let nowhere = damaged(|part| edit(part, "usr-4", |flat| flat.parent = None)).await;
        mended(&nowhere).await;
        let elsewhere = damaged(|part| {
            edit(part, "usr-4", |flat| flat.parent = Some(page("sys-0")));
        })
        .await;
        mended(&elsewhere).await;
        assert_eq!(parent(&elsewhere, "usr-4").await, Some(page("usr-0")));
    });
}

#[test]
fn a_shared_place_is_parted() {
    block_on(async {
        let storage = damaged(|part| {
            let mut place = None;
            if let ImportPart::Pages(pages) = part {
                for page in pages.iter_mut().filter(|page| page.index.number() >= 4) {
                    page.place = *place.get_or_insert(page.place);
                }
            }
        })
        .await;
        let done = mended(&storage).await;
        assert_eq!(done, ["page usr-5 shared its place with a sibling and was given its own"]);
    });
}

#[test]
fn a_system_root_is_shown_again() {
    block_on(async {
        let storage = damaged(|part| {
            if let ImportPart::Levels(chunks) = part {
                let (key, mut chunk) = chunks[0].clone();
                let mut entry = chunk.entry(0);
                entry.shown = Some(Visibility::Hidden);
                chunk.set(0, entry);
                let key =
                    contexture_core::storage::ChunkKey { segment: "sys".parse().unwrap(), ..key };
                chunks.push((key, chunk));
            }
        })
        .await;
        let done = mended(&storage).await;
        assert_eq!(done, ["system root sys-0 is shown again in view bot"]);
    });
}

#[test]
fn a_lost_content_is_told() {
    block_on(async {
        let lost = Arc::new(std::sync::Mutex::new(None));
        let storage = damaged(|part| {
            // Its entry forgets it, as a storage that repairs itself would see to.
            let ImportPart::History(entries) = part else { return };
            for entry in entries {
                let named = |at: &&contexture_core::storage::PageBefore| at.index == page("usr-4");
                let hash = entry.inverse.pages.iter().find(named).and_then(|at| at.assigned);
                if hash.is_some() {
                    *lost.lock().unwrap() = hash;
                }
                entry.forget(|assigned| Some(*assigned) == hash);
            }
        })
        .await;
        assert!(lost.lock().unwrap().is_some());
        let before = storage.history(&session_id(), &all()).await.unwrap().len();
        let done = mended(&storage).await;
        assert_eq!(done, ["the content of page usr-4 is lost, and the page now says so"]);
        let system = reopen(storage.clone()).await;
        let messages = system.as_system().reader().messages(&page("usr-4")).await.unwrap();
        assert!(detail_text(&messages).contains("was lost"), "{messages:?}");
        let after = storage.history(&session_id(), &all()).await.unwrap().len();
        assert_eq!(after, before + 1, "its history is kept");
        // It is a page like any other.
        apply(&system, Edit::RemovePage(page("usr-4"))).await;
    });
}

fn all() -> HistoryQuery {
    HistoryQuery { limit: 1_000, ..HistoryQuery::default() }
}
