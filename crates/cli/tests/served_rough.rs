//! Servers that are gone, foreign, mute, of another build, project or store: no command comes to harm.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
};

use serde_json::{Value, json};

use crate::{
    serve::Serving,
    support::{Ran, Sandbox},
};

fn entry(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join(".contexture/contexture.db.server")
}

/// Changes what the file says of the server.
fn say(sandbox: &Sandbox, field: &str, value: Value) {
    let mut entry_said: Value = serde_json::from_slice(&fs::read(entry(sandbox)).unwrap()).unwrap();
    assert!(entry_said.get(field).is_some(), "{entry_said}");
    entry_said[field] = value;
    fs::write(entry(sandbox), entry_said.to_string()).unwrap();
}

/// Somebody else who listens on loopback: says something, and keeps what it hears on each connection.
struct Stranger {
    address: SocketAddr,
    heard: Receiver<Vec<u8>>,
}

impl Stranger {
    fn saying(text: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (keep, heard) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.write_all(text.as_bytes());
                // It never closes a connection by itself.
                let mut bytes = Vec::new();
                let _ = stream.read_to_end(&mut bytes);
                if keep.send(bytes).is_err() {
                    break;
                }
            }
        });
        Self { address, heard }
    }

    /// Returns what it heard on its next connection, once that is closed.
    fn heard(&self) -> String {
        String::from_utf8(self.heard.recv().unwrap()).unwrap()
    }
}

#[test]
fn a_server_that_was_killed_is_not_missed() {
    let sandbox = Sandbox::new();
    let mut server = Serving::start(&sandbox);
    sandbox.json(&["turn", "add", "--user", "before"]);
    assert_eq!(server.commands(), 1);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert!(entry(&sandbox).exists(), "it had no time to remove it");
    sandbox.json(&["turn", "add", "--user", "after"]);
    let window = sandbox.text(&["window"]);
    assert!(window.contains("before") && window.contains("after"), "{window}");
    // The next one is used again.
    let next = Serving::start(&sandbox);
    assert_eq!(sandbox.text(&["window"]), window);
    assert_eq!(next.commands(), 1);
}

// A program that has taken the port of a killed server is not believed and does not get the token.
#[test]
fn strangers_are_not_believed_and_learn_nothing() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let secret = server.token.rsplit('_').next().unwrap().to_owned();
    let answer = r#"{"printed":[{"stream":"Out","text":"believe me"}],"end":{"Status":"Done"}}"#;
    let answer: &'static str = Box::leak(
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len())
            .repeat(2)
            .into_boxed_str(),
    );
    for (number, said) in [
        // It accepts and never answers.
        "",
        answer,
        "HTTP/1.1 200 OK\r\ncontent-length: 64\r\n\r\n0000000000000000000000000000000000000000000000000000000000000000",
        "HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n",
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "\r\n\r\n\r\n\r\n",
    ]
    .into_iter()
    .enumerate()
    {
        let stranger = Stranger::saying(said);
        let url = format!("http://{}", stranger.address);
        say(&sandbox, "url", json!(url));
        let text = format!("number {number}");
        sandbox.json(&["turn", "add", "--user", &text]);
        let window = sandbox.text(&["window"]);
        assert!(window.contains(&text) && !window.contains("believe me"), "{said:?}: {window}");
        // Named, it is an error.
        let (kind, message) = sandbox.refused(&["window", "--server", &url]);
        assert!(kind == "unavailable" && message.contains(&url), "{message}");
        for _ in 0..3 {
            let heard = stranger.heard();
            assert!(heard.starts_with("GET /command?challenge="), "{said:?}: {heard}");
            assert!(!heard.contains(&secret) && !heard.contains("number"), "{said:?}: {heard}");
        }
    }
    assert_eq!(server.commands(), 0);
    assert_eq!(sandbox.json(&["history"])["items"].as_array().unwrap().len(), 1 + 7);
}

