//! Answers of OpenAI-compatible chat completions.
//!
//! Servers differ in small ways, all read here: no index or a repeated one beside parallel calls,
//! no ids, arguments as an object, `stop` where calls were made, reasoning under two names.

use contexture_core::{
    Usage,
    message::{Fields, Part, RawJson, Text, ToolCall},
};

use super::{
    failure::ProviderError,
    json::{self, list_at, number_at, object_at, text_at},
    read::{EventSink, Fault, Finished, Ids, Progress, Reader, emit_text, emit_thinking},
};
use crate::model::{ModelEvent, Stop};

/// Fields of a message that texts are gathered from, besides its content.
const GATHERED: [&str; 3] = ["refusal", "reasoning_content", "reasoning"];

/// Reads an answer.
pub(super) struct OpenAiReader {
    ids: Ids,
    text: String,
    /// Texts beside the content, under their names.
    beside: Vec<(&'static str, String)>,
    calls: Vec<Call>,
    extra: Fields,
    usage: Option<Usage>,
    model: Option<String>,
    stop: Option<String>,
    /// Whether anything of an answer came.
    began: bool,
    closed: bool,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Fields,
}

impl OpenAiReader {
    /// Begins to read the answer to a window.
    pub(super) fn new(window: &str) -> Self {
        Self {
            ids: Ids::new("call", window),
            text: String::new(),
            beside: Vec::new(),
            calls: Vec::new(),
            extra: Fields::default(),
            usage: None,
            model: None,
            stop: None,
            began: false,
            closed: false,
        }
    }

    fn choice(&mut self, choice: &Fields, emit: EventSink<'_>) {
        let whole = object_at(choice, "message");
        // A plain answer is whole, whatever it says about its end.
        self.closed |= whole.is_some();
        if let Some(said) = whole.or_else(|| object_at(choice, "delta")) {
            self.began = true;
            self.said(&said, emit);
        }
        if let Some(stop) = text_at(choice, "finish_reason").filter(|stop| !stop.is_empty()) {
            self.began = true;
            self.stop = Some(stop);
        }
    }

    fn said(&mut self, said: &Fields, emit: EventSink<'_>) {
        for (name, value) in said.iter().filter(|(_, value)| value.as_str() != "null") {
            if let Some(name) = GATHERED.into_iter().find(|gathered| *gathered == name) {
                self.beside(name, &json::text(value).unwrap_or_default(), emit);
                continue;
            }
            match name {
                "role" | "function_call" => {}
                "content" => {
                    let text = content(value);
                    emit_text(emit, &text);
                    self.text.push_str(&text);
                }
                "tool_calls" => {
                    for (position, call) in (0..).zip(list_at(said, name)) {
                        if let Some(call) = json::object(call.as_str()) {
                            self.call(position, call, emit);
                        }
                    }
                }
                name => gather(&mut self.extra, name, value),
            }
        }
    }

    fn beside(&mut self, name: &'static str, text: &str, emit: EventSink<'_>) {
        if text.is_empty() {
            return;
        }
        // Some servers say their reasoning twice, under both names: it is told once.
        let mut reasoning = self.beside.iter().filter(|(known, _)| *known != "refusal");
        match name {
            "refusal" => emit_text(emit, text),
            _ if reasoning.next().is_none_or(|(first, _)| *first == name) => {
                emit_thinking(emit, text);
            }
            _ => {}
        }
        match self.beside.iter_mut().find(|(known, _)| *known == name) {
            Some((_, gathered)) => gathered.push_str(text),
            None => self.beside.push((name, text.to_owned())),
        }
    }

    fn call(&mut self, position: u64, mut piece: Fields, emit: EventSink<'_>) {
        let index = piece.take("index").and_then(|raw| raw.read().ok());
        let id = piece.take("id").as_ref().and_then(json::text).unwrap_or_default();
        let function = piece.take("function").and_then(|raw| json::object(raw.as_str()));
        let function = function.unwrap_or_default();
        let name = text_at(&function, "name").unwrap_or_default();
        // In a plain answer every element is a call of its own.
        let index = if self.closed { Some(position) } else { index };
        let call = self.open_call(index, &id, &name);
        if call.id.is_empty() {
            call.id = id;
        }
        let begins = call.name.is_empty() && !name.is_empty();
        // A name that comes again with each piece is the same name.
        if call.name != name {
            call.name.push_str(&name);
        }
        if let Some(arguments) = function.get("arguments").filter(|raw| raw.as_str() != "null") {
            match json::text(arguments) {
                Some(text) => call.arguments.push_str(&text),
                None => call.arguments.push_str(arguments.as_str()),
            }
        }
        piece.take("type");
        for (name, value) in piece.iter() {
            if call.extra.get(name).is_none() {
                call.extra.push(name, value.clone());
            }
        }
        if begins {
            emit(ModelEvent::ToolCall(name));
        }
    }

