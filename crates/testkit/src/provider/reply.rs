//! Replies: what a model says, before any provider's way of writing it.

/// A reply to be given.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) said: Vec<Said>,
    pub(super) charged: Charged,
    pub(super) stop: Option<Stop>,
    pub(super) retry_after: Option<String>,
    pub(super) location: Option<String>,
    /// After how many events the connection is closed.
    pub(super) cut_after: Option<usize>,
    /// After how many events the answer is held; 0 is before it begins.
    pub(super) hang_after: Option<usize>,
}

/// What kind of reply it is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Answer,
    Status { status: u16, message: String },
    ContextLength,
    Raw { status: u16, content_type: String, body: String },
    Chatter { content_type: String, line: String },
    Violation(String),
}

/// One thing a model says.
#[derive(Debug, Clone)]
pub(super) enum Said {
    Text(String),
    Call { id: String, name: String, arguments: String, signature: Option<String> },
    Thinking { text: String, signature: String },
}

/// What an answer costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    /// All tokens of the request.
    pub input: u64,
    /// Those read from the cache.
    pub cached: u64,
    /// Those written to the cache; only Anthropic tells.
    pub written: u64,
    /// Those of the answer.
    pub output: u64,
}

/// Why an answer ends, where it does not follow from what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It reached its limit.
    Length,
    /// It was refused.
    Refused,
}

impl Reply {
    /// Says a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().say(text)
    }

    /// Calls a tool. Arguments go out byte for byte; Gemini has no ids and tells none.
    pub fn call(id: &str, name: &str, arguments: &str) -> Self {
        Self::empty().tool_call(id, name, arguments)
    }

    /// Says nothing at all, but ends as it should.
    pub fn empty() -> Self {
        Self {
            kind: Kind::Answer,
            said: Vec::new(),
            charged: Charged { input: 100, cached: 0, written: 0, output: 10 },
            stop: None,
            retry_after: None,
            location: None,
            cut_after: None,
            hang_after: None,
        }
    }

    /// Fails with a status, in the provider's form.
    pub fn status(status: u16) -> Self {
        Self::failing(status, &format!("scripted failure {status}"))
    }

    /// Fails with a status and these words, in the provider's form.
    pub fn failing(status: u16, message: &str) -> Self {
        let message = message.to_owned();
        Self { kind: Kind::Status { status, message }, ..Self::empty() }
    }

    /// Says that the request is too long, in the provider's form.
    pub fn context_length() -> Self {
        Self { kind: Kind::ContextLength, ..Self::empty() }
    }

    /// Gives a web page instead of an answer.
    pub fn html() -> Self {
        let page = "<!doctype html>\n<title>Wel\u{1b}[31mcome</title>\n<p>A page.</p>";
        Self::raw(200, "text/html; charset=utf-8", page)
    }

    /// Gives any body.
    pub fn raw(status: u16, content_type: &str, body: &str) -> Self {
        let (content_type, body) = (content_type.to_owned(), body.to_owned());
        Self { kind: Kind::Raw { status, content_type, body }, ..Self::empty() }
    }

    /// Gives vectors, the last first, each with its number.
    pub fn embeddings(vectors: &[Vec<f32>]) -> Self {
        let item = |(index, embedding): (usize, &Vec<f32>)| serde_json::json!({ "object": "embedding", "index": index, "embedding": embedding });
        let data: Vec<serde_json::Value> = vectors.iter().enumerate().map(item).rev().collect();
        let body = serde_json::json!({ "object": "list", "data": data });
        Self::raw(200, "application/json", &body.to_string())
    }

    /// Sends the same over and over, every few milliseconds, until the other side has gone.
    pub fn chatter(content_type: &str, line: &str) -> Self {
        let (content_type, line) = (content_type.to_owned(), line.to_owned());
        Self { kind: Kind::Chatter { content_type, line }, ..Self::empty() }
    }

    /// Points somewhere else.
    pub fn redirect(location: &str) -> Self {
        Self { location: Some(location.to_owned()), ..Self::raw(307, "text/plain", "") }
    }

    /// Says nothing until the server is told to release it, then an empty answer.
    pub fn hang() -> Self {
        Self { hang_after: Some(0), ..Self::empty() }
    }

    pub(super) fn nothing_left() -> Self {
        let what = "no reply is left in the script".to_owned();
        Self { kind: Kind::Violation(what), ..Self::empty() }
    }

    pub(super) fn broken_rule(rule: &str) -> Self {
        Self { kind: Kind::Violation(rule.to_owned()), ..Self::empty() }
    }

    pub(super) fn refused_key() -> Self {
        Self::failing(401, "the key is not valid")
    }

    /// Says a text after what it says already.
    #[must_use]
    pub fn say(mut self, text: impl Into<String>) -> Self {
        self.said.push(Said::Text(text.into()));
        self
    }

    /// Calls a tool after what it says already.
    #[must_use]
    pub fn tool_call(mut self, id: &str, name: &str, arguments: &str) -> Self {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        self.said.push(Said::Call { id, name, arguments, signature: None });
        self
    }

    /// Thinks, signed; OpenAI-compatible servers tell it as `reasoning_content`.
    #[must_use]
    pub fn thinking(mut self, text: &str, signature: &str) -> Self {
        let (text, signature) = (text.to_owned(), signature.to_owned());
        self.said.push(Said::Thinking { text, signature });
        self
    }

    /// Puts a signature beside the last call: Gemini's `thoughtSignature`, and `extra_content` of
    /// OpenAI-compatible servers that front it.
    #[must_use]
    pub fn signed(mut self, with: &str) -> Self {
        if let Some(Said::Call { signature, .. }) = self.said.last_mut() {
            *signature = Some(with.to_owned());
        }
        self
    }

    /// Sets what it costs.
    #[must_use]
    pub fn charged(mut self, charged: Charged) -> Self {
        self.charged = charged;
        self
    }

    /// Sets why it ends.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Asks to wait before the next request.
    #[must_use]
    pub fn retry_after(mut self, seconds: impl ToString) -> Self {
        self.retry_after = Some(seconds.to_string());
        self
    }

    /// Closes the connection after that many events of a stream.
    #[must_use]
    pub fn cut_stream_after(mut self, events: usize) -> Self {
        self.cut_after = Some(events);
        self
    }

    /// Holds a stream after that many events until the server is told to release it.
    #[must_use]
    pub fn hang_after(mut self, events: usize) -> Self {
        self.hang_after = Some(events);
        self
    }

    pub(super) fn has_calls(&self) -> bool {
        self.said.iter().any(|said| matches!(said, Said::Call { .. }))
    }
}
