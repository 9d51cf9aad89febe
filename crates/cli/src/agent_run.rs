//! Runs an agent for the person at the terminal: prepares the run, shows it, and stops it on Ctrl-C.

use std::{
    io::{self, BufRead as _},
    process,
    time::Duration,
};

use contexture_agents::{
    AgentDefinition, ContextMode, ExecuteOptions, Job, Response, Runner, Team,
    mode::Resolution,
    run::{Ending, Limits},
    runner::{StopSignal, Summarized, Verdict, Watcher, stop_signal},
    shares::ShareSettings,
    team::{Fork, ForkOrigin, StoredRun},
    tools::Question,
};
use contexture_core::{Actor, AgentName, ContextSystem, ErrorKind, window::FoldReport};
use contexture_search::LazyIndex;
use futures::FutureExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    signal,
    task::JoinHandle,
};

use crate::{
    args::Ask,
    error::{Result, Stop},
    lines,
    printer::Printer,
    project::Project,
    sanitize,
    store::StoreUrl,
};

/// How many characters to show of a tool's arguments and results.
const SHOWN: usize = 160;

/// The exit code of a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Creates the runtime that commands on agents need; other commands need none.
pub(crate) fn runtime() -> Result<Runtime> {
    let made = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    made.map_err(|error| {
        let message = format!("cannot start the threads that run agents: {error}");
        Stop::failed(ErrorKind::Unavailable, message, "try again when the machine is less busy")
    })
}

/// How to run an agent, as far as the call says.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOptions {
    /// Whose history the agent sees.
    pub(crate) context: Option<ContextMode>,
    /// The agent whose view a fork begins as.
    pub(crate) parent: Option<AgentName>,
    /// The fork that is resumed.
    pub(crate) fork: Option<Box<Fork>>,
    /// The model.
    pub(crate) model: Option<String>,
    /// The token budget of a window.
    pub(crate) budget: Option<u64>,
    /// The shares of its windows.
    pub(crate) shares: ShareSettings,
    /// How many requests may be sent to the model.
    pub(crate) max_turns: Option<u32>,
    /// The limit for all tokens of the run, requests and answers.
    pub(crate) token_limit: Option<u64>,
    /// The limit for the tokens of one answer.
    pub(crate) max_tokens: Option<u64>,
    /// The sampling temperature.
    pub(crate) temperature: Option<f64>,
    /// Whether to ask for answers in one piece instead of streaming.
    pub(crate) no_stream: bool,
    /// When to ask before a tool changes anything, if at all.
    pub(crate) ask: Option<Ask>,
    /// Whether to start MCP servers that the project's files define.
    pub(crate) trust_mcp: bool,
    /// The store in use; no tool may read or write its files.
    pub(crate) store: Option<StoreUrl>,
}

/// An agent ready to be run.
pub(crate) struct ReadyRun<'a> {
    /// The runner.
    pub(crate) runner: Runner,
    /// The agent with its mode, model, tools and options.
    pub(crate) job: Job<'a>,
    /// When to ask about calls.
    pub(crate) ask: Option<Ask>,
    /// Warnings to print before the run begins.
    pub(crate) warnings: Vec<String>,
}

