//! `contexture chat`
//!
//! ```text
//!  a line ──► line ──┬─ plain text ──► the assistant ─┐
//!                    ├─ @agent …   ──► that agent    ─┴─► answer: prepare, run, show, status
//!                    └─ /command … ──► slash: the commands of the command line, where there is one
//! ```
//!
//! Every line opens the session anew and reads the agents' files again, so what others wrote in the
//! meantime counts. Nothing that goes wrong with a line ends the chat.

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
use crate::{
    agent_run,
    context::Caller,
    error::{Result, Stop},
    lines,
    printer::Printer,
    project::Project,
    run, sanitize,
    settings::Settings,
    store::StoreUrl,
};

/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Talk with the assistant and your agents
///
/// A line goes to the assistant; `@agent …` runs that agent, `@agent --shared …` with the history of
/// the main session; `/help` lists the commands. A line that ends in \ goes on in the next. Ctrl-C
/// stops an answer and keeps what there is; Ctrl-D leaves. The store and the session are made where
/// there are none. Where standard input is no terminal, its lines are read without a prompt.
///
/// Models are named with their provider, such as openai/gpt-4o, anthropic/sonnet, gemini-2.0-flash or
/// ollama/llama3.2, and want their key in OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture chat
  contexture chat --model ollama/llama3.2
  printf '/agents list\\n/window\\n' | contexture chat")]
pub(crate) struct Args {
    /// The model to ask, whatever the agents' files say
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The tokens a window may take
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    /// Ask before a tool changes anything
    #[arg(long)]
    ask: bool,
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
    /// Whether a run goes on, which Ctrl-C then stops.
    running: Arc<AtomicBool>,
    /// What the assistant's window took when it was last asked.
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
                Err(Stop::invalid("the line is not valid UTF-8", "convert what you send to UTF-8"))
            }
            Typed::Interrupted if again => break,
            Typed::Interrupted => {
                printer.tip("Ctrl-C again or Ctrl-D leaves")?;
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
            "chat speaks to people and has no --json",
            "`contexture agents run NAME PROMPT --json` answers one request as JSON",
        ));
    }
    if settings.store == StoreUrl::Memory {
        return Err(Stop::invalid(
            "chat keeps its session, and memory: lives as long as one command",
            "use sqlite:PATH, or leave --store out",
        ));
    }
    Ok(())
}

/// Makes the store and the session where there are none, and says so.
async fn open(settings: &Settings, printer: &mut Printer<'_>) -> Result<()> {
    let engine = settings.engine().await?;
    if setup::create_if_absent(&engine, &settings.session).await?.is_some() {
        let store = sanitize::line(&settings.store.to_string());
        printer.note(&format!("session {} made, in {store}", settings.session))?;
    }
    Ok(())
}

impl Chat<'_> {
    /// Keeps Ctrl-C from ending the program in the midst of something. A script's reader ends by it
    /// between runs, as any program that reads; the line editor sees it as a key.
    fn listen(&self, terminal: bool) {
        let running = self.running.clone();
        let mut pressed = Box::pin(signal::ctrl_c());
        // The line editor puts back what it found: this must be there before it first reads.
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
            printer.warn("some agent files are broken; `/agents validate` says what is wrong")?;
        }
        let (model, _) = project.model_of(project.assistant(), self.args.model.as_deref());
        let agents = lines::count(project.catalog.agents().len() as u64, "agent");
        let session = &self.settings.session;
        printer.tip(&format!("session {session} · {model} · {agents} · /help lists the commands"))
    }

    /// Does what a line says.
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

    /// Opens the session as it is now.
    async fn session(&self) -> Result<Caller> {
        Caller::open(self.settings).await
    }
}
