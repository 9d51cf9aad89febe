//! What a caller can do about an error: its kind, and a hint.

use super::{Error, ErrorKind};
use crate::Operation;

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
            | Error::ParentNotFound { .. }
            | Error::PageMoved { .. }
            | Error::PageArchived { .. }
            | Error::SegmentNotFound { .. }
            | Error::SessionNotFound { .. }
            | Error::NothingToUndo { .. }
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
            Error::NothingToUndo { .. } => "`history` shows what was done; name an edit to undo it",
            Error::NotContentsPage { .. } => "name a directory: `page list` shows each page's type",
            Error::NotDetailPage { .. } => "name a DetailPage: a directory holds pages, not text",
            Error::Cycle { .. } => "name a target outside the page's own subtree",
            Error::Root { .. } => "remove the segment instead, or act on the pages below the root",
            Error::SystemRoot { .. } => {
                "leave it: the root of a system prompt stands for everyone; `page archive` takes a page below it out of the window"
            }
            Error::PromptStands { page } => {
                return format!(
                    "`page archive {page}` takes it out of the window; or make the segment read-write first"
                );
            }
            Error::TooDeep { .. } => "put it higher up in the tree",
            Error::PageInUse { .. } => "leave it there; what no window shows can be dropped",
            Error::HiddenAncestor { ancestor, .. } => return format!("expand {ancestor} first"),
            Error::PageNotFound { .. } | Error::ParentNotFound { .. } => {
                "`page list` and `page find` show what there is"
            }
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
            // Not even the system side hides what agents are bound by.
            Error::RefusedSystemRoot { .. } => {
                "leave it: nobody can hide the root of a system prompt; the system side can archive a page below it"
            }
            Error::Refused { operation: Operation::HideDetails, .. } => {
                "leave it: nobody can hide a page of a read-only system prompt; the system side can archive it or make the segment read-write"
            }
            Error::Refused { .. } => {
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
            Error::OtherSession { session, .. } => {
                return format!(
                    "nothing was changed; copy to another store, or remove what is there first with \
                     `contexture --store TARGET session remove {session}`"
                );
            }
            Error::NotCopied { error, .. } | Error::Storage(error) => return error.hint(),
        };
        hint.to_owned()
    }
}
