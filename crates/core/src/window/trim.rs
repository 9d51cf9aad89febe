//! Cutting large texts to head and tail, so that no single part can break a budget.
//!
//! ```text
//!  head            about two thirds, ends with a line where one ends near
//!  the marker      the engine's line: what is left out, and how to get it
//!  tail            about one third
//! ```
//!
//! A huge text is counted once; after that only slices that may remain are. Roles, call ids and the
//! order of parts never change, and arguments stay valid JSON.

mod arguments;
mod boundary;

use crate::{
    Message, Role, TokenCounter, Tokens,
    message::{Fields, Part, RawJson, Text, ToolCall, ToolResult},
    window::keywords::{KeywordChoice, top_keywords_of_text},
};

/// What remains of a text that was too large.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trimmed {
    /// Its beginning.
    head: String,
    /// Its end.
    tail: String,
    /// The bytes between them.
    omitted_bytes: u64,
    /// The lines between them, those cut through included.
    omitted_lines: u64,
    /// The tokens between them.
    omitted_tokens: Tokens,
}

/// What was left out of a text, for the line that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omitted {
    /// The bytes left out.
    pub bytes: u64,
    /// The lines left out, those cut through included.
    pub lines: u64,
    /// The tokens left out.
    pub tokens: Tokens,
    /// What is most telling in it and stands in neither head nor tail.
    pub words: Vec<String>,
}

/// The most tokens that words of what is left out take in the marker line, and their share of the
/// limit.
const WORD_TOKENS: (u64, u64) = (200, 3);

/// How many telling words of a text are looked at: most of them stand in its head or its tail.
const WORDS: usize = 512;

/// Tells whether a message is what a tool gave back. Harnesses without tool messages send results
/// as user messages; those that mark them so with a field `observation` are understood.
pub(crate) fn is_result(message: &Message) -> bool {
    message.role == Role::Tool
        || message.extra.get("observation").is_some_and(|raw| raw.as_str() == "true")
}

/// Cuts each part larger than `limit`; `None` when there is none.
///
/// `omitted` gives the engine's line. Texts become head, line and tail, and with the line have at
/// most `limit` tokens, unless the line alone has more. Arguments of calls stay valid JSON. Thinking
/// is opaque: it stays whole or goes. Parts of unknown kinds become the line. Images stay. Unknown
/// fields larger than the limit go.
pub fn trim_messages(
    counter: &dyn TokenCounter,
    messages: &[Message],
    limit: Tokens,
    omitted: &dyn Fn(&Omitted) -> String,
) -> Option<Vec<Message>> {
    let trim = |message: &Message| Trimmer { counter, limit, omitted }.message(message);
    let trimmed: Vec<Option<Message>> = messages.iter().map(trim).collect();
    if trimmed.iter().all(Option::is_none) {
        return None;
    }
    let pairs = trimmed.into_iter().zip(messages);
    Some(pairs.map(|(trimmed, message)| trimmed.unwrap_or_else(|| message.clone())).collect())
}

/// How often a result that is still too large is made smaller before only the marker is left.
const STEPS: usize = 6;

struct Trimmer<'a> {
    counter: &'a dyn TokenCounter,
    limit: Tokens,
    omitted: &'a dyn Fn(&Omitted) -> String,
}

/// What becomes of a part.
enum Fate {
    Stays,
    Becomes(Part),
    Goes(Omitted),
}

