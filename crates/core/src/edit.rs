//! Edits: every mutation as data, and the names of operations.

use serde::{Deserialize, Serialize};

use crate::{
    AgentName, Description, Error, Level, Message, NewSegment, PageIndex, PageName, Permission,
    Revision, SegmentId, Tokens, Visibility,
    document::LoadPlan,
    storage::{CustomKey, LevelEntry, Version, ViewId},
    window::FoldReport,
};

/// What is asked for. Deciding turns it into a [`Change`](crate::storage::Change).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Edit {
    /// Adds a segment with its root.
    AddSegment(NewSegment),
    /// Changes what is given of a segment.
    UpdateSegment(SegmentUpdate),
    /// Removes a segment.
    RemoveSegment {
        /// Which.
        segment: SegmentId,
        /// Sends its pages to the archive; without it a segment with pages is refused.
        cascade: bool,
        /// Needed for System-kind segments.
        force: bool,
    },
    /// Sets what agents may do in a segment.
    SetPermission {
        /// Which.
        segment: SegmentId,
        /// What they may do from now on.
        permission: Permission,
    },
    /// Creates a leaf with a text.
    CreateDetailPage(NewDetailPage),
    /// Creates a directory, optionally adopting pages.
    CreateContentsPage(NewContentsPage),
    /// Writes messages as new turns at the end of a segment's root.
    AddTurn {
        /// Where.
        segment: SegmentId,
        /// Whole exchanges.
        messages: Vec<Message>,
    },
    /// Continues the caller's own latest turn in a segment.
    ExtendTurn {
        /// Where.
        segment: SegmentId,
        /// Whole exchanges without a user message.
        messages: Vec<Message>,
    },
    /// Writes messages as [`AddTurn`](Edit::AddTurn) and [`ExtendTurn`](Edit::ExtendTurn) do, of which
    /// the last exchange may be open: user messages begin turns, and what comes before them continues the
    /// caller's own latest turn, where there is one.
    OpenExchange {
        /// Where.
        segment: SegmentId,
        /// Exchanges; only the last may have calls without results.
        messages: Vec<Message>,
    },
    /// Answers calls of the caller's own open exchange in a segment, in any order.
    AddResults {
        /// Where.
        segment: SegmentId,
        /// Tool messages.
        messages: Vec<Message>,
    },
    /// Answers what is left of the caller's own open exchange in a segment as interrupted.
    CloseExchange {
        /// Where.
        segment: SegmentId,
    },
    /// Writes messages as new turns of an agent where that agent itself may not write: what came of
    /// its work, with the pages it was made from. For the system side only.
    PublishTurn {
        /// Where.
        segment: SegmentId,
        /// Whose turns they are.
        agent: AgentName,
        /// Whole exchanges; assistant messages without an author become the agent's.
        messages: Vec<Message>,
        /// The pages they were made from, of any segment; their trust is the lowest of all.
        sources: Vec<PageIndex>,
    },
    /// Changes what is given of a page.
    UpdatePage(PageUpdate),
    /// Shows a page in the caller's view.
    ExpandDetails(PageIndex),
    /// Hides a page in the caller's view.
    HideDetails(PageIndex),
    /// Keeps a page from folding in the caller's view.
    PinPage(PageIndex),
    /// Takes a pin back in the caller's view.
    UnpinPage(PageIndex),
    /// Sets the caller's focus.
    FocusPage(PageIndex),
    /// Switches the caller's view to a level: nothing stands in more detail until the next switch.
    SwitchLevel(Level),
    /// Notes what an application did in the caller's view. It cannot be undone: what the application
    /// keeps is its own.
    RecordRound {
        /// What was done.
        action: String,
        /// What came of it.
        result: String,
    },
    /// Lowers levels in the caller's view to meet a budget.
    FoldPages(FoldPlan),
    /// Begins a branch: its view says what its parent's says. For the system side only.
    BranchView {
        /// The branch's view, which says nothing yet.
        view: ViewId,
        /// The view it begins as.
        parent: ViewId,
        /// What the parent's view says of pages.
        levels: Vec<(PageIndex, LevelEntry)>,
    },
    /// Moves a page, with all below it, to the end of a directory.
    MovePage {
        /// What.
        page: PageIndex,
        /// The directory it goes to.
        to: PageIndex,
    },
    /// Archives a page hot: out of the window, still in the tree.
    ArchivePage(PageIndex),
    /// Takes a page, with all below it, to the archive.
    RemovePage(PageIndex),
    /// Brings a page back, from either archive.
    RestorePage {
        /// What.
        page: PageIndex,
        /// Where to; by default its old place.
        to: Option<PageIndex>,
    },
    /// Destroys a page, with all below it, for good.
    PurgePage(PageIndex),
    /// Sets or clears an entry of the session's custom state.
    SetCustom {
        /// Which.
        key: CustomKey,
        /// The value; none clears it. A text that is JSON is that value in a Context, any other text is
        /// a string: [`RawJson::string`](crate::message::RawJson::string) writes a text as one.
        value: Option<String>,
    },
    /// Refuses, as a conflict, unless an entry of the custom state is what the caller read: with
    /// others in a batch it makes them all wait on that.
    ExpectCustom {
        /// Which.
        key: CustomKey,
        /// What it must be; none when it must not be there.
        value: Option<String>,
    },
    /// Takes an edit back: the one named, or the caller's own newest.
    Undo {
        /// Which.
        revision: Option<Revision>,
    },
    /// Fills an empty session from a document.
    Load(Box<LoadPlan>),
    /// Several edits that are one revision, all or nothing.
    Batch(Vec<Edit>),
    /// What a session begins with, as one edit: a bare undo never takes it back.
    Init(Vec<Edit>),
    /// What another program wrote down, as one edit.
    Import(Vec<Edit>),
    /// Pages that come back into the window, as one edit.
    Recall(Vec<Edit>),
}

