//! A process that dies at any step of a run: nothing acknowledged is lost, nothing is done twice.

use contexture_agents::run::Ending;
use contexture_core::{Format, ProviderFormat, WindowOptions, window::validate_body};
use contexture_testkit::{
    fake::{Death, WatchedStorage},
    provider::{ProviderServer, Reply, scripts::five_calls},
};

use super::*;

struct World {
    memory: Arc<MemoryStorage>,
    folder: tempfile::TempDir,
    server: ProviderServer,
}

impl World {
    async fn new() -> Self {
        let memory = Arc::new(MemoryStorage::new());
        session(memory.clone()).await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("count.txt"), "n=\n").unwrap();
        Self { memory, folder, server: ProviderServer::answering(five_calls) }
    }

    /// Runs the agent in a process of its own that dies at a write; tells whether it did.
    async fn die(&self, model_name: &str, write: u32, death: Death) -> bool {
        let storage = WatchedStorage::new(self.memory.clone());
        let system = reopened(storage.clone()).await;
        let worker = agent("worker", ContextMode::Isolated);
        let mut job = job(&worker, model(&self.server, model_name));
        job.tools = files(self.folder.path());
        storage.die_at_write(write, death);
        let (_stopper, stop) = stop_signal();
        let ended = runner(&system).execute(&job, "do all five", &mut Quiet, stop).await;
        assert_eq!(ended.is_err(), storage.is_dead(), "{ended:?}");
        storage.is_dead()
    }

    /// Goes on in another process, or begins anew where the first had not begun.
    async fn go_on(&self, model_name: &str) -> (ContextSystem, Response) {
        let system = reopened(self.memory.clone()).await;
        let worker = agent("worker", ContextMode::Isolated);
        let mut job = job(&worker, model(&self.server, model_name));
        job.tools = files(self.folder.path());
        let runner = runner(&system);
        let (_stopper, stop) = stop_signal();
        let resumed = runner.resume(&job, &mut Quiet, stop).await.unwrap();
        let answer = match resumed {
            Some(answer) => answer,
            None if texts(&system, "usr").await.is_empty() => {
                execute(&runner, &job, "do all five").await
            }
            // It had ended already, all but the record of it.
            None => return (system, ended(&job)),
        };
        (system, answer)
    }
}

fn ended(job: &Job<'_>) -> Response {
    Response {
        agent_name: job.agent.name.to_string(),
        text: "All five are done.".to_owned(),
        context: contexture_agents::runner::RunContext {
            segment: "agent-worker".parse().unwrap(),
            pages: Vec::new(),
            linked_to: String::new(),
            conversation_history: Vec::new(),
        },
        metadata: contexture_agents::runner::Metadata {
            model: String::new(),
            tokens_used: 0,
            tokens: Default::default(),
            duration_ms: 0,
            iterations: 0,
            context_mode: ContextMode::Isolated,
        },
        ending: Ending::Answered,
        waiting: Vec::new(),
    }
}

#[tokio::test]
async fn a_run_survives_death_at_every_step() {
    let mut deaths = 0;
    for model_name in MODELS {
        for death in [Death::Before, Death::After] {
            for write in 1.. {
                let world = World::new().await;
                if !world.die(model_name, write, death).await {
                    assert!(write > 20, "a run of five calls has more steps: {write}");
                    break;
                }
                deaths += 1;
                let told = format!("{model_name}, {death:?} write {write}");
                let (system, answer) = world.go_on(model_name).await;
                assert_eq!(answer.text, "All five are done.", "{told}");

                // The edit happened once, or not at all and the model was told so.
                let file = std::fs::read_to_string(world.folder.path().join("count.txt")).unwrap();
                let own = texts(&system, "agent-worker").await;
                let talk = own.concat();
                match file.as_str() {
                    "n=1\n" => {}
                    "n=\n" => assert!(talk.contains("interrupted"), "{told}: {talk}"),
                    other => panic!("{told}: {other}"),
                }
                // Each step stands once, in order, and the exchange was recorded once.
                let places: Vec<usize> = (1..=5)
                    .map(|at| {
                        let step = format!("Now step-{at}-call.");
                        assert_eq!(talk.matches(&step).count(), 1, "{told}: {talk}");
                        talk.find(&step).unwrap()
                    })
                    .collect();
                assert!(places.is_sorted(), "{told}");
                assert_eq!(texts(&system, "usr").await.len(), 1, "{told}");
                let runner = runner(&system);
                assert_eq!(runner.team().runs(None).await.unwrap(), [], "{told}");
                let left = system.runs("").await.unwrap();
                let keys: Vec<&str> = left.iter().map(|record| record.key.as_str()).collect();
                assert_eq!(keys, ["agent.worker"], "{told}");
                is_valid_everywhere(&runner, &told).await;
                assert_eq!(world.server.violations(), Vec::<String>::new(), "{told}");
            }
        }
    }
    assert!(deaths > 120, "{deaths}");
}

