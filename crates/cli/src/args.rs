//! The command line as it is typed. Help is written here and on each command's `Args`, once.

use std::ffi::OsStr;

use clap::{
    Arg, Args, Command, Parser,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use contexture_agents::wire::Texts;

use crate::commands;

/// Virtual memory for the context window of LLM agents.
///
/// Contexture keeps everything an agent has seen, said and done as a durable tree of pages. Pages
/// live in segments (`sys` for system prompts, `usr` for the conversation …), have an index such as
/// usr-3, and nothing is lost: fold lowers what the model sees, remove archives, undo takes back, only
/// purge destroys.
///
/// Begin with `contexture tour`, or in a folder of your own with `contexture init`, or with
/// `contexture import FILE` of a conversation you have.
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

/// Flags every command takes, before it or after it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// The store: sqlite:PATH, files:DIR, postgres://…, s3://BUCKET/PREFIX or memory: [default:
    /// sqlite:.contexture/contexture.db, here or in the nearest folder above]
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
    /// Act as this agent, within its view and permissions; without it, as the system side
    #[arg(long = "as", global = true, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Who acts on the system side: the name stands in the history [env: CONTEXTURE_USER]
    #[arg(long, global = true, value_name = "USER", conflicts_with = "agent")]
    pub(crate) by: Option<String>,
    /// Print JSON: data on standard output, an error as one object on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// How much of a list is printed, and from where on.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print at most this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Go on where a list ended: its `next`
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

/// Whether pages of a list come with what they say.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TextArgs {
    /// With --json, print the text and the messages of each page too
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

/// Takes any text and suggests some, so that the core says what is wrong with the others.
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
