//! Folded turns: listed for hosts that have better lines written for them, and described once.
//!
//! ```text
//!  folded_turns ──► (the host asks a model) ──► describe_turn ──► the next fold tells it
//! ```
//!
//! The line of a turn is the description of the page that begins it: an ordinary edit of the system
//! side, in the history, taken back by undo and gone with the page. A turn is listed only where the
//! view sees all of it, since all views that see the page read its description.
//!
//! Which turns were asked for is kept in run records, by a hash of what the turn says. They lie outside
//! the history and are written in the same commit as the description, so that a line which somebody
//! undid or cleared does not come back. Custom state would be put back by the undo itself.

use std::sync::Arc;

use serde::Serialize;

use super::{ContextSystem, EditOutcome, Reader};
use crate::{
    Description, Edit, Page, PageIndex, PageUpdate, Principal, Result, Segment,
    storage::{
        ChildQuery, ContentHash, Order, PageRun, PageRunForm, PageStanding, Place, RunKey, RunPut,
        StandingFilter, Version,
    },
    window::{
        outline::Shape,
        plain_text::{PlainText, cut},
    },
};

/// What the keys of the records begin with that say which turns were asked for.
const ASKED: &str = "summary.";

/// How many of a run's last pages are looked at to find the turn that its line tells of.
const LAST_PAGES: usize = 16;

/// How many pages behind the beginning of a turn are looked at to find its end.
const MOST_PAGES: usize = 1_024;

/// How many turns and how much of each are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// How many turns, the newest.
    pub turns: usize,
    /// How many bytes of each.
    pub bytes: usize,
}

/// A turn that stands in a line of a view, does not grow any more, and that nobody has described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedTurn {
    /// Its pages in order; the first begins it.
    pub pages: Vec<PageIndex>,
    /// The version of the first page.
    pub version: Version,
    /// Names what its pages say.
    pub hash: ContentHash,
    /// What was asked, done and said in it: the beginning, and as much of the end as there is room.
    pub text: String,
}

/// What came of asking a model for the line of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLine {
    /// The line; none where the answer was of no use.
    pub line: Option<Description>,
    /// The model.
    pub model: String,
    /// What asking took, in tokens.
    pub tokens: u64,
}

/// What is kept of a turn that was asked for. It holds no text, so that a purge need not look here.
#[derive(Serialize)]
struct AskedFor<'a> {
    page: &'a PageIndex,
    model: &'a str,
    tokens: u64,
    written: bool,
}

