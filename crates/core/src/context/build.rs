//! Building: a Context is a pure function of source data, level state and history (D-07).
//!
//! [`build`] is the one way to a Context, for applications and for the engine's own windows alike:
//!
//! ```
//! use contexture_core::{Level, Result, Timestamp, context::*};
//!
//! /// An application of one line.
//! struct Clock(&'static str, Changes);
//!
//! impl Source for Clock {
//!     fn app_id(&self) -> &str {
//!         "clock"
//!     }
//!     fn session_id(&self) -> &str {
//!         "sess-001"
//!     }
//!     fn changes(&self) -> Changes {
//!         self.1
//!     }
//!     fn changed_at(&self) -> Timestamp {
//!         Timestamp::from_millis(0)
//!     }
//!     fn show(&self, level: Level) -> Result<Shown> {
//!         Ok(Shown::new(level, format!("# Clock\n\n{}\n", self.0)))
//!     }
//! }
//!
//! let levels = LevelState::new(Level::Summary);
//! let mut clock = Clock("12:00", Changes::begin());
//! let first = build(&clock, &levels, None);
//! assert_eq!(first, build(&clock, &levels, None));
//! clock = Clock("12:01", clock.1.next());
//! assert!(build(&clock, &levels, None).header().version() > first.header().version());
//! ```

use std::collections::BTreeMap;

use super::{
    Anchors, Context, ContextState, ContextVersion, Diagnostic, Header, History, RenderKey,
};
use crate::{Error, Level, Timestamp, message::RawJson, window::source::RENDERER};

/// How often something has changed. It only counts up, so no version made of it goes back (D-21),
/// and none can be chosen (D-30).
///
/// ```compile_fail
/// let forged = contexture_core::context::Changes(9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changes(u64);

impl Changes {
    /// Begins to count: the first state is number 1.
    pub fn begin() -> Self {
        Self(1)
    }

    /// Counts one more change.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Stands for a count that the engine keeps elsewhere.
    pub(crate) fn counted(count: u64) -> Self {
        Self(count)
    }
}

/// The source data of a Context: whose it is, how often it has changed, and what it shows.
///
/// For implementers: what is shown is a function of the data and the level, without clock or
/// randomness, and `changes` moves whenever the data do. Secrets are left out there (D-29).
pub trait Source {
    /// Names the application, the same for the whole session.
    fn app_id(&self) -> &str;

    /// Names the session.
    fn session_id(&self) -> &str;

    /// Returns how often the data have changed: the major version.
    fn changes(&self) -> Changes;

    /// Returns when they last did.
    fn changed_at(&self) -> Timestamp;

    /// Shows the data at a level, or fails where they are broken (D-25).
    fn show(&self, level: Level) -> Result<Shown, Error>;

    /// Names what else the rendering depends on. It is asked for before anything is shown.
    fn key(&self, levels: &LevelState, history: Option<&History>) -> RenderKey {
        RenderKey::of([inputs_bytes(levels, history).as_slice()])
    }
}

/// Writes down level, focus and history: the version only counts their changes.
pub(super) fn inputs_bytes(levels: &LevelState, history: Option<&History>) -> Vec<u8> {
    let inputs = (levels.level.as_str(), &levels.focus, history);
    serde_json::to_vec(&inputs).expect("it holds only text and numbers")
}

/// What source data show at a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The level it really has: below the one asked for where a budget wanted it so (D-28).
    pub level: Level,
    /// Markdown.
    pub content: String,
    /// What can be pressed or pointed at.
    pub anchors: Anchors,
    /// Custom state, by key.
    pub custom: BTreeMap<String, RawJson>,
    /// What a reader should know of how it was made.
    pub diagnostics: Vec<Diagnostic>,
}

impl Shown {
    /// Shows a text and nothing else.
    pub fn new(level: Level, content: impl Into<String>) -> Self {
        Self {
            level,
            content: content.into(),
            anchors: Anchors::default(),
            custom: BTreeMap::new(),
            diagnostics: Vec::new(),
        }
    }
}

/// The level state of a Context: at which level it is shown, and what is in focus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelState {
    level: Level,
    focus: Option<String>,
    changes: Changes,
}

impl LevelState {
    /// Begins at a level, without focus.
    pub fn new(level: Level) -> Self {
        Self { level, focus: None, changes: Changes(0) }
    }

    /// Stands for level state that the engine keeps elsewhere.
    pub(crate) fn counted(level: Level, focus: Option<String>, changes: u64) -> Self {
        Self { level, focus, changes: Changes(changes) }
    }

    /// Switches to a level, which holds until the next switch (D-10).
    pub fn switch(&mut self, level: Level) {
        if self.level != level {
            self.level = level;
            self.changes = self.changes.next();
        }
    }

    /// Sets what is in focus.
    pub fn focus_on(&mut self, focus: Option<&str>) {
        if self.focus.as_deref() != focus {
            self.focus = focus.map(str::to_owned);
            self.changes = self.changes.next();
        }
    }

    /// Returns the level.
    pub fn level(&self) -> Level {
        self.level
    }
}

/// Builds a Context from source data, level state and history. It reads nothing else, so equal inputs
/// give an equal Context. Where the source is broken, the Context says so (D-25).
pub fn build(source: &dyn Source, levels: &LevelState, history: Option<&History>) -> Context {
    let (app, session) = (source.app_id(), source.session_id());
    let (version, at) = (version(source, levels), source.changed_at());
    let key = source.key(levels, history);
    let header = Header::new(app, session, version, at, Some(key));
    let (header, shown) = match (header, source.show(levels.level)) {
        (Ok(header), Ok(shown)) => (header, shown),
        (Err(error), _) | (_, Err(error)) => {
            return Context::error(app, session, version, at, vec![Diagnostic::from(&error)]);
        }
    };
    let Shown { level, content, anchors, custom, diagnostics } = shown;
    let state = ContextState {
        current_lod: level,
        focus_id: levels.focus.clone(),
        custom: (!custom.is_empty()).then_some(custom),
    };
    Context::new(header, state, content, anchors, history.cloned(), diagnostics)
}

/// Returns the version a Context has: source data, level state, renderer (D-15).
pub(super) fn version(source: &dyn Source, levels: &LevelState) -> ContextVersion {
    ContextVersion::new(source.changes().0, levels.changes.0, RENDERER)
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
