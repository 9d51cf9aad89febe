//! What to do next about an error, as data that each surface puts into its own words.

use std::{borrow::Cow, fmt};

use crate::{PageIndex, SessionId};

/// What to do next about an error.
///
/// The core knows no commands, flags or routes: each surface words the variants for its own callers. The
/// `Display` form names none of them and so fits any surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// A sentence that names no operation of a surface.
    Text(Cow<'static, str>),
    /// Look at the history for what was done.
    History,
    /// Look at the history, and name the edit to undo.
    NameEdit,
    /// Look at the history for what happened since.
    HistorySince,
    /// Name a directory instead of a page that is not one.
    NameDirectory,
    /// Name a directory to restore a page to.
    NameTarget,
    /// Leave the root of a system prompt; archive a page below it instead.
    LeavePromptRoot,
    /// Archive a page of a system prompt, or let agents write its segment first.
    ArchivePrompt {
        /// The page.
        page: PageIndex,
    },
    /// List pages, or find one.
    FindPage,
    /// List the pages in the archive.
    ListArchived,
    /// Restore an archived page.
    RestorePage {
        /// The page; none where it was named by the caller.
        page: Option<PageIndex>,
    },
    /// List the segments.
    ListSegments,
    /// Create the session, or list the existing ones.
    MakeSession {
        /// The session.
        session: SessionId,
    },
    /// Ask as the system side and not as an agent.
    RunAsSystem,
    /// Archive the pages of a segment together with it.
    Cascade,
    /// Force the removal of a system segment.
    Force,
    /// Load into a new session.
    LoadElsewhere,
    /// Read a page again, then retry.
    ReadPage {
        /// The page.
        page: PageIndex,
    },
    /// Look at the window for the current anchors.
    ListAnchors,
    /// Write a lost system prompt again, or accept that it is lost.
    RewritePrompt {
        /// Its page.
        page: PageIndex,
    },
    /// Look at the current window.
    PresentWindow,
    /// Send a window first, or name one that was sent.
    SendWindow,
    /// Report a defect; another format may work.
    OtherFormat,
    /// Copy again; then check both stores.
    CopyAgain,
    /// Copy to another store, or remove the session there first.
    CopyElsewhere {
        /// The session.
        session: SessionId,
    },
    /// Name pages of one segment once each; a move crosses segments.
    MoveAcross,
    /// Begin a turn first.
    BeginTurn,
    /// Open an exchange first.
    OpenExchange,
    /// Answer open calls, or close them as interrupted.
    AnswerCalls,
    /// Name another store, or move what is there out of the way.
    OtherStore,
    /// Create a store, or name another.
    MakeStore,
    /// Get write access, or name another store.
    WritableStore,
    /// Check the store and repair it, or restore it from a copy.
    CheckStore,
}

impl Advice {
    /// Says something that no surface needs to word.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Advice::Text(text.into())
    }
}

impl From<&'static str> for Advice {
    fn from(text: &'static str) -> Self {
        Advice::text(text)
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Advice::Text(text) => text,
            Advice::History => "the history shows what was done",
            Advice::NameEdit => "the history shows what was done; name an edit to undo it",
            Advice::HistorySince => "the history shows what happened since",
            Advice::NameDirectory => "name a directory",
            Advice::NameTarget => "name a directory to restore it to",
            Advice::LeavePromptRoot => {
                "leave it: every view shows the root of a system prompt; to take a page below it out of the \
                 window, archive that page"
            }
            Advice::ArchivePrompt { page } => {
                return write!(
                    f,
                    "archive {page} to take it out of the window, or make the segment read-write first"
                );
            }
            Advice::FindPage => "list or search the pages to see which exist",
            Advice::ListArchived => "list the archived pages to see what can be restored",
            Advice::RestorePage { page: None } => "restore it to bring it back",
            Advice::RestorePage { page: Some(page) } => {
                return write!(f, "restore {page} to bring it back");
            }
            Advice::ListSegments => "list the segments to see which exist",
            Advice::MakeSession { session } => {
                return write!(f, "create session '{session}', or list the existing sessions");
            }
            Advice::RunAsSystem => "ask the system side to do it",
            Advice::Cascade => "archive its pages together with it",
            Advice::Force => "force the removal if the segment must go",
            Advice::LoadElsewhere => "load into a new session",
            Advice::ReadPage { page } => return write!(f, "read {page} again, then retry"),
            Advice::ListAnchors => "the window shows the current anchors",
            Advice::RewritePrompt { page } => {
                return write!(f, "write {page} again, or accept that it is lost");
            }
            Advice::PresentWindow => "render the current window",
            Advice::SendWindow => "send a window first; numbers count from 1 per view and format",
            Advice::OtherFormat => {
                "this is a bug: report it with an export of the session; another format may work"
            }
            Advice::CopyAgain => "copy again; if it keeps failing, check both stores",
            Advice::CopyElsewhere { session } => {
                return write!(
                    f,
                    "nothing was changed; copy to another store, or remove session '{session}' there first"
                );
            }
            Advice::MoveAcross => {
                "name each page once, and only pages of the parent's segment; move pages from other segments there first"
            }
            Advice::BeginTurn => "begin a turn first",
            Advice::OpenExchange => "append an assistant message with calls first",
            Advice::AnswerCalls => "add their results, or close the exchange as interrupted",
            Advice::OtherStore => "name another store, or move what is there out of the way",
            Advice::MakeStore => "create one, or name another store",
            Advice::WritableStore => {
                "get write access to it (files need a writable folder), or name another store"
            }
            Advice::CheckStore => {
                "check the store and repair what can be repaired, or restore it from a copy"
            }
        };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_advice_names_a_command_or_a_flag() {
        let (page, session): (PageIndex, SessionId) =
            ("sys-1".parse().unwrap(), "demo".parse().unwrap());
        let all = [
            Advice::History,
            Advice::NameEdit,
            Advice::HistorySince,
            Advice::NameDirectory,
            Advice::NameTarget,
            Advice::LeavePromptRoot,
            Advice::ArchivePrompt { page: page.clone() },
            Advice::FindPage,
            Advice::ListArchived,
            Advice::RestorePage { page: None },
            Advice::RestorePage { page: Some(page.clone()) },
            Advice::ListSegments,
            Advice::MakeSession { session: session.clone() },
            Advice::RunAsSystem,
            Advice::Cascade,
            Advice::Force,
            Advice::LoadElsewhere,
            Advice::ReadPage { page: page.clone() },
            Advice::ListAnchors,
            Advice::RewritePrompt { page },
            Advice::PresentWindow,
            Advice::SendWindow,
            Advice::OtherFormat,
            Advice::CopyAgain,
            Advice::CopyElsewhere { session },
            Advice::MoveAcross,
            Advice::BeginTurn,
            Advice::OpenExchange,
            Advice::AnswerCalls,
            Advice::OtherStore,
            Advice::MakeStore,
            Advice::WritableStore,
            Advice::CheckStore,
        ];
        for advice in all {
            let words = advice.to_string();
            assert!(!words.is_empty() && !words.contains("--") && !words.contains('`'), "{words}");
        }
    }
}