/// Prepares a run: the mode, the model, the tools. Sends and writes nothing, but starts the programs of
/// MCP servers.
pub(crate) async fn prepare<'a>(
    project: &Project,
    system: &ContextSystem,
    agent: &'a AgentDefinition,
    options: &RunOptions,
) -> Result<ReadyRun<'a>> {
    let team = Team::new(system.clone());
    let Resolution { mode, mut warnings, .. } = project.mode(&team, agent, options.context).await?;
    let origin = origin(project, &team, agent, mode, &warnings, options).await?;
    // Tools, model and windows are those of the requests that a fork continues.
    let sends_as = origin.sends_as.as_ref().map_or(agent, |member| &member.agent);
    // Checked before anything is started.
    project.shares(&options.shares, Some(sends_as))?;
    let model = options.model.as_deref().or(origin.model.as_deref());
    let (model, _) = project.model_of(sends_as, model);
    let runner = project.runner(system.clone(), &model);
    let folder = options.store.as_ref().and_then(StoreUrl::search_folder);
    let runner =
        runner.searching(LazyIndex::embedding(system.storage(), folder, project.embedder()));
    let model = project.connect(&model).await?;
    let runner = match project.summarizer() {
        None => runner,
        Some(Ok(summarizer)) => runner.summarizing(summarizer),
        // A run works without a summarizer.
        Some(Err(error)) => {
            warnings.push(format!("cannot use window.summarizer: {error}"));
            runner
        }
    };
    let (tools, wrong) = project.tools(sends_as, options).await?;
    warnings.extend(wrong);
    warnings.extend(project.shadows(&agent.name));
    warnings.extend(project.settings.warnings.iter().cloned());
    let mut limits = Limits::default();
    if let Some(most) = options.max_turns {
        limits.iterations = most;
    }
    limits.tokens = options.token_limit;
    let execute_options = ExecuteOptions {
        stream: !options.no_stream,
        max_tokens: options.max_tokens,
        temperature: options.temperature,
        context_mode: None,
        interactive: options.ask.is_some(),
        limits,
        budget: options.budget,
        shares: options.shares.clone(),
    };
    Ok(ReadyRun {
        ask: options.ask,
        runner,
        job: Job { agent, mode, model, tools, options: execute_options, origin },
        warnings,
    })
}

/// Returns the run of an agent that was interrupted.
pub(crate) async fn interrupted(
    project: &Project,
    system: &ContextSystem,
    agent: &AgentDefinition,
) -> Result<StoredRun> {
    let runner = project.runner(system.clone(), "");
    let run = runner.team().runs(Some(&agent.name)).await?.pop();
    run.ok_or_else(|| {
        let message = format!("agent '{}' has no interrupted run", agent.name);
        Stop::failed(ErrorKind::NotFound, message, "give it a request instead of --resume")
    })
}

/// Finds where a fork begins, or began if it is resumed.
async fn origin(
    project: &Project,
    team: &Team,
    agent: &AgentDefinition,
    mode: ContextMode,
    warnings: &[String],
    options: &RunOptions,
) -> Result<ForkOrigin> {
    let (catalog, settings) = (&project.catalog, &project.settings);
    if let Some(fork) = &options.fork {
        return Ok(team.resumed_origin(fork, catalog, settings).await?);
    }
    match (mode, &options.parent) {
        (ContextMode::Fork, parent) => {
            Ok(team.fork_origin(agent, parent.as_ref(), catalog, settings).await?)
        }
        // Forks are forbidden here: that is why it does not run as one.
        (_, Some(_)) if !warnings.is_empty() => {
            Err(Stop::invalid(warnings.join("; "), "leave --parent out, or allow shared contexts"))
        }
        (mode, Some(_)) => Err(Stop::invalid(
            format!("--parent is for forks, and agent '{}' runs {mode}", agent.name),
            "add --context fork, or leave --parent out",
        )),
        (_, None) => Ok(ForkOrigin::default()),
    }
}

/// Shows a run: the answer on standard output as it comes, everything else on standard error.
///
/// If nobody reads along, an answer is written once it is complete, so that a retried answer does not
/// appear twice. With JSON nothing is shown; notices are kept.
pub(crate) struct RunPrinter<'p, 'w> {
    printer: &'p mut Printer<'w>,
    /// The part of the answer that is not yet written.
    held: String,
    /// Whether the last text written ended its line.
    at_line_start: bool,
    /// The tokens of the last window, and its budget.
    window: Option<(u64, u64)>,
    /// Notices of the run.
    notices: Vec<String>,
    /// The first error of writing.
    failed: Option<Stop>,
    /// Who answers questions on standard input; none if nobody does.
    answers: Option<Actor>,
}

/// What remains to be printed after a run.
pub(crate) struct RunSummary {
    /// The tokens of the last window, and its budget.
    pub(crate) window: Option<(u64, u64)>,
    /// Notices that were not shown.
    pub(crate) notices: Vec<String>,
}

