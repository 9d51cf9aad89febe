//! `contexture store copy`

use std::ffi::OsString;

use contexture_agents::wire::{CopiedObject, CopiedSessionObject};
use contexture_core::{
    Error, SessionId,
    storage::copy::{Copied, CopyOutcome, CopyStep, Progress, copy_all, copy_session},
};

use crate::{
    commands::Status,
    error::{Result, Stop},
    printer::Printer,
    sanitize,
    settings::Settings,
    store::{Access, StoreUrl},
};

/// Copy sessions to another store, read them back and compare
///
/// Everything is copied as it is: pages, history, level states, ledgers, run records. Without --session,
/// all sessions are copied. Changes made meanwhile are not part of the copy. A session appears in the
/// target only once it is complete, so an interrupted copy can simply be repeated.
///
/// A copy is a backup that can be repeated: an earlier state of a session in the target is brought up to
/// date, and an identical one is left alone. A session that has diverged in the target, by an edit there
/// or because it is a different session of that name, is refused and left as it is: copy to another store,
/// or remove it there first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture store copy --to sqlite:copy.db")]
pub(crate) struct Args {
    /// The store to copy to, created if it does not exist
    #[arg(long, value_name = "URL")]
    to: String,
    /// Sessions to copy, besides the one that --session names; by default all of them
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Whether --session was given.
    #[arg(skip)]
    named: bool,
}

impl Args {
    /// Notes whether a session was named: other commands have a default.
    pub(super) fn note_line(&mut self, line: &[OsString]) {
        let words = line.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
        self.named =
            words.into_iter().any(|word| word == "--session" || word.starts_with("--session="));
    }
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let to: StoreUrl = args.to.parse()?;
    refuse(&settings.store, &to)?;
    let mut sessions: Vec<SessionId> =
        args.sessions.iter().map(|name| name.parse()).collect::<Result<_, Error>>()?;
    if args.named && !sessions.contains(&settings.session) {
        sessions.insert(0, settings.session.clone());
    }
    let from = settings.store.open(Access::Existing).await?;
    // Checked before anything is created in the target.
    for session in &sessions {
        if from.session(session).await?.is_none() {
            return Err(Error::SessionNotFound { session: session.clone() }.into());
        }
    }
    let target = to.open(Access::Create).await?;
    let mut watch = |progress: Progress<'_>| printer.progress(&line(progress));
    let copied = if sessions.is_empty() {
        copy_all(&*from, &*target, &mut watch).await
    } else {
        let mut copied = Vec::new();
        let mut failed = None;
        for session in &sessions {
            match copy_session(&*from, &*target, session, &mut watch).await {
                Ok(one) => copied.push(one),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        failed.map_or(Ok(copied), Err)
    };
    print(&copied?, &to, printer)?;
    Ok(Status::Done)
}

/// Refuses to copy a store onto itself, or to memory.
fn refuse(from: &StoreUrl, to: &StoreUrl) -> Result<()> {
    let wrong = |why: &str| {
        Err(Stop::invalid(
            format!("cannot copy {from} to {to}: {why}"),
            "choose another store with --to",
        ))
    };
    match (from, to) {
        (_, StoreUrl::Memory) => wrong("memory: lasts for one command only"),
        (from, to) if from.is_same(to) => wrong("they are the same store"),
        _ => Ok(()),
    }
}

/// Returns the progress of a copy.
fn line(progress: Progress<'_>) -> String {
    let Progress { session, step, done, total } = progress;
    let (verb, what) = match step {
        CopyStep::Pages => ("copying", "pages"),
        CopyStep::History => ("copying", "edits"),
        CopyStep::Verifying => ("verifying", "pages"),
    };
    format!("{verb} {session}: {done} of {total} {what}")
}

fn print(copied: &[Copied], to: &StoreUrl, printer: &mut Printer<'_>) -> Result<()> {
    if printer.is_json() {
        let sessions = copied.iter().map(CopiedSessionObject::from);
        return printer.json(&CopiedObject { to: to.to_string(), sessions: sessions.collect() });
    }
    for copied in copied {
        let (session, digest) = (printer.paint().id(&copied.session), &copied.digest);
        let what = match copied.outcome {
            CopyOutcome::Copied => "copied and verified".to_owned(),
            CopyOutcome::BroughtForward(from) => {
                format!("updated from revision {from} and verified")
            }
            CopyOutcome::AlreadyThere => "already up to date".to_owned(),
        };
        printer.line(format_args!(
            "{session} {what}: revision {}, {} pages, {} edits, hash {}",
            copied.revision,
            digest.pages(),
            digest.entries(),
            copied.checksum()
        ))?;
    }
    let (count, to) = (copied.len(), sanitize::line(&to.to_string()));
    let sessions = if count == 1 { "session is" } else { "sessions are" };
    printer.line(format_args!("{count} {sessions} in {to}"))
}
