//! The tools that a host offers its own model: each provider's form, and the loop that docs/mcp.md shows.

use serde_json::{Value, json};

use crate::client::{Running, run};

const TOOLS: &str = "/v1/sessions/demo/tools";

#[test]
fn tools_are_described_and_called_in_the_form_of_each_provider() {
    run(async {
        let server = Running::start().await;
        let owner = &server.owner;
        let note = json!({"parent": "usr-0", "name": "Plan", "detail": "the pelican test"});
        server.post(owner, "/v1/sessions/demo/pages", &note).await.json(201);
        let (input, written) = (json!({"query": "pelican"}), "{\"query\":\"pelican\"}");
        let function = json!({"name": "find", "arguments": written});
        let gemini = json!({"functionCall": {"id": "c1", "name": "find", "args": input}});
        for (format, name, call, answer) in [
            (
                "openai",
                "/function/name",
                json!({"id": "c1", "type": "function", "function": function}),
                "/content",
            ),
            (
                "responses",
                "/name",
                json!({"type": "function_call", "call_id": "c1", "name": "find", "arguments": written}),
                "/output",
            ),
            (
                "anthropic",
                "/name",
                json!({"type": "tool_use", "id": "c1", "name": "find", "input": input}),
                "/content/0/content",
            ),
            ("gemini", "", gemini, "/parts/0/functionResponse/response/result"),
        ] {
            let tools = server.get(owner, &format!("{TOOLS}?format={format}")).await.json(200);
            let list = match format {
                "gemini" => &tools["tools"][0]["functionDeclarations"],
                _ => &tools["tools"],
            };
            let names: Vec<&str> = list
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| tool.pointer(if name.is_empty() { "/name" } else { name }).unwrap())
                .map(|name| name.as_str().unwrap())
                .collect();
            assert_eq!(names, ["expand", "find", "read", "pin", "hide"], "{format}");
            let body = json!({"format": format, "calls": [call]});
            let answered = server.post(owner, &format!("{TOOLS}/call"), &body).await.json(200);
            let text = answered["messages"][0].pointer(answer).and_then(Value::as_str);
            let text = text.unwrap_or_else(|| panic!("{format}: {answered}"));
            assert!(text.starts_with("usr-1 \"Plan\""), "{format}: {text}");
            assert!(answered.to_string().contains("c1"), "{format}: {answered}");
        }
        server.end().await;
    });
}

#[test]
fn failed_calls_are_answered_and_what_is_no_call_is_refused() {
    run(async {
        let server = Running::start().await;
        let path = format!("{TOOLS}/call");
        let call = |name: &str, input: Value| json!({"type": "tool_use", "id": "c1", "name": name, "input": input});
        let calls = json!([
            call("read", json!({"page": "usr-9"})),
            call("write", json!({})),
            call("find", json!([]))
        ]);
        let body = json!({"format": "anthropic", "calls": calls});
        let answered = server.post(&server.owner, &path, &body).await.json(200);
        let results = answered["messages"][0]["content"].as_array().unwrap();
        for (result, says) in results.iter().zip([
            "find finds pages",
            "the tools are: expand, find",
            "must be a JSON object",
        ]) {
            assert_eq!(result["is_error"], true, "{result}");
            assert!(result["content"].as_str().unwrap().contains(says), "{result}");
        }
        for wrong in [
            json!({"format": "anthropic", "calls": []}),
            json!({"format": "anthropic", "calls": [{}]}),
            json!({"format": "openai", "calls": [call("find", json!({}))]}),
            json!({"format": "other", "calls": [call("find", json!({}))]}),
            json!({"format": "anthropic", "calls": [call("find", json!({}))], "x": 1}),
        ] {
            assert_eq!(server.post(&server.owner, &path, &wrong).await.refused(400), "invalid");
        }
        server.end().await;
    });
}

// An expanded page is in the answer only: nothing that the provider has cached changes.
#[test]
fn opening_a_page_changes_no_earlier_byte_of_the_window() {
    run(async {
        let server = Running::start().await;
        let owner = &server.owner;
        let said: Vec<Value> = (0..40)
            .flat_map(|n| {
                let answer = format!("answer {n} ").repeat(60);
                [
                    json!({"role": "user", "content": format!("question {n}")}),
                    json!({"role": "assistant", "content": answer}),
                ]
            })
            .collect();
        let append = json!({"messages": said});
        server.post(owner, "/v1/sessions/demo/append", &append).await.json(200);
        let request = json!({"format": "openai", "budget": 2_000});
        let window = "/v1/sessions/demo/window";
        let sent = server.post(owner, window, &request).await.json(200);
        assert!(!sent["window"].to_string().contains("answer 3 answer 3"), "it is folded");
        let arguments = "{\"page\":\"usr-4\"}";
        let function = json!({"name": "expand", "arguments": arguments});
        let call = json!({"id": "c1", "type": "function", "function": function});
        let body = json!({"format": "openai", "calls": [call], "budget": 2_000});
        let answered = server.post(owner, &format!("{TOOLS}/call"), &body).await.json(200);
        let message = &answered["messages"][0];
        assert!(message["content"].as_str().unwrap().contains("answer 3 answer 3"), "{message}");
        let again = server.post(owner, window, &request).await.json(200);
        assert_eq!(again["window"], sent["window"]);
        server.end().await;
    });
}
