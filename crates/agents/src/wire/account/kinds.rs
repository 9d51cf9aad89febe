//! Where the tokens of a window go by what was said: requests, answers, calls, results.
//!
//! A page is counted as a whole, so what it takes is shared out by the bytes of its parts. Close
//! enough to see what fills a window; the sum is exact.

use contexture_core::{
    Message, PageIndex, Result, Role, Session, Window, WindowLevel, message::Part,
};

use super::KindObject;

/// The kinds, in the order in which they are listed.
const KINDS: [&str; 8] = [
    "system text",
    "user text",
    "assistant text",
    "thinking",
    "tool calls",
    "tool results",
    "images and others",
    "lines",
];
const LINES: usize = 7;

/// Shares out what a window takes.
pub(super) async fn of(session: &Session, window: &Window) -> Result<Vec<KindObject>> {
    let mut tokens = [0_u64; KINDS.len()];
    let mut full: Vec<(u64, PageIndex)> = Vec::new();
    for account in &window.account.pages {
        let page = match account.level {
            WindowLevel::Full => text_page(session, &account.page).await?,
            _ => None,
        };
        match page {
            Some(page) => full.push((account.tokens, page)),
            None => tokens[LINES] += account.tokens,
        }
    }
    for (taken, index) in &full {
        let mut bytes = [0; KINDS.len()];
        for message in session.reader().messages(index).await? {
            weigh(&mut bytes, &message);
        }
        share(&mut tokens, *taken, &bytes);
    }
    let kinds = KINDS.into_iter().zip(tokens).filter(|(_, tokens)| *tokens > 0);
    Ok(kinds.map(|(kind, tokens)| KindObject { kind, tokens }).collect())
}

async fn text_page(session: &Session, index: &PageIndex) -> Result<Option<PageIndex>> {
    let seen = session.reader().page(index).await?;
    Ok(seen.page.detail().map(|_| index.clone()))
}

fn weigh(bytes: &mut [u64; KINDS.len()], message: &Message) {
    let said = match message.role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 5,
    };
    for part in &message.parts {
        let (kind, weight) = match part {
            Part::Text(text) => (said, text.text.len()),
            Part::Thinking(thinking) => (3, thinking.text.len()),
            Part::ToolCall(call) => (4, call.name.len() + call.arguments.len()),
            Part::ToolResult(result) => (5, result.content.iter().map(length).sum()),
            Part::Image(_) | Part::Other(_) => (6, length(part)),
        };
        bytes[kind] += weight as u64;
    }
}

fn length(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.text.len(),
        Part::Thinking(thinking) => thinking.text.len(),
        Part::ToolCall(call) => call.name.len() + call.arguments.len(),
        Part::ToolResult(result) => result.content.iter().map(length).sum(),
        Part::Image(image) => image.source.as_str().len(),
        Part::Other(raw) => raw.as_str().len(),
    }
}

/// Shares tokens out by bytes; what rounding leaves goes to the largest.
fn share(tokens: &mut [u64; KINDS.len()], taken: u64, bytes: &[u64; KINDS.len()]) {
    let all: u64 = bytes.iter().sum();
    let largest = (0..KINDS.len()).max_by_key(|kind| bytes[*kind]).unwrap_or(LINES);
    if all == 0 {
        tokens[LINES] += taken;
        return;
    }
    let mut rest = taken;
    for (kind, weight) in bytes.iter().enumerate() {
        let part = u128::from(taken) * u128::from(*weight) / u128::from(all);
        let part = u64::try_from(part).unwrap_or(rest).min(rest);
        tokens[kind] += part;
        rest -= part;
    }
    tokens[largest] += rest;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_in_sharing() {
        let mut tokens = [0; KINDS.len()];
        share(&mut tokens, 100, &[0, 1, 1, 0, 0, 1, 0, 0]);
        assert_eq!(tokens.iter().sum::<u64>(), 100);
        share(&mut tokens, 7, &[0; KINDS.len()]);
        assert_eq!(tokens[LINES], 7);
        share(&mut tokens, u64::MAX / 2, &[u64::MAX / 16; KINDS.len()]);
        assert_eq!(tokens.iter().sum::<u64>(), u64::MAX / 2 + 107);
    }
}
