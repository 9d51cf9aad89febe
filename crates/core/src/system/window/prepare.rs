//! Preparing a window: the outline, what its blocks become and take, and the fold that is due.

use super::{MadeOf, Purpose, envelope::Live, identity::Identity};
use crate::{
    Error, Format, PageIndex, ProviderFormat, Reader, Result, Revision, Role, SegmentId, Tokens,
    WindowOptions,
    context::Anchors,
    quantity::thousandths,
    storage::{CustomKey, ViewHead},
    system::derived_cache::{Countable, Scale},
    window::{
        FoldPlan,
        fold::{Bounds, Ground, fold_due},
        line::Style,
        outline::Outline,
        piece::Mark,
        plan::{PartOf, Plan, Writing},
        preface::{LEAST_BUDGET, preface},
        source::{Family, line_weight, piece_overhead},
    },
};

/// The key of the custom state under which a session's budget stands.
pub(crate) const BUDGET_KEY: &str = "budget";

/// What a message takes that only keeps turns in order: Gemini wants them to alternate.
const FILLER: u64 = 8;

/// What a window is rendered from.
pub(super) struct Prepared {
    pub(super) outline: Outline,
    /// The blocks as the fold that is due leaves them.
    pub(super) plan: Plan,
    pub(super) fold: Option<FoldPlan>,
    pub(super) budget: Option<Tokens>,
    pub(super) revision: Revision,
    pub(super) identity: Identity,
    pub(super) mark: Mark,
    pub(super) focus: Option<PageIndex>,
    /// The session's custom state.
    pub(super) custom: Vec<(CustomKey, String)>,
    /// What can be pressed, in formats that show it.
    pub(super) anchors: Anchors,
    /// What is live and stands behind everything else, each with what it takes.
    pub(super) tail: Vec<(String, Tokens)>,
    /// What explains the window, with what it takes.
    pub(super) preface: Option<(String, Tokens)>,
    /// What it is made of; none where it was read from a snapshot.
    pub(super) made_of: Option<MadeOf>,
}

impl Prepared {
    /// Returns what stands beside the pages takes.
    pub(super) fn beside(&self) -> u64 {
        self.tail.iter().chain(&self.preface).map(|(_, tokens)| tokens.0).sum()
    }
}

