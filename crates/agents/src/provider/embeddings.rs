//! Embeddings: vectors of texts from an OpenAI-compatible endpoint, for searches.
//!
//! Everything that is sent and what may come back follows the rules of models: keys, addresses, sizes, retries. What is
//! sent are texts of the user's sessions, so a project's files cannot have it sent anywhere but to this machine.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use contexture_search::{Embedder, EmbedderError};
use serde::{Deserialize, Serialize};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
    time::timeout,
};

use super::{
    Endpoint, ProviderKind, Retry, Timeouts,
    client::{Client, cause},
    failure::{self, Failure},
    resolve,
};
use crate::{
    AgentsError, Result,
    model::ModelError,
    settings::{Embeddings, Settings, Source},
};

/// The most bytes an answer may have.
const LARGEST: usize = 16 << 20;

/// A search does not wait long.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(10),
    plain: Duration::from_secs(30),
};

/// Nor does it ask often.
const RETRY: Retry = Retry {
    attempts: 2,
    first: Duration::from_millis(100),
    longest: Duration::from_secs(1),
    seed: 0,
};

/// Finds where the settings have texts embedded; none where they do not.
///
/// A project comes from others: its settings may name a server on this machine and nothing else, whoever says what the
/// provider's address is.
pub fn resolve_embeddings(
    variable: &dyn Fn(&str) -> Option<String>,
    settings: &Settings,
) -> Result<Option<Endpoint>> {
    let Some(set) = &settings.embeddings else { return Ok(None) };
    let Embeddings::Model(model) = &set.value else { return Ok(None) };
    let endpoint = resolve(model, variable, &settings.providers)?;
    if endpoint.kind() != ProviderKind::OpenAi {
        return Err(AgentsError::Invalid {
            what: format!(
                "search.embeddings names {model}, which has no OpenAI-compatible embeddings"
            ),
            hint:
                "name a model of an OpenAI-compatible provider, as in openai/text-embedding-3-small"
                    .to_owned(),
        });
    }
    let from_project = matches!(set.source, Source::Project(_))
        || (endpoint.is_from_settings()
            && settings.project_providers.contains(endpoint.provider()));
    if from_project && !endpoint.is_local() {
        return Err(AgentsError::Denied {
            what: format!(
                "the project's settings want what is said in sessions sent to {}",
                endpoint.base_url()
            ),
            hint: "if you want that, set search.embeddings and the provider's address in your own settings"
                .to_owned(),
        });
    }
    Ok(Some(endpoint))
}

/// Connects to a model that embeds. Nothing is sent before it is asked.
pub fn connect_embeddings(endpoint: Endpoint) -> Arc<dyn Embedder> {
    let name = endpoint.name();
    let asker = Arc::new(Asker { client: Client::new(endpoint, TIMEOUTS, RETRY) });
    Arc::new(EmbeddingClient { name, asker })
}

/// Stands for a model that cannot be asked: searches say why.
pub fn no_embeddings(reason: impl Into<String>) -> Arc<dyn Embedder> {
    Arc::new(NoEmbeddings { reason: reason.into() })
}

struct EmbeddingClient {
    name: String,
    /// Shared with the request that is on its way.
    asker: Arc<Asker>,
}

struct Asker {
    client: Client,
}

/// A request on its way, which ends when nobody waits for it any more.
struct Waiting<T>(JoinHandle<T>);

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the runtime that requests are made on: a search may run under any executor.
fn runtime() -> Result<&'static Runtime, EmbedderError> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let start = || {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("contexture-embeddings")
            .enable_all()
            .build();
        runtime.map_err(|error| format!("a thread for requests cannot be started: {error}"))
    };
    let unavailable = |reason: &String| EmbedderError::Unavailable { reason: reason.clone() };
    RUNTIME.get_or_init(start).as_ref().map_err(unavailable)
}

#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Deserialize)]
struct EmbeddingAnswer {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Asker {
    async fn attempt(&self, body: &str) -> Result<Vec<EmbeddingItem>, Failure> {
        let client = &self.client;
        let http = client.http()?;
        let url = format!("{}/embeddings", client.endpoint().base_url());
        let sent = http.post(url).headers(client.headers(false)?).body(body.to_owned()).send();
        let response = match timeout(TIMEOUTS.plain, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(client.lost(&error)),
            Err(_) => {
                return Err(Failure::Network(format!("no answer within {:?}", TIMEOUTS.plain)));
            }
        };
        if !response.status().is_success() {
            return Err(client.refused(response).await);
        }
        self.read(response).await
    }

    /// Asks until there is an answer, or asking again would not help.
    async fn ask(&self, body: &str) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let name = self.client.endpoint().name();
        let mut attempt = 1;
        let mut items = loop {
            let failure = match self.attempt(body).await {
                Ok(items) => break items,
                Err(failure) => failure,
            };
            let unavailable =
                |error: ModelError| EmbedderError::Unavailable { reason: error.to_string() };
            let (wait, failure) = self.client.next_wait(attempt, failure).map_err(unavailable)?;
            tracing::debug!(model = %name, attempt, reason = %failure.reason(), ?wait, "asking again");
            tokio::time::sleep(wait).await;
            attempt += 1;
        };
        // Servers that number their answers may give them in any order.
        if items.iter().all(|item| item.index.is_some()) {
            items.sort_by_key(|item| item.index);
            if !items.iter().zip(0..).all(|(item, at)| item.index == Some(at)) {
                let reason = format!("{name} numbered its vectors twice or with gaps");
                return Err(EmbedderError::Unavailable { reason });
            }
        }
        Ok(items.into_iter().map(|item| item.embedding).collect())
    }

    async fn read(&self, mut response: reqwest::Response) -> Result<Vec<EmbeddingItem>, Failure> {
        let mut body = Vec::new();
        loop {
            match timeout(TIMEOUTS.idle, response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    let reason = format!("the answer was cut off: {}", cause(&error));
                    return Err(Failure::broken(reason));
                }
                Err(_) => {
                    let reason = format!("the answer stalled for {:?}", TIMEOUTS.idle);
                    return Err(Failure::broken(reason));
                }
            }
            self.client.check_size(body.len(), LARGEST)?;
        }
        let read: Result<EmbeddingAnswer, _> = serde_json::from_slice(&body);
        read.map(|answer| answer.data).map_err(|_| {
            failure::judge_stranger(self.client.endpoint(), &String::from_utf8_lossy(&body))
        })
    }
}

#[async_trait]
impl Embedder for EmbeddingClient {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let model = self.asker.client.endpoint().model();
        let request = EmbeddingRequest { model, input: texts };
        let body = serde_json::to_string(&request).expect("texts are always JSON");
        let asker = self.asker.clone();
        let asked = runtime()?.spawn(async move { asker.ask(&body).await });
        let mut waiting = Waiting(asked);
        (&mut waiting.0).await.unwrap_or_else(|error| {
            Err(EmbedderError::Unavailable { reason: format!("the request was aborted: {error}") })
        })
    }
}

struct NoEmbeddings {
    reason: String,
}

#[async_trait]
impl Embedder for NoEmbeddings {
    fn name(&self) -> &str {
        ""
    }

    async fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedderError> {
        Err(EmbedderError::Unavailable { reason: self.reason.clone() })
    }
}

#[cfg(test)]
#[path = "embeddings_tests.rs"]
mod tests;
