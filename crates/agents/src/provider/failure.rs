//! Failures of requests: whether to retry, and which error to return in the end.

use std::time::Duration;

use contexture_core::message::{Fields, RawJson};

use super::{Endpoint, json};
use crate::model::ModelError;

/// The most of a provider's words that an error quotes.
const LONGEST: usize = 300;

/// An attempt that failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The network failed or was too slow: asked again.
    Network(String),
    /// Nobody is there: asking again would not help.
    Absent(String),
    /// The provider is busy or failing, or its answer broke off: asked again.
    Passing {
        reason: String,
        /// How long the provider asks to wait.
        wait: Option<Duration>,
    },
    /// Asking again would come to the same.
    Final(ModelError),
}

impl Failure {
    /// Makes a failure of an answer that broke off.
    pub(super) fn broken(reason: impl Into<String>) -> Self {
        Failure::Passing { reason: reason.into(), wait: None }
    }

    /// Returns why, in words.
    pub(super) fn reason(&self) -> String {
        match self {
            Failure::Network(reason) | Failure::Absent(reason) => reason.clone(),
            Failure::Passing { reason, .. } => reason.clone(),
            Failure::Final(error) => error.to_string(),
        }
    }

    /// Makes it the error of that many attempts.
    pub(super) fn into_error(self, endpoint: &Endpoint, attempts: u32) -> ModelError {
        let provider = endpoint.provider().to_owned();
        match self {
            Failure::Network(reason) | Failure::Absent(reason) => {
                let hint = "check that it is running and that the base URL is right, or name another model";
                let (url, hint) = (endpoint.base_url().to_owned(), hint.to_owned());
                ModelError::Unreachable { provider, url, reason, hint }
            }
            Failure::Passing { reason, .. } => ModelError::Failing { provider, attempts, reason },
            Failure::Final(error) => error,
        }
    }
}

/// An error as a provider reports it, in any of their formats.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ProviderError {
    message: String,
    /// Its `type` or `status`.
    kind: String,
    code: String,
}

impl ProviderError {
    /// Reads the error out of a body, where there is one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let listed: Option<Vec<RawJson>> = serde_json::from_str(text).ok();
        let first = listed.and_then(|list| list.into_iter().next());
        let fields = json::object(first.as_ref().map_or(text, RawJson::as_str))?;
        let bare = || {
            let message =
                ["message", "detail"].iter().find_map(|name| json::text_at(&fields, name));
            Some(Self { message: message?, ..Self::inner(&fields) })
        };
        Self::of(&fields).or_else(bare)
    }

    /// Returns the error among the fields of an answer or event.
    pub(super) fn of(fields: &Fields) -> Option<Self> {
        if json::text_at(fields, "object").is_some_and(|object| object == "error") {
            return Some(Self::inner(fields));
        }
        let error = fields.get("error").filter(|error| error.as_str() != "null")?;
        match json::object(error.as_str()) {
            Some(inner) => Some(Self::inner(&inner)),
            None => Some(Self { message: json::text(error)?, ..Self::default() }),
        }
    }

    fn inner(fields: &Fields) -> Self {
        let word = |name| {
            let raw: &RawJson = fields.get(name)?;
            json::text(raw).or_else(|| raw.read::<u64>().ok().map(|number| number.to_string()))
        };
        Self {
            message: word("message").unwrap_or_default(),
            kind: word("type").or_else(|| word("status")).unwrap_or_default(),
            code: word("code").unwrap_or_default(),
        }
    }

    /// Returns the HTTP status that an error within an answer stands for.
    fn status(&self) -> u16 {
        match self.kind.as_str() {
            "invalid_request_error" | "exceed_context_size_error" | "INVALID_ARGUMENT" => 400,
            "authentication_error" | "UNAUTHENTICATED" => 401,
            "permission_error" | "PERMISSION_DENIED" => 403,
            "not_found_error" | "NOT_FOUND" => 404,
            "request_too_large" => 413,
            "rate_limit_error" | "RESOURCE_EXHAUSTED" => 429,
            "overloaded_error" => 529,
            _ => match self.code.as_str() {
                "context_length_exceeded" => 400,
                "insufficient_quota" | "rate_limit_exceeded" => 429,
                code => code.parse().ok().filter(|code| (400..600).contains(code)).unwrap_or(500),
            },
        }
    }

    fn is_context_length(&self, status: u16) -> bool {
        if status == 413 || self.code == "context_length_exceeded" {
            return true;
        }
        let message = self.message.to_lowercase();
        let says = |words: &[&str]| words.iter().all(|word| message.contains(word));
        self.kind == "exceed_context_size_error"
            || matches!(status, 400 | 422)
                && (says(&["prompt is too long"])
                    || says(&["maximum context length"])
                    || says(&["exceed", "context limit"])
                    || says(&["exceed", "context size"])
                    || says(&["exceed", "context window"])
                    || says(&["exceed", "context length"])
                    || says(&["input token count", "exceed"]))
    }
}

