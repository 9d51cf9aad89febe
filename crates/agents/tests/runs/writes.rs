//! How often a run writes: every step is stored, and no more often than it must be.

use async_trait::async_trait;
use contexture_agents::{
    ToolOutput, ToolSpec, run::Ending, runner::Verdict, tool::Effect, tools::Question,
};
use contexture_core::message::RawJson;
use contexture_testkit::{
    fake::WatchedStorage,
    provider::{ProviderServer, Reply},
};
use serde_json::Value;

use super::*;

/// A bell: it changes something, and says so.
struct Bell(ToolSpec);

impl Bell {
    fn tool() -> Arc<dyn Tool> {
        let schema = r#"{"type":"object","properties":{"bell":{"type":"integer"}}}"#;
        Arc::new(Bell(ToolSpec {
            name: "ring".to_owned(),
            description: "Rings a bell.".to_owned(),
            schema: RawJson::new(schema).unwrap(),
        }))
    }
}

#[async_trait]
impl Tool for Bell {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    async fn call(&self, arguments: &Value) -> ToolOutput {
        ToolOutput::of(format!("rang {}", arguments["bell"]))
    }
}

/// Allows every call.
struct Willing;

impl Watcher for Willing {
    fn approves(&mut self, _: &Question) -> Verdict {
        Verdict::Allowed
    }
}

/// Runs an agent whose model makes so many answers with so many calls each; returns how often it wrote.
async fn writes(steps: usize, calls: usize, interactive: bool) -> u64 {
    let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    let system = session(storage.clone()).await;
    let answer = |step: usize| {
        (0..calls).fold(Reply::empty(), |reply, call| {
            let bell = step * calls + call;
            reply.tool_call(&format!("c{bell}"), "ring", &format!(r#"{{"bell":{bell}}}"#))
        })
    };
    let script = (0..steps).map(answer).chain([Reply::text("done")]);
    let server = ProviderServer::scripted(script.collect::<Vec<_>>());
    let ringer = agent("ringer", ContextMode::Isolated);
    let mut job = job(&ringer, model(&server, MODELS[0]));
    job.tools = vec![Bell::tool()];
    job.options.interactive = interactive;
    let runner = runner(&system);
    runner.team().enter(&ringer, ContextMode::Isolated).await.unwrap();
    storage.reset();
    let answer = execute_watched(&runner, &job, "ring", &mut Willing).await;
    assert_eq!((answer.text.as_str(), answer.ending), ("done", Ending::Answered));
    let talk = texts(&system, "agent-ringer").await.concat();
    for bell in 0..steps * calls {
        assert_eq!(talk.matches(&format!("rang {bell}\n")).count(), 1, "{talk}");
    }
    // What the requests cost is noted all the same.
    let context = runner.team().enter(&ringer, ContextMode::Isolated).await.unwrap();
    let sent = context.ledger(job.model.window_format(), 100).await.unwrap();
    assert_eq!(sent.len(), steps + 1);
    assert!(sent.iter().all(|sent| sent.usage.is_some()));
    ["commit", "keep", "record"].iter().map(|method| storage.calls(method)).sum()
}

// The window sent; the answer with what it cost and its call as begun; the exchange.
#[tokio::test]
async fn a_step_with_one_call_writes_three_times() {
    let ground = writes(0, 0, false).await;
    assert_eq!(writes(1, 1, false).await - ground, 3);
    assert_eq!(writes(7, 1, false).await - ground, 7 * 3);
}

// What a call came to is stored with the beginning of the next.
#[tokio::test]
async fn each_further_call_of_an_answer_writes_once() {
    let ground = writes(0, 0, false).await;
    for calls in [2, 8, 32] {
        assert_eq!(writes(1, calls, false).await - ground, 2 + calls as u64, "{calls} calls");
    }
}

// Where somebody is asked first, a call begins when they have said so.
#[tokio::test]
async fn a_call_that_is_asked_for_begins_after_the_question() {
    let ground = writes(0, 0, true).await;
    assert_eq!(writes(1, 1, true).await - ground, 4);
    assert_eq!(writes(1, 3, true).await - ground, 2 + 2 * 3);
}
