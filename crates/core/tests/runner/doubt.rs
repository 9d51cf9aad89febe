//! Commits whose answers were lost: what is in memory finds out what became of them.

use std::sync::Arc;

use contexture_core::{ContextSystem, Edit, ErrorKind, MemoryStorage, PageUpdate, SegmentKind};
use contexture_testkit::{
    fault::{Fault, FaultyStorage},
    fixture::{leaf, page, session, valid},
};
use futures::executor::block_on;

fn rename(name: &str) -> Edit {
    Edit::UpdatePage(PageUpdate { name: Some(valid(name)), ..PageUpdate::of(page("usr-1")) })
}

async fn faulty() -> (Arc<FaultyStorage>, ContextSystem) {
    let storage = FaultyStorage::new(Arc::new(MemoryStorage::new()));
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "note").await;
    system.as_system().reader().page(&page("usr-1")).await.unwrap();
    (storage, system)
}

fn name_of(system: &ContextSystem) -> String {
    block_on(system.as_system().reader().page(&page("usr-1"))).unwrap().page.name.to_string()
}

// An edit that was made though its answer was an error is seen, and later edits build on it.
#[test]
fn a_lost_answer_is_found_out() {
    let (storage, system) = block_on(faulty());
    for (round, fault) in [Fault::Before, Fault::After].into_iter().enumerate() {
        storage.arm(fault, 1);
        let told = block_on(system.as_system().apply(rename(&format!("round {round}"))));
        assert_eq!(told.unwrap_err().kind(), ErrorKind::Unavailable);
        let expected = if fault == Fault::After { "round 1" } else { "note" };
        assert_eq!(name_of(&system), expected, "{fault:?}");
    }
    // Segments too, which are always in memory.
    storage.arm(Fault::After, 1);
    let new = contexture_core::NewSegment::new(valid("new"), SegmentKind::Custom);
    block_on(system.as_system().apply(Edit::AddSegment(new))).unwrap_err();
    assert!(block_on(system.as_system().reader().page(&page("new-0"))).is_ok());
    assert!(system.as_system().reader().segment(&valid("new")).is_ok());
    assert_eq!(block_on(leaf(&system, "new-0", "first")), page("new-1"));
}

// While the storage is out of reach nothing stale is answered; afterwards memory finds out.
#[test]
fn a_cut_connection_is_found_out_when_it_is_mended() {
    let (storage, system) = block_on(faulty());
    storage.arm(Fault::CutAfter, 1);
    let told = block_on(system.as_system().apply(rename("made")));
    assert_eq!(told.unwrap_err().kind(), ErrorKind::Unavailable);
    let told = block_on(system.as_system().reader().page(&page("usr-1")));
    assert_eq!(told.unwrap_err().kind(), ErrorKind::Unavailable, "what is in doubt is not shown");
    storage.mend();
    assert_eq!(name_of(&system), "made");
    storage.arm(Fault::CutAfter, 1);
    let new = contexture_core::NewSegment::new(valid("new"), SegmentKind::Custom);
    block_on(system.as_system().apply(Edit::AddSegment(new))).unwrap_err();
    storage.mend();
    assert_eq!(block_on(leaf(&system, "new-0", "first")), page("new-1"));
    assert!(system.as_system().reader().segment(&valid("new")).is_ok());
}
