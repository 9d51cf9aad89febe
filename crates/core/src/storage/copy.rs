//! Copying sessions from one storage to another, whatever the two are.
//!
//! ```text
//! source ──► snapshot ──► part by part ──► target, where nothing shows yet ──► the whole appears
//!                 └── counts and checksums ──── compared ──── counts and checksums ◄── read back
//! ```
//!
//! A copy is the session itself: versions, revisions, places, times, history, level states, ledgers
//! and run records are what they were. Token counts are not copied, they are made again. What is
//! written to the source meanwhile is not part of it: the copy is of the moment it began.
//!
//! A copy can be repeated: a target that holds an earlier state of the session is brought forward. It
//! shows that state until the new one takes its place whole.

mod digest;
mod lineage;
mod walk;

pub use digest::SessionDigest;

use crate::{
    Error, PageStorage, Result, Revision, SessionId,
    storage::{Checksum, ImportPart, SessionInfo, StorageError},
};
use digest::Tally;
use lineage::{Beside, own_way};
use walk::Walk;

/// How many sessions are listed at a time.
const BATCH: usize = 100;

/// A session that was copied, or need not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Which.
    pub session: SessionId,
    /// The state that was copied.
    pub revision: Revision,
    /// Whether it had to be.
    pub outcome: CopyOutcome,
    /// What both hold.
    pub digest: SessionDigest,
}

/// Whether a session had to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyOutcome {
    /// It was copied, read back, and is the same.
    Copied,
    /// An earlier state of it was there, of this revision; now it is the same.
    BroughtForward(Revision),
    /// The same session was there already.
    AlreadyThere,
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Which session.
    pub session: &'a SessionId,
    /// What is being done.
    pub step: CopyStep,
    /// How much of it is done: pages, or edits of history.
    pub done: u64,
    /// How much there is at most.
    pub total: u64,
}

/// The steps of a copy, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStep {
    /// Pages go over.
    Pages,
    /// History goes over, with the contents it assigns.
    History,
    /// What was written is read back; pages are counted.
    Verifying,
}

