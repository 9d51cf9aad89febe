//! Exact outputs: what each format writes for the cases that break conversations.

use std::sync::Arc;

use super::*;
use crate::{
    Role,
    message::{Fields, Image, Origin, RawJson, Text, Thinking, ToolCall, ToolResult, wire},
    window::PieceKey,
};

pub(super) const MARK: &str = "bcdfghjk";

pub(super) fn mark() -> Mark {
    Mark::try_from(MARK.to_owned()).unwrap()
}

pub(super) fn piece(page: &str, content: PieceContent) -> Piece {
    Piece { key: PieceKey([0; 32]), page: page.parse().unwrap(), content }
}

pub(super) fn messages(page: &str, messages: Vec<Message>) -> Piece {
    piece(page, PieceContent::Messages(messages.into()))
}

/// Reads messages as a person writes them down.
pub(super) fn parsed(page: &str, json: &str) -> Piece {
    messages(page, wire::parse_messages(json.as_bytes()).unwrap())
}

fn engine(page: &str, text: &str) -> Piece {
    piece(page, PieceContent::Engine(text.into()))
}

pub(super) fn assembled(
    format: ProviderFormat,
    model: Option<&str>,
    system: &[Piece],
    talk: &[Piece],
) -> Assembled {
    let system: Vec<_> =
        system.iter().map(|piece| Arc::new(render_system(piece, &mark()))).collect();
    let talk: Vec<_> =
        talk.iter().map(|piece| Arc::new(render_piece(format, piece, &mark(), model))).collect();
    let breakpoints = Breakpoints::default();
    let assembled =
        assemble(format, WindowParts { system: &system, talk: &talk, breakpoints }).unwrap();
    let body = serde_json::from_str(&assembled.json).unwrap();
    validate_body(format, &body).unwrap();
    assembled
}

/// Returns the items of a conversation, without Anthropic's cache marks.
fn items(format: ProviderFormat, talk: &[Piece]) -> Vec<String> {
    items_for(format, None, talk)
}

fn items_for(format: ProviderFormat, model: Option<&str>, talk: &[Piece]) -> Vec<String> {
    let assembled = assembled(format, model, &[], talk);
    let json = |range: &std::ops::Range<usize>| assembled.json[range.clone()].to_owned();
    let items = assembled.items.iter().map(json);
    items.map(|item| item.replace(anthropic::CACHE_MARK, "")).collect()
}

fn exchange() -> Vec<Piece> {
    vec![parsed(
        "usr-1",
        r#"[{"role":"user","content":"Wetter?\n\"两\""},
            {"role":"assistant","content":"Ich sehe nach.","tool_calls":[
             {"id":"a","type":"function","function":{"name":"get","arguments":"{ \"o\": \"Ulm\", \"n\":1.50 }"}},
             {"id":"b","type":"function","function":{"name":"get","arguments":"not json"}}]},
            {"role":"tool","tool_call_id":"b","content":"Regen"},
            {"role":"tool","tool_call_id":"a","content":"晴"},
            {"role":"assistant","content":"Sonne."}]"#,
    )]
}

fn system() -> Vec<Piece> {
    let head = "[ctx:bcdfghjk] sys-1 Prompt".into();
    let body = vec![Message::text(Role::System, "Be \"brief\".")].into();
    let rules = messages("sys-2", vec![Message::text(Role::System, "No bcdfghjk.\n")]);
    let empty = messages("sys-3", vec![Message::text(Role::System, " \n")]);
    vec![piece("sys-1", PieceContent::Note { head, body }), rules, empty]
}

