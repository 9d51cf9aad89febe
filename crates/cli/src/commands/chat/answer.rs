//! Asks an agent: prints its answer as it arrives, then the usage in one line.

use std::sync::atomic::Ordering;

use contexture_agents::{AgentDefinition, run::Ending};
use contexture_core::{Actor, ContextSystem, ErrorKind};

use super::{Chat, Next, compact::Compact, line::ChatRequest};
use crate::{
    agent_run::{self, Interrupt, ReadyRun, RunOptions, RunPrinter},
    commands::agents::pending_lines,
    error::{Result, Stop},
    printer::Printer,
    project::{Project, explained},
    sanitize,
};

impl Chat<'_> {
    /// Asks an agent; Ctrl-C stops it and keeps everything so far.
    pub(super) fn ask(
        &self,
        project: &Project,
        agent: &AgentDefinition,
        request: &ChatRequest<'_>,
        printer: &mut Printer<'_>,
    ) -> Result<Next> {
        if request.prompt.trim().is_empty() {
            let message = format!("the request for agent '{}' is empty", agent.name);
            return Err(Stop::invalid(message, "write what it should do after its name"));
        }
        let options = RunOptions {
            context: request.context,
            model: request.model.map(str::to_owned).or_else(|| self.args.model.clone()),
            budget: request.budget.or(self.args.budget),
            ..self.run_options()
        };
        self.drive(project, agent, &options, Some(request.prompt), printer)
    }

    /// Resumes an agent's interrupted run.
    pub(super) fn resume(
        &self,
        project: &Project,
        agent: &AgentDefinition,
        printer: &mut Printer<'_>,
    ) -> Result<Next> {
        let interrupted = self.runtime.block_on(async {
            let system = crate::context::open_host(self.settings).await?.0;
            let runner = project.runner(system, "");
            Ok::<_, Stop>(runner.team().runs(Some(&agent.name)).await?.pop())
        })?;
        let Some(interrupted) = interrupted else { return Err(no_interrupted_run(agent)) };
        let options = RunOptions {
            context: Some(interrupted.run.mode),
            fork: interrupted.run.fork,
            model: Some(interrupted.run.model),
            ..self.run_options()
        };
        self.drive(project, agent, &options, None, printer)
    }

    fn run_options(&self) -> RunOptions {
        let args = &self.args;
        RunOptions {
            budget: args.budget,
            ask: args.ask,
            trust_mcp: args.trust_mcp,
            store: Some(self.settings.store.clone()),
            ..RunOptions::default()
        }
    }

    /// Runs an agent; without a prompt, resumes its interrupted run.
    fn drive(
        &self,
        project: &Project,
        agent: &AgentDefinition,
        options: &RunOptions,
        prompt: Option<&str>,
        printer: &mut Printer<'_>,
    ) -> Result<Next> {
        self.running.store(true, Ordering::SeqCst);
        let done = self.runtime.block_on(async {
            let interrupt = Interrupt::listen();
            let system = crate::context::open_host(self.settings).await?.0;
            let mut stop = interrupt.signal();
            let ready = tokio::select! {
                ready = agent_run::prepare(project, &system, agent, options) => ready?,
                () = stop.wait() => {
                    printer.warn("stopped before the run began")?;
                    return Ok(None);
                }
            };
            let by = &self.settings.caller;
            execute(&ready, &system, &interrupt, prompt, by, printer).await
        });
        self.running.store(false, Ordering::SeqCst);
        if let Some((tokens, _)) = done?
            && agent.name == project.assistant().name
        {
            self.asked.set(Some(tokens));
        }
        Ok(Next::Line)
    }
}

/// Runs a prepared agent; returns the tokens of the last window, and its budget.
async fn execute(
    ready: &ReadyRun<'_>,
    system: &ContextSystem,
    interrupt: &Interrupt,
    prompt: Option<&str>,
    by: &Actor,
    printer: &mut Printer<'_>,
) -> Result<Option<(u64, u64)>> {
    let ReadyRun { runner, job, ask, warnings } = ready;
    for warning in warnings {
        printer.warn(warning)?;
    }
    let title = printer.paint().strong(format!("{}:", sanitize::line(&job.agent.title)));
    printer.line(title)?;
    let mut shown = Compact(RunPrinter::new(printer).asking(*ask, by));
    let done = match prompt {
        Some(prompt) => runner.execute(job, prompt, &mut shown, interrupt.signal()).await.map(Some),
        None => runner.resume(job, &mut shown, interrupt.signal()).await,
    };
    let seen = shown.0.finish()?;
    let response = match done {
        Ok(Some(response)) => response,
        Ok(None) => return Err(no_interrupted_run(job.agent)),
        Err(error) => {
            let team = contexture_agents::Team::new(system.clone());
            let is_resumable =
                team.runs(Some(&job.agent.name)).await.is_ok_and(|it| !it.is_empty());
            return Err(failed(explained(error).await.into(), is_resumable));
        }
    };
    if response.ending == Ending::Waiting {
        for line in pending_lines(&response.waiting) {
            printer.note(&line)?;
        }
        let run = &response.waiting[0].run;
        printer
            .tip(&format!("/approve {run} all, or /deny {run} all; then /resume {}", run.agent))?;
    } else if let Some(why) = agent_run::ended(&response.ending) {
        printer.warn(&why)?;
    }
    printer.note(&agent_run::status(&response, seen.window))?;
    Ok(seen.window)
}

fn no_interrupted_run(agent: &AgentDefinition) -> Stop {
    let message = format!("agent '{}' has no interrupted run", agent.name);
    Stop::failed(ErrorKind::NotFound, message, "send it a request instead")
}

/// Adds to an error how to resume the run, if there is one to resume.
fn failed(stop: Stop, is_resumable: bool) -> Stop {
    match stop {
        Stop::Failed { kind, message, hint } if is_resumable && kind != ErrorKind::Conflict => {
            Stop::failed(kind, message, format!("{hint}; /resume continues from here"))
        }
        stop => stop,
    }
}
