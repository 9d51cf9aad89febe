//! Finding and bringing back what was folded long ago, in a run.

use contexture_core::{Message, Role};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::*;

/// A session in which something was said long ago, and a lot since.
async fn long_talk() -> ContextSystem {
    let system = memory().await;
    let say = async |asked: &str, answered: &str| {
        let messages =
            vec![Message::text(Role::User, asked), Message::text(Role::Assistant, answered)];
        let segment = "usr".parse().unwrap();
        system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
    };
    say("Where did the deploy key go?", "It lies in vault 17 under the name heron-blue.").await;
    for number in 0..60 {
        let filler = format!("Step {number} was {}.", "reviewed and merged ".repeat(20));
        say(&format!("What about step {number}?"), &filler).await;
    }
    system
}

/// Runs an agent in a small window with these replies; returns its requests.
async fn asked(system: &ContextSystem, name: &str, replies: Vec<Reply>) -> Vec<String> {
    let server = ProviderServer::scripted(replies);
    let runner = runner(system);
    let keeper = agent("keeper", ContextMode::Shared);
    let mut job = job(&keeper, model(&server, name));
    job.options.budget = Some(6_000);
    let response = execute(&runner, &job, "Which vault holds the deploy key?").await;
    assert_eq!(response.text, "Vault 17.");
    assert_eq!(server.violations(), Vec::<String>::new(), "{name}");
    server.requests().into_iter().map(|request| request.body).collect()
}

#[tokio::test]
async fn an_agent_finds_and_opens_what_was_folded_long_ago() {
    for name in MODELS {
        let system = long_talk().await;
        let requests = asked(
            &system,
            name,
            vec![
                Reply::call("c1", "find_page", r#"{"query":"deploy key vault","limit":3}"#),
                Reply::call("c2", "expand_details", r#"{"page":"usr-1"}"#),
                Reply::text("Vault 17."),
            ],
        )
        .await;
        assert!(!requests[0].contains("heron-blue"), "{name}: it is folded");
        assert!(requests[1].contains("usr-1") && requests[1].contains("vault 17"), "{name}");
        assert!(requests[2].contains("It lies in vault 17 under the name heron-blue."), "{name}");
    }
}

#[tokio::test]
async fn an_agent_recalls_what_was_folded_long_ago() {
    for name in MODELS {
        let system = long_talk().await;
        let requests = asked(
            &system,
            name,
            vec![
                Reply::call("c1", "recall", r#"{"query":"which vault holds the deploy key"}"#),
                Reply::text("Vault 17."),
            ],
        )
        .await;
        assert!(!requests[0].contains("heron-blue"), "{name}: it is folded");
        assert!(requests[1].contains("It lies in vault 17 under the name heron-blue."), "{name}");
        // What it was asked just now stands in the window and does not come back.
        assert!(requests[1].contains("1 pages, "), "{name}: {}", requests[1]);
    }
}
