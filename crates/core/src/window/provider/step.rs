//! Steps: a piece's messages in order, each call with its result, before any provider's spelling.
//!
//! [`read`] takes broken lists too. A call without a result is answered: as open in the last exchange, as
//! interrupted before it. A result without its call becomes something said, and what cannot stand in a role is told as text. Everything outside
//! gets its mark defused here, so that the formats need not think of it.

use std::borrow::Cow;

use super::{ProviderFormat, identity, json};
use crate::{
    Message, PageIndex, Role,
    index::shorten,
    message::{Fields, Origin, Part, RawJson, ToolCall, ToolResult},
    window::piece::Mark,
};

/// What stands for the result of a call that is still open.
pub(super) const OPEN: &str = "no result yet: the call is still open";

/// What a piece is rendered for.
pub(super) struct Scope<'a> {
    pub(super) format: ProviderFormat,
    pub(super) mark: &'a Mark,
    pub(super) model: Option<&'a str>,
    pub(super) page: &'a PageIndex,
}

/// One step of the conversation.
pub(super) enum Step<'a> {
    Said(Said<'a>),
    Answer(Answer<'a>),
}

/// What the user or the system side says.
pub(super) struct Said<'a> {
    pub(super) speaker: Speaker,
    pub(super) name: Option<String>,
    pub(super) bits: Vec<Bit<'a>>,
}

/// Who says something to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
}

/// What the model says and calls, with the result of each call in the order of the calls.
pub(super) struct Answer<'a> {
    pub(super) name: Option<String>,
    /// The phase of its work OpenAI asks to be given back.
    pub(super) phase: Option<&'static str>,
    pub(super) bits: Vec<Bit<'a>>,
    pub(super) outcomes: Vec<CallResult<'a>>,
}

/// What a call came to.
pub(super) struct CallResult<'a> {
    pub(super) bits: Vec<Bit<'a>>,
    pub(super) error: bool,
}

/// One part, its mark defused.
pub(super) enum Bit<'a> {
    /// A text that is not empty, with the signature the same model put beside it.
    Text {
        text: Cow<'a, str>,
        signature: Option<&'a RawJson>,
    },
    Image(&'a RawJson),
    /// Thinking that the target made itself.
    Thinking(&'a RawJson),
    Call(Call<'a>),
    /// A part of an unknown kind; `native` if the target made it itself.
    Other {
        kind: String,
        source: Cow<'a, str>,
        native: bool,
    },
}

/// A call, its id and name spelled for the format.
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Cow<'a, str>,
    /// The original's unknown fields, if the target made the call itself.
    pub(super) extra: Option<&'a Fields>,
    /// Whether the model is known to be the very one that made the call.
    pub(super) same_model: bool,
}

/// Makes the engine's own lines a step.
pub(super) fn engine(text: &str) -> Step<'_> {
    let bits = if text.is_empty() { Vec::new() } else { vec![plain(text)] };
    Step::Said(Said { speaker: Speaker::User, name: None, bits })
}

/// Puts the engine's lines to a turn: the first over it; the second, where there is one, behind the
/// request that the turn begins with.
///
/// A request and its lines are one message. So nothing that comes later, by whomever, can be taken
/// for a part of it, also where a provider joins messages of the same role.
pub(super) fn attributed<'a>(lines: &'a str, mut steps: Vec<Step<'a>>) -> Vec<Step<'a>> {
    let (head, foot) = match lines.split_once('\n') {
        Some((head, foot)) => (head, Some(foot)),
        None => (lines, None),
    };
    match (foot, steps.first_mut()) {
        (Some(foot), Some(Step::Said(said))) if said.speaker == Speaker::User => {
            said.bits.insert(0, plain(head));
            said.bits.push(plain(foot));
        }
        _ => steps.insert(0, engine(head)),
    }
    steps
}

/// Makes a page with a text of its own a step: the engine's line, then what the page says.
pub(super) fn note<'a>(scope: &Scope<'_>, head: &'a str, body: &'a [Message]) -> Step<'a> {
    let mut text = head.to_owned();
    let mut bits = Vec::new();
    let parts = body.iter().flat_map(|message| &message.parts);
    let said = parts.flat_map(|part| match part {
        Part::ToolResult(result) => result.content.iter().collect(),
        part => vec![part],
    });
    for bit in said.filter_map(|part| scope.bit(part, None)) {
        match scope.without_call(bit) {
            Bit::Text { text: said, .. } => {
                // What follows an image is a text of its own.
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&said);
            }
            other => {
                bits.extend(owned(std::mem::take(&mut text)));
                bits.push(other);
            }
        }
    }
    bits.extend(owned(text));
    Step::Said(Said { speaker: Speaker::User, name: None, bits })
}