impl Trimmer<'_> {
    fn message(&self, message: &Message) -> Option<Message> {
        let extra = self.fields(&message.extra);
        let parts = self.parts(&message.parts);
        if extra.is_none() && parts.is_none() {
            return None;
        }
        Some(Message {
            role: message.role,
            author: message.author.clone(),
            at: message.at,
            origin: message.origin.clone(),
            parts: parts.unwrap_or_else(|| message.parts.clone()),
            extra: extra.unwrap_or_else(|| message.extra.clone()),
        })
    }

    fn parts(&self, parts: &[Part]) -> Option<Vec<Part>> {
        let fates: Vec<Fate> = parts.iter().map(|part| self.fate(part)).collect();
        if fates.iter().all(|fate| matches!(fate, Fate::Stays)) {
            return None;
        }
        let mut kept = Vec::new();
        let mut gone = None;
        for (fate, part) in fates.into_iter().zip(parts) {
            match fate {
                Fate::Stays => kept.push(part.clone()),
                Fate::Becomes(part) => kept.push(part),
                Fate::Goes(omitted) => gone = Some(omitted),
            }
        }
        // Providers refuse a message that says nothing.
        if let (true, Some(omitted)) = (kept.is_empty(), gone) {
            kept.push(text_part((self.omitted)(&omitted)));
        }
        Some(kept)
    }

    fn fate(&self, part: &Part) -> Fate {
        let becomes = |part: Option<Part>| part.map_or(Fate::Stays, Fate::Becomes);
        match part {
            Part::Text(text) => becomes(self.text(text).map(Part::Text)),
            Part::ToolCall(call) => becomes(self.call(call).map(Part::ToolCall)),
            Part::ToolResult(result) => becomes(self.result(result).map(Part::ToolResult)),
            Part::Image(_) => Fate::Stays,
            Part::Thinking(thinking) => {
                self.whole(&thinking.source).map_or(Fate::Stays, Fate::Goes)
            }
            Part::Other(raw) => {
                becomes(self.whole(raw).map(|omitted| text_part((self.omitted)(&omitted))))
            }
        }
    }

    fn text(&self, text: &Text) -> Option<Text> {
        self.with_text(text, self.shorten(&text.text, self.limit))
    }

    fn with_text(&self, text: &Text, shorter: Option<String>) -> Option<Text> {
        let extra = self.fields(&text.extra);
        if shorter.is_none() && extra.is_none() {
            return None;
        }
        Some(Text {
            text: shorter.unwrap_or_else(|| text.text.clone()),
            extra: extra.unwrap_or_else(|| text.extra.clone()),
        })
    }

    fn call(&self, call: &ToolCall) -> Option<ToolCall> {
        let arguments = self.arguments(&call.arguments);
        let extra = self.fields(&call.extra);
        if arguments.is_none() && extra.is_none() {
            return None;
        }
        Some(ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: arguments.unwrap_or_else(|| call.arguments.clone()),
            extra: extra.unwrap_or_else(|| call.extra.clone()),
        })
    }

    /// Cuts the texts of a result so that together they keep to the limit.
    fn result(&self, result: &ToolResult) -> Option<ToolResult> {
        let bytes = result.content.iter().map(|part| match part {
            Part::Text(text) => text.text.len() as u64,
            _ => 0,
        });
        // Every token has at least one byte: most results need no counting.
        let small = bytes.sum::<u64>() <= self.limit.0;
        let sizes: Vec<u64> =
            result.content.iter().map(|part| if small { 0 } else { self.size(part) }).collect();
        let share = fair_share(&sizes, self.limit.0).max(LEAST_SHARE).min(self.limit.0);
        let cut = |(part, size): (&Part, &u64)| match part {
            Part::Text(text) if *size > share => {
                let shorter = self.shorten_counted(&text.text, *size, Tokens(share));
                self.with_text(text, Some(shorter)).map(Part::Text)
            }
            Part::Text(text) => self.with_text(text, None).map(Part::Text),
            part => match self.fate(part) {
                Fate::Stays => None,
                Fate::Becomes(part) => Some(part),
                Fate::Goes(omitted) => Some(text_part((self.omitted)(&omitted))),
            },
        };
        let content: Vec<Option<Part>> = result.content.iter().zip(&sizes).map(cut).collect();
        let extra = self.fields(&result.extra);
        if content.iter().all(Option::is_none) && extra.is_none() {
            return None;
        }
        let pairs = content.into_iter().zip(&result.content);
        Some(ToolResult {
            call: result.call.clone(),
            content: pairs.map(|(cut, part)| cut.unwrap_or_else(|| part.clone())).collect(),
            error: result.error,
            extra: extra.unwrap_or_else(|| result.extra.clone()),
        })
    }

    /// Counts a text within a result; 0 for what is not cut.
    fn size(&self, part: &Part) -> u64 {
        match part {
            Part::Text(text) => self.counter.count(&text.text).0,
            _ => 0,
        }
    }

    /// Cuts a text to head, marker and tail; `None` when it has at most `limit` tokens.
    fn shorten(&self, text: &str, limit: Tokens) -> Option<String> {
        let total = count_over(self.counter, text, limit)?;
        Some(self.shorten_counted(text, total, limit))
    }

    fn shorten_counted(&self, text: &str, total: u64, limit: Tokens) -> String {
        let all = omitted_of(text, total);
        // The marker for all of the text is as long as that for a part of it, or longer.
        let marker = self.counter.count(&(self.omitted)(&all)).0 + 2;
        let words = top_keywords_of_text(text, WORDS);
        let most = WORD_TOKENS.0.min(limit.0 / WORD_TOKENS.1);
        let spent = self.counter.count(&words.join(" ")).0.min(most);
        let mut room = limit.0.saturating_sub(marker + spent);
        for _ in 0..STEPS {
            if room == 0 {
                break;
            }
            let cut = cut(self.counter, text, total, room);
            let mut omitted = cut.omitted();
            omitted.words = self.fitting(&words, &cut, most);
            let line = (self.omitted)(&omitted);
            let whole = format!("{}\n{line}\n{}", cut.head, cut.tail);
            let size = self.counter.count(&whole).0;
            if size <= limit.0 {
                return whole;
            }
            room = less(room, size - limit.0);
        }
        (self.omitted)(&all)
    }

    /// Returns the words that stand in neither head nor tail, as many as may be told.
    fn fitting(&self, words: &[String], cut: &Trimmed, most: u64) -> Vec<String> {
        let mut choice = KeywordChoice::new(format!("{}\n{}\n", cut.head, cut.tail), most);
        for (number, word) in words.iter().enumerate() {
            if choice.is_full() {
                break;
            }
            choice.offer(number, word, self.counter.count(word).0);
        }
        choice.taken().into_iter().map(|number| words[number].clone()).collect()
    }

    /// Returns what is left out with a value that is larger than the limit.
    fn whole(&self, raw: &RawJson) -> Option<Omitted> {
        let total = count_over(self.counter, raw.as_str(), self.limit)?;
        Some(omitted_of(raw.as_str(), total))
    }

    /// Leaves out the fields that are larger than the limit; `None` when there is none.
    fn fields(&self, fields: &Fields) -> Option<Fields> {
        let large = |raw: &RawJson| count_over(self.counter, raw.as_str(), self.limit).is_some();
        if !fields.iter().any(|(_, raw)| large(raw)) {
            return None;
        }
        let mut kept = Fields::default();
        for (name, raw) in fields.iter().filter(|(_, raw)| !large(raw)) {
            kept.push(name, raw.clone());
        }
        Some(kept)
    }
}

