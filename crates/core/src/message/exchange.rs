//! Exchanges, turns and pages: how a line of messages is grouped, and where it may be cut.
//!
//! ```text
//! messages   U  A T T  A T  A  U  A
//! exchanges  U  ATT    AT   A  U  A      group: what may not be parted
//! turns      ───────────────── ────      turns: from one user message to the next
//! pages      ───────── ─────── ────      cut: a turn's exchanges, by weight
//! ```
//!
//! All of it depends on content alone, not on how or in how many pieces the messages arrived. The last
//! exchange of a turn may be open: some of its calls have no result yet ([`open_calls`]).

use std::collections::{HashMap, HashSet};

use super::{Message, Role, ToolCall};
use crate::{Error, index::shorten};

/// The bytes of text, arguments and results after which a page takes no further exchange.
pub const FULL_PAGE_BYTES: u64 = 4096;

/// The smallest group of messages that may not be parted: a user message, a system message, or an
/// assistant message with all results of its tool calls. While it is open, some results are still to
/// come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Its messages in order; at least one when [`group_exchanges`] made it.
    pub messages: Vec<Message>,
}

impl Exchange {
    /// Returns the bytes of text, arguments and results.
    pub fn weight(&self) -> u64 {
        self.messages.iter().map(Message::weight).sum()
    }

    /// Tells whether a new turn begins with it.
    pub fn starts_turn(&self) -> bool {
        self.messages.first().is_some_and(|message| message.role == Role::User)
    }
}

/// Groups messages into exchanges, or says which call and which result do not match.
///
/// Results are the tool messages directly after the assistant message, in any order. Call ids are
/// unique within one assistant message; another exchange may use them again.
pub fn group_exchanges(messages: Vec<Message>) -> Result<Vec<Exchange>, Error> {
    group(messages, LastExchange::Whole)
}

/// Whether the last exchange of a list must have all its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastExchange {
    /// It must.
    Whole,
    /// Results may come later.
    MayBeOpen,
}

/// Groups messages into exchanges as [`group_exchanges`] does; the last may be open where that is
/// allowed.
pub(crate) fn group(messages: Vec<Message>, last: LastExchange) -> Result<Vec<Exchange>, Error> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut calls = Calls::default();
    for (number, message) in (1..).zip(messages) {
        check_role(number, &message)?;
        if message.role == Role::Tool {
            calls.answer(number, &message)?;
        } else {
            calls.finish()?;
            calls = Calls::open(number, &message)?;
            exchanges.push(Exchange { messages: Vec::new() });
        }
        let exchange = exchanges.last_mut().expect("a result is refused without its call");
        exchange.messages.push(message);
    }
    if last == LastExchange::Whole {
        calls.finish()?;
    }
    Ok(exchanges)
}

/// Returns where the last exchange begins: at the last message that is not a result.
pub(crate) fn last_exchange(messages: &[Message]) -> Option<usize> {
    messages.iter().rposition(|message| message.role != Role::Tool)
}

/// Returns the calls of the last exchange that have no result yet, in their order.
pub fn open_calls(messages: &[Message]) -> Vec<&ToolCall> {
    let Some(at) = last_exchange(messages) else { return Vec::new() };
    let answered: HashSet<&str> = messages[at..]
        .iter()
        .flat_map(Message::tool_results)
        .map(|result| result.call.as_str())
        .collect();
    let calls = messages[at].tool_calls();
    calls.filter(|call| !answered.contains(call.id.as_str())).collect()
}

/// Puts results into the order of their calls: it does not matter in which order they came.
pub(crate) fn sort_results(messages: &mut [Message]) {
    let Some(at) = last_exchange(messages) else { return };
    let (calls, results) = messages[at..].split_at_mut(1);
    let places: HashMap<&str, usize> =
        calls[0].tool_calls().enumerate().map(|(at, call)| (call.id.as_str(), at)).collect();
    results.sort_by_key(|message| {
        let places = message.tool_results().filter_map(|result| places.get(result.call.as_str()));
        places.min().copied()
    });
}