impl<'p, 'w> RunPrinter<'p, 'w> {
    pub(crate) fn new(printer: &'p mut Printer<'w>) -> Self {
        Self {
            printer,
            held: String::new(),
            at_line_start: true,
            window: None,
            notices: Vec::new(),
            failed: None,
            answers: None,
        }
    }

    /// Asks about calls on standard input, where somebody is to be asked now.
    pub(crate) fn asking(mut self, ask: Option<Ask>, by: &Actor) -> Self {
        self.answers = (ask == Some(Ask::Now)).then(|| by.clone());
        self
    }

    /// Writes the held text and ends the line; returns the first error of writing.
    pub(crate) fn finish(mut self) -> Result<RunSummary> {
        self.end_line();
        match self.failed {
            Some(stop) => Err(stop),
            None => Ok(RunSummary { window: self.window, notices: self.notices }),
        }
    }

    /// Prints lines for the person, even with JSON.
    fn say(&mut self, lines: &[String]) {
        for line in lines {
            let said = self.printer.note(line);
            self.keep(said);
        }
    }

    fn note(&mut self, text: &str) {
        if self.printer.is_json() {
            return;
        }
        self.end_line();
        let noted = self.printer.note(text);
        self.keep(noted);
    }

    /// Writes the held text and starts a new line, so that other messages do not run into it.
    fn end_line(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.write(&held);
        if !self.at_line_start {
            self.write("\n");
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() || self.printer.is_json() || self.failed.is_some() {
            return;
        }
        let text = if self.printer.is_read() { sanitize::text(text) } else { text.to_owned() };
        self.at_line_start = text.ends_with('\n');
        let written = self.printer.bytes(text.as_bytes()).and_then(|()| self.printer.flush());
        self.keep(written);
    }

    fn keep(&mut self, written: Result<()>) {
        if let Err(stop) = written
            && self.failed.is_none()
        {
            self.failed = Some(stop);
        }
    }
}

impl Watcher for RunPrinter<'_, '_> {
    fn text(&mut self, piece: &str) {
        if self.printer.is_read() {
            self.write(piece);
        } else {
            self.held.push_str(piece);
        }
    }

    fn tool_call(&mut self, name: &str, arguments: &str) {
        self.note(&format!("→ {name} {}", shortened(arguments)));
    }

    fn tool_result(&mut self, name: &str, result: &str, error: bool) {
        let mark = if error { '✗' } else { '✓' };
        let mut lines = result.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or("(empty)");
        let more = match lines.count() {
            0 => String::new(),
            more => format!(" … {}", lines::count(more as u64, "more line")),
        };
        self.note(&format!("{mark} {name}: {}{more}", shortened(first)));
    }

    fn approves(&mut self, question: &Question) -> Verdict {
        if self.answers.is_none() {
            return Verdict::Unanswered;
        }
        self.end_line();
        self.say(&question.lines());
        loop {
            self.say(&["allow this call? [y/N] (? shows all of it)".to_owned()]);
            let mut answer = String::new();
            // Nobody is there any more: the call waits.
            match io::stdin().lock().read_line(&mut answer) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Verdict::Unanswered,
            }
            match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => return Verdict::Allowed,
                "?" | "show" => self.say(&question.whole()),
                _ => return Verdict::Denied,
            }
        }
    }

    fn answers_as(&self) -> Actor {
        self.answers.clone().unwrap_or(Actor::System)
    }

    fn retry(&mut self, reason: &str, wait: Duration) {
        self.held.clear();
        let void = if self.at_line_start { "" } else { "; the answer starts over" };
        let wait = wait.as_millis();
        self.note(&format!("… {reason}: retrying in {wait} ms{void}"));
    }

    fn folded(&mut self, report: &FoldReport) {
        self.note(&format!("… folded {}", lines::fold(report)));
    }

    fn summarized(&mut self, done: &Summarized) {
        if done.turns > 0 {
            let turns = lines::count(done.turns, "folded turn");
            self.note(&format!("… summarized {turns}: {} tokens", lines::tokens(done.tokens)));
        }
    }

    fn asked(&mut self, tokens: u64, budget: u64, _cached: u64) {
        self.end_line();
        self.window = Some((tokens, budget));
    }

    fn notice(&mut self, text: &str) {
        if self.printer.is_json() {
            self.notices.push(text.to_owned());
            return;
        }
        self.end_line();
        let warned = self.printer.warn(text);
        self.keep(warned);
    }
}