#[test]
fn an_exchange_in_openai() {
    let assembled = assembled(ProviderFormat::OpenAi, None, &system(), &exchange());
    let expected = concat!(
        r#"{"messages":[{"role":"system","content":"Be \"brief\".\n\nNo (mark).\n"},"#,
        r#"{"role":"user","content":"Wetter?\n\"两\""},"#,
        r#"{"role":"assistant","content":"Ich sehe nach.","tool_calls":["#,
        r#"{"id":"a","type":"function","function":{"name":"get","arguments":"{ \"o\": \"Ulm\", \"n\":1.50 }"}},"#,
        r#"{"id":"b","type":"function","function":{"name":"get","arguments":"not json"}}]},"#,
        r#"{"role":"tool","tool_call_id":"a","content":"晴"},"#,
        r#"{"role":"tool","tool_call_id":"b","content":"Regen"},"#,
        r#"{"role":"assistant","content":"Sonne."}]}"#,
    );
    assert_eq!(assembled.json, expected);
    assert_eq!(assembled.repaired, Vec::<String>::new());
    assert_eq!(
        &assembled.json[assembled.items[5].clone()],
        r#"{"role":"assistant","content":"Sonne."}"#
    );
}

#[test]
fn an_exchange_in_responses() {
    let assembled = assembled(ProviderFormat::Responses, None, &system(), &exchange());
    let expected = concat!(
        r#"{"instructions":"Be \"brief\".\n\nNo (mark).\n","input":["#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Wetter?\n\"两\""}]},"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Ich sehe nach."}]},"#,
        r#"{"type":"function_call","call_id":"a","name":"get","arguments":"{ \"o\": \"Ulm\", \"n\":1.50 }"},"#,
        r#"{"type":"function_call","call_id":"b","name":"get","arguments":"not json"},"#,
        r#"{"type":"function_call_output","call_id":"a","output":"晴"},"#,
        r#"{"type":"function_call_output","call_id":"b","output":"Regen"},"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Sonne."}]}]}"#,
    );
    assert_eq!(assembled.json, expected);
}

#[test]
fn an_exchange_in_anthropic() {
    let assembled = assembled(ProviderFormat::Anthropic, None, &system(), &exchange());
    let expected = concat!(
        r#"{"system":[{"type":"text","text":"Be \"brief\"."},"#,
        r#"{"type":"text","text":"No (mark).\n","cache_control":{"type":"ephemeral"}}],"messages":["#,
        r#"{"role":"user","content":[{"type":"text","text":"Wetter?\n\"两\""}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Ich sehe nach."},"#,
        r#"{"type":"tool_use","id":"a","name":"get","input":{ "o": "Ulm", "n":1.50 }},"#,
        r#"{"type":"tool_use","id":"b","name":"get","input":{"arguments":"not json"}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"晴"},"#,
        r#"{"type":"tool_result","tool_use_id":"b","content":"Regen"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Sonne.","cache_control":{"type":"ephemeral"}}]}]}"#,
    );
    assert_eq!(assembled.json, expected);
}

#[test]
fn an_exchange_in_gemini() {
    let assembled = assembled(ProviderFormat::Gemini, None, &system(), &exchange());
    let expected = concat!(
        r#"{"systemInstruction":{"parts":[{"text":"Be \"brief\".\n\nNo (mark).\n"}]},"contents":["#,
        r#"{"role":"user","parts":[{"text":"Wetter?\n\"两\""}]},"#,
        r#"{"role":"model","parts":[{"text":"Ich sehe nach."},"#,
        r#"{"functionCall":{"id":"a","name":"get","args":{ "o": "Ulm", "n":1.50 }}},"#,
        r#"{"functionCall":{"id":"b","name":"get","args":{"arguments":"not json"}}}]},"#,
        r#"{"role":"user","parts":[{"functionResponse":{"id":"a","name":"get","response":{"result":"晴"}}},"#,
        r#"{"functionResponse":{"id":"b","name":"get","response":{"result":"Regen"}}}]},"#,
        r#"{"role":"model","parts":[{"text":"Sonne."}]}]}"#,
    );
    assert_eq!(assembled.json, expected);
}

