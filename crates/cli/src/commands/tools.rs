//! `contexture tools`

mod call;

use clap::Subcommand;
use contexture_agents::tools::context::CallForm;

use super::Status;
use crate::{error::Result, printer::Printer, settings::Settings};

/// Print tools with which a model that you run opens its own window
///
/// The tools are expand, find, read, pin and hide, as the model's provider takes them: offer them beside your
/// own, and pass calls of them to `contexture tools call`. The window that your model is sent comes from
/// `contexture window --format F --fold`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  contexture tools
  contexture tools --format anthropic")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The provider's form: openai, responses, anthropic or gemini
    #[arg(long, value_name = "F", default_value = "openai")]
    format: CallForm,
}

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
enum Command {
    Call(call::Args),
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match args.command {
        Some(Command::Call(args)) => call::run(args, settings, printer).await,
        None => {
            printer.line(args.format.unfold_tools())?;
            Ok(Status::Done)
        }
    }
}
