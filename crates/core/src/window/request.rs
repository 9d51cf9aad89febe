//! What a window is asked for, and what comes back.

use std::sync::Arc;

use serde::Serialize;

use super::{
    count::TokenCounter,
    filter::{CommonSecrets, SensitiveFilter},
    fold::FoldShares,
    format::Format,
    preface::WindowTools,
    source::Family,
};
use crate::{
    Level, PageIndex, Revision, SegmentId, Tokens, WindowLevel,
    context::{Anchors, Apps, ContextVersion, RenderKey},
    storage::{ContentHash, SentPiece, SentWindow},
    window::FoldReport,
};

/// What a window is asked for.
#[derive(Clone)]
pub struct WindowOptions {
    /// The format to render to.
    pub format: Format,
    /// The level asked for, for this window alone; none is the level of the view. System-kind segments
    /// stay in full.
    pub level: Option<Level>,
    /// What it may take. Without it the session's `budget` applies, else capacities alone.
    pub budget: Option<Tokens>,
    /// How many messages may stand in full, those of System-kind segments apart. Met by folding as
    /// far as pages fold: the last one and pinned ones stay.
    pub max_messages: Option<u64>,
    /// The most tokens a part of a page takes before it is cut to head and tail. By default its share of
    /// the budget ([`FoldShares::part`]). It should stay the same from window to
    /// window, for large parts change with it.
    pub part_limit: Option<Tokens>,
    /// What the host adds and pays for: tool definitions and the like.
    pub reserved: Tokens,
    /// The hash of what the host puts before the window: tool definitions, model, thinking settings.
    /// Whenever it changes, nothing of the window before is expected to be cached.
    pub head: Option<ContentHash>,
    /// What counts.
    pub counter: Arc<dyn TokenCounter>,
    /// The model it is for: what models keep to themselves goes back to the same only.
    pub model: Option<String>,
    /// Applications shown at its end.
    pub apps: Arc<Apps>,
    /// What is taken out of texts that stubs quote.
    pub filter: Arc<dyn SensitiveFilter>,
    /// What shapes folds.
    pub shares: FoldShares,
    /// The tools on the window that the model is offered: the window says how it is to be read and how
    /// to use them. None where the host's own prompts do.
    pub explain: Option<WindowTools>,
}

impl WindowOptions {
    /// Asks for everything in full, without a budget.
    pub fn new(format: Format, counter: Arc<dyn TokenCounter>) -> Self {
        Self {
            format,
            level: None,
            budget: None,
            max_messages: None,
            part_limit: None,
            reserved: Tokens(0),
            head: None,
            counter,
            model: None,
            apps: Arc::default(),
            filter: Arc::new(CommonSecrets),
            shares: FoldShares::default(),
            explain: Some(WindowTools::default()),
        }
    }

    /// Sets what it may take.
    #[must_use]
    pub fn budget(mut self, tokens: u64) -> Self {
        self.budget = Some(Tokens(tokens));
        self
    }

    /// Sets what the host puts before the window: its bytes, and what they take.
    #[must_use]
    pub fn head(mut self, bytes: &[u8], tokens: u64) -> Self {
        self.head = Some(ContentHash::of(bytes));
        self.reserved = Tokens(tokens);
        self
    }

    /// Sets how many messages may stand in full.
    #[must_use]
    pub fn max_messages(mut self, messages: u64) -> Self {
        self.max_messages = Some(messages);
        self
    }

    /// Sets the level asked for, for this window alone.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Returns how pages are written in its format.
    pub(crate) fn family(&self) -> Family {
        match self.format {
            Format::Markdown | Format::Context => Family::Markdown,
            Format::Provider(_) => Family::Provider,
        }
    }
}

impl std::fmt::Debug for WindowOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WindowOptions")
            .field("format", &self.format)
            .field("level", &self.level)
            .field("budget", &self.budget)
            .field("max_messages", &self.max_messages)
            .field("reserved", &self.reserved)
            .field("head", &self.head)
            .field("counter", &self.counter.name())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// A rendered window.
#[derive(Debug, Clone)]
pub struct Window {
    /// The format it is rendered to.
    pub format: Format,
    /// The rendering: Markdown, or JSON.
    pub body: String,
    /// The hash of the rendering.
    pub hash: ContentHash,
    /// The state it shows.
    pub version: ContextVersion,
    /// What its bytes depend on beside the version.
    pub key: RenderKey,
    /// The number of that state.
    pub revision: Revision,
    /// What takes how much.
    pub account: Account,
    /// The fold that is due and that it is rendered with, if there is one.
    pub due: Option<FoldReport>,
    /// What can be pressed, in formats that show it.
    pub anchors: Anchors,
    /// What came in broken and was made valid, in words.
    pub repaired: Vec<String>,
    /// Where each message stands in the body, in provider formats.
    pub messages: Vec<std::ops::Range<usize>>,
    /// What it is made of.
    pub pieces: Vec<SentPiece>,
    /// How many pieces stand before the freeze line.
    pub frozen: u64,
    /// What its format says beside its pieces.
    pub(crate) frame: Option<String>,
}

/// A window that was recorded as sent.
#[derive(Debug, Clone)]
pub struct RecordedWindow {
    /// The window.
    pub window: Window,
    /// Its record.
    pub record: SentWindow,
    /// What the fold that was taken for it saves and costs.
    pub fold: Option<FoldReport>,
    /// The pages of which a line stands in the window instead, because the view holds them no longer:
    /// where there are some, the window is not what was sent.
    pub withheld: Vec<PageIndex>,
}

/// What takes how much of a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// All of it, what the host adds included.
    pub tokens: u64,
    /// What it may take.
    pub budget: Option<u64>,
    /// How many messages stand in full, where they are bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// How many may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_messages: Option<u64>,
    /// What the host adds.
    pub reserved: u64,
    /// What counted, and whether that is the model's own tokenizer.
    pub tokenizer: String,
    /// Whether the count is exact for the tokenizer's models, or an estimate.
    pub exact: bool,
    /// What each segment takes.
    pub segments: Vec<SegmentAccount>,
    /// What each page or run takes, in order.
    pub pages: Vec<PageAccount>,
}

/// What a segment takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentAccount {
    /// Which.
    pub id: SegmentId,
    /// All of it.
    pub tokens: u64,
    /// What stands in full.
    pub full: u64,
    /// What stands at Summary and Gist.
    pub lines: u64,
    /// What lines of runs take.
    pub runs: u64,
    /// How many pages stand in full.
    pub full_pages: u64,
    /// How many pages stand as a line, those in runs included.
    pub folded_pages: u64,
}

/// What a page or run takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageAccount {
    /// The page, or the first of the run.
    pub page: PageIndex,
    /// At which level.
    pub level: WindowLevel,
    /// How much.
    pub tokens: u64,
}
