//! `contexture tools call`

use std::path::PathBuf;

use contexture_agents::tools::context::{CallForm, Calls, HostTools};
use contexture_core::Format;
use serde::Serialize;
use serde_json::Value;

use crate::{
    commands::{Status, window},
    context,
    error::{Result, Stop},
    input,
    printer::Printer,
    project::Project,
    settings::Settings,
    shares::{self, ShareArgs},
};

/// Make calls of these tools, and print what answers them
///
/// Reads one call, or an array of calls, as the model's provider wrote them, and prints the messages that the
/// next request holds behind them. A call that fails is answered as well: the model reads why.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture turn add --user 'When is the launch?' --assistant 'On Friday.'
  echo '{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"find\",\"input\":{\"query\":\"launch\"}}' |
    contexture tools call --format anthropic -")]
pub(crate) struct Args {
    /// The file that holds the calls; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The provider's form: openai, responses, anthropic or gemini
    #[arg(long, value_name = "F", default_value = "openai")]
    format: CallForm,
    /// The token budget of the windows that the model is sent
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
}

/// What answers calls.
#[derive(Debug, Serialize)]
struct AnsweredObject {
    /// The messages.
    messages: Vec<Value>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let text = input::text(&args.file)?;
    let hint = "give one call, or an array of calls, as the model's provider wrote them";
    let wrong = |why: String| Stop::invalid(why, hint);
    let calls = match serde_json::from_str(&text) {
        Ok(Value::Array(calls)) => calls,
        Ok(call) => vec![call],
        Err(error) => return Err(wrong(format!("the calls are not valid JSON: {error}"))),
    };
    let calls = Calls::read(args.format, &calls).map_err(wrong)?;
    let format: Format = args.format.as_str().parse()?;
    let mut options = window::options(format, args.budget, None);
    let project = Project::load()?;
    let agent = shares::agent(&project, settings)?;
    options.shares = project.shares(&ShareArgs::default().read()?, agent)?.shares();
    let (session, index) = context::open_search(settings).await?;
    let tools = HostTools::unfold(session, options, index);
    printer.json(&AnsweredObject { messages: calls.answer(&tools).await })?;
    Ok(Status::Done)
}
