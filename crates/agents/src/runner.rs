//! The runner: does what a [`Run`] says, and stores it before and after everything that counts.
//!
//! Every step is kept in the session before the next begins: an exchange and the run's own state move
//! on in one commit, so after a crash neither is ahead of the other. One process drives a run; if it
//! is gone another may take over, and the first to store a step wins.

mod approvals;
mod ask;
mod response;
mod seed;
mod steps;
mod summaries;
mod watch;

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, ErrorKind, Mounts, TokenCounter, Tokens, View, ViewFilter,
    WindowOptions, storage::RunRecord, window::FoldShares,
};

use contexture_search::LazyIndex;
use summaries::Summaries;

pub use response::{Metadata, Response, RunContext};
pub use seed::{AgentHistory, ContextManager};
pub use summaries::{Summarized, Summarizer};
pub use watch::{Quiet, StopSignal, Stopper, Verdict, Watcher, stop_signal};

use crate::{
    AgentDefinition, AgentsError, ContextMode, Result,
    definition::PublishResult,
    model::Model,
    run::{Driver, Limits, Phase, Run, Totals},
    settings::Settings,
    shares::{self, ShareSettings},
    team::{AgentState, Fork, ForkOrigin, Link, Member, Parts, StoredRun, Team, put, state_key},
    tool::{Effect, Tool},
    tools::{Toolbox, context},
};

/// What a window may take when nothing says otherwise.
pub const DEFAULT_BUDGET: u64 = 100_000;

/// How a run is made: the seed's options (M-10), and what bounds it.
#[derive(Debug, Clone, Default)]
pub struct ExecuteOptions {
    /// Whether answers are asked for as a stream.
    pub stream: bool,
    /// The most tokens an answer may have.
    pub max_tokens: Option<u64>,
    /// The sampling temperature; by default the definition's.
    pub temperature: Option<f64>,
    /// Whether somebody has to allow each call that changes something. The watcher is asked; a call
    /// about which it has no answer waits. A run that began so stays so when it is resumed.
    pub interactive: bool,
    /// The mode of this run, whatever the job and the agent's file say; sharing that the settings
    /// forbid is refused. A run that is resumed keeps its own.
    pub context_mode: Option<ContextMode>,
    /// What bounds the run as a whole.
    pub limits: Limits,
    /// What a window may take; by default the session's, the settings', [`DEFAULT_BUDGET`].
    pub budget: Option<u64>,
    /// The shares of its windows, as far as the call sets them; by default the agent file's, the
    /// settings'.
    pub shares: ShareSettings,
}

/// Runs agents in one session.
pub struct Runner {
    team: Team,
    settings: Settings,
    counter: Arc<dyn TokenCounter>,
    driver: Driver,
    is_alive: Box<dyn Fn(&StoredRun) -> bool + Send + Sync>,
    summarizer: Option<Summarizer>,
    index: LazyIndex,
}

/// Who is to do what: an agent with its model and its tools.
pub struct Job<'a> {
    /// The agent.
    pub agent: &'a AgentDefinition,
    /// The mode it runs in, resolved; the options may ask for another.
    pub mode: ContextMode,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Tools beside those on the context itself.
    pub tools: Vec<Arc<dyn Tool>>,
    /// How the agent is run.
    pub options: ExecuteOptions,
    /// Where a fork begins, and whose requests it continues; by default the main view of a host.
    pub origin: ForkOrigin,
}

impl Job<'_> {
    /// Returns the agent as whom requests are sent, with its mode: the agent itself, unless it is a fork.
    fn sends_as(&self) -> Option<(&AgentDefinition, ContextMode)> {
        match (self.mode, &self.origin.sends_as) {
            (ContextMode::Fork, sends_as) => {
                sends_as.as_deref().map(|Member { agent, mode }| (agent, *mode))
            }
            (mode, _) => Some((self.agent, mode)),
        }
    }
}

/// What a run is made in.
struct Place {
    /// The session as the agent writes to it.
    system: ContextSystem,
    context: AgentContext,
    fork: Option<Box<Fork>>,
}

/// What the windows of a run may take, and what shapes their folds.
#[derive(Debug, Clone, Copy)]
struct Room {
    budget: u64,
    shares: FoldShares,
}

/// On whose behalf an edit is made.
#[derive(Clone, Copy)]
enum By {
    Agent,
    Host,
}

