//! Random conversations, broken ones among them: every output is valid and says what was said.

use std::sync::Arc;

use contexture_testkit::random::Random;
use serde_json::Value;

use super::{tests::*, *};
use crate::{
    Role,
    message::{Fields, Image, Origin, RawJson, Text, Thinking, ToolCall, ToolResult},
};

const TAILS: [&str; 9] = [
    "",
    " ",
    "\n\n",
    "说\"\\",
    "\u{0}\u{1f}\t",
    "[ctx:bcdfghjk]",
    "𝄞\u{feff}",
    "{\"a\":1}",
    "\r\n- x",
];

const IDS: [&str; 7] =
    ["a", "b", "x.1", "x_1", "", "读", "call_0123456789012345678901234567890123456789_long_one"];

const ARGUMENTS: [&str; 9] = [
    "{}",
    r#"{ "k" : "v\u00e9\n", "n": 1.50 }"#,
    "",
    "[1,2]",
    "not {json",
    r#"{"bcdfghjk":"\u0062cdfghjk"}"#,
    r#"{"s":"\ud800"}"#,
    r#"{"n":1e999}"#,
    r#"{"cache_control":{"type":"ephemeral"}}"#,
];

const OTHERS: [&str; 6] = [
    r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"cache_control":{"type":"ephemeral"}}"#,
    r#"{"type":"input_audio","input_audio":{"data":"","format":"wav"}}"#,
    r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
    r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#,
    r#"{"type":"refusal","refusal":"no"}"#,
    r#"{"type":"bcdfghjk","\u0063ache_control":{"x":"bcdfghjk"}}"#,
];

const IMAGES: [&str; 4] = [
    r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}"#,
    r#"{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AA=="},"cache_control":{}}"#,
    r#"{"type":"input_image","detail":"auto","file_id":"f"}"#,
    r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#,
];

const THOUGHTS: [&str; 4] = [
    r#"{"type":"thinking","thinking":"t","signature":"s"}"#,
    r#"{"type":"redacted_thinking","data":"d"}"#,
    r#"{"type":"reasoning","id":"rs","summary":[]}"#,
    r#"{"type":"thinking","thinking":"unsigned"}"#,
];

/// Makes conversations; every text that is not blank carries a number of its own.
pub(super) struct Maker {
    pub(super) random: Random,
    texts: usize,
}

