//! Bad frames, unknown fields, wrong types and huge arguments: each is answered, and the connection goes on.

use contexture_server::Access;
use serde_json::{Value, json};

use crate::{
    client::{Running, SESSION, run},
    mcp_client::Pipe,
};

#[test]
fn frames_that_are_none_do_not_end_the_connection() {
    run(async {
        let server = Running::start().await;
        let mut pipe = Pipe::new(&server.host, Access::owner(SESSION.parse().unwrap()));
        // Before the first request.
        for line in [
            "",
            "not json",
            "{\"jsonrpc\":",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
        ] {
            pipe.send(line).await;
        }
        let early = pipe.ask("tools/list", json!({})).await;
        assert!(early["error"]["code"].is_i64(), "{early}");
        drop(pipe);

        let mut pipe = Pipe::owner(&server.host).await;
        for line in
            ["not json", "{\"jsonrpc\":", "\u{0}\u{1}", r#"{"jsonrpc":"2.0","id":5,"result":{}}"#]
        {
            pipe.send(line).await;
        }
        for (line, id) in [
            (r#"[]"#, Value::Null),
            (r#"{"jsonrpc":"1.0","id":9,"method":"tools/list"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, Value::Null),
        ] {
            pipe.send(line).await;
            let answer = pipe.receive().await;
            assert!(answer["error"]["code"].is_i64() && answer["id"] == id, "{line}: {answer}");
        }
        let unknown = pipe.ask("tools/burn", json!({})).await;
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        let unknown = pipe.ask("tools/call", json!({"name": "burn", "arguments": {}})).await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        let wrong = pipe.ask("resources/list", json!({"cursor": "x y"})).await;
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
        pipe.right("window", json!({})).await;
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn wrong_arguments_are_answers_that_say_what_is_right() {
    run(async {
        let server = Running::start().await;
        let mut pipe = Pipe::owner(&server.host).await;
        for (tool, arguments, says) in [
            ("read", json!({}), "missing: 'page'"),
            ("read", json!({"page": 3}), "'page' must be string"),
            ("read", json!({"page": "usr-1", "other": 1}), "unknown field 'other'"),
            ("read", json!({"page": "../../etc/passwd"}), "invalid page index"),
            ("read", json!({"page": "usr-1", "offset": -1}), "expected u64"),
            ("window", json!({"session": 7}), "'session' must be a string"),
            ("window", json!({"session": "../x"}), "invalid"),
            ("window", json!({"agent": "No Agent"}), "invalid"),
            ("write", json!({"action": "burn"}), "unknown variant"),
            ("write", json!({"action": "create"}), "needs a name"),
            ("write", json!({"action": "append", "page": "usr-0", "text": "x"}), "a directory"),
            ("organise", json!({"action": "move", "page": "usr-1"}), "needs the directory"),
            ("undo", json!({"revision": 900}), "not found"),
            ("find", json!({"query": "x", "limit": "many"}), "'limit' must be integer"),
        ] {
            let answer = pipe.wrong(tool, arguments.clone()).await;
            assert!(answer.contains(says), "{tool} {arguments}: {answer}");
        }
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn huge_arguments_are_refused_in_few_words() {
    run(async {
        let server = Running::start().await;
        let mut pipe = Pipe::owner(&server.host).await;
        let name = "x".repeat(1 << 20);
        for (tool, arguments) in [
            ("read", json!({"page": name})),
            ("write", json!({"action": "create", "name": name, "text": "x"})),
            ("window", json!({"session": name})),
            ("read", json!({"page": "usr-1", "x": name})),
        ] {
            let answer = pipe.wrong(tool, arguments).await;
            assert!(answer.len() < 4_000, "{tool}: {} bytes", answer.len());
        }
        // More than a page may hold.
        let text = "x".repeat(17 << 20);
        let note = json!({"action": "create", "name": "Long", "text": text});
        let answer = pipe.wrong("write", note.clone()).await;
        assert!(answer.contains("limit") && answer.len() < 4_000, "{answer}");
        pipe.right("window", json!({})).await;
        pipe.end().await;
        // More than a request may hold: refused as soon as it is announced.
        let head = format!(
            "POST /mcp?session=demo HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\n\r\n",
            server.address,
            server.owner,
            33 << 20
        );
        assert_eq!(server.raw(head.as_bytes()).await.refused(413), "too-large");
        server.end().await;
    });
}

#[test]
fn other_methods_other_hosts_and_other_types_are_refused() {
    run(async {
        let server = Running::start().await;
        let owner = &server.owner;
        assert_eq!(server.get(owner, "/mcp").await.status, 405);
        assert_eq!(server.send(owner, "DELETE", "/mcp", &[], None).await.status, 405);
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        assert_eq!(server.send(owner, "POST", "/mcp", &[], Some(body)).await.status, 406);
        let accept = ("accept", "application/json, text/event-stream");
        let evil = [accept, ("origin", "http://evil.example")];
        let answer = server.send(owner, "POST", "/mcp", &evil, Some(body)).await;
        assert_eq!(answer.refused(403), "permission-denied");
        for wrong in ["{", "[]", "{\"jsonrpc\":\"2.0\"}"] {
            let status = server.send(owner, "POST", "/mcp", &[accept], Some(wrong)).await.status;
            assert!((400..500).contains(&status), "{wrong}: {status}");
        }
        server.end().await;
    });
}