impl Trimmed {
    fn omitted(&self) -> Omitted {
        Omitted {
            bytes: self.omitted_bytes,
            lines: self.omitted_lines,
            tokens: self.omitted_tokens,
            words: Vec::new(),
        }
    }
}

/// The least a text within a result of very many texts is cut to.
const LEAST_SHARE: u64 = 64;

/// Returns how much each of several may have, so that together they keep to the limit: the small
/// ones stay whole, the large ones share what is left.
fn fair_share(sizes: &[u64], limit: u64) -> u64 {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = limit;
    for (at, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at) as u64;
        if *size > share {
            return share;
        }
        left -= size;
    }
    limit
}

fn text_part(text: String) -> Part {
    Part::Text(Text { text, extra: Fields::default() })
}

/// Counts a text that is larger than `limit`; `None` when it is not.
fn count_over(counter: &dyn TokenCounter, text: &str, limit: Tokens) -> Option<u64> {
    // Every token has at least one byte.
    if text.len() as u64 <= limit.0 {
        return None;
    }
    let total = counter.count(text).0;
    (total > limit.0).then_some(total)
}

/// Returns less room, by what was too much and a little more.
fn less(room: u64, over: u64) -> u64 {
    room.saturating_sub(over.max(room / 16) + 1)
}

fn omitted_of(text: &str, tokens: u64) -> Omitted {
    let (bytes, lines, tokens) = (text.len() as u64, lines_of(text), Tokens(tokens));
    Omitted { bytes, lines, tokens, words: Vec::new() }
}

/// Counts the lines of what is left out; breaks at its edges belong to what remains.
fn lines_of(middle: &str) -> u64 {
    let inner = middle.strip_prefix('\n').unwrap_or(middle);
    let inner = inner.strip_suffix('\n').unwrap_or(inner);
    if middle.is_empty() {
        0
    } else {
        inner.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1
    }
}

/// Cuts a text of `total` tokens to head and tail of at most `room` tokens together.
fn cut(counter: &dyn TokenCounter, text: &str, total: u64, room: u64) -> Trimmed {
    let for_tail = room / 3;
    let (head, head_tokens) = boundary::head(counter, text, total, room - for_tail);
    let (tail, tail_tokens) =
        boundary::tail(counter, &text[head.len()..], text.len(), total, for_tail);
    let middle = &text[head.len()..text.len() - tail.len()];
    Trimmed {
        head: head.to_owned(),
        tail: tail.to_owned(),
        omitted_bytes: middle.len() as u64,
        omitted_lines: lines_of(middle),
        omitted_tokens: Tokens(total.saturating_sub(head_tokens + tail_tokens)),
    }
}

#[cfg(test)]
#[path = "trim_tests.rs"]
mod tests;
