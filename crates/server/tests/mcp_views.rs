//! What lies outside the caller's view is in no answer over MCP, and no token does more than it is for.

use contexture_core::{NewSegment, SegmentKind};
use contexture_server::{Access, Lifetime, TokenText, Tokens};
use serde_json::{Value, json};

use crate::{
    client::{Running, SESSION, run},
    mcp_client::{Pipe, post},
};

const MCP: &str = "/mcp?session=demo";

/// A server with a segment of another agent, which holds a canary.
async fn guarded() -> Running {
    let server = Running::start().await;
    let system = server.engine.open(&SESSION.parse().unwrap()).await.unwrap();
    let secret = NewSegment::new("agent-other".parse().unwrap(), SegmentKind::Custom);
    let session = system.as_system();
    session.add_segment(secret).await.unwrap();
    session.create_detail_page("CANARY", "CANARY", "CANARY", "agent-other-0").await.unwrap();
    session.create_detail_page("Plan", "", "seen by all", "usr-0").await.unwrap();
    server
}

/// Every request that could show a page.
fn asked() -> Vec<(&'static str, Value)> {
    let call = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let page = "agent-other-1";
    vec![
        call("window", json!({})),
        call("window", json!({"list": true})),
        call("read", json!({"page": page})),
        call("read", json!({"page": "agent-other-0"})),
        call("find", json!({"query": "CANARY"})),
        call("find", json!({"query": "CANARY", "recall": true})),
        call("expand", json!({"page": page})),
        call("hide", json!({"page": page})),
        call("pin", json!({"page": page})),
        call("write", json!({"action": "update", "page": page, "name": "Mine"})),
        call("write", json!({"action": "append", "page": page, "text": "Mine"})),
        call("write", json!({"action": "create", "name": "Mine", "parent": "agent-other-0"})),
        call("write", json!({"action": "create", "name": "Mine", "pages": [page]})),
        call("organise", json!({"action": "move", "page": page, "to": "usr-0"})),
        call("organise", json!({"action": "move", "page": "usr-1", "to": "agent-other-0"})),
        call("organise", json!({"action": "remove", "page": page})),
        call("organise", json!({"action": "restore", "page": page})),
        call("undo", json!({"revision": 2})),
        call("undo", json!({})),
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "contexture://demo/agent-other-1"})),
        ("resources/templates/list", json!({})),
        ("prompts/get", json!({"name": "continue"})),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/resource", "uri": "contexture://{session}/{page}"},
                "argument": {"name": "page", "value": "agent"}
            }),
        ),
    ]
}

#[test]
fn a_canary_outside_the_view_is_in_no_answer() {
    run(async {
        let server = guarded().await;
        let token = server.token("fixer").await;
        let mut pipe = Pipe::agent(&server.host, "fixer").await;
        for (method, params) in asked() {
            let over_pipe = pipe.ask(method, params.clone()).await;
            let over_http = post(&server, &token, MCP, method, params.clone()).await;
            assert_eq!(over_http.status, 200, "{method} {params}: {}", over_http.body);
            for answer in [over_pipe.to_string(), over_http.body] {
                assert!(!answer.contains("CANARY"), "{method} {params}: {answer}");
                // Nor is anything said that would not be said of a page that never was.
                assert!(!answer.contains("agent-other-2"), "{method} {params}: {answer}");
            }
        }
        // The owner sees it, so the questions are the right ones.
        let mut owner = Pipe::owner(&server.host).await;
        let found = owner.right("find", json!({"query": "CANARY"})).await;
        assert!(found.contains("CANARY"), "{found}");
        owner.end().await;
        pipe.end().await;
        server.end().await;
    });
}

