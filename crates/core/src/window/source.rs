//! Sources: what a piece is made from, how much it weighs, and the text or messages it becomes.

use super::{
    count::{MESSAGE_OVERHEAD, TokenCounter, count_messages},
    escape::escape_text,
    line::Style,
    piece::Mark,
    trim::trim_messages,
};
use crate::{
    Message, Role, Tokens,
    message::{MessageFilter, Part, RawJson, open_calls},
    storage::{ContentHash, CountKey, SentSource},
};

/// The version of the renderer: it moves when the same state gives other bytes.
pub(crate) const RENDERER: u64 = 4;

/// The two ways a page is written: as messages for a provider, or as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    /// `markdown` and `context`.
    Markdown,
    /// The provider formats.
    Provider,
}

/// A page's messages as a window shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ShownBody {
    /// Which messages.
    pub content: ContentHash,
    /// The most tokens a part may take before it is cut to head and tail.
    pub limit: Option<Tokens>,
    /// Whether the text came from the system side and needs no escaping.
    pub trusted: bool,
    /// Which of the messages the view sees.
    pub speech: MessageFilter,
}

impl ShownBody {
    /// Returns the body a source shows.
    pub(crate) fn of(source: &SentSource) -> Option<Self> {
        match source {
            &SentSource::Messages { content, limit, speech }
            | &SentSource::Turn { content, limit, speech, .. } => {
                Some(Self { content, limit, trusted: false, speech })
            }
            &SentSource::Note { content, limit, trusted, speech, .. } => {
                Some(Self { content, limit, trusted, speech })
            }
            SentSource::Engine(_) | SentSource::Purged => None,
        }
    }

    /// Names the count of this body.
    pub(crate) fn count_key(&self, family: Family, tokenizer: &str, filter: &str) -> CountKey {
        let mut hasher = blake3::Hasher::new();
        hasher.update(tokenizer.as_bytes());
        hasher.update(&[0, family as u8, u8::from(self.trusted), RENDERER as u8]);
        hasher.update(&self.limit.map_or(u64::MAX, |limit| limit.0).to_le_bytes());
        hasher.update(self.content.as_bytes());
        // The line where something is cut quotes what the filter leaves.
        if self.limit.is_some() {
            hasher.update(filter.as_bytes());
        }
        if !self.speech.is_all() {
            hasher.update(&[0, self.speech as u8]);
        }
        short(&hasher)
    }

    /// Counts the tokens it takes, from its messages as they are shown.
    pub(crate) fn count(
        &self,
        family: Family,
        counter: &dyn TokenCounter,
        shown: &[Message],
    ) -> u64 {
        match family {
            Family::Provider => count_messages(counter, shown).0,
            Family::Markdown => counter.count(&markdown(shown, self.trusted)).0 + 1,
        }
    }
}

/// Names the count of a line.
pub fn line_count_key(tokenizer: &str, line: &str) -> CountKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(tokenizer.as_bytes());
    hasher.update(&[1]);
    hasher.update(line.as_bytes());
    short(&hasher)
}

fn short(hasher: &blake3::Hasher) -> CountKey {
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    CountKey(key)
}

/// What a line takes, with the break behind it.
pub(crate) fn line_weight(family: Family, tokens: u64) -> u64 {
    match family {
        Family::Provider => tokens + 1,
        Family::Markdown => tokens + 2,
    }
}

/// What stands around a piece beside its lines and its body.
pub(crate) fn piece_overhead(family: Family) -> u64 {
    match family {
        Family::Provider => MESSAGE_OVERHEAD,
        Family::Markdown => 1,
    }
}

/// Returns messages as a window shows them: without the mark in outside text, large parts cut.
pub(crate) fn shown(
    messages: Vec<Message>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
    style: Style<'_>,
) -> Vec<Message> {
    let inner = style.mark.map(Mark::inner);
    // The mark itself is taken out when the messages are written for a provider.
    let messages = match &inner {
        Some(inner) => messages.into_iter().map(|message| defused(message, inner)).collect(),
        None => messages,
    };
    let Some(limit) = limit else { return messages };
    let style = Style { mark: inner.as_ref(), ..style };
    trim_messages(counter, &messages, limit, &|omitted| style.omitted(omitted)).unwrap_or(messages)
}

fn defused(mut message: Message, mark: &Mark) -> Message {
    message.parts.iter_mut().for_each(|part| defuse_part(part, mark));
    message
}

fn defuse_part(part: &mut Part, mark: &Mark) {
    let defuse = |text: &mut String| {
        if let std::borrow::Cow::Owned(defused) = mark.defuse(text) {
            *text = defused;
        }
    };
    match part {
        Part::Text(text) => defuse(&mut text.text),
        Part::ToolCall(call) => {
            defuse(&mut call.name);
            defuse(&mut call.arguments);
        }
        Part::ToolResult(result) => {
            result.content.iter_mut().for_each(|part| defuse_part(part, mark));
        }
        Part::Other(raw) => {
            if let std::borrow::Cow::Owned(defused) = mark.defuse(raw.as_str())
                && let Ok(defused) = RawJson::new(&defused)
            {
                *raw = defused;
            }
        }
        // Signed by the provider: a changed one would be refused.
        Part::Thinking(_) | Part::Image(_) => {}
    }
}

/// Returns messages as Markdown: a single text stands alone, several messages carry their role.
pub(crate) fn markdown(messages: &[Message], trusted: bool) -> String {
    let outside =
        |text: &str| if trusted { text.to_owned() } else { escape_text(text).into_owned() };
    if let [message] = messages
        && message.parts.iter().all(|part| matches!(part, Part::Text(_)))
    {
        return outside(&message.plain_text());
    }
    let mut text = String::new();
    for message in messages {
        for part in &message.parts {
            if !text.is_empty() {
                text.push('\n');
            }
            push_part(&mut text, message.role, part, &outside);
        }
    }
    for call in open_calls(messages) {
        text.push_str(&format!("\n**no result yet:** {}", outside(&call.name)));
    }
    text
}

fn push_part(text: &mut String, role: Role, part: &Part, outside: &dyn Fn(&str) -> String) {
    let role = match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    match part {
        Part::Text(said) => {
            text.push_str(&format!("**{role}:** {}", outside(&said.text)));
        }
        Part::ToolCall(call) => {
            let (name, arguments) = (outside(&call.name), outside(&call.arguments));
            text.push_str(&format!("**assistant calls:** {name} {arguments}"));
        }
        Part::ToolResult(result) => {
            let failed = if result.error { " (failed)" } else { "" };
            text.push_str(&format!("**tool result:**{failed}"));
            for part in &result.content {
                text.push(' ');
                match part {
                    Part::Text(said) => text.push_str(&outside(&said.text)),
                    _ => text.push_str("(image or other part)"),
                }
            }
        }
        Part::Image(_) => text.push_str(&format!("**{role}:** (image)")),
        Part::Thinking(thinking) => {
            text.push_str(&format!("**{role} thinks:** {}", outside(&thinking.text)));
        }
        Part::Other(_) => text.push_str(&format!("**{role}:** (part of another kind)")),
    }
}
