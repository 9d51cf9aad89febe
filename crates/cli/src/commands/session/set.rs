//! `contexture session set`

use contexture_agents::wire::CustomObject;
use contexture_core::{Edit, message::RawJson, storage::CustomKey};

use crate::{
    commands::Status,
    context,
    error::{Result, Stop},
    printer::Printer,
    sanitize,
    settings::Settings,
};

/// The entry that holds the budget of every view.
const BUDGET: &str = "budget";

/// Set an entry of the session's custom state
///
/// The entry becomes part of the rendered context, as `custom`. The entry `budget` is the token budget of
/// a window in every view, unless `window` or `fold` is given --budget. A value is text, or any JSON with
/// --as-json. Prints all entries.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture session set branch main
  contexture session set budget 16000
  contexture session set limits '{\"retries\":3}' --as-json
  contexture session set branch --clear")]
pub(crate) struct Args {
    /// The entry's key, 1 to 100 characters
    #[arg(value_name = "KEY")]
    key: String,
    /// Its value
    #[arg(value_name = "VALUE", required_unless_present = "clear", allow_negative_numbers = true)]
    value: Option<String>,
    /// Parse the value as JSON: a number, a list, an object
    #[arg(long, requires = "value")]
    as_json: bool,
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
    check(&key, args.value.as_deref())?;
    let value = args.value.map(|text| stored(&key, text, args.as_json)).transpose()?;
    let session = context::open(settings).await?;
    session.apply(Edit::SetCustom { key, value }).await?;
    let mut custom = session.custom().await?;
    custom.retain(|(key, _)| !key.is_own());
    if printer.is_json() {
        printer.json(&CustomObject::new(custom))?;
        return Ok(Status::Done);
    }
    for (key, value) in custom {
        let key = printer.paint().id(sanitize::line(key.as_str()));
        let value = RawJson::of_text(&value);
        let text = value.read::<String>().unwrap_or_else(|_| value.as_str().to_owned());
        printer.line(format_args!("{key} = {}", sanitize::line(&text)))?;
    }
    Ok(Status::Done)
}

/// Returns a value as it is stored: text that could be taken for JSON is written as a JSON string.
fn stored(key: &CustomKey, text: String, as_json: bool) -> Result<String> {
    match RawJson::new(&text) {
        Err(error) if as_json => {
            let message = format!("invalid value of '{key}': it is not JSON: {error}");
            Err(Stop::invalid(message, "quote it for the shell, or leave out --as-json"))
        }
        Ok(_) if !as_json && key.as_str() != BUDGET => {
            Ok(RawJson::string(&text).as_str().to_owned())
        }
        Ok(_) | Err(_) => Ok(text),
    }
}

/// Refuses keys that belong to the engine, and budgets that are not numbers.
fn check(key: &CustomKey, value: Option<&str>) -> Result<()> {
    if key.is_own() {
        let own = CustomKey::OWN_PREFIX;
        let message =
            format!("invalid key '{key}': keys that begin with '{own}' belong to the engine");
        return Err(Stop::invalid(message, "choose another key"));
    }
    match value {
        Some(text) if key.as_str() == BUDGET && text.trim().parse::<u64>().is_err() => {
            let message = format!("invalid budget '{text}': it is not a whole number of tokens");
            Err(Stop::invalid(message, "give a number of tokens, such as 16000"))
        }
        _ => Ok(()),
    }
}
