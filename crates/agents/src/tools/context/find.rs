//! `find_page` and `recall`: what was said, wherever it stands now.

use std::fmt::Write as _;

use contexture_core::{Tokens, message::detail_text, window::quote_text};
use contexture_search::{FindQuery, Hit, RecallPurpose, RecallQuery, Similarity};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Hand, arguments,
    expand::{opening, room},
    named,
    window_snapshot::WindowSnapshot,
};
use crate::tool::ToolOutput;

/// How many pages are found when nothing is said, and at most.
const FOUND: (u64, u64) = (10, 50);

/// Says where a page is that was removed.
const IN_ARCHIVE: &str = "in the archive";

/// How many pages one answer brings back at most.
const RECALLED: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    query: String,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    archived: bool,
}

pub(super) async fn find(hand: &Hand, arguments: &Value) -> Done {
    let Find { query, limit, archived } = arguments::read(arguments)?;
    let limit = limit.unwrap_or(FOUND.0).clamp(1, FOUND.1) as usize;
    let query = FindQuery { limit, archived: Some(archived), ..FindQuery::new(query) };
    let found = hand.index.get()?.search(&hand.context, &query).await?;
    let words_alone = words_alone(found.similarity.as_ref());
    if found.hits.is_empty() {
        let nothing = match archived {
            true => "no page in the archive says that; nothing changed",
            false => "no page says that; nothing changed; archived: true looks in the archive",
        };
        return Ok(ToolOutput::of(format!("{nothing}{words_alone}")));
    }
    let mut lines = Vec::new();
    for hit in &found.hits {
        let level = match hit.page.archived {
            true => IN_ARCHIVE,
            false => hand.context.get_page(hit.index()).await?.level.as_str(),
        };
        lines.push(format!("{}{}", head(hit, level), said(hit)));
    }
    Ok(ToolOutput::of(lines.join("\n") + words_alone))
}

/// Says so where meanings should have been compared and were not: other words may then find more.
fn words_alone(similarity: Option<&Similarity>) -> &'static str {
    match similarity {
        Some(similarity) if !similarity.compared => {
            "\n(by words alone: meanings cannot be compared now)"
        }
        _ => "",
    }
}

/// Returns a page that was found with its level and size.
fn head(hit: &Hit, level: &str) -> String {
    let page = &hit.page.page;
    let size = match page.detail() {
        // Counting would load every page; four bytes are about a token.
        Some(detail) => format!("about {} tokens", detail.weight / 4),
        None => "directory".to_owned(),
    };
    format!("{} ({level}, {size})", named(page))
}

/// Returns what a page was found by.
fn said(hit: &Hit) -> String {
    // What a name says is there already.
    if hit.snippet.text.is_empty() || hit.snippet.text == hit.page.page.name.as_str() {
        return String::new();
    }
    let (before, behind) = hit.snippet.cut;
    let ends = |cut: bool| if cut { "…" } else { "" };
    let text = format!("{}{}{}", ends(before), hit.snippet.text, ends(behind));
    format!(": {}", quote_text(&text))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recall {
    query: String,
    #[serde(default)]
    budget: Option<u64>,
    #[serde(default)]
    archived: bool,
}

pub(super) async fn recall(hand: &Hand, arguments: &Value) -> Done {
    let Recall { query, budget, archived } = arguments::read(arguments)?;
    let snapshot = WindowSnapshot::of(hand).await;
    let room = room(hand, &snapshot);
    let budget = budget.unwrap_or(room).clamp(1, room);
    let find = FindQuery { limit: RECALLED, archived: Some(archived), ..FindQuery::new(query) };
    let (budget, purpose) = (Tokens(budget), RecallPurpose::Answer);
    let query = RecallQuery { find, budget, into: None, purpose };
    let plan = hand.index.get()?.recall(&hand.context, &query, &hand.options).await?;
    if plan.pages.is_empty() {
        return Ok(ToolOutput::of(match (plan.left_out, plan.standing) {
            (0, 0) if archived => "no page in the archive says that; nothing was added".to_owned(),
            (0, 0) => "no page says that; nothing was added; archived: true looks in the archive"
                .to_owned(),
            (0, _) => "what says that is already shown in full in your window".to_owned(),
            (_, _) => format!(
                "what says that takes more than {} tokens: find_page lists it, {} shows it part by \
                 part",
                budget.0,
                if archived { "get_page" } else { "expand_details" }
            ),
        }));
    }
    let (mut answer, mut expands) = (String::new(), Vec::new());
    let places = match archived {
        true => "they stay in the archive",
        false => "their places in the window open at the next fold",
    };
    let _ = write!(
        answer,
        "{} pages, {} tokens, here only; {places}; nothing earlier changed, the cache stays valid",
        plan.pages.len(),
        plan.tokens().0
    );
    for recalled in &plan.pages {
        let index = recalled.hit.index();
        let view = hand.context.get_page_or_archived(index).await?;
        expands.extend(opening(&view).1);
        let text = detail_text(&hand.context.reader().messages(index).await?);
        let why = said(&recalled.hit);
        let _ = write!(
            answer,
            "\n--- {} ({} tokens){why}\n{text}",
            named(&view.page),
            recalled.tokens.0
        );
    }
    Ok(ToolOutput { text: answer, error: false, expands })
}
