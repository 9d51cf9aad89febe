//! The client: sends a request, reads its answer, and asks again where that helps.

use std::{error::Error as _, io, sync::Once, time::Duration};

use async_trait::async_trait;
use contexture_core::{Message, ProviderFormat, Role, Usage, message::Origin};
use reqwest::{
    Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    Endpoint, ProviderKind, Retry, Timeouts,
    anthropic::AnthropicReader,
    body,
    failure::{self, Failure},
    gemini::GeminiReader,
    openai::OpenAiReader,
    patience::Patience,
    read::{EventSink, Fault, Finished, Progress, Reader},
    redact::Redactor,
    sse::Events,
};
use crate::model::{Answer, Model, ModelError, ModelEvent, ModelRequest};

/// The most bytes an answer may have.
const LARGEST_ANSWER: usize = 64 << 20;

/// The most bytes of an error that are read.
const LARGEST_ERROR: usize = 64 << 10;

/// A model at an endpoint.
pub(super) struct Client {
    endpoint: Endpoint,
    name: String,
    /// The HTTP client, or why there is none.
    http: Result<reqwest::Client, String>,
    timeouts: Timeouts,
    retry: Retry,
}

impl Client {
    pub(super) fn new(endpoint: Endpoint, timeouts: Timeouts, retry: Retry) -> Self {
        let plain = endpoint.base_url().starts_with("http://");
        let http = http(timeouts.connect, plain, endpoint.is_local());
        Self {
            name: endpoint.name(),
            http: http.map_err(|it| cause(&it)),
            endpoint,
            timeouts,
            retry,
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the HTTP client.
    pub(super) fn http(&self) -> Result<&reqwest::Client, Failure> {
        self.http.as_ref().map_err(|reason| Failure::Absent(reason.clone()))
    }

    async fn attempt(
        &self,
        body: String,
        request: &ModelRequest,
        emit: EventSink<'_>,
    ) -> Result<Answer, Failure> {
        let sent =
            self.http()?.post(self.url(request.stream)).headers(self.headers(request.stream)?);
        let patience = if request.stream { self.timeouts.first_byte } else { self.timeouts.plain };
        let response = match timeout(patience, sent.body(body).send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.lost(&error)),
            Err(_) => return Err(Failure::Network(format!("no answer within {patience:?}"))),
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let content_type = header(&response, &CONTENT_TYPE).unwrap_or_default().to_lowercase();
        let finished = if content_type.starts_with("text/event-stream") {
            self.read_stream(response, request, emit).await?
        } else {
            self.read_plain(response, request, emit).await?
        };
        Ok(self.answer_of(finished))
    }

    fn reader(&self, request: &ModelRequest) -> Box<dyn Reader> {
        match self.endpoint.kind() {
            ProviderKind::OpenAi => Box::new(OpenAiReader::new(&request.window)),
            ProviderKind::Anthropic => Box::new(AnthropicReader::default()),
            ProviderKind::Gemini => Box::new(GeminiReader::new(&request.window)),
        }
    }

    async fn read_stream(
        &self,
        mut response: Response,
        request: &ModelRequest,
        emit: EventSink<'_>,
    ) -> Result<Finished, Failure> {
        let mut reader = self.reader(request);
        let mut events = Events::default();
        let (mut size, mut patience) = (0, Patience::new(self.timeouts));
        loop {
            // Comments keep a connection alive and say nothing: waiting goes on.
            let lost = match timeout_at(patience.ends(), response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    size += bytes.len();
                    self.check_size(size, LARGEST_ANSWER)?;
                    for data in events.push(&bytes) {
                        self.feed(reader.as_mut(), &data, emit)?;
                        if reader.progress() == Progress::Closed {
                            return Ok(reader.finish());
                        }
                        patience.heard(data);
                    }
                    continue;
                }
                Ok(Ok(None)) => {
                    if let Some(data) = events.end() {
                        self.feed(reader.as_mut(), &data, emit)?;
                    }
                    "the stream ended before the answer did".to_owned()
                }
                Ok(Err(error)) => format!("the stream was cut off: {}", cause(&error)),
                Err(_) => format!("the stream stalled for {:?}", patience.spent()),
            };
            return match reader.progress() {
                Progress::Open => Err(Failure::broken(lost)),
                Progress::Complete | Progress::Closed => Ok(reader.finish()),
            };
        }
    }

    async fn read_plain(
        &self,
        mut response: Response,
        request: &ModelRequest,
        emit: EventSink<'_>,
    ) -> Result<Finished, Failure> {
        let mut body = Vec::new();
        let mut wait = self.timeouts.plain;
        let mut ends = Instant::now() + wait;
        loop {
            match timeout_at(ends, response.chunk()).await {
                Ok(Ok(Some(bytes))) if body.is_empty() => {
                    // Blank lines before an answer keep a connection alive and say nothing.
                    body.extend_from_slice(bytes.trim_ascii_start());
                }
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    return Err(Failure::broken(format!(
                        "the answer was cut off: {}",
                        cause(&error)
                    )));
                }
                Err(_) => {
                    return Err(Failure::broken(format!("the answer stalled for {wait:?}")));
                }
            }
            self.check_size(body.len(), LARGEST_ANSWER)?;
            if !body.is_empty() {
                wait = self.timeouts.idle;
                ends = Instant::now() + wait;
            }
        }
        let text = String::from_utf8_lossy(&body);
        let mut reader = self.reader(request);
        if !text.trim_start().starts_with('{') {
            return Err(failure::judge_stranger(&self.endpoint, &text));
        }
        self.feed(reader.as_mut(), text.as_bytes(), emit)?;
        match reader.progress() {
            Progress::Open => Err(failure::judge_stranger(&self.endpoint, &text)),
            Progress::Complete | Progress::Closed => Ok(reader.finish()),
        }
    }

