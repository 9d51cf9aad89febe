use std::{sync::Arc, time::Duration};

use contexture_core::{NewSegment, SegmentKind};
use contexture_server::{TokenText, Tokens};
use contexture_storage::{SqliteOptions, SqliteStorage};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use crate::client::{Running, run};

const SESSION: &str = "/v1/sessions/demo";

/// An open event stream.
struct Events(BufReader<TcpStream>);

/// An event: its kind, its id and its data.
type Event = (String, String, Value);

impl Events {
    async fn open(server: &Running, token: &str, last: Option<u64>) -> Self {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let head = format!(
            "GET {SESSION}/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{last}\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut events = Self(BufReader::new(stream));
        assert_eq!(events.line().await.as_deref(), Some("HTTP/1.1 200 OK"));
        while events.line().await.is_some_and(|line| !line.is_empty()) {}
        events
    }

    /// Returns the next line; none at the end.
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line);
        let read = tokio::time::timeout(Duration::from_secs(60), read).await;
        let count = read.expect("something comes").unwrap_or(0);
        (count > 0).then(|| line.trim_end().to_owned())
    }

    /// Returns the next event; none at the end.
    async fn next(&mut self) -> Option<Event> {
        let (mut kind, mut id) = (String::new(), String::new());
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some(("event", value)) => value.clone_into(&mut kind),
                Some(("id", value)) => value.clone_into(&mut id),
                Some(("data", value)) => {
                    return Some((kind, id, serde_json::from_str(value).unwrap()));
                }
                _ => {}
            }
        }
    }
}

async fn note(server: &Running, token: &str, parent: &str, name: &str) -> String {
    let new = json!({"parent": parent, "name": name});
    let page = server.post(token, &format!("{SESSION}/pages"), &new).await.json(201);
    page["index"].as_str().unwrap().to_owned()
}

// The owner sees every edit. An agent sees what its history shows, and of others which pages of its own view
// they touched; of what is outside its view it learns nothing.
#[test]
fn events_are_what_the_caller_may_know() {
    run(async {
        let server = Running::start().await;
        let system = server.engine.open(&"demo".parse().unwrap()).await.unwrap();
        let own = NewSegment::new("agent-writer".parse().unwrap(), SegmentKind::Custom);
        system.as_system().add_segment(own).await.unwrap();
        let (fixer, writer) = (server.token("fixer").await, server.token("writer").await);
        let mut all = Events::open(&server, &server.owner, None).await;
        let mut seen = Events::open(&server, &fixer, None).await;

        let shared = note(&server, &writer, "usr-0", "shared").await;
        note(&server, &server.owner, "agent-writer-0", "CANARY").await;
        server.post(&writer, &format!("{SESSION}/pages/usr-0/hide"), &json!({})).await.json(200);
        let mine = note(&server, &fixer, "usr-0", "mine").await;

        let (kind, id, by_other) = seen.next().await.unwrap();
        assert_eq!((kind.as_str(), id), ("change", by_other["revision"].to_string()));
        assert_eq!((&by_other["pages"], &by_other["actor"]), (&json!([shared]), &json!(null)));
        assert_eq!(by_other["operation"], json!(null));
        let (_, _, by_self) = seen.next().await.unwrap();
        assert_eq!((&by_self["pages"], &by_self["actor"]), (&json!([mine]), &json!("fixer")));

        let mut actors = Vec::new();
        for _ in 0..4 {
            actors.push(all.next().await.unwrap().2["actor"].as_str().unwrap().to_owned());
        }
        assert_eq!(actors, ["writer", "system", "writer", "fixer"]);
        server.end().await;
    });
}

// A stream goes on behind its last id, also at another process.
#[test]
fn a_stream_goes_on_at_another_server() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let path = folder.path().join("a.db");
            Arc::new(SqliteStorage::open(&path, SqliteOptions::default()).unwrap())
        };
        let one = Running::over(open()).await;
        let token = one.token("fixer").await;
        let mut events = Events::open(&one, &token, None).await;
        let first = note(&one, &token, "usr-0", "first").await;
        let (_, id, change) = events.next().await.unwrap();
        assert_eq!(change["pages"], json!([first]));
        note(&one, &token, "usr-0", "missed").await;
        one.end().await;

        let other = Running::over(open()).await;
        let mut events = Events::open(&other, &token, Some(id.parse().unwrap())).await;
        let (_, _, missed) = events.next().await.unwrap();
        assert_eq!(missed["pages"], json!(["usr-2"]));
        note(&other, &token, "usr-0", "third").await;
        assert_eq!(events.next().await.unwrap().2["pages"], json!(["usr-3"]));
        // An id from the future: the session was taken back.
        let mut events = Events::open(&other, &token, Some(1_000)).await;
        assert_eq!(events.next().await.unwrap().0, "reset");
        other.end().await;
    });
}

#[test]
fn a_stream_ends_with_its_token_and_with_the_server() {
    run(async {
        let server = Running::start().await;
        let (token, other) = (server.token("fixer").await, server.token("writer").await);
        let mut revoked = Events::open(&server, &token, None).await;
        let mut stays = Events::open(&server, &other, None).await;
        let system = server.engine.open(&"demo".parse().unwrap()).await.unwrap();
        let id = token.parse::<TokenText>().unwrap().id().clone();
        Tokens::of(system).revoke(&id).await.unwrap();
        note(&server, &server.owner, "usr-0", "after").await;
        assert_eq!(revoked.next().await.unwrap().0, "end");
        assert_eq!(revoked.next().await, None);
        assert_eq!(stays.next().await.unwrap().2["pages"], json!(["usr-1"]));
        server.end().await;
        assert_eq!(stays.next().await.unwrap().0, "end");
        assert_eq!(stays.next().await, None);
    });
}
