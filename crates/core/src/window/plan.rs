//! The plan: an outline with what each block becomes and what it takes.

use std::{collections::HashMap, sync::Arc};

use super::{
    digest::Digest,
    keywords::Keyword,
    line::{LineItem, Style, is_trusted},
    outline::{Block, Outline, PageShape, Section, Shape},
    source::{Family, ShownBody, line_weight, piece_overhead},
};
use crate::{
    AgentName, Level, Operation, Page, PageIndex, SegmentId, Tokens, View,
    context::PageAction,
    message::MessageFilter,
    permission::check_page,
    quantity::thousandths,
    storage::{CitationDetail, ContentHash, Fold, PageRun, PageRunForm, Quoted, SentSource},
};

/// The most tokens a part of a page takes that a fold has trimmed.
pub(crate) const TRIMMED: Tokens = Tokens(1_024);

/// The most tokens of a request of which only the beginning and the end stand.
pub(crate) const BRIEF: Tokens = Tokens(120);

/// How many words a stub gives.
pub(crate) const STUB_WORDS: usize = 12;

/// An outline with what each block becomes and what it takes, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// The blocks of all sections.
    pub items: Vec<Item>,
}

/// A block of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Which section of the outline it belongs to.
    pub section: usize,
    /// Whether it belongs to the system part.
    pub system: bool,
    /// The block.
    pub block: Block,
    /// What it becomes.
    pub block_content: BlockContent,
    /// What it takes, its share of what stands around it included.
    pub tokens: u64,
    /// What of that requests take which stand though their pages are folded.
    pub requests: u64,
}

/// What a block becomes in the window.
#[derive(Debug, Clone)]
pub(crate) enum BlockContent {
    /// Nothing: a root in a provider format.
    Nothing,
    /// A line of the engine.
    Line(Arc<str>),
    /// Requests as they were, and a line of the engine for what followed.
    Folded {
        /// The requests that stand.
        requests: Vec<PlannedRequest>,
        /// The line: a page's log, or what a run tells.
        line: Option<Arc<str>>,
        /// The pages the line tells of.
        quotes: Arc<[Quoted]>,
    },
    /// Messages as they were.
    Messages(ShownBody),
    /// Messages of a turn that is another agent's or was rewritten, with lines of the engine that
    /// say so.
    Turn {
        /// The lines: one over the messages, and one that closes the request they begin with.
        head: Arc<str>,
        /// The messages.
        body: ShownBody,
    },
    /// A text under a line of the engine.
    Note {
        /// The line.
        head: Arc<str>,
        /// The text.
        body: ShownBody,
    },
}

/// A request that stands though its page is folded.
#[derive(Debug, Clone)]
pub(crate) struct PlannedRequest {
    /// The page it begins.
    pub page: PageIndex,
    /// The engine's lines around it, where there are any.
    pub head: Option<Arc<str>>,
    /// Whether the head is a page's, and the request a text below it.
    pub is_note: bool,
    /// What was asked.
    pub body: ShownBody,
}

/// What the lines of a plan quote: what happened in contents, their most telling words, and the pages
/// runs cite.
#[derive(Debug, Default)]
pub(crate) struct Quotes {
    /// Digests by content and which of its messages are seen.
    pub digests: HashMap<(ContentHash, MessageFilter), Arc<Digest>>,
    /// Words by content and which of its messages are seen.
    pub words: HashMap<(ContentHash, MessageFilter), Arc<[Keyword]>>,
    /// Pages of which not all messages are seen.
    pub speech: HashMap<PageIndex, MessageFilter>,
    /// Cited pages that are still listed.
    pub pages: HashMap<PageIndex, Arc<Page>>,
    /// The latest pages of runs, by the first page of each: known only where a fold is planned.
    pub in_runs: HashMap<PageIndex, Vec<Arc<Page>>>,
}

impl Quotes {
    fn key(&self, page: &Page) -> Option<(ContentHash, MessageFilter)> {
        Some((page.detail()?.content, self.speech_of(&page.index)))
    }

    fn speech_of(&self, page: &PageIndex) -> MessageFilter {
        self.speech.get(page).copied().unwrap_or_default()
    }