#[test]
fn another_version_build_project_or_store_is_not_asked() {
    let sandbox = Sandbox::new();
    sandbox.json(&["turn", "add", "--user", "here"]);
    let server = Serving::start(&sandbox);
    let right = fs::read(entry(&sandbox)).unwrap();
    for (field, value) in [
        ("version", json!("0.0.0")),
        ("build", json!("1 1")),
        ("project", json!("/elsewhere")),
        ("home", json!("/elsewhere")),
        ("config", json!("/elsewhere")),
        ("store", json!("another")),
        ("url", json!("http://10.0.0.1:1")),
        ("url", json!(7)),
    ] {
        say(&sandbox, field, value);
        assert!(sandbox.text(&["window"]).contains("here"), "{field}");
        assert_eq!(server.challenges(), 0, "{field}");
        fs::write(entry(&sandbox), &right).unwrap();
    }
    for broken in ["", "{", "[]", "null"] {
        fs::write(entry(&sandbox), broken).unwrap();
        assert!(sandbox.text(&["window"]).contains("here"), "{broken}");
    }
    assert_eq!(server.challenges(), 0);
    // Somebody without a home has another basis than somebody with one.
    fs::write(entry(&sandbox), &right).unwrap();
    let ran = Ran::of(sandbox.command(&["window"]).env("HOME", sandbox.path()));
    assert_eq!((ran.code, server.challenges()), (0, 0));
    sandbox.text(&["window"]);
    assert_eq!(server.commands(), 1);
}

// One store, two projects: whose history an agent sees is said by the files of each.
#[test]
fn agents_are_those_of_the_project_that_asks() {
    let (served, other) = (Sandbox::new(), Sandbox::empty());
    served.json(&["turn", "add", "--user", "in the main session"]);
    let server = Serving::start(&served);
    fs::create_dir_all(other.path().join(".contexture/agents")).unwrap();
    let isolated =
        "---\nkind: agent\nname: reader\ntitle: Reader\ncontextMode: isolated\n---\nRead.\n";
    other.write(".contexture/agents/reader.md", isolated);
    let store = format!("sqlite:{}", served.database().display());
    let line = ["--store", store.as_str(), "--as", "reader", "window"];
    let told = served.text(&["--as", "reader", "window"]);
    assert!(told.contains("in the main session") && server.commands() == 1, "{told}");
    assert!(!other.text(&line).contains("in the main session"));
    assert_eq!(server.commands(), 1);
    // A file that wrongly names the other project is not believed by the server.
    let project = other.path().canonicalize().unwrap();
    say(&served, "project", json!(project));
    assert!(!other.text(&line).contains("in the main session"));
    assert_eq!((server.commands(), server.challenges()), (1, 2), "it was asked, and refused");
    // A file of the project counts from the next command on.
    let entry_path = entry(&served);
    say(&served, "project", json!(served.path().canonicalize().unwrap()));
    assert!(entry_path.exists());
    fs::create_dir_all(served.path().join(".contexture/agents")).unwrap();
    served.write(".contexture/agents/reader.md", isolated);
    assert!(!served.text(&["--as", "reader", "window"]).contains("in the main session"));
    assert_eq!(server.commands(), 2);
}

#[test]
fn a_store_that_was_replaced_or_copied_is_another_one() {
    let sandbox = Sandbox::new();
    sandbox.json(&["turn", "add", "--user", "the first store"]);
    let server = Serving::start(&sandbox);
    let copied = sandbox.path().join("copied.db");
    fs::copy(sandbox.database(), &copied).unwrap();
    for end in ["token", "server"] {
        let from = sandbox.path().join(format!(".contexture/contexture.db.{end}"));
        fs::copy(from, sandbox.path().join(format!("copied.db.{end}"))).unwrap();
    }
    let store = ["--store", "sqlite:copied.db"];
    sandbox.text(&[&store[..], &["turn", "add", "--user", "in the copy"]].concat());
    assert!(!sandbox.text(&["window"]).contains("in the copy"));
    assert_eq!(server.commands(), 1, "only the command on its own store");
    // Another file in the same place.
    fs::rename(&copied, sandbox.database()).unwrap();
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.path().join(format!(".contexture/contexture.db{end}")));
    }
    assert_eq!(sandbox.run(&["window"]).code, 0);
    assert_eq!(server.commands(), 1);
}

