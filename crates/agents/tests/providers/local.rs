//! Looking for servers on this machine.

use std::time::Duration;

use contexture_agents::provider::{LocalPlace, explain, look_for, resolve};
use contexture_testkit::provider::ProviderServer;

#[tokio::test]
async fn a_local_server_is_found_and_named() {
    let server = ProviderServer::scripted([]);
    // A port that was free a moment ago: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = |provider, port| LocalPlace { provider, label: "Ollama", port };
    let places = [place("vllm", free), place("ollama", server.port())];
    let found = look_for(&places, Duration::from_secs(20)).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].place, found[0].models.as_slice()),
        (places[1], &["loopback".to_owned()][..])
    );

    let missing = || resolve("openai/gpt-4o", &|_| None, &Default::default()).unwrap_err();
    let hint = explain(missing(), &found).hint();
    let expected = format!(
        "set OPENAI_API_KEY to your key, or use a server found on this machine: Ollama at \
         http://127.0.0.1:{}/v1: use the model ollama/loopback",
        server.port()
    );
    assert_eq!(hint, expected);
    let hint = explain(missing(), &[]).hint();
    assert!(
        hint.contains("Ollama (port 11434)") && hint.contains("was found on this machine"),
        "{hint}"
    );
}