    /// Returns the words of a page.
    pub(crate) fn of(&self, page: &Page) -> &[Keyword] {
        let words = self.key(page).and_then(|key| self.words.get(&key));
        words.map_or(&[], |words| words)
    }

    /// Returns what happened in a page, where that is known.
    pub(crate) fn digest(&self, page: &Page) -> Option<&Digest> {
        self.digests.get(&self.key(page)?).map(|digest| &**digest)
    }

    /// Returns the pages a run's line tells of.
    fn quoted_by(&self, run: &PageRun) -> Vec<Quoted> {
        let listed = run.cited.iter().filter(|cited| self.pages.contains_key(&cited.page));
        let quoted = |page: &PageIndex| Quoted { page: page.clone(), speech: self.speech_of(page) };
        listed.map(|cited| quoted(&cited.page)).collect()
    }

    /// Returns the line of a run.
    pub(crate) fn line_of(&self, style: &Style<'_>, run: &PageRun) -> String {
        let mut items: Vec<LineItem<'_>> = Vec::new();
        let mut names: Vec<(&PageIndex, Vec<&str>)> = Vec::new();
        for cited in &run.cited {
            let Some(page) = self.pages.get(&cited.page) else { continue };
            if let Some(digest) = self.digest(page) {
                let stands = run.requests.iter().any(|request| request.page == page.index);
                // A description shows from the fold on that chose it; where it is gone since, the line
                // says what was found.
                let (told, summary) = match cited.told {
                    CitationDetail::Summary if page.description.is_empty() => {
                        (CitationDetail::All, "")
                    }
                    CitationDetail::Summary => (CitationDetail::Summary, page.description.as_str()),
                    told => (told, ""),
                };
                items.push(LineItem { page: &page.index, digest, told, stands, summary });
            }
            let words = self.of(page);
            let given = cited.words.iter().filter_map(|&rank| words.get(usize::from(rank)));
            names.push((&page.index, given.map(|word| &*word.text).collect()));
        }
        style.run(run, &items, names)
    }
}

/// How a plan is written.
#[derive(Clone, Copy)]
pub(crate) struct Writing<'a> {
    /// As messages or as Markdown.
    pub family: Family,
    /// How lines are written.
    pub style: Style<'a>,
    /// The level asked for; it caps all but the system part.
    pub level: Level,
    /// The most tokens a part takes before it is cut to head and tail.
    pub limit: Option<Tokens>,
    /// The share of a segment's capacity that a part may take, in thousandths.
    pub part: u64,
    /// What may stand between two pieces, where a provider wants turns to alternate.
    pub filler: u64,
    /// The view it is written for, which is shown only what it may do; none for the system side.
    pub view: Option<&'a View>,
    /// The segments in view: a key that names a page of one is a reference and no action.
    pub segments: &'a [SegmentId],
}

/// Returns the level a page stands at, capped by the level asked for.
pub(crate) fn level_of(writing: &Writing<'_>, system: bool, shape: &PageShape) -> Level {
    if system { shape.level } else { shape.level.min(writing.level) }
}

/// Returns the pages whose words the lines of an outline quote, with which of their messages.
pub(crate) fn quoted_pages<'o>(
    outline: &'o Outline,
    writing: &Writing<'_>,
) -> Vec<(&'o Arc<Page>, MessageFilter)> {
    let quoted = |(section, block): (&Section, &'o Block)| {
        let shape = block.as_page()?;
        let level = level_of(writing, section.is_system(), shape);
        (level == Level::Summary).then_some((&block.page, shape.speech))
    };
    outline.blocks().filter_map(quoted).collect()
}

impl Plan {
    /// Lays out an outline. Tokens are still to be counted.
    pub(crate) fn lay_out(outline: &Outline, quotes: &Quotes, writing: &Writing<'_>) -> Self {
        let mut items = Vec::new();
        for (at, section) in outline.sections.iter().enumerate() {
            let system = section.is_system();
            items.extend(section.blocks.iter().map(|block| Item {
                section: at,
                system,
                block: block.clone(),
                block_content: block_content(section, block, quotes, writing),
                tokens: 0,
                requests: 0,
            }));
        }
        Self { items }
    }

