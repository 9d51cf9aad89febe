//! Tools for models and clients elsewhere: few, with short names, each doing what several of an agent's do.
//!
//! A host offers its own model the five of [`HostTool::UNFOLD`], with which folded pages are opened again. A
//! client that speaks MCP gets all nine. Both call the code that agents' own tools call.

mod organise;
mod schema;
mod undo;
mod window;
mod write;

use std::panic::AssertUnwindSafe;

use contexture_core::{PageIndex, Session, WindowOptions, message::RawJson};
use contexture_search::LazyIndex;
use futures::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Done, Hand, Surface, arguments, change, expand, find, look, pin};
use crate::{
    tool::{ToolOutput, ToolSpec},
    tools::shorten,
};

/// The most bytes of an error that an answer repeats: names that a caller made up may be of any length.
const MOST_OF_AN_ERROR: usize = 2_000;

/// A tool for models and clients elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostTool {
    /// Shows the window.
    Window,
    /// Reads a page.
    Read,
    /// Finds pages, and brings the best back.
    Find,
    /// Opens a page.
    Expand,
    /// Hides a page.
    Hide,
    /// Pins a page, or takes the pin back.
    Pin,
    /// Creates, updates and extends pages.
    Write,
    /// Moves, removes and restores pages.
    Organise,
    /// Takes edits back.
    Undo,
}

impl HostTool {
    /// All of them, in the order in which they are listed.
    pub const ALL: [HostTool; 9] = [
        HostTool::Window,
        HostTool::Read,
        HostTool::Find,
        HostTool::Expand,
        HostTool::Hide,
        HostTool::Pin,
        HostTool::Write,
        HostTool::Organise,
        HostTool::Undo,
    ];

