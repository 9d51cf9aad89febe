//! A store to be damaged, and what is asked of it.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use contexture_agents::{
    AgentDefinition, ContextMode, ExecuteOptions, Job, Model, Runner, Team,
    model::{Answer as ModelAnswer, ModelError, ModelEvent, ModelRequest, Stop},
    run::Driver,
    runner::{Quiet, stop_signal},
    settings::Settings,
    team::ForkOrigin,
};
use contexture_core::{
    Clock, ContextSystem, Edit, Format, ManualClock, Message, NewContentsPage, NewDetailPage,
    NewSegment, PageStorage, ProviderFormat, Role, SegmentKind, WindowOptions, document,
    storage::check::{Losses, repair_storage},
};
use contexture_storage::{CreateMode, Durability, SqliteOptions, SqliteStorage};
use contexture_tokens::counter_for;

use super::Answer;

const SESSION: &str = "talk";

/// A store in a folder of its own.
pub(super) struct Store {
    folder: tempfile::TempDir,
    bytes: Vec<u8>,
    runtime: tokio::runtime::Runtime,
}

/// What a store answered.
pub(super) struct Answers {
    pub(super) window: Answer,
    pub(super) export: Answer,
    /// The request that was sent to the model.
    pub(super) run: Answer,
}

impl Store {
    /// Makes a session of some turns, with a system prompt, directories and an agent that ran.
    pub(super) fn make(turns: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut store = Self { folder, bytes: Vec::new(), runtime };
        let storage = Arc::new(SqliteStorage::open(&store.path(), options())?);
        store.runtime.block_on(fill(storage, turns))?;
        store.bytes = fs::read(store.path())?;
        Ok(store)
    }

    /// Returns the file as it is when nothing is damaged.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// Puts bytes in the place of the file, and nothing beside it.
    fn put(&self, bytes: &[u8]) -> Result<()> {
        for entry in fs::read_dir(self.folder.path())? {
            fs::remove_file(entry?.path())?;
        }
        Ok(fs::write(self.path(), bytes)?)
    }

    /// Asks a store with these bytes everything, each time from the beginning.
    pub(super) fn ask(&self, bytes: &[u8]) -> Result<Answers> {
        let mut answers = Vec::new();
        for question in [Question::Window, Question::Export, Question::Run] {
            self.put(bytes)?;
            let answer = self.runtime.block_on(question.ask(&self.path()));
            answers.push(answer.map_err(|error| format!("{error:#}")));
        }
        let run = answers.pop().context("three were asked")?;
        let export = answers.pop().context("three were asked")?;
        let window = answers.pop().context("three were asked")?;
        Ok(Answers { window, export, run })
    }

    /// Repairs a store with these bytes as `store check --repair` does, then accepts what is lost where a
    /// check still finds something.
    pub(super) fn repair(&self, bytes: &[u8]) -> Result<Mended> {
        self.put(bytes)?;
        SqliteStorage::salvage(&self.path(), options())?;
        let storage = SqliteStorage::open(&self.path(), options())?;
        let at = clock(9).now();
        self.runtime.block_on(async {
            if repair_storage(&storage, Losses::Report, at).await?.problems.is_empty() {
                return Ok(Mended::Clean);
            }
            let accepted = repair_storage(&storage, Losses::Accept, at).await?;
            Ok(match accepted.problems.is_empty() {
                true => Mended::Accepted,
                false => Mended::Not(accepted.problems),
            })
        })
    }
}

/// What a check says after a repair.
pub(super) enum Mended {
    Clean,
    /// Clean once the loss of a system prompt was accepted.
    Accepted,
    Not(Vec<String>),
}

fn options() -> SqliteOptions {
    SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() }
}

fn clock(second: i64) -> Arc<ManualClock> {
    Arc::new(ManualClock::at_millis(1_760_000_000_000 + second * 1_000))
}