    fn feed(
        &self,
        reader: &mut dyn Reader,
        data: &[u8],
        emit: EventSink<'_>,
    ) -> Result<(), Failure> {
        let data = std::str::from_utf8(data)
            .map_err(|_| Failure::broken("an event of the stream is not UTF-8"))?;
        if data.trim().is_empty() {
            return Ok(());
        }
        reader.read(data, emit).map_err(|fault| match fault {
            Fault::Provider(error) => failure::judge_event(&self.endpoint, &error),
            Fault::Broken(reason) => {
                let data = failure::quote(&self.endpoint, data);
                Failure::broken(format!("the answer cannot be read ({reason}): {data}"))
            }
        })
    }

    pub(super) fn check_size(&self, size: usize, largest: usize) -> Result<(), Failure> {
        if size <= largest {
            return Ok(());
        }
        let provider = self.endpoint.provider().to_owned();
        let reason = format!("it has more than {largest} bytes");
        Err(Failure::Final(ModelError::BadAnswer { provider, reason }))
    }

    /// Judges an answer whose status is no success.
    pub(super) async fn refused(&self, mut response: Response) -> Failure {
        let status = response.status();
        if status.is_redirection() {
            let to = header(&response, &LOCATION).unwrap_or_default();
            let to = failure::quote(&self.endpoint, &to);
            // A key must not follow to wherever an answer points.
            let reason =
                format!("a redirect ({}) to {to}, which was not followed", status.as_u16());
            let provider = self.endpoint.provider().to_owned();
            return Failure::Final(ModelError::BadAnswer { provider, reason });
        }
        let wait = wait_asked(response.headers());
        let mut body = Vec::new();
        // What arrived is judged, also when the rest does not.
        while let Ok(Ok(Some(bytes))) = timeout(self.timeouts.idle, response.chunk()).await {
            body.extend_from_slice(&bytes);
            if body.len() >= LARGEST_ERROR {
                body.truncate(LARGEST_ERROR);
                break;
            }
        }
        failure::judge(&self.endpoint, status.as_u16(), wait, &String::from_utf8_lossy(&body))
    }

    /// Judges a request that got no answer.
    pub(super) fn lost(&self, error: &reqwest::Error) -> Failure {
        let reason = cause(error);
        if error.is_connect() && error.is_timeout() {
            return Failure::Network(format!("no connection within {:?}", self.timeouts.connect));
        }
        // On this machine nobody will listen a second later either.
        if is_refused(error) && self.endpoint.is_local() {
            return Failure::Absent(reason);
        }
        Failure::Network(reason)
    }

    fn answer_of(&self, finished: Finished) -> Answer {
        let Finished { parts, extra, usage, stop } = finished;
        let message = Message {
            role: Role::Assistant,
            author: None,
            at: None,
            origin: Some(Origin {
                provider: self.format().as_str().to_owned(),
                model: Some(self.name.clone()),
            }),
            parts,
            extra,
        };
        let usage = usage.map(|usage| Usage {
            model: usage.model.or_else(|| Some(self.endpoint.model().to_owned())),
            ..usage
        });
        Answer { message, usage, stop }
    }

    fn url(&self, stream: bool) -> String {
        let base = self.endpoint.base_url();
        match self.endpoint.kind() {
            ProviderKind::OpenAi => format!("{base}/chat/completions"),
            ProviderKind::Anthropic => format!("{base}/v1/messages"),
            ProviderKind::Gemini => {
                let model = self.endpoint.model();
                let folder = if model.contains('/') { "" } else { "models/" };
                let method =
                    if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
                format!("{base}/v1beta/{folder}{model}:{method}")
            }
        }
    }