/// Judges an answer that is an error.
pub(super) fn judge(
    endpoint: &Endpoint,
    status: u16,
    wait: Option<Duration>,
    body: &str,
) -> Failure {
    match ProviderError::read(body) {
        Some(error) => judge_provider_error(endpoint, status, wait, &error),
        None => judge_words(endpoint, status, wait, body),
    }
}

/// Judges an error that came within an answer.
pub(super) fn judge_event(endpoint: &Endpoint, error: &ProviderError) -> Failure {
    judge_provider_error(endpoint, error.status(), None, error)
}

/// Judges an answer that is not this kind of API's at all.
pub(super) fn judge_stranger(endpoint: &Endpoint, body: &str) -> Failure {
    let reason = match quote(endpoint, body) {
        words if words.is_empty() => "the body is empty".to_owned(),
        words => format!("it begins with: {words}"),
    };
    Failure::Final(ModelError::BadAnswer { provider: endpoint.provider().to_owned(), reason })
}

fn judge_provider_error(
    endpoint: &Endpoint,
    status: u16,
    wait: Option<Duration>,
    error: &ProviderError,
) -> Failure {
    let provider = endpoint.provider().to_owned();
    let words = [&error.message, &error.kind, &error.code].into_iter().find(|it| !it.is_empty());
    let reason = match words {
        Some(words) => quote(endpoint, words),
        None => format!("status {status}"),
    };
    if error.is_context_length(status) {
        return Failure::Final(ModelError::ContextLength { provider, reason });
    }
    let refuses_key = status == 400 && error.message.to_lowercase().contains("api key not valid");
    if matches!(status, 401 | 403) || refuses_key {
        return Failure::Final(refused_key(endpoint, &reason));
    }
    // An empty account fills no sooner for being asked again.
    if is_passing(status) && error.code != "insufficient_quota" {
        return Failure::Passing { reason: format!("{reason} ({status})"), wait };
    }
    Failure::Final(ModelError::Refused { provider, status, reason })
}

/// Judges an error without JSON: a page of a proxy, or a line of a server that knows no such path.
fn judge_words(endpoint: &Endpoint, status: u16, wait: Option<Duration>, body: &str) -> Failure {
    let words = quote(endpoint, body);
    let reason = if words.is_empty() { format!("status {status}") } else { words };
    let strange = status == 404 || body.trim_start().starts_with('<');
    match status {
        401 | 403 => Failure::Final(refused_key(endpoint, &reason)),
        status if is_passing(status) => {
            Failure::Passing { reason: format!("{reason} ({status})"), wait }
        }
        413 => Failure::Final(ModelError::ContextLength {
            provider: endpoint.provider().to_owned(),
            reason,
        }),
        status if strange => Failure::Final(ModelError::BadAnswer {
            provider: endpoint.provider().to_owned(),
            reason: format!("{reason} ({status})"),
        }),
        status => Failure::Final(ModelError::Refused {
            provider: endpoint.provider().to_owned(),
            status,
            reason,
        }),
    }
}

fn refused_key(endpoint: &Endpoint, reason: &str) -> ModelError {
    let (reason, hint) = match endpoint.key() {
        Some(_) => (
            format!("the key was refused: {reason}"),
            format!("set {} to a key that is valid there", endpoint.key_env()),
        ),
        None => (format!("no key is set: {reason}"), format!("set {}", endpoint.key_env())),
    };
    ModelError::Key { provider: endpoint.provider().to_owned(), reason, hint }
}

fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..)
}

/// Quotes foreign words in one line: shortened, no control characters, no key.
pub(super) fn quote(endpoint: &Endpoint, text: &str) -> String {
    // Redacting comes first: a cut through the key would leave half of it.
    let text = endpoint.key().map_or_else(|| text.to_owned(), |key| key.redact(text));
    let mut words = String::new();
    let mut count = 0;
    for char in text.chars().map(|char| if is_unseen(char) { ' ' } else { char }) {
        if char.is_whitespace() && (words.is_empty() || words.ends_with(' ')) {
            continue;
        }
        if count == LONGEST {
            words.push('…');
            break;
        }
        words.push(if char.is_whitespace() { ' ' } else { char });
        count += 1;
    }
    words.truncate(words.trim_end().len());
    words
}

/// Tells whether a character could change how a terminal shows the rest.
fn is_unseen(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