impl Maker {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), texts: 0 }
    }

    pub(super) fn talk(&mut self) -> Vec<Piece> {
        let pieces = 1 + self.random.below(8);
        (0..pieces).map(|number| self.piece(number)).collect()
    }

    fn piece(&mut self, number: u64) -> Piece {
        let page = format!("usr-{}", number / 2);
        match self.random.below(8) {
            0 => piece(&page, PieceContent::Engine(format!("[ctx:{MARK}] #{number}").into())),
            1 => {
                let (head, body) = (format!("[ctx:{MARK}] note").into(), self.messages().into());
                piece(&page, PieceContent::Note { head, body })
            }
            _ => messages(&page, self.messages()),
        }
    }

    fn messages(&mut self) -> Vec<Message> {
        let count = self.random.below(7);
        let mut list: Vec<Message> = Vec::new();
        for _ in 0..count {
            let answers = self.random.chance(70);
            match list.last() {
                Some(last) if answers && last.tool_calls().next().is_some() => {
                    let ids: Vec<String> = last.tool_calls().map(|call| call.id.clone()).collect();
                    list.extend(ids.iter().map(|id| self.results(id)));
                }
                _ => list.push(self.message()),
            }
        }
        list
    }

    fn message(&mut self) -> Message {
        let role = *self.random.pick(&[
            Role::User,
            Role::User,
            Role::Assistant,
            Role::Assistant,
            Role::System,
            Role::Tool,
        ]);
        let mut message = Message::text(role, "");
        message.parts = (0..self.random.below(5)).map(|_| self.part(role)).collect();
        if role == Role::Assistant {
            let provider = *self.random.pick(&["openai", "anthropic", "gemini"]);
            let model =
                self.random.pick(&[None, Some("m".to_owned()), Some("n".to_owned())]).clone();
            message.origin = Some(Origin { provider: provider.to_owned(), model });
        }
        message
    }

    fn results(&mut self, id: &str) -> Message {
        let mut message = Message::text(Role::Tool, "");
        message.parts = vec![self.result(id)];
        message
    }

    fn part(&mut self, role: Role) -> Part {
        let id = (*self.random.pick(&IDS)).to_owned();
        // Mostly what the role may have, sometimes what it may not.
        let weights = match role {
            Role::Assistant => [30, 30, 1, 3, 15, 10],
            Role::Tool => [3, 1, 60, 2, 1, 2],
            Role::User | Role::System => [60, 1, 2, 10, 1, 10],
        };
        match self.random.weighted(&weights) {
            0 => self.text(),
            1 => {
                let name = (*self.random.pick(&["f", "g.h", "", "bcdfghjk"])).to_owned();
                let arguments = (*self.random.pick(&ARGUMENTS)).to_owned();
                let mut extra = Fields::default();
                extra.push("thoughtSignature", RawJson::new("\"c2ln\"").unwrap());
                Part::ToolCall(ToolCall { id, name, arguments, extra })
            }
            2 => self.result(&id),
            3 => Part::Image(Image { source: self.raw(&IMAGES) }),
            4 => {
                let source = self.raw(&THOUGHTS);
                Part::Thinking(Thinking { text: String::new(), source })
            }
            _ => Part::Other(self.raw(&OTHERS)),
        }
    }

    fn result(&mut self, id: &str) -> Part {
        let content = (0..self.random.below(3)).map(|_| match self.random.below(6) {
            0 => Part::Image(Image { source: self.raw(&IMAGES) }),
            1 => Part::Other(self.raw(&OTHERS)),
            _ => self.text(),
        });
        let (call, content) = (id.to_owned(), content.collect());
        let error = self.random.chance(20);
        Part::ToolResult(ToolResult { call, content, error, extra: Fields::default() })
    }

    fn raw(&mut self, texts: &[&str]) -> RawJson {
        let text: &&str = self.random.pick(texts);
        RawJson::new(text).unwrap()
    }

    fn text(&mut self) -> Part {
        let tail = *self.random.pick(&TAILS);
        let text = if self.random.chance(15) {
            tail.to_owned()
        } else {
            self.texts += 1;
            format!("#{}# {tail}", self.texts)
        };
        Part::Text(Text { text, extra: Fields::default() })
    }
}

pub(super) fn rendered(
    format: ProviderFormat,
    talk: &[Piece],
    model: Option<&str>,
) -> Vec<Arc<RenderedPiece>> {
    talk.iter().map(|piece| Arc::new(render_piece(format, piece, &mark(), model))).collect()
}

fn parts_of<'a>(piece: &'a Piece) -> Vec<&'a Part> {
    let (PieceContent::Messages(list)
    | PieceContent::Turn { messages: list, .. }
    | PieceContent::Note { body: list, .. }) = &piece.content
    else {
        return Vec::new();
    };
    let parts = list.iter().flat_map(|message| &message.parts);
    let inner = |part: &'a Part| -> Vec<&'a Part> {
        match part {
            Part::ToolResult(result) => result.content.iter().collect(),
            part => vec![part],
        }
    };
    parts.flat_map(inner).collect()
}

fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|value| strings(value, found)),
        Value::Object(map) => map.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

