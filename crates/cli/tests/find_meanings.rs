//! `find` where embeddings are set: what means the same is found, and words rank alone where meanings cannot be compared.

use contexture_testkit::{
    provider::{ProviderServer, Reply},
    server::EmbeddingServer,
};
use serde_json::{Value, json};

use crate::support::Sandbox;

/// A model that knows what cars are.
fn server() -> ProviderServer {
    ProviderServer::answering(|request| {
        let meaning = |text: &String| match text {
            text if text.contains("car") || text.contains("automobile") => vec![1.0, 0.1, 0.0],
            _ => vec![0.0, 0.1, 1.0],
        };
        Reply::embeddings(&request.texts().iter().map(meaning).collect::<Vec<_>>())
    })
}

fn set(sandbox: &Sandbox, file: &str, url: &str) {
    let settings = json!({
        "search": { "embeddings": { "model": "local/all-minilm" } },
        "providers": { "local": { "baseUrl": url } },
    });
    let path = sandbox.path().join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, settings.to_string()).unwrap();
}

fn talk() -> Sandbox {
    let sandbox = Sandbox::new();
    for text in ["The automobile is in the garage", "The lantern is in the attic", "We ate soup"] {
        sandbox.text(&["turn", "add", "--user", text, "--assistant", "Noted."]);
    }
    sandbox
}

const PROJECT: &str = ".contexture/settings.json";

fn first(found: &Value) -> &str {
    found["items"][0]["index"].as_str().unwrap_or_default()
}

#[test]
fn meanings_are_compared_where_a_model_is_set() {
    let sandbox = talk();
    let server = server();
    assert_eq!(sandbox.json(&["find", "car"]), json!({ "items": [], "next": null }));
    set(&sandbox, PROJECT, &server.url());
    let found = sandbox.json(&["find", "car", "--explain"]);
    assert_eq!(first(&found), "usr-1");
    assert_eq!(found["similarity"], json!({ "compared": true, "missing": 0 }));
    assert_eq!(found["items"][0]["explanation"][0]["feature"], "similar");
    assert_eq!(server.requests().len(), 2, "the question, then what was said");
    sandbox.text(&["find", "car"]);
    assert_eq!(server.requests().len(), 3, "what was said has vectors now");
    let recalled = sandbox.json(&["recall", "car", "--preview"]);
    assert_eq!(recalled["similarity"]["compared"], true);
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn words_rank_alone_where_the_model_is_gone() {
    let sandbox = talk();
    let url = server().url();
    set(&sandbox, PROJECT, &url);
    let ran = sandbox.run(&["find", "lantern"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.starts_with("usr-2"), "{}", ran.out);
    assert!(ran.err.contains("ranked by words alone: local at"), "{}", ran.err);
    let found = sandbox.run(&["find", "lantern", "--json"]);
    let found: Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!((first(&found), &found["similarity"]["compared"]), ("usr-2", &json!(false)));
}

// A project comes from others: its files cannot have sessions sent elsewhere.
#[test]
fn a_project_cannot_have_what_is_said_sent_elsewhere() {
    let sandbox = talk();
    set(&sandbox, PROJECT, "http://192.0.2.1:9/v1");
    let ran = sandbox.run(&["find", "lantern"]);
    assert!(ran.out.starts_with("usr-2"), "{}", ran.out);
    assert!(
        ran.err.contains("permission denied") && ran.err.contains("your own settings"),
        "{}",
        ran.err
    );
    // The user may.
    let server = server();
    set(&sandbox, "home/contexture/settings.json", &server.url());
    let mut command = sandbox.command(&["find", "car", "--json"]);
    command.env("XDG_CONFIG_HOME", sandbox.path().join("home"));
    let ran = crate::support::Ran::of(&mut command);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(first(&found), "usr-1", "{}", ran.err);
}

/// Returns what is found, whatever is said beside it.
fn json_with_warnings(sandbox: &Sandbox, question: &str) -> Value {
    serde_json::from_str(&sandbox.run(&["find", question, "--json"]).out).unwrap()
}

#[test]
fn a_purge_removes_vectors() {
    let sandbox = talk();
    let server = server();
    set(&sandbox, PROJECT, &server.url());
    assert_eq!(first(&sandbox.json(&["find", "car"])), "usr-1");
    let folder = sandbox.path().join(".contexture/contexture.db.search/vectors-1");
    let size = || -> u64 {
        let files = std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap());
        files.map(|file| file.metadata().unwrap().len()).sum()
    };
    let before = size();
    sandbox.text(&["page", "purge", "usr-1"]);
    assert_eq!(size(), before - (8 + 4 + 3 + 4), "the vector of one text is gone");
    assert_eq!(sandbox.json(&["find", "car"])["items"], json!([]));
}

// The real thing: MiniLM, which knows English.
#[test]
fn a_real_model_finds_what_shares_no_word() {
    let sandbox = talk();
    for text in [
        "My physician told me to rest for a week",
        "The ferry leaves at nine",
        "Our daughter got her degree last summer",
    ] {
        sandbox.text(&["turn", "add", "--user", text, "--assistant", "I see."]);
    }
    let server = EmbeddingServer::start();
    set(&sandbox, PROJECT, server.url());
    for (question, page) in [
        ("the car", "usr-1"),
        ("medical advice", "usr-4"),
        ("ship departure", "usr-5"),
        ("graduation", "usr-6"),
    ] {
        // Its answers may take longer than a search waits.
        let mut searches = (0..100).map(|_| json_with_warnings(&sandbox, question));
        let whole = searches.find(|found| {
            found["similarity"]["missing"] == 0 && found["similarity"]["compared"] == true
        });
        let found = whole.expect("the model answers in the end");
        assert_eq!(first(&found), page, "{question}");
    }
}
