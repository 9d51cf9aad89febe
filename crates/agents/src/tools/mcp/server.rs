//! A connection to an MCP server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    ClientServiceExt, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion},
    service::{ClientInitializeError, ClientLifecycleMode, RunningService},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{ChildStderr, Command},
    task::JoinHandle,
};

use super::{McpOptions, answer, program::Program, without_secrets};
use crate::{definition::McpConfig, tools::program::withhold};

/// The longest line of a server's standard error that is kept.
const LINE: u64 = 4 * 1024;

/// The longest event of a server that speaks HTTP; what of it is shown is cut afterwards.
const EVENT: usize = 64 * 1024 * 1024;

/// A server that answers. When it is dropped the connection closes and its program ends.
pub(super) struct Server {
    pub(super) name: String,
    pub(super) service: RunningService<RoleClient, ClientConfig>,
}

impl Server {
    pub(super) async fn start(
        name: &str,
        config: &McpConfig,
        options: &McpOptions,
        said: &Said,
    ) -> Result<Self, String> {
        let service = match config {
            McpConfig::Stdio { command, args, env } => {
                let mut program = Command::new(command);
                withhold(&mut program, &options.withheld);
                program.args(args).envs(env);
                if let Some(folder) = &options.folder {
                    program.current_dir(folder);
                }
                let (transport, errors) = Program::start(program)
                    .map_err(|error| format!("'{command}' cannot be started: {error}"))?;
                if let Some(errors) = errors {
                    said.listen(name, errors);
                }
                ours().serve_with_lifecycle(transport, lifecycle()).await
            }
            McpConfig::Http { url, headers } => {
                let transport = http(url, headers)?;
                ours().serve_with_lifecycle(transport, lifecycle()).await
            }
        };
        let service =
            service.map_err(|error| answer::cut(&without_secrets(&reason(&error)), 500))?;
        Ok(Self { name: name.to_owned(), service })
    }
}

/// Says who we are. We offer a server nothing: no model, no questions to the user, no folders.
fn ours() -> ClientConfig {
    let us = Implementation::new("contexture", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), us)
}

/// The revision without a handshake where the server knows it, else the one with.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

fn http(
    url: &str,
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let mut sent = HashMap::new();
    for (name, value) in headers {
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("'{name}' cannot be the name of a header"))?;
        // The value may be a secret: it is never shown.
        let value = HeaderValue::try_from(value.as_str())
            .map_err(|_| format!("the value of header '{name}' cannot be sent"))?;
        sent.insert(header, value);
    }
    // Whoever comes first installs it; the others find it there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        // Headers are for the address they were given for, and for no other.
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| format!("cannot create an HTTP client: {error}"))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(sent);
    config.max_sse_event_size = EVENT;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Says why a server could not be reached, without the names of our own parts.
fn reason(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            let mut reason = error.error.to_string();
            let mut source = error.error.source();
            while let Some(cause) = source {
                reason = format!("{reason}: {cause}");
                source = cause.source();
            }
            reason
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => reason(fallback),
        other => other.to_string(),
    }
}

/// What a server writes to its standard error: traced, and its last line kept.
#[derive(Debug, Default)]
pub(super) struct Said {
    last: Arc<Mutex<String>>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl Said {
    fn listen(&self, server: &str, errors: ChildStderr) {
        let listener = tokio::spawn(listen(server.to_owned(), errors, self.last.clone()));
        *held(&self.listener) = Some(listener);
    }

    /// Returns the last line of a server that has ended or been given up.
    pub(super) async fn last(&self) -> Option<String> {
        let listener = held(&self.listener).take();
        if let Some(listener) = listener {
            // It ends with the program, unless a child of that holds the pipe open.
            let _ = tokio::time::timeout(Duration::from_secs(1), listener).await;
        }
        let last = held(&self.last);
        (!last.is_empty()).then(|| answer::cut(&last, 300))
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads what a server writes to its standard error until it ends; else it would block some day.
async fn listen(server: String, errors: ChildStderr, last: Arc<Mutex<String>>) {
    let mut reader = BufReader::new(errors);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let line = String::from_utf8_lossy(&line);
                let line = line.trim().replace(char::is_control, " ");
                if !line.is_empty() {
                    tracing::debug!(server, line, "an MCP server says");
                    *held(&last) = line;
                }
            }
        }
    }
}
