//! `find_page` and `recall`: what was said, wherever it stands now.

use std::fmt::Write as _;

use contexture_core::{Tokens, message::detail_text, window::quote_text};
use contexture_search::{FindQuery, Hit, RecallPurpose, RecallQuery, Similarity};
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
    let found = found(hand, query, limit, Some(archived)).await?;
    Ok(found.or_say(match archived {
        true => "no page in the archive says that; nothing changed",
        false => "no page says that; nothing changed; archived: true looks in the archive",
    }))
}

/// What was found, a line for each page, and what else is to be said of the search.
struct FoundPages {
    list: String,
    words_alone: &'static str,
}

impl FoundPages {
    /// Returns the list, or these words where nothing was found.
    fn or_say(self, nothing: &str) -> ToolOutput {
        let list = if self.list.is_empty() { nothing } else { &self.list };
        ToolOutput::of(format!("{list}{}", self.words_alone))
    }
}

/// Lists the best pages.
async fn found(
    hand: &Hand,
    query: String,
    limit: Option<u64>,
    archived: Option<bool>,
) -> Result<FoundPages, Failed> {
    let limit = limit.unwrap_or(FOUND.0).clamp(1, FOUND.1) as usize;
    let query = FindQuery { limit, archived, ..FindQuery::new(query) };
    let found = hand.index.get()?.search(&hand.session, &query).await?;
    let mut list = String::new();
    for (at, hit) in found.hits.iter().enumerate() {
        if list.len() > LISTED_BYTES {
            let _ = write!(list, "\n[{} more: say it more exactly]", found.hits.len() - at);
            break;
        }
        let level = match hit.page.archived {
            true => IN_ARCHIVE,
            false => hand.session.get_page(hit.index()).await?.level.as_str(),
        };
        let line = if list.is_empty() { "" } else { "\n" };
        let _ = write!(list, "{line}{}{}", head(hit, level), said(hit));
    }
    Ok(FoundPages { list, words_alone: words_alone(found.similarity.as_ref()) })
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
    recalled(hand, query, budget, Some(archived)).await
}

/// Gives the pages that fit best in full, as many as the budget holds. Over MCP they come back into the window.
async fn recalled(hand: &Hand, query: String, budget: Option<u64>, archived: Option<bool>) -> Done {
    let snapshot = WindowSnapshot::of(hand).await;
    let room = room(hand, snapshot.budget());
    let budget = budget.unwrap_or(room).clamp(1, room);
    let find = FindQuery { limit: RECALLED, archived, ..FindQuery::new(query) };
    let purpose = match hand.surface {
        Surface::Mcp => RecallPurpose::Window,
        Surface::Run | Surface::Host => RecallPurpose::Answer,
    };
    let query = RecallQuery { find, budget: Tokens(budget), into: None, purpose };
    let plan = hand.index.get()?.recall(&hand.session, &query, &hand.options).await?;
    let words = hand.surface.words();
    let from_archive = archived == Some(true);
    if plan.pages.is_empty() {
        return Ok(ToolOutput::of(match (plan.left_out, plan.standing) {
            (0, 0) if from_archive => {
                "no page in the archive says that; nothing was added".to_owned()
            }
            (0, 0) if hand.surface == Surface::Run => {
                "no page says that; nothing was added; archived: true looks in the archive"
                    .to_owned()
            }
            (0, 0) => "no page says that; nothing was added".to_owned(),
            (0, _) => "what says that is already shown in full in your window".to_owned(),
            (_, _) => format!(
                "what says that takes more than {budget} tokens: {} lists it, {} shows it part by part",
                words.find,
                if from_archive { words.read } else { words.expand }
            ),
        }));
    }
    let opens = match hand.surface {
        _ if from_archive => {
            ", here only; they stay in the archive; nothing earlier changed, the cache stays valid"
        }
        Surface::Run => {
            ", here only; their places in the window open at the next fold; nothing earlier changed, the cache stays valid"
        }
        Surface::Host => {
            ", here only; their places in the window stay as they are, the cache stays valid"
        }
        Surface::Mcp => "; opened in the window",
    };
    let mut answer = format!("{} pages, {} tokens{opens}", plan.pages.len(), plan.tokens().0);
    if let Some(edit) = plan.edit() {
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
        let view = hand.session.get_page_or_archived(index).await?;
        if hand.surface == Surface::Run && !from_archive {
            expands.extend(opening(hand, &snapshot, &view).await?.expands);
        }
        let text = detail_text(&hand.session.reader().messages(index).await?);
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
        let output = recalled(hand, query.clone(), budget, archived).await?;
        // The pages that stand in the window already may be unknown to the model.
        let found = match hand.surface {
            Surface::Mcp => found(hand, query, limit, archived).await?.list,
            Surface::Run | Surface::Host => String::new(),
        };
        if found.is_empty() {
            return Ok(output);
        }
        let text = format!("{}\n--- all that was found\n{found}", output.text);
        return Ok(ToolOutput { text, ..output });
    }
    Ok(found(hand, query, limit, archived).await?.or_say(NOTHING))
}
