//! Who may do what: every route of the document, with every kind of token.

use std::collections::BTreeSet;

use contexture_server::{Lifetime, TokenText, Tokens};
use serde_json::Value;

use crate::client::{Running, SESSION, run};

/// What a route is to the holder of a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// They may use it. What it comes to depends on the state.
    May,
    /// They may not.
    MayNot,
    /// It is not asked here: it does not end, or nothing would be left for the others.
    NotAsked,
}

use Access::{May, MayNot, NotAsked};

/// What a route is to an agent, to a user and to the owner.
struct Row {
    method: &'static str,
    path: &'static str,
    /// What follows the path, or the body.
    sent: &'static str,
    agent: Access,
    user: Access,
    owner: Access,
}

const fn row(
    method: &'static str,
    path: &'static str,
    sent: &'static str,
    [agent, user, owner]: [Access; 3],
) -> Row {
    Row { method, path, sent, agent, user, owner }
}

/// Every route under `/v1/sessions/{session}`, in an order in which most of them find what they need.
const ROWS: &[Row] = &[
    row("GET", "", "", [MayNot, May, May]),
    row("PUT", "", "{}", [MayNot, MayNot, May]),
    row("GET", "/custom", "", [MayNot, May, May]),
    row("PUT", "/custom/{key}", r#"{"value":1}"#, [MayNot, May, May]),
    row("DELETE", "/custom/{key}", "", [MayNot, May, May]),
    row("GET", "/export", "", [MayNot, May, May]),
    row("POST", "/load", "{}", [MayNot, MayNot, May]),
    row("POST", "/import", r#"[{"role":"user","content":"Hi"}]"#, [MayNot, May, May]),
    row("GET", "/tokens", "", [MayNot, MayNot, May]),
    row("POST", "/tokens", r#"{"holder":"helper"}"#, [MayNot, MayNot, May]),
    row("DELETE", "/tokens/{token}", "", [MayNot, MayNot, May]),
    row("GET", "/segments", "", [May, May, May]),
    row(
        "POST",
        "/segments",
        r#"{"id":"new","kind":"custom","permission":"read-write"}"#,
        [MayNot, May, May],
    ),
    row("GET", "/segments/{segment}", "", [May, May, May]),
    row("PATCH", "/segments/{segment}", r#"{"capacity":9000}"#, [MayNot, May, May]),
    row("DELETE", "/segments/{segment}", "?cascade=true", [MayNot, NotAsked, NotAsked]),
    row("GET", "/pages", "", [May, May, May]),
    row("POST", "/pages", r#"{"parent":"usr-0","name":"Note"}"#, [May, May, May]),
    row("GET", "/pages/{index}", "", [May, May, May]),
    row("PATCH", "/pages/{index}", r#"{"name":"Renamed"}"#, [May, May, May]),
    row("GET", "/pages/{index}/children", "", [May, May, May]),
    row("GET", "/pages/{index}/ancestors", "", [May, May, May]),
    row("GET", "/pages/{index}/parent", "", [May, May, May]),
    row("GET", "/tree", "", [May, May, May]),
    row("POST", "/pages/{index}/hide", "", [May, May, May]),
    row("POST", "/pages/{index}/expand", "", [May, May, May]),
    row("POST", "/pages/{index}/pin", "", [May, May, May]),
    row("POST", "/pages/{index}/unpin", "", [May, May, May]),
    row("POST", "/pages/{index}/focus", "", [May, May, May]),
    row("POST", "/pages/{index}/move", r#"{"to":"usr-0"}"#, [May, May, May]),
    row("POST", "/append", r#"{"messages":[{"role":"user","content":"Hi"}]}"#, [May, May, May]),
    row("POST", "/turns", r#"{"messages":[{"role":"user","content":"Hi"}]}"#, [May, May, May]),
    row(
        "POST",
        "/turns/extend",
        r#"{"messages":[{"role":"assistant","content":"Hi"}]}"#,
        [May, May, May],
    ),
    row(
        "POST",
        "/turns/open",
        r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#,
        [May, May, May],
    ),
    row(
        "POST",
        "/turns/results",
        r#"{"messages":[{"role":"tool","tool_call_id":"a","content":"Hi"}]}"#,
        [May, May, May],
    ),
    row("POST", "/turns/close", "{}", [May, May, May]),
    row("GET", "/window", "", [May, May, May]),
    row("POST", "/window", r#"{"format":"openai"}"#, [May, May, May]),
    row("GET", "/windows/{number}", "?format=openai", [May, May, May]),
    row(
        "POST",
        "/report",
        r#"{"format":"openai","number":1,"usage":{"input":1}}"#,
        [May, May, May],
    ),
    row("POST", "/fold", r#"{"preview":true}"#, [May, May, May]),
    row("GET", "/level", "", [May, May, May]),
    row("PUT", "/level", r#"{"level":"full"}"#, [May, May, May]),
    row("GET", "/find", "?q=Hi", [May, May, May]),
    row("POST", "/recall", r#"{"query":"Hi","preview":true}"#, [May, May, May]),
    row("POST", "/press", r#"{"key":"hide-usr-1"}"#, [May, May, May]),
    row("GET", "/tools", "?format=gemini", [May, May, May]),
    row(
        "POST",
        "/tools/call",
        r#"{"format":"gemini","calls":[{"functionCall":{"name":"find","args":{"query":"Hi"}}}]}"#,
        [May, May, May],
    ),
    row("GET", "/history", "", [May, May, May]),
    row("POST", "/undo", "{}", [May, May, May]),
    row("GET", "/events", "", [NotAsked, NotAsked, NotAsked]),
    row("GET", "/agents", "", [MayNot, May, May]),
    row("GET", "/agents/{agent}", "", [MayNot, May, May]),
    row("GET", "/agents/{agent}/context", "", [MayNot, May, May]),
    row("PUT", "/agents/{agent}/context", r#"{"mode":null}"#, [MayNot, May, May]),
    row("POST", "/agents/{agent}/runs", r#"{"prompt":"Hi"}"#, [MayNot, May, May]),
    row("POST", "/agents/{agent}/resume", "{}", [MayNot, May, May]),
    row("POST", "/agents/{agent}/stop", "", [MayNot, May, May]),
    row("POST", "/agents/{agent}/clear", "{}", [MayNot, May, May]),
    row("GET", "/histories", "", [MayNot, May, May]),
    row("GET", "/approvals", "", [MayNot, May, May]),
    row("POST", "/approvals", r#"{"run":"fixer/1","approve":true}"#, [MayNot, May, May]),
    row("POST", "/pages/{index}/archive", "", [May, May, May]),
    row("DELETE", "/pages/{index}", "", [May, May, May]),
    row("POST", "/pages/{index}/restore", "{}", [May, May, May]),
    row("POST", "/pages/{index}/purge", "{}", [MayNot, May, May]),
    row("DELETE", "", "", [MayNot, MayNot, May]),
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
        let mut wrong = Vec::new();
        for row in ROWS {
            let asked = [
                ("agent", &agent, row.agent),
                ("user", &user, row.user),
                ("owner", &owner, row.owner),
            ];
            for (who, token, access) in asked.into_iter().filter(|(.., it)| *it != NotAsked) {
                let status = ask(&server, token, row, SESSION).await;
                let is_right = match access {
                    MayNot => status == 403,
                    May | NotAsked => status < 500 && status != 401 && status != 403,
                };
                if !is_right {
                    wrong.push(format!("{} {} as {who}: {status}", row.method, row.path));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        server.end().await;
    });
}
