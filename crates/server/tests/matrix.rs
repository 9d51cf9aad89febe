//! Who may do what: every route of the document, with every kind of token.

use std::collections::BTreeSet;

use contexture_server::{Lifetime, TokenText, Tokens};
use serde_json::Value;

use crate::client::{Running, SESSION, run};

/// What a route answers to the holders of valid tokens: to an agent, to a user, to the owner.
struct Row {
    method: &'static str,
    path: &'static str,
    /// What follows the path, or the body.
    sent: &'static str,
    agent: u16,
    user: u16,
    owner: u16,
}

const fn row(
    method: &'static str,
    path: &'static str,
    sent: &'static str,
    [agent, user, owner]: [u16; 3],
) -> Row {
    Row { method, path, sent, agent, user, owner }
}

/// Every route under `/v1/sessions/{session}`, in an order in which all of them work for the owner.
const ROWS: &[Row] = &[
    row("GET", "", "", [403, 200, 200]),
    row("PUT", "", "{}", [403, 403, 200]),
    row("GET", "/custom", "", [403, 200, 200]),
    row("PUT", "/custom/{key}", r#"{"value":1}"#, [403, 200, 200]),
    row("DELETE", "/custom/{key}", "", [403, 200, 200]),
    row("GET", "/export", "", [403, 200, 200]),
    row("POST", "/load", "{}", [403, 403, 400]),
    row("POST", "/import", r#"[{"role":"user","content":"Hi"}]"#, [403, 200, 200]),
    row("GET", "/tokens", "", [403, 403, 200]),
    row("POST", "/tokens", r#"{"holder":"helper"}"#, [403, 403, 201]),
    row("DELETE", "/tokens/{token}", "", [403, 403, 404]),
    row("GET", "/segments", "", [200, 200, 200]),
    row(
        "POST",
        "/segments",
        r#"{"id":"new","kind":"custom","permission":"read-write"}"#,
        [403, 201, 409],
    ),
    row("GET", "/segments/{segment}", "", [200, 200, 200]),
    row("PATCH", "/segments/{segment}", r#"{"capacity":9000}"#, [403, 200, 200]),
    row("DELETE", "/segments/{segment}", "?cascade=true", [403, 0, 0]),
    row("GET", "/pages", "", [200, 200, 200]),
    row("POST", "/pages", r#"{"parent":"usr-0","name":"Note"}"#, [201, 201, 201]),
    row("GET", "/pages/{index}", "", [200, 200, 200]),
    row("PATCH", "/pages/{index}", r#"{"name":"Renamed"}"#, [200, 200, 200]),
    row("GET", "/pages/{index}/children", "", [400, 400, 400]),
    row("GET", "/pages/{index}/ancestors", "", [200, 200, 200]),
    row("GET", "/pages/{index}/parent", "", [200, 200, 200]),
    row("GET", "/tree", "", [200, 200, 200]),
    row("POST", "/pages/{index}/hide", "", [200, 200, 200]),
    row("POST", "/pages/{index}/expand", "", [200, 200, 200]),
    row("POST", "/pages/{index}/pin", "", [200, 200, 200]),
    row("POST", "/pages/{index}/unpin", "", [200, 200, 200]),
    row("POST", "/pages/{index}/focus", "", [200, 200, 200]),
    row("POST", "/pages/{index}/move", r#"{"to":"usr-0"}"#, [200, 200, 200]),
    row("POST", "/append", r#"{"messages":[{"role":"user","content":"Hi"}]}"#, [200, 200, 200]),
    row("POST", "/turns", r#"{"messages":[{"role":"user","content":"Hi"}]}"#, [200, 200, 200]),
    row(
        "POST",
        "/turns/extend",
        r#"{"messages":[{"role":"assistant","content":"Hi"}]}"#,
        [200, 200, 200],
    ),
    row(
        "POST",
        "/turns/open",
        r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#,
        [200, 200, 200],
    ),
    row(
        "POST",
        "/turns/results",
        r#"{"messages":[{"role":"tool","tool_call_id":"a","content":"Hi"}]}"#,
        [200, 200, 200],
    ),
    row("POST", "/turns/close", "{}", [404, 404, 404]),
    row("GET", "/window", "", [200, 200, 200]),
    row("POST", "/window", r#"{"format":"openai"}"#, [200, 200, 200]),
    row("GET", "/windows/{number}", "?format=openai", [200, 200, 200]),
    row(
        "POST",
        "/report",
        r#"{"format":"openai","number":1,"usage":{"input":1}}"#,
        [200, 200, 200],
    ),
    row("POST", "/fold", r#"{"preview":true}"#, [200, 200, 200]),
    row("GET", "/level", "", [200, 200, 200]),
    row("PUT", "/level", r#"{"level":"full"}"#, [200, 200, 200]),
    row("GET", "/find", "?q=Hi", [200, 200, 200]),
    row("POST", "/recall", r#"{"query":"Hi","preview":true}"#, [200, 200, 200]),
    row("POST", "/press", r#"{"key":"hide-usr-1"}"#, [200, 200, 200]),
    row("GET", "/tools", "?format=gemini", [200, 200, 200]),
    row(
        "POST",
        "/tools/call",
        r#"{"format":"gemini","calls":[{"functionCall":{"name":"find","args":{"query":"Hi"}}}]}"#,
        [200, 200, 200],
    ),
    row("GET", "/history", "", [200, 200, 200]),
    row("POST", "/undo", "{}", [200, 200, 200]),
    row("GET", "/events", "", [0, 0, 0]),
    row("GET", "/agents", "", [403, 200, 200]),
    row("GET", "/agents/{agent}", "", [403, 404, 404]),
    row("GET", "/agents/{agent}/context", "", [403, 404, 404]),
    row("PUT", "/agents/{agent}/context", r#"{"mode":null}"#, [403, 404, 404]),
    row("POST", "/agents/{agent}/runs", r#"{"prompt":"Hi"}"#, [403, 404, 404]),
    row("POST", "/agents/{agent}/resume", "{}", [403, 404, 404]),
    row("POST", "/agents/{agent}/stop", "", [403, 404, 404]),
    row("GET", "/approvals", "", [403, 200, 200]),
    row("POST", "/approvals", r#"{"run":"fixer/1","approve":true}"#, [403, 404, 404]),
    row("POST", "/pages/{index}/archive", "", [200, 200, 200]),
    row("DELETE", "/pages/{index}", "", [200, 404, 404]),
    row("POST", "/pages/{index}/restore", "{}", [200, 200, 200]),
    row("POST", "/pages/{index}/purge", "{}", [403, 200, 404]),
    row("DELETE", "", "", [403, 403, 200]),
];

/// Routes without a session: whether anybody may ask, or only the owner.
const OTHERS: [(&str, &str, bool); 6] = [
    ("GET", "/healthz", true),
    ("GET", "/readyz", true),
    ("GET", "/openapi.json", true),
    ("GET", "/metrics", false),
    ("GET", "/v1/sessions", false),
    ("POST", "/v1/sessions", false),
];

fn filled(path: &str) -> String {
    path.replace("{key}", "limits")
        .replace("{token}", "missing")
        .replace("{segment}", "usr")
        .replace("{index}", "usr-1")
        .replace("{number}", "last")
        .replace("{agent}", "nobody")
}

async fn ask(server: &Running, token: &str, row: &Row, session: &str) -> u16 {
    let Row { method, path, sent, .. } = row;
    let path = format!("/v1/sessions/{session}{}", filled(path));
    match sent.starts_with('?') {
        true => server.send(token, method, &format!("{path}{sent}"), &[], None).await.status,
        false => {
            let body = Some(*sent).filter(|sent| !sent.is_empty());
            server.send(token, method, &path, &[], body).await.status
        }
    }
}

#[test]
fn every_route_is_in_the_matrix() {
    let document: Value = serde_json::from_str(&contexture_server::openapi()).unwrap();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    let rows = ROWS
        .iter()
        .map(|row| (row.method.to_owned(), format!("/v1/sessions/{{session}}{}", row.path)));
    let others = OTHERS.iter().map(|(method, path, _)| (method.to_string(), path.to_string()));
    assert_eq!(rows.chain(others).collect::<BTreeSet<_>>(), described);
}

#[test]
fn every_route_refuses_whoever_may_not() {
    run(async {
        let server = Running::start().await;
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
        let tokens = ["", "wrong", &wrong, &foreign, &expired, &revoked];
        for row in ROWS {
            for token in tokens {
                let status = ask(&server, token, row, SESSION).await;
                assert_eq!(status, 401, "{} {} with '{token}'", row.method, row.path);
            }
        }
        for (method, path, is_open) in OTHERS {
            let body = (method == "POST").then_some("{}");
            for token in tokens {
                let status = server.send(token, method, path, &[], body).await.status;
                assert_eq!(status, if is_open { 200 } else { 401 }, "{method} {path} '{token}'");
            }
        }
        // Nothing was changed by any of this.
        assert_eq!(
            server
                .engine
                .open(&SESSION.parse().unwrap())
                .await
                .unwrap()
                .info()
                .await
                .unwrap()
                .revision
                .0,
            1
        );
        server.end().await;
    });
}

#[test]
fn every_route_answers_whoever_may() {
    run(async {
        let server = Running::start().await;
        let (agent, user) = (server.token("fixer").await, server.token("user:alice").await);
        let owner = server.owner.clone();
        for row in ROWS {
            let expected = [(&agent, row.agent), (&user, row.user), (&owner, row.owner)];
            for (token, expected) in expected.into_iter().filter(|(_, expected)| *expected > 0) {
                let status = ask(&server, token, row, SESSION).await;
                let who = if *token == owner {
                    "owner"
                } else if *token == user {
                    "user"
                } else {
                    "agent"
                };
                assert_eq!(status, expected, "{} {} as {who}", row.method, row.path);
            }
        }
        server.end().await;
    });
}
