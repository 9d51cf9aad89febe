//! Answers of Anthropic's Messages API.

use std::collections::BTreeMap;

use contexture_core::{
    Usage,
    message::{Fields, Image, Part, RawJson, Text, Thinking, ToolCall},
};

use super::{
    failure::ProviderError,
    json::{self, list_at, number_at, object_at, text_at},
    read::{EventSink, Fault, Finished, Progress, Reader, emit_text, emit_thinking},
};
use crate::model::{ModelEvent, Stop};

/// Reads an answer.
#[derive(Default)]
pub(super) struct AnthropicReader {
    /// The blocks by their index.
    blocks: BTreeMap<u64, Block>,
    usage: Option<Charged>,
    model: Option<String>,
    stop: Option<String>,
    closed: bool,
}

/// A block as it began, and what was added since.
struct Block {
    kind: String,
    source: RawJson,
    fields: Fields,
    text: String,
    input: String,
    signature: String,
    citations: Vec<RawJson>,
}

/// What an answer cost so far: every report replaces what it names.
#[derive(Default)]
struct Charged {
    input: u64,
    read: u64,
    written: u64,
    output: u64,
}

impl AnthropicReader {
    fn begin(&mut self, index: u64, source: RawJson, emit: EventSink<'_>) {
        let Some(fields) = json::object(source.as_str()) else { return };
        let kind = text_at(&fields, "type").unwrap_or_default();
        match kind.as_str() {
            "text" => emit_text(emit, &text_at(&fields, "text").unwrap_or_default()),
            "thinking" => emit_thinking(emit, &text_at(&fields, "thinking").unwrap_or_default()),
            "tool_use" => {
                emit(ModelEvent::ToolCall(text_at(&fields, "name").unwrap_or_default()));
            }
            _ => {}
        }
        let block = Block {
            kind,
            source,
            fields,
            text: String::new(),
            input: String::new(),
            signature: String::new(),
            citations: Vec::new(),
        };
        self.blocks.insert(index, block);
    }

    fn add(&mut self, index: u64, delta: &Fields, emit: EventSink<'_>) {
        let Some(block) = self.blocks.get_mut(&index) else { return };
        let text = |name| text_at(delta, name).unwrap_or_default();
        match text("type").as_str() {
            "text_delta" => {
                let text = text("text");
                emit_text(emit, &text);
                block.text.push_str(&text);
            }
            "thinking_delta" => {
                let text = text("thinking");
                emit_thinking(emit, &text);
                block.text.push_str(&text);
            }
            "signature_delta" => block.signature.push_str(&text("signature")),
            "input_json_delta" => block.input.push_str(&text("partial_json")),
            "citations_delta" => block.citations.extend(delta.get("citation").cloned()),
            _ => {}
        }
    }

    fn charge(&mut self, usage: &Fields) {
        let charged = self.usage.get_or_insert_default();
        let take = |name, field: &mut u64| {
            if let Some(number) = number_at(usage, name) {
                *field = number;
            }
        };
        take("input_tokens", &mut charged.input);
        take("cache_read_input_tokens", &mut charged.read);
        take("cache_creation_input_tokens", &mut charged.written);
        take("output_tokens", &mut charged.output);
    }

    /// Reads what a message says about itself, at its begin or as a whole.
    fn message(&mut self, message: &Fields) {
        self.model = text_at(message, "model").or(self.model.take());
        self.stop = text_at(message, "stop_reason").or(self.stop.take());
        if let Some(usage) = object_at(message, "usage") {
            self.charge(&usage);
        }
    }
}

