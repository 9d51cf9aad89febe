//! `contexture session set`

use contexture_core::{CustomKey, Edit};
use serde_json::{Map, Value, json};

use crate::{
    commands::Status, context::Caller, error::Result, harmless, printer::Printer,
    settings::Settings,
};

/// Set an entry of the session's custom state
///
/// It becomes part of the rendered context, as `custom`. Prints all entries.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture session set branch main
  contexture session set branch --clear")]
pub(crate) struct Args {
    /// Which entry: 1 to 100 characters
    #[arg(value_name = "KEY")]
    key: String,
    /// Its value
    #[arg(value_name = "VALUE", required_unless_present = "clear", allow_negative_numbers = true)]
    value: Option<String>,
    /// Clear the entry instead
    #[arg(long, conflicts_with = "value")]
    clear: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let key: CustomKey = args.key.parse()?;
    let caller = Caller::open(settings).await?;
    caller.apply(Edit::SetCustom { key, value: args.value }).await?;
    let system = caller.system();
    let custom = system.storage().custom(system.session()).await?;
    if printer.is_json() {
        let entries = custom.into_iter().map(|(key, value)| (key.to_string(), value.into()));
        let entries: Map<String, Value> = entries.collect();
        printer.json(&json!({ "custom": entries }))?;
        return Ok(Status::Done);
    }
    for (key, value) in custom {
        let key = printer.paint().id(harmless::line(key.as_str()));
        printer.line(format_args!("{key} = {}", harmless::line(&value)))?;
    }
    Ok(Status::Done)
}
