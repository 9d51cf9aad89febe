//! `contexture store check`

use contexture_core::{
    Clock, ErrorKind, PageStorage,
    check::{check_session, repair_session},
    storage::StorageError,
};
use contexture_storage::SystemClock;
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
/// Nothing is changed unless --repair is given. The exit code is 1 when something is wrong.
///
/// --repair derives anew what is derived, takes what cannot be read into a quarantine inside the store, and
/// mends what that leaves behind as edits that `history` shows: orphans go to their segment's root, pages
/// whose content is lost say so. It deletes nothing. Then it checks again. Make a copy of the store first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture store check")]
pub(crate) struct Args {
    /// Mend what can be mended
    #[arg(long)]
    repair: bool,
}

#[derive(Serialize)]
struct Checked {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<Vec<String>>,
    problems: Vec<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let mut repaired = args.repair.then(Vec::new);
    if let Some(done) = &mut repaired {
        match settings.store.salvage() {
            Ok(told) => done.extend(told),
            // Opening it says what is wrong.
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            Err(error) => return Err(error.into()),
        }
    }
    let problems = match settings.store.open(Access::Existing).await {
        Ok(storage) => {
            let mut beyond = Vec::new();
            if let Some(done) = &mut repaired {
                beyond = repair(&*storage, done).await?;
            }
            beyond.extend(check(&*storage).await?);
            beyond
        }
        // Damage is what is looked for here, so it is an answer and no failure.
        Err(Stop::Failed { kind: ErrorKind::Corrupt, message, .. }) => vec![message],
        Err(stop) => return Err(stop),
    };
    let checked = Checked { ok: problems.is_empty(), repaired, problems };
    if printer.is_json() {
        printer.json(&checked)?;
        return Ok(if checked.ok { Status::Done } else { Status::NotOk });
    }
    for done in checked.repaired.iter().flatten() {
        let label = printer.paint().strong("repaired:");
        printer.line(format_args!("{label} {}", harmless::line(done)))?;
    }
    if checked.ok {
        printer
            .line(format_args!("{} is in order", harmless::line(&settings.store.to_string())))?;
    } else {
        for problem in &checked.problems {
            let label = printer.paint().failure("problem:");
            printer.line(format_args!("{label} {}", harmless::line(problem)))?;
        }
        if !args.repair {
            printer.tip("`store check --repair` mends what can be mended; copy the store first")?;
        }
    }
    Ok(if checked.ok { Status::Done } else { Status::NotOk })
}

/// Mends what can be mended; returns what is beyond that.
async fn repair(storage: &dyn PageStorage, done: &mut Vec<String>) -> Result<Vec<String>> {
    let mut beyond = Vec::new();
    match storage.repair().await {
        Ok(told) => done.extend(told),
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            // Where the store itself does not hold, nothing is written to it.
            return Ok(vec![error.to_string()]);
        }
        Err(error) => return Err(error.into()),
    }
    let mut mended = false;
    let mut after = None;
    loop {
        let sessions = storage.sessions(after.as_ref(), BATCH).await?;
        for info in &sessions {
            match repair_session(storage, &info.id, SystemClock.now()).await {
                Ok(told) => {
                    mended |= !told.is_empty();
                    done.extend(told.iter().map(|told| format!("session {}: {told}", info.id)));
                }
                Err(error) if error.kind() == ErrorKind::Corrupt => beyond.push(error.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
        if sessions.len() < BATCH {
            break;
        }
        after = sessions.last().map(|info| info.id.clone());
    }
    if mended {
        // The edits just made remember what was there before, lost contents included.
        done.extend(storage.repair().await?);
    }
    Ok(beyond)
}

async fn check(storage: &dyn PageStorage) -> Result<Vec<String>> {
    // The storage itself looks at one moment. Not so a snapshot of it: that need not see its files.
    let mut problems = found(storage.verify().await)?;
    // On a snapshot: what others write meanwhile is no damage.
    let still = match storage.snapshot().await {
        Ok(still) => still,
        Err(error) => {
            problems.extend(found(Err(error))?);
            return Ok(problems);
        }
    };
    let mut after = None;
    loop {
        let sessions = match still.sessions(after.as_ref(), BATCH).await {
            Ok(sessions) => sessions,
            Err(error) => {
                problems.extend(found(Err(error))?);
                break;
            }
        };
        for info in &sessions {
            let wrong = found(check_session(&*still, &info.id).await)?;
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
