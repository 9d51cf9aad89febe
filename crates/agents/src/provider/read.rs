//! What all readers of answers share.

use contexture_core::{
    Usage,
    message::{Fields, Part},
};

use super::failure::ProviderError;
use crate::model::{ModelEvent, Stop};

/// Receives the events of an answer as they arrive.
pub(super) type EventSink<'a> = &'a mut (dyn FnMut(ModelEvent) + Send);

/// Reads an answer: the events of a stream one by one, or a plain answer as the only one.
pub(super) trait Reader: Send {
    /// Reads the data of an event. What it does not know it leaves out.
    fn read(&mut self, data: &str, emit: EventSink<'_>) -> Result<(), Fault>;

    /// Tells how far the answer is.
    fn progress(&self) -> Progress;

    /// Returns what was read.
    fn finish(self: Box<Self>) -> Finished;
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It goes on.
    Open,
    /// It is whole, but what it cost may follow.
    Complete,
    /// Nothing follows.
    Closed,
}

/// An event that is no part of an answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// The provider reports an error.
    Provider(ProviderError),
    /// It cannot be read, or the model failed in a way that passes.
    Broken(String),
}

/// An answer that was read.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) parts: Vec<Part>,
    pub(super) extra: Fields,
    pub(super) usage: Option<Usage>,
    pub(super) stop: Stop,
}

/// Makes ids for calls that came without one, new in the window they answer.
#[derive(Debug)]
pub(super) struct Ids {
    prefix: &'static str,
    next: u64,
}

impl Ids {
    /// Begins behind the highest id of its kind in a window.
    pub(super) fn new(prefix: &'static str, window: &str) -> Self {
        let sign = format!("\"{prefix}-");
        let numbers = window.match_indices(&sign).filter_map(|(at, _)| {
            let rest = &window[at + sign.len()..];
            let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse::<u32>().ok()
        });
        Self { prefix, next: u64::from(numbers.max().unwrap_or(0)) + 1 }
    }

    /// Makes the next.
    pub(super) fn make(&mut self) -> String {
        let id = format!("{}-{}", self.prefix, self.next);
        self.next += 1;
        id
    }
}

/// Emits a piece of text, if there is any.
pub(super) fn emit_text(emit: EventSink<'_>, text: &str) {
    if !text.is_empty() {
        emit(ModelEvent::Text(text.to_owned()));
    }
}

/// Emits a piece of reasoning, if there is any.
pub(super) fn emit_thinking(emit: EventSink<'_>, text: &str) {
    if !text.is_empty() {
        emit(ModelEvent::Thinking(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_new_in_the_window() {
        let make = |window: &str| Ids::new("gemini", window).make();
        assert_eq!(make("{}"), "gemini-1");
        assert_eq!(
            make(r#"{"id":"gemini-2"},{"id":"gemini-11-usr-7"},{"id":"gemini-x"}"#),
            "gemini-12"
        );
        assert_eq!(make("\"gemini-99999999999999999999\""), "gemini-1");
        let mut ids = Ids::new("call", r#"["call-4"]"#);
        assert_eq!((ids.make(), ids.make()), ("call-5".to_owned(), "call-6".to_owned()));
    }
}