// Every edit in view is heard of as one update and one change of the list, whatever happens between them elsewhere.
#[test]
fn a_subscriber_hears_nothing_of_what_is_out_of_view() {
    run(async {
        let server = guarded().await;
        let access = Access::confined(SESSION.parse().unwrap(), "fixer".parse().unwrap());
        let mut pipe = Pipe::new(&server.host, access);
        pipe.listen(&["contexture://demo/usr-1", "contexture://demo/agent-other-1"]).await;
        let edits = async {
            for number in 0.. {
                let body = json!({"name": format!("CANARY {number}")}).to_string();
                for page in ["agent-other-1", "usr-1"] {
                    let path = format!("/v1/sessions/{SESSION}/pages/{page}");
                    server.send(&server.owner, "PATCH", &path, &[], Some(&body)).await.json(200);
                }
                tokio::task::yield_now().await;
            }
        };
        let hears = async {
            for _ in 0..5 {
                let updated = pipe.receive().await;
                assert_eq!(updated["method"], "notifications/resources/updated", "{updated}");
                assert_eq!(updated["params"]["uri"], "contexture://demo/usr-1");
                let listed = pipe.receive().await;
                assert_eq!(listed["method"], "notifications/resources/list_changed", "{listed}");
            }
        };
        tokio::select! {
            () = hears => {}
            () = edits => {}
        }
        server.end().await;
    });
}

#[test]
fn a_page_outside_the_view_is_refused_as_one_that_never_was() {
    run(async {
        let server = guarded().await;
        let mut pipe = Pipe::agent(&server.host, "fixer").await;
        for tool in ["read", "expand", "hide", "pin"] {
            let there = pipe.wrong(tool, json!({"page": "agent-other-1"})).await;
            let missing = pipe.wrong(tool, json!({"page": "agent-third-1"})).await;
            assert_eq!(there.replace("other", "third"), missing, "{tool}");
        }
        let read = |page: &str| json!({"uri": format!("contexture://demo/{page}")});
        let there = pipe.ask("resources/read", read("agent-other-1")).await["error"].clone();
        let missing = pipe.ask("resources/read", read("agent-third-1")).await["error"].clone();
        assert_eq!(there.to_string().replace("other", "third"), missing.to_string());
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn a_confined_connection_acts_as_nobody_else() {
    run(async {
        let server = guarded().await;
        server.send(&server.owner, "PUT", "/v1/sessions/second", &[], Some("{}")).await;
        let token = server.token("fixer").await;
        let mut pipe = Pipe::agent(&server.host, "fixer").await;
        let window = |more: Value| json!({"name": "window", "arguments": more});
        for wrong in
            [json!({"agent": "other"}), json!({"session": "second"}), json!({"session": "no"})]
        {
            let over_pipe = pipe.wrong("window", wrong.clone()).await;
            assert!(over_pipe.starts_with("permission denied: "), "{over_pipe}");
            let over_http = post(&server, &token, MCP, "tools/call", window(wrong.clone())).await;
            let body = over_http.json(200);
            assert_eq!(body["result"]["isError"], true, "{wrong}: {body}");
        }
        let own = json!({"agent": "fixer", "session": "demo"});
        pipe.right("window", own).await;
        let denied =
            post(&server, &token, "/mcp?session=demo&agent=other", "tools/list", json!({}));
        assert_eq!(denied.await.refused(403), "permission-denied");
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn tokens_open_mcp_as_they_open_http() {
    run(async {
        let server = guarded().await;
        server
            .engine
            .create(&"other".parse().unwrap(), "app", &contexture_core::Edit::Init(vec![]))
            .await
            .unwrap();
        let foreign = server.token_for("other", "fixer", Lifetime::UntilRevoked).await;
        let expired = server.token_for(SESSION, "fixer", Lifetime::Seconds(1)).await;
        server.clock.advance_millis(1_000);
        let revoked = server.token("fixer").await;
        let id = revoked.parse::<TokenText>().unwrap().id().clone();
        let system = server.engine.open(&SESSION.parse().unwrap()).await.unwrap();
        Tokens::of(system).revoke(&id).await.unwrap();
        let wrong = format!("ctx_owner_{}", "0".repeat(48));
        for token in ["", "wrong", &wrong, &foreign, &expired, &revoked] {
            for address in [MCP, "/mcp?session=missing", "/mcp?session=demo&x=1"] {
                let answer = post(&server, token, address, "tools/list", json!({})).await;
                assert_eq!(answer.refused(401), "unauthenticated", "'{token}' {address}");
            }
        }
        for holder in ["fixer", "user:alice"] {
            let token = server.token(holder).await;
            let answer = post(&server, &token, MCP, "tools/list", json!({})).await;
            assert_eq!(answer.status, 200, "{holder}");
            let unknown = post(&server, &token, "/mcp?session=demo&x=1", "tools/list", json!({}));
            assert_eq!(unknown.await.refused(400), "invalid", "{holder}");
        }
        server.end().await;
    });
}
