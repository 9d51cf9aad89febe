//! A session goes round all stores by `store copy`, and every store takes what commands do.

use contexture_testkit::server::{PostgresServer, S3Server};

use crate::support::{Ran, Sandbox};

/// Runs the program with the variables an S3 store is opened by.
fn run(sandbox: &Sandbox, store: &str, args: &[&str]) -> String {
    let ran = try_run(sandbox, store, args);
    assert_eq!(ran.code, 0, "{store} {args:?}: {}", ran.err);
    ran.out
}

fn try_run(sandbox: &Sandbox, store: &str, args: &[&str]) -> Ran {
    let mut command = sandbox.command(&[&["--store", store], args].concat());
    if store.starts_with("s3:") || args.iter().any(|arg| arg.starts_with("s3:")) {
        let server = S3Server::shared();
        command
            .env("AWS_ENDPOINT_URL", server.endpoint())
            .env("AWS_ACCESS_KEY_ID", server.access_key())
            .env("AWS_SECRET_ACCESS_KEY", server.secret_key())
            .env("AWS_REGION", server.region());
    }
    Ran::of(&mut command)
}

fn s3() -> String {
    let server = S3Server::shared();
    format!("s3://{}/{}", server.bucket(), server.fresh_prefix())
}

/// What there is to see of a session.
fn sight(sandbox: &Sandbox, store: &str) -> Vec<String> {
    let commands: [&[&str]; 10] = [
        &["export"],
        &["history", "--json"],
        &["page", "list", "--archived", "--json"],
        &["window", "--format", "markdown"],
        &["window", "--format", "context"],
        &["window", "--format", "openai"],
        &["window", "--format", "responses"],
        &["window", "--format", "anthropic"],
        &["window", "--format", "gemini"],
        &["window", "--format", "openai", "--budget", "700"],
    ];
    commands.iter().map(|args| run(sandbox, store, args)).collect()
}

// Files → SQLite → PostgreSQL → S3 → SQLite: the same export byte for byte, the same windows.
#[test]
fn a_session_goes_round_the_stores() {
    let sandbox = Sandbox::empty();
    sandbox.write("talk.json", crate::support::talk(5).to_string());
    let first = "files:begin";
    run(&sandbox, first, &["import", "talk.json", "--take-prompt"]);
    run(&sandbox, first, &["page", "remove", "usr-2"]);
    run(&sandbox, first, &["fold", "--budget", "900"]);
    let expected = sight(&sandbox, first);
    let postgres = PostgresServer::shared().fresh_database();
    let mut from = first.to_owned();
    for to in ["sqlite:one.db".to_owned(), postgres, s3(), "sqlite:two.db".to_owned()] {
        run(&sandbox, &from, &["store", "copy", "--to", &to]);
        assert!(sight(&sandbox, &to) == expected, "{to}");
        assert!(run(&sandbox, &to, &["store", "check"]).ends_with(": no problems found\n"));
        // Copying again finds it there.
        let again = run(&sandbox, &from, &["store", "copy", "--to", &to, "--json"]);
        assert!(again.contains("already"), "{again}");
        from = to;
    }
}

// B-12: every store takes the edits of a first day, and gives them back after each command ended.
#[test]
fn every_store_takes_a_first_day() {
    let stores = [
        "sqlite:day.db".to_owned(),
        "files:day".to_owned(),
        PostgresServer::shared().fresh_database(),
        s3(),
    ];
    let mut seen = Vec::new();
    for store in &stores {
        let sandbox = Sandbox::empty();
        let missing = try_run(&sandbox, store, &["window"]);
        assert!(missing.code != 0 && missing.err.contains("init"), "{store}: {}", missing.err);
        run(&sandbox, store, &["init"]);
        let page = ["page", "create", "--parent", "usr-0", "--name", "Note", "--detail", "one"];
        run(&sandbox, store, &page);
        run(&sandbox, store, &["page", "update", "usr-1", "--detail", "two"]);
        run(&sandbox, store, &["undo"]);
        assert!(run(&sandbox, store, &["page", "show", "usr-1"]).contains("one"), "{store}");
        run(&sandbox, store, &["page", "remove", "usr-1"]);
        run(&sandbox, store, &["page", "restore", "usr-1"]);
        assert!(run(&sandbox, store, &["store", "check"]).ends_with(": no problems found\n"));
        seen.push(run(&sandbox, store, &["page", "list"]));
        // Dead rows stay in PostgreSQL's tables until they are scrubbed.
        let removed = try_run(&sandbox, store, &["session", "remove", "default", "--yes"]);
        let expected = if store.starts_with("postgres:") { 3 } else { 0 };
        assert_eq!(removed.code, expected, "{store}: {}", removed.err);
        run(&sandbox, store, &["store", "scrub"]);
    }
    assert!(seen.iter().all(|list| *list == seen[0]), "{seen:?}");
}
