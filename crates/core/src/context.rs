//! The Context: what is put before a model, as one value with five parts (D-01).
//!
//! ```text
//!  Context
//!  ├ header    who and which state: application, session, version, time of the state
//!  ├ state     level, focus, custom state
//!  ├ content   Markdown
//!  ├ anchors   all that can be pressed or pointed at; nothing else can
//!  └ history   the latest rounds, or none
//! ```
//!
//! A Context is a value: it is made whole and never changed (D-24). Its version is made by the
//! engine alone. What was read from text is a [`ParsedContext`], which has the same parts but
//! only a [`ClaimedVersion`], so that no text can pass for a rendering:
//!
//! ```compile_fail
//! # use std::sync::Arc;
//! # use contexture_core::context::{Context, Frozen};
//! # fn reuse(frozen: &mut Frozen, text: &str) -> contexture_core::Result<()> {
//! let parsed = Context::parse(text)?;
//! frozen.freeze(Arc::new(parsed)).unwrap(); // expected a Context, found a ParsedContext
//! # Ok(()) }
//! ```
//!
//! Deliberately absent: rendering, which the [`window`](crate::window) does.

mod anchors;
mod app;
mod app_session;
mod build;
mod frozen;
mod history;
mod page_action;
mod parse;
mod version;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

// What a Context says.
pub use history::{History, Round};
pub use version::{ClaimedVersion, ContextVersion, RenderKey};

// What can be pressed, and what comes of it.
pub use crate::system::Pressed;
pub use anchors::{Anchor, AnchorConflict, AnchorKey, AnchorKind, Anchors};
pub use page_action::PageAction;
pub(crate) use page_action::{FIND, find_anchor, reference_key};

// Applications.
pub use app::{App, Apps, MountedPanels, Panel};
pub use app_session::AppSession;

// Building one, and reusing what was built.
pub use build::{Changes, LevelState, Shown, Source, build};
pub use frozen::{Frozen, Inputs, Mismatch, Reuse};

use crate::{Error, Level, Timestamp, message::RawJson};

/// What is put before a model.
///
/// The type of its version says where it comes from: the engine, or some text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context<V = ContextVersion> {
    header: Header<V>,
    state: ContextState,
    content: String,
    anchors: Anchors,
    history: Option<History>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Diagnostic>,
}

/// A Context read from text: valid, but nobody vouches for it, so it is never reused.
pub type ParsedContext = Context<ClaimedVersion>;

impl<V> Context<V> {
    /// Puts the parts together. Anchors that were refused are told among the diagnostics (D-27).
    pub(crate) fn new(
        header: Header<V>,
        state: ContextState,
        content: String,
        anchors: Anchors,
        history: Option<History>,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Self {
        diagnostics.extend(anchors.warnings().iter().map(Diagnostic::from));
        Self { header, state, content, anchors, history, diagnostics }
    }

    /// Returns what it takes in memory, about: anchors and rounds of the history are small.
    pub(crate) fn bytes(&self) -> usize {
        const AROUND: usize = 1_024;
        const ANCHOR: usize = 256;
        self.content.len() + self.anchors.len() * ANCHOR + AROUND
    }

    /// Returns who and which state it shows.
    pub fn header(&self) -> &Header<V> {
        &self.header
    }

    /// Returns level, focus and custom state.
    pub fn state(&self) -> &ContextState {
        &self.state
    }

    /// Returns the Markdown.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Returns what can be pressed or pointed at.
    pub fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    /// Returns the latest rounds, where it carries any.
    pub fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Returns what went wrong while it was made; mostly nothing.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl<V: Serialize> Context<V> {
    /// Returns it as JSON: equal Contexts give equal bytes.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("it holds only text, numbers and maps keyed by text")
    }
}

impl Context {
    /// Reads a Context from JSON and checks what every Context must have (D-17).
    ///
    /// Fields it does not know are passed over, for later versions may add some (D-32). A field or
    /// key that appears twice is an error.
    pub fn parse(text: &str) -> Result<ParsedContext, Error> {
        parse::parse(text)
    }