    /// Returns all it takes.
    pub(crate) fn tokens(&self) -> u64 {
        self.items.iter().map(|item| item.tokens).sum()
    }

    /// Counts the messages that stand in full, those of the system part apart.
    pub(crate) fn messages(&self) -> u64 {
        self.items.iter().filter(|item| !item.system).map(Item::messages).sum()
    }
}

/// Returns what a block becomes.
pub(crate) fn block_content(
    section: &Section,
    block: &Block,
    quotes: &Quotes,
    writing: &Writing<'_>,
) -> BlockContent {
    let style = &writing.style;
    let line = |line: String| BlockContent::Line(line.into());
    let page = &block.page;
    let shape = match &block.shape {
        Shape::Run(run) => return folded_run(section, run, quotes, writing),
        Shape::Page(shape) => shape,
    };
    let level = level_of(writing, section.is_system(), shape);
    let offered = |action: PageAction| action.is_offered(&section.segment.id, writing.segments);
    let may_hide = !section.segment.stands_in_full()
        && (writing.view.is_none()
            || check_page(writing.view, &section.segment, &page.index, Operation::HideDetails)
                .is_ok());
    let hides = may_hide && offered(PageAction::Hide);
    // What is only lowered by the level asked for stands in full in the view: it can be hidden.
    let action = match shape.level {
        Level::Full => PageAction::Hide,
        Level::Summary | Level::Gist => PageAction::Expand,
    };
    let action = Some(action).filter(|action| match action {
        PageAction::Hide => hides && !page.index.is_root(),
        _ => offered(*action),
    });
    if page.index.is_root() {
        return match (writing.family, level) {
            (Family::Markdown, Level::Full) => line(style.heading(page)),
            (Family::Provider, Level::Full) => BlockContent::Nothing,
            (_, Level::Summary | Level::Gist) => line(style.stub(page, [], action)),
        };
    }
    if let Some(fold) = shape.fold.filter(|fold| fold.is_log() && level == Level::Summary)
        && writing.level == Level::Full
        && let (Some(digest), Some(_)) = (quotes.digest(page), &page.turn)
    {
        let asked = digest.asked.is_some();
        let requests = asked.then(|| request(section, page, false, writing)).flatten();
        let line = (!digest.steps.is_empty()).then(|| style.log(page, digest, fold, action).into());
        let told = Quoted { page: page.index.clone(), speech: shape.speech };
        return BlockContent::Folded {
            requests: requests.into_iter().collect(),
            line,
            quotes: [told].into(),
        };
    }
    let detail = match (level, page.detail()) {
        (Level::Full, Some(detail)) => detail,
        (Level::Full, None) => return line(style.directory(page, hides)),
        (Level::Summary, _) => {
            let words = quotes.of(page).iter().take(STUB_WORDS).map(|word| &*word.text);
            return line(style.stub(page, words, action));
        }
        (Level::Gist, _) => return line(style.gist(page)),
    };
    let mut limit = limit(section, writing);
    if shape.fold == Some(Fold::Trimmed) {
        limit = Some(limit.map_or(TRIMMED, |limit| TRIMMED.min(Tokens(limit.0 / 2))));
    }
    let trusted = is_trusted(section.segment.kind, page);
    let body = ShownBody { content: detail.content, limit, trusted, speech: shape.speech };
    let as_messages = page.turn.is_some() && writing.family == Family::Provider;
    if as_messages {
        let body = ShownBody { trusted: false, ..body };
        return match style.turn(page, another(page, writing)) {
            Some(head) => BlockContent::Turn { head: head.into(), body },
            None => BlockContent::Messages(body),
        };
    }
    BlockContent::Note { head: style.head(page, hides).into(), body }
}

