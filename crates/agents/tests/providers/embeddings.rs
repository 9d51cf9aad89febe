//! Vectors of texts: what is sent, what comes back, and what goes wrong, never with the key.

use std::{collections::BTreeMap, sync::Arc};

use contexture_agents::provider::{connect_embeddings, resolve};
use contexture_search::{Embedder, EmbedderError};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::{KEY, endpoint};

fn embedder(server: &ProviderServer) -> Arc<dyn Embedder> {
    connect_embeddings(endpoint(server, "openai/text-embedding-3-small"))
}

/// A vector that says where its text stood.
fn numbered(count: usize) -> Vec<Vec<f32>> {
    (0..count).map(|at| vec![at as f32, 1.5]).collect()
}

#[tokio::test]
async fn texts_go_out_and_vectors_come_back_in_order() {
    let server =
        ProviderServer::answering(|request| Reply::embeddings(&numbered(request.texts().len())));
    let server = server.requiring_key(KEY);
    let embedder = embedder(&server);
    assert_eq!(embedder.name(), "openai/text-embedding-3-small");
    let texts = ["one", "zwei \"é\"\n", "三"];
    // The server gives the last first.
    assert_eq!(embedder.embed(&texts).await.unwrap(), numbered(3));
    let [request] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(request.path, "/v1/embeddings");
    assert_eq!(request.texts(), texts);
    assert_eq!(request.model(), "text-embedding-3-small");
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn vectors_without_numbers_are_taken_as_they_come() {
    let body = r#"{"data":[{"embedding":[1,2]},{"embedding":[-3.5e-1,4]}],"usage":{}}"#;
    let server = ProviderServer::scripted([Reply::raw(200, "application/json", body)]);
    let vectors = embedder(&server).embed(&["a", "b"]).await.unwrap();
    assert_eq!(vectors, [[1.0, 2.0], [-0.35, 4.0]]);
}

#[tokio::test]
async fn what_passes_is_asked_again_once() {
    let server = ProviderServer::scripted([Reply::status(503), Reply::embeddings(&numbered(1))]);
    assert_eq!(embedder(&server).embed(&["a"]).await.unwrap(), numbered(1));
    let server = ProviderServer::answering(|_| Reply::status(429));
    assert!(embedder(&server).embed(&["a"]).await.is_err());
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn answers_that_are_none_are_refused() {
    let json = |body: &str| Reply::raw(200, "application/json", body);
    let large = format!(r#"{{"data":[{{"embedding":[{}1]}}]}}"#, "1,".repeat(9 << 20));
    for reply in [
        json("{}"),
        json("[]"),
        json(""),
        json(r#"{"data":[{"index":0,"embedding":[1e999]}]}"#),
        json(r#"{"data":[{"index":0,"embedding":[null]}]}"#),
        json(r#"{"data":[{"index":0,"embedding":[NaN]}]}"#),
        json(r#"{"data":[{"index":0,"embedding":"AAAA"}]}"#),
        json(r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#),
        json(r#"{"data":[{"index":7,"embedding":[1]}]}"#),
        json(&large),
        Reply::html(),
        Reply::redirect("http://127.0.0.1:1/v1/embeddings"),
        Reply::failing(401, &format!("the key {KEY} is not valid")),
        Reply::failing(400, &format!("no such model for {KEY}")),
    ] {
        let server = ProviderServer::scripted([reply]);
        let answered = embedder(&server).embed(&["a"]).await;
        let Err(EmbedderError::Unavailable { reason }) = answered else { panic!("{answered:?}") };
        assert!(!reason.contains(KEY), "{reason}");
        assert!(reason.contains("openai") && reason.len() < 1_000, "{reason}");
        assert_eq!(server.requests().len(), 1, "{reason}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_said_to_be() {
    let url = ProviderServer::scripted([]).url();
    let env = |name: &str| (name == "OPENAI_BASE_URL").then(|| url.clone());
    let endpoint = resolve("openai/e", &env, &BTreeMap::new()).unwrap();
    let error = connect_embeddings(endpoint).embed(&["a"]).await.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}
