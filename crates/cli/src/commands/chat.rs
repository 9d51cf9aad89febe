//! `contexture chat`
//!
//! ```text
//!  a line ──► line ──┬─ plain text ──► the assistant ─┐
//!                    ├─ @agent …   ──► that agent    ─┴─► answer: prepare, run, show, status
//!                    └─ /command … ──► slash: mostly commands of the command line
//! ```
//!
//! Every line opens the session and reads the agents' files again, so changes by others take effect. An
//! error in one line never ends the chat.

mod answer;
mod compact;
mod completion;
mod input;
mod line;
mod slash;

use std::{
    cell::Cell,
    io::{self, IsTerminal as _},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use contexture_agents::setup;
use futures::executor::block_on;
use tokio::{runtime::Runtime, signal};

use self::{
    completion::Completion,
    input::{Input, Typed},
    line::{ChatRequest, Line},
};
use super::Status;
use contexture_core::Session;

use crate::{
    agent_run,
    args::Ask,
    context,
    error::{Result, Stop},
    lines,
    printer::Printer,
    project::Project,
    run, sanitize,
    settings::Settings,
    store::StoreUrl,
};

/// The exit code of a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Chat with the assistant and your agents
///
/// A line goes to the assistant; `@agent …` runs that agent, and `@agent --shared …` runs it with the
/// history of the main session; `/help` lists the commands. A line that ends in \ continues on the next
/// line. Ctrl-C stops an answer and keeps everything so far; Ctrl-D quits. The store and the session are
/// created if they do not exist. If standard input is not a terminal, its lines are read without a
/// prompt.
///
/// Name a model with its provider, such as openai/gpt-4o, anthropic/sonnet, gemini-2.0-flash or
/// ollama/llama3.2. Keys are read from OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture chat
  contexture chat --model ollama/llama3.2
  printf '/agents list\\n/window\\n' | contexture chat")]
pub(crate) struct Args {
    /// The model to use, whatever the agents' files say
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The token budget of a window
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    /// Ask before a tool changes anything: now (the default), or later with /approve
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "now")]
    ask: Option<Ask>,
    /// Start MCP servers that the project's files define
    #[arg(long)]
    trust_mcp: bool,
}

/// What follows a line: another one, or the end of the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Line,
    Leave,
}

/// What every line works with.
struct Chat<'s> {
    args: Args,
    settings: &'s Settings,
    runtime: Runtime,
    /// Whether an agent is running, which Ctrl-C then stops.
    running: Arc<AtomicBool>,
    /// The tokens of the assistant's window at its last request.
    asked: Cell<Option<u64>>,
}

pub(crate) fn run(args: Args, settings: &Settings, printer: &mut Printer<'_>) -> Result<Status> {
    check(settings, printer)?;
    let project = Project::load()?;
    block_on(open(settings, printer))?;
    let terminal = io::stdin().is_terminal();
    let running = Arc::new(AtomicBool::new(false));
    let chat =
        Chat { args, settings, runtime: agent_run::runtime()?, running, asked: Cell::new(None) };
    chat.listen(terminal);
    let mut input = Input::open(terminal, Completion::new(settings.clone()), printer)?;
    chat.greet(&project, printer)?;
    drop(project);
    let mut interrupted = false;
    loop {
        printer.flush()?;
        let typed = input.next()?;
        let again = std::mem::replace(&mut interrupted, matches!(typed, Typed::Interrupted));
        let done = match typed {
            Typed::Line(text) => chat.take(&text, printer),
            Typed::Unreadable => {
                Err(Stop::invalid("the line is not valid UTF-8", "convert your input to UTF-8"))
            }
            Typed::Interrupted if again => break,
            Typed::Interrupted => {
                printer.tip("press Ctrl-C again or Ctrl-D to quit")?;
                Ok(Next::Line)
            }
            Typed::End => break,
        };
        match done {
            Ok(Next::Line) => {}
            Ok(Next::Leave) => break,
            Err(Stop::Closed) => return Err(Stop::Closed),
            Err(stop) => drop(run::report(&stop, printer)),
        }
    }
    Ok(Status::Done)
}

fn check(settings: &Settings, printer: &Printer<'_>) -> Result<()> {
    if printer.is_json() {
        return Err(Stop::invalid(
            "chat is interactive and has no --json",
            "`contexture agents run NAME PROMPT --json` runs one request and prints JSON",
        ));
    }
    if settings.store == StoreUrl::Memory {
        return Err(Stop::invalid(
            "chat needs a store that lasts, and memory: lasts for one command only",
            "use sqlite:PATH, or leave out --store",
        ));
    }
    Ok(())
}

/// Creates the store and the session if they do not exist, and says so.
async fn open(settings: &Settings, printer: &mut Printer<'_>) -> Result<()> {
    let engine = settings.engine().await?;
    if setup::create_if_absent(&engine, &settings.session).await?.is_some() {
        let store = sanitize::line(&settings.store.to_string());
        printer.note(&format!("created session {} in {store}", settings.session))?;
    }
    Ok(())
}

impl Chat<'_> {
    /// Keeps Ctrl-C from ending the program in the middle of a run. Between runs it ends a chat that reads
    /// from a script, as it would any program; the line editor sees it as a key.
    fn listen(&self, terminal: bool) {
        let running = self.running.clone();
        let mut pressed = Box::pin(signal::ctrl_c());
        // The line editor restores the handler it found: this one must be in place before it first reads.
        let already = self.runtime.block_on(async { futures::poll!(pressed.as_mut()) });
        if already.is_ready() {
            return;
        }
        self.runtime.spawn(async move {
            while pressed.await.is_ok() {
                if !terminal && !running.load(Ordering::SeqCst) {
                    process::exit(INTERRUPTED);
                }
                pressed = Box::pin(signal::ctrl_c());
            }
        });
    }

    fn greet(&self, project: &Project, printer: &mut Printer<'_>) -> Result<()> {
        if project.catalog.has_errors() {
            printer.warn("some agent files are broken; `/agents validate` shows what is wrong")?;
        }
        let (model, _) = project.model_of(project.assistant(), self.args.model.as_deref());
        let agents = lines::count(project.catalog.agents().len() as u64, "agent");
        let session = &self.settings.session;
        printer.tip(&format!("session {session} · {model} · {agents} · /help lists the commands"))
    }

    /// Runs a line.
    fn take(&self, text: &str, printer: &mut Printer<'_>) -> Result<Next> {
        match line::read(text) {
            Line::Nothing => Ok(Next::Line),
            Line::Command { name, rest } => slash::run(self, name, rest, printer),
            Line::Say(prompt) => {
                let project = Project::load()?;
                let request = ChatRequest { prompt, ..ChatRequest::default() };
                self.ask(&project, project.assistant(), &request, printer)
            }
            Line::Agent { name, rest } => {
                let project = Project::load()?;
                self.ask(&project, project.agent(name)?, &line::parse_request(rest)?, printer)
            }
        }
    }

    /// Opens the session in its current state.
    async fn session(&self) -> Result<Session> {
        context::open(self.settings).await
    }
}