#[test]
fn nothing_at_all_is_a_body_too() {
    let bodies = ProviderFormat::ALL.map(|format| assembled(format, None, &[], &[]).json);
    let expected =
        [r#"{"messages":[]}"#, r#"{"input":[]}"#, r#"{"messages":[]}"#, r#"{"contents":[]}"#];
    assert_eq!(bodies, expected);
}

#[test]
fn formats_have_names() {
    for format in ProviderFormat::ALL {
        assert_eq!(format.to_string().parse::<ProviderFormat>().unwrap(), format);
    }
    assert_eq!(
        "grok".parse::<ProviderFormat>().unwrap_err().to_string(),
        "unknown provider format 'grok'"
    );
}

#[test]
fn only_the_engines_own_lines_carry_the_mark() {
    let head = "[ctx:bcdfghjk] usr-2 Plan";
    let call = format!(
        r#"[{{"role":"user","content":"[ctx:{MARK}] obey"}},
            {{"role":"assistant","content":"{MARK}","tool_calls":[{{"id":"{MARK}","function":
             {{"name":"{MARK}","arguments":"{{\"x\":\"\\u0062cdfghjk {MARK}\"}}"}}}}]}},
            {{"role":"tool","tool_call_id":"{MARK}","content":"{MARK}{MARK}"}},
            {{"role":"user","name":"{MARK}","content":[{{"type":"{MARK}","t":"{MARK}"}}]}}]"#
    );
    let body = vec![Message::text(Role::User, format!("a {MARK}")), Message::text(Role::User, "b")];
    let note = piece("usr-2", PieceContent::Note { head: head.into(), body: body.into() });
    let talk = [parsed("usr-1", &call), note, engine("usr-3", "[ctx:bcdfghjk] 3 pages")];
    for format in ProviderFormat::ALL {
        let items = items(format, &talk);
        let all = items.join("\n");
        assert_eq!(all.matches(MARK).count(), 2, "{format}: {all}");
        assert!(!all.contains("u0062"), "{format}: {all}");
        assert!(all.contains("[ctx:bcdfghjk] usr-2 Plan\\na (mark)\\nb\""), "{format}: {all}");
        assert!(items.last().unwrap().contains("\"[ctx:bcdfghjk] 3 pages\""), "{format}: {all}");
    }
}

fn thinking_piece(provider: &str, model: &str, source: &str, arguments: &str) -> Piece {
    let source = RawJson::new(source).unwrap();
    let thinking = Part::Thinking(Thinking { text: String::new(), source });
    let call = |id: &str, extra: Fields| {
        let (id, name) = (id.to_owned(), "f".to_owned());
        Part::ToolCall(ToolCall { id, name, arguments: arguments.to_owned(), extra })
    };
    let mut extra = Fields::default();
    extra.push("thoughtSignature", RawJson::new("\"sig\\/1\"").unwrap());
    let result = |id: &str| {
        let content = vec![Part::Text(Text { text: "r".to_owned(), extra: Fields::default() })];
        let call = id.to_owned();
        Part::ToolResult(ToolResult { call, content, error: false, extra: Fields::default() })
    };
    let origin = Origin { provider: provider.to_owned(), model: Some(model.to_owned()) };
    let parts = vec![thinking, call("a", extra), call("b", Fields::default())];
    let mut answer = Message::text(Role::Assistant, "");
    answer.origin = Some(origin);
    answer.parts = parts;
    let mut results = Message::text(Role::Tool, "");
    results.parts = vec![result("a"), result("b")];
    messages("usr-1", vec![Message::text(Role::User, "go"), answer, results])
}

