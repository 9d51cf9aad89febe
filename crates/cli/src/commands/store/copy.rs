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
    harmless,
    printer::Printer,
    settings::Settings,
    store::{Access, StoreUrl},
};

/// Copy sessions to another store, read them back and compare
///
/// Everything goes over as it is: pages, history, level states, ledgers, run records. Without --session
/// all sessions go. What is written meanwhile is not part of the copy. Nothing shows in the target before
/// a session is whole, so a copy that was interrupted is simply made again.
///
/// A copy is a backup that can be repeated: where the target holds an earlier state of a session, that is
/// brought forward, and what is the same is left alone. A session that has gone its own way in the target,
/// by an edit there or because it is another one of that name, is refused and left as it is: copy to
/// another store, or remove it there first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture store copy --to sqlite:copy.db")]
pub(crate) struct Args {
    /// The store to copy to, made where it does not exist
    #[arg(long, value_name = "URL")]
    to: String,
    /// Sessions to copy, beside the one that --session names; without any, all of them
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Whether --session was given.
    #[arg(skip)]
    named: bool,
}

impl Args {
    /// Notes whether a session was named: there is a default for the other commands.
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
    // Before anything is made there.
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

/// Refuses to copy a store onto itself, or to where nothing lasts.
fn refuse(from: &StoreUrl, to: &StoreUrl) -> Result<()> {
    let wrong = |why: &str| {
        Err(Stop::invalid(
            format!("{from} cannot be copied to {to}: {why}"),
            "name another with --to",
        ))
    };
    match (from, to) {
        (_, StoreUrl::Memory) => wrong("memory lives as long as one command"),
        (from, to) if from.is_same(to) => wrong("they are the same store"),
        _ => Ok(()),
    }
}

/// Says how far a copy has come.
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
                format!("brought forward from revision {from} and verified")
            }
            CopyOutcome::AlreadyThere => "already there, the same".to_owned(),
        };
        printer.line(format_args!(
            "{session} {what}: revision {}, {} pages, {} edits, hash {}",
            copied.revision,
            digest.pages(),
            digest.entries(),
            copied.checksum()
        ))?;
    }
    let (count, to) = (copied.len(), harmless::line(&to.to_string()));
    let sessions = if count == 1 { "session is" } else { "sessions are" };
    printer.line(format_args!("{count} {sessions} in {to}"))
}
