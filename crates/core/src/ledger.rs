//! The ledger: every window sent, per view and format, as the difference to the one before.
//!
//! A record names its pieces by what they were made from, so the window can be rendered again and
//! proved by its hash, whatever happened to the pages since. What a purge took is gone from here too.

use serde::{Deserialize, Serialize};

use crate::{
    Format, Level, PageIndex, Revision, Timestamp, Tokens,
    message::MessageFilter,
    storage::{ContentHash, FilterKey, ViewId},
};

/// Names a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LedgerKey {
    /// Whose window.
    pub view: ViewId,
    /// In which format.
    pub format: Format,
}

/// One window sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentWindow {
    /// Counts the windows of its ledger, from 1.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The state it was rendered from.
    pub revision: Revision,
    /// The level asked for.
    pub level: Level,
    /// The budget it was to fit, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Tokens>,
    /// The tokenizer it was counted with.
    pub tokenizer: String,
    /// The model it was made for, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The version of the renderer: another may give other bytes.
    pub renderer: u64,
    /// The hash of what the host put before it, where the host said so: block 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<ContentHash>,
    /// What the host added takes; part of `tokens`.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub reserved: Tokens,
    /// The hash of its bytes.
    pub hash: ContentHash,
    /// All it takes.
    pub tokens: Tokens,
    /// What of it the provider is expected to have cached.
    pub cached: Tokens,
    /// What was sent before and must be read again, because something before it changed.
    pub reread: Tokens,
    /// The fold that was committed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Revision>,
    /// How many of the first pieces are those of the window before.
    pub kept: u64,
    /// The pieces after those.
    pub pieces: Vec<SentPiece>,
    /// How many pieces stand before the freeze line.
    pub frozen: u64,
    /// How many messages it holds, in provider formats.
    #[serde(default)]
    pub messages: u64,
    /// The last message of the window before, where it still stands: a cache breakpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_tail: Option<u64>,
    /// What the format says beside its pieces: the header, state and history of a Context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// Through which filter it was seen.
    #[serde(default, skip_serializing_if = "FilterKey::is_open")]
    pub filter: FilterKey,
    /// What the provider reported for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// One piece of a window sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentPiece {
    /// The page it showed, or the first of a run.
    pub page: PageIndex,
    /// Whether it stood in the system part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub system: bool,
    /// What it took.
    pub tokens: Tokens,
    /// What it was made from.
    pub source: SentSource,
    /// The pages its lines speak of, where it is lines alone; none where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotes: Option<Vec<Quoted>>,
}

/// A page that a line of the engine speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quoted {
    /// The page.
    pub page: PageIndex,
    /// Which of its messages the line may quote.
    #[serde(default, skip_serializing_if = "MessageFilter::is_all")]
    pub speech: MessageFilter,
}

/// What a piece was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SentSource {
    /// A page's messages as they were.
    Messages {
        /// Their hash.
        content: ContentHash,
        /// The most tokens a part may take before it is cut to head and tail.
        limit: Option<Tokens>,
        /// Which of them.
        #[serde(default, skip_serializing_if = "MessageFilter::is_all")]
        speech: MessageFilter,
    },
    /// Messages of a turn that is another agent's or was rewritten, with lines of the engine that
    /// say so.
    Turn {
        /// The lines: one over the messages, and one that closes the request they begin with.
        head: String,
        /// Their hash.
        content: ContentHash,
        /// The most tokens a part may take before it is cut to head and tail.
        limit: Option<Tokens>,
        /// Which of them.
        #[serde(default, skip_serializing_if = "MessageFilter::is_all")]
        speech: MessageFilter,
    },
    /// A page's text under a line of the engine.
    Note {
        /// The line.
        head: String,
        /// The hash of the page's messages.
        content: ContentHash,
        /// The most tokens a part may take before it is cut to head and tail.
        limit: Option<Tokens>,
        /// Whether the text came from the system side and needs no escaping.
        trusted: bool,
        /// Which of the messages.
        #[serde(default, skip_serializing_if = "MessageFilter::is_all")]
        speech: MessageFilter,
    },
    /// Lines of the engine.
    Engine(String),
    /// Something a purge took.
    Purged,
}

/// What a provider reported for a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All tokens of the request, those read from the cache included.
    pub input: u64,
    /// Those read from the cache.
    #[serde(default)]
    pub cached: u64,
    /// Those written to the cache.
    #[serde(default)]
    pub written: u64,
    /// Those of the answer.
    #[serde(default)]
    pub output: u64,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

fn is_nothing(tokens: &Tokens) -> bool {
    *tokens == Tokens(0)
}

impl SentWindow {
    /// A record is complete at least this often, so that a window is found without reading them all.
    pub const COMPLETE_EVERY: u64 = 32;

    /// Leaves nothing but figures: what an agent may read of windows that showed what it no longer
    /// sees.
    pub(crate) fn strip(&mut self) {
        (self.kept, self.pieces, self.frame) = (0, Vec::new(), None);
    }

    /// Scrubs what a purge must not leave behind: every text of the engine may quote what was purged.
    pub fn scrub(&mut self) {
        for piece in &mut self.pieces {
            piece.source = SentSource::Purged;
            piece.quotes = None;
        }
        self.frame = None;
    }
}
