//! `find_page` and `recall`: what was said, wherever it stands now.

use std::fmt::Write as _;

use contexture_core::{Tokens, message::detail_text, window::quote_text};
use contexture_search::{FindQuery, Hit, RecallQuery};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Failed, Hand, Surface, arguments,
    expand::{LISTED_BYTES, opening, room},
    named,
    window_snapshot::WindowSnapshot,
};
use crate::tool::ToolOutput;

const NOTHING: &str = "no page says that; nothing changed";

/// How many pages are found when nothing is said, and at most.
const FOUND: (u64, u64) = (10, 50);

/// How many pages one answer brings back at most.
const RECALLED: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    query: String,
    #[serde(default)]
    limit: Option<u64>,
}

pub(super) async fn find(hand: &Hand, arguments: &Value) -> Done {
    let Find { query, limit } = arguments::read(arguments)?;
    let found = found(hand, query, limit, Some(false)).await?;
    Ok(ToolOutput::of(found.unwrap_or_else(|| NOTHING.to_owned())))
}

/// Lists the best pages, a line each; none where nothing was found.
async fn found(
    hand: &Hand,
    query: String,
    limit: Option<u64>,
    archived: Option<bool>,
) -> Result<Option<String>, Failed> {
    let limit = limit.unwrap_or(FOUND.0).clamp(1, FOUND.1) as usize;
    let query = FindQuery { limit, archived, ..FindQuery::new(query) };
    let found = hand.index.get()?.find(&hand.session, &query).await?;
    let mut list = String::new();
    for (at, hit) in found.iter().enumerate() {
        if list.len() > LISTED_BYTES {
            let _ = write!(list, "\n[{} more: say it more exactly]", found.len() - at);
            break;
        }
        let level = match hit.page.archived {
            true => "archived",
            false => hand.session.get_page(hit.index()).await?.level.as_str(),
        };
        let line = if list.is_empty() { "" } else { "\n" };
        let _ = write!(list, "{line}{}{}", head(hit, level), said(hit));
    }
    Ok((!list.is_empty()).then_some(list))
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
}

pub(super) async fn recall(hand: &Hand, arguments: &Value) -> Done {
    let Recall { query, budget } = arguments::read(arguments)?;
    recalled(hand, query, budget).await
}

/// Gives the pages that fit best in full, as many as the budget holds.
async fn recalled(hand: &Hand, query: String, budget: Option<u64>) -> Done {
    let snapshot = WindowSnapshot::of(hand).await;
    let room = room(hand, &snapshot);
    let budget = budget.unwrap_or(room).clamp(1, room);
    let archived = if hand.surface == Surface::Mcp { None } else { Some(false) };
    let find = FindQuery { limit: RECALLED, archived, ..FindQuery::new(query) };
    let query = RecallQuery { find, budget: Tokens(budget), into: None };
    let plan = hand.index.get()?.recall(&hand.session, &query, &hand.options).await?;
    let words = hand.surface.words();
    if plan.pages.is_empty() {
        return Ok(ToolOutput::of(match (plan.left_out, plan.standing) {
            (0, 0) => "no page says that; nothing was added".to_owned(),
            (0, _) => "what says that is already shown in full in your window".to_owned(),
            (_, _) => format!(
                "what says that takes more than {budget} tokens: {} lists it, {} shows it part by part",
                words.find, words.expand
            ),
        }));
    }
    let opens = match hand.surface {
        Surface::Run => {
            ", here only; their places in the window open at the next fold; nothing earlier changed, the cache stays valid"
        }
        Surface::Host => {
            ", here only; their places in the window stay as they are, the cache stays valid"
        }
        Surface::Mcp => "; opened in the window",
    };
    let mut answer = format!("{} pages, {} tokens{opens}", plan.pages.len(), plan.tokens().0);
    if let Some(edit) = plan.edit().filter(|_| hand.surface == Surface::Mcp) {
        let mut ranges = Vec::new();
        for page in plan.pages.iter().filter(|page| !page.hit.page.archived) {
            ranges.push(snapshot.range(hand, page.hit.index()).await?);
        }
        hand.session.apply(edit).await?;
        let _ = write!(answer, ": {}", snapshot.effect(&ranges));
    }
    let mut expands = Vec::new();
    for recalled in &plan.pages {
        let index = recalled.hit.index();
        let view = hand.session.get_page(index).await?;
        if hand.surface == Surface::Run {
            expands.extend(opening(hand, &snapshot, &view).await?.expands);
        }
        let text = detail_text(&hand.session.get_messages(index).await?);
        let why = said(&recalled.hit);
        let _ = write!(
            answer,
            "\n--- {} ({} tokens){why}\n{text}",
            named(&view.page),
            recalled.tokens.0
        );
    }
    Ok(ToolOutput { expands, ..ToolOutput::of(answer) })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindOrRecall {
    query: String,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    recall: Option<bool>,
    #[serde(default)]
    budget: Option<u64>,
}

/// Finds, and brings the best back where that is asked for: `find` for models and clients elsewhere.
pub(super) async fn find_or_recall(hand: &Hand, arguments: &Value) -> Done {
    let FindOrRecall { query, limit, recall, budget } = arguments::read(arguments)?;
    // Only who can restore pages is shown those in the archive.
    let archived = if hand.surface == Surface::Mcp { None } else { Some(false) };
    if recall == Some(true) {
        let output = recalled(hand, query.clone(), budget).await?;
        // The pages that stand in the window already may be unknown to the model.
        let found = match hand.surface {
            Surface::Mcp => found(hand, query, limit, archived).await?,
            Surface::Run | Surface::Host => None,
        };
        return Ok(match found {
            Some(found) => {
                let text = format!("{}\n--- all that was found\n{found}", output.text);
                ToolOutput { text, ..output }
            }
            None => output,
        });
    }
    let found = found(hand, query, limit, archived).await?;
    Ok(ToolOutput::of(found.unwrap_or_else(|| NOTHING.to_owned())))
}
