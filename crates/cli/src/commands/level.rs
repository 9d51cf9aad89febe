//! `contexture level`

use contexture_agents::wire::LevelObject;
use contexture_core::{Edit, Level};

use super::{Status, window::LEVELS};
use crate::{args::Suggested, context, error::Result, printer::Printer, settings::Settings};

/// Switch your view to a level of detail, or print its current level
///
/// Nothing is shown in more detail until the next switch; segments of kind system stay in full. The
/// switch is an edit of your view alone, and `undo` reverts it. For one window only, use
/// `window --level`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture level summary
  contexture level")]
pub(crate) struct Args {
    /// The level: full, summary or gist
    #[arg(value_name = "LEVEL", value_parser = Suggested(LEVELS))]
    level: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let wanted: Option<Level> = args.level.as_deref().map(str::parse).transpose()?;
    let session = context::open(settings).await?;
    let revision = match wanted {
        Some(level) if level != session.reader().level_switched().await? => {
            Some(session.apply(Edit::SwitchLevel(level)).await?.revision)
        }
        _ => None,
    };
    let level = session.reader().level_switched().await?;
    if printer.is_json() {
        printer.json(&LevelObject { level, revision })?;
        return Ok(Status::Done);
    }
    match revision {
        Some(revision) => {
            printer.line(format_args!("level {}, set in revision {revision}", level.as_str()))?;
        }
        None => printer.line(level.as_str())?,
    }
    Ok(Status::Done)
}
