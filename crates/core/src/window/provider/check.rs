//! The rules of each provider, checked on the shapes of items.

use std::collections::{HashMap, HashSet};

use super::{
    ProviderFormat, Violation,
    anthropic::MOST_MARKS,
    identity::{LONGEST, OPENAI_LONGEST, is_plain},
    item::{Shape, Tie, Who},
};
use crate::index::shorten;

/// Checks items, and the number of cache marks in the whole body.
pub(super) fn check<'a>(
    format: ProviderFormat,
    marks: usize,
    shapes: impl Iterator<Item = &'a Shape>,
) -> Result<(), Violation> {
    match format {
        ProviderFormat::OpenAi => openai(shapes),
        ProviderFormat::Responses => responses(shapes),
        ProviderFormat::Anthropic => anthropic(marks, shapes),
        ProviderFormat::Gemini => gemini(shapes),
    }
}

/// Makes a violation.
pub(super) fn broken<T>(
    at: usize,
    rule: &'static str,
    what: impl Into<String>,
) -> Result<T, Violation> {
    Err(Violation { at, rule, what: what.into() })
}

fn openai<'a>(shapes: impl Iterator<Item = &'a Shape>) -> Result<(), Violation> {
    let mut pending: Vec<&str> = Vec::new();
    let mut last = 0;
    for (at, shape) in shapes.enumerate() {
        last = at;
        if shape.who == Who::Tool {
            for answer in &shape.answers {
                match pending.iter().position(|id| *id == answer.id) {
                    Some(found) => pending.remove(found),
                    None => return without_call(at, answer),
                };
            }
            continue;
        }
        all_answered(at, &pending)?;
        says_something(at, shape, &shape.calls)?;
        let mut ids = HashSet::new();
        for call in &shape.calls {
            if !ids.insert(call.id.as_str()) {
                return repeated(at, call);
            }
            fits(at, call, OPENAI_LONGEST)?;
        }
        pending.extend(shape.calls.iter().map(|call| call.id.as_str()));
    }
    all_answered(last, &pending)
}

fn responses<'a>(shapes: impl Iterator<Item = &'a Shape>) -> Result<(), Violation> {
    let mut calls: HashMap<&str, (usize, bool)> = HashMap::new();
    let mut reasoning = None;
    for (at, shape) in shapes.enumerate() {
        match shape.who {
            Who::Reasoning => {
                reasoning = Some(at);
                continue;
            }
            Who::Model | Who::Call => reasoning = None,
            _ => lone_reasoning(reasoning)?,
        }
        match shape.who {
            Who::System | Who::User | Who::Model => says_something(at, shape, &[])?,
            _ => {}
        }
        for call in &shape.calls {
            if calls.insert(&call.id, (at, false)).is_some() {
                return repeated(at, call);
            }
            fits(at, call, LONGEST)?;
        }
        for answer in &shape.answers {
            match calls.get_mut(answer.id.as_str()) {
                Some((_, answered)) if !*answered => *answered = true,
                _ => return without_call(at, answer),
            }
        }
    }
    lone_reasoning(reasoning)?;
    // The first of those open, so that the same body always breaks at the same item.
    match calls.iter().filter(|(_, (_, answered))| !answered).min_by_key(|(_, (at, _))| *at) {
        Some((id, (at, _))) => all_answered(*at, &[*id]),
        None => Ok(()),
    }
}