/// Reads messages as steps, noting in `repaired` what was made valid.
pub(super) fn read<'a>(
    scope: &Scope<'_>,
    messages: &'a [Message],
    repaired: &mut Vec<String>,
) -> Vec<Step<'a>> {
    let mut reader = Reader { scope, steps: Vec::new(), open: None, held: Vec::new(), repaired };
    for message in messages {
        reader.read(message);
    }
    reader.leave_open();
    reader.close();
    reader.steps
}

/// Says that a message was left out.
pub(super) fn left_out(page: &PageIndex) -> String {
    format!("{page}: a message that says nothing here was left out")
}

fn plain<'a>(text: impl Into<Cow<'a, str>>) -> Bit<'a> {
    Bit::Text { text: text.into(), signature: None }
}

fn owned<'a>(text: String) -> Option<Bit<'a>> {
    (!text.is_empty()).then(|| plain(text))
}

/// An answer whose results are being read.
struct Open<'a> {
    answer: Answer<'a>,
    /// The ids as they were, and what came back so far.
    calls: Vec<(&'a str, Option<CallResult<'a>>)>,
}

struct Reader<'s, 'a> {
    scope: &'s Scope<'s>,
    steps: Vec<Step<'a>>,
    open: Option<Open<'a>>,
    /// What is said once the open answer is closed.
    held: Vec<Said<'a>>,
    repaired: &'s mut Vec<String>,
}

impl<'a> Reader<'_, 'a> {
    fn read(&mut self, message: &'a Message) {
        let scope = self.scope;
        let bits = message.parts.iter().filter_map(|part| scope.bit(part, message.origin.as_ref()));
        let results = message.tool_results();
        match message.role {
            Role::Assistant => {
                let mut bits: Vec<Bit<'a>> = bits.collect();
                if !bits.iter().any(|bit| matches!(bit, Bit::Text { .. })) {
                    bits.extend(scope.refusal(message));
                }
                self.close();
                let calls = message.tool_calls().map(|call| (call.id.as_str(), None)).collect();
                let (name, phase) = (scope.name(message), scope.phase(message));
                let answer = Answer { name, phase, bits, outcomes: Vec::new() };
                self.open = Some(Open { answer, calls });
                results.for_each(|result| self.result(result));
            }
            Role::Tool => {
                results.for_each(|result| self.result(result));
                let bits: Vec<Bit<'a>> = bits.map(|bit| scope.without_call(bit)).collect();
                self.hold(bits);
            }
            Role::System | Role::User => {
                results.for_each(|result| self.result(result));
                let bits: Vec<Bit<'a>> = bits.map(|bit| scope.without_call(bit)).collect();
                if bits.is_empty() {
                    if message.tool_results().next().is_none() {
                        self.repaired.push(left_out(scope.page));
                    }
                    return;
                }
                self.close();
                let speaker = match message.role {
                    Role::System => Speaker::System,
                    _ => Speaker::User,
                };
                self.steps.push(Step::Said(Said { speaker, name: scope.name(message), bits }));
            }
        }
    }

    /// Gives a result to the first call of its id that has none, or holds it as something said.
    fn result(&mut self, result: &'a ToolResult) {
        let scope = self.scope;
        let mut bits: Vec<Bit<'a>> =
            result.content.iter().filter_map(|part| scope.bit(part, None)).collect();
        bits.iter_mut().for_each(|bit| {
            let taken = std::mem::replace(bit, plain(""));
            *bit = scope.without_call(taken);
        });
        let open = self.open.as_mut().map(|open| &mut open.calls);
        let mut calls = open.into_iter().flatten();
        if let Some((_, outcome)) = calls.find(|(id, had)| *id == result.call && had.is_none()) {
            *outcome = Some(CallResult { bits, error: result.error });
            return;
        }
        let id = shorten(&result.call);
        self.repaired.push(format!("{}: a result without its call '{id}' is told", scope.page));
        let id = scope.mark.defuse(&id).into_owned();
        bits.insert(0, plain(format!("(result of a call that is not here: {id})")));
        self.hold(bits);
    }

    fn hold(&mut self, bits: Vec<Bit<'a>>) {
        if bits.is_empty() {
            return;
        }
        self.held.push(Said { speaker: Speaker::User, name: None, bits });
        if self.open.is_none() {
            self.close();
        }
    }

    /// Answers the calls of the last exchange that still wait for their results.
    fn leave_open(&mut self) {
        let calls = self.open.as_mut().into_iter().flat_map(|open| &mut open.calls);
        for (_, outcome) in calls {
            outcome.get_or_insert_with(|| CallResult { bits: vec![plain(OPEN)], error: false });
        }
    }

    fn close(&mut self) {
        if let Some(Open { mut answer, calls }) = self.open.take() {
            for (id, outcome) in calls {
                answer.outcomes.push(outcome.unwrap_or_else(|| {
                    let (page, id) = (self.scope.page, shorten(id));
                    self.repaired.push(format!("{page}: call '{id}' had no result"));
                    CallResult { bits: vec![plain(ToolResult::INTERRUPTED)], error: true }
                }));
            }
            self.steps.push(Step::Answer(answer));
        }
        self.steps.extend(self.held.drain(..).map(Step::Said));
    }
}