/// Checks that the agent's window keeps the rules of every provider.
async fn is_valid_everywhere(runner: &Runner, told: &str) {
    let worker = agent("worker", ContextMode::Isolated);
    let context = runner.team().context(&worker, ContextMode::Isolated).await.unwrap();
    for format in ProviderFormat::ALL {
        let counter = contexture_tokens::counter_for("gpt-4o");
        let options = WindowOptions::new(Format::Provider(format), counter);
        let window = context.window(&options).await.unwrap();
        let body = serde_json::from_str(&window.body).unwrap();
        validate_body(format, &body).unwrap_or_else(|error| panic!("{told} {format}: {error}"));
    }
}

// Without going on, the next request finds the interrupted run closed, with what it had.
#[tokio::test]
async fn an_interrupted_run_is_closed_before_the_next() {
    // Dies one step later each time, until it is in the middle of the edit.
    let mut write = 1;
    loop {
        let world = World::new().await;
        assert!(world.die(MODELS[0], write, Death::After).await);
        let system = reopened(world.memory.clone()).await;
        let runs = runner(&system).team().runs(None).await.unwrap();
        let begun = runs.first().is_some_and(|stored| {
            let text = serde_json::to_string(&stored.run).unwrap();
            text.contains("edit_file") && text.contains("\"begun\"")
        });
        write += 1;
        if begun {
            let worker = agent("worker", ContextMode::Isolated);
            let server = ProviderServer::scripted([Reply::text("I see.")]);
            let job = job(&worker, model(&server, MODELS[0]));
            let answer = execute(&runner(&system), &job, "what happened?").await;
            assert_eq!(answer.text, "I see.");
            let request = &server.requests()[0].body;
            assert!(request.contains("whether this call took effect is unknown"));
            assert!(request.contains("what happened?"));
            break;
        }
    }
}

// Earlier versions kept how far calls had come in the run's own record.
#[tokio::test]
async fn resumes_a_run_of_an_earlier_version() {
    for write in 1.. {
        let world = World::new().await;
        assert!(world.die(MODELS[0], write, Death::After).await, "no edit was ever begun");
        let system = reopened(world.memory.clone()).await;
        let Some(stored) = runner(&system).team().runs(None).await.unwrap().pop() else { continue };
        let text = serde_json::to_string(&stored.run).unwrap();
        if !text.contains("edit_file") || !text.contains("\"begun\"") {
            continue;
        }
        let now = system.now();
        for part in system.runs("part.").await.unwrap() {
            system.keep_run(&part.removal(now)).await.unwrap();
        }
        system.keep_run(&stored.record.next(text, now)).await.unwrap();
        let (system, answer) = world.go_on(MODELS[0]).await;
        assert_eq!(answer.text, "All five are done.");
        let talk = texts(&system, "agent-worker").await.concat();
        assert!(talk.contains("whether this call took effect is unknown"), "{talk}");
        let file = std::fs::read_to_string(world.folder.path().join("count.txt")).unwrap();
        assert_eq!(file, "n=\n");
        assert_eq!(system.runs("part.").await.unwrap(), []);
        return;
    }
}
