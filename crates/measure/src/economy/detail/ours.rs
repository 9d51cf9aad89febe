//! The engine itself as a policy: its windows, read back from the bodies it would send.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    ops::Range,
    rc::Rc,
};

use contexture_core::{TokenCounter, Window, WindowOptions, window::MESSAGE_OVERHEAD};
use futures::executor::block_on;
use serde_json::Value;

use super::{
    charge::Block,
    meter::{Explicit, PolicyRequest, Segment, Shown},
    policy::Policy,
    talk::{Call, Talk, TextId, said},
};
use crate::replay::Replay;

/// The engine as a policy.
pub(crate) struct Ours<'a> {
    talk: &'a Talk,
    replay: Replay<'a>,
    /// Options of the format that is charged automatically.
    automatic: WindowOptions,
    /// Options of the format with explicit breakpoints.
    explicit: WindowOptions,
    tag: String,
    ids: HashMap<&'a str, TextId>,
    segments: Memo<Rc<Segment>>,
    blocks: Memo<Rc<[Cached]>>,
}

impl<'a> Ours<'a> {
    pub(crate) fn new(
        talk: &'a Talk,
        replay: Replay<'a>,
        automatic: WindowOptions,
        explicit: WindowOptions,
    ) -> Self {
        let tag = replay.tag();
        let ids = talk.texts.iter().enumerate().map(|(id, text)| (&**text, id)).collect();
        let (segments, blocks) = (Memo::default(), Memo::default());
        Self { talk, replay, automatic, explicit, tag, ids, segments, blocks }
    }
}

impl Policy for Ours<'_> {
    fn request(&mut self, call: &Call) -> anyhow::Result<PolicyRequest> {
        block_on(self.replay.append(call.exchanges))?;
        let sent = block_on(self.replay.send(&self.automatic))?;
        let marked = block_on(self.replay.send(&self.explicit))?;
        let counter = self.automatic.counter.as_ref();
        let reader = Reader { counter, talk: self.talk, tag: &self.tag, ids: &self.ids };
        let segments = self.segments.read(sent.window, |key, json| reader.segment(key, json))?;
        let cached = self.blocks.read_with_head(marked.window, |json| reader.blocks(json))?;
        let mut explicit = Explicit::default();
        for cached in cached.iter().flat_map(|cached| cached.iter()) {
            explicit.blocks.push(cached.block);
            if cached.marked {
                explicit.marks.push(explicit.blocks.len());
            }
        }
        Ok(PolicyRequest {
            segments,
            explicit: Some(explicit),
            folded: sent.record.fold.is_some(),
            account: sent.record.tokens.0,
            ..PolicyRequest::default()
        })
    }
}

/// A block as explicit breakpoints see it.
#[derive(Debug, Clone, Copy)]
struct Cached {
    block: Block,
    /// Whether a breakpoint stands behind it.
    marked: bool,
}

/// What the messages of a window were read as. Most of them stood in the window before.
struct Memo<T> {
    body: String,
    messages: Vec<Range<usize>>,
    read: Vec<T>,
    known: HashMap<u64, T>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self { body: String::new(), messages: Vec::new(), read: Vec::new(), known: HashMap::new() }
    }
}

impl<T: Clone> Memo<T> {
    fn read(
        &mut self,
        window: Window,
        read: impl Fn(u64, &str) -> anyhow::Result<T>,
    ) -> anyhow::Result<Vec<T>> {
        let mut all = Vec::with_capacity(window.messages.len());
        for (at, range) in window.messages.iter().enumerate() {
            let json = &window.body[range.clone()];
            let before = self.messages.get(at).map(|range| &self.body[range.clone()]);
            if before == Some(json) {
                all.push(self.read[at].clone());
            } else {
                all.push(self.recall(json, &read)?);
            }
        }
        (self.body, self.messages, self.read) = (window.body, window.messages, all.clone());
        Ok(all)
    }

    /// Reads what stands before the messages as well, made whole as an object of its own.
    fn read_with_head(
        &mut self,
        window: Window,
        read: impl Fn(&str) -> anyhow::Result<T>,
    ) -> anyhow::Result<Vec<T>> {
        let end = window.messages.first().map(|range| range.start);
        let head = match end {
            Some(end) => format!("{}]}}", &window.body[..end]),
            None => window.body.clone(),
        };
        let read = |_: u64, json: &str| read(json);
        let mut all = vec![self.recall(&head, &read)?];
        all.extend(self.read(window, read)?);
        Ok(all)
    }

