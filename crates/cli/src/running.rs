//! Running an agent for whoever sits before the terminal: what a run needs, what is shown of it, and
//! how it is stopped.

use std::{
    io::{self, BufRead as _},
    process,
    time::Duration,
};

use contexture_agents::{
    AgentDefinition, ContextMode, ExecuteOptions, Job, Response, Runner,
    mode::Resolution,
    run::{Ending, Limits},
    runner::{StopSignal, Summarized, Watcher, stop_signal},
    shares::ShareSettings,
    tools::Question,
};
use contexture_core::{ContextSystem, ErrorKind, window::FoldReport};
use futures::FutureExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    signal,
    task::JoinHandle,
};

use crate::{
    crew::Crew,
    error::{Result, Stop},
    harmless, lines,
    printer::Printer,
    store::StoreUrl,
};

/// How many characters of a tool's arguments and answers are shown.
const SHOWN: usize = 160;

/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Makes the runtime that commands on agents need; all others do without.
pub(crate) fn runtime() -> Result<Runtime> {
    let made = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    made.map_err(|error| {
        let message = format!("no threads to run agents with: {error}");
        Stop::failed(ErrorKind::Unavailable, message, "try again when the machine is less busy")
    })
}

/// How an agent is to be run, as far as the call says.
#[derive(Debug, Clone, Default)]
pub(crate) struct How {
    /// Whose history it sees.
    pub(crate) context: Option<ContextMode>,
    /// The model.
    pub(crate) model: Option<String>,
    /// What a window may take, in tokens.
    pub(crate) budget: Option<u64>,
    /// The shares of its windows.
    pub(crate) shares: ShareSettings,
    /// How often the model may be asked.
    pub(crate) max_turns: Option<u32>,
    /// How many tokens the run's requests and answers may take.
    pub(crate) token_limit: Option<u64>,
    /// The most tokens an answer may have.
    pub(crate) max_tokens: Option<u64>,
    /// The sampling temperature.
    pub(crate) temperature: Option<f64>,
    /// Whether answers come as one piece.
    pub(crate) no_stream: bool,
    /// Whether to ask before a tool changes anything.
    pub(crate) ask: bool,
    /// Whether MCP servers that the project's files define are started.
    pub(crate) trust_mcp: bool,
    /// The store in use: no tool reads or writes its files.
    pub(crate) store: Option<StoreUrl>,
}

/// An agent ready to be run.
pub(crate) struct Ready<'a> {
    /// Runs it.
    pub(crate) runner: Runner,
    /// What it is to do it with.
    pub(crate) job: Job<'a>,
    /// What to tell before it begins.
    pub(crate) warnings: Vec<String>,
}

/// Prepares a run: the mode, the model, the tools. Nothing is sent and nothing is written; programs
/// of MCP servers are started.
pub(crate) async fn prepare<'a>(
    crew: &Crew,
    system: &ContextSystem,
    agent: &'a AgentDefinition,
    how: &How,
) -> Result<Ready<'a>> {
    // Said before anything is started.
    crew.shares(&how.shares, Some(agent))?;
    let (model, _) = crew.model_of(agent, how.model.as_deref());
    let runner = crew.runner(system.clone(), &model);
    let Resolution { mode, mut warnings, .. } =
        crew.mode(runner.team(), agent, how.context).await?;
    let model = crew.connect(&model).await?;
    let runner = match crew.summarizer() {
        None => runner,
        Some(Ok(summarizer)) => runner.summarizing(summarizer),
        // Lines can do without: the run need not.
        Some(Err(error)) => {
            warnings.push(format!("window.summarizer cannot be used: {error}"));
            runner
        }
    };
    let (tools, wrong) = crew.tools(agent, how).await?;
    warnings.extend(wrong);
    warnings.extend(crew.shadows(&agent.name));
    warnings.extend(crew.settings.warnings.iter().cloned());
    let mut limits = Limits::default();
    if let Some(most) = how.max_turns {
        limits.iterations = most;
    }
    limits.tokens = how.token_limit;
    let options = ExecuteOptions {
        stream: !how.no_stream,
        max_tokens: how.max_tokens,
        temperature: how.temperature,
        context_mode: None,
        interactive: how.ask,
        limits,
        budget: how.budget,
        shares: how.shares.clone(),
    };
    Ok(Ready { runner, job: Job { agent, mode, model, tools, options }, warnings })
}

