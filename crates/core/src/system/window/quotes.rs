//! What lines quote: digests and words of pages, loaded for the window or for a fold; and pages as
//! logs, counted before a fold is planned.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    Level, Page, PageIndex, Reader, Result, Segment,
    message::{MessageFilter, Part},
    storage::{ChildQuery, Fold, LevelEntry, Order, PageRun, Place, StandingFilter},
    system::{derived_cache::Scale, filtered::SeenPage},
    window::{
        fold::Logged,
        outline::{Block, Outline, PageShape, Shape},
        plan::{
            BlockContent, Item, Plan, Quotes, Writing, block_content, brief_request, quoted_pages,
        },
        source::ShownBody,
    },
};

/// How many blocks a fold chooses words from, the latest: the first fold of a session that was
/// imported whole must not read all of it.
const QUOTED: usize = 4_096;

/// How many pages of a run a fold still chooses words from, the latest.
const REMEMBERED: usize = 128;

/// How many pages are counted as logs at a time, from the latest on.
const LOGGED: usize = 64;

impl Reader<'_> {
    /// Loads what the lines of an outline quote.
    pub(super) async fn quotes(&self, outline: &Outline, writing: &Writing<'_>) -> Result<Quotes> {
        let mut quotes = Quotes::default();
        let quoted = quoted_pages(outline, writing);
        let seen_page = |(page, speech): (&Arc<Page>, _)| SeenPage { page: page.clone(), speech };
        self.add_words(&mut quotes, quoted.into_iter().map(seen_page).collect()).await?;
        let mut told = Vec::new();
        let mut cited = Vec::new();
        for (section, block) in outline.blocks() {
            let run = match &block.shape {
                Shape::Page(shape) if shape.fold.is_some_and(Fold::is_log) => {
                    told.push(SeenPage { page: block.page.clone(), speech: shape.speech });
                    continue;
                }
                Shape::Page(_) => continue,
                Shape::Run(run) => run,
            };
            for index in run.named() {
                if quotes.pages.contains_key(index) {
                    continue;
                }
                let Some(page) = self.system.page(index).await? else { continue };
                // What has left the tree, or is not seen, is not spoken of.
                if !page.standing.is_listed() {
                    continue;
                }
                let Some(seen_page) = self.seen_page(&section.segment, page).await? else {
                    continue;
                };
                quotes.pages.insert(index.clone(), seen_page.page.clone());
                cited.push(seen_page);
            }
        }
        told.extend(cited.iter().cloned());
        self.add_digests(&mut quotes, told).await?;
        self.add_words(&mut quotes, cited).await?;
        Ok(quotes)
    }

    /// Loads what happened in all pages of an outline and their words: a fold may tell of any.
    pub(super) async fn quote_all(&self, outline: &Outline, quotes: &mut Quotes) -> Result<()> {
        let mut seen_pages = Vec::new();
        let pages = outline.blocks().count();
        for (section, block) in outline.blocks().skip(pages.saturating_sub(QUOTED)) {
            let Some(shape) = block.as_page().filter(|_| !section.is_system()) else { continue };
            if block.page.detail().is_some() {
                seen_pages.push(SeenPage { page: block.page.clone(), speech: shape.speech });
                quotes.pages.insert(block.page.index.clone(), block.page.clone());
            }
        }
        self.add_digests(quotes, seen_pages.clone()).await?;
        for (section, block) in outline.blocks() {
            let Shape::Run(run) = &block.shape else { continue };
            if section.is_system() {
                continue;
            }
            let within = self.latest_of(&section.segment, &block.page.index, run).await?;
            let pages: Vec<Arc<Page>> =
                within.iter().map(|seen_page| seen_page.page.clone()).collect();
            for page in &pages {
                quotes.pages.insert(page.index.clone(), page.clone());
            }
            seen_pages.extend(within);
            quotes.in_runs.insert(run.from.clone(), pages);
        }
        self.add_words(quotes, seen_pages).await
    }

    /// Returns the latest pages that a run stands for.
    async fn latest_of(
        &self,
        segment: &Segment,
        directory: &PageIndex,
        run: &PageRun,
    ) -> Result<Vec<SeenPage>> {
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
                within.extend(self.seen_page_below(segment, Arc::new(page)).await?);
            }
        }
        Ok(within)
    }

    async fn add_words(&self, quotes: &mut Quotes, seen_pages: Vec<SeenPage>) -> Result<()> {
        let mut keys = quotes.keys_of(seen_pages);
        keys.retain(|key| !quotes.words.contains_key(key));
        let words = self.system.words(&keys).await?;
        quotes.words.extend(keys.into_iter().zip(words));
        Ok(())
    }

    async fn add_digests(&self, quotes: &mut Quotes, seen_pages: Vec<SeenPage>) -> Result<()> {
        let mut keys = quotes.keys_of(seen_pages);
        keys.retain(|key| !quotes.digests.contains_key(key));
        let digests = self.system.digests(&keys).await?;
        quotes.digests.extend(keys.into_iter().zip(digests));
        Ok(())
    }

    /// Returns the pages that may fold as logs, from the latest on as far as they can matter, and what
    /// requests take.
    pub(super) async fn logs(
        &self,
        outline: &Outline,
        plan: &Plan,
        quotes: &Quotes,
        writing: &Writing<'_>,
        scale: &Scale<'_>,
    ) -> Result<(HashMap<PageIndex, Logged>, HashMap<ShownBody, u64>)> {
        let mut candidates: Vec<Item> = Vec::new();
        for item in plan.items.iter().rev().filter(|item| !item.system) {
            match &item.block.shape {
                Shape::Page(shape) => {
                    let is_turn = item.block.page.turn.is_some();
                    let is_log = shape.fold.is_some_and(Fold::is_log);
                    if is_turn && (shape.level == Level::Full || is_log) {
                        candidates.push(as_log(item.section, &item.block.page, &item.block));
                    }
                }
                Shape::Run(run) => {
                    let pages = run.requests.iter().rev();
                    let pages = pages.filter_map(|it| quotes.pages.get(&it.page));
                    candidates.extend(pages.map(|page| as_log(item.section, page, &item.block)));
                }
            }
        }
        // What no longer fits as logs can only matter by its request.
        let enough: u64 = plan.tokens();
        let mut taken = 0;
        let mut logs = HashMap::new();
        let mut requests = HashMap::new();
        for chunk in candidates.chunks_mut(LOGGED) {
            let mut bodies = Vec::new();
            let mut items = Vec::with_capacity(chunk.len() * 2);
            for item in chunk.iter_mut() {
                let section = &outline.sections[item.section];
                let asks = quotes.digest(&item.block.page).is_some_and(|it| it.asked.is_some());
                if taken > enough && !asks {
                    continue;
                }
                item.block_content = block_content(section, &item.block, quotes, writing);
                let BlockContent::Folded { requests, .. } = &item.block_content else { continue };
                bodies.extend(requests.iter().map(|request| request.body));
                let brief = requests.first().map(|_| {
                    let request = brief_request(section, &item.block.page, writing);
                    let requests: Vec<_> = request.into_iter().collect();
                    bodies.extend(requests.iter().map(|request| request.body));
                    let block_content =
                        BlockContent::Folded { requests, line: None, quotes: [].into() };
                    Item { block_content, ..item.clone() }
                });
                items.push((item.clone(), brief));
            }
            let flat: Vec<Item> = items
                .iter()
                .flat_map(|(log, brief)| [Some(log.clone()), brief.clone()])
                .flatten()
                .collect();
            let mut counted = Plan { items: flat };
            self.weigh(&mut counted, scale, writing.filler).await?;
            let things: Vec<_> = bodies
                .iter()
                .map(|body| crate::system::derived_cache::Countable::Body(*body))
                .collect();
            let counts = self.system.count(scale, &things).await?;
            requests.extend(bodies.into_iter().zip(counts));
            let mut counted = counted.items.into_iter();
            for (_, brief) in items {
                let Some(item) = counted.next() else { break };
                let brief = brief.and_then(|_| counted.next()).map_or(0, |item| item.tokens);
                taken += item.tokens;
                logs.insert(item.block.page.index.clone(), Logged { item, brief });
            }
        }
        Ok((logs, requests))
    }

    /// Returns what the last page takes where large results in it are cut.
    pub(super) async fn trimmed(
        &self,
        outline: &Outline,
        plan: &Plan,
        quotes: &Quotes,
        writing: &Writing<'_>,
        scale: &Scale<'_>,
    ) -> Result<HashMap<PageIndex, u64>> {
        let mut trimmed = HashMap::new();
        let last = plan.items.iter().rev().find(|item| !item.system && item.body().is_some());
        let Some(mut item) = last.cloned() else { return Ok(trimmed) };
        if let Shape::Page(shape) = &mut item.block.shape {
            shape.fold = Some(Fold::Trimmed);
        }
        item.block_content =
            block_content(&outline.sections[item.section], &item.block, quotes, writing);
        let mut plan = Plan { items: vec![item] };
        self.weigh(&mut plan, scale, writing.filler).await?;
        trimmed.extend(plan.items.into_iter().map(|it| (it.block.page.index.clone(), it.tokens)));
        Ok(trimmed)
    }

    /// Returns the pages that agents expanded and that what was said since the last fold refers to: by
    /// their index.
    pub(super) async fn referred(&self, plan: &Plan) -> Result<HashSet<PageIndex>> {
        let held = plan
            .items
            .iter()
            .filter(|item| item.block.as_page().is_some_and(PageShape::is_held) && !item.system);
        let held: Vec<&PageIndex> = held.map(|item| &item.block.page.index).collect();
        let mut referred = HashSet::new();
        if held.is_empty() {
            return Ok(referred);
        }
        let is_line = |item: &Item| !item.system && item.block.is_folded();
        let since = plan.items.iter().rposition(is_line).map_or(0, |at| at + 1);
        for item in plan.items[since..].iter().filter(|item| !item.system) {
            let page = &item.block.page;
            if item.body().is_none() || page.turn.is_none() {
                continue;
            }
            for message in self.messages(&page.index).await? {
                for text in message.parts.iter().filter_map(said) {
                    let names = |index: &PageIndex| *index != page.index && stands_in(index, text);
                    referred.extend(held.iter().filter(|it| names(it)).map(|it| (*it).clone()));
                }
            }
        }
        Ok(referred)
    }
}

