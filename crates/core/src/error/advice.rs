//! What to do next about an error, as data: a surface puts it into the words of its own operations.

use std::{borrow::Cow, fmt};

use crate::{PageIndex, SessionId};

/// What to do next about an error. The core knows no commands, flags or routes: each surface words the
/// variants for its own callers. Displayed, they are words that fit any of them.
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
    /// Name a directory in place of a page that is none.
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
    /// Make the session, or list those there are.
    MakeSession {
        /// The session.
        session: SessionId,
    },
    /// Ask as the system side and not as an agent.
    RunAsSystem,
    /// Let the pages of a segment go with it.
    Cascade,
    /// Say that a system segment must go.
    Force,
    /// Load into a new session.
    LoadElsewhere,
    /// Read a page, then decide again.
    ReadPage {
        /// The page.
        page: PageIndex,
    },
    /// Look at the window for the anchors there are.
    ListAnchors,
    /// Write a lost system prompt again, or accept that it is lost.
    RewritePrompt {
        /// Its page.
        page: PageIndex,
    },
    /// Look at the present window.
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
    /// Name another store, or move what lies there away.
    OtherStore,
    /// Make a store, or name another.
    MakeStore,
    /// Get the right to write, or name another store.
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
                "leave it: the root of a system prompt stands for everyone; archiving takes a page below it \
                 out of the window"
            }
            Advice::ArchivePrompt { page } => {
                return write!(
                    f,
                    "archive {page} to take it out of the window, or make the segment read-write first"
                );
            }
            Advice::FindPage => "list the pages or find one to see what there is",
            Advice::ListArchived => "list the archived pages to see what can be restored",
            Advice::RestorePage { page: None } => "restore it to bring it back",
            Advice::RestorePage { page: Some(page) } => {
                return write!(f, "restore {page} to bring it back");
            }
            Advice::ListSegments => "list the segments to see what there is",
            Advice::MakeSession { session } => {
                return write!(f, "make session '{session}', or list those there are");
            }
            Advice::RunAsSystem => "ask the system side to do it",
            Advice::Cascade => "let its pages go to the archive with it",
            Advice::Force => "say that it must go if it must",
            Advice::LoadElsewhere => "load into a new session",
            Advice::ReadPage { page } => return write!(f, "read {page}, then decide again"),
            Advice::ListAnchors => "the window shows the anchors there are",
            Advice::RewritePrompt { page } => {
                return write!(f, "write {page} again, or accept that it is lost");
            }
            Advice::PresentWindow => "render the present window",
            Advice::SendWindow => "send a window first; numbers count from 1 per view and format",
            Advice::OtherFormat => "report it with the session's export; another format may work",
            Advice::CopyAgain => "copy again; if it stays so, check both stores",
            Advice::CopyElsewhere { session } => {
                return write!(
                    f,
                    "nothing was changed; copy to another store, or remove session '{session}' there first"
                );
            }
            Advice::MoveAcross => {
                "name each page of the parent's segment once; moving a page crosses segments"
            }
            Advice::BeginTurn => "begin one first",
            Advice::OtherStore => "name another store, or move what lies there away",
            Advice::MakeStore => "make one, or name another",
            Advice::WritableStore => {
                "ask for the right to write there (files need a writable folder), or name another store"
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