impl Reader for AnthropicReader {
    fn read(&mut self, data: &str, emit: EventSink<'_>) -> Result<(), Fault> {
        let fields = json::object(data).ok_or_else(|| Fault::Broken("not JSON".to_owned()))?;
        let index = number_at(&fields, "index").unwrap_or(0);
        match text_at(&fields, "type").unwrap_or_default().as_str() {
            // A plain answer.
            "message" => {
                for (index, block) in (0..).zip(list_at(&fields, "content")) {
                    self.begin(index, block, emit);
                }
                self.message(&fields);
                self.closed = true;
            }
            "message_start" => self.message(&object_at(&fields, "message").unwrap_or_default()),
            "content_block_start" => {
                if let Some(block) = fields.get("content_block") {
                    self.begin(index, block.clone(), emit);
                }
            }
            "content_block_delta" => {
                self.add(index, &object_at(&fields, "delta").unwrap_or_default(), emit);
            }
            "message_delta" => {
                self.message(&object_at(&fields, "delta").unwrap_or_default());
                if let Some(usage) = object_at(&fields, "usage") {
                    self.charge(&usage);
                }
            }
            "message_stop" => self.closed = true,
            _ => {
                if let Some(error) = ProviderError::of(&fields) {
                    return Err(Fault::Provider(error));
                }
            }
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.closed { Progress::Closed } else { Progress::Open }
    }

    fn finish(self: Box<Self>) -> Finished {
        let this = *self;
        let stop = match this.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
            Some("refusal") => Stop::Refused("refusal".to_owned()),
            _ if this.blocks.values().any(|block| block.kind == "tool_use") => Stop::ToolCalls,
            _ => Stop::End,
        };
        let usage = this.usage.map(|charged| Usage {
            input: charged.input + charged.read + charged.written,
            cached: charged.read,
            written: charged.written,
            output: charged.output,
            model: this.model,
        });
        let parts = this.blocks.into_values().filter_map(Block::part).collect();
        Finished { parts, extra: Fields::default(), usage, stop }
    }
}

impl Block {
    fn part(mut self) -> Option<Part> {
        self.fields.take("type");
        match self.kind.as_str() {
            "text" => {
                let text = self.take_text("text");
                let mut extra = self.fields;
                if !self.citations.is_empty() {
                    let cited = serde_json::to_string(&self.citations).expect("JSON of JSON");
                    extra.take("citations");
                    extra.push("citations", json::raw(&cited));
                }
                (!text.is_empty()).then_some(Part::Text(Text { text, extra }))
            }
            "tool_use" => {
                let id = take_text(&mut self.fields, "id");
                let name = take_text(&mut self.fields, "name");
                let given = self.fields.take("input");
                // What the model wrote may be cut off: it is kept as it is, valid or not.
                let arguments = match self.input.is_empty() {
                    true => given.map_or("{}".to_owned(), |input| input.as_str().to_owned()),
                    false => self.input,
                };
                Some(Part::ToolCall(ToolCall { id, name, arguments, extra: self.fields }))
            }
            "thinking" => {
                let source = self.thinking_source();
                Some(Part::Thinking(Thinking { text: self.take_text("thinking"), source }))
            }
            "redacted_thinking" => {
                Some(Part::Thinking(Thinking { text: String::new(), source: self.source }))
            }
            "image" => Some(Part::Image(Image { source: self.source })),
            // Tools that run at the provider get their input piece by piece too.
            _ => match RawJson::new(&self.input) {
                Ok(input) => {
                    let fields = json::object(self.source.as_str()).unwrap_or_default();
                    Some(Part::Other(json::with_field(&fields, "input", input)))
                }
                Err(_) => Some(Part::Other(self.source)),
            },
        }
    }

    /// Takes the text a block began with, and what was added.
    fn take_text(&mut self, name: &str) -> String {
        take_text(&mut self.fields, name) + &self.text
    }

    /// Returns thinking as the API would give it whole, for it must go back unchanged.
    fn thinking_source(&self) -> RawJson {
        let mut source = self.source.clone();
        let mut replace = |name: &str, added: &str| {
            if !added.is_empty() {
                let fields = json::object(source.as_str()).unwrap_or_default();
                let whole = text_at(&fields, name).unwrap_or_default() + added;
                source = json::with_field(&fields, name, json::raw(&json::quoted(&whole)));
            }
        };
        replace("thinking", &self.text);
        replace("signature", &self.signature);
        source
    }
}

fn take_text(fields: &mut Fields, name: &str) -> String {
    fields.take(name).as_ref().and_then(json::text).unwrap_or_default()
}
