//! Where context tools are offered: what the others are called there, and what is different.

use contexture_core::Error;

/// Where context tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surface {
    /// An agent's run: an expanded page opens in its place at the next fold.
    Run,
    /// A model that a host runs, whose windows are made here: an expanded page is in the answer only, so that
    /// nothing earlier changes.
    Host,
    /// A client that speaks MCP, whose own window is elsewhere: an expanded page opens at once.
    Mcp,
}

/// What one tool calls the others.
pub(super) struct Words {
    pub(super) expand: &'static str,
    pub(super) find: &'static str,
    pub(super) read: &'static str,
    /// How long a pinned page stays.
    pub(super) until_unpinned: &'static str,
    /// How a removed page comes back.
    pub(super) restores: &'static str,
}

const RUN: Words = Words {
    expand: "expand_details",
    find: "find_page",
    read: "get_page",
    until_unpinned: "until unpin_page",
    restores: "from where it can be restored",
};

const HOST: Words = Words {
    expand: "expand",
    find: "find",
    read: "read",
    until_unpinned: "until it is unpinned",
    restores: "from where the system side can restore it",
};

const MCP: Words = Words { restores: "where organise with action restore finds it", ..HOST };

impl Surface {
    /// Returns what the tools are called.
    pub(super) fn words(self) -> &'static Words {
        match self {
            Surface::Run => &RUN,
            Surface::Host => &HOST,
            Surface::Mcp => &MCP,
        }
    }

    /// Says what to do about an error with the tools that are there.
    pub(super) fn hint(self, error: &Error) -> String {
        let Words { expand, find, read, .. } = self.words();
        match error {
            Error::PageNotFound { .. }
            | Error::ParentNotFound { .. }
            | Error::SegmentNotFound { .. } => format!("{find} finds pages by what they say"),
            Error::PageArchived { page } => match self {
                Surface::Mcp => {
                    format!("organise with action restore and page {page} brings it back")
                }
                Surface::Run => {
                    "get_page shows it, and restore_page returns it to the tree".to_owned()
                }
                Surface::Host => "it was removed; ask the system side to restore it".to_owned(),
            },
            Error::NotContentsPage { .. } => {
                format!("name a directory: {read} shows whether a page is one")
            }
            Error::HiddenAncestor { ancestor, .. } => format!("{expand} {ancestor} first"),
            Error::VersionMismatch { page, .. } => format!("{read} {page} again, then retry"),
            other => other.advice().to_string(),
        }
    }

    /// Says what to do when nothing could be searched.
    pub(super) fn look(self) -> &'static str {
        match self {
            Surface::Run => "try again, or look with read_window",
            Surface::Host => "try again",
            Surface::Mcp => "try again, or look with window",
        }
    }
}
