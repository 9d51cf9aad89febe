//! Context tools: the agent's own hands on its pages, through its permission-checked proxy.
//!
//! Each answer is short and says what happened, how many tokens that frees or adds, and what it does
//! to the prompt cache. A page expanded in the middle of a run is given as the answer, at the end of
//! the window, and rises in its place at the next fold: nothing earlier changes, the cache holds.
//! Everything else applies at once. An answer takes one look at the window at most.

mod change;
mod expand;
mod find;
mod look;
mod pin;
mod schema;
mod window_snapshot;

use std::sync::Arc;

use async_trait::async_trait;
use contexture_core::{AgentContext, Error, WindowOptions, message::RawJson, window::quote_text};
use contexture_search::{LazyIndex, SearchError};
use serde_json::Value;

use super::arguments;
use crate::tool::{Effect, Tool, ToolOutput, ToolSpec};

/// Returns the tools with which an agent handles its own context. The options are those its windows
/// are made with: they say what stands in the window and what counts. Pages are found by the index.
pub fn tools(
    context: AgentContext,
    options: WindowOptions,
    index: LazyIndex,
) -> Vec<Arc<dyn Tool>> {
    let hand = Arc::new(Hand { context, options, index });
    let tool = |kind: Kind| {
        let (name, description, schema) = schema::of(kind);
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: RawJson::new(schema).expect("the schema is written here and valid"),
        };
        Arc::new(ContextTool { kind, spec, hand: hand.clone() }) as Arc<dyn Tool>
    };
    Kind::ALL.map(tool).to_vec()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ExpandDetails,
    HideDetails,
    PinPage,
    UnpinPage,
    UpdatePage,
    MovePage,
    RemovePage,
    RestorePage,
    CreateDetailPage,
    CreateContentsPage,
    FindPage,
    Recall,
    GetPage,
    ReadWindow,
}

impl Kind {
    const ALL: [Kind; 14] = [
        Kind::ExpandDetails,
        Kind::HideDetails,
        Kind::PinPage,
        Kind::UnpinPage,
        Kind::UpdatePage,
        Kind::MovePage,
        Kind::RemovePage,
        Kind::RestorePage,
        Kind::CreateDetailPage,
        Kind::CreateContentsPage,
        Kind::FindPage,
        Kind::Recall,
        Kind::GetPage,
        Kind::ReadWindow,
    ];
}

/// What every context tool works with.
struct Hand {
    context: AgentContext,
    options: WindowOptions,
    index: LazyIndex,
}

struct ContextTool {
    kind: Kind,
    spec: ToolSpec,
    hand: Arc<Hand>,
}

#[async_trait]
impl Tool for ContextTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        match self.kind {
            Kind::ExpandDetails
            | Kind::FindPage
            | Kind::Recall
            | Kind::GetPage
            | Kind::ReadWindow => Effect::Reads,
            Kind::HideDetails
            | Kind::PinPage
            | Kind::UnpinPage
            | Kind::UpdatePage
            | Kind::MovePage
            | Kind::RemovePage
            | Kind::RestorePage
            | Kind::CreateDetailPage
            | Kind::CreateContentsPage => Effect::Changes,
        }
    }

    async fn call(&self, arguments: &Value) -> ToolOutput {
        let hand = &self.hand;
        let done = match self.kind {
            Kind::ExpandDetails => expand::expand(hand, arguments).await,
            Kind::HideDetails => change::hide(hand, arguments).await,
            Kind::PinPage => pin::pin(hand, arguments).await,
            Kind::UnpinPage => pin::unpin(hand, arguments).await,
            Kind::UpdatePage => change::update(hand, arguments).await,
            Kind::MovePage => change::move_page(hand, arguments).await,
            Kind::RemovePage => change::remove(hand, arguments).await,
            Kind::RestorePage => change::restore(hand, arguments).await,
            Kind::CreateDetailPage => change::create_detail(hand, arguments).await,
            Kind::CreateContentsPage => change::create_contents(hand, arguments).await,
            Kind::FindPage => find::find(hand, arguments).await,
            Kind::Recall => find::recall(hand, arguments).await,
            Kind::GetPage => look::get(hand, arguments).await,
            Kind::ReadWindow => look::window(hand, arguments).await,
        };
        done.unwrap_or_else(|failed| failed.0)
    }
}

/// The answer of a context tool that did nothing.
struct Failed(ToolOutput);

type Done = Result<ToolOutput, Failed>;

impl From<ToolOutput> for Failed {
    fn from(output: ToolOutput) -> Self {
        Self(output)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(ToolOutput::failed(format!("{error}; {}", hint(&error))))
    }
}

impl From<SearchError> for Failed {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Core(error) => error.into(),
            error => {
                Self(ToolOutput::failed(format!("{error}; try again, or look with read_window")))
            }
        }
    }
}

/// Says what to do about an error with the tools an agent has.
fn hint(error: &Error) -> String {
    match error {
        Error::PageNotFound { .. }
        | Error::ParentNotFound { .. }
        | Error::SegmentNotFound { .. } => "find_page finds pages by what they say".to_owned(),
        Error::PageArchived { .. } => {
            "get_page shows it, and restore_page returns it to the tree".to_owned()
        }
        Error::NotContentsPage { .. } => {
            "name a directory: get_page shows whether a page is one".to_owned()
        }
        Error::HiddenAncestor { ancestor, .. } => format!("expand_details {ancestor} first"),
        Error::VersionMismatch { page, .. } => format!("get_page {page} again, then retry"),
        other => other.advice().to_string(),
    }
}

/// Shows a page in an answer: its index and name.
fn named(page: &contexture_core::Page) -> String {
    format!("{} {}", page.index, quote_text(page.name.as_str()))
}