/// Cuts a text that is too long for a line, between two words if a word ends nearby.
fn shortened(text: &str) -> String {
    let Some((at, next)) = text.char_indices().nth(SHOWN) else { return text.to_owned() };
    let begin = &text[..at];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // Words and numbers are shown whole or not at all.
    let within = is_word(next) && begin.ends_with(is_word);
    let word = begin.len() - begin.trim_end_matches(is_word).len();
    let end = if within && word < at / 2 { at - word } else { at };
    format!("{}…", text[..end].trim_end())
}

/// Returns a run in one line: agent, mode, model, requests and tokens (M-35, M-41).
pub(crate) fn status(response: &Response, window: Option<(u64, u64)>) -> String {
    let metadata = &response.metadata;
    let tokens = &metadata.tokens;
    let cached = match tokens.input {
        0 => String::new(),
        input => format!(", {} % cached", tokens.cached.saturating_mul(100) / input),
    };
    let mut parts = vec![
        response.agent_name.clone(),
        metadata.context_mode.to_string(),
        metadata.model.clone(),
        lines::count(u64::from(metadata.iterations), "request"),
        format!("{} tokens{cached}", lines::grouped(metadata.tokens_used)),
    ];
    parts.extend(window.map(|(tokens, budget)| {
        format!("window {} of {}", lines::grouped(tokens), lines::grouped(budget))
    }));
    parts.join(" · ")
}

/// Returns why a run ended without a complete answer; none if the answer is complete.
pub(crate) fn ended(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Answered => None,
        Ending::CutShort => Some("the answer reached its token limit and was cut off".to_owned()),
        Ending::Limit(what) => Some(format!("stopped at a limit: {what}")),
        Ending::Stuck(what) => Some(format!("stopped because it was stuck: {what}")),
        Ending::Refused(why) => Some(format!("the provider refused to answer: {why}")),
        Ending::Stopped => Some("stopped; everything so far is kept".to_owned()),
        Ending::Waiting => Some("waiting for approval".to_owned()),
    }
}

/// Stops a run at the first Ctrl-C, for as long as this exists; a second one ends the program at once.
pub(crate) struct Interrupt {
    signal: StopSignal,
    listening: JoinHandle<()>,
}

impl Interrupt {
    /// Starts listening; needs a runtime.
    pub(crate) fn listen() -> Self {
        let (stopper, signal) = stop_signal();
        // Polled at least once before this returns: from then on Ctrl-C does not end the program.
        let mut first = Box::pin(signal::ctrl_c());
        let at_once = first.as_mut().now_or_never();
        let listening = tokio::spawn(async move {
            let pressed = match at_once {
                Some(pressed) => pressed,
                None => first.await,
            };
            if pressed.is_err() {
                return;
            }
            stopper.stop();
            if signal::ctrl_c().await.is_ok() {
                process::exit(INTERRUPTED);
            }
        });
        Self { signal, listening }
    }

    /// Returns the signal a run listens to.
    pub(crate) fn signal(&self) -> StopSignal {
        self.signal.clone()
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_split_no_number_and_no_word() {
        assert_eq!(shortened("short"), "short");
        let numbers: Vec<String> = (1_000..1_100).map(|number| number.to_string()).collect();
        for begin in 0..5 {
            let text = format!("{}{}", "x".repeat(begin), numbers.join(" "));
            let short = shortened(&text);
            let shown = short.strip_suffix('…').unwrap();
            assert!(text.starts_with(&format!("{shown} ")), "{short}");
            assert!(shown.chars().count() > SHOWN - 6, "{short}");
        }
        // A text without a nearby word end is cut at the limit.
        assert_eq!(shortened(&"é".repeat(400)).chars().count(), SHOWN + 1);
    }
}