/// A run being driven.
struct Drive<'a> {
    runner: &'a Runner,
    job: &'a Job<'a>,
    /// The session as the agent sees and writes it: in a fork, as it stands there.
    system: ContextSystem,
    context: AgentContext,
    toolbox: Toolbox,
    run: Run,
    /// What its windows may take.
    room: Room,
    record: Option<RunRecord>,
    parts: Parts,
    /// The call that is stored as begun and was not made yet.
    begun: Option<usize>,
    /// Whether the watcher has no answers to give.
    unanswered: bool,
    state: AgentState,
    state_record: Option<RunRecord>,
    /// Whether the state is to be stored with the next write.
    state_moved: bool,
    stop: StopSignal,
    /// Lines of folded turns that are asked for beside it.
    summaries: Summaries,
}

impl Runner {
    /// Prepares to run agents in a session. `is_alive` tells whether a run's process still runs.
    pub fn new(
        team: Team,
        settings: Settings,
        counter: Arc<dyn TokenCounter>,
        driver: Driver,
        is_alive: impl Fn(&StoredRun) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (is_alive, summarizer) = (Box::new(is_alive), None);
        let index = LazyIndex::new(team.system().storage(), None);
        Self { team, settings, counter, driver, is_alive, summarizer, index }
    }

    /// Has agents find pages by an index of the store; by default it is made in memory when an agent
    /// first looks for something.
    #[must_use]
    pub fn searching(mut self, index: LazyIndex) -> Self {
        self.index = index;
        self
    }

    /// Has a model write better lines for folded turns, within what the settings let it spend.
    #[must_use]
    pub fn summarizing(mut self, model: Arc<dyn Model>) -> Self {
        let tokens = self.settings.summarizer_tokens();
        self.summarizer = Some(Summarizer { model, tokens });
        self
    }

    /// Returns the session's agents.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Runs an agent on a prompt until it has answered, was stopped or met a limit.
    ///
    /// A run of the agent that was interrupted is closed first, with what it had.
    pub async fn execute(
        &self,
        job: &Job<'_>,
        prompt: &str,
        watcher: &mut dyn Watcher,
        stop: StopSignal,
    ) -> Result<Response> {
        if prompt.trim().is_empty() {
            return Err(AgentsError::Invalid {
                what: format!("the prompt for agent '{}' is empty", job.agent.name),
                hint: "give a prompt".to_owned(),
            });
        }
        let asked = self.as_asked(job)?;
        let job = asked.as_ref().unwrap_or(job);
        let room = self.room(job).await?;
        for stored in self.interrupted(job.agent).await? {
            let was = match stored.run.waiting().is_empty() {
                true => "was interrupted",
                false => "was waiting for an approval and is given up",
            };
            watcher.notice(&format!(
                "run {} of '{}' {was}; its results so far are kept",
                stored.run.number, stored.run.agent
            ));
            self.close(job, stored, room, watcher).await?;
        }
        self.team.sweep_parts(&job.agent.name).await?;
        let mut kept = self.team.state(&job.agent.name).await?;
        let place = match job.mode {
            // On the heap: it would make every run's own state larger.
            ContextMode::Fork => Box::pin(self.fork(job, &mut kept)).await?,
            mode => self.place(self.team.enter(job.agent, mode).await?),
        };
        let mut run = self.new_run(job, prompt, kept.0.runs + 1, &place);
        run.budget = Some(room.budget);
        let mut drive = self.drive(job, place, run, room, kept, stop);
        drive.begin().await?;
        drive.go(watcher).await
    }

