//! Runs that another process takes over: the one that was taken for dead makes no call any more.

use std::sync::Mutex;

use async_trait::async_trait;
use contexture_agents::{ToolOutput, ToolSpec, tool::Effect};
use contexture_core::{ErrorKind, message::RawJson};
use contexture_testkit::provider::{ProviderServer, Reply};
use serde_json::Value;

use super::*;

/// What both processes share.
struct World {
    memory: Arc<MemoryStorage>,
    server: ProviderServer,
    rung: Mutex<Vec<String>>,
}

/// A bell that notes who rang it. Rung by the first process, it lets the second take the run over
/// before it answers.
struct Bell {
    spec: ToolSpec,
    who: &'static str,
    world: Arc<World>,
}

impl Bell {
    fn of(who: &'static str, world: &Arc<World>) -> Vec<Arc<dyn Tool>> {
        let schema = r#"{"type":"object","properties":{"bell":{"type":"integer"}}}"#;
        let spec = ToolSpec {
            name: "ring".to_owned(),
            description: "Rings a bell.".to_owned(),
            schema: RawJson::new(schema).unwrap(),
        };
        vec![Arc::new(Bell { spec, who, world: world.clone() })]
    }
}

#[async_trait]
impl Tool for Bell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    async fn call(&self, arguments: &Value) -> ToolOutput {
        self.world.rung.lock().unwrap().push(format!("{} {}", self.who, arguments["bell"]));
        if self.who == "first" {
            let system = reopened(self.world.memory.clone()).await;
            let ringer = agent("ringer", ContextMode::Isolated);
            let mut job = job(&ringer, model(&self.world.server, MODELS[0]));
            job.tools = Bell::of("second", &self.world);
            let (_stopper, stop) = stop_signal();
            let answer = runner(&system).resume(&job, &mut Quiet, stop).await.unwrap().unwrap();
            assert_eq!(answer.text, "rung");
        }
        ToolOutput::of("ding")
    }
}

#[tokio::test]
async fn a_process_taken_for_dead_makes_no_more_calls() {
    let memory = Arc::new(MemoryStorage::new());
    let system = session(memory.clone()).await;
    let server = ProviderServer::scripted([
        Reply::call("c1", "ring", r#"{"bell":1}"#)
            .tool_call("c2", "ring", r#"{"bell":2}"#)
            .tool_call("c3", "ring", r#"{"bell":3}"#),
        Reply::text("rung"),
        Reply::text("again"),
    ]);
    let world = Arc::new(World { memory, server, rung: Mutex::default() });
    let ringer = agent("ringer", ContextMode::Isolated);
    let mut job = job(&ringer, model(&world.server, MODELS[0]));
    job.tools = Bell::of("first", &world);
    let (_stopper, stop) = stop_signal();
    let error = runner(&system).execute(&job, "ring", &mut Quiet, stop).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(*world.rung.lock().unwrap(), ["first 1", "second 2", "second 3"]);
    let system = reopened(world.memory.clone()).await;
    let talk = texts(&system, "agent-ringer").await.concat();
    assert!(talk.contains("whether this call took effect is unknown"), "{talk}");
    assert_eq!(world.server.violations(), Vec::<String>::new());

    // What the first left behind goes with the next run.
    job.tools = Vec::new();
    assert_eq!(execute(&runner(&system), &job, "and?").await.text, "again");
    let left = system.runs("").await.unwrap();
    let keys: Vec<&str> = left.iter().map(|record| record.key.as_str()).collect();
    assert_eq!(keys, ["agent.ringer"]);
}
