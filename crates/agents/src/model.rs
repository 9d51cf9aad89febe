//! The seam to model providers: one request, one answer, told piece by piece.

use std::time::Duration;

use async_trait::async_trait;
use contexture_core::{ErrorKind, Format, Message, ProviderFormat, Usage};

use crate::tool::ToolSpec;

/// A model behind a provider's API.
///
/// For implementers: `answer` sends one request and returns the whole answer. What arrives on the
/// way is told to `events`, in order. Retries of what can be retried happen inside, are told, and
/// begin the answer anew. Dropping the future cancels the request. Keys appear in no error, no log and no
/// answer, whatever a provider quotes.
#[async_trait]
pub trait Model: Send + Sync {
    /// Returns the name with its provider: `openai/gpt-4o`.
    fn name(&self) -> &str;

    /// Returns how its requests are written.
    fn format(&self) -> ProviderFormat;

    /// Asks the model.
    async fn answer(
        &self,
        request: &ModelRequest,
        events: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError>;

    /// Returns the window format of its requests.
    fn window_format(&self) -> Format {
        Format::Provider(self.format())
    }

    /// Returns what stands before the window in a request, as bytes: tools, model, thinking
    /// settings. It is block 0 of the ledger.
    fn head(&self, request: &ModelRequest) -> String;
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The window: a fragment of the provider's body, rendered and validated by the core.
    pub window: String,
    /// The tools the model may call, in a fixed order.
    pub tools: Vec<ToolSpec>,
    /// The most tokens the answer may have.
    pub max_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// How hard the model is to think, in the provider's word for it; said to models that know it.
    pub effort: Option<String>,
    /// Whether to ask for the answer as a stream.
    pub stream: bool,
}

/// What arrives while a model answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of the model's reasoning.
    Thinking(String),
    /// A tool call begins.
    ToolCall(String),
    /// The request failed and is sent again; what was told so far is void.
    Retry {
        /// Why the request failed.
        reason: String,
        /// How long to wait before it is sent again.
        wait: Duration,
    },
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it said: role assistant, with origin, tool calls and opaque parts kept as they came.
    pub message: Message,
    /// What the provider charged, where it says so.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub stop: Stop,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The model was done.
    End,
    /// It wants tools called.
    ToolCalls,
    /// The answer reached its limit of tokens.
    Length,
    /// The provider refused or filtered it, in its words.
    Refused(String),
}

/// A request that got no usable answer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider does not listen there, or did not answer in time.
    #[error("{provider} at {url} cannot be reached: {reason}")]
    Unreachable {
        /// Which provider.
        provider: String,
        /// Its address.
        url: String,
        /// What the network said.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// No key, or one that is refused.
    #[error("{provider} needs a valid API key: {reason}")]
    Key {
        /// Which provider.
        provider: String,
        /// What is missing or refused.
        reason: String,
        /// What to set.
        hint: String,
    },
    /// The provider says the request is too long for the model.
    #[error("{provider} says the request is too long for the model: {reason}")]
    ContextLength {
        /// Which provider.
        provider: String,
        /// In its words.
        reason: String,
    },
    /// The provider refused the request, and would again.
    #[error("{provider} refused the request ({status}): {reason}")]
    Refused {
        /// Which provider.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// In its words.
        reason: String,
    },
    /// The provider is overloaded, or failed, also when asked again.
    #[error("{provider} failed {attempts} times, last with: {reason}")]
    Failing {
        /// Which provider.
        provider: String,
        /// How often it was tried.
        attempts: u32,
        /// What it said last.
        reason: String,
    },
    /// The response is not one of this kind of API.
    #[error("{provider} returned a response that does not follow its API: {reason}")]
    BadAnswer {
        /// Which provider.
        provider: String,
        /// What came, shortened.
        reason: String,
    },
}

impl ModelError {
    /// Returns what the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ModelError::Unreachable { .. } | ModelError::Failing { .. } => ErrorKind::Unavailable,
            ModelError::Key { .. } => ErrorKind::PermissionDenied,
            ModelError::ContextLength { .. } => ErrorKind::TooLarge,
            ModelError::Refused { .. } => ErrorKind::Invalid,
            ModelError::BadAnswer { .. } => ErrorKind::Unavailable,
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            ModelError::Unreachable { hint, .. } | ModelError::Key { hint, .. } => {
                return hint.clone();
            }
            ModelError::ContextLength { .. } => "use a smaller budget or another model",
            ModelError::Refused { .. } => "check the model's name and the request's options",
            ModelError::Failing { .. } => "try again later; the conversation is kept",
            ModelError::BadAnswer { .. } => "check that the base URL is the provider's API",
        }
        .to_owned()
    }
}
