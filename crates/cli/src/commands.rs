//! The commands, one file each: `Args`, and one function that writes through the given printer.

mod agents;
mod chat;
mod completions;
mod export;
pub(crate) mod find;
mod fold;
mod history;
mod import;
mod init;
mod level;
mod load;
mod man;
#[cfg(feature = "server")]
mod mcp;
pub(crate) mod page;
mod press;
pub(crate) mod recall;
mod segment;
#[cfg(feature = "server")]
mod serve;
mod session;
mod store;
#[cfg(feature = "server")]
mod token;
mod tools;
mod tour;
pub(crate) mod turn;
mod undo;
pub(crate) mod window;

use std::ffi::OsString;

use clap::Subcommand;
use contexture_core::{Actor, Error};
use futures::executor::block_on;
use serde::{Deserialize, Serialize};

use crate::{
    args::{Cli, GlobalArgs},
    error::Result,
    job::Job,
    printer::Printer,
    settings::Settings,
};
#[cfg(feature = "server")]
use crate::{
    error::Stop,
    served::{self, ServerChoice},
};

/// How a command ended, if no error stopped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    /// It did what was asked.
    Done,
    /// It ran, and reports that something is wrong.
    NotOk,
    /// It did what was asked, but traces of destroyed data remain.
    TracesRemain,
    /// An agent's run waits until somebody approves or denies calls.
    Waiting,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Tour(tour::Args),
    Init(init::Args),
    /// List, create and remove sessions, and set their custom state
    ///
    /// A store holds many sessions, each with its own segments, pages, views and history. The other
    /// commands work on the session that --session names.
    #[command(subcommand, after_help = "Example:\n  contexture session list")]
    Session(session::Command),
    /// Add, list, change and remove segments
    ///
    /// A segment is a tree of pages with a kind, a permission that says what agents may do in it, a
    /// capacity in tokens and its own numbering.
    #[command(subcommand, after_help = "Example:\n  contexture segment list")]
    Segment(segment::Command),
    /// Create, read, change, move and archive pages
    ///
    /// A page is either a DetailPage, a leaf that holds messages, or a ContentsPage, a directory of pages.
    /// Its index, such as usr-3, is its segment and a number that is never reused; the root of a segment
    /// has number 0. `remove` archives a page; `purge` destroys it.
    #[command(subcommand, after_help = "Example:\n  contexture page tree")]
    Page(page::Command),
    /// Write turns of a conversation as pages
    ///
    /// A turn is a user message and everything that follows it until the next user message.
    #[command(subcommand, after_help = "Example:\n  contexture turn add --user 'What is 6 x 7?'")]
    Turn(turn::Command),
    Window(window::Args),
    Find(find::Args),
    Recall(recall::Args),
    Fold(fold::Args),
    Level(level::Args),
    Press(press::Args),
    History(history::Args),
    Undo(undo::Args),
    /// Run agents, and see what they are and whose history they share
    ///
    /// An agent is a file with front matter and a prompt, in .contexture/agents or where other tools
    /// keep theirs (.gemini, .claude, .opencode, .letta, .codex). It runs isolated, with a history of
    /// its own, or shared, with the history of the main session or of a group. To run an agent, the
    /// session must exist.
    #[command(subcommand, after_help = "Example:\n  contexture agents list")]
    Agents(agents::Command),
    Chat(chat::Args),
    Tools(tools::Args),
    #[cfg(feature = "server")]
    Serve(serve::Args),
    #[cfg(feature = "server")]
    Mcp(mcp::Args),
    /// Create, list and revoke tokens for `contexture serve`
    ///
    /// A token belongs to one session and stands for one agent or one user there.
    #[cfg(feature = "server")]
    #[command(subcommand, after_help = "Example:\n  contexture token list")]
    Token(token::Command),
    Import(import::Args),
    Export(export::Args),
    Load(load::Args),
    /// Check, copy and scrub the store itself
    #[command(subcommand, after_help = "Example:\n  contexture store check")]
    Store(store::Command),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// Returns the line it was parsed from with misplaced options moved to where they are read, if any.
    pub(crate) fn rearranged(&self, line: &[OsString]) -> Result<Option<Vec<OsString>>> {
        match self {
            Command::Agents(command) => command.rearranged(line),
            _ => Ok(None),
        }
    }

    /// Notes the line it was parsed from, for commands that need its exact words.
    pub(crate) fn note_line(&mut self, line: &[OsString]) {
        if let Command::Store(command) = self {
            command.note_line(line);
        }
    }

    /// Names the command if only the system side may run it: agents are refused before anything opens.
    fn system_side_only(&self) -> Option<String> {
        match self {
            Command::Tour(_) => Some("'tour'".to_owned()),
            Command::Init(_) => Some("'init'".to_owned()),
            Command::Session(_) => Some("'session'".to_owned()),
            Command::Agents(_) => Some("'agents'".to_owned()),
            Command::Chat(_) => Some("'chat'".to_owned()),
            #[cfg(feature = "server")]
            Command::Serve(_) => Some("'serve'".to_owned()),
            #[cfg(feature = "server")]
            Command::Token(_) => Some("'token'".to_owned()),
            Command::Import(_) => Some("'import'".to_owned()),
            Command::Export(_) => Some("'export'".to_owned()),
            Command::Load(_) => Some("'load'".to_owned()),
            Command::Store(_) => Some("'store'".to_owned()),
            Command::Page(page) => page.system_side_only(),
            Command::Segment(_)
            | Command::Turn(_)
            | Command::Window(_)
            | Command::Find(_)
            | Command::Recall(_)
            | Command::Fold(_)
            | Command::Level(_)
            | Command::Press(_)
            | Command::History(_)
            | Command::Undo(_)
            | Command::Tools(_)
            | Command::Completions(_)
            | Command::Man(_) => None,
            // With --as it serves that agent alone.
            #[cfg(feature = "server")]
            Command::Mcp(_) => None,
        }
    }

    /// Returns whether a server can run it; none if it uses no store, so that it does not matter.
    #[cfg(feature = "server")]
    fn is_served(&self) -> Option<bool> {
        match self {
            Command::Tour(_) | Command::Completions(_) | Command::Man(_) => None,
            Command::Window(_) | Command::Find(_) | Command::Recall(_) | Command::Turn(_) => {
                Some(true)
            }
            Command::Page(page::Command::Show(_) | page::Command::Find(_)) => Some(true),
            _ => Some(false),
        }
    }

    /// Returns what to show while a person waits; none if the command prints its own progress.
    pub(crate) fn doing(&self) -> Option<&'static str> {
        Some(match self {
            Command::Tour(_)
            | Command::Agents(_)
            | Command::Chat(_)
            | Command::Completions(_)
            | Command::Man(_) => return None,
            #[cfg(feature = "server")]
            Command::Serve(_) | Command::Mcp(_) => return None,
            #[cfg(feature = "server")]
            Command::Token(_) => "working",
            Command::Window(_) => "rendering the window",
            Command::Find(_) | Command::Recall(_) => "searching",
            Command::Fold(_) => "folding",
            Command::Undo(_) => "undoing",
            Command::Import(_) => "reading the transcript",
            Command::Export(_) => "exporting",
            Command::Load(_) => "loading",
            Command::Store(command) => command.doing(),
            Command::Page(page::Command::Purge(_)) => "purging",
            Command::Page(page::Command::Find(_)) => "searching",
            Command::Init(_)
            | Command::Session(_)
            | Command::Segment(_)
            | Command::Page(_)
            | Command::Turn(_)
            | Command::Level(_)
            | Command::Press(_)
            | Command::Tools(_)
            | Command::History(_) => "working",
        })
    }
}

