//! Freezing: what was rendered stays as it is until what it was rendered from changes.
//!
//! | frozen | from | until |
//! |---|---|---|
//! | application and session (D-09) | the beginning | never changes |
//! | level (D-10) | a switch to it | the next switch |
//! | content, anchors, history (D-11 to D-14) | the first rendering | version or key change |
//!
//! So a model that is shown the same state again is shown the very same bytes (D-35).

use std::{collections::BTreeMap, sync::Arc};

use super::{Context, ContextVersion, History, LevelState, RenderKey, Source, build};

/// The last renderings of one view, by what they depend on beside the version.
#[derive(Debug, Clone)]
pub struct Frozen {
    app_id: String,
    session_id: String,
    /// All are of `version`: an older one could never be asked for again.
    contexts: BTreeMap<RenderKey, Arc<Context>>,
    version: Option<ContextVersion>,
}

/// How many renderings of one version are kept.
const MOST: usize = 16;

/// What a rendering would be made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inputs<'a> {
    /// The application.
    pub app_id: &'a str,
    /// The session.
    pub session_id: &'a str,
    /// The version of source data, level state and rendering.
    pub version: ContextVersion,
    /// What it depends on beside them.
    pub key: &'a RenderKey,
}

/// Whether what is frozen serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reuse {
    /// It does: the very one that was frozen.
    Same(Arc<Context>),
    /// It does not: render again.
    Stale(Mismatch),
}

/// Why a frozen rendering cannot be reused, or why a rendering cannot be frozen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Nothing was rendered for this key yet.
    #[error("nothing is frozen yet")]
    Nothing,
    /// What it was rendered from has changed since.
    #[error("version {frozen} is frozen, but the state is at {asked}")]
    Older {
        /// The version frozen.
        frozen: ContextVersion,
        /// The version asked for.
        asked: ContextVersion,
    },
    /// The version is lower than one seen before, which never happens to a true one (D-21).
    #[error("version {asked} is older than {frozen}, which was already seen")]
    WentBack {
        /// The version frozen.
        frozen: ContextVersion,
        /// The version asked for.
        asked: ContextVersion,
    },
    /// Another application's.
    #[error("application '{asked}' is not '{frozen}'")]
    OtherApp {
        /// The application frozen.
        frozen: String,
        /// The application asked for.
        asked: String,
    },
    /// Another session's.
    #[error("session '{asked}' is not '{frozen}'")]
    OtherSession {
        /// The session frozen.
        frozen: String,
        /// The session asked for.
        asked: String,
    },
    /// One version, two renderings: a frozen part would change (D-24).
    #[error("version {version} was already rendered differently")]
    Differs {
        /// The version of both.
        version: ContextVersion,
    },
}

impl Frozen {
    /// Begins with nothing rendered. Application and session are fixed from here on.
    pub fn new(app_id: impl Into<String>, session_id: impl Into<String>) -> Self {
        Self {
            app_id: app_id.into(),
            session_id: session_id.into(),
            contexts: BTreeMap::new(),
            version: None,
        }
    }

    /// Returns what is frozen if rendering these inputs would give the same again.
    pub fn reuse(&self, inputs: &Inputs<'_>) -> Reuse {
        self.find(inputs).map_or_else(Reuse::Stale, Reuse::Same)
    }

    /// Returns what it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.contexts.values().map(|context| context.bytes()).sum()
    }

    fn find(&self, inputs: &Inputs<'_>) -> Result<Arc<Context>, Mismatch> {
        self.check_identity(inputs.app_id, inputs.session_id)?;
        let &Inputs { version: asked, key, .. } = inputs;
        let frozen = self.version.ok_or(Mismatch::Nothing)?;
        if asked < frozen {
            return Err(Mismatch::WentBack { frozen, asked });
        }
        if frozen != asked {
            return Err(Mismatch::Older { frozen, asked });
        }
        self.contexts.get(key).cloned().ok_or(Mismatch::Nothing)
    }

    /// Freezes a rendering, or returns the equal one that is frozen already.
    ///
    /// Refused are renderings of another application or session, of a version before the one
    /// frozen, and any that would change what is frozen.
    pub fn freeze(&mut self, context: Arc<Context>) -> Result<Arc<Context>, Mismatch> {
        let header = context.header();
        self.check_identity(header.app_id(), header.session_id())?;
        let asked = *header.version();
        match self.version {
            Some(frozen) if asked < frozen => return Err(Mismatch::WentBack { frozen, asked }),
            Some(frozen) if frozen == asked => {}
            _ => self.contexts.clear(),
        }
        // Without a key nothing says what it depends on: it is a failure, which may pass.
        let Some(key) = header.render_key() else { return Ok(context) };
        self.version = Some(asked);
        if self.contexts.len() >= MOST && !self.contexts.contains_key(key) {
            self.contexts.clear();
        }
        let key = key.clone();
        let frozen = self.contexts.entry(key).or_insert_with(|| Arc::clone(&context));
        if *frozen == context {
            Ok(Arc::clone(frozen))
        } else {
            Err(Mismatch::Differs { version: asked })
        }
    }

    /// Returns the Context of these inputs: the one that is frozen if it serves, else one built and
    /// frozen now. A Context that reports a failure is built each time.
    pub fn build(
        &mut self,
        source: &dyn Source,
        levels: &LevelState,
        history: Option<&History>,
    ) -> Result<Arc<Context>, Mismatch> {
        let key = source.key(levels, history);
        let inputs = Inputs {
            app_id: source.app_id(),
            session_id: source.session_id(),
            version: build::version(source, levels),
            key: &key,
        };
        match self.find(&inputs) {
            Ok(context) => return Ok(context),
            Err(Mismatch::Nothing | Mismatch::Older { .. }) => {}
            Err(mismatch) => return Err(mismatch),
        }
        self.freeze(Arc::new(build::build(source, levels, history)))
    }

    fn check_identity(&self, app_id: &str, session_id: &str) -> Result<(), Mismatch> {
        if app_id != self.app_id {
            let (frozen, asked) = (self.app_id.clone(), app_id.to_owned());
            return Err(Mismatch::OtherApp { frozen, asked });
        }
        if session_id != self.session_id {
            let (frozen, asked) = (self.session_id.clone(), session_id.to_owned());
            return Err(Mismatch::OtherSession { frozen, asked });
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "frozen_tests.rs"]
mod tests;
