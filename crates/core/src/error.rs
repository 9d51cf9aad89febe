//! What can go wrong, folded publicly into few kinds by what the caller can do.
//!
//! Every [`Error`] has a [`kind`](Error::kind), a message that says what and which, and a
//! [`hint`](Error::hint) that says what to do next. Library code never ends the process.

use crate::{
    CustomKey, Operation, PageIndex, Revision, RunKey, SegmentId, SessionId, Version,
    storage::StorageError,
};

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request itself is wrong: fix it.
    Invalid,
    /// What was named does not exist, or not for this caller.
    NotFound,
    /// The caller may not do this: ask for access.
    PermissionDenied,
    /// What the request was based on has moved: read again and decide again.
    Conflict,
    /// Something exceeds a limit.
    TooLarge,
    /// A storage or provider is out of reach: retry later.
    Unavailable,
    /// What was read is not what was written: restore from a copy.
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
        hint: &'static str,
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
    #[error("page {page} cannot go under {target}, which is itself or one of its descendants")]
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
    /// The root of a System-kind segment always stands expanded.
    #[error("system root page {page} cannot be hidden")]
    SystemRoot {
        /// The root.
        page: PageIndex,
    },
    /// While a System-kind segment is read-only, all its pages stand in full.
    #[error(
        "page {page} cannot be hidden: its segment is a read-only system prompt, which stands in full in every view"
    )]
    PromptStands {
        /// The page.
        page: PageIndex,
    },
    /// A page would stand too deep in the tree.
    #[error("under {under} a page would stand {depth} directories deep, and {limit} is the most")]
    TooDeep {
        /// The page or directory it would stand at or under.
        under: PageIndex,
        /// How deep.
        depth: usize,
        /// The limit in force.
        limit: usize,
    },
    /// The page stays in memory whatever is dropped.
    #[error("page {page} stays in memory: {why}")]
    PageInUse {
        /// The page.
        page: PageIndex,
        /// What keeps it there.
        why: &'static str,
    },
    /// Expanding under a hidden ancestor would show nothing.
    #[error("page {page} stands under {ancestor}, which is hidden")]
    HiddenAncestor {
        /// The page to be expanded.
        page: PageIndex,
        /// The nearest hidden ancestor.
        ancestor: PageIndex,
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
    /// Something else that was asked for is not there.
    #[error("{what} not found")]
    NothingFound {
        /// What was asked for.
        what: String,
        /// What to do next.
        hint: &'static str,
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
    /// The caller's view leaves out something of what the operation would take along or replace.
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
    /// A session that already holds segments was to be loaded into.
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
    /// An edit cannot be undone because what it would put back cannot stand.
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
    /// A system prompt lost its text when the store was damaged: nobody runs without it unawares.
    #[error("the system prompt page {page} was lost, and no request is made without it")]
    PromptLost {
        /// The page.
        page: PageIndex,
    },
    /// A window sent that cannot be shown again.
    #[error("window {number} cannot be shown again: {reason}")]
    SentLost {
        /// Which.
        number: u64,
        /// Why not.
        reason: String,
    },
    /// What was rendered breaks a provider's rules, which is our fault.
    #[error("the {format} rendering is not valid: {reason}")]
    InvalidRendering {
        /// The format.
        format: &'static str,
        /// The rule it breaks, and where.
        reason: String,
    },
    /// Content over the limit.
    #[error("{what} has {size} bytes, the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        size: u64,
        /// The limit in force.
        limit: u64,
    },
    /// A run that may still bring back what is to be destroyed.
    #[error(
        "run '{run}' has not ended: its record may quote what is to be purged and would bring it back"
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
    /// A copy that is not what was copied. It was removed again.
    #[error("the copy of session '{session}' is not the same and was removed again: {what}")]
    CopyDiffers {
        /// The session.
        session: SessionId,
        /// What differs.
        what: String,
    },
    /// The target of a copy holds another session of that name.
    #[error("the target holds another session '{session}': {what}")]
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

impl Error {
    /// Returns what the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::InvalidIndex { .. }
            | Error::InvalidText { .. }
            | Error::UnknownValue { .. }
            | Error::InvalidMessages { .. }
            | Error::InvalidDocument { .. }
            | Error::InvalidRequest { .. }
            | Error::NotContentsPage { .. }
            | Error::NotDetailPage { .. }
            | Error::Cycle { .. }
            | Error::Root { .. }
            | Error::SystemRoot { .. }
            | Error::PromptStands { .. }
            | Error::TooDeep { .. }
            | Error::PageInUse { .. }
            | Error::HiddenAncestor { .. } => ErrorKind::Invalid,
            Error::PageNotFound { .. }
            | Error::PageMoved { .. }
            | Error::PageArchived { .. }
            | Error::SegmentNotFound { .. }
            | Error::SessionNotFound { .. }
            | Error::NothingFound { .. } => ErrorKind::NotFound,
            Error::Refused { .. }
            | Error::RefusedSystemRoot { .. }
            | Error::SystemSpeech { .. }
            | Error::SeenInPart { .. }
            | Error::SystemSideOnly { .. } => ErrorKind::PermissionDenied,
            Error::AlreadyExists { .. }
            | Error::SegmentNotEmpty { .. }
            | Error::SessionNotEmpty
            | Error::VersionMismatch { .. }
            | Error::BuiltUpon { .. }
            | Error::CannotUndo { .. }
            | Error::FoldOutdated { .. }
            | Error::CustomMoved { .. }
            | Error::StaleAnchor { .. }
            | Error::SentLost { .. }
            | Error::OtherSession { .. }
            | Error::RunUnfinished { .. }
            | Error::TooManyRaces { .. } => ErrorKind::Conflict,
            Error::TooLarge { .. } | Error::WindowTooLarge { .. } => ErrorKind::TooLarge,
            Error::InvalidRendering { .. }
            | Error::CopyDiffers { .. }
            | Error::PromptLost { .. } => ErrorKind::Corrupt,
            Error::NotCopied { error, .. } | Error::Storage(error) => error.kind(),
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> String {
        let hint = match self {
            Error::InvalidIndex { .. } => "an index is SEGMENT-NUMBER, such as usr-3",
            Error::InvalidText { .. } => "choose another text that follows the rule",
            Error::UnknownValue { known, .. } => return format!("one of: {known}"),
            Error::InvalidMessages { .. } => {
                "give an OpenAI- or Anthropic-style array in which every tool call is followed by its result"
            }
            Error::InvalidDocument { .. } => "mend the file; nothing of it was loaded",
            Error::InvalidRequest { hint, .. } | Error::NothingFound { hint, .. } => hint,
            Error::NotContentsPage { .. } => "name a directory: `page list` shows each page's type",
            Error::NotDetailPage { .. } => "name a DetailPage: a directory holds pages, not text",
            Error::Cycle { .. } => "name a target outside the page's own subtree",
            Error::Root { .. } => "remove the segment instead, or act on the pages below the root",
            Error::SystemRoot { .. } => {
                "hide a page below the root; the root of a System-kind segment always stands expanded"
            }
            Error::PromptStands { page } => {
                return format!(
                    "`page archive {page}` takes it out of the window; or make the segment read-write first"
                );
            }
            Error::TooDeep { .. } => "put it higher up in the tree",
            Error::PageInUse { .. } => "leave it there; what no window shows can be dropped",
            Error::HiddenAncestor { ancestor, .. } => return format!("expand {ancestor} first"),
            Error::PageNotFound { .. } => "`page list` and `page find` show what there is",
            Error::PageMoved { to, .. } => return format!("use {to}"),
            Error::PageArchived { page } => {
                return format!("`page restore {page}` brings it back");
            }
            Error::SegmentNotFound { .. } => "`segment list` shows what there is",
            Error::SessionNotFound { session } => {
                return format!(
                    "`--session {session} init` makes it; `session list` shows what there is"
                );
            }
            Error::Refused { .. } | Error::RefusedSystemRoot { .. } => {
                "ask the system side to do it or to change the segment's permission"
            }
            Error::SystemSideOnly { .. } => "run it without --as",
            Error::SystemSpeech { .. } => {
                "give it the role user or assistant; a system or developer message is for the system side to add"
            }
            Error::SeenInPart { .. } => {
                "act on pages that you see whole, or ask the system side to do it"
            }
            Error::AlreadyExists { .. } => "choose another name, or use what exists",
            Error::SegmentNotEmpty { .. } => "say --cascade to send its pages to the archive",
            Error::SessionNotEmpty => "load into a new session: --session NAME",
            Error::VersionMismatch { page, .. } => {
                return format!("`page show {page}`, then decide again");
            }
            Error::BuiltUpon { later, .. } => return format!("undo revision {later} first"),
            Error::CannotUndo { .. } => "`history` shows what happened since",
            Error::TooManyRaces { .. } | Error::FoldOutdated { .. } | Error::CustomMoved { .. } => {
                "read again, then decide again"
            }
            Error::StaleAnchor { fresh: Some(fresh), .. } => return format!("press {fresh}"),
            Error::StaleAnchor { fresh: None, .. } => "`window` shows the anchors there are",
            Error::WindowTooLarge { .. } => {
                "give a larger budget, unpin or hide pages, or shorten the system prompt"
            }
            Error::PromptLost { page } => {
                return format!(
                    "write it again with `page update {page} --detail TEXT`, or accept the loss with \
                     `store check --accept-losses`"
                );
            }
            Error::SentLost { .. } => "`window` shows the present one",
            Error::InvalidRendering { .. } => {
                "report it with the session's export; another --format may work"
            }
            Error::TooLarge { .. } => "split it into several pages",
            Error::RunUnfinished { .. } => {
                "let the run end, or end its record with the purge, then purge again"
            }
            Error::CopyDiffers { .. } => "copy again; if it stays so, `store check` both stores",
            Error::OtherSession { .. } => {
                "remove it there with `session remove`, or copy to another store; nothing was changed"
            }
            Error::NotCopied { error, .. } | Error::Storage(error) => return error.hint(),
        };
        hint.to_owned()
    }
}
