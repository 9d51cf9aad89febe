//! Preparing a window: the outline, what its blocks become and take, and the fold that is due.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{Purpose, frame::Live};
use crate::{
    Error, FoldPlan, Format, Message, Page, PageIndex, Place, Result, Revision, Role, Run, Segment,
    SegmentId, Speech, Tokens, ViewId,
    context::{Anchors, ContextVersion, MountedPanels},
    storage::{ChildQuery, Order, StandingFilter, ViewHead},
    system::{
        Reader,
        measures::{Countable, Scale},
        sight::Sight,
    },
    window::{
        fold::{Bounds, Ground, fold_due},
        line::Style,
        outline::{Outline, Shape},
        piece::Mark,
        plan::{Plan, Quotes, Writing, quoted_pages},
        provider::ProviderFormat,
        request::WindowOptions,
        source::{Body, Family, RENDERER},
        trim::is_result,
    },
};

/// The key of the custom state under which a session's budget stands.
pub(crate) const BUDGET_KEY: &str = "budget";

/// How many blocks a fold chooses words from, the latest: the first fold of a session that was
/// imported whole must not read all of it.
const QUOTED: usize = 4_096;

/// How many pages of a run a fold still chooses words from, the latest.
const REMEMBERED: usize = 128;

/// How many blocks a fold looks back for what was asked last.
const LOOKED_AT: usize = 4_096;

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
    pub(super) version: ContextVersion,
    pub(super) mark: Mark,
    pub(super) focus: Option<PageIndex>,
    pub(super) panels: MountedPanels,
    /// What can be pressed, in formats that show it.
    pub(super) anchors: Anchors,
    /// What is live and stands behind everything else, each with what it takes.
    pub(super) tail: Vec<(String, Tokens)>,
}

impl Prepared {
    pub(super) fn tail_tokens(&self) -> u64 {
        self.tail.iter().map(|(_, tokens)| tokens.0).sum()
    }
}