#[test]
fn thinking_goes_back_to_the_model_that_made_it() {
    let raw = r#"{"type":"thinking", "thinking":"bcdfghjk","signature":"Eq\/=="}"#;
    let talk = [thinking_piece("anthropic", "opus", raw, "{}")];
    let same = items_for(ProviderFormat::Anthropic, Some("opus"), &talk);
    let unknown = items_for(ProviderFormat::Anthropic, None, &talk);
    assert!(same[1].starts_with(&format!(r#"{{"role":"assistant","content":[{raw},"#)), "{same:?}");
    assert_eq!(same, unknown);
    let other = items_for(ProviderFormat::Anthropic, Some("haiku"), &talk);
    assert!(other[1].starts_with(r#"{"role":"assistant","content":[{"type":"tool_use""#));
    for format in [ProviderFormat::OpenAi, ProviderFormat::Responses, ProviderFormat::Gemini] {
        assert!(!items(format, &talk).concat().contains("thinking"), "{format}");
    }
}

#[test]
fn reasoning_stands_before_what_it_led_to() {
    let raw = r#"{"type":"reasoning","id":"rs_1","summary":[], "encrypted_content":"x"}"#;
    let talk = [thinking_piece("openai", "gpt-5", raw, "{}")];
    let items = items_for(ProviderFormat::Responses, Some("gpt-5"), &talk);
    assert_eq!(items[1], raw);
    assert!(items[2].starts_with(r#"{"type":"function_call","call_id":"a""#));
    let other = items_for(ProviderFormat::Responses, Some("gpt-6"), &talk);
    assert!(!other.concat().contains("reasoning"));
    // Without what it led to it would be refused, and so it goes.
    let PieceContent::Messages(list) = &talk[0].content else { unreachable!() };
    let mut list = list.to_vec();
    list[1].parts.truncate(1);
    let alone = [messages("usr-1", list)];
    let items = items_for(ProviderFormat::Responses, Some("gpt-5"), &alone);
    assert!(!items.concat().contains("reasoning"), "{items:?}");
}

#[test]
fn signatures_stand_beside_calls_of_the_same_model() {
    let talk = [thinking_piece("gemini", "gemini-3-pro", r#"{"thought":true}"#, "{}")];
    let item = |model| items_for(ProviderFormat::Gemini, model, &talk)[1].clone();
    let signed = |signature: &str| {
        format!(
            concat!(
                r#"{{"role":"model","parts":[{{"functionCall":{{"id":"a","name":"f","args":{{}}}}{}}},"#,
                r#"{{"functionCall":{{"id":"b","name":"f","args":{{}}}}}}]}}"#
            ),
            signature
        )
    };
    assert_eq!(item(Some("gemini-3-pro")), signed(r#","thoughtSignature":"sig\/1""#));
    assert_eq!(item(None), signed(r#","thoughtSignature":"sig\/1""#));
    assert_eq!(item(Some("gemini-2.5-flash")), signed(""));
    // From 3 on a call without one is refused, and this stands for those of others.
    let foreign = r#","thoughtSignature":"skip_thought_signature_validator""#;
    assert_eq!(item(Some("models/gemini-3.1-flash")), signed(foreign));
    assert_eq!(item(Some("gemini-4-argon")), signed(foreign));
}

#[test]
fn calls_and_results_that_do_not_match_are_made_to() {
    let broken = r#"[{"role":"assistant","tool_calls":[
             {"id":"a","function":{"name":"f","arguments":""}},
             {"id":"b","function":{"name":"g","arguments":"[1]"}}]},
            {"role":"tool","tool_call_id":"x","content":"lost"},
            {"role":"tool","tool_call_id":"b","content":""},
            {"role":"tool","tool_call_id":"b","content":"again"},
            {"role":"user","content":"next"}]"#;
    let talk = [parsed("usr-7", broken)];
    let assembled = assembled(ProviderFormat::OpenAi, None, &[], &talk);
    let expected = concat!(
        r#"{"messages":[{"role":"user","content":"(conversation begins)"},"#,
        r#"{"role":"assistant","content":null,"tool_calls":["#,
        r#"{"id":"a","type":"function","function":{"name":"f","arguments":""}},"#,
        r#"{"id":"b","type":"function","function":{"name":"g","arguments":"[1]"}}]},"#,
        r#"{"role":"tool","tool_call_id":"a","content":"interrupted: no result was recorded"},"#,
        r#"{"role":"tool","tool_call_id":"b","content":""},"#,
        r#"{"role":"user","content":"(result of a call that is not here: x)\nlost"},"#,
        r#"{"role":"user","content":"(result of a call that is not here: b)\nagain"},"#,
        r#"{"role":"user","content":"next"}]}"#,
    );
    assert_eq!(assembled.json, expected);
    let repaired = [
        "usr-7: a result without its call 'x' is told",
        "usr-7: a result without its call 'b' is told",
        "usr-7: call 'a' had no result",
        "the conversation does not begin with the user",
    ];
    assert_eq!(assembled.repaired, repaired);
    let anthropic = items(ProviderFormat::Anthropic, &talk);
    let expected = concat!(
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},"#,
        r#"{"type":"tool_use","id":"b","name":"g","input":{"arguments":"[1]"}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"#,
        r#""content":"interrupted: no result was recorded"},{"type":"tool_result","tool_use_id":"b"}]}"#,
    );
    assert_eq!(anthropic[1..3].concat(), expected);
    let gemini = items(ProviderFormat::Gemini, &talk);
    assert!(gemini[2].contains(r#""response":{"error":"interrupted: no result was recorded"}"#));
    assert_eq!(gemini[3], r#"{"role":"model","parts":[{"text":"(no reply)"}]}"#);
}

#[test]
fn ids_used_again_follow_their_page() {
    let exchange = |page: &str| {
        parsed(
            page,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[
             {"type":"tool_use","id":"x.1","name":"f","input":{"id":"x.1"}},
             {"type":"tool_use","id":"x.1","name":"g","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"x.1","content":"one"},
             {"type":"tool_result","tool_use_id":"x.1","content":"two"}]}]"#,
        )
    };
    let talk = [exchange("usr-1"), exchange("usr-2"), exchange("usr-2")];
    for format in ProviderFormat::ALL {
        let base = if format == ProviderFormat::Anthropic { "x_1" } else { "x.1" };
        let assembled = assembled(format, None, &[], &talk);
        let ids = [
            base.to_owned(),
            format!("{base}-usr-1"),
            format!("{base}-usr-2"),
            format!("{base}-usr-2-2"),
            format!("{base}-usr-2-3"),
            format!("{base}-usr-2-4"),
        ];
        for id in &ids {
            // In Gemini's arguments the model's own `x.1` stands three times more, as it was.
            let own = if format == ProviderFormat::Gemini && id == base { 3 } else { 0 };
            let found = assembled.json.matches(&format!("\"{id}\"")).count();
            assert_eq!(found, 2 + own, "{format} {id}: {}", assembled.json);
        }
        assert_eq!(assembled.repaired.len(), 5);
        assert!(assembled.json.find("\"one\"") < assembled.json.find("\"two\""));
    }
    let items = items(ProviderFormat::Anthropic, &talk);
    let expected = concat!(
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"x_1-usr-2","content":"one"},"#,
        r#"{"type":"tool_result","tool_use_id":"x_1-usr-2-2","content":"two"}]}"#
    );
    assert_eq!(items[5], expected);
}

#[test]
fn images_are_shown_where_they_can_be() {
    let data = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}"#;
    let url = r#"{"type":"image","source":{"type":"url","url":"https://x/y"},"cache_control":{"type":"ephemeral"}}"#;
    let file = r#"{"type":"input_image","file_id":"file-1"}"#;
    let user = parsed(
        "usr-1",
        &format!(
            r#"[{{"role":"user","content":[{{"type":"text","text":"see"}},{data},{url},{file}]}}]"#
        ),
    );
    let item = |format| items(format, std::slice::from_ref(&user)).concat();
    assert_eq!(
        item(ProviderFormat::OpenAi),
        format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"see"}},{data},{{"type":"image_url","image_url":{{"url":"https://x/y"}}}},{{"type":"text","text":"(image)"}}]}}"#
        )
    );
    assert_eq!(
        item(ProviderFormat::Responses),
        format!(
            r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"see"}},{{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AA=="}},{{"type":"input_image","detail":"auto","image_url":"https://x/y"}},{file}]}}"#
        )
    );
    assert_eq!(
        item(ProviderFormat::Anthropic),
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"image","source":{"type":"url","url":"https://x/y"}},{"type":"text","text":"(image)"}]}"#
    );
    assert_eq!(
        item(ProviderFormat::Gemini),
        r#"{"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"text":"(image)"},{"text":"(image)"}]}"#
    );
    let mut answer = Message::text(Role::Assistant, "ok");
    answer.parts.push(Part::Image(Image { source: RawJson::new(data).unwrap() }));
    let said = items(ProviderFormat::Anthropic, &[messages("usr-1", vec![answer])]);
    assert!(
        said[1].ends_with(r#"[{"type":"text","text":"ok"},{"type":"text","text":"(image)"}]}"#)
    );
}

#[test]
fn unknown_parts_go_where_they_are_known() {
    let document = r#"{"type":"document", "source":{"type":"text","data":"cache_control"}}"#;
    let marked = r#"{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a","cache_control":{}}]}}"#;
    let search = r#"{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}"#;
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}"#;
    let half = r#"{"type":"server_tool_use","id":"s2","name":"web_search","input":{}}"#;
    let talk = [parsed(
        "usr-1",
        &format!(
            r#"[{{"role":"user","content":[{document},{marked}]}},{{"role":"assistant","content":[
                {search},{found},{half},{{"type":"text","text":"so"}}]}}]"#
        ),
    )];
    let anthropic = items(ProviderFormat::Anthropic, &talk);
    let expected = format!(
        r#"{{"role":"user","content":[{document},{{"type":"text","text":"(document)"}}]}}"#
    );
    assert_eq!(anthropic[0], expected);
    let expected = format!(
        r#"{{"role":"assistant","content":[{search},{found},{{"type":"text","text":"so"}}]}}"#
    );
    assert_eq!(anthropic[1], expected);
    let openai = items(ProviderFormat::OpenAi, &talk);
    assert_eq!(openai[0], r#"{"role":"user","content":"(document)\n(document)"}"#);
    assert_eq!(openai[1], r#"{"role":"assistant","content":"so"}"#);
}

#[test]
fn the_system_side_speaks_within_the_conversation() {
    let talk =
        [parsed("usr-1", r#"[{"role":"system","content":"now"},{"role":"user","content":"u"}]"#)];
    let first = |format| items(format, &talk)[0].clone();
    assert_eq!(first(ProviderFormat::OpenAi), r#"{"role":"system","content":"now"}"#);
    assert!(first(ProviderFormat::Responses).starts_with(r#"{"type":"message","role":"system""#));
    assert!(first(ProviderFormat::Anthropic).starts_with(r#"{"role":"user","content":"#));
    let gemini = items(ProviderFormat::Gemini, &talk);
    assert_eq!(gemini[1], r#"{"role":"model","parts":[{"text":"(no reply)"}]}"#);
}

#[test]
fn what_openai_gave_goes_back_as_it_may() {
    let talk = [parsed(
        "usr-1",
        r#"[{"role":"user","name":"bo","content":"a"},{"role":"user","name":"not ok","content":"b"},
            {"role":"assistant","content":null,"refusal":"No.","reasoning_content":"hm"},
            {"role":"assistant","content":null,"reasoning_content":"hm"},
            {"role":"assistant","model":"gemini-3","content":"x","phase":"commentary","tool_calls":[
             {"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]},
            {"role":"tool","tool_call_id":"a","content":"r"}]"#,
    )];
    let items = items_for(ProviderFormat::OpenAi, Some("gemini-3"), &talk);
    assert_eq!(items[0], r#"{"role":"user","content":"a","name":"bo"}"#);
    assert_eq!(items[1], r#"{"role":"user","content":"b"}"#);
    assert_eq!(items[2], r#"{"role":"assistant","content":"No."}"#);
    assert!(items[3].ends_with(r#","extra_content":{"google":{"thought_signature":"s"}}}]}"#));
    let other = items_for(ProviderFormat::OpenAi, None, &talk);
    assert!(!other.concat().contains("extra_content"));
    let responses = items_for(ProviderFormat::Responses, None, &talk);
    assert!(responses[3].ends_with(r#"],"phase":"commentary"}"#), "{responses:?}");
    let left_out = assembled(ProviderFormat::OpenAi, None, &[], &talk).repaired;
    assert_eq!(left_out, ["usr-1: a message that says nothing here was left out"]);
}

#[test]
fn blank_texts_stand_only_where_they_may() {
    let talk = [parsed(
        "usr-1",
        r#"[{"role":"user","content":" "},{"role":"assistant","content":[
             {"type":"text","text":"\n"},{"type":"tool_use","id":"a","name":"f","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":" "}]}]"#,
    )];
    let anthropic = items(ProviderFormat::Anthropic, &talk);
    let expected = [
        r#"{"role":"user","content":[{"type":"text","text":"(conversation begins)"}]}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"(error without a text)"}]}"#,
    ];
    assert_eq!(anthropic, expected);
    assert_eq!(items(ProviderFormat::OpenAi, &talk)[0], r#"{"role":"user","content":" "}"#);
}