impl Reader<'_> {
    /// Returns what a window may take: what was asked for, or what the session has for all views.
    pub(crate) async fn window_budget(&self, options: &WindowOptions) -> Result<Option<Tokens>> {
        if options.budget.is_some() {
            return Ok(options.budget);
        }
        let custom = self.system.storage().custom(self.system.session()).await?;
        Ok(session_budget(&custom))
    }

    pub(super) async fn prepare_once(
        &self,
        options: &WindowOptions,
        purpose: Purpose,
        revision: Revision,
    ) -> Result<Prepared> {
        let system = self.system;
        let outline = self.outline().await?;
        let heads = system.storage().views(system.session()).await?;
        let custom = system.storage().custom(system.session()).await?;
        let identity = self.identify(options, purpose, &heads, &custom).await?;
        let mark = system.mark().clone();
        let budget = options.budget.or_else(|| session_budget(&custom));
        let family = options.family();
        let style = Style {
            mark: (family == Family::Provider).then_some(&mark),
            filter: options.filter.as_ref(),
        };
        // No single part may take the window for itself: beyond its share it is cut.
        let part = options.shares.part;
        let limit = options.part_limit.or(budget.map(|it| Tokens(thousandths(it.0, part))));
        let filler = match options.format {
            Format::Provider(ProviderFormat::Gemini) => FILLER,
            _ => 0,
        };
        let segments: Vec<SegmentId> =
            outline.sections.iter().map(|section| section.segment.id.clone()).collect();
        let (level, segments) = (identity.level, &segments[..]);
        let view = self.guard;
        let writing = Writing { family, style, level, limit, part, view, filler, segments };
        let counter = options.counter.as_ref();
        let scale = Scale { family, counter, style };

        let mut quotes = self.quotes(&outline, &writing).await?;
        let mut plan = Plan::lay_out(&outline, &quotes, &writing);
        self.weigh(&mut plan, &scale, filler).await?;
        let focus = self.focus_of(&heads).await?;
        let open = match purpose {
            Purpose::Request { .. } => self.open_request(&plan).await?,
            Purpose::Record => None,
        };
        let live = async |plan: &Plan| {
            let (focus, panels, open) = (focus.as_ref(), &identity.panels, open.as_ref());
            self.live(&scale, &Live { outline: &outline, plan, focus, panels, open, style }).await
        };
        let (mut anchors, mut tail) = live(&plan).await?;

        let mut fold: Option<FoldPlan> = None;
        let preface = self.explain(options, budget, &scale).await?;
        let around: u64 = tail.iter().chain(&preface).map(|(_, tokens)| tokens.0).sum();
        let room =
            budget.map(|budget| budget.0.saturating_sub(options.reserved.0).saturating_sub(around));
        let bounds = Bounds { tokens: room, messages: options.max_messages };
        if is_over(&outline, &plan, bounds) {
            self.quote_all(&outline, &mut quotes).await?;
            let (logs, requests) = self.logs(&outline, &plan, &quotes, &writing, &scale).await?;
            let referred = self.referred(&plan).await?;
            let shares = options.shares;
            let trimmed = self.trimmed(&outline, &plan, &quotes, &writing, &scale).await?;
            let mut ground = Ground {
                quotes: &quotes,
                writing,
                counter,
                shares,
                trimmed,
                logs,
                requests,
                referred,
            };
            let beside = options.reserved.0 + around;
            let due = |ground: &Ground<'_>| {
                let due = fold_due(ground, &outline, &plan, bounds);
                due.map_err(|error| told_with(error, room, budget, beside))
            };
            while let Some(mut folded) = due(&ground)? {
                self.weigh(&mut folded.plan, &scale, filler).await?;
                // What a trimmed page takes is known only now: plan again with what was learnt.
                let learnt = ground.learn(&folded.plan);
                if learnt && is_over(&outline, &folded.plan, bounds) {
                    continue;
                }
                plan = folded.plan;
                fold = Some(folded.edit);
                // A fold only takes anchors away, so this is never more than was kept free.
                (anchors, tail) = live(&plan).await?;
                break;
            }
        }
        let shown = plan.items.iter().filter(|item| !item.system).map(|item| &item.block.page);
        system.hold_window(&self.view, shown.filter(|page| !page.index.is_root())).await?;
        Ok(Prepared {
            outline,
            plan,
            fold,
            budget,
            revision,
            identity,
            mark,
            focus,
            custom,
            anchors,
            tail,
            preface,
            made_of: None,
        })
    }

    /// Returns the reader's turn that is to be answered, where turns of other agents stand after it:
    /// what a model answers by itself is what comes last.
    async fn open_request(&self, plan: &Plan) -> Result<Option<PageIndex>> {
        let Some(view) = self.guard else { return Ok(None) };
        let mut others = false;
        for item in plan.items.iter().rev().filter(|item| !item.system) {
            let page = &item.block.page;
            let (Some(turn), Some(author)) = (&page.turn, page.author.agent()) else { continue };
            if *author != view.agent {
                others = true;
                continue;
            }
            if !others {
                return Ok(None);
            }
            let messages = self.messages(&page.index).await?;
            let open = messages.last().is_some_and(|last| last.role != Role::Assistant);
            return Ok(open.then(|| turn.clone()));
        }
        Ok(None)
    }

    /// Counts what the blocks of a plan take.
    pub(super) async fn weigh(
        &self,
        plan: &mut Plan,
        scale: &Scale<'_>,
        filler: u64,
    ) -> Result<()> {
        let mut things = Vec::with_capacity(plan.items.len() * 2);
        for item in &plan.items {
            item.each_part(&mut |part| {
                things.push(match part {
                    PartOf::Line(line) => Countable::Line(line.clone()),
                    PartOf::Body(body) => Countable::Body(body),
                });
            });
        }
        let mut counts = self.system.count(scale, &things).await?.into_iter();
        for item in &mut plan.items {
            item.weigh(scale.family, filler, &mut |_| counts.next().unwrap_or(0));
        }
        Ok(())
    }

    /// Returns what explains a window, where it may be folded: a model must know what stands for what.
    async fn explain(
        &self,
        options: &WindowOptions,
        budget: Option<Tokens>,
        scale: &Scale<'_>,
    ) -> Result<Option<(String, Tokens)>> {
        let folds = budget.is_some_and(|budget| budget.0 >= LEAST_BUDGET);
        let tools = options.explain.as_ref().filter(|_| folds);
        let (Some(tools), Some(mark)) = (tools, scale.style.mark) else { return Ok(None) };
        let text = preface(mark, tools, &options.shares);
        let counted = self.system.count(scale, &[Countable::Line(text.as_str().into())]).await?;
        let tokens = line_weight(scale.family, counted[0]) + piece_overhead(scale.family);
        Ok(Some((text, Tokens(tokens))))
    }

    async fn focus_of(&self, heads: &[ViewHead]) -> Result<Option<PageIndex>> {
        let head = heads.iter().find(|head| head.view == self.view);
        let Some(page) = head.and_then(|head| head.focus.clone()) else { return Ok(None) };
        Ok(self.has_page(&page).await?.then_some(page))
    }
}

/// Returns the budget that the session has for all views.
fn session_budget(custom: &[(CustomKey, String)]) -> Option<Tokens> {
    let value = custom.iter().find(|(key, _)| key.as_str() == BUDGET_KEY);
    value.and_then(|(_, value)| value.trim().parse().ok()).map(Tokens)
}

/// Tells whether a plan takes more than it may, as a whole or in a segment.
fn is_over(outline: &Outline, plan: &Plan, bounds: Bounds) -> bool {
    if bounds.tokens.is_some_and(|room| plan.tokens() > room)
        || bounds.messages.is_some_and(|most| plan.messages() > most)
    {
        return true;
    }
    outline.sections.iter().enumerate().any(|(at, section)| {
        let capacity = section.segment.capacity.0;
        let items = plan.items.iter().filter(|item| item.section == at);
        capacity > 0
            && !section.is_system()
            && items.map(|item| item.tokens).sum::<u64>() > capacity
    })
}

/// Says of a window that is too large what it takes and may take as a whole, with what stands
/// beside its pages.
fn told_with(error: Error, room: Option<u64>, budget: Option<Tokens>, beside: u64) -> Error {
    match (error, budget) {
        (Error::WindowTooLarge { tokens, budget: met, culprit }, Some(budget))
            if Some(met) == room =>
        {
            Error::WindowTooLarge { tokens: tokens + beside, budget: budget.0, culprit }
        }
        (error, _) => error,
    }
}
