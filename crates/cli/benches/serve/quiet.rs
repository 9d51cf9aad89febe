//! What a server holds while nobody asks it anything.

use super::{client::events, process::Serving};

/// How many event streams are open.
const STREAMS: usize = 1_000;

/// A server that has only said that it lives, and one that has rendered a window.
pub(crate) fn idle() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::start(folder.path(), None);
    server.session("one", "worker");
    println!("an idle server holds {:.1} MB", server.memory().0);
    server.client().get("/v1/sessions/one/window");
    println!("  {:.1} MB once it has loaded a tokenizer", server.memory().0);
}

/// Event streams in which nothing happens, on sessions of their own by tens.
pub(crate) fn streams() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::start(folder.path(), None);
    let sessions: Vec<(String, String)> = (0..STREAMS / 10)
        .map(|at| {
            let session = format!("s{at}");
            let token = server.session(&session, "worker");
            (session, token)
        })
        .collect();
    let before = server.memory().0;
    let streams: Vec<_> = (0..STREAMS)
        .map(|at| {
            let (session, token) = &sessions[at % sessions.len()];
            events(server.address, token, session, None).unwrap()
        })
        .collect();
    // It answers others meanwhile.
    server.client().get("/v1/sessions/s0/window");
    let after = server.memory().0;
    println!(
        "{} idle event streams: {before:.1} MB before, {after:.1} MB with them: {:.1} MB more",
        streams.len(),
        after - before
    );
}
