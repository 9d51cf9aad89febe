//! `contexture session list`

use contexture_agents::wire::{ListObject, SessionObject};
use contexture_core::{SessionId, storage::SessionInfo};

use crate::{
    args::ListArgs,
    commands::Status,
    error::Result,
    lines,
    printer::{Paint, Printer},
    sanitize,
    settings::Settings,
    store::Access,
};

/// List the sessions in the store, by name
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture session list")]
pub(crate) struct Args {
    #[command(flatten)]
    list: ListArgs,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let after: Option<SessionId> = args.list.cursor.as_deref().map(str::parse).transpose()?;
    let storage = settings.store.open(Access::Existing).await?;
    let limit = args.list.limit();
    let mut sessions = storage.sessions(after.as_ref(), limit + 1).await?;
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| more).map(|info| info.id.to_string());
    if printer.is_json() {
        let items = sessions.iter().map(SessionObject::from).collect();
        printer.json(&ListObject { items, next })?;
        return Ok(Status::Done);
    }
    let width = sessions.iter().map(|info| info.id.as_str().len()).max().unwrap_or(0);
    for info in &sessions {
        printer.line(line(printer.paint(), info, width))?;
    }
    printer.more(next.as_deref(), None)?;
    Ok(Status::Done)
}

/// Returns a session as one line.
pub(super) fn line(paint: Paint, info: &SessionInfo, width: usize) -> String {
    lines::join([
        paint.id(format!("{:width$}", info.id.as_str())),
        format!("revision {}", info.revision),
        paint.dim(format!("changed {}", lines::time(info.updated_at))),
        sanitize::line(&info.app),
    ])
}
