//! The tools that change pages or levels. Each applies at once and says what that costs.

use contexture_core::{Edit, Page, PageIndex, PageUpdate, PageView, WindowLevel, storage::Order};
use serde::Deserialize;
use serde_json::Value;

use super::{Done, Failed, Hand, Surface, arguments, named, window_snapshot::WindowSnapshot};
use crate::tool::ToolOutput;

/// What an answer says about a page that is no longer seen after its edit: because of the edit itself, or
/// because others have taken it away since.
const GONE: &str = "it is no longer in your view";

/// What a line that stands for a page takes beside its name and description, in tokens.
const LINE: u64 = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    page: String,
}

pub(super) async fn hide(hand: &Hand, arguments: &Value) -> Done {
    let One { page } = arguments::read(arguments)?;
    let view = hand.session.get_page(page).await?;
    stays(hand, &view.page.index, "hidden").await?;
    let (page, shown) = (&view.page, view.level == WindowLevel::Full);
    // What is not shown frees nothing, and so needs no look at the window.
    if !shown {
        hand.session.hide_details(&page.index).await?;
        return Ok(ToolOutput::of(format!(
            "{} is hidden; it was not open: no tokens freed, the cache stays valid",
            named(page)
        )));
    }
    let snapshot = WindowSnapshot::of(hand).await;
    let range = snapshot.range(hand, &page.index).await?;
    hand.session.hide_details(&page.index).await?;
    let now = range.as_ref().map_or(0, |range| snapshot.tokens(range));
    let freed = now.saturating_sub(line(hand, page));
    let effect = snapshot.effect(&[range]);
    Ok(ToolOutput::of(format!("hidden: {}: about {freed} tokens freed; {effect}", named(page))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    page: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

pub(super) async fn update(hand: &Hand, arguments: &Value) -> Done {
    let Update { page, name, description } = arguments::read(arguments)?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (name, description) = (given(name), given(description));
    if name.is_none() && description.is_none() {
        return Ok(ToolOutput::failed("nothing to change: give a name or a description"));
    }
    let mut update = PageUpdate::of(hand.session.index(&page)?);
    update.name = name.map(|name| name.parse()).transpose()?;
    update.description = description.map(|text| text.parse()).transpose()?;
    updated(hand, update).await
}

/// Updates a page and says what that costs.
pub(super) async fn updated(hand: &Hand, update: PageUpdate) -> Done {
    let (index, rewrites) = (update.page.clone(), update.detail.is_some());
    hand.session.apply(Edit::UpdatePage(update)).await?;
    let Ok(view) = hand.session.get_page(&index).await else {
        return Ok(ToolOutput::of(format!("updated {index}; {GONE}")));
    };
    let snapshot = WindowSnapshot::of(hand).await;
    // For a provider a page in full is its messages alone: its name does not stand there.
    let provider = matches!(hand.options.format, contexture_core::Format::Provider(_));
    let effect = match snapshot.page(&index) {
        Some((WindowLevel::Full, _)) if provider && !rewrites && !view.page.is_contents() => {
            "the window does not show its name while it is open: the cache stays valid".to_owned()
        }
        Some(_) => snapshot.effect(&[snapshot.range(hand, &index).await.unwrap_or_default()]),
        None => "the window does not show it on its own: the cache stays valid".to_owned(),
    };
    Ok(ToolOutput::of(format!(
        "updated {}, now version {}: {effect}",
        named(&view.page),
        view.page.version
    ))
    .changing(index))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Move {
    page: String,
    to: String,
}

pub(super) async fn move_page(hand: &Hand, arguments: &Value) -> Done {
    let Move { page, to } = arguments::read(arguments)?;
    let (page, to) = (hand.session.index(&page)?, hand.session.index(&to)?);
    stays(hand, &page, "moved").await?;
    // Where both stand can only be seen before; if one is not there the edit says so.
    let (snapshot, old, new) = before(hand, &page, &to).await?;
    let outcome = hand.session.move_page(&page, &to).await?;
    let now = outcome.moved.iter().find(|(from, _)| *from == page).map(|(_, to)| to);
    let renamed = now.map(|now| format!("; its index is now {now}")).unwrap_or_default();
    let Ok(view) = hand.session.get_page(now.unwrap_or(&page)).await else {
        let text = format!("moved {page} to the end of {to}{renamed}; {GONE}");
        return Ok(ToolOutput::of(text).changing(now.unwrap_or(&page).clone()));
    };
    let effect = snapshot.effect(&[old, new]);
    let text = format!(
        "moved {page} to the end of {to}{renamed}, version {}: {effect}",
        view.page.version
    );
    Ok(ToolOutput::of(text).changing(view.page.index.clone()))
}

/// Refuses what would take the request away that is being answered: the root it stands under, and the
/// pages of the agent's latest turn. The model would go on with an earlier request.
async fn stays(hand: &Hand, page: &PageIndex, verb: &str) -> Result<(), Failed> {
    let root = hand.session.writes_to().root();
    let refused = |what: &str| {
        let text = format!("{page} cannot be {verb}: {what}. Name another page.");
        Err(Failed::Said(ToolOutput::failed(text)))
    };
    if *page == root {
        return refused("your conversation is under it");
    }
    // Whoever works through MCP has a conversation elsewhere: nothing here is being answered.
    if hand.surface == Surface::Mcp {
        return Ok(());
    }
    let agent = hand.session.principal().view().map(|view| view.agent.clone());
    let reader = hand.session.reader();
    let latest = reader.children(&root, Order::Backward, None, LATEST).await?;
    let own = |seen: &&PageView| {
        let author = seen.page.author.agent();
        seen.page.turn.is_some() && author.is_some() && author == agent.as_ref()
    };
    let turn = latest.items.iter().find(own).and_then(|seen| seen.page.turn.clone());
    match hand.session.get_page(page).await {
        Ok(seen) if turn.is_some() && seen.page.turn == turn => {
            refused("it belongs to the request you are answering")
        }
        _ => Ok(()),
    }
}

/// How many of the latest pages are looked through for the agent's own.
const LATEST: usize = 256;

type Ranges = (WindowSnapshot, Option<std::ops::Range<usize>>, Option<std::ops::Range<usize>>);

async fn before(hand: &Hand, page: &PageIndex, to: &PageIndex) -> Result<Ranges, Failed> {
    hand.session.get_page(page).await?;
    hand.session.get_page(to).await?;
    let snapshot = WindowSnapshot::of(hand).await;
    let old = snapshot.range(hand, page).await?;
    let new = snapshot.range(hand, to).await?;
    Ok((snapshot, old, new))
}

pub(super) async fn remove(hand: &Hand, arguments: &Value) -> Done {
    let One { page } = arguments::read(arguments)?;
    let view = hand.session.get_page(page).await?;
    stays(hand, &view.page.index, "removed").await?;
    let snapshot = WindowSnapshot::of(hand).await;
    let range = snapshot.range(hand, &view.page.index).await?;
    hand.session.remove_page(&view.page.index).await?;
    // A page of a run frees nothing: the run's line stays.
    let own = view.page.is_contents() || snapshot.page(&view.page.index).is_some();
    let freed = range.as_ref().filter(|_| own).map_or(0, |range| snapshot.tokens(range));
    let effect = snapshot.effect(&[range]);
    let restores = hand.surface.words().restores;
    Ok(ToolOutput::of(format!(
        "removed {} to the archive, {restores}: about {freed} tokens freed; {effect}",
        named(&view.page)
    ))
    .changing(view.page.index.clone()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    page: String,
    #[serde(default)]
    to: Option<String>,
}

pub(super) async fn restore(hand: &Hand, arguments: &Value) -> Done {
    let Restore { page, to } = arguments::read(arguments)?;
    let page = hand.session.index(&page)?;
    let to = to.filter(|to| !to.is_empty()).map(|to| hand.session.index(to)).transpose()?;
    let outcome = hand.session.apply(Edit::RestorePage { page: page.clone(), to }).await?;
    let now = outcome.moved.iter().find(|(from, _)| *from == page).map_or(&page, |(_, to)| to);
    let renamed = if *now == page { String::new() } else { format!("; its index is now {now}") };
    let Ok(view) = hand.session.get_page(now).await else {
        return Ok(ToolOutput::of(format!("restored {page}{renamed}; {GONE}")));
    };
    let snapshot = WindowSnapshot::of(hand).await;
    let range = snapshot.range(hand, now).await.unwrap_or_default();
    let added = range.as_ref().map_or(0, |range| snapshot.tokens(range));
    let place = match &view.page.parent {
        Some(parent) => format!(" in {parent}"),
        None => String::new(),
    };
    let (page, effect) = (named(&view.page), snapshot.effect(&[range]));
    Ok(ToolOutput::of(format!("restored {page}{place}{renamed}: {added} tokens added; {effect}")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateDetail {
    name: String,
    #[serde(default)]
    description: Option<String>,
    detail: String,
    #[serde(default)]
    parent: Option<String>,
}

pub(super) async fn create_detail(hand: &Hand, arguments: &Value) -> Done {
    let CreateDetail { name, description, detail, parent } = arguments::read(arguments)?;
    let parent = directory(hand, parent)?;
    let description = description.unwrap_or_default();
    let created = hand.session.create_detail_page(&name, &description, &detail, &parent).await?;
    let snapshot = WindowSnapshot::of(hand).await;
    created_at(hand, &snapshot, &created, &parent).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateContents {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    children: Option<Vec<String>>,
}

pub(super) async fn create_contents(hand: &Hand, arguments: &Value) -> Done {
    let CreateContents { name, description, parent, children } = arguments::read(arguments)?;
    let parent = directory(hand, parent)?;
    let description = description.unwrap_or_default();
    let children = children.unwrap_or_default();
    let children: Vec<PageIndex> =
        children.iter().map(|child| hand.session.index(child)).collect::<Result<_, _>>()?;
    if children.is_empty() {
        let created = hand.session.create_contents_page(&name, &description, &parent, &[]).await?;
        let snapshot = WindowSnapshot::of(hand).await;
        return created_at(hand, &snapshot, &created, &parent).await;
    }
    // Where the pages stand can only be seen before they go.
    let snapshot = WindowSnapshot::of(hand).await;
    let mut ranges = Vec::new();
    for child in &children {
        hand.session.get_page(child).await?;
        stays(hand, child, "moved").await?;
        ranges.push(snapshot.range(hand, child).await?);
    }
    let created =
        hand.session.create_contents_page(&name, &description, &parent, &children).await?;
    let Ok(view) = hand.session.get_page(&created).await else {
        let text = format!("created {created} at the end of {parent}; {GONE}");
        return Ok(ToolOutput::of(text).changing(created));
    };
    let (count, effect) = (children.len(), snapshot.effect(&ranges));
    Ok(ToolOutput::of(format!(
        "created {} at the end of {parent}, version {}, with {count} pages in it: {effect}",
        named(&view.page),
        view.page.version
    ))
    .changing(created))
}

/// Says where a page that was just made stands.
async fn created_at(
    hand: &Hand,
    snapshot: &WindowSnapshot,
    created: &PageIndex,
    parent: &PageIndex,
) -> Done {
    let Ok(view) = hand.session.get_page(created).await else {
        let text = format!("created {created} at the end of {parent}; {GONE}");
        return Ok(ToolOutput::of(text).changing(created.clone()));
    };
    let own = snapshot.page(created);
    let range = match own {
        Some(_) => snapshot.range(hand, created).await.unwrap_or_default(),
        None => None,
    };
    let added = own.map_or(0, |(_, tokens)| tokens);
    let effect = snapshot.effect(&[range]);
    Ok(ToolOutput::of(format!(
        "created {} at the end of {parent}, version {}: {added} tokens added; {effect}",
        named(&view.page),
        view.page.version
    ))
    .changing(created.clone()))
}

/// Returns the directory named, or the root of what the agent writes to.
fn directory(hand: &Hand, parent: Option<String>) -> Result<PageIndex, Failed> {
    match parent.filter(|parent| !parent.is_empty()) {
        Some(parent) => Ok(hand.session.index(parent)?),
        None => Ok(hand.session.writes_to().root()),
    }
}

/// Returns about what the line takes that stands for a hidden page.
fn line(hand: &Hand, page: &Page) -> u64 {
    let text = format!("{} {} {}", page.index, page.name, page.description);
    hand.options.counter.count(&text).0 + LINE
}