impl Reader<'_> {
    pub(super) async fn prepare_once(
        &self,
        options: &WindowOptions,
        purpose: Purpose,
        revision: Revision,
    ) -> Result<Prepared> {
        let system = self.system;
        let outline = self.outline().await?;
        let heads = system.storage().views(system.session()).await?;
        let mark = system.mark().clone();
        let budget = match options.budget {
            Some(budget) => Some(budget),
            None => self.session_budget().await?,
        };
        let family = options.family();
        let style = Style {
            mark: (family == Family::Provider).then_some(&mark),
            filter: options.filter.as_ref(),
        };
        // No single part may take the window for itself: beyond a quarter it is cut.
        let limit = options.part_limit.or(budget.map(|budget| Tokens(budget.0 / 4)));
        let reader = self.guard.map(|view| &view.agent);
        let filler = match options.format {
            Format::Provider(ProviderFormat::Gemini) => FILLER,
            _ => 0,
        };
        let segments: Vec<SegmentId> =
            outline.sections.iter().map(|section| section.segment.id.clone()).collect();
        let (level, segments) = (options.level, &segments[..]);
        let writing = Writing { family, style, level, limit, reader, filler, segments };
        let counter = options.counter.as_ref();
        let scale = Scale { family, counter, style };

        let mut quotes = self.quotes(&outline, &writing).await?;
        let mut plan = Plan::lay_out(&outline, &quotes, &writing);
        self.weigh(&mut plan, &scale, filler).await?;
        let panels = options
            .apps
            .render(options.level, &|text| crate::window::escape::escape(text).into_owned());
        let focus = self.focus_of(&heads).await?;
        let open = match purpose {
            Purpose::Request { .. } => self.open_request(&plan).await?,
            Purpose::Record => None,
        };
        let live = |plan: &Plan| {
            let (focus, panels, open) = (focus.as_ref(), &panels, open.as_ref());
            self.live(options, &Live { outline: &outline, plan, focus, panels, open, style })
        };
        let (mut anchors, mut tail) = live(&plan);

        let mut fold: Option<FoldPlan> = None;
        let tail_tokens: u64 = tail.iter().map(|(_, tokens)| tokens.0).sum();
        let room = budget
            .map(|budget| budget.0.saturating_sub(options.reserved.0).saturating_sub(tail_tokens));
        let bounds = Bounds { tokens: room, messages: options.max_messages };
        if is_over(&outline, &plan, bounds) {
            self.quote_all(&outline, &mut quotes).await?;
            let asked = self.asked(&plan, &scale).await?;
            let shares = options.shares;
            let mut ground = Ground {
                quotes: &quotes,
                writing,
                counter,
                shares,
                trimmed: HashMap::new(),
                asked,
            };
            let beside = options.reserved.0 + tail_tokens;
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
                (anchors, tail) = live(&plan);
                break;
            }
        }
        let shown = plan.items.iter().filter(|item| !item.system).map(|item| &item.block.page);
        system.hold_window(&self.view, shown.filter(|page| !page.index.is_root())).await?;
        let version = self.version(&heads);
        Ok(Prepared {
            outline,
            plan,
            fold,
            budget,
            revision,
            version,
            mark,
            focus,
            panels,
            anchors,
            tail,
        })
    }

    /// Returns the pages of what was asked last, one for each section, with what that takes. Results that
    /// came as user messages were not asked.
    async fn asked(&self, plan: &Plan, scale: &Scale<'_>) -> Result<HashMap<PageIndex, u64>> {
        let mut last: BTreeMap<usize, (PageIndex, Body)> = BTreeMap::new();
        for item in plan.items.iter().rev().filter(|item| !item.system).take(LOOKED_AT) {
            let (page, (_, body)) = (&item.block.page, item.parts());
            let begins = page.turn.as_ref() == Some(&page.index);
            let Some(body) = body.filter(|_| begins && !last.contains_key(&item.section)) else {
                continue;
            };
            let asks = |message: &Message| message.role == Role::User && !is_result(message);
            if self.messages(&page.index).await?.iter().any(asks) {
                let body = Body { speech: Speech::RequestsOnly, ..body };
                last.insert(item.section, (page.index.clone(), body));
            }
        }
        let bodies: Vec<Countable> =
            last.values().map(|(_, body)| Countable::Body(*body)).collect();
        let counts = self.system.count(scale, &bodies).await?;
        Ok(last.into_values().map(|(page, _)| page).zip(counts).collect())
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

    async fn session_budget(&self) -> Result<Option<Tokens>> {
        let custom = self.system.storage().custom(self.system.session()).await?;
        let value = custom.into_iter().find(|(key, _)| key.as_str() == BUDGET_KEY);
        Ok(value.and_then(|(_, value)| value.trim().parse().ok()).map(Tokens))
    }

    /// Loads what the lines of an outline quote.
    async fn quotes(&self, outline: &Outline, writing: &Writing<'_>) -> Result<Quotes> {
        let mut quotes = Quotes::default();
        let quoted = quoted_pages(outline, writing);
        let sight = |(page, speech): (&Arc<Page>, _)| Sight { page: page.clone(), speech };
        self.add_words(&mut quotes, quoted.into_iter().map(sight).collect()).await?;
        let mut cited = Vec::new();
        for (section, block) in outline.blocks() {
            let Shape::Run(run) = &block.shape else { continue };
            for cite in &run.cited {
                let Some(page) = self.system.page(&cite.page).await? else { continue };
                // What has left the tree, or is not seen, is not spoken of.
                if !page.standing.is_listed() {
                    continue;
                }
                let Some(sight) = self.sight(&section.segment, page).await? else { continue };
                quotes.pages.insert(cite.page.clone(), sight.page.clone());
                cited.push(sight);
            }
        }
        self.add_words(&mut quotes, cited).await?;
        Ok(quotes)
    }

    /// Loads the words of all pages in an outline: a fold may choose among them.
    async fn quote_all(&self, outline: &Outline, quotes: &mut Quotes) -> Result<()> {
        let mut sights = Vec::new();
        let pages = outline.blocks().count();
        for (section, block) in outline.blocks().skip(pages.saturating_sub(QUOTED)) {
            let Some(shape) = block.as_page().filter(|_| !section.is_system()) else { continue };
            if block.page.detail().is_some() {
                sights.push(Sight { page: block.page.clone(), speech: shape.speech });
                quotes.pages.insert(block.page.index.clone(), block.page.clone());
            }
        }
        for (section, block) in outline.blocks() {
            let Shape::Run(run) = &block.shape else { continue };
            if section.is_system() {
                continue;
            }
            let within = self.latest_of(&section.segment, &block.page.index, run).await?;
            let pages: Vec<Arc<Page>> = within.iter().map(|sight| sight.page.clone()).collect();
            for page in &pages {
                quotes.pages.insert(page.index.clone(), page.clone());
            }
            sights.extend(within);
            quotes.in_runs.insert(run.from.clone(), pages);
        }
        self.add_words(quotes, sights).await
    }

    /// Returns the latest pages that a run stands for.
    async fn latest_of(
        &self,
        segment: &Segment,
        directory: &PageIndex,
        run: &Run,
    ) -> Result<Vec<Sight>> {
        let query = ChildQuery {
            parent: directory.clone(),
            standing: StandingFilter::Listed,
            order: Order::Backward,
            after: Some(Place(run.last.0.saturating_add(1))),
            limit: REMEMBERED,
        };
        let system = self.system;
        let pages = system.storage().children(system.session(), &query).await?;
        let mut within = Vec::with_capacity(pages.len());
        for page in pages.into_iter().rev() {
            if run.stands_for(&page.index, page.place) {
                within.extend(self.sight_below(segment, Arc::new(page)).await?);
            }
        }
        Ok(within)
    }

    async fn add_words(&self, quotes: &mut Quotes, sights: Vec<Sight>) -> Result<()> {
        let mut keys = Vec::with_capacity(sights.len());
        for Sight { page, speech } in sights {
            let Some(detail) = page.detail() else { continue };
            if !speech.is_all() {
                quotes.speech.insert(page.index.clone(), speech);
            }
            keys.push((detail.content, speech));
        }
        keys.retain(|key| !quotes.words.contains_key(key));
        let words = self.system.words(&keys).await?;
        quotes.words.extend(keys.into_iter().zip(words));
        Ok(())
    }

    /// Counts what the blocks of a plan take.
    async fn weigh(&self, plan: &mut Plan, scale: &Scale<'_>, filler: u64) -> Result<()> {
        let mut things = Vec::with_capacity(plan.items.len() * 2);
        for item in &plan.items {
            let (line, body) = item.parts();
            things.extend(line.map(|line| Countable::Line(line.clone())));
            things.extend(body.map(Countable::Body));
        }
        let mut counts = self.system.count(scale, &things).await?.into_iter();
        for item in &mut plan.items {
            let (line, body) = item.parts();
            let (line, body) = (line.is_some(), body.is_some());
            let line = if line { counts.next() } else { None };
            let body = if body { counts.next() } else { None };
            item.weigh(scale.family, filler, line, body);
        }
        Ok(())
    }

    /// Derives the version of what this view shows: major with content, minor with levels.
    pub(super) fn version(&self, heads: &[ViewHead]) -> ContextVersion {
        let segments = self.system.segments();
        let mut major = Revision(1);
        for segment in segments.all() {
            let present = crate::Segment { removed: false, ..(**segment).clone() };
            if self.guard.is_none_or(|view| view.mounts(&present)) {
                let touched = self.system.touched(segment);
                major = major.max(segment.revision).max(touched);
            }
        }
        let touched = |view: &ViewId| {
            heads.iter().find(|head| head.view == *view).map_or(Revision(0), |head| head.touched)
        };
        let levels = touched(&self.view).max(touched(&ViewId::SYSTEM));
        ContextVersion::new(major.0, levels.0.saturating_sub(major.0), RENDERER)
    }

    async fn focus_of(&self, heads: &[ViewHead]) -> Result<Option<PageIndex>> {
        let head = heads.iter().find(|head| head.view == self.view);
        let Some(page) = head.and_then(|head| head.focus.clone()) else { return Ok(None) };
        Ok(self.has_page(&page).await?.then_some(page))
    }
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