/// What is given of a segment to change; the rest stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentUpdate {
    /// Which.
    pub segment: SegmentId,
    /// What it is called from now on.
    pub name: Option<PageName>,
    /// What it is about; an empty one clears it.
    pub description: Option<Description>,
    /// What agents may do in it.
    pub permission: Option<Permission>,
    /// How many tokens it may take; 0 is unlimited.
    pub capacity: Option<Tokens>,
}

impl SegmentUpdate {
    /// Begins an update that changes nothing yet.
    pub fn of(segment: SegmentId) -> Self {
        Self { segment, name: None, description: None, permission: None, capacity: None }
    }
}

/// A fold to be taken: what the window's plan decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldPlan {
    /// The pages and directories whose entries change.
    pub steps: Vec<FoldStep>,
    /// What it saves and costs.
    pub report: FoldReport,
}

/// One entry a fold changes. Only its fold and its runs may differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldStep {
    /// The page or directory.
    pub page: PageIndex,
    /// What the view said when the fold was planned; otherwise the fold is refused.
    pub before: LevelEntry,
    /// What it says after.
    pub after: LevelEntry,
}

/// A leaf to be created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewDetailPage {
    /// The directory it goes to the end of.
    pub parent: PageIndex,
    /// What it is called.
    pub name: PageName,
    /// What it is about.
    pub description: Description,
    /// Its text.
    pub detail: String,
    /// How it stands by default: Expanded when not given.
    pub visibility: Option<Visibility>,
    /// The pages it was made from; its trust is the lowest of theirs.
    pub sources: Vec<PageIndex>,
}

impl NewDetailPage {
    /// Names a leaf with a text.
    pub fn new(parent: PageIndex, name: PageName, detail: impl Into<String>) -> Self {
        Self {
            parent,
            name,
            description: Description::default(),
            detail: detail.into(),
            visibility: None,
            sources: Vec::new(),
        }
    }
}

/// A directory to be created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewContentsPage {
    /// The directory it goes to the end of.
    pub parent: PageIndex,
    /// What it is called.
    pub name: PageName,
    /// What it is about.
    pub description: Description,
    /// How it stands by default: Expanded when not given. A hidden one hides what it adopts.
    pub visibility: Option<Visibility>,
    /// Pages it adopts, in this order.
    pub children: Vec<PageIndex>,
}

impl NewContentsPage {
    /// Names an empty directory.
    pub fn new(parent: PageIndex, name: PageName) -> Self {
        Self {
            parent,
            name,
            description: Description::default(),
            visibility: None,
            children: Vec::new(),
        }
    }
}

/// What is given of a page to change; the rest stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageUpdate {
    /// Which.
    pub page: PageIndex,
    /// What it is called from now on.
    pub name: Option<PageName>,
    /// What it is about; an empty one clears it.
    pub description: Option<Description>,
    /// Its text; an empty one clears it.
    pub detail: Option<String>,
    /// Refuses unless the page is at this version.
    pub if_version: Option<Version>,
}

impl PageUpdate {
    /// Begins an update that changes nothing yet.
    pub fn of(page: PageIndex) -> Self {
        Self { page, name: None, description: None, detail: None, if_version: None }
    }
}

