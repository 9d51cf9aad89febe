//! `contexture store check`

use contexture_core::{Error, ErrorKind, PageStorage, check::check_session, storage::StorageError};
use serde::Serialize;

use crate::{
    commands::Status,
    error::{Result, Stop},
    harmless,
    printer::Printer,
    settings::Settings,
    store::Access,
};

/// How many sessions are read at a time.
const BATCH: usize = 100;

/// Check the whole store: its file, its checksums and the tree of every session
///
/// Nothing is changed. The exit code is 1 when something is wrong.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture store check")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Checked {
    ok: bool,
    problems: Vec<String>,
}

pub(crate) async fn run(_: Args, settings: &Settings, printer: &mut Printer<'_>) -> Result<Status> {
    let problems = match settings.store.open(Access::Existing) {
        // On a snapshot: what others write meanwhile is no damage.
        Ok(storage) => check(&*storage.snapshot().await.map_err(Error::from)?).await?,
        // Damage is what is looked for here, so it is an answer and no failure.
        Err(Stop::Failed { kind: ErrorKind::Corrupt, message, .. }) => vec![message],
        Err(stop) => return Err(stop),
    };
    let checked = Checked { ok: problems.is_empty(), problems };
    if printer.is_json() {
        printer.json(&checked)?;
    } else if checked.ok {
        printer
            .line(format_args!("{} is in order", harmless::line(&settings.store.to_string())))?;
    } else {
        for problem in &checked.problems {
            let label = printer.paint().failure("problem:");
            printer.line(format_args!("{label} {}", harmless::line(problem)))?;
        }
    }
    Ok(if checked.ok { Status::Done } else { Status::NotOk })
}

async fn check(storage: &dyn PageStorage) -> Result<Vec<String>> {
    let mut problems = found(storage.verify().await)?;
    let mut after = None;
    loop {
        let sessions = match storage.sessions(after.as_ref(), BATCH).await {
            Ok(sessions) => sessions,
            Err(error) => {
                problems.extend(found(Err(error))?);
                break;
            }
        };
        for info in &sessions {
            let wrong = found(check_session(storage, &info.id).await)?;
            problems.extend(wrong.iter().map(|wrong| format!("session {}: {wrong}", info.id)));
        }
        if sessions.len() < BATCH {
            break;
        }
        after = sessions.last().map(|info| info.id.clone());
    }
    Ok(problems)
}

/// Counts damage that stops a check as a problem found.
fn found(checked: Result<Vec<String>, StorageError>) -> Result<Vec<String>> {
    match checked {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(vec![error.to_string()]),
        checked => Ok(checked?),
    }
}
