//! A session as it is measured: its messages with what they take, its pages, and which earlier
//! strings each call to the model uses.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
};

use contexture_core::{
    Message, Role, TokenCounter,
    message::{Exchange, FULL_PAGE_BYTES, Part},
    window::MESSAGE_OVERHEAD,
};

use super::strings::strings;
use crate::data::Session;

/// Names a text: equal texts, equal numbers.
pub(crate) type TextId = usize;

/// A session as it is measured.
pub(crate) struct Talk {
    /// Its messages as a provider gets them, the system prompt first.
    pub(crate) items: Vec<Item>,
    /// The texts of the messages, each once.
    pub(crate) texts: Vec<Arc<str>>,
    /// How many of the items are the system prompt: one or none.
    pub(crate) system: usize,
    /// The items of each exchange.
    pub(crate) exchanges: Vec<Range<usize>>,
    /// The items of each page, by the engine's own rule of cutting.
    pub(crate) pages: Vec<Range<usize>>,
    /// The calls to the model.
    pub(crate) calls: Vec<Call>,
}

/// A message as a provider gets it.
pub(crate) struct Item {
    /// Which text it says and calls with.
    pub(crate) text: TextId,
    /// What it takes.
    pub(crate) tokens: u64,
    /// Whether a tool said it, or the user in a tool's place.
    pub(crate) result: bool,
}

/// A call to the model.
pub(crate) struct Call {
    /// How many exchanges stand before it.
    pub(crate) exchanges: usize,
    /// How many items stand before it.
    pub(crate) items: usize,
    /// The strings the model then used, with the texts that hold them.
    pub(crate) uses: Vec<(Arc<str>, Arc<[TextId]>)>,
}

impl Talk {
    /// Reads a session.
    pub(crate) fn new(session: &Session, counter: &dyn TokenCounter) -> Self {
        let mut reading = Reading { counter, ids: HashMap::new(), texts: Vec::new() };
        let mut items = Vec::new();
        if let Some(text) = &session.system {
            items.push(reading.item(text, counter.count(text).0, false));
        }
        let system = items.len();
        let mut exchanges = Vec::new();
        for exchange in &session.exchanges {
            let begin = items.len();
            exchange.messages.iter().for_each(|message| reading.read(message, &mut items));
            exchanges.push(begin..items.len());
        }
        let texts: Vec<Arc<str>> = reading.texts.into_iter().map(Into::into).collect();
        let calls = calls(session, &exchanges, items.len(), &texts);
        let pages = pages(&session.exchanges, &exchanges);
        Self { items, texts, system, exchanges, pages, calls }
    }

    /// Returns what all of it takes.
    pub(crate) fn tokens(&self) -> u64 {
        self.items.iter().map(|item| item.tokens).sum()
    }
}

struct Reading<'a> {
    counter: &'a dyn TokenCounter,
    ids: HashMap<String, TextId>,
    texts: Vec<String>,
}

impl Reading<'_> {
    fn item(&mut self, text: &str, tokens: u64, result: bool) -> Item {
        let next = self.texts.len();
        let text_id = *self.ids.entry(text.to_owned()).or_insert(next);
        if text_id == next {
            self.texts.push(text.to_owned());
        }
        Item { text: text_id, tokens: tokens + MESSAGE_OVERHEAD, result }
    }

    /// Reads a message: results are items of their own.
    fn read(&mut self, message: &Message, items: &mut Vec<Item>) {
        let mut results = message.tool_results().peekable();
        if results.peek().is_some() {
            for result in results {
                let text = content(&result.content);
                let tokens = self.counter.count(&text).0;
                items.push(self.item(&text, tokens, true));
            }
            return;
        }
        let observed = message.extra.get("observation").is_some_and(|raw| raw.as_str() == "true");
        let (text, tokens) = said(self.counter, &content(&message.parts), calls_of(message));
        items.push(self.item(&text, tokens, observed));
    }
}

/// Returns what a message says and calls with, as one text, and what it takes.
pub(crate) fn said<'a>(
    counter: &dyn TokenCounter,
    content: &str,
    calls: impl Iterator<Item = (&'a str, &'a str)>,
) -> (String, u64) {
    let mut text = content.to_owned();
    let mut tokens = counter.count(content).0;
    for (name, arguments) in calls {
        tokens += counter.count(name).0 + counter.count(arguments).0;
        text.push_str(&format!(" {name} {}", spelt_out(arguments)));
    }
    (text, tokens)
}

fn calls_of(message: &Message) -> impl Iterator<Item = (&str, &str)> {
    message.tool_calls().map(|call| (call.name.as_str(), call.arguments.as_str()))
}

fn content(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the pages: one begins with every user message, and where the one before is full.
fn pages(exchanges: &[Exchange], ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut pages: Vec<Range<usize>> = Vec::new();
    let mut weight = 0;
    for (exchange, range) in exchanges.iter().zip(ranges) {
        match pages.last_mut() {
            Some(page) if !exchange.starts_turn() && weight <= FULL_PAGE_BYTES => {
                page.end = range.end
            }
            _ => {
                pages.push(range.clone());
                weight = 0;
            }
        }
        weight += exchange.weight();
    }
    pages
}

fn calls(
    session: &Session,
    exchanges: &[Range<usize>],
    all: usize,
    texts: &[Arc<str>],
) -> Vec<Call> {
    let mut held: BTreeMap<String, (Arc<str>, Arc<[TextId]>)> = BTreeMap::new();
    let mut calls = Vec::new();
    for at in session.calls() {
        let message = match session.exchanges.get(at) {
            Some(exchange) => exchange.messages.first(),
            None => session.open.first(),
        };
        let mut uses = Vec::new();
        for string in message.map(used).unwrap_or_default() {
            let entry = held.entry(string).or_insert_with_key(|string| {
                let holds = |(_, text): &(usize, &Arc<str>)| text.contains(string.as_str());
                let ids = texts.iter().enumerate().filter(holds).map(|(id, _)| id).collect();
                (string.as_str().into(), ids)
            });
            uses.push(entry.clone());
        }
        let items = exchanges.get(at).map_or(all, |range| range.start);
        calls.push(Call { exchanges: at, items, uses });
    }
    calls
}

/// Returns the strings that a message of the model uses.
fn used(message: &Message) -> Vec<String> {
    let mut text = content(&message.parts);
    for (name, arguments) in calls_of(message) {
        text.push_str(&format!(" {name} {}", spelt_out(arguments)));
    }
    debug_assert_eq!(message.role, Role::Assistant);
    strings(&text).into_iter().collect()
}
/// Returns arguments as the model means them: the strings in them without JSON's escapes.
fn spelt_out(arguments: &str) -> String {
    fn collect(value: &serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => into.push(text.clone()),
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            serde_json::Value::Object(fields) => {
                fields.values().for_each(|value| collect(value, into));
            }
            other => into.push(other.to_string()),
        }
    }
    let Ok(value) = serde_json::from_str(arguments) else { return arguments.to_owned() };
    let mut texts = Vec::new();
    collect(&value, &mut texts);
    texts.join("\n")
}
