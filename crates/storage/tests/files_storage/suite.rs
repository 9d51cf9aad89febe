//! The suites every storage must pass, on files.

use contexture_core::{
    ContextSystem, Edit, NewDetailPage, NewSegment, PageStorage, Permission, SegmentKind,
};
use contexture_testkit::{
    concurrency,
    fixture::{self, page, segment, session_id, valid},
    property, undoing,
};
use futures::executor::block_on;

use crate::open;

// B-54: random edits through files, reopened at random moments, do what the model says.
#[test]
fn random_edits_with_reopening_do_what_the_model_says() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..3 {
        let path = folder.path().join(seed.to_string());
        let summary = property::run(|| open(&path), seed, 600, 10);
        assert!(summary.made > 150 && summary.reopened > 10, "{summary:?}");
        assert!(summary.folded > 10, "{summary:?}");
        assert_eq!(block_on(open(&path).verify()).unwrap(), [""; 0]);
    }
}

// B-58, B-03: the documented set-up on files: a segment, a page, an agent that reads it; and all of it in
// a folder that did not exist, one file for each page.
#[test]
fn the_documented_set_up_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/agents");
    let made = |system: &ContextSystem, edit| block_on(fixture::apply(system, edit)).pages;
    let system = {
        let clock = fixture::TickingClock::new();
        let created = ContextSystem::create(open(&path), session_id(), "app", clock);
        block_on(created).unwrap()
    };
    let sys = NewSegment::new(segment("sys"), SegmentKind::System).permission(Permission::ReadOnly);
    assert_eq!(made(&system, Edit::AddSegment(sys)), [page("sys-0")]);
    let prompt = NewDetailPage::new(page("sys-0"), valid("System Prompt"), "You are...");
    assert_eq!(made(&system, Edit::CreateDetailPage(prompt)), [page("sys-1")]);
    drop(system);
    let system = block_on(fixture::reopen(open(&path)));
    let agent = fixture::agent(&system, "helper");
    let children = block_on(agent.get_children("sys-0")).unwrap();
    assert_eq!(children[0].page.name.as_str(), "System Prompt");
    let text = block_on(agent.get_messages("sys-1")).unwrap();
    assert_eq!(contexture_core::message::detail_text(&text), "You are...");
    for file in ["sys-0.json", "sys-1.json"] {
        let pages = path.join(format!("sessions/{}/pages", session_id()));
        let json = std::fs::read(pages.join(file)).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["index"], file.trim_end_matches(".json"));
    }
}

// Random edits through files, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    undoing::run(|| open(folder.path()), 11, 250);
    assert_eq!(block_on(open(folder.path()).verify()).unwrap(), [""; 0]);
}

// 64 threads on one session in one folder.
#[test]
fn sixty_four_threads_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path());
    let system = block_on(fixture::session(storage.clone()));
    concurrency::run(|_| system.clone(), 64, 4);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
