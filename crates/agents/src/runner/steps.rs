//! The steps of a run: each is stored before the next begins.

use contexture_core::{Actor, Edit, ErrorKind, Message, PageIndex, Principal, message::ToolCall};

use super::{By, Drive, Response, Watcher, main_segment, seed};
use crate::{
    AgentsError, Result,
    run::{CallState, Next, Run},
    team::{LastRun, Team, put, put_call, run_key, state_key},
    tool::ToolOutput,
};

impl Drive<'_> {
    /// Writes the prompt and stores the run, in one commit.
    pub(super) async fn begin(&mut self) -> Result<()> {
        let system = self.runner.team.system();
        let now = system.now();
        let prompt = Message::text(contexture_core::Role::User, self.run.prompt.clone());
        let segment = self.context.view().writes_to.clone();
        let edit = Edit::AddTurn { segment, messages: vec![prompt] };
        self.state.runs = self.run.number;
        let run = put(run_key(&self.run)?, None, &self.run, now);
        let step = self.parts.next_step(&self.run, false, now)?;
        let state = put(state_key(&self.run.agent)?, self.state_record.as_ref(), &self.state, now);
        let puts = [run, step, state];
        let agent = self.context.principal();
        let outcome = system.apply_with_runs(agent, &edit, &puts).await?;
        let [run, step, state] = puts;
        (self.record, self.state_record) = (run.record(), state.record());
        self.parts.step = step.record();
        self.run.pages = outcome.pages;
        Ok(())
    }

    /// Drives the run to its end. Where that fails it is left for whoever goes on with it.
    pub(super) async fn go(mut self, watcher: &mut dyn Watcher) -> Result<Response> {
        let driven = self.steps(watcher).await;
        self.end_summaries(watcher).await;
        match driven {
            Ok(()) => self.finish().await,
            Err(error) => {
                self.run.driver = None;
                // It may be the storage that failed; then the process' end says the same.
                let _ = self.store().await;
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
                Next::Append(messages) => self.append(messages).await?,
                Next::Publish(messages) => self.publish(messages).await?,
                Next::Done => return Ok(()),
            }
        }
    }

    async fn call(&mut self, call: &ToolCall, watcher: &mut dyn Watcher) -> Result<()> {
        watcher.tool_call(&call.name, &call.arguments);
        let question = match self.job.options.interactive {
            true => self.toolbox.question(call).await,
            false => None,
        };
        let output = if question.is_some_and(|question| !watcher.allows(&question)) {
            ToolOutput::failed("permission denied: the user did not allow this call")
        } else {
            self.begin_call().await?;
            let mut stop = self.stop.clone();
            tokio::select! {
                output = self.toolbox.run(call) => output,
                () = stop.wait() => {
                    self.run.stop("");
                    return self.store().await;
                }
            }
        };
        watcher.tool_result(&call.name, &output.text, output.error);
        if let Some(page) = &output.expands
            && !self.state.deferred.contains(page)
        {
            self.state.deferred.push(page.clone());
            self.store_state().await?;
        }
        self.end_call(&output).await
    }

    /// Stores that the next call begins: from now on it may have happened.
    async fn begin_call(&mut self) -> Result<()> {
        let system = self.runner.team.system();
        let step = self.parts.next_step(&self.run, true, system.now())?;
        system.keep_run(&step).await?;
        self.parts.step = step.record();
        self.run.begin_call();
        Ok(())
    }

    /// Stores what the call came to, in a record of its own.
    async fn end_call(&mut self, output: &ToolOutput) -> Result<()> {
        let system = self.runner.team.system();
        let Some(call) = self.run.open_call() else { return Ok(()) };
        let state = CallState::of(output);
        let put = put_call(&self.run, call, &state, system.now())?;
        system.keep_run(&put).await?;
        self.parts.calls.extend(put.record());
        self.run.called(output);
        Ok(())
    }

    /// Takes over a run: whoever drove it before begins no call from now on.
    pub(super) async fn claim(&mut self) -> Result<()> {
        let system = self.runner.team.system();
        let step = self.parts.claim(&self.run, system.now())?;
        system.keep_run(&step).await?;
        self.parts.step = step.record();
        Ok(())
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
        let by = match by {
            By::Agent => self.context.principal(),
            By::Host => &Principal::System,
        };
        let outcome = system.apply_with_runs(by, edit, &puts).await?;
        (self.record, self.parts.step) = (puts[0].record(), puts[1].record());
        self.parts.calls.clear();
        Ok(outcome.pages)
    }

    pub(super) async fn store(&mut self) -> Result<()> {
        let system = self.runner.team.system();
        let run = put(run_key(&self.run)?, self.record.as_ref(), &self.run, system.now());
        system.keep_run(&run).await?;
        self.record = run.record();
        Ok(())
    }

    pub(super) async fn store_state(&mut self) -> Result<()> {
        let system = self.runner.team.system();
        let key = state_key(&self.run.agent)?;
        let state = put(key, self.state_record.as_ref(), &self.state, system.now());
        system.keep_run(&state).await?;
        self.state_record = state.record();
        Ok(())
    }

    async fn finish(mut self) -> Result<Response> {
        let system = self.runner.team.system();
        let now = system.now();
        let Some(ending) = self.run.ending().cloned() else {
            return Err(AgentsError::Invalid {
                what: "a run ended without an ending".to_owned(),
                hint: "this is a defect: please report it".to_owned(),
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
        });
        self.store_state().await?;
        self.runner.team.remove_parts(&self.run).await?;
        if let Some(record) = &self.record {
            system.keep_run(&record.removal(now)).await?;
        }
        let link = Team::link(self.job.agent, self.run.mode)?;
        let most = self.runner.settings.max_messages();
        // The run has ended and is stored: what cannot be read now can be read later.
        let told = seed::history(&self.context, most).await.unwrap_or_default();
        Ok(Response::new(&self.run, ending, (link, told), now))
    }
}
