//! `get_page` and `read_window`: what there is and what it says; nothing changes.

use std::fmt::Write as _;

use contexture_core::{Lifecycle, message::detail_text, window::quote_text};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Hand, Surface, arguments,
    expand::{LISTED, LISTED_BYTES, children, part},
    named,
};
use crate::tool::ToolOutput;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    page: String,
    #[serde(default)]
    offset: Option<u64>,
}

pub(super) async fn get(hand: &Hand, arguments: &Value) -> Done {
    let Get { page, offset } = arguments::read(arguments)?;
    let view = hand.session.get_page_or_archived(page).await?;
    let page = &view.page;
    let mut answer = format!("{} ({})", named(page), page.type_name());
    if !page.description.as_str().is_empty() {
        let _ = write!(answer, "\ndescription: {}", quote_text(page.description.as_str()));
    }
    if let Some(parent) = &page.parent {
        let _ = write!(answer, "\ndirectory: {parent}");
    }
    if !page.sources.is_empty() {
        let sources: Vec<String> = page.sources.iter().map(ToString::to_string).collect();
        let _ = write!(answer, "\nmade from: {}", sources.join(" "));
    }
    let rewritten = match &page.rewritten_by {
        Some(who) => format!(", rewritten by {who}"),
        None => String::new(),
    };
    let pinned = if view.pinned { ", pinned" } else { "" };
    let _ = write!(
        answer,
        "\nlevel: {} ({}{pinned})\nversion: {}, by {}{rewritten}, trust {}",
        view.level.as_str(),
        match view.lifecycle {
            Lifecycle::ColdArchived => "in the archive".to_owned(),
            lifecycle => lifecycle.to_string(),
        },
        page.version,
        page.author,
        page.trust
    );
    match page.detail() {
        Some(detail) => {
            let (count, tokens) = (detail.messages, detail.weight / 4);
            let _ = write!(answer, "\nholds: {count} messages, about {tokens} tokens");
            let text = detail_text(&hand.session.reader().messages(&page.index).await?);
            let budget = hand.session.window_budget(&hand.options).await?;
            let (text, _) = part(hand, budget, &page.index, &text, offset)?;
            let _ = write!(answer, "\n---\n{text}");
        }
        None => {
            let count = hand.session.reader().child_count(&page.index).await?;
            let _ = write!(answer, "\nholds: {count} pages");
            if hand.surface != Surface::Run {
                let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
                answer.push_str(&children(hand, &page.index, count, offset).await?);
            }
        }
    }
    Ok(ToolOutput::of(answer))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    #[serde(default)]
    offset: Option<u64>,
}

pub(super) async fn window(hand: &Hand, arguments: &Value) -> Done {
    let Window { offset } = arguments::read(arguments)?;
    let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
    let account = hand.session.window(&hand.options).await?.account;
    let budget = account.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let count = account.pages.len();
    let mut answer = format!("{}{budget} tokens, {count} pages and runs", account.tokens);
    let mut next = offset;
    for item in account.pages.iter().skip(offset).take(LISTED) {
        if answer.len() > LISTED_BYTES {
            break;
        }
        let page = match hand.session.get_page(&item.page).await {
            Ok(view) => named(&view.page),
            Err(_) => item.page.to_string(),
        };
        let _ = write!(answer, "\n{page} ({}, {} tokens)", item.level.as_str(), item.tokens);
        next += 1;
    }
    if next < count {
        let _ = write!(answer, "\n[read on with offset {next}]");
    }
    Ok(ToolOutput::of(answer))
}