fn anthropic<'a>(marks: usize, shapes: impl Iterator<Item = &'a Shape>) -> Result<(), Violation> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut pending: Vec<&str> = Vec::new();
    let mut last = 0;
    for (at, shape) in shapes.enumerate() {
        last = at;
        begins_with_user(at, shape)?;
        says_something(at, shape, &[])?;
        for answer in &shape.answers {
            match pending.iter().position(|id| *id == answer.id) {
                Some(found) => pending.remove(found),
                None => return without_call(at, answer),
            };
        }
        all_answered(at, &pending)?;
        if shape.late_answer {
            return broken(at, "result-first", "a tool result stands behind another block");
        }
        if shape.ends_thinking {
            return broken(at, "ends-with-thinking", "the message ends with thinking");
        }
        for call in &shape.calls {
            if !is_plain(&call.id) {
                let what = format!("the call id {} has other characters", quoted(call));
                return broken(at, "call-id", what);
            }
            if !seen.insert(&call.id) {
                return repeated(at, call);
            }
            pending.push(&call.id);
        }
    }
    all_answered(last, &pending)?;
    if marks > MOST_MARKS {
        return broken(
            last,
            "cache-marks",
            format!("{marks} cache marks, the most is {MOST_MARKS}"),
        );
    }
    Ok(())
}

fn gemini<'a>(shapes: impl Iterator<Item = &'a Shape>) -> Result<(), Violation> {
    let mut before: Option<&Shape> = None;
    let mut last = 0;
    for (at, shape) in shapes.enumerate() {
        last = at;
        begins_with_user(at, shape)?;
        says_something(at, shape, &[])?;
        if before.is_some_and(|before| before.who == shape.who) {
            return broken(at, "alternation", "two contents of one role follow each other");
        }
        let calls = before.map_or(&[][..], |before| &before.calls);
        match_in_order(at, calls, &shape.answers)?;
        before = Some(shape);
    }
    match before {
        Some(before) => match_in_order(last, &before.calls, &[]),
        None => Ok(()),
    }
}

fn match_in_order(at: usize, calls: &[Tie], answers: &[Tie]) -> Result<(), Violation> {
    let agrees = |(call, answer): (&Tie, &Tie)| {
        let same_id = call.id == answer.id || call.id.is_empty() || answer.id.is_empty();
        same_id && call.name == answer.name
    };
    if calls.len() == answers.len() && calls.iter().zip(answers).all(agrees) {
        return Ok(());
    }
    let names = |ties: &[Tie]| ties.iter().map(|tie| shorten(&tie.name)).collect::<Vec<_>>();
    let what = format!("calls {:?} are answered by {:?}", names(calls), names(answers));
    broken(at, "call-answered-in-order", what)
}

fn begins_with_user(at: usize, shape: &Shape) -> Result<(), Violation> {
    if at == 0 && shape.who != Who::User {
        return broken(at, "begins-with-user", "the conversation does not begin with the user");
    }
    Ok(())
}

fn says_something(at: usize, shape: &Shape, calls: &[Tie]) -> Result<(), Violation> {
    if shape.blocks == 0 && calls.is_empty() {
        return broken(at, "empty-message", "it says nothing");
    }
    if shape.empty > 0 {
        return broken(at, "empty-block", "a text of it is empty");
    }
    Ok(())
}

fn all_answered(at: usize, pending: &[&str]) -> Result<(), Violation> {
    match pending.first() {
        None => Ok(()),
        Some(id) => {
            let what = format!("call '{}' is not answered where it must be", shorten(id));
            broken(at, "call-unanswered", what)
        }
    }
}

fn without_call(at: usize, answer: &Tie) -> Result<(), Violation> {
    let what = format!("a result of call {}, which is not open", quoted(answer));
    broken(at, "result-without-call", what)
}

fn fits(at: usize, call: &Tie, longest: usize) -> Result<(), Violation> {
    if !call.id.is_empty() && call.id.chars().count() <= longest {
        return Ok(());
    }
    let what = format!("the call id {} has not 1 to {longest} characters", quoted(call));
    broken(at, "call-id", what)
}

fn repeated(at: usize, call: &Tie) -> Result<(), Violation> {
    broken(at, "call-id-repeated", format!("the call id {} is used twice", quoted(call)))
}

fn lone_reasoning(reasoning: Option<usize>) -> Result<(), Violation> {
    match reasoning {
        None => Ok(()),
        Some(at) => broken(at, "lone-reasoning", "no message or call follows the reasoning"),
    }
}

fn quoted(tie: &Tie) -> String {
    format!("'{}'", shorten(&tie.id))
}