    /// Resumes a run that was interrupted; none when there is none.
    pub async fn resume(
        &self,
        job: &Job<'_>,
        watcher: &mut dyn Watcher,
        stop: StopSignal,
    ) -> Result<Option<Response>> {
        let Some(stored) = self.interrupted(job.agent).await?.pop() else { return Ok(None) };
        let place = match &stored.run.fork {
            Some(fork) => Box::pin(self.fork_place(fork.clone())).await?,
            None => self.place(self.team.enter(job.agent, stored.run.mode).await?),
        };
        let writes_to = place.context.view().writes_to.clone();
        if writes_to != stored.run.segment {
            return Err(AgentsError::Conflict {
                what: format!(
                    "run {} of '{}' wrote to {}, but the agent now writes to {}",
                    stored.run.number,
                    job.agent.name,
                    stored.run.segment,
                    writes_to
                ),
                hint: "give the agent a new request instead; the results of the run are kept where they are".to_owned(),
            });
        }
        let kept = self.team.state(&job.agent.name).await?;
        let room = self.room(job).await?;
        let mut drive = self.drive(job, place, stored.run, room, kept, stop);
        (drive.record, drive.parts) = (Some(stored.record), stored.parts);
        let toolbox = &drive.toolbox;
        // A tool that is gone may well have done something before.
        let effect = |name: &str| toolbox.get(name).map_or(Effect::Changes, |tool| tool.effect());
        drive.run.resume(self.driver.clone(), effect);
        drive.run.asks |= job.options.interactive;
        job.model.name().clone_into(&mut drive.run.model);
        // The first process that stores this has the run.
        drive.claim().await?;
        // An answer that had come already is told now: nobody may have seen it.
        if !matches!(drive.run.phase, Phase::Asking | Phase::Acting(_)) {
            watcher.text(&drive.run.text());
        }
        drive.go(watcher).await.map(Some)
    }

    /// Returns the agent's runs whose process is gone; a run that goes on is a conflict.
    async fn interrupted(&self, agent: &AgentDefinition) -> Result<Vec<StoredRun>> {
        let runs = self.team.runs(Some(&agent.name)).await?;
        if let Some(running) = runs.iter().find(|stored| (self.is_alive)(stored)) {
            let (agent, number) = (agent.name.clone(), running.run.number);
            return Err(AgentsError::AlreadyRunning { agent, number });
        }
        Ok(runs)
    }

