//! Anchors: what can be pressed or pointed at, each declared in one registry.
//!
//! An anchor exists only when it is registered; text that merely looks like one does nothing
//! (D-31). The registry is an ordered map, so equal registries are written as equal bytes.

use std::{borrow::Borrow, collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use serde::{Serialize, Serializer};

use crate::{Error, index::shorten};

/// What an anchor does (D-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum AnchorKind {
    /// Acts at once, without parameters.
    Button,
    /// Acts on parameters that must be given.
    Form,
    /// Says where something is; never acts.
    Reference,
}

impl AnchorKind {
    /// Reads the kind as JSON spells it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "Button" => Some(AnchorKind::Button),
            "Form" => Some(AnchorKind::Form),
            "Reference" => Some(AnchorKind::Reference),
            _ => None,
        }
    }
}

/// One anchor. A Button has no parameters, a Form has at least one, a Reference never acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Anchor {
    #[serde(rename = "type")]
    kind: AnchorKind,
    params: Vec<String>,
    target: Option<String>,
}

impl Anchor {
    /// Makes a button.
    pub fn button(target: Option<&str>) -> Self {
        let target = target.map(str::to_owned);
        Self { kind: AnchorKind::Button, params: Vec::new(), target }
    }

    /// Makes a form. Its parameters follow the grammar of keys and differ; there is at least one.
    pub fn form(target: Option<&str>, params: &[&str]) -> Result<Self, Error> {
        let params = params.iter().map(|&param| param.to_owned()).collect();
        Self::from_parts(AnchorKind::Form, params, target.map(str::to_owned))
    }

    /// Makes a reference: its key is what it points at.
    pub fn reference() -> Self {
        Self { kind: AnchorKind::Reference, params: Vec::new(), target: None }
    }

    /// Puts an anchor together if its parts agree.
    pub(super) fn from_parts(
        kind: AnchorKind,
        params: Vec<String>,
        target: Option<String>,
    ) -> Result<Self, Error> {
        let disagree = |reason| Error::InvalidText {
            what: "anchor parameters",
            text: shorten(&params.join(", ")),
            reason,
        };
        match kind {
            AnchorKind::Button if !params.is_empty() => Err(disagree("a Button has none")),
            AnchorKind::Reference if !params.is_empty() => Err(disagree("a Reference has none")),
            AnchorKind::Form if params.is_empty() => Err(disagree("a Form has at least one")),
            _ => Ok(()),
        }?;
        for (at, param) in params.iter().enumerate() {
            check_key(param).map_err(disagree)?;
            if params[..at].contains(param) {
                return Err(disagree("one appears twice"));
            }
        }
        Ok(Self { kind, params, target })
    }

    /// Returns what it does.
    pub fn kind(&self) -> AnchorKind {
        self.kind
    }

    /// Returns the parameters of a form, in order.
    pub fn params(&self) -> &[String] {
        &self.params
    }

    /// Returns what it acts on.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Tells whether pressing it does anything.
    pub fn is_executable(&self) -> bool {
        match self.kind {
            AnchorKind::Button | AnchorKind::Form => true,
            AnchorKind::Reference => false,
        }
    }

    /// Returns it as it stands in text.
    pub fn text(&self, key: &AnchorKey) -> String {
        match self.kind {
            AnchorKind::Button => format!("[button:{key}]"),
            AnchorKind::Reference => format!("[ref:{key}]"),
            AnchorKind::Form => {
                let params: String =
                    self.params.iter().map(|param| format!(" {param}=…")).collect();
                format!("[form:{key}{params}]")
            }
        }
    }
}

/// Names an anchor, such as `expand-usr-3`: letters, digits, `-`, `_` and `.`; at most 200.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AnchorKey(Arc<str>);

impl AnchorKey {
    /// The longest key allowed, in characters.
    pub const MAX: usize = 200;

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AnchorKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match check_key(text) {
            Ok(()) => Ok(Self(text.into())),
            Err(reason) => {
                Err(Error::InvalidText { what: "anchor key", text: shorten(text), reason })
            }
        }
    }
}

