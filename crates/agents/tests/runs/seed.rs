//! The names of the source document on agents: options of a run, and histories by an agent's name.

use contexture_agents::{
    ContextMode,
    settings::{Layer, Settings, SettingsDialect, SettingsFile},
};
use contexture_core::{ErrorKind, Message, Role, message::detail_text};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::*;

fn words(messages: &[Message]) -> Vec<String> {
    let line_of = |message: &Message| {
        let text = detail_text(std::slice::from_ref(message));
        format!("{:?}: {text}", message.role)
    };
    messages.iter().map(line_of).collect()
}

// M-10, M-19, M-30: the options of a run name its mode, over the job's and the file's, for that run.
#[tokio::test]
async fn a_call_names_its_mode() {
    let system = memory().await;
    let runner = runner(&system);
    let server = ProviderServer::scripted([Reply::text("Shared."), Reply::text("Alone.")]);
    let solo = agent("solo", ContextMode::Isolated);
    let mut job = job(&solo, model(&server, MODELS[0]));
    job.options.context_mode = Some(ContextMode::Shared);
    let answer = execute(&runner, &job, "look at all").await;
    assert_eq!(answer.metadata.context_mode, ContextMode::Shared);
    assert_eq!(answer.context.linked_to, "Main Session");
    assert_eq!(texts(&system, "usr").await, ["User: look at all\nAssistant: Shared."]);
    job.options.context_mode = None;
    let answer = execute(&runner, &job, "on your own").await;
    assert_eq!(answer.metadata.context_mode, ContextMode::Isolated);
    // Where the settings forbid sharing, asking for it is an error and no model is asked.
    let text = br#"{"agents":{"allowSharedContext":false}}"#;
    let path = std::path::Path::new("settings.json");
    let file = SettingsFile::parse(Layer::User, path, SettingsDialect::Contexture, text).unwrap();
    let strict = runner_with(&system, Settings::merge(&[file]));
    job.options.context_mode = Some(ContextMode::Shared);
    let (_stopper, stop) = stop_signal();
    let refused = strict.execute(&job, "again", &mut Quiet, stop).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    assert_eq!(server.requests().len(), 2);
}