    /// Those with which a model handles its own window: what is folded can be opened again.
    pub const UNFOLD: [HostTool; 5] =
        [HostTool::Expand, HostTool::Find, HostTool::Read, HostTool::Pin, HostTool::Hide];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            HostTool::Window => "window",
            HostTool::Read => "read",
            HostTool::Find => "find",
            HostTool::Expand => "expand",
            HostTool::Hide => "hide",
            HostTool::Pin => "pin",
            HostTool::Write => "write",
            HostTool::Organise => "organise",
            HostTool::Undo => "undo",
        }
    }

    /// Returns how it is described. The bytes are fixed: they are part of every prompt.
    pub fn spec(self) -> ToolSpec {
        let (description, schema) = schema::of(self);
        ToolSpec {
            name: self.name().to_owned(),
            description: description.to_owned(),
            schema: RawJson::new(schema).expect("the schema is written here and valid"),
        }
    }

    /// Returns whether calling it changes nothing, not even the caller's view.
    pub fn only_reads(self) -> bool {
        matches!(self, HostTool::Window | HostTool::Read)
    }

    /// Returns whether it changes what pages say or where they are, and not only how they are shown.
    pub fn changes_pages(self) -> bool {
        matches!(self, HostTool::Write | HostTool::Organise | HostTool::Undo)
    }

    /// Returns whether calling it again with the same arguments changes nothing more.
    pub fn is_idempotent(self) -> bool {
        !self.changes_pages()
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostOutput {
    /// What the model reads.
    pub text: String,
    /// Whether it failed. Then nothing has changed.
    pub error: bool,
    /// The same for programs, from tools that change pages.
    pub object: Option<Value>,
}

/// The tools in the hands of whoever holds a session.
pub struct HostTools {
    hand: Hand,
    offered: &'static [HostTool],
}

impl HostTools {
    /// Offers the tools with which a model that a host runs opens its window. The options are those that its
    /// windows are made with.
    pub fn unfold(session: Session, options: WindowOptions, index: LazyIndex) -> Self {
        let hand = Hand { session, options, index, surface: Surface::Host };
        Self { hand, offered: &HostTool::UNFOLD }
    }

    /// Offers all tools to a client that speaks MCP.
    pub fn mcp(session: Session, options: WindowOptions, index: LazyIndex) -> Self {
        let hand = Hand { session, options, index, surface: Surface::Mcp };
        Self { hand, offered: &HostTool::ALL }
    }

    /// Calls a tool. Whatever goes wrong is an answer that says what to do next.
    pub async fn call(&self, name: &str, arguments: Value) -> HostOutput {
        let Some(tool) = self.offered.iter().find(|tool| tool.name() == name) else {
            let known: Vec<&str> = self.offered.iter().map(|tool| tool.name()).collect();
            let (name, known) = (shorten(name, 80), known.join(", "));
            return failed(&format!("there is no tool '{name}'; the tools are: {known}"));
        };
        let arguments = match arguments::of_value(&tool.spec(), arguments) {
            Ok(arguments) => arguments,
            Err(wrong) => return failed(&wrong),
        };
        // A tool keeps no state that a panic could leave half changed: edits are atomic.
        let called = AssertUnwindSafe(self.run(*tool, &arguments)).catch_unwind().await;
        let output = match called {
            Ok(done) => done.unwrap_or_else(|wrong| wrong.output(self.hand.surface)),
            Err(_) => {
                tracing::error!(tool = name, "a tool panicked");
                return failed("the tool crashed: this is a bug; try another way");
            }
        };
        if output.error {
            return failed(&output.text);
        }
        let object = match tool.changes_pages() {
            true => Some(self.object(&output).await),
            false => None,
        };
        HostOutput { text: output.text, error: false, object }
    }

    /// Boxed: all tools' futures in one would be moved about on the stack of whoever calls.
    fn run<'a>(&'a self, tool: HostTool, arguments: &'a Value) -> BoxFuture<'a, Done> {
        let hand = &self.hand;
        match tool {
            HostTool::Window => window::window(hand, arguments).boxed(),
            HostTool::Read => look::get(hand, arguments).boxed(),
            HostTool::Find => find::find_or_recall(hand, arguments).boxed(),
            HostTool::Expand => expand::expand(hand, arguments).boxed(),
            HostTool::Hide => change::hide(hand, arguments).boxed(),
            HostTool::Pin => pin(hand, arguments).boxed(),
            HostTool::Write => write::write(hand, arguments).boxed(),
            HostTool::Organise => organise::organise(hand, arguments).boxed(),
            HostTool::Undo => undo::undo(hand, arguments).boxed(),
        }
    }

    /// Says what changed for programs: pages with the versions that the next change may expect.
    async fn object(&self, output: &ToolOutput) -> Value {
        let mut pages = Vec::new();
        for index in &output.changes {
            let seen = self.hand.session.reader().page_or_archived(index).await;
            pages.push(match seen {
                Ok(seen) => json!({"index": index, "version": seen.page.version}),
                // The change itself has taken it out of view.
                Err(_) => json!({"index": index}),
            });
        }
        json!({"summary": output.text, "pages": pages})
    }
}

impl std::fmt::Debug for HostTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostTools").field("offered", &self.offered).finish_non_exhaustive()
    }
}

fn failed(text: &str) -> HostOutput {
    HostOutput { text: shorten(text, MOST_OF_AN_ERROR), error: true, object: None }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    page: String,
    #[serde(default)]
    pinned: Option<bool>,
}

async fn pin(hand: &Hand, arguments: &Value) -> Done {
    let Pin { page, pinned } = arguments::read(arguments)?;
    let page = Value::Object(Map::from_iter([("page".to_owned(), Value::String(page))]));
    match pinned {
        Some(false) => pin::unpin(hand, &page).await,
        Some(true) | None => pin::pin(hand, &page).await,
    }
}

/// Names pages in an answer.
fn names(pages: &[PageIndex]) -> String {
    let names: Vec<String> = pages.iter().take(20).map(ToString::to_string).collect();
    let more = if pages.len() > names.len() { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}