impl Quotes {
    /// Returns the keys of what is seen, having noted which pages are seen in part.
    fn keys_of(
        &mut self,
        seen_pages: Vec<SeenPage>,
    ) -> Vec<(crate::storage::ContentHash, MessageFilter)> {
        let mut keys = Vec::with_capacity(seen_pages.len());
        for SeenPage { page, speech } in seen_pages {
            let Some(detail) = page.detail() else { continue };
            if !speech.is_all() {
                self.speech.insert(page.index.clone(), speech);
            }
            keys.push((detail.content, speech));
        }
        keys
    }
}

/// Returns a page as an item that a fold has lowered to its log.
fn as_log(section: usize, page: &Arc<Page>, at: &Block) -> Item {
    let (speech, entry) = match &at.shape {
        Shape::Page(shape) => (shape.speech, shape.entry.clone()),
        Shape::Run(_) => (MessageFilter::All, LevelEntry::default()),
    };
    let fold = Some(Fold::Log);
    let shape = PageShape { level: Level::Summary, fold, pinned: false, speech, entry };
    let block = Block { page: page.clone(), depth: at.depth, shape: Shape::Page(shape) };
    Item {
        section,
        system: false,
        block,
        block_content: BlockContent::Nothing,
        tokens: 0,
        requests: 0,
    }
}

/// Returns what a part says in words.
fn said(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(&text.text),
        Part::ToolCall(call) => Some(&call.arguments),
        Part::ToolResult(_) | Part::Image(_) | Part::Thinking(_) | Part::Other(_) => None,
    }
}

/// Tells whether a text names a page: its index, and not as a part of another.
fn stands_in(index: &PageIndex, text: &str) -> bool {
    let index = index.to_string();
    text.match_indices(&index).any(|(at, _)| {
        let joins = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let before = text[..at].chars().next_back();
        let behind = text[at + index.len()..].chars().next();
        !before.is_some_and(joins) && !behind.is_some_and(|c| c.is_alphanumeric())
    })
}
