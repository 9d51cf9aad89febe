//! Counting tokens: the seam to tokenizers, and what a message weighs around its text.

use crate::{
    Message, Tokens,
    message::{Part, ToolResult},
};

/// Counts the tokens of a text.
///
/// For implementers: `count` is a pure function of the text, and `name` names it: two counters of
/// the same name give the same counts, for ever. Counts are kept by that name.
pub trait TokenCounter: Send + Sync {
    /// Names the tokenizer: `o200k_base`, `cl100k_base`, or that of an estimate.
    fn name(&self) -> &str;

    /// Counts the tokens of a text; nothing in it is read as a control token.
    fn count(&self, text: &str) -> Tokens;

    /// Tells whether the count is the model's own, or an estimate.
    fn is_exact(&self) -> bool {
        true
    }
}

/// What a provider adds around each message: the role and its delimiters.
pub const MESSAGE_OVERHEAD: u64 = 4;

/// What a provider adds around each tool call or result: ids, names of fields.
pub(crate) const CALL_OVERHEAD: u64 = 12;

/// What an image is taken to cost; providers charge by pixels, which are not known here.
pub(crate) const IMAGE_TOKENS: u64 = 1_600;

/// Counts the tokens of messages as a provider would be charged for them.
pub fn count_messages(counter: &dyn TokenCounter, messages: &[Message]) -> Tokens {
    let message = |message: &Message| {
        MESSAGE_OVERHEAD + message.parts.iter().map(|part| count_part(counter, part)).sum::<u64>()
    };
    Tokens(messages.iter().map(message).sum())
}

fn count_part(counter: &dyn TokenCounter, part: &Part) -> u64 {
    let count = |text: &str| counter.count(text).0;
    match part {
        Part::Text(text) => count(&text.text),
        Part::ToolCall(call) => CALL_OVERHEAD + count(&call.name) + count(&call.arguments),
        Part::ToolResult(result) => CALL_OVERHEAD + count_result(counter, result),
        Part::Image(_) => IMAGE_TOKENS,
        Part::Thinking(thinking) => count(thinking.source.as_str()),
        Part::Other(raw) => count(raw.as_str()),
    }
}

fn count_result(counter: &dyn TokenCounter, result: &ToolResult) -> u64 {
    result.content.iter().map(|part| count_part(counter, part)).sum()
}
