//! The rules: bodies that break one each, and what is said of them.

use serde_json::json;

use super::{ProviderFormat::*, *};

fn broken(format: ProviderFormat, body: serde_json::Value) -> (usize, &'static str) {
    match validate_body(format, &body) {
        Ok(()) => panic!("{format}: no rule is broken by {body}"),
        Err(violation) => (violation.at, violation.rule),
    }
}

#[test]
fn a_violation_says_what_and_where() {
    let body = json!({"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"x","content":"b"}]});
    assert_eq!(
        validate_body(OpenAi, &body).unwrap_err().to_string(),
        "item 1: a result of call 'x', which is not open (result-without-call)"
    );
}

#[test]
fn the_rules_of_openai() {
    let call = |ids: &[&str]| {
        let call =
            |id: &&str| json!({"id":id,"type":"function","function":{"name":"f","arguments":"{}"}});
        json!({"role":"assistant","content":null,"tool_calls":ids.iter().map(call).collect::<Vec<_>>()})
    };
    let tool = |id: &str| json!({"role":"tool","tool_call_id":id,"content":""});
    let user = json!({"role":"user","content":"u"});
    let long = "x".repeat(41);
    for (messages, at, rule) in [
        (vec![json!({"role":"robot","content":"a"})], 0, "role"),
        (vec![json!({"role":"user","content":""})], 0, "empty-message"),
        (vec![json!({"role":"user","content":[]})], 0, "content"),
        (vec![json!({"role":"user"})], 0, "content"),
        (vec![json!({"role":"user","content":[{"type":"text","text":""}]})], 0, "empty-block"),
        (vec![json!({"role":"assistant","content":null})], 0, "empty-message"),
        (vec![json!({"role":"assistant","content":"a","tool_calls":[]})], 0, "tool-calls"),
        (vec![user.clone(), call(&["a"])], 1, "call-unanswered"),
        (vec![user.clone(), call(&["a", "b"]), tool("a"), user.clone()], 3, "call-unanswered"),
        (
            vec![call(&["a"]), json!({"role":"system","content":"s"}), tool("a")],
            1,
            "call-unanswered",
        ),
        (vec![call(&["a"]), tool("a"), tool("a")], 2, "result-without-call"),
        (vec![call(&["a", "a"]), tool("a"), tool("a")], 0, "call-id-repeated"),
        (vec![call(&[&long]), tool(&long)], 0, "call-id"),
        (vec![json!({"role":"tool","content":"x"})], 0, "field"),
    ] {
        let body = json!({ "messages": messages });
        assert_eq!(broken(OpenAi, body.clone()), (at, rule), "{body}");
    }
    assert_eq!(broken(OpenAi, json!([])), (0, "body"));
    let sound = json!({"messages":[user, call(&["a", "b"]), tool("b"), tool("a"), call(&["a"]), tool("a")]});
    validate_body(OpenAi, &sound).unwrap();
}

#[test]
fn the_rules_of_responses() {
    let call = |id: &str| json!({"type":"function_call","call_id":id,"name":"f","arguments":"{}"});
    let output = |id: &str| json!({"type":"function_call_output","call_id":id,"output":"o"});
    let said = |role: &str, kind: &str, text: &str| json!({"type":"message","role":role,"content":[{"type":kind,"text":text}]});
    let user = said("user", "input_text", "u");
    let reasoning = json!({"type":"reasoning","id":"rs","summary":[]});
    for (input, at, rule) in [
        (vec![user.clone(), call("a")], 1, "call-unanswered"),
        (vec![output("a")], 0, "result-without-call"),
        (vec![output("a"), call("a")], 0, "result-without-call"),
        (vec![call("a"), output("a"), output("a")], 2, "result-without-call"),
        (vec![call("a"), output("a"), call("a"), output("a")], 2, "call-id-repeated"),
        (vec![reasoning.clone()], 0, "lone-reasoning"),
        (vec![user.clone(), reasoning.clone(), user.clone()], 1, "lone-reasoning"),
        (vec![user.clone(), said("assistant", "output_text", "")], 1, "empty-block"),
        (vec![said("assistant", "input_text", "a")], 0, "text-type"),
        (vec![json!({"type":"message","role":"user","content":[]})], 0, "empty-message"),
        (vec![json!({"type":"function_call","call_id":"a","name":"f"})], 0, "field"),
    ] {
        let body = json!({ "input": input });
        assert_eq!(broken(Responses, body.clone()), (at, rule), "{body}");
    }
    assert_eq!(broken(Responses, json!({"instructions":" ","input":[]})), (0, "system"));
    let sound = json!({"input":[user, reasoning, reasoning, call("a"), call("b"), output("b"), output("a")]});
    validate_body(Responses, &sound).unwrap();
}

#[test]
fn the_rules_of_anthropic() {
    let call = |id: &str| json!({"type":"tool_use","id":id,"name":"f","input":{}});
    let result = |id: &str| json!({"type":"tool_result","tool_use_id":id});
    let text = |text: &str| json!({"type":"text","text":text});
    let user = |content: Vec<serde_json::Value>| json!({"role":"user","content":content});
    let model = |content: Vec<serde_json::Value>| json!({"role":"assistant","content":content});
    let thinking = json!({"type":"thinking","thinking":"t","signature":"s"});
    let begin = json!({"role":"user","content":"u"});
    let failed = json!({"type":"tool_result","tool_use_id":"a","is_error":true});
    for (messages, at, rule) in [
        (vec![model(vec![text("a")])], 0, "begins-with-user"),
        (vec![json!({"role":"system","content":"s"})], 0, "role"),
        (vec![json!({"role":"user","content":" "})], 0, "empty-block"),
        (vec![user(vec![])], 0, "empty-message"),
        (vec![user(vec![text("\n")])], 0, "empty-block"),
        (vec![begin.clone(), model(vec![call("a")])], 1, "call-unanswered"),
        (
            vec![begin.clone(), model(vec![call("a")]), begin.clone(), user(vec![result("a")])],
            2,
            "call-unanswered",
        ),
        (vec![begin.clone(), user(vec![result("a")])], 1, "result-without-call"),
        (
            vec![begin.clone(), model(vec![call("a")]), user(vec![text("x"), result("a")])],
            2,
            "result-first",
        ),
        (vec![begin.clone(), model(vec![call("a.b")]), user(vec![result("a.b")])], 1, "call-id"),
        (
            vec![
                begin.clone(),
                model(vec![call("a")]),
                user(vec![result("a")]),
                model(vec![call("a")]),
                user(vec![result("a")]),
            ],
            3,
            "call-id-repeated",
        ),
        (
            vec![
                begin.clone(),
                model(vec![json!({"type":"tool_use","id":"a","name":"f","input":"{}"})]),
            ],
            1,
            "input-object",
        ),
        (vec![begin.clone(), model(vec![text("a"), thinking.clone()])], 1, "ends-with-thinking"),
        (vec![begin.clone(), model(vec![result("a")])], 1, "block-role"),
        (vec![begin.clone(), model(vec![call("a")]), user(vec![failed])], 2, "empty-block"),
    ] {
        let body = json!({ "messages": messages });
        assert_eq!(broken(Anthropic, body.clone()), (at, rule), "{body}");
    }
    let marked = json!({"type":"text","text":"a","cache_control":{"type":"ephemeral"}});
    let body = |marks| json!({"system":[marked],"messages":[user(vec![marked.clone(); marks])]});
    validate_body(Anthropic, &body(3)).unwrap();
    assert_eq!(broken(Anthropic, body(4)), (0, "cache-marks"));
    assert_eq!(broken(Anthropic, json!({"system":[],"messages":[]})), (0, "system"));
    let sound = json!({"messages":[begin, begin, model(vec![thinking, text("a"), call("a"), call("b")]),
        user(vec![result("b"), result("a"), text("x")]), model(vec![text("y")]), model(vec![text("z")])]});
    validate_body(Anthropic, &sound).unwrap();
}

#[test]
fn the_rules_of_gemini() {
    let call = |name: &str| json!({"functionCall":{"name":name,"args":{}}});
    let response = |name: &str| json!({"functionResponse":{"name":name,"response":{}}});
    let user = |parts: Vec<serde_json::Value>| json!({"role":"user","parts":parts});
    let model = |parts: Vec<serde_json::Value>| json!({"role":"model","parts":parts});
    let text = json!({"text":"t"});
    let begin = user(vec![text.clone()]);
    for (contents, at, rule) in [
        (vec![model(vec![text.clone()])], 0, "begins-with-user"),
        (vec![begin.clone(), begin.clone()], 1, "alternation"),
        (vec![user(vec![])], 0, "empty-message"),
        (vec![user(vec![json!({"text":""})])], 0, "empty-block"),
        (vec![user(vec![json!({})])], 0, "part"),
        (vec![user(vec![call("f")])], 0, "part"),
        (vec![json!({"role":"assistant","parts":[text]})], 0, "role"),
        (vec![begin.clone(), model(vec![call("f")])], 1, "call-answered-in-order"),
        (vec![begin.clone(), model(vec![call("f")]), begin.clone()], 2, "call-answered-in-order"),
        (vec![user(vec![response("f")])], 0, "call-answered-in-order"),
        (
            vec![
                begin.clone(),
                model(vec![call("f"), call("g")]),
                user(vec![response("g"), response("f")]),
            ],
            2,
            "call-answered-in-order",
        ),
        (
            vec![begin.clone(), model(vec![json!({"functionCall":{"name":"f","args":[]}})])],
            1,
            "input-object",
        ),
        (
            vec![
                begin.clone(),
                model(vec![call("f")]),
                user(vec![json!({"functionResponse":{"name":"f","response":"x"}})]),
            ],
            2,
            "response-object",
        ),
    ] {
        let body = json!({ "contents": contents });
        assert_eq!(broken(Gemini, body.clone()), (at, rule), "{body}");
    }
    let sound = json!({"contents":[begin, model(vec![text, call("f"), call("f")]),
        user(vec![response("f"), response("f")])]});
    validate_body(Gemini, &sound).unwrap();
}
