//! Reads a Context from JSON, as strictly as every Context needs and no more.
//!
//! Each object is read as its fields, so that one that appears twice is seen: readers differ in
//! which of the two they believe. Fields we do not know are passed over.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::{
    Anchor, AnchorKey, AnchorKind, Anchors, ClaimedVersion, Context, ContextState, Diagnostic,
    Header, History, ParsedContext, RenderKey, Round, lod_name,
};
use crate::{
    Error, Level, Timestamp,
    index::shorten,
    message::{Fields, RawJson},
};

pub(super) fn parse(text: &str) -> Result<ParsedContext, Error> {
    read_context(text).map_err(|reason| Error::InvalidRequest {
        reason: format!("invalid context: {reason}"),
        advice: "give a Context with header, state, content and anchors".into(),
    })
}

/// A reading that may fail, with what is wrong and where.
type Reading<T> = Result<T, String>;

fn read_context(text: &str) -> Reading<ParsedContext> {
    let raw = RawJson::new(text).map_err(|error| error.to_string())?;
    let context = Object::read(&raw, "it")?;
    let header = read_header(&context.object("header")?)?;
    let state = read_state(&context.object("state")?)?;
    let content = context.need("content")?;
    let anchors = read_anchors(&context.object("anchors")?)?;
    let history = context.value("history").map(read_history).transpose()?;
    let diagnostics = context.value("diagnostics").map_or(Ok(Vec::new()), read_diagnostics)?;
    Ok(Context::new(header, state, content, anchors, history, diagnostics))
}

fn read_header(header: &Object) -> Reading<Header<ClaimedVersion>> {
    let version = header.object("version")?;
    let version = ClaimedVersion {
        major: version.need("major")?,
        minor: version.need("minor")?,
        patch: version.need("patch")?,
    };
    let app_id: String = header.need("appId")?;
    let session_id: String = header.need("sessionId")?;
    let timestamp: Timestamp = header.need("timestamp")?;
    let key = header.may("renderKey")?.map(RenderKey::claimed);
    Header::new(app_id, session_id, version, timestamp, key).map_err(|error| error.to_string())
}

fn read_state(state: &Object) -> Reading<ContextState> {
    let lod: String = state.need("currentLod")?;
    let custom = state.value("custom").map(read_custom).transpose()?;
    Ok(ContextState { current_lod: read_level(&lod)?, focus_id: state.may("focusId")?, custom })
}

fn read_level(text: &str) -> Reading<Level> {
    [Level::Gist, Level::Summary, Level::Full]
        .into_iter()
        .find(|level| lod_name(*level) == text)
        .ok_or_else(|| format!("state.currentLod '{}' is not Gist, Summary or Full", shorten(text)))
}

fn read_custom(raw: &RawJson) -> Reading<BTreeMap<String, RawJson>> {
    let entry = |(key, raw): (&str, &RawJson)| (key.to_owned(), raw.clone());
    Ok(Object::read(raw, "state.custom")?.fields.iter().map(entry).collect())
}

fn read_anchors(entries: &Object) -> Reading<Anchors> {
    let mut anchors = Anchors::default();
    for (key, raw) in entries.fields.iter() {
        let anchor = Object::read(raw, format!("anchor '{}'", shorten(key)))?;
        let key: AnchorKey = key.parse().map_err(|error: Error| error.to_string())?;
        // Keys differ, or the object would not have been read.
        anchors.register(key, read_anchor(&anchor)?).map_err(|error| error.to_string())?;
    }
    Ok(anchors)
}

fn read_anchor(anchor: &Object) -> Reading<Anchor> {
    let kind: String = anchor.need("type")?;
    let kind = AnchorKind::parse(&kind).ok_or_else(|| {
        format!("{}: type '{}' is not Button, Form or Reference", anchor.what, shorten(&kind))
    })?;
    Anchor::from_parts(kind, anchor.need("params")?, anchor.may("target")?)
        .map_err(|error| format!("{}: {error}", anchor.what))
}

/// Reads an array of rounds, or an object that has them by their numbers.
fn read_history(raw: &RawJson) -> Reading<History> {
    let mut rounds = Vec::new();
    if let Ok(items) = raw.read::<Vec<RawJson>>() {
        for (at, raw) in items.iter().enumerate() {
            let round = Object::read(raw, format!("history[{at}]"))?;
            rounds.push(read_round(round.need("round")?, &round)?);
        }
    } else {
        for (number, raw) in Object::read(raw, "history")?.fields.iter() {
            let what = format!("round '{}' of history", shorten(number));
            let number = number.parse().map_err(|_| format!("{what} is not a number"))?;
            rounds.push(read_round(number, &Object::read(raw, what)?)?);
        }
    }
    let given = rounds.len();
    let history = History::latest(rounds, given);
    if history.rounds().len() < given {
        return Err("a round appears twice in history".to_owned());
    }
    Ok(history)
}

fn read_round(round: u64, fields: &Object) -> Reading<Round> {
    Ok(Round {
        round,
        action: fields.need("action")?,
        result: fields.need("result")?,
        timestamp: fields.need("timestamp")?,
    })
}

fn read_diagnostics(raw: &RawJson) -> Reading<Vec<Diagnostic>> {
    let items: Vec<RawJson> = raw.read().map_err(|_| "diagnostics must be an array")?;
    let read = |raw| {
        let diagnostic = Object::read(raw, "a diagnostic")?;
        Ok(Diagnostic { code: diagnostic.need("code")?, message: diagnostic.need("message")? })
    };
    items.iter().map(read).collect()
}

/// An object whose fields all differ.
struct Object {
    what: String,
    fields: Fields,
}

impl Object {
    fn read(raw: &RawJson, what: impl Into<String>) -> Reading<Self> {
        let what = what.into();
        let fields: Fields = raw.read().map_err(|_| format!("{what} must be a JSON object"))?;
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("'{}' appears twice in {what}", shorten(pair[0])));
        }
        Ok(Self { what, fields })
    }

    /// Returns a field that is there and not null.
    fn value(&self, name: &str) -> Option<&RawJson> {
        self.fields.get(name).filter(|raw| raw.as_str() != "null")
    }

    fn object(&self, name: &str) -> Reading<Object> {
        Object::read(self.value(name).ok_or_else(|| self.missing(name))?, name)
    }

    fn need<T: DeserializeOwned>(&self, name: &str) -> Reading<T> {
        self.may(name)?.ok_or_else(|| self.missing(name))
    }

    fn may<T: DeserializeOwned>(&self, name: &str) -> Reading<Option<T>> {
        let Some(raw) = self.value(name) else { return Ok(None) };
        // The reason may quote what was given, whatever its size.
        let fault = |error: serde_json::Error| shorten(&error.to_string());
        raw.read().map(Some).map_err(|error| format!("'{name}' of {}: {}", self.what, fault(error)))
    }

    fn missing(&self, name: &str) -> String {
        format!("'{name}' of {} is missing", self.what)
    }
}
