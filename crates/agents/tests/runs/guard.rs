//! No request leaves without its System pages, whatever is lost; and none is held back without need.

use contexture_agents::AgentsError;
use contexture_core::{Edit, ErrorKind, NewDetailPage, NewSegment, PageIndex, SegmentKind};
use contexture_testkit::{
    fake::{Lost, WatchedStorage},
    provider::{ProviderServer, Reply},
};

use super::*;

async fn add(system: &ContextSystem, name: &str, text: &str) -> PageIndex {
    let root = "sys-0".parse().unwrap();
    let new = NewDetailPage::new(root, name.parse().unwrap(), text);
    let outcome = system.as_system().apply(Edit::CreateDetailPage(new)).await.unwrap();
    outcome.pages[0].clone()
}

/// A session with a system prompt in which the agent ran once.
async fn world() -> Arc<MemoryStorage> {
    let memory = Arc::new(MemoryStorage::new());
    let system = session(memory.clone()).await;
    add(&system, "Rules", "Never delete anything.").await;
    let server = ProviderServer::scripted([Reply::text("yes")]);
    let careful = agent("careful", ContextMode::Isolated);
    execute(&runner(&system), &job(&careful, model(&server, MODELS[0])), "ready?").await;
    let request = &server.requests()[0].body;
    assert!(request.contains("Never delete anything.") && request.contains("You are careful."));
    memory
}

/// Runs the agent in another process.
async fn run(
    storage: Arc<dyn PageStorage>,
    server: &ProviderServer,
) -> Result<Response, AgentsError> {
    let system = reopened(storage).await;
    let careful = agent("careful", ContextMode::Isolated);
    let job = job(&careful, model(server, MODELS[0]));
    let (_stopper, stop) = stop_signal();
    runner(&system).execute(&job, "go", &mut Quiet, stop).await
}

#[tokio::test]
async fn a_run_is_never_sent_without_its_system_pages() {
    let page = |index: &str| index.parse::<PageIndex>().unwrap();
    let prompts = ["prompt-careful-1", "prompt-careful-4", "prompt-careful-5"];
    let mut losses = vec![
        Lost::Page(page("sys-1")),
        Lost::Listing(page("sys-1")),
        Lost::Page(page("sys-0")),
        Lost::Segment("sys".parse().unwrap()),
    ];
    for prompt in prompts {
        losses.extend([Lost::Page(page(prompt)), Lost::Listing(page(prompt))]);
    }
    for loss in losses {
        let storage = WatchedStorage::new(world().await);
        storage.lose(loss.clone());
        let server = ProviderServer::answering(|_| Reply::text("oh"));
        let error = run(storage, &server).await.unwrap_err();
        assert_eq!(server.requests().len(), 0, "{loss:?}: {error}");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{loss:?}: {error}");
        let hint = error.hint();
        let checks = hint.contains("store check") || hint.contains("check the store");
        assert!(checks, "{loss:?}: {hint}");
    }
}

#[tokio::test]
async fn what_was_taken_away_on_purpose_is_not_missed() {
    let memory = world().await;
    let system = reopened(memory.clone()).await;
    let archived = add(&system, "Old", "ARCHIVED").await;
    system.as_system().apply(Edit::RemovePage(archived)).await.unwrap();
    let purged = add(&system, "Secret", "PURGED").await;
    system.as_system().apply(Edit::RemovePage(purged.clone())).await.unwrap();
    system.as_system().apply(Edit::PurgePage(purged)).await.unwrap();
    add(&system, "Slip", "UNDONE").await;
    system.as_system().apply(Edit::Undo { revision: None }).await.unwrap();
    add(&system, "More", "And ask first.").await;
    let storage = WatchedStorage::new(memory);
    for _ in 0..2 {
        let server = ProviderServer::scripted([Reply::text("fine")]);
        storage.reset();
        assert_eq!(run(storage.clone(), &server).await.unwrap().text, "fine");
        let request = &server.requests()[0].body;
        assert!(
            request.contains("Never delete") && request.contains("And ask first."),
            "{request}"
        );
        for taken in ["ARCHIVED", "PURGED", "UNDONE"] {
            assert!(!request.contains(taken), "{taken}: {request}");
        }
    }
}

// A segment that comes back stands behind those that were added meanwhile.
#[tokio::test]
async fn a_segment_that_was_removed_and_added_again_is_not_missed() {
    let memory = world().await;
    let system = reopened(memory.clone()).await;
    let add =
        |id: &str| Edit::AddSegment(NewSegment::new(id.parse().unwrap(), SegmentKind::Custom));
    system.as_system().apply(add("notes")).await.unwrap();
    system
        .as_system()
        .apply(Edit::RemoveSegment {
            segment: "notes".parse().unwrap(),
            cascade: true,
            force: false,
        })
        .await
        .unwrap();
    system.as_system().apply(add("more")).await.unwrap();
    system.as_system().apply(add("notes")).await.unwrap();
    let segments = memory.segments(system.session()).await.unwrap();
    assert!(
        contexture_core::Segment::first_gap(&segments, &Default::default()).is_some(),
        "{segments:?}"
    );
    let server = ProviderServer::scripted([Reply::text("fine")]);
    assert_eq!(run(memory, &server).await.unwrap().text, "fine");
}

// Where edits are lost nobody can say that a number was never that of a prompt.
#[tokio::test]
async fn a_prompt_that_is_lost_with_its_history_is_missed() {
    let prompt: PageIndex = "sys-1".parse().unwrap();
    for losses in [
        vec![Lost::Page(prompt.clone()), Lost::Edits(prompt.clone())],
        vec![Lost::Segment("sys".parse().unwrap()), Lost::Edits(prompt.clone())],
    ] {
        let storage = WatchedStorage::new(world().await);
        losses.iter().for_each(|loss| storage.lose(loss.clone()));
        let server = ProviderServer::answering(|_| Reply::text("oh"));
        let error = run(storage, &server).await.unwrap_err();
        assert_eq!(server.requests().len(), 0, "{losses:?}: {error}");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{losses:?}: {error}");
    }
    // What is there is not looked for.
    let storage = WatchedStorage::new(world().await);
    storage.lose(Lost::Edits(prompt));
    let server = ProviderServer::scripted([Reply::text("fine")]);
    assert_eq!(run(storage, &server).await.unwrap().text, "fine");
}