impl Reader<'_> {
    /// Returns turns in lines of this view that a line could be written for, the newest first.
    ///
    /// Left out are turns that have a description, that were asked for before, that may still grow,
    /// that stand in the window in part, or of which the view does not see everything.
    pub async fn folded_turns(&self, limits: TurnLimits) -> Result<Vec<FoldedTurn>> {
        self.system.catch_up().await?;
        let outline = self.outline().await?;
        let mut found = Vec::new();
        for section in outline.sections.iter().rev().filter(|section| !section.is_system()) {
            for block in section.blocks.iter().rev() {
                if found.len() >= limits.turns {
                    return Ok(found);
                }
                let Shape::Run(run) = &block.shape else { continue };
                let directory = &block.page.index;
                found.extend(self.folded_turn(&section.segment, directory, run, limits).await?);
            }
        }
        Ok(found)
    }

    /// Returns the turn that a run's line tells of, if a line could be written for it.
    async fn folded_turn(
        &self,
        segment: &Segment,
        directory: &PageIndex,
        run: &PageRun,
        limits: TurnLimits,
    ) -> Result<Option<FoldedTurn>> {
        let Some(first) = self.last_turn_of(directory, run).await? else { return Ok(None) };
        if run.form != PageRunForm::Line || !first.description.is_empty() {
            return Ok(None);
        }
        let Some(pages) = self.whole_turn(segment, directory, &first).await? else {
            return Ok(None);
        };
        let contents = pages.iter().filter_map(|page| page.detail()).map(|detail| detail.content);
        let contents: Vec<u8> = contents.flat_map(|content| *content.as_bytes()).collect();
        let hash = ContentHash::of(&contents);
        if !self.system.runs(key(&hash)?.as_str()).await?.is_empty() {
            return Ok(None);
        }
        let Some(text) = self.text_of(&pages, limits.bytes).await? else { return Ok(None) };
        let version = first.version;
        let pages = pages.iter().map(|page| page.index.clone()).collect();
        Ok(Some(FoldedTurn { pages, version, hash, text }))
    }

    /// Returns the page that begins the last turn in a run.
    async fn last_turn_of(
        &self,
        directory: &PageIndex,
        run: &PageRun,
    ) -> Result<Option<Arc<Page>>> {
        let query = ChildQuery {
            parent: directory.clone(),
            standing: StandingFilter::Listed,
            order: Order::Backward,
            after: Some(Place(run.last.0.saturating_add(1))),
            limit: LAST_PAGES,
        };
        let system = self.system;
        let mut last: Option<Arc<Page>> = None;
        for page in system.storage().children(system.session(), &query).await? {
            let Some(turn) = page.turn.as_ref().filter(|_| run.covers(page.place)) else {
                continue;
            };
            let Some(first) = system.page(turn).await? else { continue };
            let is_here = first.parent.as_ref() == Some(directory) && run.covers(first.place);
            if is_here && last.as_ref().is_none_or(|last| first.place > last.place) {
                last = Some(first);
            }
        }
        Ok(last)
    }

    /// Returns the pages of a turn; none unless it has ended, a run of this view stands for each of its
    /// pages, and the view sees all they say.
    ///
    /// A turn has ended when its author has begun another behind it: only the latest is continued.
    async fn whole_turn(
        &self,
        segment: &Segment,
        directory: &PageIndex,
        first: &Page,
    ) -> Result<Option<Vec<Arc<Page>>>> {
        let system = self.system;
        let entry = self.own_entry(directory).await?;
        let query = ChildQuery {
            parent: directory.clone(),
            standing: StandingFilter::Listed,
            order: Order::Forward,
            after: first.place.0.checked_sub(1).map(Place),
            limit: MOST_PAGES,
        };
        let mut pages: Vec<Arc<Page>> = Vec::new();
        for page in system.storage().children(system.session(), &query).await? {
            let begins = page.turn.as_ref() == Some(&page.index);
            if begins && page.author == first.author && page.index != first.index {
                let begun = |page: &Arc<Page>| page.index == first.index;
                return Ok(pages.first().is_some_and(begun).then_some(pages));
            }
            if page.turn.as_ref() != Some(&first.index) || page.standing != PageStanding::InTree {
                continue;
            }
            let folded = entry.run_over(&page.index, page.place).is_some();
            let (own, of_system) = self.entries(&page).await?;
            let pinned = own.pinned.or(of_system.pinned).unwrap_or(false);
            match self.seen_page(segment, Arc::new(page)).await? {
                Some(seen_page) if seen_page.speech.is_all() && folded && !pinned => {
                    pages.push(seen_page.page)
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns what pages of a turn say, within so many bytes; none where it does not begin with a
    /// request.
    async fn text_of(&self, pages: &[Arc<Page>], bytes: usize) -> Result<Option<String>> {
        let Some((first, rest)) = pages.split_first() else { return Ok(None) };
        let messages = self.messages(&first.index).await?;
        let plain = PlainText::of(&messages);
        if !plain.is_asked {
            return Ok(None);
        }
        let most = if rest.is_empty() { bytes } else { bytes / 2 };
        let beginning = cut(&plain.text, most);
        let mut room = bytes.saturating_sub(beginning.len());
        let mut end: Vec<String> = Vec::new();
        for page in rest.iter().rev() {
            let text = PlainText::of(&self.messages(&page.index).await?).text;
            if text.len() > room && !end.is_empty() {
                break;
            }
            let text = cut(&text, room);
            room = room.saturating_sub(text.len());
            end.push(text);
        }
        let mut text = beginning;
        let left_out = rest.len() - end.len();
        if left_out > 0 {
            text.push_str(&format!("({left_out} pages left out here)\n"));
        }
        text.extend(end.into_iter().rev());
        Ok(Some(text))
    }
}

impl ContextSystem {
    /// Describes a folded turn, for the system side, and keeps that it was asked for. Without a line
    /// only the latter, and nothing is returned.
    ///
    /// It is a conflict if the first page changed since the turn was listed, or if somebody else
    /// described the turn meanwhile.
    pub async fn describe_turn(
        &self,
        turn: &FoldedTurn,
        by: &TurnLine,
    ) -> Result<Option<EditOutcome>> {
        let Some(page) = turn.pages.first() else { return Ok(None) };
        let (model, tokens, written) = (by.model.as_str(), by.tokens, by.line.is_some());
        let value = serde_json::to_string(&AskedFor { page, model, tokens, written })
            .expect("records have only string keys");
        let record = RunPut::first(key(&turn.hash)?, value, self.now());
        let Some(line) = &by.line else {
            self.keep_run(&record).await?;
            return Ok(None);
        };
        let update = PageUpdate {
            description: Some(line.clone()),
            if_version: Some(turn.version),
            ..PageUpdate::of(page.clone())
        };
        self.apply_with_runs(&Principal::System, &Edit::UpdatePage(update), &[record])
            .await
            .map(Some)
    }
}

fn key(hash: &ContentHash) -> Result<RunKey> {
    format!("{ASKED}{hash}").parse()
}
