//! The steps of a run: each is stored before the next begins.

use contexture_core::{
    Actor, Edit, ErrorKind, Message, PageIndex, Principal, Timestamp,
    message::ToolCall,
    storage::{Keep, RunPut, UsageReport},
};

use super::{By, Drive, Response, Verdict, Watcher, approvals::DENIED, main_segment, seed};
use crate::{
    AgentsError, Result, prompts,
    run::{CallState, Ending, Next, Run},
    team::{LastRun, PendingApproval, Team, put, put_call, run_key, state_key},
    tool::ToolOutput,
};

impl Drive<'_> {
    /// Writes the prompt and stores the run, in one commit.
    pub(super) async fn begin(&mut self) -> Result<()> {
        let system = self.runner.team.system();
        let now = system.now();
        let user = |text: String| Message::text(contexture_core::Role::User, text);
        let segment = self.context.view().writes_to.clone();
        // A fork is told who it is behind what it inherited, on a page of its own.
        let told = self.run.fork.as_ref().map(|_| user(prompts::fork(self.job.agent)));
        let is_fork = told.is_some();
        let messages = told.into_iter().chain([user(self.run.prompt.clone())]).collect();
        let edit = Edit::AddTurn { segment, messages };
        self.state.runs = self.run.number;
        let run = put(run_key(&self.run)?, None, &self.run, now);
        let step = self.parts.next_step(&self.run, false, now)?;
        let state = put(state_key(&self.run.agent)?, self.state_record.as_ref(), &self.state, now);
        let puts = [run, step, state];
        let agent = self.context.principal();
        let mut outcome = self.system.apply_with_runs(agent, &edit, &puts).await?;
        let [run, step, state] = puts;
        (self.record, self.state_record) = (run.record(), state.record());
        self.parts.step = step.record();
        if is_fork {
            outcome.pages.remove(0);
        }
        self.run.pages = outcome.pages;
        Ok(())
    }

    /// Pins the page that tells a fork who it is: it stands in place of a system prompt, so no fold may
    /// shorten it.
    pub(super) async fn keep_told(&self) -> Result<()> {
        let Some(fork) = &self.run.fork else { return Ok(()) };
        // One that is only closed is not opened.
        if self.context.view().branch.is_none() {
            return Ok(());
        }
        let point = &fork.branch.point;
        let told = PageIndex::new(point.segment.clone(), point.first);
        match self.context.get_page(&told).await {
            Ok(page) if !page.pinned => drop(self.context.pin_page(told).await?),
            Ok(_) => {}
            // Somebody took it away: then it does not stand there.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Drives the run to its end. Where that fails it is left for whoever goes on with it.
    pub(super) async fn go(mut self, watcher: &mut dyn Watcher) -> Result<Response> {
        let driven = match self.keep_told().await {
            Ok(()) => self.steps(watcher).await,
            Err(error) => Err(error),
        };
        self.end_summaries(watcher).await;
        match driven {
            Ok(()) if self.run.next() == Next::Wait => self.leave().await,
            Ok(()) => self.finish().await,
            Err(error) => {
                self.run.driver = None;
                // It may be the storage that failed; then the process' end says the same. What is kept of
                // the agent must not stand in the way.
                if self.store().await.is_err() && std::mem::take(&mut self.state_moved) {
                    let _ = self.store().await;
                }
                Err(error)
            }
        }
    }

    async fn steps(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        loop {
            if self.stop.is_set() && !self.run.stopping {
                self.run.stop("");
            }
            match self.run.next() {
                Next::Ask => self.ask(watcher).await?,
                Next::Call(call) => {
                    let call = call.clone();
                    self.call(&call, watcher).await?;
                }
                Next::Refuse(call, refusal) => {
                    let call = call.clone();
                    watcher.tool_call(&call.name, &call.arguments);
                    self.take(&call, &ToolOutput::failed(refusal), watcher).await?;
                }
                Next::Wait => match self.ask_waiting(watcher).await? {
                    true => {}
                    false => return Ok(()),
                },
                Next::Append(messages) => self.append(messages).await?,
                Next::Publish(messages) => self.publish(messages).await?,
                Next::Done => return Ok(()),
            }
        }
    }

    async fn call(&mut self, call: &ToolCall, watcher: &mut dyn Watcher) -> Result<()> {
        watcher.tool_call(&call.name, &call.arguments);
        let output = match self.verdict(call, watcher).await {
            Verdict::Unanswered => return self.begin_waiting().await,
            Verdict::Denied => ToolOutput::failed(DENIED),
            Verdict::Allowed => {
                self.begin_call().await?;
                let mut stop = self.stop.clone();
                tokio::select! {
                    output = self.toolbox.run(call) => output,
                    () = stop.wait() => {
                        self.run.stop("");
                        return self.store().await;
                    }
                }
            }
        };
        self.take(call, &output, watcher).await
    }

    /// Takes what a call came to.
    async fn take(
        &mut self,
        call: &ToolCall,
        output: &ToolOutput,
        watcher: &mut dyn Watcher,
    ) -> Result<()> {
        watcher.tool_result(&call.name, &output.text, output.error);
        for page in &output.expands {
            if !self.state.deferred.contains(page) {
                self.state.deferred.push(page.clone());
                self.state_moved = true;
            }
        }
        self.end_call(output).await
    }

    /// Stores the model's answer and that its first call begins, with what the request cost; tells
    /// whether that could be noted.
    pub(super) async fn store_answer(&mut self, report: Option<UsageReport>) -> Result<bool> {
        let now = self.now();
        let mut runs = vec![put(run_key(&self.run)?, self.record.as_ref(), &self.run, now)];
        runs.extend(self.foreseen_step(now)?);
        self.keep(runs, report).await
    }

    /// Stores that the next call begins, unless that is stored already: from now on it may have happened.
    async fn begin_call(&mut self) -> Result<()> {
        if self.begun != self.run.open_call() {
            let step = self.parts.next_step(&self.run, true, self.now())?;
            self.keep(vec![step], None).await?;
        }
        self.begun = None;
        self.run.begin_call();
        Ok(())
    }

    /// Stores what a call came to and that the next begins. What the last of an answer came to is
    /// stored with the exchange, which is next.
    async fn end_call(&mut self, output: &ToolOutput) -> Result<()> {
        let Some(call) = self.run.open_call() else { return Ok(()) };
        self.run.called(output);
        if self.run.open_call().is_none() {
            return Ok(());
        }
        let now = self.now();
        let mut runs = vec![put_call(&self.run, call, &CallState::of(output), now)?];
        runs.extend(self.foreseen_step(now)?);
        self.keep(runs, None).await.map(drop)
    }

    /// Returns the change that stores the next call as begun, where nobody is asked first whether it
    /// may be made. One that was approved begins with a write of its own: until then it is known that
    /// it was not made.
    fn foreseen_step(&mut self, now: Timestamp) -> Result<Option<RunPut>> {
        let is_free = match self.run.next() {
            Next::Call(call) => self.run.open_approval().is_none() && !self.needs_approval(call),
            _ => false,
        };
        self.begun = self.run.open_call().filter(|_| is_free);
        self.begun.map(|_| self.parts.next_step(&self.run, true, now)).transpose()
    }

    /// Keeps records of the run, and what is kept of its agent where that has moved.
    pub(super) async fn keep(
        &mut self,
        mut runs: Vec<RunPut>,
        report: Option<UsageReport>,
    ) -> Result<bool> {
        runs.extend(self.moved_state()?);
        let keep = Keep { runs, report };
        let noted = self.runner.team.system().keep(&keep).await?;
        self.kept(&keep.runs)?;
        Ok(noted)
    }

    /// Returns the change of what is kept of the agent, where that has moved.
    fn moved_state(&self) -> Result<Option<RunPut>> {
        let key = state_key(&self.run.agent)?;
        let now = self.now();
        let state = || put(key, self.state_record.as_ref(), &self.state, now);
        Ok(self.state_moved.then(state))
    }

    /// Takes in which records were kept.
    fn kept(&mut self, puts: &[RunPut]) -> Result<()> {
        let (run, state) = (run_key(&self.run)?, state_key(&self.run.agent)?);
        for put in puts {
            if put.key == run {
                self.record = put.record();
            } else if put.key == state {
                (self.state_record, self.state_moved) = (put.record(), false);
            } else {
                self.parts.kept(&self.run, put)?;
            }
        }
        Ok(())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.runner.team.system().now()
    }

    /// Takes over a run: a process that drove it before begins no call from now on.
    pub(super) async fn claim(&mut self) -> Result<()> {
        let now = self.now();
        let step = self.parts.claim(&self.run, now)?;
        let run = put(run_key(&self.run)?, self.record.as_ref(), &self.run, now);
        self.keep(vec![step, run], None).await.map(drop)
    }

    /// Writes messages to the turn; the run moves on in the same commit.
    async fn append(&mut self, messages: Vec<Message>) -> Result<()> {
        let mut moved = self.run.clone();
        moved.appended(Vec::new());
        if messages.is_empty() {
            self.run = moved;
            return self.store().await;
        }
        let segment = self.run.segment.clone();
        let edit = Edit::ExtendTurn { segment: segment.clone(), messages: messages.clone() };
        let pages = match self.commit(By::Agent, &edit, &moved).await {
            // The turn itself may have been taken away meanwhile: then what follows begins one.
            Err(AgentsError::Core(error)) if error.kind() == ErrorKind::NotFound => {
                let edit = Edit::AddTurn { segment, messages };
                self.commit(By::Agent, &edit, &moved).await?
            }
            pages => pages?,
        };
        self.run.appended(pages);
        Ok(())
    }

    /// Records the exchange in the main session; the run moves on in the same commit.
    async fn publish(&mut self, messages: Vec<Message>) -> Result<()> {
        let mut moved = self.run.clone();
        moved.published();
        if self.run.fork.is_some() {
            // What the fork wrote is news to the session.
            self.runner.team.system().refresh().await.map_err(contexture_core::Error::from)?;
        }
        let edit = Edit::PublishTurn {
            segment: main_segment(),
            agent: self.run.agent.clone(),
            messages,
            sources: self.sources().await?,
        };
        match self.commit(By::Host, &edit, &moved).await {
            Ok(_) => self.run = moved,
            // There is no main session any more to record it in.
            Err(AgentsError::Core(error)) if error.kind() == ErrorKind::NotFound => {
                self.run = moved;
                self.store().await?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns the pages the run wrote, as far as they still stand. A run that was taken over may not
    /// know them: then it is the page of its turn.
    async fn sources(&self) -> Result<Vec<PageIndex>> {
        let system = self.runner.team.system();
        let mut pages = self.run.pages.clone();
        if pages.is_empty() {
            let (storage, author) = (system.storage(), Actor::Agent(self.run.agent.clone()));
            let last = storage.last_turn_page(system.session(), &self.run.segment, &author).await;
            let last = last.map_err(contexture_core::Error::from)?;
            pages.extend(last.map(|page| page.index));
        }
        let session = system.as_system();
        let reader = session.reader();
        let mut standing = Vec::new();
        for page in pages {
            if reader.has_page(&page).await? {
                standing.push(page);
            }
        }
        Ok(standing)
    }

    /// Makes an edit and moves the run's records on with it: what calls came to stands in it.
    async fn commit(&mut self, by: By, edit: &Edit, moved: &Run) -> Result<Vec<PageIndex>> {
        let system = self.runner.team.system();
        let now = system.now();
        let run = put(run_key(moved)?, self.record.as_ref(), moved, now);
        let step = self.parts.next_step(moved, false, now)?;
        let mut puts = vec![run, step];
        puts.extend(self.parts.call_removals(now));
        puts.extend(self.moved_state()?);
        let (system, by) = match by {
            By::Agent => (&self.system, self.context.principal()),
            By::Host => (system, &Principal::System),
        };
        let outcome = system.apply_with_runs(by, edit, &puts).await?;
        self.kept(&puts)?;
        Ok(outcome.pages)
    }

    pub(super) async fn store(&mut self) -> Result<()> {
        let run = put(run_key(&self.run)?, self.record.as_ref(), &self.run, self.now());
        self.keep(vec![run], None).await.map(drop)
    }

    pub(super) async fn store_state(&mut self) -> Result<()> {
        self.state_moved = true;
        self.keep(Vec::new(), None).await.map(drop)
    }

    async fn finish(mut self) -> Result<Response> {
        let now = self.now();
        let Some(ending) = self.run.ending().cloned() else {
            return Err(AgentsError::Invalid {
                what: "a run ended without an ending".to_owned(),
                hint: "this is a bug: please report it".to_owned(),
            });
        };
        self.state.last = Some(LastRun {
            number: self.run.number,
            mode: self.run.mode,
            model: self.run.model.clone(),
            began_at: self.run.began_at,
            ended_at: now,
            ending: ending.clone(),
            used: self.run.used,
            budget: self.run.budget,
        });
        self.state_moved = true;
        self.remove_records().await?;
        self.response(ending, Vec::new()).await
    }

    /// Returns what the run has come to.
    pub(super) async fn response(
        self,
        ending: Ending,
        waiting: Vec<PendingApproval>,
    ) -> Result<Response> {
        let now = self.now();
        let link = Team::link(self.job.agent, self.run.mode)?;
        let most = self.runner.settings.max_messages();
        // The run has ended and is stored: what cannot be read now can be read later.
        let history = seed::history(&self.context, most).await.unwrap_or_default();
        Ok(Response::new(&self.run, ending, waiting, (link, history), now))
    }

    /// Notes that the run has ended, and removes its records, also those that another process left.
    async fn remove_records(&mut self) -> Result<()> {
        let now = self.now();
        let parts = self.runner.team.part_records(&self.run).await?;
        let records = parts.iter().chain(&self.record);
        let removals: Vec<RunPut> = records.map(|record| record.removal(now)).collect();
        match self.keep(removals, None).await {
            // Another process is at its parts.
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            removed => return removed.map(drop),
        }
        self.store_state().await?;
        self.runner.team.remove_parts(&self.run).await?;
        match &self.record {
            Some(record) => self.keep(vec![record.removal(now)], None).await.map(drop),
            None => Ok(()),
        }
    }
}
