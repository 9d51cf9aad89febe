//! Providers, against a server on loopback that speaks like all of them and is stricter.

mod answers;
mod body;
mod embeddings;
mod failures;
mod local;
mod round_trip;
mod streams;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contexture_agents::{
    Answer, Model, ModelError, ModelEvent, ModelRequest, ToolSpec,
    provider::{Endpoint, Retry, Timeouts, connect, resolve},
};
use contexture_core::message::RawJson;
use contexture_testkit::provider::ProviderServer;

/// A model of each kind, all at the same server.
const MODELS: [&str; 3] = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-3-flash"];

/// The key tests use.
const KEY: &str = "sk-test-4711-secret";

/// A tool with a schema whose bytes are easy to lose.
fn tool(name: &str) -> ToolSpec {
    let schema =
        r#"{"type":"object",  "properties":{"z":{"type":"string"},"a":{"type":"integer"}}}"#;
    ToolSpec {
        name: name.to_owned(),
        description: format!("Tool \"{name}\"."),
        schema: RawJson::new(schema).unwrap(),
    }
}

/// A window of one question, in the way of a model.
fn window(model: &str) -> String {
    match model.split('/').next().unwrap() {
        "anthropic" => r#"{"messages":[{"role":"user","content":[{"type":"text","text":"é?"}]}]}"#,
        "gemini" => r#"{"contents":[{"role":"user","parts":[{"text":"é?"}]}]}"#,
        _ => r#"{"messages":[{"role":"user","content":"é?"}]}"#,
    }
    .to_owned()
}

fn request(model: &str, stream: bool) -> ModelRequest {
    ModelRequest {
        window: window(model),
        tools: vec![tool("read_page"), tool("search")],
        max_tokens: Some(500),
        temperature: Some(0.25),
        effort: None,
        stream,
    }
}

fn endpoint(server: &ProviderServer, model: &str) -> Endpoint {
    let url = server.url();
    let env = |name: &str| match name {
        name if name.ends_with("_BASE_URL") => Some(url.clone()),
        name if name.ends_with("_API_KEY") => Some(KEY.to_owned()),
        _ => None,
    };
    resolve(model, &env, &BTreeMap::new()).unwrap()
}

/// A model that asks again at once, and is patient.
fn model(server: &ProviderServer, name: &str) -> Arc<dyn Model> {
    model_with(server, name, Timeouts::default())
}

fn model_with(server: &ProviderServer, name: &str, timeouts: Timeouts) -> Arc<dyn Model> {
    let retry = Retry { first: Duration::ZERO, ..Retry::default() };
    connect(endpoint(server, name), timeouts, retry)
}

/// Asks a model, and returns what it told on the way too.
async fn ask(
    model: &dyn Model,
    request: &ModelRequest,
) -> (Result<Answer, ModelError>, Vec<ModelEvent>) {
    let mut events = Vec::new();
    let answer = model.answer(request, &mut |event| events.push(event)).await;
    (answer, events)
}

/// The texts told, joined.
fn event_text(events: &[ModelEvent]) -> String {
    let text = |event: &ModelEvent| match event {
        ModelEvent::Text(text) => text.clone(),
        _ => String::new(),
    };
    events.iter().map(text).collect()
}

fn retries(events: &[ModelEvent]) -> usize {
    events.iter().filter(|event| matches!(event, ModelEvent::Retry { .. })).count()
}