/// Parts exchanges into turns: each user message begins one.
///
/// What comes before the first user message is a turn of its own; a system message belongs to the
/// turn it follows.
pub(crate) fn turns(exchanges: Vec<Exchange>) -> Vec<Vec<Exchange>> {
    let mut turns: Vec<Vec<Exchange>> = Vec::new();
    for exchange in exchanges {
        match turns.last_mut() {
            Some(turn) if !exchange.starts_turn() => turn.push(exchange),
            _ => turns.push(vec![exchange]),
        }
    }
    turns
}

/// Where the exchanges of one turn go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Those that still go into the open page.
    pub into_open: Vec<Exchange>,
    /// Those of each new page, in order. The last page is then the open one.
    pub pages: Vec<Vec<Exchange>>,
}

/// Cuts the exchanges of one turn into pages.
///
/// An exchange opens a new page when the open one already holds more than [`FULL_PAGE_BYTES`] bytes, or
/// when there is none. `open_weight` is what the turn's open page holds so far.
pub(crate) fn cut(open_weight: Option<u64>, exchanges: Vec<Exchange>) -> Cut {
    let mut cut = Cut::default();
    let mut open = open_weight;
    for exchange in exchanges {
        let weight = exchange.weight();
        match open {
            Some(held) if held <= FULL_PAGE_BYTES => {
                open = Some(held + weight);
                cut.pages.last_mut().unwrap_or(&mut cut.into_open).push(exchange);
            }
            _ => {
                open = Some(weight);
                cut.pages.push(vec![exchange]);
            }
        }
    }
    cut
}

/// The tool calls of the assistant message whose results are being read.
#[derive(Default)]
struct Calls {
    number: usize,
    in_order: Vec<String>,
    answered: HashMap<String, bool>,
}

impl Calls {
    fn open(number: usize, message: &Message) -> Result<Self, Error> {
        let mut calls = Self { number, ..Self::default() };
        for call in message.tool_calls() {
            if calls.answered.insert(call.id.clone(), false).is_some() {
                return Err(invalid(
                    number,
                    &format!("two tool calls have the id {}", quoted(&call.id)),
                ));
            }
            calls.in_order.push(call.id.clone());
        }
        Ok(calls)
    }

    fn answer(&mut self, number: usize, message: &Message) -> Result<(), Error> {
        for result in message.tool_results() {
            let id = quoted(&result.call);
            match self.answered.get_mut(&result.call) {
                None => {
                    return Err(invalid(
                        number,
                        &format!("a result for tool call {id}, which was not made"),
                    ));
                }
                Some(true) => {
                    return Err(invalid(number, &format!("a second result for tool call {id}")));
                }
                Some(answered) => *answered = true,
            }
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Error> {
        match self.in_order.iter().find(|id| !self.answered[*id]) {
            None => Ok(()),
            Some(id) => {
                let reason = format!(
                    "tool call {} has no result in the tool messages directly after it",
                    quoted(id)
                );
                Err(invalid(self.number, &reason))
            }
        }
    }
}

/// Checks that calls and results stand in messages of the role that may have them.
pub(crate) fn check_role(number: usize, message: &Message) -> Result<(), Error> {
    if message.role != Role::Assistant
        && let Some(call) = message.tool_calls().next()
    {
        let id = quoted(&call.id);
        return Err(invalid(number, &format!("tool call {id} is not in an assistant message")));
    }
    match (message.role, message.tool_results().next()) {
        (Role::Tool, None) => Err(invalid(number, "a tool message must have a result")),
        (Role::System | Role::User | Role::Assistant, Some(result)) => {
            let id = quoted(&result.call);
            Err(invalid(number, &format!("the result of call {id} is not in a tool message")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn quoted(id: &str) -> String {
    format!("'{}'", shorten(id))
}

fn invalid(number: usize, reason: &str) -> Error {
    Error::InvalidMessages { reason: format!("message {number}: {reason}") }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
