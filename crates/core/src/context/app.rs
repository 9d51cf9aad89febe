//! Applications: live panels at the end of a window, each with its own anchors and custom state.
//!
//! An application says what it shows; the engine writes it. What an application calls `add` is
//! `notebook.add` in the window, so that no application can take the place of another or of a page,
//! whose keys have no dot. Its text is escaped like any other: an anchor it merely writes down does
//! nothing, only those it declares are registered.

use std::{collections::BTreeMap, sync::Arc};

use super::{Anchor, AnchorKey, Anchors, Diagnostic, RenderKey, anchors::unknown_anchor};
use crate::{Error, Level, index::shorten, message::RawJson, storage::CustomKey};

/// An application mounted in a view.
///
/// For implementers: `panel` is a pure function of the application's state and the level, without
/// clock or randomness; the same state shows the same bytes. Secrets are left out there (D-29): what
/// a panel shows, a model reads. `press` is only called with a key that the present panel declares
/// and with exactly the parameters of its anchor, but the state may have moved since: check again.
pub trait App: Send + Sync {
    /// Names it: `[a-z][a-z0-9-]*`, at most 48 characters, always the same.
    fn id(&self) -> &str;

    /// Returns what it shows at a level.
    fn panel(&self, level: Level) -> Panel;

    /// Does what one of its anchors says, and tells what came of it.
    fn press(&self, key: &str, params: &BTreeMap<String, String>) -> Result<String, Error>;
}

/// What an application shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Panel {
    /// Its heading, one line.
    pub title: String,
    /// Its text, without anchors.
    pub body: String,
    /// Its anchors by the application's own keys, in the order they are shown.
    pub anchors: Vec<(String, Anchor)>,
    /// Its custom state by the application's own keys.
    pub custom: BTreeMap<String, RawJson>,
}

/// The panels of all applications, as they stand in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountedPanels {
    /// Markdown; empty without applications.
    pub text: String,
    /// All anchors, by full key.
    pub anchors: Anchors,
    /// All custom state, by full key.
    pub custom: BTreeMap<String, RawJson>,
    /// What an application declared against the rules; it is left out.
    pub diagnostics: Vec<Diagnostic>,
}

/// The applications of a view, in the order they were mounted.
#[derive(Clone, Default)]
pub struct Apps(Vec<(String, Arc<dyn App>)>);

impl Apps {
    /// Mounts an application; its id must be free.
    pub fn mount(&mut self, app: Arc<dyn App>) -> Result<(), Error> {
        let id = app.id().to_owned();
        if let Err(reason) = check_id(&id) {
            return Err(Error::InvalidText { what: "application id", text: shorten(&id), reason });
        }
        if self.get(&id).is_some() {
            return Err(Error::AlreadyExists { what: format!("application '{id}'") });
        }
        self.0.push((id, app));
        Ok(())
    }

    /// Takes an application off and tells whether it was there.
    pub fn unmount(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(mounted, _)| mounted != id);
        self.0.len() < before
    }

    /// Returns the ids of the applications in their order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(id, _)| id.as_str())
    }

    /// Renders all panels. `escape` makes text that is not the engine's own harmless.
    pub fn render(&self, level: Level, escape: &dyn Fn(&str) -> String) -> MountedPanels {
        let mut mounted = MountedPanels::default();
        for (id, app) in &self.0 {
            mounted.add(id, app.panel(level), escape);
        }
        mounted
    }

    /// Presses an anchor by its full key, as shown at `level`, and returns what came of it.
    pub fn press(
        &self,
        level: Level,
        key: &str,
        params: &BTreeMap<String, String>,
    ) -> Result<String, Error> {
        let routed = key.split_once('.').and_then(|(id, own)| Some((id, self.get(id)?, own)));
        let Some((id, app, own)) = routed else { return Err(unknown_anchor(key)) };
        let mut present = MountedPanels::default();
        present.add(id, app.panel(level), &str::to_owned);
        present.anchors.pressable(key, params)?;
        app.press(own, params)
    }

    fn get(&self, id: &str) -> Option<&dyn App> {
        self.0.iter().find(|(mounted, _)| mounted == id).map(|(_, app)| &**app)
    }
}

impl std::fmt::Debug for Apps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

impl MountedPanels {
    /// Names what the panels show: they change without an edit.
    pub(crate) fn key(&self) -> RenderKey {
        let anchors = serde_json::to_vec(&self.anchors).expect("it is keyed by text");
        let custom = serde_json::to_vec(&self.custom).expect("it is keyed by text");
        let faults = serde_json::to_vec(&self.diagnostics).expect("it holds only text");
        RenderKey::of([self.text.as_bytes(), &anchors, &custom, &faults])
    }

    pub(super) fn add(&mut self, id: &str, panel: Panel, escape: &dyn Fn(&str) -> String) {
        let mut blocks = vec![format!("## {}", escape(&one_line(&panel.title)))];
        let body = panel.body.trim_end();
        if !body.is_empty() {
            blocks.push(escape(body));
        }
        let lines: Vec<String> = panel
            .anchors
            .into_iter()
            .filter_map(|(key, anchor)| self.declare(&format!("{id}.{key}"), anchor))
            .collect();
        if !lines.is_empty() {
            blocks.push(lines.join("\n"));
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&blocks.join("\n\n"));
        self.text.push('\n');
        for (key, value) in panel.custom {
            self.keep_custom(format!("{id}.{key}"), value);
        }
    }

    /// Registers an anchor and returns its line; one against the rules is told of and left out.
    fn declare(&mut self, key: &str, anchor: Anchor) -> Option<String> {
        let key: AnchorKey = key.parse().map_err(|error| self.tell(&error)).ok()?;
        let line = anchor.text(&key);
        self.anchors.register(key, anchor).ok()?;
        Some(line)
    }

    fn keep_custom(&mut self, key: String, value: RawJson) {
        match key.parse::<CustomKey>() {
            Ok(key) => {
                self.custom.insert(key.to_string(), value);
            }
            Err(error) => self.tell(&error),
        }
    }

    fn tell(&mut self, error: &Error) {
        self.diagnostics.push(Diagnostic::from(error));
    }
}

fn check_id(id: &str) -> Result<(), &'static str> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if id.len() > 48 {
        return Err("it is longer than 48 characters");
    }
    if id.starts_with(|c: char| c.is_ascii_lowercase()) && id.bytes().all(allowed) {
        return Ok(());
    }
    Err("it must begin with a lower-case letter and contain only lower-case letters, digits and -")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