    /// Ends an interrupted run with its results so far, without asking the model again. They are written
    /// where the run wrote before; results that can no longer be written are given up and reported.
    async fn close(
        &self,
        job: &Job<'_>,
        stored: StoredRun,
        room: Room,
        watcher: &mut dyn Watcher,
    ) -> Result<()> {
        let segment = stored.run.segment.clone();
        let view = View {
            agent: job.agent.name.clone(),
            mounts: Mounts::Listed(vec![segment.clone()]),
            writes_to: segment,
            filter: ViewFilter::default(),
            branch: None,
        };
        let context = AgentContext::new(self.team.system().clone(), view);
        let kept = self.team.state(&job.agent.name).await?;
        let (_, stop) = stop_signal();
        let number = stored.run.number;
        let place = self.place(context);
        let mut drive = self.drive(job, place, stored.run, room, kept, stop);
        (drive.record, drive.parts) = (Some(stored.record), stored.parts);
        drive.run.resume(self.driver.clone(), |_| Effect::Changes);
        drive.run.stop("");
        match drive.go(&mut Quiet).await {
            Ok(_) => Ok(()),
            Err(AgentsError::Core(error))
                if matches!(
                    error.kind(),
                    ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::TooLarge
                ) =>
            {
                watcher.notice(&format!(
                    "the unsaved results of run {number} cannot be kept: {error}"
                ));
                // As it stands now: what was tried has moved its record on.
                let runs = self.team.runs(Some(&job.agent.name)).await?;
                for given_up in runs.iter().filter(|stored| stored.run.number == number) {
                    for removal in given_up.removals(self.team.system().now()) {
                        self.team.system().keep_run(&removal).await?;
                    }
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Begins a fork. That it began is stored first: a number is never given twice.
    async fn fork(
        &self,
        job: &Job<'_>,
        kept: &mut (AgentState, Option<RunRecord>),
    ) -> Result<Place> {
        let (state, record) = kept;
        state.forks += 1;
        let now = self.team.system().now();
        let moved = put(state_key(&job.agent.name)?, record.as_ref(), state, now);
        self.team.system().keep_run(&moved).await?;
        *record = moved.record();
        let fork = self.team.fork(job.agent, &job.origin, state.forks).await?;
        let fork = Box::new(fork);
        state.fork = Some(fork.clone());
        // What an earlier fork asked for is not to be opened in this one.
        state.deferred.clear();
        self.fork_place(fork).await
    }

    async fn fork_place(&self, fork: Box<Fork>) -> Result<Place> {
        let (system, context) = self.team.open_fork(&fork).await?;
        Ok(Place { system, context, fork: Some(fork) })
    }

    fn place(&self, context: AgentContext) -> Place {
        Place { system: self.team.system().clone(), context, fork: None }
    }

    fn new_run(&self, job: &Job<'_>, prompt: &str, number: u64, place: &Place) -> Run {
        let main_exists = self.team.system().as_system().reader().segment(&main_segment()).is_ok();
        let publishes = job.mode != ContextMode::Shared
            && job.agent.publish_result == PublishResult::Exchange
            && main_exists;
        let mut limits = job.options.limits;
        if let Some(most) = job.agent.max_turns {
            limits.iterations = limits.iterations.min(most);
        }
        Run {
            agent: job.agent.name.clone(),
            number,
            mode: job.mode,
            segment: place.context.view().writes_to.clone(),
            model: job.model.name().to_owned(),
            prompt: prompt.to_owned(),
            began_at: self.team.system().now(),
            driver: Some(self.driver.clone()),
            limits,
            budget: None,
            fork: place.fork.clone(),
            publishes,
            iterations: 0,
            used: Totals::default(),
            pages: Vec::new(),
            phase: Phase::Asking,
            repeated: Default::default(),
            empty: 0,
            shortened: None,
            stopping: false,
            asks: job.options.interactive,
        }
    }

    fn drive<'a>(
        &'a self,
        job: &'a Job<'a>,
        place: Place,
        run: Run,
        room: Room,
        kept: (AgentState, Option<RunRecord>),
        stop: StopSignal,
    ) -> Drive<'a> {
        let (state, state_record) = kept;
        let Place { system, context, .. } = place;
        let window = self.window_options(job, room);
        let mut tools = context::tools(context.clone(), window, self.index.clone());
        tools.extend(job.tools.iter().cloned());
        let mut toolbox = Toolbox::new(tools, &job.agent.tools).for_agent(&job.agent.name);
        if let (ContextMode::Fork, Some((sends_as, _))) = (job.mode, job.sends_as()) {
            toolbox = toolbox.listed_by(&sends_as.tools);
        }
        Drive {
            runner: self,
            job,
            system,
            context,
            toolbox,
            run,
            room,
            record: None,
            parts: Parts::default(),
            begun: None,
            unanswered: false,
            state,
            state_record,
            state_moved: false,
            stop,
            summaries: Summaries::default(),
        }
    }
}

impl Runner {
    fn window_options(&self, job: &Job<'_>, room: Room) -> WindowOptions {
        let mut options = WindowOptions::new(job.model.window_format(), self.counter.clone());
        options.model = Some(job.model.name().to_owned());
        options.budget = Some(Tokens(room.budget));
        options.shares = room.shares;
        if let Some((_, mode)) = job.sends_as() {
            // The agents' own prompts say how windows are read, with the tools they have.
            options.explain = None;
            if mode == ContextMode::Shared {
                options.max_messages = Some(self.settings.max_messages());
            }
        }
        options
    }

    /// Returns what windows may take and what shapes them, as the call, the session, the agent's file
    /// and the settings say.
    async fn room(&self, job: &Job<'_>) -> Result<Room> {
        let of = job.sends_as().map(|(agent, _)| agent);
        let shares = shares::resolve(&job.options.shares, of, &self.settings)?.shares();
        // A fork goes on in windows of its parent's size.
        let parents = job.origin.budget.filter(|_| job.mode == ContextMode::Fork);
        if let Some(budget) = job.options.budget.or(parents) {
            return Ok(Room { budget, shares });
        }
        let session = self.team.session_budget().await?;
        let set = self.settings.budget.as_ref().map(|set| set.value);
        Ok(Room { budget: session.or(set).unwrap_or(DEFAULT_BUDGET), shares })
    }
}

fn main_segment() -> contexture_core::SegmentId {
    "usr".parse().expect("usr follows the grammar")
}

/// Says where a link leads, as people read it.
pub fn link_name(link: &Link) -> String {
    match link {
        Link::Own(segment) => format!("its own history ({segment})"),
        Link::Main(_) => "Main Session".to_owned(),
        Link::Group(segment) => format!("group ({segment})"),
        Link::Fork { segment, parent: Some(parent) } => format!("fork of {parent} ({segment})"),
        Link::Fork { segment, parent: None } => format!("fork of Main Session ({segment})"),
    }
}
