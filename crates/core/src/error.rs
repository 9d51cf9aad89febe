//! Errors, grouped into a few public kinds by what the caller can do about them.
//!
//! Every [`Error`] has a [`kind`](Error::kind), a message that says what happened to which thing, and an
//! [`advice`](Error::advice) that says what to do next. Advice is data: each surface puts it into its own
//! words. Library code never ends the process.

mod advice;
mod remedy;

pub use advice::Advice;

use crate::{
    AppendKey, Operation, PageIndex, PageName, Revision, SegmentId, SessionId,
    storage::{CustomKey, RunKey, StorageError, Version},
};

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request itself is wrong: fix it.
    Invalid,
    /// The thing named does not exist, or not for this caller.
    NotFound,
    /// The caller may not do this: ask for access.
    PermissionDenied,
    /// The state that the request was based on has changed: read it again and retry.
    Conflict,
    /// Something exceeds a limit.
    TooLarge,
    /// A storage or provider cannot be reached: retry later.
    Unavailable,
    /// Stored data is damaged: repair it or restore it from a copy.
    Corrupt,
}

impl ErrorKind {
    /// Returns the kind as it is spelt in JSON and in documentation.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "invalid",
            ErrorKind::NotFound => "not-found",
            ErrorKind::PermissionDenied => "permission-denied",
            ErrorKind::Conflict => "conflict",
            ErrorKind::TooLarge => "too-large",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Corrupt => "corrupt",
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The result of most operations here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An operation that did not happen. Nothing was changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A page index does not follow the grammar.
    #[error("invalid page index '{text}': {reason}")]
    InvalidIndex {
        /// What was given.
        text: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A name, description, id or other text does not follow its rule.
    #[error("invalid {what} '{text}': {reason}")]
    InvalidText {
        /// What the text was to be, such as `segment id`.
        what: &'static str,
        /// What was given, shortened.
        text: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A value is not one of those known.
    #[error("unknown {what} '{text}'")]
    UnknownValue {
        /// What the value was to be, such as `permission`.
        what: &'static str,
        /// What was given.
        text: String,
        /// The values that are known, for the hint.
        known: &'static str,
    },
    /// Messages that do not form whole exchanges or are not messages at all.
    #[error("invalid messages: {reason}")]
    InvalidMessages {
        /// What is wrong, and with which message.
        reason: String,
    },
    /// Nothing can follow an exchange of the caller's own that still waits for results.
    #[error("page {page} still waits for {}", calls_named(calls))]
    ExchangeOpen {
        /// The page that ends with it.
        page: PageIndex,
        /// The calls without results.
        calls: Vec<String>,
    },
    /// A result for a call that is not among those of the exchange.
    #[error("tool call '{}' not found in page {page}", crate::index::shorten(call))]
    CallNotFound {
        /// The call named.
        call: String,
        /// The page that ends with the exchange.
        page: PageIndex,
        /// The calls that wait for results.
        open: Vec<String>,
    },
    /// A result for a call that has one.
    #[error("tool call '{}' in page {page} already has a result", crate::index::shorten(call))]
    CallAnswered {
        /// The call named.
        call: String,
        /// The page that ends with the exchange.
        page: PageIndex,
    },
    /// A document that cannot be loaded.
    #[error("invalid document: {reason}")]
    InvalidDocument {
        /// What is wrong, and where.
        reason: String,
    },
    /// A request that makes no sense whatever the state.
    #[error("{reason}")]
    InvalidRequest {
        /// What is wrong.
        reason: String,
        /// What to do instead.
        advice: Advice,
    },
    /// A DetailPage was named where a directory is needed.
    #[error("page {page} is not a ContentsPage")]
    NotContentsPage {
        /// The page named.
        page: PageIndex,
    },
    /// A ContentsPage was named where messages are needed.
    #[error("page {page} is not a DetailPage")]
    NotDetailPage {
        /// The page named.
        page: PageIndex,
    },
    /// A move or adoption would make a page its own ancestor.
    #[error(
        "page {page} cannot be placed under {target}, which is the page itself or one of its descendants"
    )]
    Cycle {
        /// The page to be moved.
        page: PageIndex,
        /// Where to.
        target: PageIndex,
    },
    /// Roots live and die with their segment.
    #[error("page {page} is the root of its segment and cannot be {verb}")]
    Root {
        /// The root.
        page: PageIndex,
        /// What was tried, as a participle: moved, removed …
        verb: &'static str,
    },
    /// The root of a System-kind segment is always expanded.
    #[error("system root page {page} cannot be hidden")]
    SystemRoot {
        /// The root.
        page: PageIndex,
    },
    /// While a System-kind segment is read-only, all its pages are shown in full.
    #[error(
        "page {page} cannot be hidden: its segment is a read-only system prompt, which every view shows in full"
    )]
    PromptStands {
        /// The page.
        page: PageIndex,
    },
    /// A page would be too deep in the tree.
    #[error("a page under {under} would be {depth} directories deep; the limit is {limit}")]
    TooDeep {
        /// The page itself, or the directory it would be under.
        under: PageIndex,
        /// How deep.
        depth: usize,
        /// The limit in force.
        limit: usize,
    },
    /// The page is pinned in memory.
    #[error("page {page} cannot be dropped from memory: {why}")]
    PageInUse {
        /// The page.
        page: PageIndex,
        /// What keeps it there.
        why: &'static str,
    },
    /// Expanding under a hidden ancestor would show nothing.
    #[error("page {page} is under {ancestor}, which is hidden")]
    HiddenAncestor {
        /// The page to be expanded.
        page: PageIndex,
        /// The nearest hidden ancestor.
        ancestor: PageIndex,
    },
    /// The directory given for a new page does not exist, or not for this caller.
    #[error("page {parent} not found, so page '{page}' was not created in it")]
    ParentNotFound {
        /// The name of the new page.
        page: PageName,
        /// The directory named.
        parent: PageIndex,
    },
    /// The page does not exist, or not for this caller.
    #[error("page {page} not found")]
    PageNotFound {
        /// The page named.
        page: PageIndex,
    },
    /// The page was moved to another segment and has a new index.
    #[error("page {page} not found: moved to {to}")]
    PageMoved {
        /// The index named.
        page: PageIndex,
        /// Its index now.
        to: PageIndex,
    },
    /// The page is in the archive.
    #[error("page {page} not found: it is in the archive")]
    PageArchived {
        /// The page named.
        page: PageIndex,
    },
    /// The segment does not exist, or not for this caller.
    #[error("segment {segment} not found")]
    SegmentNotFound {
        /// The segment named.
        segment: SegmentId,
    },
    /// The session does not exist.
    #[error("session '{session}' not found")]
    SessionNotFound {
        /// The session named.
        session: SessionId,
    },
    /// There is no edit that could be undone.
    #[error("nothing to undo: {actor} has made no edit that is still in effect")]
    NothingToUndo {
        /// The actor whose edits were searched.
        actor: crate::Actor,
    },
    /// Something else that was asked for does not exist.
    #[error("{what} not found")]
    NothingFound {
        /// What was asked for.
        what: String,
        /// What to do next.
        advice: Advice,
    },
    /// The caller's permission on the segment does not admit the operation.
    #[error("permission denied: operation '{operation}' on {subject} requires higher permission")]
    Refused {
        /// The operation.
        operation: Operation,
        /// The page or segment it was to act on.
        subject: String,
    },
    /// No agent hides the system prompt's root.
    #[error(
        "permission denied: cannot hide system prompt root page {page}: agent must remain constrained by system prompts"
    )]
    RefusedSystemRoot {
        /// The root.
        page: PageIndex,
    },
    /// The operation belongs to the system side alone.
    #[error("permission denied: {what} belongs to the system side")]
    SystemSideOnly {
        /// The operation or command.
        what: String,
    },
    /// System-role messages come from the system side alone.
    #[error(
        "permission denied: message {number} speaks as the system, which only the system side may"
    )]
    SystemSpeech {
        /// Which of the messages, from 1.
        number: usize,
    },
    /// The caller's view hides some of the pages that the operation would move or replace.
    #[error(
        "permission denied: operation '{operation}' on {page}: this view shows only part of it"
    )]
    SeenInPart {
        /// The operation.
        operation: Operation,
        /// The page named.
        page: PageIndex,
    },
    /// Something with that name exists already.
    #[error("{what} already exists")]
    AlreadyExists {
        /// What exists, with its name.
        what: String,
    },
    /// A segment that still holds pages.
    #[error("segment {segment} still holds pages")]
    SegmentNotEmpty {
        /// The segment.
        segment: SegmentId,
    },
    /// A key of an append that was used for something else.
    #[error("key '{key}' was already used to append something else")]
    KeyReused {
        /// The key.
        key: AppendKey,
    },
    /// A document was to be loaded into a session that already holds segments.
    #[error("the session already holds segments")]
    SessionNotEmpty,
    /// The page is not at the version the caller expected.
    #[error("page {page} is at version {found}, not {expected}")]
    VersionMismatch {
        /// The page.
        page: PageIndex,
        /// The version the caller named.
        expected: Version,
        /// The version it has.
        found: Version,
    },
    /// An edit cannot be undone because a later one changed the same thing.
    #[error("revision {revision} cannot be undone: revision {later} changed {subject} since")]
    BuiltUpon {
        /// The edit to be undone.
        revision: Revision,
        /// The later edit.
        later: Revision,
        /// The page, segment or key both touch.
        subject: String,
    },
    /// An edit cannot be undone because the state it would restore is no longer possible.
    #[error("revision {revision} cannot be undone: {reason}")]
    CannotUndo {
        /// The edit to be undone.
        revision: Revision,
        /// Why not.
        reason: String,
    },
    /// Others kept changing what the edit was based on.
    #[error("gave up after {attempts} attempts: others keep changing {subject}")]
    TooManyRaces {
        /// How often it was tried.
        attempts: u32,
        /// What moved the last time.
        subject: String,
    },
    /// A fold was planned on levels that have changed since.
    #[error("the level of {page} has changed since the fold was planned")]
    FoldOutdated {
        /// The page.
        page: PageIndex,
    },
    /// Custom state that is no longer what the caller read.
    #[error("custom state '{key}' has changed since it was read")]
    CustomMoved {
        /// Which.
        key: CustomKey,
    },
    /// An anchor that was shown earlier and no longer fits the page.
    #[error("anchor '{key}' is stale: {reason}")]
    StaleAnchor {
        /// The anchor pressed.
        key: String,
        /// What happened since.
        reason: String,
        /// The anchor to press instead, if there is one.
        fresh: Option<String>,
    },
    /// A window that cannot be made to fit.
    #[error(
        "the window takes {tokens} tokens at the lowest levels, the budget is {budget}: {culprit}"
    )]
    WindowTooLarge {
        /// What it takes at least.
        tokens: u64,
        /// What it may take.
        budget: u64,
        /// What is too big.
        culprit: String,
    },
    /// A system prompt lost its text when the store was damaged. No agent runs without it unnoticed.
    #[error("system prompt page {page} was lost, and no request is sent without it")]
    PromptLost {
        /// The page.
        page: PageIndex,
    },
    /// A window that was sent and cannot be shown again.
    #[error("window {number} cannot be shown again: {reason}")]
    SentLost {
        /// Its number.
        number: u64,
        /// Why not.
        reason: String,
    },
    /// A rendering breaks a provider's rules, which is a bug of ours.
    #[error("the {format} rendering is not valid: {reason}")]
    InvalidRendering {
        /// The format.
        format: &'static str,
        /// The rule it breaks, and where.
        reason: String,
    },
    /// Content over the limit.
    #[error("{what} has {size} bytes, more than the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        size: u64,
        /// The limit in force.
        limit: u64,
    },
    /// A run that may still bring back text that is to be purged.
    #[error(
        "run '{run}' has not ended: its record may quote the text to be purged and would bring it back"
    )]
    RunUnfinished {
        /// Its record.
        run: RunKey,
    },
    /// A session that could not be copied: nothing of it shows in the target.
    #[error("session '{session}' was not copied: {what}: {error}")]
    NotCopied {
        /// The session.
        session: SessionId,
        /// The part at which it failed.
        what: String,
        /// Why.
        error: StorageError,
    },
    /// A copy that differs from the original. It was removed.
    #[error("the copy of session '{session}' differs from the original and was removed: {what}")]
    CopyDiffers {
        /// The session.
        session: SessionId,
        /// What differs.
        what: String,
    },
    /// The target of a copy holds a session of that name that is not an earlier state of this one.
    #[error("session '{session}' has diverged in the target: {what}")]
    OtherSession {
        /// The session.
        session: SessionId,
        /// What differs.
        what: String,
    },
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Names calls: the first few of them.
fn calls_named(calls: &[String]) -> String {
    const MOST: usize = 5;
    let named = calls.iter().take(MOST).map(|id| format!("'{}'", crate::index::shorten(id)));
    let mut named: Vec<String> = named.collect();
    if calls.len() > MOST {
        named.push(format!("{} more", calls.len() - MOST));
    }
    let what = if calls.len() == 1 { "the result of tool call" } else { "results of tool calls" };
    format!("{what} {}", named.join(", "))
}
