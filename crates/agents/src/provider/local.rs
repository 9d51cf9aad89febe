//! Model servers on this machine: looked for where there is no key, or where one of them is not there.

use std::time::Duration;

use reqwest::Url;

use super::{client, json, resolve};
use crate::{error::AgentsError, model::ModelError};

/// Where a model server usually listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPlace {
    /// The provider's name in a model's name.
    pub provider: &'static str,
    /// What it calls itself.
    pub label: &'static str,
    /// Its port.
    pub port: u16,
}

impl LocalPlace {
    /// Returns its address.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

/// Where model servers usually listen.
pub const LOCAL_PLACES: [LocalPlace; 4] = [
    LocalPlace { provider: "ollama", label: "Ollama", port: 11434 },
    LocalPlace { provider: "llamacpp", label: "llama.cpp", port: 8080 },
    LocalPlace { provider: "vllm", label: "vLLM", port: 8000 },
    LocalPlace { provider: "lmstudio", label: "LM Studio", port: 1234 },
];

/// A model server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Where it was found.
    pub place: LocalPlace,
    /// The models it says it has.
    pub models: Vec<String>,
}

/// Looks for model servers where they usually listen, waiting this long for each at most.
pub async fn local_servers(timeout: Duration) -> Vec<LocalServer> {
    look_for(&LOCAL_PLACES, timeout).await
}

/// Looks for model servers in places, all at once. Only what lists its models is one.
pub async fn look_for(places: &[LocalPlace], timeout: Duration) -> Vec<LocalServer> {
    let Ok(http) = client::local_http(timeout) else { return Vec::new() };
    let looks = places.iter().map(|place| look(&http, *place, timeout));
    futures::future::join_all(looks).await.into_iter().flatten().collect()
}

async fn look(http: &reqwest::Client, place: LocalPlace, timeout: Duration) -> Option<LocalServer> {
    let url = format!("{}/models", place.base_url());
    let mut response = http.get(url).timeout(timeout).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > 1 << 20 {
            return None;
        }
    }
    let fields = json::object(std::str::from_utf8(&body).ok()?)?;
    fields.get("data")?;
    let models = json::list_at(&fields, "data");
    let names = models.iter().filter_map(|it| json::text_at(&json::object(it.as_str())?, "id"));
    // Foreign words that will be shown.
    let names = names.filter(|name| !name.is_empty() && !name.chars().any(char::is_control));
    Some(LocalServer { place, models: names.collect() })
}

/// Adds to the error of a missing key, or of a server on this machine that is not there, what to set and
/// which local servers were looked for and found.
pub fn explain(error: AgentsError, found: &[LocalServer]) -> AgentsError {
    let told = describe(found);
    match error {
        AgentsError::Model(ModelError::Key { provider, reason, hint }) => {
            let hint = format!("{hint}, {told}");
            ModelError::Key { provider, reason, hint }.into()
        }
        AgentsError::Model(ModelError::Unreachable { provider, url, reason, .. })
            if is_local(&url) =>
        {
            let hint = format!(
                "start it, set {}_BASE_URL to where it listens, {told}",
                resolve::shout(&provider)
            );
            ModelError::Unreachable { provider, url, reason, hint }.into()
        }
        error => error,
    }
}

/// Tells whether an error is worth looking for local servers.
pub fn explains(error: &AgentsError) -> bool {
    match error {
        AgentsError::Model(ModelError::Key { .. }) => true,
        AgentsError::Model(ModelError::Unreachable { url, .. }) => is_local(url),
        _ => false,
    }
}

fn is_local(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| resolve::is_loopback(&url))
}

fn describe(found: &[LocalServer]) -> String {
    if found.is_empty() {
        let places = LOCAL_PLACES.iter().map(|it| format!("{} (port {})", it.label, it.port));
        let places = places.collect::<Vec<_>>().join(", ");
        return format!("or start a local server: none of {places} was found on this machine");
    }
    let servers = found.iter().map(|LocalServer { place, models }| {
        let model = models.first().map_or("NAME", String::as_str);
        let (label, url) = (place.label, place.base_url());
        format!("{label} at {url}: use the model {}/{model}", place.provider)
    });
    format!("or use a server found on this machine: {}", servers.collect::<Vec<_>>().join("; "))
}
