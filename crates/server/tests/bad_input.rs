use std::{sync::Arc, time::Duration};

use contexture_core::MemoryStorage;
use contexture_server::{Limits, Rate, ServeSettings};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::client::{Running, run};

const SESSION: &str = "/v1/sessions/demo";

#[test]
fn malformed_requests_are_refused() {
    run(async {
        let server = Running::start().await;
        let owner = &server.owner;
        let post = async |path: &str, body: &str| {
            server.send(owner, "POST", &format!("{SESSION}{path}"), &[], Some(body)).await
        };
        let deep = format!("{{\"messages\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        for (path, body) in [
            ("/append", ""),
            ("/append", "{"),
            ("/append", "[]"),
            ("/append", "{\"messages\":{}}"),
            ("/append", "{\"messages\":[]}"),
            ("/append", "{\"messages\":[{\"role\":\"king\",\"content\":\"x\"}]}"),
            ("/append", "{\"messages\":[],\"other\":1}"),
            ("/append", &deep),
            ("/pages", "{\"parent\":\"usr-0\",\"name\":7}"),
            ("/pages", "{\"parent\":\"usr-0\",\"name\":\"\"}"),
            ("/pages", "{\"parent\":\"../usr-0\",\"name\":\"x\"}"),
            ("/pages", "{\"parent\":\"usr-0\",\"name\":\"x\",\"name\":\"y\"}"),
            ("/window", "{\"format\":\"xml\"}"),
            ("/window", "{\"format\":\"openai\",\"budget\":-1}"),
            ("/undo", "{\"revision\":\"last\"}"),
            ("/tokens", "{\"holder\":\"system\"}"),
            ("/tokens", "{\"holder\":\"user:\"}"),
        ] {
            assert_eq!(post(path, body).await.refused(400), "invalid", "{path} {body:.60}");
        }
        for path in
            ["/pages/usr-", "/pages/%00", "/pages/usr-1%2f..", "/segments/%2e%2e", "/windows/0x1"]
        {
            let status = server.get(owner, &format!("{SESSION}{path}")).await.status;
            assert!(status == 400 || status == 404, "{path}: {status}");
        }
        for session in ["..", "%2e%2e", "a%2fb", "%00", "-", "a b", &"x".repeat(200)] {
            let path = format!("/v1/sessions/{}/pages", session.replace(' ', "%20"));
            let status = server.get(owner, &path).await.status;
            assert!(status == 400 || status == 404, "{session}: {status}");
        }
        let text = [("content-type", "text/plain")];
        let body = r#"{"messages":[]}"#;
        let head = format!(
            "POST {SESSION}/append HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {owner}\r\n\
             {}: {}\r\ncontent-length: {}\r\n\r\n{body}",
            server.address,
            text[0].0,
            text[0].1,
            body.len()
        );
        assert_eq!(server.raw(head.as_bytes()).await.refused(415), "invalid");
        assert_eq!(server.get(owner, "/nowhere").await.refused(404), "not-found");
        assert_eq!(server.send(owner, "PUT", "/healthz", &[], None).await.refused(405), "invalid");
        // Nothing of it was stored.
        let system = server.engine.open(&"demo".parse().unwrap()).await.unwrap();
        assert_eq!(system.info().await.unwrap().revision.0, 1);
        server.end().await;
    });
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    run(async {
        let server = Running::start().await;
        let head = format!(
            "POST {SESSION}/append HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            server.address,
            server.owner,
            64 << 20
        );
        assert_eq!(server.raw(head.as_bytes()).await.refused(413), "too-large");
        server.end().await;
    });
}

// Whoever sends nothing, half a head or half a request does not keep a connection.
#[test]
fn idle_and_half_sent_requests_are_closed() {
    run(async {
        let limits = Limits { header_time: Duration::from_millis(200), ..Limits::default() };
        let settings = ServeSettings { limits, ..ServeSettings::default() };
        let storage = Arc::new(MemoryStorage::new());
        let server = Running::with(storage, settings, Rate::default()).await;
        for sent in ["", "GET /healthz HTTP/1.1\r\nhost: 127", "nonsense\r\n\r\n"] {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            let closed = stream.read_to_end(&mut answer);
            let closed = tokio::time::timeout(Duration::from_secs(60), closed).await;
            assert!(closed.is_ok(), "{sent:?} was kept open");
        }
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!("GET {SESSION}/pages HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let closed = stream.read_to_end(&mut answer);
        assert!(tokio::time::timeout(Duration::from_secs(60), closed).await.is_ok());
        server.end().await;
    });
}

// Idle connections do not keep others from being served, once there is room again.
#[test]
fn connections_are_bounded_and_come_free() {
    run(async {
        let limits =
            Limits { connections: 4, header_time: Duration::from_millis(200), ..Limits::default() };
        let settings = ServeSettings { limits, ..ServeSettings::default() };
        let storage = Arc::new(MemoryStorage::new());
        let server = Running::with(storage, settings, Rate::default()).await;
        let mut idle = Vec::new();
        for _ in 0..200 {
            idle.push(TcpStream::connect(server.address).await.unwrap());
        }
        drop(idle.split_off(8));
        assert_eq!(server.get("", "/healthz").await.status, 200);
        server.end().await;
    });
}

#[test]
fn a_token_that_is_used_too_often_waits() {
    run(async {
        let rate = Rate { per_second: 1, burst: 3 };
        let storage = Arc::new(MemoryStorage::new());
        let server = Running::with(storage, ServeSettings::default(), rate).await;
        let token = server.token("fixer").await;
        let mut statuses = Vec::new();
        for _ in 0..20 {
            let answer = server.get(&token, &format!("{SESSION}/level")).await;
            if answer.status == 429 {
                assert_eq!(answer.header("retry-after"), Some("1"));
                assert_eq!(answer.refused(429), "unavailable");
            }
            statuses.push(answer.status);
        }
        assert!(statuses.starts_with(&[200, 200, 200]) && statuses.contains(&429), "{statuses:?}");
        assert_eq!(server.get(&server.owner, &format!("{SESSION}/level")).await.status, 200);
        server.end().await;
    });
}

// A request's id is in its answer; a secret is in none.
#[test]
fn answers_carry_ids_and_no_secrets() {
    run(async {
        let server = Running::start().await;
        let one = server.get(&server.owner, "/metrics").await;
        let other = server.get(&server.owner, "/metrics").await;
        let (one_id, other_id) = (one.header("x-request-id"), other.header("x-request-id"));
        assert!(one_id.is_some() && one_id != other_id, "{one_id:?} {other_id:?}");
        assert!(other.body.contains("contexture_request_seconds_count"), "{}", other.body);
        for line in other.body.lines().filter(|line| !line.starts_with('#')) {
            let value = line.rsplit_once(' ').expect("a name and a value").1;
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
        let wrong = json!({"holder": "fixer", "secret": server.owner});
        let refused = server.post(&server.owner, &format!("{SESSION}/tokens"), &wrong).await;
        assert_eq!(refused.refused(400), "invalid");
        assert!(!refused.body.contains(&server.owner), "{}", refused.body);
        server.end().await;
    });
}
