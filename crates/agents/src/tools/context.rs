//! Context tools: the agent's own hands on its pages, through its permission-checked proxy.
//!
//! Each answer is short and says what happened, how many tokens that frees or adds, and what it does
//! to the prompt cache. A page expanded in the middle of a run is given as the answer, at the end of
//! the window, and rises in its place at the next fold: nothing earlier changes, the cache holds.
//! Everything else applies at once. An answer takes one look at the window at most.
//!
//! The same tools serve three surfaces: agents that run here, models that a host runs, and clients that speak
//! MCP. What differs is what tools are called and when an expanded page opens in its place; [`HostTools`]
//! puts them together for the latter two.

mod change;
mod expand;
mod find;
mod host;
mod look;
mod pin;
mod provider_form;
mod schema;
mod surface;
mod window_snapshot;

use std::sync::Arc;

use async_trait::async_trait;
use contexture_core::{
    AgentContext, Error, Session, WindowOptions, message::RawJson, window::quote_text,
};
use contexture_search::{LazyIndex, SearchError};
use serde_json::Value;

pub use host::{HostOutput, HostTool, HostTools};
pub use provider_form::{CallForm, Calls};
use surface::Surface;

use super::arguments;
use crate::tool::{Effect, Tool, ToolOutput, ToolSpec};

/// Returns the tools with which an agent handles its own context. The options are those its windows
/// are made with: they say what stands in the window and what counts. Pages are found by the index.
pub fn tools(
    context: AgentContext,
    options: WindowOptions,
    index: LazyIndex,
) -> Vec<Arc<dyn Tool>> {
    let (session, surface) = (context.into(), Surface::Run);
    let hand = Arc::new(Hand { session, options, index, surface });
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
    session: Session,
    options: WindowOptions,
    index: LazyIndex,
    surface: Surface,
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
        done.unwrap_or_else(|failed| failed.output(hand.surface))
    }
}

/// Why a context tool did nothing.
enum Failed {
    /// In words.
    Said(ToolOutput),
    /// The core refused or failed.
    Core(Error),
    /// The search failed.
    Search(SearchError),
}

type Done = Result<ToolOutput, Failed>;

impl From<ToolOutput> for Failed {
    fn from(output: ToolOutput) -> Self {
        Self::Said(output)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<SearchError> for Failed {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Core(error) => error.into(),
            error => Self::Search(error),
        }
    }
}

impl Failed {
    /// Puts it into words, with what to do next.
    fn output(self, surface: Surface) -> ToolOutput {
        match self {
            Failed::Said(output) => output,
            Failed::Core(error) => ToolOutput::failed(format!("{error}; {}", surface.hint(&error))),
            Failed::Search(error) => ToolOutput::failed(format!("{error}; {}", surface.look())),
        }
    }
}

/// Shows a page in an answer: its index and name.
fn named(page: &contexture_core::Page) -> String {
    format!("{} {}", page.index, quote_text(page.name.as_str()))
}