/// Returns the most tokens a part of a page takes before it is cut.
fn limit(section: &Section, writing: &Writing<'_>) -> Option<Tokens> {
    // A capacity is a budget of its own: no part may take more than its share of either.
    let capacity = section.segment.capacity.0;
    let capacity = (capacity > 0).then_some(Tokens(thousandths(capacity, writing.part)));
    let limit = capacity.into_iter().chain(writing.limit).min();
    // The system side's own text is never cut: agents are bound by all of it.
    limit.filter(|_| !section.is_system())
}

/// Returns what a run becomes: the requests in it that stand, and its line.
fn folded_run(
    section: &Section,
    run: &PageRun,
    quotes: &Quotes,
    writing: &Writing<'_>,
) -> BlockContent {
    let stands = |page: &&Arc<Page>| run.stands_for(&page.index, page.place);
    let requests = run.requests.iter().filter_map(|standing| {
        let page = quotes.pages.get(&standing.page).filter(stands)?;
        request(section, page, standing.brief, writing)
    });
    let requests: Vec<PlannedRequest> = match writing.level {
        Level::Full => requests.collect(),
        Level::Summary | Level::Gist => Vec::new(),
    };
    if run.form == PageRunForm::Out && requests.is_empty() {
        return BlockContent::Nothing;
    }
    let line = (run.form != PageRunForm::Out).then(|| quotes.line_of(&writing.style, run).into());
    BlockContent::Folded { requests, line, quotes: quotes.quoted_by(run).into() }
}

/// Returns what was asked at the beginning of a page, by its beginning and its end.
pub(crate) fn brief_request(
    section: &Section,
    page: &Page,
    writing: &Writing<'_>,
) -> Option<PlannedRequest> {
    request(section, page, true, writing)
}

/// Returns what was asked at the beginning of a page.
fn request(
    section: &Section,
    page: &Page,
    brief: bool,
    writing: &Writing<'_>,
) -> Option<PlannedRequest> {
    let style = &writing.style;
    let brief = brief.then_some(BRIEF);
    let limit = limit(section, writing).into_iter().chain(brief).min();
    let content = page.detail()?.content;
    let body = ShownBody { content, limit, trusted: false, speech: MessageFilter::RequestsOnly };
    let is_note = writing.family == Family::Markdown;
    let head = match is_note {
        true => Some(style.asked(page).into()),
        false => style.turn(page, another(page, writing)).map(Into::into),
    };
    Some(PlannedRequest { page: page.index.clone(), head, is_note, body })
}

/// Returns the agent a turn belongs to, where that is not the one who reads.
fn another<'p>(page: &'p Page, writing: &Writing<'_>) -> Option<&'p AgentName> {
    let reader = writing.view.and_then(|view| view.reader_of(page.index.segment()))?;
    page.author.agent().filter(|author| *author != reader)
}

impl Item {
    /// Tells whether its text stands, and not only a line.
    pub(crate) fn shows_text(&self) -> bool {
        matches!(
            self.block_content,
            BlockContent::Messages(_) | BlockContent::Turn { .. } | BlockContent::Note { .. }
        )
    }

    /// Counts the messages of it that stand.
    pub(crate) fn messages(&self) -> u64 {
        if let BlockContent::Folded { requests, .. } = &self.block_content {
            return requests.len() as u64;
        }
        let detail = self.block.page.detail().filter(|_| self.shows_text());
        detail.map_or(0, |detail| u64::from(detail.messages))
    }

    /// Visits what is to be counted, in order.
    pub(crate) fn each_part<'s>(&'s self, visit: &mut dyn FnMut(PartOf<'s>)) {
        match &self.block_content {
            BlockContent::Nothing => {}
            BlockContent::Line(line) => visit(PartOf::Line(line)),
            BlockContent::Messages(body) => visit(PartOf::Body(*body)),
            BlockContent::Turn { head, body } | BlockContent::Note { head, body } => {
                visit(PartOf::Line(head));
                visit(PartOf::Body(*body));
            }
            BlockContent::Folded { requests, line, .. } => {
                for request in requests {
                    request.head.iter().for_each(|head| visit(PartOf::Line(head)));
                    visit(PartOf::Body(request.body));
                }
                line.iter().for_each(|line| visit(PartOf::Line(line)));
            }
        }
    }