/// Returns the caller that a command acts for.
fn caller(global: &GlobalArgs) -> Result<Actor> {
    if let Some(name) = &global.agent {
        return Ok(Actor::Agent(name.parse()?));
    }
    let usual = || std::env::var("CONTEXTURE_USER").ok().filter(|name| !name.is_empty());
    Ok(match global.by.clone().or_else(usual) {
        Some(name) => Actor::User(name.parse()?),
        None => Actor::System,
    })
}

/// Runs a command.
pub(crate) fn dispatch(cli: Cli, printer: &mut Printer<'_>) -> Result<Status> {
    let Cli { global, command } = cli;
    let caller = caller(&global)?;
    let refused = command.system_side_only().filter(|_| !caller.is_system_side());
    if let Some(what) = refused {
        return Err(Error::SystemSideOnly { what }.into());
    }
    #[cfg(feature = "server")]
    if matches!(global.server, ServerChoice::At(_)) && command.is_served() == Some(false) {
        return Err(Stop::invalid(
            "this command does not go through a server",
            "leave out --server and CONTEXTURE_SERVER, or say --server never; window, find, recall, page show and \
             the turn commands go through one",
        ));
    }
    let settings = || Settings::resolve(&global, caller.clone());
    match command {
        // These commands use no store, or create their own.
        Command::Tour(args) => tour::run(&args, printer),
        Command::Completions(args) => completions::run(&args, printer),
        Command::Man(args) => man::run(&args, printer),
        Command::Init(args) => {
            block_on(init::run(args, &Settings::here(&global, caller)?, printer))
        }
        Command::Session(command) => block_on(session::run(command, &settings()?, printer)),
        Command::Segment(command) => block_on(segment::run(command, &settings()?, printer)),
        Command::Page(page::Command::Show(args)) => {
            run(Job::ShowPage(args), &global, &settings()?, printer)
        }
        Command::Find(args) | Command::Page(page::Command::Find(args)) => {
            run(Job::Find(args), &global, &settings()?, printer)
        }
        Command::Page(command) => block_on(page::run(command, &settings()?, printer)),
        Command::Turn(command) => {
            let settings = settings()?;
            run(Job::Turn(command.read()?), &global, &settings, printer)
        }
        Command::Window(args) => run(Job::Window(args), &global, &settings()?, printer),
        Command::Recall(args) => run(Job::Recall(args), &global, &settings()?, printer),
        Command::Fold(args) => block_on(fold::run(args, &settings()?, printer)),
        Command::Level(args) => block_on(level::run(args, &settings()?, printer)),
        Command::Press(args) => block_on(press::run(args, &settings()?, printer)),
        Command::Agents(command) => agents::run(command, &settings()?, printer),
        Command::Chat(args) => chat::run(args, &settings()?, printer),
        Command::Tools(args) => block_on(tools::run(args, &settings()?, printer)),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(args, &settings()?, printer),
        #[cfg(feature = "server")]
        Command::Mcp(args) => mcp::run(&args, &settings()?, printer),
        #[cfg(feature = "server")]
        Command::Token(command) => block_on(token::run(command, &settings()?, printer)),
        Command::Import(args) => block_on(import::run(args, &settings()?, printer)),
        Command::History(args) => block_on(history::run(args, &settings()?, printer)),
        Command::Undo(args) => block_on(undo::run(args, &settings()?, printer)),
        Command::Export(args) => block_on(export::run(args, &settings()?, printer)),
        Command::Load(args) => block_on(load::run(args, &settings()?, printer)),
        Command::Store(command) => block_on(store::run(command, &settings()?, printer)),
    }
}

/// Runs a command that another process may run as well.
fn run(
    job: Job,
    global: &GlobalArgs,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    #[cfg(feature = "server")]
    return served::run(job, &global.server, settings, printer);
    #[cfg(not(feature = "server"))]
    {
        let _ = global;
        block_on(job.run(settings, printer))
    }
}