    /// Makes the Context that tells of a failure (D-25). It has all that every Context must have
    /// (D-23), whatever is known of application and session.
    pub fn error(
        app_id: &str,
        session_id: &str,
        version: ContextVersion,
        timestamp: Timestamp,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        let known = |text: &str| if is_blank(text) { "unknown" } else { text }.to_owned();
        let (app_id, session_id) = (known(app_id), known(session_id));
        let header = Header { app_id, session_id, version, timestamp, render_key: None };
        let state = ContextState { current_lod: Level::Full, focus_id: None, custom: None };
        let content = failure_text(&diagnostics);
        Self::new(header, state, content, Anchors::default(), None, diagnostics)
    }
}

/// Who and which state a Context shows. Application and session are never empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Header<V = ContextVersion> {
    app_id: String,
    session_id: String,
    version: V,
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    render_key: Option<RenderKey>,
}

impl<V> Header<V> {
    /// Makes a header; an empty application or session is refused.
    pub(crate) fn new(
        app_id: impl Into<String>,
        session_id: impl Into<String>,
        version: V,
        timestamp: Timestamp,
        render_key: Option<RenderKey>,
    ) -> Result<Self, Error> {
        let (app_id, session_id) = (app_id.into(), session_id.into());
        for (what, text) in [("appId", &app_id), ("sessionId", &session_id)] {
            if is_blank(text) {
                return Err(Error::InvalidText {
                    what,
                    text: crate::index::shorten(text),
                    reason: "it is empty",
                });
            }
        }
        Ok(Self { app_id, session_id, version, timestamp, render_key })
    }

    /// Returns the application, the same for the whole session.
    pub fn app_id(&self) -> &str {
        &self.app_id
    }

    /// Returns the session.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// Returns the version of what was rendered.
    pub fn version(&self) -> &V {
        &self.version
    }

    /// Returns the time of the state that was rendered, not of the rendering.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Returns what it depends on beside the version; an error Context has none.
    pub fn render_key(&self) -> Option<&RenderKey> {
        self.render_key.as_ref()
    }
}

impl Header {
    /// Tells whether what was rendered under one serves for the other: version and key are equal, so
    /// the bytes are.
    pub fn can_reuse(&self, other: &Self) -> bool {
        self.render_key.is_some()
            && (&self.app_id, &self.session_id, self.version, &self.render_key)
                == (&other.app_id, &other.session_id, other.version, &other.render_key)
    }
}

/// Level, focus and custom state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextState {
    /// The level it is rendered at: where the budget lowered pages, the lowest it gave any.
    #[serde(serialize_with = "write_lod")]
    pub current_lod: Level,
    /// What the view is focused on.
    pub focus_id: Option<String>,
    /// The session's custom state, and that of applications.
    pub custom: Option<BTreeMap<String, RawJson>>,
}

fn write_lod<S: Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(lod_name(*level))
}

/// Returns a level as the seed spells it; everywhere else it is lower case.
fn lod_name(level: Level) -> &'static str {
    match level {
        Level::Gist => "Gist",
        Level::Summary => "Summary",
        Level::Full => "Full",
    }
}

/// One thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What kind, for programs: `invalid`, `anchor-conflict` …
    pub code: String,
    /// What happened, for readers.
    pub message: String,
}

impl From<&Error> for Diagnostic {
    fn from(error: &Error) -> Self {
        Self { code: error.kind().to_string(), message: error.to_string() }
    }
}

impl From<&AnchorConflict> for Diagnostic {
    fn from(conflict: &AnchorConflict) -> Self {
        Self { code: "anchor-conflict".to_owned(), message: conflict.to_string() }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn failure_text(diagnostics: &[Diagnostic]) -> String {
    let line = |told: &Diagnostic| {
        format!("- **{}**: {}\n", literal_line(&told.code), literal_line(&told.message))
    };
    let lines: String = diagnostics.iter().map(line).collect();
    format!("# Error\n\nThis context could not be rendered.\n\n{lines}").trim_end().to_owned()
        + "\n"
}

/// Writes outside text as one line of Markdown that says only itself: messages quote what was given.
fn literal_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '[' | ']' | '`' | '*' | '_' | '<' | '>' | '#' => line.extend(['\\', c]),
            c if c.is_control() => line.push(' '),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests;
