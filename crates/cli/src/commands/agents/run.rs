//! `contexture agents run`

mod words;

use std::{ffi::OsString, path::Path};

use contexture_agents::{AgentDefinition, Response, run::Ending, wire::ResponseObject};
use contexture_core::{AgentName, ContextSystem, ErrorKind};

use super::{approvals, create::MODES, team};
use crate::{
    agent_run::{self, Interrupt, ReadyRun, RunOptions, RunPrinter},
    args::{Ask, Suggested},
    commands::Status,
    error::{Result, Stop},
    input,
    printer::Printer,
    project::{Project, explained},
    settings::Settings,
    shares::ShareArgs,
};

/// Run an agent on a request and print its answer
///
/// The answer goes to standard output as it arrives; tool calls, and a last line with the mode, the model
/// and the usage, go to standard error. Ctrl-C stops the run and keeps everything so far; an interrupted
/// run can be resumed.
///
/// With --ask, a person is asked on standard input before a tool changes anything. If nobody answers, and
/// always with --ask later, the call waits: the run ends with exit code 4 until `agents approve` or `agents
/// deny` has answered, and --resume goes on.
///
/// Options go before or after the request, any number of them; -- ends them, and everything after it is
/// sent as it is. Several words are joined with spaces; a single argument is sent as it is. A separate
/// word that is spelled like an option is refused within a request: quote the request, or put -- before
/// it.
///
/// Name a model with its provider, such as openai/gpt-4o, anthropic/sonnet, gemini-2.0-flash or
/// ollama/llama3.2. Keys are read from OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture agents create fix-bugs --tool read_file --tool edit_file
  contexture agents run fix-bugs 修复代码
  contexture agents run fix-bugs 修复代码 --context shared --max-turns 5
  contexture agents run fix-bugs --max-turns 5 -- what does --context do?
  contexture agents run fix-bugs --ask later 'Find the bug.'
  echo 'Find the bug.' | contexture agents run fix-bugs -")]
pub(crate) struct Args {
    /// The agent's name
    name: String,
    #[command(flatten)]
    flags: Flags,
    /// Resume the agent's interrupted run instead of a new request, in its mode and with its limits
    #[arg(long, conflicts_with_all = ["prompt", "context", "parent", "max_turns", "token_limit"])]
    resume: bool,
    /// The request; - reads standard input
    #[arg(value_name = "PROMPT", trailing_var_arg = true)]
    #[arg(required_unless_present = "resume")]
    prompt: Vec<String>,
}

impl Args {
    /// Returns the line with the options after the request moved before it, if there are any. The
    /// request extends to the end of the line.
    pub(crate) fn rearranged(&self, line: &[OsString]) -> Result<Option<Vec<OsString>>> {
        let begins = line.len().saturating_sub(self.prompt.len());
        if self.prompt.is_empty() || line[..begins].iter().any(|word| word == "--") {
            return Ok(None);
        }
        let begin = words::Options::known().begin(&self.prompt)?;
        if begin == self.prompt.len() {
            return Ok(None);
        }
        let (before, request) = line.split_at(begins);
        let (request, options) = request.split_at(begin);
        let dashes = [OsString::from("--")];
        Ok(Some([before, options, &dashes, request].concat()))
    }
}

/// How to run the agent.
#[derive(Debug, Clone, Default, clap::Args)]
struct Flags {
    /// Whose history it sees, for this run
    #[arg(long, value_name = "MODE", value_parser = Suggested(MODES))]
    context: Option<String>,
    /// The agent whose view a fork begins as, instead of the main view
    #[arg(long, value_name = "NAME")]
    parent: Option<AgentName>,
    /// The model to use
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The token budget of a window
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    #[command(flatten)]
    shares: ShareArgs,
    /// The most requests to send to the model
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
    /// Stop when the run's requests and answers have used this many tokens
    #[arg(long, value_name = "N")]
    token_limit: Option<u64>,
    /// The most tokens an answer may have
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// The sampling temperature
    #[arg(long, value_name = "T")]
    temperature: Option<f64>,
    /// Ask for the answer in one piece
    #[arg(long)]
    no_stream: bool,
    /// Ask before a tool changes anything: now (the default), or later with `agents approve`
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "now")]
    ask: Option<Ask>,
    /// Start MCP servers that the project's files define
    #[arg(long)]
    trust_mcp: bool,
}

