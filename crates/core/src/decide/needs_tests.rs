//! What an edit on many pages needs is asked for together: deciding begins again after each need.

use std::sync::Arc;

use futures::executor::block_on;

use super::{EditRequest, Halt, Known, Need, Segments, decide};
use crate::{
    Actor, ContextSystem, Edit, ManualClock, MemoryStorage, NewContentsPage, NewDetailPage,
    NewSegment, PageIndex, PageStorage, SegmentKind,
    storage::{LevelChunk, ViewId},
};

fn page(text: &str) -> PageIndex {
    text.parse().unwrap()
}

async fn apply(system: &ContextSystem, edit: Edit) -> Vec<PageIndex> {
    system.as_system().apply(edit).await.unwrap().pages
}

async fn directory(system: &ContextSystem, name: &str) -> PageIndex {
    let new = NewContentsPage::new(page("usr-0"), name.parse().unwrap());
    apply(system, Edit::CreateContentsPage(new)).await.remove(0)
}

async fn two_segments() -> (Arc<MemoryStorage>, ContextSystem) {
    let storage = Arc::new(MemoryStorage::new());
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let system =
        ContextSystem::create(storage.clone(), "needs".parse().unwrap(), "app", clock).await;
    let system = system.unwrap();
    for (id, kind) in [("usr", SegmentKind::User), ("oth", SegmentKind::Custom)] {
        apply(&system, Edit::AddSegment(NewSegment::new(id.parse().unwrap(), kind))).await;
    }
    (storage, system)
}

/// Decides an edit on the pages it names and the roots; returns what is needed next.
async fn first_need(system: &ContextSystem, storage: &MemoryStorage, edit: &Edit) -> Need {
    let id = system.session();
    let mut known = Known {
        segments: Arc::new(Segments::new(storage.segments(id).await.unwrap())),
        views: Some(storage.views(id).await.unwrap()),
        ..Known::default()
    };
    let Edit::Batch(edits) = edit else { panic!("a batch of moves") };
    let mut named = vec![page("usr-0"), page("oth-0")];
    for edit in edits {
        let Edit::MovePage { page, to } = edit else { panic!("a move") };
        named.extend([page.clone(), to.clone()]);
    }
    let pages = storage.pages(id, &named).await.unwrap();
    known.pages = named.into_iter().zip(pages.into_iter().map(|page| page.map(Arc::new))).collect();
    let request = EditRequest {
        actor: Actor::System,
        view: ViewId::SYSTEM,
        at: system.now(),
        guard: None,
        limits: Default::default(),
    };
    match decide(edit, &request, &known) {
        Err(Halt::Need(need)) => need,
        other => panic!("{other:?}"),
    }
}

#[test]
fn heights_of_many_directories_are_asked_for_together() {
    block_on(async {
        let (storage, system) = two_segments().await;
        let to = directory(&system, "to").await;
        let mut moves = Vec::new();
        for _ in 0..5 {
            let page = directory(&system, "moved").await;
            moves.push(Edit::MovePage { page, to: to.clone() });
        }
        let need = first_need(&system, &storage, &Edit::Batch(moves)).await;
        let Need::Several(heights) = need else { panic!("{need:?}") };
        assert_eq!(heights.len(), 5);
        assert!(heights.iter().all(|need| matches!(need, Need::Height(_))), "{heights:?}");
    });
}

#[test]
fn what_views_say_of_many_pages_is_asked_for_together() {
    block_on(async {
        let (storage, system) = two_segments().await;
        let leaf = |at: u64| {
            let name = format!("leaf {at}").parse().unwrap();
            Edit::CreateDetailPage(NewDetailPage::new(page("usr-0"), name, "text"))
        };
        let made = apply(&system, Edit::Batch((0..2 * LevelChunk::SPAN).map(leaf).collect())).await;
        apply(&system, Edit::PinPage(made[0].clone())).await;
        let to = page("oth-0");
        let moves = made.into_iter().map(|page| Edit::MovePage { page, to: to.clone() });
        let need = first_need(&system, &storage, &Edit::Batch(moves.collect())).await;
        let Need::Chunks(chunks) = need else { panic!("{need:?}") };
        assert_eq!(chunks.len(), 3);
    });
}
