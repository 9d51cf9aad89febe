//! Folding: what is lowered when a window is over its budget.
//!
//! ```text
//!  system │ lines of turns, requests between them │ logs of pages │ recent pages
//!  never  │ one line each, the oldest merged      │ calls in full │ never the last
//! ```
//!
//! Everything behind the first changed byte is read again by the provider. So a fold first only adds:
//! pages between the last log and the recent ones become logs. When logs take too much, everything is
//! settled again: the newest pages keep their logs, older turns become one line each, requests stand
//! while they fit their share. Where that is not enough, harder measures follow one by one, each only
//! while the window is still over. The pass needs no model, visits each block a bounded number of
//! times, and every measure that does not lower the count is not taken. Messages may be bounded too
//! (`messages`): then their number is the count.

mod lines;
mod logs;
mod messages;
mod quote;
mod requests;
mod shares;
mod steps;
mod summaries;
mod zone;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap, HashSet},
};

use super::{
    count::TokenCounter,
    outline::Outline,
    plan::{Item, Plan, Quotes, Writing},
    source::ShownBody,
};
use crate::{
    Error, PageIndex, Result,
    storage::{Fold, LevelEntry},
    window::{FoldPlan, FoldReport, FoldStep},
};

pub use shares::FoldShares;

/// The most tokens lines take together, however large the budget.
const MOST_LINES: u64 = 6_000;

/// What a fold is planned on.
pub(crate) struct Ground<'a> {
    /// What the lines quote; it must hold the digests and words of all pages that may fold.
    pub quotes: &'a Quotes,
    /// How the window is written.
    pub writing: Writing<'a>,
    /// What counts the lines.
    pub counter: &'a dyn TokenCounter,
    /// What shapes it.
    pub shares: FoldShares,
    /// What trimmed pages were found to take; it is not known before one is rendered.
    pub trimmed: HashMap<PageIndex, u64>,
    /// Pages as logs.
    pub logs: HashMap<PageIndex, Logged>,
    /// What requests take, by what of them stands.
    pub requests: HashMap<ShownBody, u64>,
    /// Pages that what was said since the last fold refers to.
    pub referred: HashSet<PageIndex>,
}

/// A page as a log.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    /// What it becomes and takes.
    pub item: Item,
    /// What its request takes where only the beginning and the end stand.
    pub brief: u64,
}

impl Ground<'_> {
    /// Takes in what the trimmed pages of a counted plan take; tells whether any of it is new.
    pub(crate) fn learn(&mut self, plan: &Plan) -> bool {
        let mut learnt = false;
        for item in &plan.items {
            let trimmed = Some(Fold::Trimmed);
            let Some(shape) = item.block.as_page().filter(|it| it.fold == trimmed) else {
                continue;
            };
            if shape.entry.fold != trimmed {
                learnt |= self.trimmed.insert(item.block.page.index.clone(), item.tokens).is_none();
            }
        }
        learnt
    }
}

/// A fold in the making.
pub(crate) struct Folding<'a> {
    ground: &'a Ground<'a>,
    outline: &'a Outline,
    items: Vec<Item>,
    entries: BTreeMap<PageIndex, FoldStep>,
    folded: HashSet<PageIndex>,
    first_changed: usize,
    /// The section it is confined to; none for all.
    scope: Option<usize>,
    /// What was asked last, where its page is not the last.
    open: Option<PageIndex>,
    /// The requests that were chosen to stand, and whether only in brief; none before any was.
    requests: Option<HashMap<PageIndex, bool>>,
    /// Whether what agents expanded stays as it is.
    keeps_held: bool,
    /// Whether messages are bounded, so that lines tell how many are folded.
    bounded: bool,
    /// Whether it is messages that are to become fewer, whatever that takes.
    for_messages: bool,
    /// How often and how lately words occurred, counted once.
    uses: OnceCell<HashMap<u64, quote::Use>>,
}

/// A fold as planned: the plan it leaves, and the edit that takes it.
#[derive(Debug)]
pub(crate) struct Folded {
    /// The blocks as the fold leaves them.
    pub plan: Plan,
    /// The edit.
    pub edit: FoldPlan,
}

/// What blocks may be together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The tokens they may take.
    pub tokens: Option<u64>,
    /// The messages that may stand in full.
    pub messages: Option<u64>,
}

