//! Asks an agent: prints its answer as it arrives, then the usage in one line.

use std::sync::atomic::Ordering;

use contexture_agents::AgentDefinition;
use contexture_core::{ContextSystem, ErrorKind};

use super::{Chat, Go, compact::Compact, line::Request};
use crate::{
    crew::{Crew, explained},
    error::{Result, Stop},
    harmless,
    printer::Printer,
    running::{self, How, Interrupt, Ready, Shown},
};

impl Chat<'_> {
    /// Asks an agent; Ctrl-C stops it and keeps everything so far.
    pub(super) fn ask(
        &self,
        crew: &Crew,
        agent: &AgentDefinition,
        request: &Request<'_>,
        printer: &mut Printer<'_>,
    ) -> Result<Go> {
        if request.prompt.trim().is_empty() {
            let message = format!("the request for agent '{}' is empty", agent.name);
            return Err(Stop::invalid(message, "write what it should do after its name"));
        }
        let how = How {
            context: request.context,
            model: request.model.map(str::to_owned).or_else(|| self.args.model.clone()),
            budget: request.budget.or(self.args.budget),
            ..self.how()
        };
        self.drive(crew, agent, &how, Some(request.prompt), printer)
    }

    /// Resumes an agent's interrupted run.
    pub(super) fn resume(
        &self,
        crew: &Crew,
        agent: &AgentDefinition,
        printer: &mut Printer<'_>,
    ) -> Result<Go> {
        let left = self.runtime.block_on(async {
            let system = self.session().await?.system().clone();
            let runner = crew.runner(system, "");
            Ok::<_, Stop>(runner.team().runs(Some(&agent.name)).await?.pop())
        })?;
        let Some(left) = left else { return Err(nothing_left(agent)) };
        let how = How { context: Some(left.run.mode), model: Some(left.run.model), ..self.how() };
        self.drive(crew, agent, &how, None, printer)
    }

    fn how(&self) -> How {
        let args = &self.args;
        How {
            budget: args.budget,
            ask: args.ask,
            trust_mcp: args.trust_mcp,
            store: Some(self.settings.store.clone()),
            ..How::default()
        }
    }

    /// Runs an agent; without a prompt, resumes its interrupted run.
    fn drive(
        &self,
        crew: &Crew,
        agent: &AgentDefinition,
        how: &How,
        prompt: Option<&str>,
        printer: &mut Printer<'_>,
    ) -> Result<Go> {
        self.running.store(true, Ordering::SeqCst);
        let done = self.runtime.block_on(async {
            let interrupt = Interrupt::listen();
            let system = self.session().await?.system().clone();
            let mut stop = interrupt.signal();
            let ready = tokio::select! {
                ready = running::prepare(crew, &system, agent, how) => ready?,
                () = stop.wait() => {
                    printer.warn("stopped before the run began")?;
                    return Ok(None);
                }
            };
            execute(&ready, &system, &interrupt, prompt, printer).await
        });
        self.running.store(false, Ordering::SeqCst);
        if let Some((tokens, _)) = done?
            && agent.name == crew.assistant().name
        {
            self.asked.set(Some(tokens));
        }
        Ok(Go::On)
    }
}

/// Runs a prepared agent; returns the tokens of the last window, and its budget.
async fn execute(
    ready: &Ready<'_>,
    system: &ContextSystem,
    interrupt: &Interrupt,
    prompt: Option<&str>,
    printer: &mut Printer<'_>,
) -> Result<Option<(u64, u64)>> {
    let Ready { runner, job, warnings, .. } = ready;
    for warning in warnings {
        printer.warn(warning)?;
    }
    let title = printer.paint().strong(format!("{}:", harmless::line(&job.agent.title)));
    printer.line(title)?;
    let mut shown = Compact(Shown::new(printer));
    let done = match prompt {
        Some(prompt) => runner.execute(job, prompt, &mut shown, interrupt.signal()).await.map(Some),
        None => runner.resume(job, &mut shown, interrupt.signal()).await,
    };
    let seen = shown.0.finish()?;
    let response = match done {
        Ok(Some(response)) => response,
        Ok(None) => return Err(nothing_left(job.agent)),
        Err(error) => {
            let team = contexture_agents::Team::new(system.clone());
            let left = team.runs(Some(&job.agent.name)).await.is_ok_and(|it| !it.is_empty());
            return Err(failed(explained(error).await.into(), left));
        }
    };
    if let Some(why) = running::ended(&response.ending) {
        printer.warn(&why)?;
    }
    printer.note(&running::status(&response, seen.window))?;
    Ok(seen.window)
}

fn nothing_left(agent: &AgentDefinition) -> Stop {
    let message = format!("agent '{}' has no interrupted run", agent.name);
    Stop::failed(ErrorKind::NotFound, message, "send it a request instead")
}

/// Adds to an error how to resume the run, if there is one to resume.
fn failed(stop: Stop, left: bool) -> Stop {
    match stop {
        Stop::Failed { kind, message, hint } if left && kind != ErrorKind::Conflict => {
            Stop::failed(kind, message, format!("{hint}; /resume continues from here"))
        }
        stop => stop,
    }
}
