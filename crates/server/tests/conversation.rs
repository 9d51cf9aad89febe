use serde_json::{Value, json};

use crate::client::{Running, run};

const SESSION: &str = "/v1/sessions/demo";

fn call() -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
        "function": {"name": "read_file", "arguments": "{}"}}]})
}

// The loop of a host: what was said, the next request, what it took.
#[test]
fn a_host_runs_its_loop() {
    run(async {
        let server = Running::start().await;
        let token = server.token("fixer").await;
        let append = async |messages: Value| {
            let path = format!("{SESSION}/append");
            server.post(&token, &path, &json!({ "messages": messages })).await
        };
        let asked = json!({"role": "user", "content": "What is in a.txt?"});
        assert_eq!(append(json!([asked, call()])).await.json(200)["pages"], json!(["usr-1"]));
        // An open call is shown with a line of the engine, until its result is there.
        let wanted = json!({"format": "openai", "budget": 8000, "model": "gpt-4o",
            "tools": [{"type": "function", "function": {"name": "read_file"}}]});
        let open = server.post(&token, &format!("{SESSION}/window"), &wanted).await.json(200);
        assert_eq!(open["number"], 1);
        let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "It is empty."});
        append(json!([result])).await.json(200);
        let next = server.post(&token, &format!("{SESSION}/window"), &wanted).await.json(200);
        assert_eq!(next["number"], 2);
        assert!(next["window"].to_string().contains("It is empty."));
        let without = json!({"format": "openai", "budget": 8000, "model": "gpt-4o"});
        let without = server.post(&token, &format!("{SESSION}/window"), &without).await.json(200);
        assert!(without["tokens"].as_u64() < next["tokens"].as_u64(), "tools are counted");

        let usage = json!({"format": "openai", "number": 2, "usage": {"input": 900, "cached": 10}});
        let reported = server.post(&token, &format!("{SESSION}/report"), &usage).await.json(200);
        assert_eq!(reported["reported"], 2);
        let missing = json!({"format": "openai", "number": 9, "usage": {"input": 1}});
        let missing = server.post(&token, &format!("{SESSION}/report"), &missing).await;
        assert_eq!(missing.refused(404), "not-found");
        server.end().await;
    });
}

// What is sent twice under a key is there once; something else under the key is a conflict.
#[test]
fn a_key_makes_an_append_safe_to_repeat() {
    run(async {
        let server = Running::start().await;
        let (one, other) = (server.token("fixer").await, server.token("writer").await);
        let append = async |token: &str, key: &str, messages: &Value| {
            let body = json!({ "messages": messages }).to_string();
            let headers = [("idempotency-key", key)];
            server.send(token, "POST", &format!("{SESSION}/append"), &headers, Some(&body)).await
        };
        let answer = json!([{"role": "assistant", "content": "Hello, I begin."}]);
        let turn = json!([{"role": "user", "content": "Hello"}, call()]);
        let result = json!([{"role": "tool", "tool_call_id": "call_1", "content": "fine"},
            {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks"}]);
        for (key, messages) in [("k0", &answer), ("k1", &turn), ("k2", &result)] {
            let first = append(&one, key, messages).await.json(200);
            assert_eq!(append(&one, key, messages).await.json(200), first, "{key}");
        }
        assert_eq!(append(&one, "k1", &answer).await.refused(409), "conflict");
        assert_eq!(append(&one, "k0", &turn).await.refused(409), "conflict");
        // Another caller's keys are its own.
        append(&other, "k1", &answer).await.json(200);
        assert_eq!(append(&one, "", &answer).await.refused(400), "invalid");
        let all = server.get(&server.owner, &format!("{SESSION}/pages?full=true")).await.json(200);
        let said = all.to_string();
        for once in ["Thanks", "Done."] {
            assert_eq!(said.matches(&format!("\"text\":\"{once}\"")).count().max(1), 1, "{said}");
        }
        server.end().await;
    });
}