    /// Returns the body it shows, where that is all of its page.
    pub(crate) fn body(&self) -> Option<ShownBody> {
        match &self.block_content {
            BlockContent::Messages(body)
            | BlockContent::Turn { body, .. }
            | BlockContent::Note { body, .. } => Some(*body),
            BlockContent::Nothing | BlockContent::Line(_) | BlockContent::Folded { .. } => None,
        }
    }

    /// Sets what it takes from what its parts count.
    ///
    /// `filler` is what may stand between a piece and the one before it.
    pub(crate) fn weigh(
        &mut self,
        family: Family,
        filler: u64,
        count: &mut dyn FnMut(PartOf<'_>) -> u64,
    ) {
        let filler = if self.system { 0 } else { filler };
        let (mut tokens, mut requests) = (0, 0);
        // A line makes a piece of its own, or stands over the body that follows it.
        let mut headed = false;
        self.each_part(&mut |part| {
            let counted = count(part);
            match part {
                PartOf::Line(_) => {
                    tokens += line_weight(family, counted) + piece_overhead(family) + filler;
                    headed = true;
                }
                PartOf::Body(_) => {
                    tokens += counted + if headed { 0 } else { filler };
                    (requests, headed) = (tokens, false);
                }
            }
        });
        let is_folded = matches!(self.block_content, BlockContent::Folded { .. });
        (self.tokens, self.requests) = (tokens, if is_folded { requests } else { 0 });
    }

    /// Returns the pages its line speaks of, where it is a line alone. A run belongs to its
    /// directory, whose pages it counts.
    pub(crate) fn quotes(&self) -> Option<Vec<Quoted>> {
        let page = self.block.page.index.clone();
        match &self.block_content {
            BlockContent::Nothing
            | BlockContent::Messages(_)
            | BlockContent::Turn { .. }
            | BlockContent::Note { .. } => None,
            BlockContent::Line(_) => {
                let speech = self.block.as_page().map_or(MessageFilter::All, |shape| shape.speech);
                Some(vec![Quoted { page, speech }])
            }
            BlockContent::Folded { quotes, .. } if self.block.as_page().is_some() => {
                Some(quotes.to_vec())
            }
            BlockContent::Folded { quotes, .. } => {
                let directory = Quoted { page, speech: MessageFilter::All };
                Some(std::iter::once(directory).chain(quotes.iter().cloned()).collect())
            }
        }
    }

    /// Returns the pieces it is sent as, each with the page it shows.
    pub(crate) fn sources(&self) -> Vec<(PageIndex, SentSource)> {
        let source = match &self.block_content {
            BlockContent::Nothing => return Vec::new(),
            BlockContent::Line(line) => SentSource::Engine(line.to_string()),
            BlockContent::Messages(body) => messages(body),
            BlockContent::Turn { head, body } => turn(head, body),
            BlockContent::Note { head, body } => note(head, body),
            BlockContent::Folded { requests, line, .. } => {
                let asked = requests.iter().map(|request| {
                    let source = match &request.head {
                        Some(head) if request.is_note => note(head, &request.body),
                        Some(head) => turn(head, &request.body),
                        None => messages(&request.body),
                    };
                    (request.page.clone(), source)
                });
                let told = line
                    .iter()
                    .map(|line| (self.block.index().clone(), SentSource::Engine(line.to_string())));
                return asked.chain(told).collect();
            }
        };
        vec![(self.block.index().clone(), source)]
    }
}

/// A part of a block that is counted by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PartOf<'a> {
    /// A line of the engine.
    Line(&'a Arc<str>),
    /// Messages.
    Body(ShownBody),
}

fn messages(&ShownBody { content, limit, speech, .. }: &ShownBody) -> SentSource {
    SentSource::Messages { content, limit, speech }
}

fn turn(head: &str, &ShownBody { content, limit, speech, .. }: &ShownBody) -> SentSource {
    SentSource::Turn { head: head.to_owned(), content, limit, speech }
}

fn note(head: &str, &ShownBody { content, limit, trusted, speech }: &ShownBody) -> SentSource {
    SentSource::Note { head: head.to_owned(), content, limit, trusted, speech }
}