async fn fill(storage: Arc<dyn PageStorage>, turns: usize) -> Result<()> {
    let system = ContextSystem::create(storage, SESSION.parse()?, "measure", clock(0)).await?;
    for (id, kind) in [("sys", SegmentKind::System), ("usr", SegmentKind::User)] {
        system.as_system().apply(Edit::AddSegment(NewSegment::new(id.parse()?, kind))).await?;
    }
    let prompt = "You are a careful assistant. Answer in one sentence. ".repeat(20);
    let prompt = NewDetailPage::new("sys-0".parse()?, "Prompt".parse()?, prompt);
    system.as_system().apply(Edit::CreateDetailPage(prompt)).await?;
    let drawer = NewContentsPage::new("usr-0".parse()?, "Drawer".parse()?);
    system.as_system().apply(Edit::CreateContentsPage(drawer)).await?;
    for number in 0..turns {
        let line = |who: &str| {
            let words = (0..200).map(|word| format!("{who}{number}x{}", word * 7919 % 1_009));
            words.collect::<Vec<_>>().join(" ")
        };
        let messages =
            vec![Message::text(Role::User, line("q")), Message::text(Role::Assistant, line("a"))];
        let edit = Edit::AddTurn { segment: "usr".parse()?, messages };
        system.as_system().apply(edit).await?;
    }
    request(&system, "Begin.").await?;
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Question {
    Window,
    Export,
    Run,
}

impl Question {
    async fn ask(self, path: &std::path::Path) -> Result<String> {
        let options = SqliteOptions { create: CreateMode::MustExist, ..options() };
        let storage = Arc::new(SqliteStorage::open(path, options)?);
        let system = ContextSystem::open(storage, SESSION.parse()?, clock(60)).await?;
        match self {
            Question::Window => {
                let format = Format::Provider(ProviderFormat::OpenAi);
                let options = WindowOptions::new(format, counter_for("gpt-4o")).budget(400_000);
                Ok(system.as_system().reader().window(&options).await?.body)
            }
            Question::Export => Ok(document::export(&system).await?),
            Question::Run => request(&system, "What did I ask?").await,
        }
    }
}

/// Runs an agent that shares the main session; returns the request that its model got.
async fn request(system: &ContextSystem, prompt: &str) -> Result<String> {
    let mut agent = AgentDefinition::bare("bob".parse()?);
    agent.context_mode = Some(ContextMode::Shared);
    agent.system_prompt = "You are Bob, who never guesses.".to_owned();
    let model = Arc::new(Ear::default());
    let team = Team::new(system.clone());
    let counter = counter_for("gpt-4o");
    let runner = Runner::new(team, Settings::default(), counter, Driver::default(), |_| false);
    let options = ExecuteOptions { budget: Some(400_000), ..ExecuteOptions::default() };
    let mode = ContextMode::Shared;
    let job = Job {
        agent: &agent,
        mode,
        model: model.clone(),
        tools: Vec::new(),
        options,
        origin: ForkOrigin::default(),
    };
    let (_stopper, stop) = stop_signal();
    let ran = runner.execute(&job, prompt, &mut Quiet, stop).await;
    let heard = std::mem::take(&mut *model.0.lock().unwrap_or_else(PoisonError::into_inner));
    match (heard, ran) {
        // What was sent counts, whatever came afterwards.
        (Some(heard), _) => Ok(heard),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(_)) => anyhow::bail!("nothing was asked"),
    }
}

/// A model that only listens.
#[derive(Default)]
struct Ear(Mutex<Option<String>>);

#[async_trait]
impl Model for Ear {
    fn name(&self) -> &str {
        "openai/gpt-4o"
    }

    fn format(&self) -> ProviderFormat {
        ProviderFormat::OpenAi
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        _: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let window = request.window.clone();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(window);
        let message = Message::text(Role::Assistant, "Yes.");
        Ok(ModelAnswer { message, usage: None, stop: Stop::End })
    }

    fn head(&self, _: &ModelRequest) -> String {
        String::new()
    }
}