/// Shows a run: the answer on standard output as it comes, everything else on standard error.
///
/// Where nobody reads along, an answer is written when it is whole, so that one which had to be asked
/// for again is not there twice. With JSON nothing is shown; what is worth knowing is kept.
pub(crate) struct Shown<'p, 'w> {
    printer: &'p mut Printer<'w>,
    /// The answer so far, as far as it is not written.
    held: String,
    /// Whether what was written last ends its line.
    at_line_start: bool,
    /// What a window took last, and what it might take.
    window: Option<(u64, u64)>,
    /// What was worth knowing.
    notices: Vec<String>,
    /// Why nothing can be written any more.
    failed: Option<Stop>,
}

/// What is left to tell when a run is over.
pub(crate) struct Seen {
    /// What the last window took, and what it might take.
    pub(crate) window: Option<(u64, u64)>,
    /// What was worth knowing, where it was not shown.
    pub(crate) notices: Vec<String>,
}

impl<'p, 'w> Shown<'p, 'w> {
    pub(crate) fn new(printer: &'p mut Printer<'w>) -> Self {
        let (held, notices) = (String::new(), Vec::new());
        Self { printer, held, at_line_start: true, window: None, notices, failed: None }
    }

    /// Writes what is still held and ends the line; says if something could not be written.
    pub(crate) fn finish(mut self) -> Result<Seen> {
        self.end_line();
        match self.failed {
            Some(stop) => Err(stop),
            None => Ok(Seen { window: self.window, notices: self.notices }),
        }
    }

    /// Says lines to the person, also beside JSON.
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

    /// Writes what is held and begins a new line, so that other words do not run into it.
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
        let text = if self.printer.is_read() { harmless::text(text) } else { text.to_owned() };
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

impl Watcher for Shown<'_, '_> {
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
        let mut told = result.lines().filter(|line| !line.trim().is_empty());
        let first = told.next().unwrap_or("nothing");
        let more = match told.count() {
            0 => String::new(),
            more => format!(" … {} more", lines::count(more as u64, "line")),
        };
        self.note(&format!("{mark} {name}: {}{more}", shortened(first)));
    }

    fn allows(&mut self, question: &Question) -> bool {
        self.end_line();
        self.say(&question.lines());
        loop {
            self.say(&["allow it? y/N, ? shows all of it".to_owned()]);
            let mut answer = String::new();
            // No answer is no.
            match io::stdin().lock().read_line(&mut answer) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return false,
            }
            match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => return true,
                "?" | "show" => self.say(&question.whole()),
                _ => return false,
            }
        }
    }

    fn retry(&mut self, reason: &str, wait: Duration) {
        self.held.clear();
        let void = if self.at_line_start { "" } else { "; the answer begins anew" };
        let wait = wait.as_millis();
        self.note(&format!("… {reason}: asking again in {wait} ms{void}"));
    }

    fn folded(&mut self, report: &FoldReport) {
        self.note(&format!("… folded {}", lines::fold(report)));
    }

    fn summarized(&mut self, done: &Summarized) {
        if done.turns > 0 {
            let turns = lines::count(done.turns, "folded turn");
            self.note(&format!("… summarized {turns}: {}", lines::tokens(done.tokens)));
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

/// Cuts a text that is too long for a line, between two words where one ends near.
fn shortened(text: &str) -> String {
    let Some((at, next)) = text.char_indices().nth(SHOWN) else { return text.to_owned() };
    let begin = &text[..at];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // A number or a word is shown whole or not at all.
    let within = is_word(next) && begin.ends_with(is_word);
    let word = begin.len() - begin.trim_end_matches(is_word).len();
    let end = if within && word < at / 2 { at - word } else { at };
    format!("{}…", text[..end].trim_end())
}

/// Returns a run in one line: who, in which mode, on which model, what it took (M-35, M-41).
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

/// Says why a run ended without its whole answer; nothing where it did not.
pub(crate) fn ended(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Answered => None,
        Ending::CutShort => Some("the answer reached its limit of tokens and is cut".to_owned()),
        Ending::Limit(what) => Some(format!("stopped at a limit: {what}")),
        Ending::Stuck(what) => Some(format!("stopped, it was stuck: {what}")),
        Ending::Refused(why) => Some(format!("the provider refused to answer: {why}")),
        Ending::Stopped => Some("stopped; what there is is kept".to_owned()),
    }
}

/// Stops a run at Ctrl-C for as long as it lives; the second Ctrl-C ends the program at once.
pub(crate) struct Interrupt {
    signal: StopSignal,
    listening: JoinHandle<()>,
}

impl Interrupt {
    /// Begins to listen; needs a runtime.
    pub(crate) fn listen() -> Self {
        let (stopper, signal) = stop_signal();
        // Polled once at least before this returns: from then on Ctrl-C does not end the program.
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
        // What has no end near is cut where the room ends.
        assert_eq!(shortened(&"é".repeat(400)).chars().count(), SHOWN + 1);
    }
}
