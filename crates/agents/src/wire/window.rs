//! Windows, with what they take and what is on record of those that were sent.

use contexture_core::{
    Error, Format, Level, Result, Revision, Timestamp, Tokens, Usage, Window,
    storage::{ContentHash, SentWindow},
    window::{FoldReport, ModelRequest},
};
use serde::Serialize;
use serde_json::{
    Number,
    value::{RawValue, to_raw_value},
};

use super::AccountObject;

/// A window in Markdown.
#[derive(Debug, Serialize)]
pub struct ContentObject<'a> {
    /// Its text.
    pub content: &'a str,
}

/// A window with what it takes.
#[derive(Debug, Serialize)]
pub struct AccountedObject {
    /// The window itself: a [`ContentObject`] for Markdown, else what its format is.
    pub window: Box<RawValue>,
    /// Where its tokens go; none for a window that was sent earlier.
    pub account: Option<AccountObject>,
    /// Its record, or that of the last window of its format that was sent.
    pub ledger: Option<LedgerObject>,
}

impl AccountedObject {
    /// Returns a window as one JSON value.
    pub fn window(window: &Window) -> Result<Box<RawValue>> {
        body_object(window.format, window.body.clone())
    }
}

/// Returns the body of a window as one JSON value.
fn body_object(format: Format, body: String) -> Result<Box<RawValue>> {
    let object = match format {
        Format::Markdown => to_raw_value(&ContentObject { content: &body }),
        Format::Context | Format::Provider(_) => RawValue::from_string(body),
    };
    object.map_err(|error| {
        let reason = error.to_string();
        Error::InvalidRendering { format: format.as_str(), reason }
    })
}

/// A request to a model: a window that was recorded as sent.
#[derive(Debug, Serialize)]
pub struct RequestObject {
    /// The part of the request's body that the window is: add the model, the tools and so on.
    pub window: Box<RawValue>,
    /// Its number: what usage is reported under.
    pub number: u64,
    /// What it is expected to take, as the model counts.
    pub tokens: Tokens,
    /// What of it the provider is expected to have cached.
    pub cached: Tokens,
    /// What the fold that was made for it saved and cost; none where none was due.
    pub fold: Option<FoldReport>,
    /// What came in broken and was made valid, in words.
    pub repaired: Vec<String>,
}

impl RequestObject {
    /// Describes a request of a format.
    pub fn new(format: Format, request: ModelRequest) -> Result<Self> {
        let ModelRequest { body, number, tokens, cached, fold, repaired, .. } = request;
        let window = body_object(format, body)?;
        Ok(Self { window, number, tokens, cached, fold, repaired })
    }
}

/// A window sent, without what it was made from.
#[derive(Debug, Serialize)]
pub struct LedgerObject {
    /// Its number, from 1 per view and format.
    pub number: u64,
    /// When it was sent.
    pub at: Timestamp,
    /// The revision of the session it shows.
    pub revision: Revision,
    /// The level nothing in it exceeds.
    pub level: Level,
    /// The tokens it could take.
    pub budget: Option<Tokens>,
    /// What counted it.
    pub tokenizer: String,
    /// The model it was for.
    pub model: Option<String>,
    /// A hash of its bytes.
    pub hash: ContentHash,
    /// The tokens it took.
    pub tokens: Tokens,
    /// How many of them were expected to be cached.
    pub cached: Tokens,
    /// How many of them were expected to be read again.
    pub reread: Tokens,
    /// The fold it was sent with.
    pub fold: Option<Revision>,
    /// What the provider reported.
    pub usage: Option<Usage>,
}

impl From<&SentWindow> for LedgerObject {
    fn from(sent: &SentWindow) -> Self {
        Self {
            number: sent.number,
            at: sent.at,
            revision: sent.revision,
            level: sent.level,
            budget: sent.budget,
            tokenizer: sent.tokenizer.clone(),
            model: sent.model.clone(),
            hash: sent.hash,
            tokens: sent.tokens,
            cached: sent.cached,
            reread: sent.reread,
            fold: sent.fold,
            usage: sent.usage.clone(),
        }
    }
}

/// A share that shapes folds.
#[derive(Debug, Serialize)]
pub struct ShareObject {
    /// Its value.
    pub value: Number,
    /// Who set it.
    pub by: String,
}