impl Scope<'_> {
    /// Reads a part; results are read apart, and what says nothing is `None`.
    fn bit<'a>(&self, part: &'a Part, origin: Option<&Origin>) -> Option<Bit<'a>> {
        let native = self.is_native(origin);
        match part {
            Part::Text(text) if text.text.is_empty() => None,
            Part::Text(text) => {
                let signature = native.then(|| signature(&text.extra)).flatten();
                Some(Bit::Text { text: self.mark.defuse(&text.text), signature })
            }
            Part::ToolCall(call) => Some(Bit::Call(self.call(call, origin))),
            Part::ToolResult(_) => None,
            Part::Image(image) => Some(Bit::Image(&image.source)),
            Part::Thinking(thinking) => native.then_some(Bit::Thinking(&thinking.source)),
            Part::Other(source) => self.other(source, native),
        }
    }

    fn call<'a>(&self, call: &'a ToolCall, origin: Option<&Origin>) -> Call<'a> {
        let model = origin.and_then(|origin| origin.model.as_deref());
        let arguments = match serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments) {
            Ok(_) => json::defuse(self.mark, &call.arguments),
            Err(_) => self.mark.defuse(&call.arguments),
        };
        Call {
            id: identity::spell_id(self.format, &self.mark.defuse(&call.id)),
            name: identity::spell_name(&self.mark.defuse(&call.name)),
            arguments,
            extra: self.is_native(origin).then_some(&call.extra),
            same_model: model.is_some() && model == self.model,
        }
    }

    fn other<'a>(&self, source: &'a RawJson, native: bool) -> Option<Bit<'a>> {
        let fields: Fields = source.read().unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(|raw| raw.read::<String>().ok());
        let kind = text("type").unwrap_or_default();
        if kind == "refusal" {
            return owned(self.mark.defuse(&text("refusal")?).into_owned());
        }
        let kind = self.mark.defuse(&shorten(&kind)).into_owned();
        Some(Bit::Other { kind, source: json::defuse(self.mark, source.as_str()), native })
    }

    /// Returns what the model said instead of an answer: OpenAI keeps it beside the content.
    fn refusal<'a>(&self, message: &Message) -> Option<Bit<'a>> {
        let refusal: String = message.extra.get("refusal")?.read().ok()?;
        owned(self.mark.defuse(&refusal).into_owned())
    }

    /// Returns the name OpenAI knows a participant by, if the message has one that it takes.
    fn name(&self, message: &Message) -> Option<String> {
        let name: String = message.extra.get("name")?.read().ok()?;
        let takes = name.len() <= 64 && identity::is_plain(&name);
        (takes && !name.contains(self.mark.as_str())).then_some(name)
    }

    fn phase(&self, message: &Message) -> Option<&'static str> {
        let phase: String = message.extra.get("phase")?.read().ok()?;
        let known = ["commentary", "final_answer"].into_iter().find(|known| *known == phase);
        known.filter(|_| self.is_native(message.origin.as_ref()))
    }

    /// Tells a call as text where only the model may call.
    fn without_call<'a>(&self, bit: Bit<'a>) -> Bit<'a> {
        match bit {
            Bit::Call(call) => plain(format!("→ {}({})", call.name, call.arguments)),
            bit => bit,
        }
    }

    /// Tells whether what a message keeps to itself may go to the target: the same provider and,
    /// where both are known, the same model.
    fn is_native(&self, origin: Option<&Origin>) -> bool {
        let Some(origin) = origin else { return false };
        let provider = origin.provider.to_ascii_lowercase();
        let same_provider = match self.format {
            ProviderFormat::OpenAi | ProviderFormat::Responses => provider == "openai",
            ProviderFormat::Anthropic => provider == "anthropic",
            ProviderFormat::Gemini => provider == "gemini" || provider == "google",
        };
        let same_model = match (origin.model.as_deref(), self.model) {
            (Some(made), Some(target)) => made == target,
            _ => true,
        };
        same_provider && same_model
    }
}

/// Returns Gemini's signature among the unknown fields of a part.
pub(super) fn signature(extra: &Fields) -> Option<&RawJson> {
    let signature = extra.get("thoughtSignature").or_else(|| extra.get("thought_signature"))?;
    signature.read::<String>().is_ok_and(|text| !text.is_empty()).then_some(signature)
}
