//! What a caller can do about an error: its kind, and what to do next.

use super::{Advice, Error, ErrorKind};
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
            | Error::ExchangeOpen { .. }
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
            | Error::CallNotFound { .. }
            | Error::NothingFound { .. } => ErrorKind::NotFound,
            Error::Refused { .. }
            | Error::RefusedSystemRoot { .. }
            | Error::SystemSpeech { .. }
            | Error::SeenInPart { .. }
            | Error::SystemSideOnly { .. } => ErrorKind::PermissionDenied,
            Error::AlreadyExists { .. }
            | Error::SegmentNotEmpty { .. }
            | Error::SessionNotEmpty
            | Error::KeyReused { .. }
            | Error::VersionMismatch { .. }
            | Error::BuiltUpon { .. }
            | Error::CannotUndo { .. }
            | Error::FoldOutdated { .. }
            | Error::CustomMoved { .. }
            | Error::StaleAnchor { .. }
            | Error::SentLost { .. }
            | Error::OtherSession { .. }
            | Error::RunUnfinished { .. }
            | Error::CallAnswered { .. }
            | Error::TooManyRaces { .. } => ErrorKind::Conflict,
            Error::TooLarge { .. } | Error::WindowTooLarge { .. } => ErrorKind::TooLarge,
            Error::InvalidRendering { .. }
            | Error::CopyDiffers { .. }
            | Error::PromptLost { .. } => ErrorKind::Corrupt,
            Error::NotCopied { error, .. } | Error::Storage(error) => error.kind(),
        }
    }

    /// Returns what to do next.
    pub fn advice(&self) -> Advice {
        match self {
            Error::InvalidIndex { .. } => "an index is SEGMENT-NUMBER, such as usr-3".into(),
            Error::InvalidText { .. } => "choose a value that follows the rule".into(),
            Error::UnknownValue { known, .. } => Advice::text(format!("use one of: {known}")),
            Error::InvalidMessages { .. } => {
                "give an OpenAI- or Anthropic-style array in which every tool call is followed by its result".into()
            }
            Error::InvalidDocument { .. } => "fix the file and load it again; nothing was loaded".into(),
            Error::InvalidRequest { advice, .. } | Error::NothingFound { advice, .. } => {
                advice.clone()
            }
            Error::ExchangeOpen { .. } => Advice::AnswerCalls,
            Error::CallNotFound { open, .. } if !open.is_empty() => {
                Advice::text(format!("name one of the calls that wait for a result: {}", open.join(", ")))
            }
            Error::CallNotFound { .. } => Advice::OpenExchange,
            Error::CallAnswered { .. } => {
                "leave it: a result stands as it was given; undo the edit that gave it to give another".into()
            }
            Error::NothingToUndo { .. } => Advice::NameEdit,
            Error::NotContentsPage { .. } => Advice::NameDirectory,
            Error::NotDetailPage { .. } => {
                "name a DetailPage: a directory holds pages, not text".into()
            }
            Error::Cycle { .. } => "name a target outside the page's own subtree".into(),
            Error::Root { .. } => {
                "remove the segment instead, or act on the pages below the root".into()
            }
            Error::SystemRoot { .. } => Advice::LeavePromptRoot,
            Error::PromptStands { page } => Advice::ArchivePrompt { page: page.clone() },
            Error::TooDeep { .. } => "put it higher up in the tree".into(),
            Error::PageInUse { .. } => "leave it there; only pages that no window shows can be dropped".into(),
            Error::HiddenAncestor { ancestor, .. } => {
                Advice::text(format!("expand {ancestor} first"))
            }
            Error::PageNotFound { .. } | Error::ParentNotFound { .. } => Advice::FindPage,
            Error::PageMoved { to, .. } => Advice::text(format!("use {to}")),
            Error::PageArchived { page } => Advice::RestorePage { page: Some(page.clone()) },
            Error::SegmentNotFound { .. } => Advice::ListSegments,
            Error::SessionNotFound { session } => Advice::MakeSession { session: session.clone() },
            // Not even the system side hides the prompts that agents are bound by.
            Error::RefusedSystemRoot { .. } => {
                "leave it: nobody can hide the root of a system prompt; the system side can archive a page below it".into()
            }
            Error::Refused { operation: Operation::HideDetails, .. } => {
                "leave it: nobody can hide a page of a read-only system prompt; the system side can archive it or make the segment read-write".into()
            }
            Error::Refused { .. } => {
                "ask the system side to do it or to change the segment's permission".into()
            }
            Error::SystemSideOnly { .. } => Advice::RunAsSystem,
            Error::SystemSpeech { .. } => {
                "give it the role user or assistant; only the system side can add system and developer messages".into()
            }
            Error::SeenInPart { .. } => {
                "act on pages that your view shows whole, or ask the system side to do it".into()
            }
            Error::AlreadyExists { .. } => "choose another name, or use the existing one".into(),
            Error::SegmentNotEmpty { .. } => Advice::Cascade,
            Error::SessionNotEmpty => Advice::LoadElsewhere,
            Error::KeyReused { .. } => {
                "give new content a new key; the same content can be sent again under the same key".into()
            }
            Error::VersionMismatch { page, .. } => Advice::ReadPage { page: page.clone() },
            Error::BuiltUpon { later, .. } => Advice::text(format!("undo revision {later} first")),
            Error::CannotUndo { .. } => Advice::HistorySince,
            Error::TooManyRaces { .. } | Error::FoldOutdated { .. } | Error::CustomMoved { .. } => {
                "read the current state, then retry".into()
            }
            Error::StaleAnchor { fresh: Some(fresh), .. } => Advice::text(format!("press {fresh}")),
            Error::StaleAnchor { fresh: None, .. } => Advice::ListAnchors,
            Error::WindowTooLarge { .. } => {
                "give a larger budget, unpin or hide pages, or shorten the system prompt".into()
            }
            Error::PromptLost { page } => Advice::RewritePrompt { page: page.clone() },
            Error::SentLost { .. } => Advice::PresentWindow,
            Error::InvalidRendering { .. } => Advice::OtherFormat,
            Error::TooLarge { .. } => "split it into several pages".into(),
            Error::RunUnfinished { .. } => {
                "let the run end and purge again, or end its record together with the purge".into()
            }
            Error::CopyDiffers { .. } => Advice::CopyAgain,
            Error::OtherSession { session, .. } => {
                Advice::CopyElsewhere { session: session.clone() }
            }
            Error::NotCopied { error, .. } | Error::Storage(error) => error.advice(),
        }
    }
}