/// Plans the fold that is due, if any: too many messages first, then segments over their capacity,
/// then the whole.
pub(crate) fn fold_due(
    ground: &Ground<'_>,
    outline: &Outline,
    plan: &Plan,
    bounds: Bounds,
) -> Result<Option<Folded>> {
    let before = plan.tokens();
    let mut folding = Folding {
        ground,
        outline,
        items: plan.items.clone(),
        entries: BTreeMap::new(),
        folded: HashSet::new(),
        first_changed: usize::MAX,
        scope: None,
        open: None,
        requests: None,
        keeps_held: true,
        bounded: bounds.messages.is_some(),
        for_messages: false,
        uses: OnceCell::new(),
    };
    folding.enter(None);
    if let Some(most) = bounds.messages {
        folding.meet_messages(most, bounds.tokens);
    }
    // What the whole gives up may let a segment come closer to its capacity, so that both go on until
    // neither does: taking the fold leaves no other due.
    loop {
        let taken = folding.items.iter().map(|item| item.tokens).sum::<u64>();
        for (at, section) in outline.sections.iter().enumerate() {
            let capacity = section.segment.capacity.0;
            if capacity > 0 && !section.is_system() {
                folding.enter(Some(at));
                // As far as it goes: nobody's writing may keep others from their windows.
                folding.meet(capacity);
            }
        }
        folding.enter(None);
        if let Some(budget) = bounds.tokens
            && !folding.meet(budget)
        {
            return Err(folding.too_large(budget));
        }
        if folding.items.iter().map(|item| item.tokens).sum::<u64>() >= taken {
            break;
        }
    }
    folding.tell_summaries(bounds.tokens);
    Ok(folding.finish(before))
}

impl Folding<'_> {
    /// Confines it to a section, or to none.
    fn enter(&mut self, scope: Option<usize>) {
        (self.scope, self.requests) = (scope, None);
        self.open = self.find_open_request();
    }

    /// Lowers levels until the budget is met; tells whether it is.
    ///
    /// What one pass leaves may let the next do more: a fold that falls short goes on until none
    /// does, so that taking it leaves no other due.
    fn meet(&mut self, budget: u64) -> bool {
        loop {
            let before = self.total();
            if self.lower_levels(budget) {
                return true;
            }
            if self.total() >= before {
                return false;
            }
        }
    }

    fn lower_levels(&mut self, budget: u64) -> bool {
        if self.total() <= budget {
            return true;
        }
        self.add_logs(budget);
        if !self.has_log_room(budget) {
            self.refold_all(budget);
        }
        let harder: [fn(&mut Self, u64); 10] = [
            Self::trim_recent,
            Self::fold_recent,
            Self::release_held,
            Self::fold_early,
            Self::close_directories,
            Self::lines_to_gist,
            Self::drop_requests,
            Self::lines_out,
            Self::trim_last,
            Self::fold_request,
        ];
        for measure in harder {
            if self.total() <= budget {
                break;
            }
            measure(self, budget);
        }
        self.total() <= budget
    }

    fn too_large(&self, budget: u64) -> Error {
        let last = self.last_page().map(|last| &self.items[last].block.page.index);
        let largest = self.in_scope().max_by_key(|item| item.tokens);
        let is_pinned = |item: &&Item| {
            item.block.as_page().is_some_and(|shape| shape.pinned) && !item.block.page.is_open()
        };
        let pinned = self.in_scope().filter(is_pinned).filter(|item| !item.system);
        let (pins, pinned) = pinned.fold((0, 0), |(pins, sum), item| (pins + 1, sum + item.tokens));
        let culprit = match largest {
            None => "there is no room at all".to_owned(),
            Some(item) if pins > 1 && pinned > item.tokens => {
                format!("{pins} pinned pages take {pinned} together (pins never fold)")
            }
            Some(item) => {
                let why = match (item.system, item.block.as_page()) {
                    (true, _) => "system prompts never fold",
                    (false, Some(_)) if item.block.page.is_open() => {
                        "it waits for results of tool calls"
                    }
                    (false, Some(shape)) if shape.pinned => "it is pinned",
                    (false, Some(_)) if last == Some(&item.block.page.index) => {
                        "it is the last, which never folds"
                    }
                    (false, _) => "it folds no further",
                };
                format!("{} alone takes {} ({why})", item.block.index(), item.tokens)
            }
        };
        Error::WindowTooLarge { tokens: self.total(), budget, culprit }
    }

    fn in_scope(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| self.scope.is_none_or(|scope| item.section == scope))
    }

    fn total(&self) -> u64 {
        self.in_scope().map(|item| item.tokens).sum()
    }

    /// Returns what the view says of a page, as this fold would leave it.
    fn entry(&self, page: &PageIndex, stored: &LevelEntry) -> LevelEntry {
        self.entries.get(page).map_or_else(|| stored.clone(), |step| step.after.clone())
    }

    fn set_entry(&mut self, page: &PageIndex, stored: &LevelEntry, after: LevelEntry) {
        let step = self.entries.entry(page.clone()).or_insert_with(|| FoldStep {
            page: page.clone(),
            before: stored.clone(),
            after: LevelEntry::default(),
        });
        step.after = after;
    }

    fn finish(mut self, before: u64) -> Option<Folded> {
        if self.entries.values().any(|step| step.before != step.after) {
            self.count_held();
        }
        let steps: Vec<FoldStep> =
            self.entries.into_values().filter(|step| step.before != step.after).collect();
        if steps.is_empty() {
            return None;
        }
        let plan = Plan { items: self.items };
        let after = plan.tokens();
        let changed = plan.items.iter().skip(self.first_changed);
        let report = FoldReport {
            folded: self.folded.len() as u64,
            tokens_before: before,
            tokens_after: after,
            reread_tokens: changed.map(|item| item.tokens).sum(),
            saved_tokens: before.saturating_sub(after),
        };
        Some(Folded { plan, edit: FoldPlan { steps, report } })
    }
}