fn check_key(text: &str) -> Result<(), &'static str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > AnchorKey::MAX {
        return Err("it is longer than 200 characters");
    }
    if text.bytes().all(allowed) { Ok(()) } else { Err("it has only letters, digits, -, _ and .") }
}

impl Borrow<str> for AnchorKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AnchorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AnchorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for AnchorKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// All anchors of a Context, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchors {
    anchors: BTreeMap<AnchorKey, Anchor>,
    warnings: Vec<AnchorConflict>,
}

/// Two different anchors wanted one key; the first has it (D-27).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("anchor '{key}' is declared twice; the first declaration stands")]
pub struct AnchorConflict {
    /// The key both wanted.
    pub key: AnchorKey,
    /// The anchor that did not get it.
    pub refused: Anchor,
}

impl Anchors {
    /// Registers an anchor. A key that another anchor has stays with that one, and the conflict is
    /// kept among the [`warnings`](Self::warnings); the very same anchor again is no conflict.
    pub fn register(&mut self, key: AnchorKey, anchor: Anchor) -> Result<(), AnchorConflict> {
        match self.anchors.get(&key) {
            None => {
                self.anchors.insert(key, anchor);
                Ok(())
            }
            Some(first) if *first == anchor => Ok(()),
            Some(_) => {
                let conflict = AnchorConflict { key, refused: anchor };
                self.warnings.push(conflict.clone());
                Err(conflict)
            }
        }
    }

    /// Registers all anchors of another registry; conflicts are kept as warnings.
    pub fn append(&mut self, other: Anchors) {
        self.warnings.extend(other.warnings);
        for (key, anchor) in other.anchors {
            // A conflict has been noted by then.
            let _ = self.register(key, anchor);
        }
    }

    /// Returns the anchor with that key.
    pub fn get(&self, key: &str) -> Option<&Anchor> {
        self.anchors.get(key)
    }

    /// Returns all anchors in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&AnchorKey, &Anchor)> {
        self.anchors.iter()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// Returns the conflicts that were settled for the first.
    pub fn warnings(&self) -> &[AnchorConflict] {
        &self.warnings
    }

    /// Returns an anchor as it stands in text, if it is registered.
    pub fn text(&self, key: &str) -> Option<String> {
        let (key, anchor) = self.anchors.get_key_value(key)?;
        Some(anchor.text(key))
    }

    /// Returns the anchor if it can be pressed with these parameters: it is registered, it acts, and
    /// it gets all its parameters and no others.
    pub fn pressable(
        &self,
        key: &str,
        params: &BTreeMap<String, String>,
    ) -> Result<&Anchor, Error> {
        let anchor = self.get(key).ok_or_else(|| unknown_anchor(key))?;
        if !anchor.is_executable() {
            return Err(Error::InvalidRequest {
                reason: format!("anchor '{key}' is a reference and cannot be pressed"),
                advice: "references only show where something is; press a button or fill in a form"
                    .into(),
            });
        }
        if let Some(missing) = anchor.params.iter().find(|param| !params.contains_key(*param)) {
            return Err(Error::InvalidRequest {
                reason: format!("anchor '{key}' needs the parameter '{missing}'"),
                advice: "give every parameter of the form".into(),
            });
        }
        if let Some(other) = params.keys().find(|param| !anchor.params.contains(param)) {
            return Err(Error::InvalidRequest {
                reason: format!("anchor '{key}' has no parameter '{}'", shorten(other)),
                advice: "give only the parameters of the form".into(),
            });
        }
        Ok(anchor)
    }
}

/// What is said of a key that is not registered: never declared, or gone since.
pub(super) fn unknown_anchor(key: &str) -> Error {
    Error::NothingFound {
        what: format!("anchor '{}'", shorten(key)),
        advice: "it may be from an older window; press an anchor of the current window".into(),
    }
}

impl Serialize for Anchors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.anchors)
    }
}

#[cfg(test)]
#[path = "anchors_tests.rs"]
mod tests;