#[test]
fn another_token_is_no_token() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let file = sandbox.path().join(".contexture/contexture.db.token");
    let other = format!("ctx_owner_{}\n", "1".repeat(48));
    for token in [other.as_str(), "nonsense", ""] {
        fs::write(&file, token).unwrap();
        sandbox.json(&["turn", "add", "--user", "hello"]);
    }
    assert_eq!(server.commands(), 0);
    fs::write(&file, &other).unwrap();
    let url = format!("http://{}", server.address);
    let (kind, message) = sandbox.refused(&["window", "--server", &url]);
    assert!(
        kind == "unavailable" && message.contains("does not know the owner's token"),
        "{message}"
    );
    // A token of an agent runs no commands.
    fs::write(&file, &server.token).unwrap();
    let made = sandbox.json(&["token", "create", "--agent", "fixer"]);
    let token = made["token"].as_str().unwrap();
    assert_eq!(server.send(token, "POST", "/command", "{}").0, 401);
    assert_eq!(server.send(&server.token, "POST", "/command", "{}").0, 409);
    let version = env!("CARGO_PKG_VERSION");
    let body = json!({ "version": version }).to_string();
    assert_eq!(server.send(&server.token, "POST", "/command", &body).0, 400);
    assert_eq!(server.send("", "GET", "/command", "").0, 400);
}

/// Passes everything on to a server, but cuts the connection instead of passing on what it answers to a command.
fn cutting(server: &Serving) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, target) = (listener.local_addr().unwrap(), server.address.clone());
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(&target).unwrap());
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let asked = Arc::new(AtomicBool::new(false));
            let asking = asked.clone();
            thread::spawn(move || {
                let mut piece = [0; 1 << 16];
                while let Ok(count @ 1..) = from.read(&mut piece) {
                    if piece.starts_with(b"POST ") {
                        asking.store(true, Ordering::SeqCst);
                    }
                    to.write_all(&piece[..count]).unwrap();
                }
            });
            thread::spawn(move || {
                let mut piece = [0; 1 << 16];
                while let Ok(count @ 1..) = server.read(&mut piece) {
                    let is_answer = asked.load(Ordering::SeqCst);
                    if is_answer || client.write_all(&piece[..count]).is_err() {
                        break;
                    }
                }
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

// What may have been written is not written again, unless its key makes that safe.
#[test]
fn a_lost_answer_is_not_made_up_for_by_writing_twice() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    say(&sandbox, "url", json!(format!("http://{}", cutting(&server))));
    let turns = || sandbox.json(&["page", "list"])["items"].as_array().unwrap().len();
    let before = turns();
    let (kind, message) = sandbox.refused(&["turn", "add", "--user", "once"]);
    assert!(kind == "unavailable" && message.contains("it may have been written"), "{message}");
    assert_eq!((server.commands(), turns()), (1, before + 1), "it was written, once");
    sandbox.json(&["turn", "add", "--user", "keyed", "--key", "k1"]);
    assert_eq!((server.commands(), turns()), (2, before + 2));
    // Reading again does no harm.
    assert!(sandbox.text(&["window"]).contains("keyed"));
    assert!(sandbox.text(&["find", "keyed"]).contains("usr-2"));
    assert_eq!(server.commands(), 4);
    let (_, message) = sandbox.refused(&["window", "--fold"]);
    assert!(message.contains("may have been recorded as sent"), "{message}");
    let sent = sandbox.json(&["window", "--account"]);
    assert_eq!(sent["ledger"]["number"], 1);
    let (_, message) = sandbox.refused(&["recall", "once"]);
    assert!(message.contains("pages may have been brought back"), "{message}");
}

// A model is asked with the keys of who asks, so such searches stay where they are.
#[test]
fn searches_that_ask_a_model_are_run_here() {
    let sandbox = Sandbox::new();
    sandbox.json(&["turn", "add", "--user", "The automobile"]);
    let server = Serving::start(&sandbox);
    sandbox.text(&["find", "automobile"]);
    assert_eq!(server.commands(), 1);
    let settings = json!({
        "search": { "embeddings": { "model": "local/all-minilm" } },
        "providers": { "local": { "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "A_KEY" } },
    });
    sandbox.write(".contexture/settings.json", settings.to_string());
    let ran = sandbox.run(&["find", "automobile"]);
    assert!(ran.code == 0 && ran.err.contains("ranked by words alone"), "{ran:?}");
    assert_eq!(server.commands(), 1);
    sandbox.text(&["window"]);
    assert_eq!(server.commands(), 2);
}
