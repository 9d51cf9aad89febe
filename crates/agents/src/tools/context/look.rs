//! `find_page`, `get_page` and `read_window`: what there is and what it says; nothing changes.

use std::fmt::Write as _;

use contexture_core::{PageView, message::detail_text, window::quote_text};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Hand, arguments,
    expand::{LISTED, part},
    named,
    window_snapshot::WindowSnapshot,
};
use crate::tool::ToolOutput;

/// How many pages are found when nothing is said, and at most.
const FOUND: (u64, u64) = (20, 100);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    query: String,
    #[serde(default)]
    limit: Option<u64>,
}

pub(super) async fn find(hand: &Hand, arguments: &Value) -> Done {
    let Find { query, limit } = arguments::read(arguments)?;
    let limit = limit.unwrap_or(FOUND.0).clamp(1, FOUND.1) as usize;
    let mut found = hand.context.find_page(&query, limit + 1).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    if found.is_empty() {
        return Ok(ToolOutput::of("no page's name or description contains that; nothing changed"));
    }
    let mut lines: Vec<String> = found.iter().map(line).collect();
    if more {
        lines.push(format!("[only the first {limit}: raise limit, or narrow the query]"));
    }
    Ok(ToolOutput::of(lines.join("\n")))
}

fn line(found: &PageView) -> String {
    let page = &found.page;
    let about = match page.description.as_str() {
        "" => String::new(),
        description => format!(": {}", quote_text(description)),
    };
    let kind = if page.is_contents() { "directory, " } else { "" };
    format!("{}{about} ({kind}{})", named(page), found.level.as_str())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    page: String,
    #[serde(default)]
    offset: Option<u64>,
}

pub(super) async fn get(hand: &Hand, arguments: &Value) -> Done {
    let Get { page, offset } = arguments::read(arguments)?;
    let view = hand.context.get_page(page).await?;
    let page = &view.page;
    let mut answer = format!("{} ({})", named(page), page.type_name());
    if !page.description.as_str().is_empty() {
        let _ = write!(answer, "\ndescription: {}", quote_text(page.description.as_str()));
    }
    if let Some(parent) = &page.parent {
        let _ = write!(answer, "\ndirectory: {parent}");
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
        view.lifecycle,
        page.version,
        page.author,
        page.trust
    );
    match page.detail() {
        Some(detail) => {
            let (count, tokens) = (detail.messages, detail.weight / 4);
            let _ = write!(answer, "\nholds: {count} messages, about {tokens} tokens");
            let text = detail_text(&hand.context.get_messages(&page.index).await?);
            let snapshot = WindowSnapshot::of(hand).await;
            let _ =
                write!(answer, "\n---\n{}", part(hand, &snapshot, &page.index, &text, offset)?.0);
        }
        None => {
            let count = hand.context.reader().child_count(&page.index).await?;
            let _ = write!(answer, "\nholds: {count} pages");
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
    let account = hand.context.window(&hand.options).await?.account;
    let budget = account.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let count = account.pages.len();
    let mut answer = format!("{}{budget} tokens, {count} pages and runs", account.tokens);
    for item in account.pages.iter().skip(offset).take(LISTED) {
        let page = match hand.context.get_page(&item.page).await {
            Ok(view) => named(&view.page),
            Err(_) => item.page.to_string(),
        };
        let _ = write!(answer, "\n{page} ({}, {} tokens)", item.level.as_str(), item.tokens);
    }
    let next = offset.saturating_add(LISTED);
    if next < count {
        let _ = write!(answer, "\n[read on with offset {next}]");
    }
    Ok(ToolOutput::of(answer))
}