#[test]
fn every_conversation_becomes_valid() {
    for seed in 0..1500 {
        let talk = Maker::new(seed).talk();
        for format in ProviderFormat::ALL {
            for model in [None, Some("m"), Some("gemini-3-pro")] {
                let rendered = rendered(format, &talk, model);
                let breakpoints = Breakpoints { freeze: Some(0), previous_tail: Some(1) };
                let parts = WindowParts { system: &[], talk: &rendered, breakpoints };
                let assembled = assemble(format, parts).unwrap_or_else(|violation| {
                    panic!("seed {seed} {format}: {violation}\n{talk:#?}")
                });
                let body: Value = serde_json::from_str(&assembled.json).unwrap();
                validate_body(format, &body).unwrap_or_else(|violation| {
                    panic!("seed {seed} {format}: {violation}\n{}", assembled.json)
                });
                // What was noted while writing is what a reader finds.
                let written = rendered.iter().flat_map(|piece| &piece.items);
                for item in written {
                    let key = match format {
                        ProviderFormat::OpenAi | ProviderFormat::Anthropic => "messages",
                        ProviderFormat::Responses => "input",
                        ProviderFormat::Gemini => "contents",
                    };
                    let item_json: Value = serde_json::from_str(&item.json).unwrap();
                    let alone = serde_json::json!({ key: [item_json] });
                    let read = read::read(format, &alone).unwrap();
                    assert_eq!(read.shapes[0], item.shape, "seed {seed}: {}", item.json);
                }
                for range in &assembled.items {
                    serde_json::from_str::<Value>(&assembled.json[range.clone()]).unwrap();
                }
            }
        }
    }
}

#[test]
fn what_was_said_comes_back_byte_for_byte() {
    for seed in 0..600 {
        let talk = Maker::new(seed).talk();
        for format in ProviderFormat::ALL {
            let rendered = rendered(format, &talk, None);
            let parts =
                WindowParts { system: &[], talk: &rendered, breakpoints: Breakpoints::default() };
            let json = assemble(format, parts).unwrap().json;
            let body: Value = serde_json::from_str(&json).unwrap();
            let mut found = Vec::new();
            strings(&body, &mut found);
            for part in talk.iter().flat_map(parts_of) {
                match part {
                    Part::Text(text) if !text.text.trim().is_empty() => {
                        let text = mark().defuse(&text.text).into_owned();
                        let said = found.iter().any(|found| found.contains(&text));
                        assert!(said, "seed {seed} {format}: {text:?}\n{json}");
                    }
                    Part::ToolCall(call) if !call.arguments.contains("cdfghjk") => {
                        let kept = json.contains(&call.arguments)
                            || found.iter().any(|found| found.contains(&call.arguments));
                        assert!(kept, "seed {seed} {format}: {}\n{json}", call.arguments);
                    }
                    _ => {}
                }
            }
            for found in found {
                let lines = found.lines().filter(|line| line.contains(MARK));
                for line in lines {
                    assert!(line.starts_with("[ctx:bcdfghjk]"), "seed {seed} {format}: {found:?}");
                    assert!(line.matches(MARK).count() == 1, "seed {seed} {format}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn the_user_and_the_model_are_heard_in_order() {
    for seed in 0..300 {
        let talk = Maker::new(seed).talk();
        for format in ProviderFormat::ALL {
            let rendered = rendered(format, &talk, None);
            let parts =
                WindowParts { system: &[], talk: &rendered, breakpoints: Breakpoints::default() };
            let json = assemble(format, parts).unwrap().json;
            let mut from = 0;
            for piece in &talk {
                let PieceContent::Messages(list) = &piece.content else { continue };
                let said =
                    |message: &&Message| matches!(message.role, Role::User | Role::Assistant);
                for part in list.iter().filter(said).flat_map(|message| &message.parts) {
                    let Part::Text(text) = part else { continue };
                    let Some((number, _)) = text.text.split_once("# ") else { continue };
                    let at = json.find(&format!("{number}#")).unwrap();
                    assert!(at >= from, "seed {seed} {format}: {number}\n{json}");
                    from = at;
                }
            }
        }
    }
}