pub(crate) async fn run(
    args: Args,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let Args { name, flags, resume, prompt } = args;
    let mut options = run_options(flags)?;
    options.store = Some(settings.store.clone());
    let prompt = match prompt.join(" ") {
        dash if dash == "-" => input::text(Path::new("-"))?,
        prompt => prompt,
    };
    let system = team(settings).await?.system().clone();
    let agent = project.agent(&name)?;
    if resume {
        let interrupted = agent_run::interrupted(project, &system, agent).await?;
        // It resumes as it began, unless the call says otherwise.
        options.context = Some(interrupted.run.mode);
        options.fork = interrupted.run.fork;
        options.model.get_or_insert(interrupted.run.model);
        if options.ask != Some(Ask::Now)
            && let Some(response) = still_waiting(project, &system, agent, settings).await?
        {
            return report(&response, Vec::new(), None, printer);
        }
    }
    // Servers may be slow to start: stopping must not wait for them.
    let interrupt = Interrupt::listen();
    let mut stop = interrupt.signal();
    let ready = tokio::select! {
        ready = agent_run::prepare(project, &system, agent, &options) => ready?,
        () = stop.wait() => {
            printer.warn("stopped before the run began")?;
            return Ok(Status::NotOk);
        }
    };
    let prompt = (!resume).then_some(prompt);
    execute(&ready, prompt.as_deref(), settings, &interrupt, printer).await
}

/// Returns what the interrupted run has come to, if calls of it still wait for approval. Nothing is
/// started or sent for that.
async fn still_waiting(
    project: &Project,
    system: &ContextSystem,
    agent: &AgentDefinition,
    settings: &Settings,
) -> Result<Option<Response>> {
    let tools = project.workspace_tools(Some(&settings.store))?;
    Ok(project.runner(system.clone(), "").still_waiting(agent, &tools).await?)
}

fn run_options(flags: Flags) -> Result<RunOptions> {
    let context = flags.context.as_deref().map(super::context::mode).transpose()?;
    if flags.temperature.is_some_and(|it| !it.is_finite() || it < 0.0) {
        return Err(Stop::invalid(
            "the temperature must be 0 or more",
            "most models accept 0 to 2",
        ));
    }
    Ok(RunOptions {
        context,
        parent: flags.parent,
        fork: None,
        model: flags.model,
        budget: flags.budget,
        shares: flags.shares.read()?,
        max_turns: flags.max_turns,
        token_limit: flags.token_limit,
        max_tokens: flags.max_tokens,
        temperature: flags.temperature,
        no_stream: flags.no_stream,
        ask: flags.ask,
        trust_mcp: flags.trust_mcp,
        store: None,
    })
}

/// Runs an agent; without a prompt, resumes its interrupted run.
async fn execute(
    ready: &ReadyRun<'_>,
    prompt: Option<&str>,
    settings: &Settings,
    interrupt: &Interrupt,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let ReadyRun { runner, job, ask, warnings } = ready;
    if !printer.is_json() {
        for warning in warnings {
            printer.warn(warning)?;
        }
    }
    let mut shown = RunPrinter::new(printer).asking(*ask, &settings.caller);
    let done = match prompt {
        Some(prompt) => runner.execute(job, prompt, &mut shown, interrupt.signal()).await.map(Some),
        None => runner.resume(job, &mut shown, interrupt.signal()).await,
    };
    let seen = shown.finish();
    let response = match done {
        Ok(Some(response)) => response,
        Ok(None) => {
            let message = format!("somebody else took over the run of agent '{}'", job.agent.name);
            let hint = format!("`contexture agents context {}` shows its runs", job.agent.name);
            return Err(Stop::failed(ErrorKind::Conflict, message, hint));
        }
        Err(error) => {
            let is_resumable =
                runner.team().runs(Some(&job.agent.name)).await.is_ok_and(|it| !it.is_empty());
            return Err(failed(explained(error).await.into(), job.agent, is_resumable));
        }
    };
    let seen = seen?;
    let warnings = warnings.iter().cloned().chain(seen.notices).collect();
    report(&response, warnings, seen.window, printer)
}

/// Prints what a run has come to, except for the answer, which was printed as it came.
fn report(
    response: &Response,
    warnings: Vec<String>,
    window: Option<(u64, u64)>,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        printer.json(&ResponseObject { response, warnings })?;
        return Ok(status(&response.ending));
    }
    match &response.ending {
        Ending::Waiting => {
            for line in approvals::waiting_lines(&response.waiting) {
                printer.note(&line)?;
            }
        }
        ending => {
            if let Some(why) = agent_run::ended(ending) {
                printer.warn(&why)?;
            }
        }
    }
    printer.note(&agent_run::status(response, window))?;
    Ok(status(&response.ending))
}

fn status(ending: &Ending) -> Status {
    match ending {
        Ending::Answered | Ending::CutShort => Status::Done,
        Ending::Waiting => Status::Waiting,
        Ending::Limit(_) | Ending::Stuck(_) | Ending::Refused(_) | Ending::Stopped => Status::NotOk,
    }
}

/// Adds to an error how to resume the run, if there is one to resume.
fn failed(stop: Stop, agent: &AgentDefinition, is_resumable: bool) -> Stop {
    match stop {
        Stop::Failed { kind, message, hint } if is_resumable && kind != ErrorKind::Conflict => {
            let resume =
                format!("`contexture agents run {} --resume` continues from here", agent.name);
            Stop::failed(kind, message, format!("{hint}; {resume}"))
        }
        stop => stop,
    }
}