    fn recall(
        &mut self,
        json: &str,
        read: &impl Fn(u64, &str) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let key = hash(json);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let made = read(key, json)?;
        self.known.insert(key, made.clone());
        Ok(made)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Returns where lines of the engine begin within a text. Whose mark they carry does not matter
/// here: the recordings are older than any.
fn marks(text: &str) -> impl Iterator<Item = usize> {
    let is_mark = |at: &usize| {
        let mark = text[*at..].strip_prefix(MARK).and_then(|rest| rest.get(..MARK_LETTERS + 1));
        mark.is_some_and(|mark| mark.ends_with(']'))
    };
    text.match_indices(MARK).map(|(at, _)| at).filter(is_mark)
}

/// What every mark begins with.
const MARK: &str = "[ctx:";

/// How many letters a mark has.
const MARK_LETTERS: usize = 8;

/// Reads messages of request bodies.
struct Reader<'a> {
    counter: &'a dyn TokenCounter,
    talk: &'a Talk,
    tag: &'a str,
    ids: &'a HashMap<&'a str, TextId>,
}

impl Reader<'_> {
    /// Reads an OpenAI message, and finds the original it shows.
    fn segment(&self, key: u64, json: &str) -> anyhow::Result<Rc<Segment>> {
        let message: Value = serde_json::from_str(json)?;
        let content = message["content"].as_str().unwrap_or_default();
        let calls = message["tool_calls"].as_array().map_or(&[][..], |calls| calls);
        let field = |call: &'_ Value, name: &str| {
            call["function"][name].as_str().unwrap_or_default().to_owned()
        };
        let calls: Vec<(String, String)> =
            calls.iter().map(|call| (field(call, "name"), field(call, "arguments"))).collect();
        let calls = calls.iter().map(|(name, arguments)| (name.as_str(), arguments.as_str()));
        let (text, tokens) = said(self.counter, content, calls);
        let tokens = tokens + MESSAGE_OVERHEAD;
        let block = Block { key, tokens };
        let (shown, detail) = match self.ids.get(text.as_str()) {
            Some(id) => (Shown::Whole(*id), tokens),
            None if text.starts_with(self.tag) => (Shown::Other(text.into()), 0),
            None => {
                let detail = tokens.saturating_sub(self.engine_tokens(&text));
                match self.original(&text) {
                    Some(id) => (Shown::Cut(id, text.into()), detail),
                    None => (Shown::Other(text.into()), detail),
                }
            }
        };
        Ok(Rc::new(Segment { block, detail, shown }))
    }

    /// Counts the engine's own lines within a text.
    fn engine_tokens(&self, text: &str) -> u64 {
        let lines = marks(text).map(|at| {
            let line = &text[at..];
            &line[..line.find('\n').unwrap_or(line.len())]
        });
        lines.map(|line| self.counter.count(line).0).sum()
    }

    /// Finds the original of a text that was cut: it begins and ends the same.
    fn original(&self, text: &str) -> Option<TextId> {
        let head = &text[..marks(text).next()?];
        let rest = &text[marks(text).last()?..];
        // Within arguments the engine's line ends with their string.
        let tail = rest.find('\n').map_or("", |end| &rest[end + 1..]);
        let head = head.strip_suffix('\n').unwrap_or(head);
        if head.is_empty() && tail.is_empty() {
            return None;
        }
        self.talk
            .texts
            .iter()
            .position(|original| original.starts_with(head) && original.ends_with(tail))
    }

    /// Reads the blocks of an Anthropic message, or of the system part.
    fn blocks(&self, json: &str) -> anyhow::Result<Rc<[Cached]>> {
        let mut message: Value = serde_json::from_str(json)?;
        let is_message = message.get("role").is_some();
        let blocks = match message[if is_message { "content" } else { "system" }].take() {
            Value::Array(blocks) => blocks,
            Value::Null => Vec::new(),
            text => vec![serde_json::json!({ "type": "text", "text": text })],
        };
        let mut cached = Vec::with_capacity(blocks.len());
        for (at, mut block) in blocks.into_iter().enumerate() {
            let mark = block.as_object_mut().and_then(|block| block.remove("cache_control"));
            let around = if at == 0 { MESSAGE_OVERHEAD } else { 0 };
            let role = message["role"].as_str().unwrap_or_default();
            let key = hash(&format!("{role} {block}"));
            let block = Block { key, tokens: self.block_tokens(&block) + around };
            cached.push(Cached { block, marked: mark.is_some() });
        }
        Ok(cached.into())
    }

    fn block_tokens(&self, block: &Value) -> u64 {
        let count = |text: &str| self.counter.count(text).0;
        match block["type"].as_str() {
            Some("tool_use") => {
                count(block["name"].as_str().unwrap_or_default())
                    + count(&block["input"].to_string())
            }
            Some("tool_result") => match &block["content"] {
                Value::String(text) => count(text),
                Value::Array(blocks) => blocks.iter().map(|block| self.block_tokens(block)).sum(),
                _ => 0,
            },
            _ => count(block["text"].as_str().unwrap_or_default()),
        }
    }
}