    pub(super) fn headers(&self, stream: bool) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if stream { "text/event-stream" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if self.endpoint.kind() == ProviderKind::Anthropic {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static("2023-06-01"));
        }
        let Some(key) = self.endpoint.key() else { return Ok(headers) };
        let (name, value) = match self.endpoint.kind() {
            ProviderKind::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.reveal())),
            ProviderKind::Anthropic => {
                (HeaderName::from_static("x-api-key"), key.reveal().to_owned())
            }
            ProviderKind::Gemini => {
                (HeaderName::from_static("x-goog-api-key"), key.reveal().to_owned())
            }
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            Failure::Final(ModelError::Key {
                provider: self.endpoint.provider().to_owned(),
                reason: "the key contains characters that a header cannot carry".to_owned(),
                hint: format!("set {} to the key alone", self.endpoint.key_env()),
            })
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    /// Returns how long to wait before the next attempt, or the error if there is none.
    pub(super) fn next_wait(
        &self,
        attempt: u32,
        failure: Failure,
    ) -> Result<(Duration, Failure), ModelError> {
        let asked = match &failure {
            Failure::Network(_) => None,
            Failure::Passing { wait, .. } => *wait,
            Failure::Absent(_) | Failure::Final(_) => {
                return Err(failure.into_error(&self.endpoint, attempt));
            }
        };
        let longest = self.retry.longest;
        if let Some(asked) = asked.filter(|asked| *asked > longest) {
            let reason = format!("{}; it asks to wait {asked:?}", failure.reason());
            let failure = Failure::Passing { reason, wait: None };
            return Err(failure.into_error(&self.endpoint, attempt));
        }
        if attempt >= self.retry.attempts {
            return Err(failure.into_error(&self.endpoint, attempt));
        }
        Ok((asked.unwrap_or_else(|| self.retry.wait(attempt)), failure))
    }
}

#[async_trait]
impl Model for Client {
    fn name(&self) -> &str {
        &self.name
    }

    fn format(&self) -> ProviderFormat {
        self.endpoint.format()
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        events: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError> {
        let body = body::body(&self.endpoint, request).ok_or_else(|| ModelError::Refused {
            provider: self.endpoint.provider().to_owned(),
            status: 400,
            reason: "the window is not a JSON object with fields".to_owned(),
        })?;
        let mut attempt = 1;
        let mut redactor = Redactor::new(self.endpoint.key());
        loop {
            let attempted = {
                let mut emit = |event| redactor.emit(event, events);
                self.attempt(body.clone(), request, &mut emit).await
            };
            let failure = match attempted {
                Ok(answer) => return Ok(redactor.finish(answer, events)),
                Err(failure) => failure,
            };
            redactor.restart();
            let (wait, failure) = self.next_wait(attempt, failure)?;
            let reason = failure.reason();
            tracing::debug!(model = %self.name, attempt, %reason, ?wait, "asking again");
            events(ModelEvent::Retry { reason, wait });
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    fn head(&self, request: &ModelRequest) -> String {
        body::head(&self.endpoint, request)
    }
}

/// Makes an HTTP client for addresses on this machine.
pub(super) fn local_http(connect: Duration) -> reqwest::Result<reqwest::Client> {
    http(connect, true, true)
}

/// Makes an HTTP client: `plain` never needs TLS, `local` never goes through a proxy.
fn http(connect: Duration, plain: bool, local: bool) -> reqwest::Result<reqwest::Client> {
    static TLS: Once = Once::new();
    // Whoever installed a provider before has made the choice.
    TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("contexture/", env!("CARGO_PKG_VERSION")));
    if plain {
        // A machine without certificates can still speak to itself.
        builder = builder.tls_certs_only([]);
    }
    if local {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn header(response: &Response, name: &HeaderName) -> Option<String> {
    Some(String::from_utf8_lossy(response.headers().get(name)?.as_bytes()).into_owned())
}

/// Returns how long a provider asks to wait, where it says so in seconds.
fn wait_asked(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|it| it / 1_000.0).or(number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns what is at the bottom of an error: the layers above only say that there is one.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn is_refused(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            return true;
        }
        source = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_seconds() {
        let asked = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            wait_asked(&headers)
        };
        assert_eq!(asked("retry-after", " 2 "), Some(Duration::from_secs(2)));
        assert_eq!(asked("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(asked("retry-after-ms", "20"), Some(Duration::from_millis(20)));
        for strange in ["-1", "NaN", "inf", "1e300", "Wed, 21 Oct 2026 07:28:00 GMT", ""] {
            assert_eq!(asked("retry-after", strange), None, "{strange}");
        }
    }
}