    /// Returns the call a piece belongs to: the one of its index, unless that has another id.
    /// Without an index it is the last one, unless the piece begins another.
    fn open_call(&mut self, index: Option<u64>, id: &str, name: &str) -> &mut Call {
        let same_id = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
        let begins = !name.is_empty() || !id.is_empty();
        let found = self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index && same_id(call),
            None => !begins || (!id.is_empty() && call.id == id),
        });
        let at = found.unwrap_or(self.calls.len());
        if at == self.calls.len() {
            self.calls.push(Call { index, ..Call::default() });
        }
        &mut self.calls[at]
    }

    fn read_usage(&mut self, usage: &Fields) {
        let details = object_at(usage, "prompt_tokens_details").unwrap_or_default();
        let cached = number_at(&details, "cached_tokens");
        self.usage = Some(Usage {
            input: number_at(usage, "prompt_tokens").unwrap_or(0),
            cached: cached.or(number_at(usage, "prompt_cache_hit_tokens")).unwrap_or(0),
            written: number_at(&details, "cache_write_tokens").unwrap_or(0),
            output: number_at(usage, "completion_tokens").unwrap_or(0),
            model: None,
        });
    }
}

impl Reader for OpenAiReader {
    fn read(&mut self, data: &str, emit: EventSink<'_>) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            self.closed = true;
            return Ok(());
        }
        let fields = json::object(data).ok_or_else(|| Fault::Broken("not JSON".to_owned()))?;
        let choices = list_at(&fields, "choices");
        if choices.is_empty()
            && let Some(error) = ProviderError::of(&fields)
        {
            return Err(Fault::Provider(error));
        }
        for choice in choices.iter().filter_map(|choice| json::object(choice.as_str())) {
            // Only one answer was asked for.
            if number_at(&choice, "index").unwrap_or(0) == 0 {
                self.choice(&choice, emit);
            }
        }
        if let Some(usage) = object_at(&fields, "usage") {
            self.read_usage(&usage);
        }
        self.model = text_at(&fields, "model").filter(|it| !it.is_empty()).or(self.model.take());
        Ok(())
    }

    fn progress(&self) -> Progress {
        match (self.began, self.closed, &self.stop) {
            (true, true, _) => Progress::Closed,
            (true, false, Some(_)) => Progress::Complete,
            _ => Progress::Open,
        }
    }

    fn finish(self: Box<Self>) -> Finished {
        let mut this = *self;
        let refusal = this.beside.iter().find(|(name, _)| *name == "refusal");
        let refusal = refusal.map(|(_, text)| text.clone());
        let stop = match this.stop.as_deref() {
            Some("length") => Stop::Length,
            Some("content_filter") => {
                Stop::Refused(refusal.unwrap_or_else(|| "content_filter".to_owned()))
            }
            _ if !this.calls.is_empty() => Stop::ToolCalls,
            _ => refusal.map_or(Stop::End, Stop::Refused),
        };
        let mut parts = Vec::new();
        if !this.text.is_empty() {
            parts.push(Part::Text(Text { text: this.text, extra: Fields::default() }));
        }
        for Call { id, name, arguments, extra, .. } in this.calls {
            let id = if id.is_empty() { this.ids.make() } else { id };
            parts.push(Part::ToolCall(ToolCall { id, name, arguments, extra }));
        }
        let mut extra = Fields::default();
        for (name, text) in &this.beside {
            extra.push(*name, json::raw(&json::quoted(text)));
        }
        this.extra.iter().for_each(|(name, value)| extra.push(name, value.clone()));
        let usage = this.usage.map(|usage| Usage { model: this.model, ..usage });
        Finished { parts, extra, usage, stop }
    }
}

/// Returns the text of a content: a string, or a list with texts in it.
fn content(value: &RawJson) -> String {
    if let Some(text) = json::text(value) {
        return text;
    }
    let parts: Vec<RawJson> = value.read().unwrap_or_default();
    let texts = parts.iter().filter_map(|part| text_at(&json::object(part.as_str())?, "text"));
    texts.collect()
}

/// Keeps a field we do not know: lists grow, anything else is replaced.
fn gather(extra: &mut Fields, name: &str, value: &RawJson) {
    let old: Option<Vec<RawJson>> = extra.take(name).and_then(|old| old.read().ok());
    let new: Option<Vec<RawJson>> = value.read().ok();
    let value = match (old, new) {
        (Some(mut list), Some(more)) => {
            list.extend(more);
            json::raw(&serde_json::to_string(&list).expect("a list of JSON is JSON"))
        }
        _ => value.clone(),
    };
    extra.push(name, value);
}