// M-21: a run's context holds the history it ran in, its answer included.
#[tokio::test]
async fn a_run_returns_its_history() {
    let system = memory().await;
    let runner = runner(&system);
    let server = ProviderServer::scripted([
        Reply::text("First."),
        Reply::call("c1", "find_page", r#"{"query":"x"}"#),
        Reply::text("Second."),
        Reply::text("Third."),
    ]);
    let solo = agent("solo", ContextMode::Isolated);
    let mut job = job(&solo, model(&server, MODELS[0]));
    let answer = execute(&runner, &job, "one").await;
    assert_eq!(words(&answer.context.conversation_history), ["User: one", "Assistant: First."]);
    let answer = execute(&runner, &job, "two").await;
    let history = words(&answer.context.conversation_history);
    assert_eq!((history.len(), history[2].as_str()), (6, "User: two"));
    assert_eq!(history[5], "Assistant: Second.");
    // Shared, it is the main session's: what was published there, and nothing of its own traffic.
    job.mode = ContextMode::Shared;
    let answer = execute(&runner, &job, "three").await;
    let history = words(&answer.context.conversation_history);
    assert_eq!(
        history,
        [
            "User: one",
            "Assistant: First.",
            "User: two",
            "Assistant: Second.",
            "User: three",
            "Assistant: Third.",
        ]
    );
    let json = serde_json::to_value(&answer).unwrap();
    assert!(json["context"].get("conversationHistory").is_none(), "pages are named instead");
}

// M-12 to M-17: the document's ContextManager, by an agent's name.
#[tokio::test]
async fn histories_are_reached_by_name() {
    let system = memory().await;
    let runner_here = runner(&system);
    let agents = [agent("solo", ContextMode::Isolated), agent("open", ContextMode::Shared)];
    let contexts = runner_here.contexts(&agents);
    assert_eq!(contexts.get_context_mode("solo").await.unwrap(), ContextMode::Isolated);
    assert_eq!(contexts.get_context_mode("open").await.unwrap(), ContextMode::Shared);
    let team = runner_here.team();
    team.set_session_mode(&agents[1].name, Some(ContextMode::Isolated)).await.unwrap();
    assert_eq!(contexts.get_context_mode("open").await.unwrap(), ContextMode::Isolated);
    let missing = contexts.get_context_mode("nobody").await.unwrap_err();
    assert_eq!(missing.to_string(), "Agent 'nobody' not found");
    assert_eq!(contexts.get_main_session_context().await.unwrap(), []);
    let bare = ContextSystem::in_memory(Arc::new(ManualClock::at_millis(0))).await.unwrap();
    let without = runner(&bare);
    assert_eq!(without.contexts(&agents).get_main_session_context().await.unwrap(), []);
    let solo = ContextMode::Isolated;
    assert_eq!(contexts.last_accessed_at("solo", solo).await.unwrap(), None);
    assert!(
        system.as_system().reader().segment(&"agent-solo".parse().unwrap()).is_err(),
        "asking makes nothing"
    );

    let first = contexts.get_context("solo", solo).await.unwrap();
    assert_eq!((first.conversation_history.len(), first.mode), (0, solo));
    let user = Message::text(Role::User, "only for solo");
    contexts.add_message("solo", user, solo).await.unwrap();
    let answer = Message::text(Role::Assistant, "understood");
    contexts.add_message("solo", answer, solo).await.unwrap();
    let said = Message::text(Role::User, "for everybody");
    contexts.add_message("open", said, ContextMode::Shared).await.unwrap();
    assert_eq!(texts(&system, "agent-solo").await, ["User: only for solo\nAssistant: understood"]);
    assert_eq!(texts(&system, "usr").await, ["for everybody"]);
    let history = contexts.get_context("solo", solo).await.unwrap();
    assert_eq!(
        words(&history.conversation_history),
        ["User: only for solo", "Assistant: understood"]
    );
    let shared = contexts.get_context("solo", ContextMode::Shared).await.unwrap();
    assert_eq!(words(&shared.conversation_history), ["User: for everybody"]);
    assert_eq!(contexts.get_main_session_context().await.unwrap(), shared.conversation_history);

    let shared = contexts.last_accessed_at("solo", ContextMode::Shared).await.unwrap();
    assert!(shared.is_some());
    contexts.clear_history("solo").await.unwrap();
    assert_eq!(contexts.get_context("solo", solo).await.unwrap().conversation_history, []);
    let shared = contexts.last_accessed_at("solo", ContextMode::Shared).await.unwrap();
    assert_eq!(shared, None, "the record of it is dropped");
    assert_eq!(texts(&system, "usr").await, ["for everybody"], "the main session stays");
}

// M-13: a context knows when it was first and last asked for, and a run counts as asking.
#[tokio::test]
async fn a_context_knows_when_it_was_last_accessed() {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let system = session(storage.clone()).await;
    let agents = [agent("solo", ContextMode::Isolated)];
    let mode = ContextMode::Isolated;
    let runner_then = runner(&system);
    let first = runner_then.contexts(&agents).get_context("solo", mode).await.unwrap();
    assert_eq!((first.created_at, first.last_accessed_at), (system.now(), system.now()));
    let later = reopened(storage).await;
    assert!(later.now() > system.now());
    let runner_now = runner(&later);
    let contexts = runner_now.contexts(&agents);
    let known = contexts.last_accessed_at("solo", mode).await.unwrap();
    assert_eq!(known, Some(first.last_accessed_at));
    let server = ProviderServer::scripted([Reply::text("Done.")]);
    execute(&runner_now, &job(&agents[0], model(&server, MODELS[0])), "go").await;
    assert_eq!(contexts.last_accessed_at("solo", mode).await.unwrap(), Some(later.now()));
    let again = contexts.get_context("solo", mode).await.unwrap();
    assert_eq!((again.created_at, again.last_accessed_at), (first.created_at, later.now()));
}
