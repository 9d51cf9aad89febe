//! Asking the model: the window as the request, what is told on the way, what goes wrong.

use std::collections::BTreeSet;

use contexture_core::{Conversation, Edit, ErrorKind, PageIndex, Tokens, WindowOptions};

use super::{Drive, Watcher};
use crate::{
    AgentsError, Result,
    model::{Answer, ModelError, ModelEvent, ModelRequest},
    team::lost,
};

/// What a window may take, in thousandths of a request that was too long.
const SHORTER: u64 = 700;

/// What came of asking.
enum Asked {
    Answered(Box<Answer>),
    Stopped(String),
}

impl Drive<'_> {
    /// Asks the model once and takes its answer, unless a limit forbids it.
    pub(super) async fn ask(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        if self.run.stop_at_limit() {
            return self.store().await;
        }
        let mut request = self.request();
        let head = self.job.model.head(&request);
        let reserved = self.runner.counter.count(&head).0;
        let mut options =
            self.runner.window_options(self.job, self.room).head(head.as_bytes(), reserved);
        let most = self.room.budget;
        let budget = self.run.shortened.map_or(most, |shorter| shorter.min(most));
        options.budget = Some(Tokens(budget));
        if self.run.fork.is_some() {
            // Nothing but a purge changes what it inherited.
            self.context.refresh().await?;
        }
        self.take_deferred(&options).await?;
        let must = self.system_pages().await?;
        let conversation = Conversation::new(self.context.clone(), options);
        let window = conversation.request().await?;
        self.check_system(&must, &window.system).await?;
        if let Some(fold) = &window.fold {
            watcher.folded(fold);
            self.begin_summaries(watcher).await;
        }
        request.window.clone_from(&window.body);
        match self.send(&request, watcher).await {
            Ok(Asked::Answered(answer)) => {
                let usage = answer.usage.clone();
                self.run.answered(*answer);
                let report = usage.as_ref().map(|usage| conversation.report_of(&window, usage));
                if !self.store_answer(report).await? {
                    let number = window.number;
                    watcher.notice(&format!(
                        "the cost of the request was not recorded: window {number} is missing"
                    ));
                }
                let cached = usage.map_or(window.cached.0, |usage| usage.cached);
                watcher.asked(window.tokens.0, budget, cached);
                Ok(())
            }
            Ok(Asked::Stopped(said)) => {
                self.run.stop(&said);
                self.store().await
            }
            // Once, with a smaller window; then the provider's word stands.
            Err(ModelError::ContextLength { .. }) if self.run.shortened.is_none() => {
                let shorter = window.tokens.0.min(budget) * SHORTER / 1_000;
                watcher.notice(&format!(
                    "the provider rejected {} tokens as too long; folding to {shorter}",
                    window.tokens.0
                ));
                self.run.shortened = Some(shorter);
                self.store().await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the System pages that must stand in the window.
    async fn system_pages(&mut self) -> Result<BTreeSet<PageIndex>> {
        let before = self.state.absences.clone();
        let prompted = self.run.fork.is_none().then_some((self.job.agent, self.run.mode));
        let (team, known) = (&self.runner.team, &mut self.state.absences);
        let must = team.system_pages(prompted, &self.system, &self.context, known).await?;
        if self.state.absences != before {
            self.store_state().await?;
        }
        Ok(must)
    }

    /// Checks that they do. What somebody took away since then need not.
    async fn check_system(
        &mut self,
        must: &BTreeSet<PageIndex>,
        stands: &[PageIndex],
    ) -> Result<()> {
        let lacks = |page: &&PageIndex| !stands.contains(page);
        if !must.iter().any(|page| lacks(&page)) {
            return Ok(());
        }
        let must = self.system_pages().await?;
        match must.iter().find(lacks) {
            Some(page) => Err(lost(format!("page {page} is"))),
            None => Ok(()),
        }
    }

    fn request(&self) -> ModelRequest {
        let options = &self.job.options;
        ModelRequest {
            window: String::new(),
            tools: self.toolbox.specs().into_iter().cloned().collect(),
            max_tokens: options.max_tokens,
            temperature: options.temperature.or(self.job.agent.temperature),
            effort: self.job.sends_as().map_or(self.job.agent, |(agent, _)| agent).effort.clone(),
            stream: options.stream,
        }
    }

    async fn send(
        &self,
        request: &ModelRequest,
        watcher: &mut dyn Watcher,
    ) -> Result<Asked, ModelError> {
        let mut said = String::new();
        let mut stop = self.stop.clone();
        let answer = {
            let mut events = |event: ModelEvent| match event {
                ModelEvent::Text(piece) => {
                    watcher.text(&piece);
                    said.push_str(&piece);
                }
                ModelEvent::Thinking(piece) => watcher.thinking(&piece),
                ModelEvent::ToolCall(_) => {}
                ModelEvent::Retry { reason, wait } => {
                    watcher.retry(&reason, wait);
                    said.clear();
                }
            };
            let answer = self.job.model.answer(request, &mut events);
            tokio::select! {
                answer = answer => Some(answer?),
                () = stop.wait() => None,
            }
        };
        Ok(match answer {
            Some(answer) => Asked::Answered(Box::new(answer)),
            None => Asked::Stopped(said),
        })
    }

    /// Raises the levels of pages the agent expanded, when a fold is due anyway: earlier bytes change
    /// then in any case.
    async fn take_deferred(&mut self, options: &WindowOptions) -> Result<()> {
        if self.state.deferred.is_empty() || self.context.fold_preview(options).await?.is_none() {
            return Ok(());
        }
        for page in std::mem::take(&mut self.state.deferred) {
            match self.context.apply(Edit::ExpandDetails(page)).await {
                Ok(_) => {}
                // It may be gone, or stand under a hidden page: then there is nothing to raise.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid) => {}
                Err(error) => return Err(AgentsError::from(error)),
            }
        }
        self.store_state().await
    }
}
