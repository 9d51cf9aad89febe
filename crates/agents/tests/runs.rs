//! Runs of agents in a session, against a strict provider on loopback.

mod alike;
mod approvals;
mod crash;
mod faults;
mod forks;
mod guard;
mod modes;
mod recall;
mod seed;
mod shares;
mod summaries;
mod takeover;
mod together;
mod writes;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use contexture_agents::{
    AgentDefinition, ContextMode, ExecuteOptions, Job, Model, Response, Runner, Team, Tool,
    provider::{Retry, Timeouts, connect, resolve},
    run::Driver,
    runner::{Quiet, Watcher, stop_signal},
    settings::Settings,
    team::ForkOrigin,
    tools::workspace::{self, Workspace},
};
use contexture_core::{
    ContextSystem, Edit, ManualClock, MemoryStorage, NewSegment, PageStorage, SegmentKind,
    message::detail_text, storage::Order,
};
use contexture_testkit::provider::ProviderServer;

/// A model of each kind.
pub(crate) const MODELS: [&str; 3] =
    ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-3-flash"];

/// Makes a session with a system prompt and a main segment.
pub(crate) async fn session(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let system =
        ContextSystem::create(storage, "talk".parse().unwrap(), "app", clock).await.unwrap();
    for (id, kind) in [("sys", SegmentKind::System), ("usr", SegmentKind::User)] {
        let new = NewSegment::new(id.parse().unwrap(), kind);
        system.as_system().apply(Edit::AddSegment(new)).await.unwrap();
    }
    system
}

pub(crate) async fn memory() -> ContextSystem {
    session(Arc::new(MemoryStorage::new())).await
}

/// Opens the session again, as another process does.
pub(crate) async fn reopened(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let clock = Arc::new(ManualClock::at_millis(1_760_000_100_000));
    ContextSystem::open(storage, "talk".parse().unwrap(), clock).await.unwrap()
}

pub(crate) fn runner(system: &ContextSystem) -> Runner {
    runner_with(system, Settings::default())
}

/// A runner that takes every run it did not begin itself for interrupted.
pub(crate) fn runner_with(system: &ContextSystem, settings: Settings) -> Runner {
    let counter = contexture_tokens::counter_for("gpt-4o");
    let team = Team::new(system.clone());
    Runner::new(team, settings, counter, Driver::default(), |_| false)
}

pub(crate) fn model(server: &ProviderServer, name: &str) -> Arc<dyn Model> {
    let url = server.url();
    let env = |variable: &str| match variable {
        variable if variable.ends_with("_BASE_URL") => Some(url.clone()),
        variable if variable.ends_with("_API_KEY") => Some("key".to_owned()),
        _ => None,
    };
    let retry = Retry { first: Duration::ZERO, ..Retry::default() };
    let endpoint = resolve(name, &env, &BTreeMap::new()).unwrap();
    connect(endpoint, Timeouts::default(), retry)
}

pub(crate) fn agent(name: &str, mode: ContextMode) -> AgentDefinition {
    let mut agent = AgentDefinition::bare(name.parse().unwrap());
    agent.context_mode = Some(mode);
    agent.system_prompt = format!("You are {name}.");
    agent
}

pub(crate) fn files(folder: &Path) -> Vec<Arc<dyn Tool>> {
    workspace::tools(&Arc::new(Workspace::open(folder).unwrap()))
}

pub(crate) fn job<'a>(agent: &'a AgentDefinition, model: Arc<dyn Model>) -> Job<'a> {
    let mode = agent.context_mode.unwrap_or(ContextMode::Isolated);
    let options = ExecuteOptions { stream: true, ..ExecuteOptions::default() };
    Job { agent, mode, model, tools: Vec::new(), options, origin: ForkOrigin::default() }
}

/// Runs an agent, and expects that it works out.
pub(crate) async fn execute(runner: &Runner, job: &Job<'_>, prompt: &str) -> Response {
    execute_watched(runner, job, prompt, &mut Quiet).await
}

pub(crate) async fn execute_watched(
    runner: &Runner,
    job: &Job<'_>,
    prompt: &str,
    watcher: &mut dyn Watcher,
) -> Response {
    let (_stopper, stop) = stop_signal();
    runner.execute(job, prompt, watcher, stop).await.unwrap()
}

/// Returns what stands in a segment, page by page.
pub(crate) async fn texts(system: &ContextSystem, segment: &str) -> Vec<String> {
    let root = format!("{segment}-0").parse().unwrap();
    let session = system.as_system();
    let reader = session.reader();
    let listed = reader.children(&root, Order::Forward, None, 1_000).await.unwrap();
    let mut texts = Vec::new();
    for seen in listed.items {
        texts.push(detail_text(&reader.messages(&seen.page.index).await.unwrap()));
    }
    texts
}
