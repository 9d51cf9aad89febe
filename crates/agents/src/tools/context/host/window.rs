//! `window`: what the session's model sees, as text or as a list.

use contexture_core::{Format, Tokens};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{Done, Hand, arguments, expand::piece_from, look};
use crate::tool::ToolOutput;

/// What a window may take when nothing is said.
const BUDGET: u64 = 8_000;

/// How many tokens of a window one answer gives.
const MOST: u64 = 16_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    #[serde(default)]
    budget: Option<u64>,
    #[serde(default)]
    list: Option<bool>,
    #[serde(default)]
    offset: Option<u64>,
}

pub(super) async fn window(hand: &Hand, arguments: &Value) -> Done {
    let Window { budget, list, offset } = arguments::read(arguments)?;
    let mut options = hand.options.clone();
    options.format = Format::Markdown;
    options.budget = Some(Tokens(budget.unwrap_or(BUDGET)));
    if list == Some(true) {
        let (session, index) = (hand.session.clone(), hand.index.clone());
        let hand = Hand { session, options, index, surface: hand.surface };
        let offset = offset.map_or_else(|| json!({}), |offset| json!({"offset": offset}));
        return look::window(&hand, &offset).await;
    }
    let window = hand.session.window(&options).await?;
    let account = &window.account;
    let budget = options.budget.unwrap_or_default();
    let head = format!(
        "{} of {budget} tokens, {} pages and runs; reading it changes nothing",
        account.tokens,
        account.pages.len()
    );
    let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
    let Some(part) = piece_from(hand.options.counter.as_ref(), &window.body, offset, MOST) else {
        let size = window.body.len();
        return Ok(ToolOutput::failed(format!(
            "the window has only {size} bytes: there is nothing at offset {offset}"
        )));
    };
    Ok(ToolOutput::of(format!("{head}\n---\n{part}")))
}
