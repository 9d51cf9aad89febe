//! Answers of Gemini's `generateContent`.
//!
//! A stream is a row of partial answers. Texts that follow each other are one part, as they are in
//! a plain answer; a signature stays beside the text or call it came with.

use contexture_core::{
    Usage,
    message::{Fields, Part, RawJson, Text, Thinking, ToolCall},
};

use super::{
    failure::ProviderError,
    json::{self, list_at, number_at, object_at, text_at},
    read::{EventSink, Fault, Finished, Ids, Progress, Reader, emit_text, emit_thinking},
};
use crate::model::{ModelEvent, Stop};

/// Reads an answer.
pub(super) struct GeminiReader {
    ids: Ids,
    parts: Vec<Part>,
    usage: Option<Usage>,
    model: Option<String>,
    /// Why it ended, and the provider's words about it.
    stop: Option<(String, Option<String>)>,
    /// Why the prompt was not answered at all.
    blocked: Option<String>,
}

impl GeminiReader {
    /// Begins to read the answer to a window.
    pub(super) fn new(window: &str) -> Self {
        Self {
            ids: Ids::new("gemini", window),
            parts: Vec::new(),
            usage: None,
            model: None,
            stop: None,
            blocked: None,
        }
    }

    fn candidate(&mut self, candidate: &Fields, emit: EventSink<'_>) -> Result<(), Fault> {
        let content = object_at(candidate, "content").unwrap_or_default();
        for source in list_at(&content, "parts") {
            if let Some(fields) = json::object(source.as_str()) {
                self.part(source, fields, emit);
            }
        }
        let Some(reason) = text_at(candidate, "finishReason") else { return Ok(()) };
        // The model tripped over its own call; asked again it seldom does.
        if matches!(reason.as_str(), "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") {
            return Err(Fault::Broken(reason));
        }
        if reason != "FINISH_REASON_UNSPECIFIED" {
            self.stop = Some((reason, text_at(candidate, "finishMessage")));
        }
        Ok(())
    }

    fn part(&mut self, source: RawJson, mut fields: Fields, emit: EventSink<'_>) {
        if let Some(call) = fields.take("functionCall") {
            self.call(&call, fields, emit);
            return;
        }
        let thought = fields.get("thought").is_some_and(|raw| raw.as_str() == "true");
        let signed = fields.get("thoughtSignature").is_some();
        match text_at(&fields, "text") {
            Some(text) if thought => {
                emit_thinking(emit, &text);
                self.thought(source, &text, signed);
            }
            Some(text) => {
                emit_text(emit, &text);
                fields.take("text");
                fields.take("thought");
                self.text(text, fields);
            }
            // A signature may come alone, behind what it signs.
            None if signed && fields.iter().count() == 1 => self.text(String::new(), fields),
            None => self.parts.push(Part::Other(source)),
        }
    }

    fn call(&mut self, call: &RawJson, extra: Fields, emit: EventSink<'_>) {
        let call = json::object(call.as_str()).unwrap_or_default();
        let name = text_at(&call, "name").unwrap_or_default();
        let id = text_at(&call, "id").filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| self.ids.make());
        let arguments = call.get("args").filter(|args| args.as_str() != "null");
        let arguments = arguments.map_or("{}", RawJson::as_str).to_owned();
        emit(ModelEvent::ToolCall(name.clone()));
        self.parts.push(Part::ToolCall(ToolCall { id, name, arguments, extra }));
    }

    fn text(&mut self, text: String, extra: Fields) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) if last.extra.is_empty() => {
                last.text.push_str(&text);
                last.extra = extra;
            }
            _ if text.is_empty() && extra.is_empty() => {}
            _ => self.parts.push(Part::Text(Text { text, extra })),
        }
    }

    fn thought(&mut self, source: RawJson, text: &str, signed: bool) {
        let Some(Part::Thinking(last)) = self.parts.last_mut() else {
            self.parts.push(Part::Thinking(Thinking { text: text.to_owned(), source }));
            return;
        };
        // What was signed is closed.
        let fields = json::object(last.source.as_str()).unwrap_or_default();
        if fields.get("thoughtSignature").is_some() {
            self.parts.push(Part::Thinking(Thinking { text: text.to_owned(), source }));
            return;
        }
        last.text.push_str(text);
        let all = json::raw(&json::quoted(&last.text));
        let own = json::object(source.as_str()).unwrap_or_default();
        last.source = json::with_field(if signed { &own } else { &fields }, "text", all);
    }

    fn read_usage(&mut self, usage: &Fields) {
        let number = |name| number_at(usage, name).unwrap_or(0);
        self.usage = Some(Usage {
            input: number("promptTokenCount") + number("toolUsePromptTokenCount"),
            cached: number("cachedContentTokenCount"),
            written: 0,
            output: number("candidatesTokenCount") + number("thoughtsTokenCount"),
            model: None,
        });
    }
}

impl Reader for GeminiReader {
    fn read(&mut self, data: &str, emit: EventSink<'_>) -> Result<(), Fault> {
        let fields = json::object(data).ok_or_else(|| Fault::Broken("not JSON".to_owned()))?;
        let candidates = list_at(&fields, "candidates");
        if candidates.is_empty()
            && let Some(error) = ProviderError::of(&fields)
        {
            return Err(Fault::Provider(error));
        }
        if let Some(usage) = object_at(&fields, "usageMetadata") {
            self.read_usage(&usage);
        }
        self.model = text_at(&fields, "modelVersion").or(self.model.take());
        let feedback = object_at(&fields, "promptFeedback").unwrap_or_default();
        self.blocked = text_at(&feedback, "blockReason").or(self.blocked.take());
        match candidates.first().and_then(|candidate| json::object(candidate.as_str())) {
            Some(candidate) => self.candidate(&candidate, emit),
            None => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        match self.stop.is_some() || self.blocked.is_some() {
            true => Progress::Complete,
            false => Progress::Open,
        }
    }

    fn finish(self: Box<Self>) -> Finished {
        let mut this = *self;
        let speaks = |part: &Part| !matches!(part, Part::Text(text) if text.text.is_empty());
        if !this.parts.iter().any(speaks) {
            // A signature of nothing.
            this.parts.clear();
        }
        let calls = this.parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop = match (this.stop, this.blocked) {
            (None, Some(blocked)) => Stop::Refused(blocked),
            (None, None) => Stop::End,
            (Some((reason, words)), _) => match reason.as_str() {
                "STOP" if calls => Stop::ToolCalls,
                "STOP" => Stop::End,
                "MAX_TOKENS" => Stop::Length,
                _ => Stop::Refused(words.map_or(reason.clone(), |it| format!("{reason}: {it}"))),
            },
        };
        let usage = this.usage.map(|usage| Usage { model: this.model, ..usage });
        Finished { parts: this.parts, extra: Fields::default(), usage, stop }
    }
}