impl Edit {
    /// Returns the operation it is recorded as.
    pub fn operation(&self) -> Operation {
        match self {
            Edit::AddSegment(_) => Operation::AddSegment,
            Edit::UpdateSegment(_) => Operation::UpdateSegment,
            Edit::RemoveSegment { .. } => Operation::RemoveSegment,
            Edit::SetPermission { .. } => Operation::SetPermission,
            Edit::CreateDetailPage(_) => Operation::CreateDetailPage,
            Edit::CreateContentsPage(_) => Operation::CreateContentsPage,
            Edit::AddTurn { .. } => Operation::AddTurn,
            Edit::ExtendTurn { .. } => Operation::ExtendTurn,
            Edit::OpenExchange { .. } => Operation::OpenExchange,
            Edit::AddResults { .. } => Operation::AddResults,
            Edit::CloseExchange { .. } => Operation::CloseExchange,
            Edit::PublishTurn { .. } => Operation::PublishTurn,
            Edit::UpdatePage(_) => Operation::UpdatePage,
            Edit::ExpandDetails(_) => Operation::ExpandDetails,
            Edit::HideDetails(_) => Operation::HideDetails,
            Edit::PinPage(_) => Operation::PinPage,
            Edit::FoldPages(_) => Operation::FoldPages,
            Edit::BranchView { .. } => Operation::BranchView,
            Edit::UnpinPage(_) => Operation::UnpinPage,
            Edit::FocusPage(_) => Operation::FocusPage,
            Edit::SwitchLevel(_) => Operation::SwitchLevel,
            Edit::RecordRound { .. } => Operation::PressAnchor,
            Edit::MovePage { .. } => Operation::MovePage,
            Edit::ArchivePage(_) => Operation::ArchivePage,
            Edit::RemovePage(_) => Operation::RemovePage,
            Edit::RestorePage { .. } => Operation::RestorePage,
            Edit::PurgePage(_) => Operation::PurgePage,
            Edit::SetCustom { .. } | Edit::ExpectCustom { .. } => Operation::SetCustom,
            Edit::Undo { .. } => Operation::Undo,
            Edit::Load(_) => Operation::Load,
            Edit::Batch(_) => Operation::Batch,
            Edit::Init(_) => Operation::Init,
            Edit::Import(_) => Operation::Import,
            Edit::Recall(_) => Operation::Recall,
        }
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// The name of an operation, as the seed spells it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation { $($(#[$doc])* $variant),+ }

        impl Operation {
            /// Every operation.
            pub const ALL: &[Operation] = &[$(Operation::$variant),+];

            /// Returns the name.
            pub fn as_str(self) -> &'static str {
                match self { $(Operation::$variant => $name),+ }
            }
        }
        impl std::str::FromStr for Operation {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                match text {
                    $($name => Ok(Operation::$variant),)+
                    _ => Err(Error::UnknownValue {
                        what: "operation",
                        text: crate::index::shorten(text),
                        known: concat!($($name, " "),+),
                    }),
                }
            }
        }
    };
}

operations! {
    /// Reads one segment.
    GetSegment = "getSegment",
    /// Reads the segments in view.
    ListSegments = "listSegments",
    /// Reads a page.
    GetPage = "getPage",
    /// Reads a directory's pages.
    GetChildren = "getChildren",
    /// Reads a page's directory.
    GetParent = "getParent",
    /// Reads a page's directories up to the root.
    GetAncestors = "getAncestors",
    /// Looks for pages.
    FindPage = "findPage",
    /// Changes a page.
    UpdatePage = "updatePage",
    /// Shows a page.
    ExpandDetails = "expandDetails",
    /// Hides a page.
    HideDetails = "hideDetails",
    /// Moves a page.
    MovePage = "movePage",
    /// Takes a page to the archive.
    RemovePage = "removePage",
    /// Creates a page: what the check of both kinds of creation is called.
    CreatePage = "createPage",
    /// Creates a leaf.
    CreateDetailPage = "createDetailPage",
    /// Creates a directory.
    CreateContentsPage = "createContentsPage",
    /// Adds a segment.
    AddSegment = "addSegment",
    /// Changes a segment's name, description or capacity.
    UpdateSegment = "updateSegment",
    /// Removes a segment.
    RemoveSegment = "removeSegment",
    /// Changes what agents may do in a segment.
    SetPermission = "setPermission",
    /// Pins a page.
    PinPage = "pinPage",
    /// Takes a pin back.
    UnpinPage = "unpinPage",
    /// Sets the focus.
    FocusPage = "focusPage",
    /// Switches a view to a level.
    SwitchLevel = "switchLevel",
    /// Presses an application's anchor.
    PressAnchor = "pressAnchor",
    /// Lowers levels to meet a budget.
    FoldPages = "foldPages",
    /// Begins a branch of a view.
    BranchView = "branchView",
    /// Archives a page hot.
    ArchivePage = "archivePage",
    /// Brings a page back.
    RestorePage = "restorePage",
    /// Destroys a page.
    PurgePage = "purgePage",
    /// Writes turns.
    AddTurn = "addTurn",
    /// Continues a turn.
    ExtendTurn = "extendTurn",
    /// Writes exchanges of which the last may be open.
    OpenExchange = "openExchange",
    /// Answers calls of an open exchange.
    AddResults = "addResults",
    /// Answers what is left of an open exchange as interrupted.
    CloseExchange = "closeExchange",
    /// Writes turns of an agent for it.
    PublishTurn = "publishTurn",
    /// Sets custom state.
    SetCustom = "setCustom",
    /// Takes an edit back.
    Undo = "undo",
    /// Fills a session from a document.
    Load = "load",
    /// Several edits as one.
    Batch = "batch",
    /// Makes what a session begins with.
    Init = "init",
    /// Takes in what another program wrote down.
    Import = "import",
    /// Brings pages back into the window.
    Recall = "recall",
    /// Stands for an edit that was lost.
    Lost = "lost",
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

crate::text::serde_as_text!(Operation);
