//! The command line as typed. Help is written once: here and on each command's `Args`.

use std::ffi::{OsStr, OsString};

use clap::{
    Arg, Args, Command, Parser,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use contexture_agents::wire::Texts;

use crate::commands;
#[cfg(feature = "server")]
use crate::served::ServerChoice;

/// Virtual memory for the context window of LLM agents.
///
/// Contexture keeps everything an agent has seen, said and done as a durable tree of pages. Pages
/// live in segments (`sys` for system prompts, `usr` for the conversation …) and have an index such as
/// usr-3. Nothing is lost: `fold` shows the model less, `remove` archives, `undo` reverts an edit, and
/// only `purge` destroys.
///
/// Start with `contexture tour`, with `contexture init` in a folder of your own, or with `contexture
/// import FILE` to bring in a conversation you already have.
#[derive(Debug, Parser)]
#[command(
    name = "contexture",
    version,
    after_help = "\
Examples:
  contexture init
  contexture page create --parent usr-0 --name Plan --detail '1. read 2. think'
  contexture page tree
  contexture window --account",
    propagate_version = false
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: commands::Command,
}

/// Flags that every command takes, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// The store: sqlite:PATH, files:DIR, postgres://…, s3://BUCKET/PREFIX or memory: [default:
    /// sqlite:.contexture/contexture.db, here or in the nearest parent folder]
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "CONTEXTURE_STORE",
        hide_env_values = true
    )]
    pub(crate) store: Option<String>,
    /// The session in the store
    #[arg(long, global = true, value_name = "NAME", default_value = "default")]
    pub(crate) session: String,
    /// Act as this agent, with its view and permissions; by default you act as the system side
    #[arg(long = "as", global = true, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// The name to record in the history for edits by the system side [env: CONTEXTURE_USER]
    #[arg(long, global = true, value_name = "USER", conflicts_with = "agent")]
    pub(crate) by: Option<String>,
    /// Run the command through a server: auto uses the one that runs on the same store, if the outcome is the
    /// same; never uses none; a URL such as http://127.0.0.1:7373 names one
    #[cfg(feature = "server")]
    #[arg(
        long,
        global = true,
        value_name = "auto|never|URL",
        env = "CONTEXTURE_SERVER",
        hide_env_values = true,
        default_value = "auto"
    )]
    pub(crate) server: ServerChoice,
    /// Print JSON: data to standard output, an error as one object to standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// When to ask a person about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Ask {
    /// Ask on standard input; a call waits if nobody answers there
    Now,
    /// Ask nobody now: each such call waits for `agents approve` or `agents deny`
    Later,
}

/// Returns a line with the value of `--ask` joined to it, as in `--ask=later`. A request may follow the
/// option without a value, so its value is only read behind `=`.
pub(crate) fn joined_values(line: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (mut joined, mut ended): (Vec<OsString>, bool) = (Vec::new(), false);
    for word in line {
        let is_value = word == "now" || word == "later";
        match joined.last_mut().filter(|last| !ended && is_value && *last == "--ask") {
            Some(ask) => {
                ask.push("=");
                ask.push(word);
            }
            None => {
                ended |= word == "--";
                joined.push(word);
            }
        }
    }
    joined
}

/// How much of a list to print, and where to start.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print at most this many entries
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Continue where an earlier list ended: the value of its `next`
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

/// Whether a list of pages includes their text.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TextArgs {
    /// With --json, also print the text and the messages of each page
    #[arg(long)]
    full: bool,
}

impl TextArgs {
    pub(crate) fn texts(self) -> Texts {
        if self.full { Texts::Full } else { Texts::Absent }
    }
}

impl ListArgs {
    pub(crate) fn limit(&self) -> usize {
        usize::from(self.limit)
    }
}

/// Accepts any text and suggests the known values, so that the core can explain what is wrong with
/// the others.
#[derive(Debug, Clone)]
pub(crate) struct Suggested(pub(crate) &'static [&'static str]);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}
