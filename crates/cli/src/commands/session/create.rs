//! `contexture session create`

use std::sync::Arc;

use contexture_agents::{setup::APP, wire::SessionObject};
use contexture_core::{ContextSystem, SessionId};
use contexture_storage::SystemClock;

use super::list;
use crate::{
    commands::Status,
    error::{Result, Stop},
    printer::Printer,
    settings::Settings,
    store::Access,
};

/// Create an empty session, without segments
///
/// `init` creates a session that is ready for use; this command is for sessions that get other segments,
/// or that a document is loaded into.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture session create review --app my-app")]
pub(crate) struct Args {
    /// Its name: letters, digits, '.', '_' and '-'
    #[arg(value_name = "NAME")]
    name: String,
    /// The application it belongs to
    #[arg(long, value_name = "ID", default_value = APP)]
    app: String,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session: SessionId = args.name.parse()?;
    let app = app(&args.app)?;
    let storage = settings.store.open(Access::Create).await?;
    let system = ContextSystem::create(storage, session, app, Arc::new(SystemClock)).await?;
    let info = system.info().await?;
    if printer.is_json() {
        printer.json(&SessionObject::from(&info))?;
    } else {
        printer.line(list::line(printer.paint(), &info, 0))?;
    }
    Ok(Status::Done)
}

fn app(text: &str) -> Result<&str> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 200 || text.chars().any(char::is_control) {
        let message =
            "invalid application id: it must have 1 to 200 characters and no control characters";
        return Err(Stop::invalid(message, "choose another id with --app"));
    }
    Ok(text)
}