/// Hears how far a copy has come.
pub type Watch<'a> = &'a mut (dyn FnMut(Progress<'_>) + Send);

/// Copies a session as it stands now, and reads the copy back to be sure of it.
///
/// A session that is in the target already is left as it is where it is the same, and brought forward
/// where it is an earlier state of this one. One that has gone its own way is left as it is too, and an
/// error ([`Error::OtherSession`]). A copy that was interrupted shows nowhere, and the next one begins
/// again.
pub async fn copy_session(
    from: &dyn PageStorage,
    to: &dyn PageStorage,
    session: &SessionId,
    watch: Watch<'_>,
) -> Result<Copied> {
    let source = from.snapshot().await?;
    copy(&*source, to, session, watch).await
}

/// Copies every session of a storage, all as they stand now. The first that fails ends it; those
/// before it are copied.
pub async fn copy_all(
    from: &dyn PageStorage,
    to: &dyn PageStorage,
    watch: Watch<'_>,
) -> Result<Vec<Copied>> {
    let source = from.snapshot().await?;
    let mut copied: Vec<Copied> = Vec::new();
    loop {
        let after = copied.last().map(|last| last.session.clone());
        let sessions = source.sessions(after.as_ref(), BATCH).await?;
        let done = sessions.len() < BATCH;
        for info in sessions {
            copied.push(copy(&*source, to, &info.id, watch).await?);
        }
        if done {
            return Ok(copied);
        }
    }
}

/// Copies a session from a storage that stands still.
async fn copy(
    source: &dyn PageStorage,
    to: &dyn PageStorage,
    session: &SessionId,
    watch: Watch<'_>,
) -> Result<Copied> {
    let over = match compare(source, to, session, watch).await? {
        Held::Missing => None,
        Held::Same(digest) => {
            return Ok(copied(session, CopyOutcome::AlreadyThere, digest));
        }
        Held::Earlier(over) => Some(over),
    };
    let outcome = match &over {
        Some(over) => CopyOutcome::BroughtForward(over.info.revision),
        None => CopyOutcome::Copied,
    };
    let sent = send(source, to, session, over.as_ref(), watch).await?;
    let there = match read_back(to, session, watch).await {
        Ok(there) => there,
        Err(Error::Storage(error @ StorageError::Corrupt { .. })) => {
            to.remove_session(session).await?;
            return Err(differs(session, error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let Some(what) = sent.difference(&there) else {
        return Ok(copied(session, outcome, sent));
    };
    if there.info().revision > sent.info().revision {
        // Somebody works on it already: it is theirs now.
        return Err(Error::OtherSession { session: session.clone(), what });
    }
    to.remove_session(session).await?;
    Err(differs(session, what))
}

/// What a target holds of a session.
enum Held {
    Missing,
    Same(SessionDigest),
    Earlier(Over),
}

/// An earlier state that a copy takes the place of.
struct Over {
    info: SessionInfo,
    beside: Beside,
}

/// Compares what a target holds of a session with the source; an error if it has gone its own way.
async fn compare(
    source: &dyn PageStorage,
    to: &dyn PageStorage,
    session: &SessionId,
    watch: Watch<'_>,
) -> Result<Held> {
    let still = to.snapshot().await?;
    let Some(there) = still.session(session).await? else { return Ok(Held::Missing) };
    let Some(here) = source.session(session).await? else {
        return Err(Error::SessionNotFound { session: session.clone() });
    };
    let other = |what| Error::OtherSession { session: session.clone(), what };
    if here == there {
        let ours = digest(source, session).await?;
        let theirs = read_through(&*still, session, watch).await?;
        match ours.difference(&theirs) {
            None => return Ok(Held::Same(ours)),
            // Edits make the same of the same.
            Some(what) if !ours.has_same_edits(&theirs) => return Err(other(what)),
            Some(_) => {}
        }
    }
    if let Some(what) = own_way(source, &*still, session).await? {
        return Err(other(what));
    }
    let beside = Beside::of(&*still, session).await?;
    Ok(Held::Earlier(Over { info: there, beside }))
}

fn copied(session: &SessionId, outcome: CopyOutcome, digest: SessionDigest) -> Copied {
    Copied { session: session.clone(), revision: digest.info().revision, outcome, digest }
}

fn differs(session: &SessionId, what: String) -> Error {
    Error::CopyDiffers { session: session.clone(), what }
}

async fn digest(storage: &dyn PageStorage, session: &SessionId) -> Result<SessionDigest> {
    let digest = SessionDigest::of(storage, session).await?;
    digest.ok_or_else(|| Error::SessionNotFound { session: session.clone() })
}

/// Sends a session over, to appear with its last part, in the place of an earlier state if there is one.
async fn send(
    source: &dyn PageStorage,
    to: &dyn PageStorage,
    session: &SessionId,
    over: Option<&Over>,
    watch: Watch<'_>,
) -> Result<SessionDigest> {
    let Some(mut walk) = Walk::of(source, session).await? else {
        return Err(Error::SessionNotFound { session: session.clone() });
    };
    let mut tally = Tally::default();
    let failed = |what, error| Error::NotCopied { session: session.clone(), what, error };
    loop {
        let reading = walk.reading();
        let part = walk.next().await.map_err(|error| failed(reading, error))?;
        let Some(part) = part else { break };
        tally.add(&part);
        let part = match (part, over) {
            (ImportPart::Begin, Some(over)) => ImportPart::BeginOver(over.info.clone()),
            (part @ ImportPart::Finish(_), Some(over)) => {
                still_stands(to, session, over).await?;
                part
            }
            (part, _) => part,
        };
        let what = named(&part);
        let done = match &part {
            ImportPart::History(entries) => entries.last().map(|entry| entry.revision.0),
            _ => None,
        };
        to.import(session, part).await.map_err(|error| failed(what, error))?;
        let (step, done, total) = match done {
            Some(done) => (CopyStep::History, done, walk.info().revision.0),
            None => (CopyStep::Pages, tally.pages(), walk.numbers),
        };
        watch(Progress { session, step, done, total });
    }
    Ok(tally.end(walk.info().clone()))
}

/// Refuses to take the place of a state to which something was written beside edits. Edits the target
/// notices itself.
async fn still_stands(to: &dyn PageStorage, session: &SessionId, over: &Over) -> Result<()> {
    if Beside::of(to, session).await? == over.beside {
        return Ok(());
    }
    let what = "something else wrote to it during the copy".to_owned();
    Err(Error::OtherSession { session: session.clone(), what })
}

/// Reads what the target holds of a session.
async fn read_back(
    to: &dyn PageStorage,
    session: &SessionId,
    watch: Watch<'_>,
) -> Result<SessionDigest> {
    read_through(&*to.snapshot().await?, session, watch).await
}

async fn read_through(
    there: &dyn PageStorage,
    session: &SessionId,
    watch: Watch<'_>,
) -> Result<SessionDigest> {
    let Some(mut walk) = Walk::of(there, session).await? else {
        return Err(Error::SessionNotFound { session: session.clone() });
    };
    let mut tally = Tally::default();
    while let Some(part) = walk.next().await? {
        tally.add(&part);
        let (step, total) = (CopyStep::Verifying, walk.numbers);
        watch(Progress { session, step, done: tally.pages(), total });
    }
    Ok(tally.end(walk.info().clone()))
}

/// Says which part it is, for an error.
fn named(part: &ImportPart) -> String {
    match part {
        ImportPart::Begin | ImportPart::BeginOver(_) => "its beginning".to_owned(),
        ImportPart::Segments(_) => "its segments".to_owned(),
        ImportPart::Pages(pages) => {
            let ends = pages.first().zip(pages.last());
            ends.map_or_else(String::new, |(first, last)| {
                format!("pages {} to {}", first.index, last.index)
            })
        }
        ImportPart::Contents(contents) => {
            let first = contents.first().map(|content| content.hash().to_string());
            format!("{} contents from {}", contents.len(), first.unwrap_or_default())
        }
        ImportPart::History(entries) => {
            let ends = entries.first().zip(entries.last());
            ends.map_or_else(String::new, |(first, last)| {
                format!("revisions {} to {}", first.revision, last.revision)
            })
        }
        ImportPart::Levels(_) => "its level states".to_owned(),
        ImportPart::Views(_) => "its views".to_owned(),
        ImportPart::Custom(_) => "its custom state".to_owned(),
        ImportPart::Runs(_) => "its run records".to_owned(),
        ImportPart::Ledger(key, _) => format!("the {} ledger of view {}", key.format, key.view),
        ImportPart::Finish(_) => "its end".to_owned(),
    }
}

impl Copied {
    /// Returns one checksum over all that both hold.
    pub fn checksum(&self) -> Checksum {
        self.digest.checksum()
    }
}
