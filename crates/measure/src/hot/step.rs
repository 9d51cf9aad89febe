//! Steps of a run against a provider on loopback: what each costs in time and in durable writes.
//!
//! A run that answers at once is the ground; what a run with steps takes beyond it, divided by the
//! steps, is what a step takes.

use std::{collections::BTreeMap, io::Write, path::Path, sync::Arc, time::Instant};

use anyhow::Result;
use async_trait::async_trait;
use contexture_agents::{
    AgentDefinition, ContextMode, ExecuteOptions, Job, Runner, Team, Tool, ToolOutput, ToolSpec,
    provider::{Retry, Timeouts, connect, resolve},
    run::Driver,
    runner::{Quiet, stop_signal},
    settings::Settings,
    team::ForkOrigin,
    tool::Effect,
};
use contexture_core::message::RawJson;
use contexture_testkit::provider::{ProviderServer, Reply};

use super::Stage;
use crate::latency::quantile;

/// How many steps a run of steps has.
const STEPS: usize = 10;

/// How many calls one answer has.
const CALLS: [usize; 3] = [1, 8, 32];

/// How a run goes: so many answers with so many calls each, then the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    steps: usize,
    calls: usize,
}

/// What a run took.
#[derive(Default)]
struct Figures {
    times: Vec<f64>,
    writes: Vec<f64>,
    bytes: Vec<f64>,
}

impl Figures {
    fn medians(&mut self) -> [f64; 3] {
        [&mut self.times, &mut self.writes, &mut self.bytes].map(|figures| quantile(figures, 0.5))
    }
}

pub(super) async fn measure(dir: &Path, rounds: u32, out: &mut dyn Write) -> Result<()> {
    let rounds = rounds.div_ceil(4);
    let mut shapes = vec![Shape { steps: 0, calls: 0 }, Shape { steps: STEPS, calls: 1 }];
    shapes.extend(CALLS.map(|calls| Shape { steps: 1, calls }));
    let mut figures: Vec<Figures> = shapes.iter().map(|_| Figures::default()).collect();
    for round in 0..rounds {
        for (shape, figures) in shapes.iter().zip(&mut figures) {
            let name = format!("step-{round}-{}-{}", shape.steps, shape.calls);
            one(dir, &name, *shape, figures).await?;
        }
    }
    let medians: Vec<[f64; 3]> = figures.iter_mut().map(Figures::medians).collect();
    let ground = medians[0];
    let beyond = |at: usize, by: usize| -> [f64; 3] {
        [0, 1, 2].map(|figure| (medians[at][figure] - ground[figure]) / by as f64)
    };
    let [time, writes, bytes] = beyond(1, STEPS);
    writeln!(
        out,
        "step: a step with one call: {time:.2} ms, {writes:.1} durable writes, \
         {bytes:.0} bytes of run records (a run that answers at once: {:.2} ms, {:.0} writes)",
        ground[0], ground[1]
    )?;
    for (at, calls) in CALLS.into_iter().enumerate() {
        let [time, writes, bytes] = beyond(at + 2, 1);
        let each = time / calls as f64;
        writeln!(
            out,
            "step: an answer with {calls} calls: {time:.2} ms ({each:.2} each), \
             {writes:.0} durable writes, {bytes:.0} bytes of run records"
        )?;
    }
    Ok(())
}

/// Runs an agent in a session of its own.
async fn one(dir: &Path, name: &str, shape: Shape, figures: &mut Figures) -> Result<()> {
    let stage = Stage::new(dir, name, 0).await?;
    let server = ProviderServer::answering(move |request| {
        let done = (0..shape.steps)
            .take_while(|step| request.body.contains(&format!("step-{step}-call-0")))
            .count();
        if done == shape.steps {
            return Reply::text("done");
        }
        (0..shape.calls).fold(Reply::empty(), |reply, call| {
            let id = format!("step-{done}-call-{call}");
            reply.tool_call(&id, "note", &format!(r#"{{"text":"{id}"}}"#))
        })
    });
    let url = server.url();
    let env = |variable: &str| match variable {
        "OPENAI_BASE_URL" => Some(url.clone()),
        "OPENAI_API_KEY" => Some("key".to_owned()),
        _ => None,
    };
    let endpoint = resolve("openai/gpt-4o", &env, &BTreeMap::new())?;
    let model = connect(endpoint, Timeouts::default(), Retry::default());
    let counter = contexture_tokens::counter_for("gpt-4o");
    let team = Team::new(stage.system.clone());
    let runner = Runner::new(team, Settings::default(), counter, Driver::default(), |_| false);
    let mut agent = AgentDefinition::bare("worker".parse()?);
    agent.system_prompt = "You note what you are told.".to_owned();
    let options = ExecuteOptions { stream: true, ..ExecuteOptions::default() };
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Note::new()?)];
    let job = Job {
        agent: &agent,
        mode: ContextMode::Isolated,
        model,
        tools,
        options,
        origin: ForkOrigin::default(),
    };
    // The first run makes the agent's segments and loads the vocabulary.
    let quiet = &mut Quiet;
    let (_stopper, stop) = stop_signal();
    if shape.steps == 0 {
        runner.execute(&job, "begin", quiet, stop.clone()).await?;
    } else {
        runner.team().enter(&agent, ContextMode::Isolated).await?;
    }
    stage.storage.reset();
    let began = Instant::now();
    runner.execute(&job, "note all of it", quiet, stop).await?;
    figures.times.push(began.elapsed().as_secs_f64() * 1e3);
    figures.writes.push(stage.writes() as f64);
    figures.bytes.push(stage.storage.count("run_bytes") as f64);
    anyhow::ensure!(server.violations().is_empty(), "{:?}", server.violations());
    Ok(())
}

/// A tool that answers at once and counts as changing something.
struct Note(ToolSpec);

impl Note {
    fn new() -> Result<Self> {
        let schema = r#"{"type":"object","properties":{"text":{"type":"string"}}}"#;
        let schema = RawJson::new(schema).map_err(|error| anyhow::anyhow!("{error}"))?;
        let (name, description) = ("note".to_owned(), "Notes a text.".to_owned());
        Ok(Self(ToolSpec { name, description, schema }))
    }
}

#[async_trait]
impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    async fn call(&self, arguments: &serde_json::Value) -> ToolOutput {
        ToolOutput::of(format!("noted {}", arguments["text"]))
    }
}
