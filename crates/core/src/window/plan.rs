//! The plan: an outline with what each block becomes and what it takes.

use std::{collections::HashMap, sync::Arc};

use super::{
    line::{Style, is_trusted},
    outline::{Block, Outline, PageShape, Section, Shape},
    source::{Body, Family, line_weight, piece_overhead},
    telling::Word,
};
use crate::{
    AgentName, ContentHash, Level, Operation, Page, PageIndex, Quoted, Run, RunForm, SegmentId,
    SentSource, Speech, Tokens, context::PageAction, permission::check_page,
};

/// The most tokens a part of a page takes that a fold has trimmed.
pub const TRIMMED: Tokens = Tokens(1_024);

/// How many words a stub gives.
pub const STUB_WORDS: usize = 12;

/// An outline with what each block becomes and what it takes, in order.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The blocks of all sections.
    pub items: Vec<Item>,
}

/// A block of a plan.
#[derive(Debug, Clone)]
pub struct Item {
    /// Which section of the outline it belongs to.
    pub section: usize,
    /// Whether it belongs to the system part.
    pub system: bool,
    /// The block.
    pub block: Block,
    /// What it becomes.
    pub face: Face,
    /// What it takes, its share of what stands around it included.
    pub tokens: u64,
}

/// What a block becomes in the window.
#[derive(Debug, Clone)]
pub enum Face {
    /// Nothing: a root in a provider format.
    Nothing,
    /// A line of the engine.
    Line(Arc<str>),
    /// The line of a run.
    Run {
        /// The line.
        line: Arc<str>,
        /// The pages whose words it gives.
        quotes: Arc<[Quoted]>,
    },
    /// Messages as they were.
    Messages(Body),
    /// Messages of a turn that is another agent's or was rewritten, with lines of the engine that
    /// say so.
    Turn {
        /// The lines: one over the messages, and one that closes the request they begin with.
        head: Arc<str>,
        /// The messages.
        body: Body,
    },
    /// A text under a line of the engine.
    Note {
        /// The line.
        head: Arc<str>,
        /// The text.
        body: Body,
    },
}

/// What the lines of a plan quote: the most telling words of contents, and the pages runs cite.
#[derive(Debug, Default)]
pub struct Quotes {
    /// Words by content and which of its messages are seen.
    pub words: HashMap<(ContentHash, Speech), Arc<[Word]>>,
    /// Pages of which not all messages are seen.
    pub speech: HashMap<PageIndex, Speech>,
    /// Cited pages that are still listed.
    pub pages: HashMap<PageIndex, Arc<Page>>,
    /// The latest pages of runs, by the first page of each: known only where a fold is planned.
    pub in_runs: HashMap<PageIndex, Vec<Arc<Page>>>,
}

impl Quotes {
    /// Returns the words of a page.
    pub fn of(&self, page: &Page) -> &[Word] {
        let Some(detail) = page.detail() else { return &[] };
        let speech = self.speech.get(&page.index).copied().unwrap_or_default();
        self.words.get(&(detail.content, speech)).map_or(&[], |words| words)
    }

    /// Returns the pages whose words a run's line gives.
    pub fn quoted_by(&self, run: &Run) -> Vec<Quoted> {
        let listed = run.cited.iter().filter(|cited| self.pages.contains_key(&cited.page));
        let quoted = |page: &PageIndex| {
            let speech = self.speech.get(page).copied().unwrap_or_default();
            Quoted { page: page.clone(), speech }
        };
        listed.map(|cited| quoted(&cited.page)).collect()
    }

    /// Returns the words a run's line gives.
    pub fn of_run(&self, run: &Run) -> Vec<&str> {
        let mut given = Vec::new();
        for cited in &run.cited {
            let Some(page) = self.pages.get(&cited.page) else { continue };
            let words = self.of(page);
            let cited = cited.words.iter().filter_map(|&rank| words.get(usize::from(rank)));
            given.extend(cited.map(|word| &*word.text));
        }
        given
    }
}

/// How a plan is written.
#[derive(Clone, Copy)]
pub struct Writing<'a> {
    /// As messages or as Markdown.
    pub family: Family,
    /// How lines are written.
    pub style: Style<'a>,
    /// The level asked for; it caps all but the system part.
    pub level: Level,
    /// The most tokens a part takes before it is cut to head and tail.
    pub limit: Option<Tokens>,
    /// What may stand between two pieces, where a provider wants turns to alternate.
    pub filler: u64,
    /// The agent it is written for, who is shown only what it may do; none for the system side.
    pub reader: Option<&'a AgentName>,
    /// The segments in view: a key that names a page of one is a reference and no action.
    pub segments: &'a [SegmentId],
}

/// Returns the level a page stands at, capped by the level asked for.
pub fn level_of(writing: &Writing<'_>, system: bool, shape: &PageShape) -> Level {
    if system { shape.level } else { shape.level.min(writing.level) }
}

/// Returns the pages whose words the lines of an outline quote, with which of their messages.
pub fn quoted_pages<'o>(
    outline: &'o Outline,
    writing: &Writing<'_>,
) -> Vec<(&'o Arc<Page>, Speech)> {
    let quoted = |(section, block): (&Section, &'o Block)| {
        let shape = block.as_page()?;
        let level = level_of(writing, section.is_system(), shape);
        (level == Level::Summary).then_some((&block.page, shape.speech))
    };
    outline.blocks().filter_map(quoted).collect()
}

impl Plan {
    /// Lays out an outline. Tokens are still to be counted.
    pub fn lay_out(outline: &Outline, quotes: &Quotes, writing: &Writing<'_>) -> Self {
        let mut items = Vec::new();
        for (at, section) in outline.sections.iter().enumerate() {
            let system = section.is_system();
            items.extend(section.blocks.iter().map(|block| Item {
                section: at,
                system,
                block: block.clone(),
                face: face(section, block, quotes, writing),
                tokens: 0,
            }));
        }
        Self { items }
    }

    /// Returns all it takes.
    pub fn tokens(&self) -> u64 {
        self.items.iter().map(|item| item.tokens).sum()
    }

    /// Counts the messages that stand in full, those of the system part apart.
    pub fn messages(&self) -> u64 {
        self.items.iter().filter(|item| !item.system).map(Item::messages).sum()
    }
}

/// Returns what a block becomes.
pub fn face(section: &Section, block: &Block, quotes: &Quotes, writing: &Writing<'_>) -> Face {
    let style = &writing.style;
    let line = |line: String| Face::Line(line.into());
    let page = &block.page;
    let shape = match &block.shape {
        Shape::Run(run) if run.form == RunForm::Out => return Face::Nothing,
        Shape::Run(run) => {
            let line = style.run(run, quotes.of_run(run)).into();
            return Face::Run { line, quotes: quotes.quoted_by(run).into() };
        }
        Shape::Page(shape) => shape,
    };
    let level = level_of(writing, section.is_system(), shape);
    let offered = |action: PageAction| action.is_offered(&section.segment.id, writing.segments);
    let may_hide = !section.segment.stands_in_full()
        && (writing.reader.is_none()
            || check_page(&section.segment, &page.index, Operation::HideDetails).is_ok());
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
            (Family::Provider, Level::Full) => Face::Nothing,
            (_, Level::Summary | Level::Gist) => line(style.stub(page, [], action)),
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
    let trimmed = shape.trimmed.then_some(TRIMMED);
    // A capacity is a budget of its own: no part may take more than a quarter of either.
    let capacity = section.segment.capacity.0;
    let capacity = (capacity > 0).then_some(Tokens(capacity / 4));
    let limit = trimmed.into_iter().chain(writing.limit).chain(capacity).min();
    let trusted = is_trusted(section.segment.kind, page);
    // The system side's own text is never cut: agents are bound by all of it.
    let limit = limit.filter(|_| !section.is_system());
    let speech = if shape.asked { Speech::RequestsOnly } else { shape.speech };
    let body = Body { content: detail.content, limit, trusted, speech };
    let as_messages = page.turn.is_some() && writing.family == Family::Provider;
    if as_messages {
        let body = Body { trusted: false, ..body };
        let another = page.author.agent().filter(|author| speaks_for_another(writing, author));
        return match style.turn(page, another, shape.asked) {
            Some(head) => Face::Turn { head: head.into(), body },
            None => Face::Messages(body),
        };
    }
    let head = if shape.asked {
        style.asked(page, offered(PageAction::Expand))
    } else {
        style.head(page, hides)
    };
    Face::Note { head: head.into(), body }
}

/// Tells whether a turn's author is another agent than the one who reads.
fn speaks_for_another(writing: &Writing<'_>, author: &AgentName) -> bool {
    writing.reader.is_some_and(|reader| reader != author)
}

impl Item {
    /// Tells whether its text stands, and not only a line.
    pub fn shows_text(&self) -> bool {
        matches!(self.face, Face::Messages(_) | Face::Turn { .. } | Face::Note { .. })
    }

    /// Counts the messages of it that stand.
    pub fn messages(&self) -> u64 {
        let detail = self.block.page.detail().filter(|_| self.shows_text());
        match self.block.as_page().is_some_and(|shape| shape.asked) {
            true => detail.map_or(0, |_| 1),
            false => detail.map_or(0, |detail| u64::from(detail.messages)),
        }
    }

    /// Returns what is to be counted: its line and its body.
    pub fn parts(&self) -> (Option<&Arc<str>>, Option<Body>) {
        match &self.face {
            Face::Nothing => (None, None),
            Face::Line(line) | Face::Run { line, .. } => (Some(line), None),
            Face::Messages(body) => (None, Some(*body)),
            Face::Turn { head, body } | Face::Note { head, body } => (Some(head), Some(*body)),
        }
    }

    /// Sets what it takes from the counts of its line and its body.
    ///
    /// `filler` is what may stand between it and the piece before it.
    pub fn weigh(&mut self, family: Family, filler: u64, line: Option<u64>, body: Option<u64>) {
        let line = line.map(|tokens| line_weight(family, tokens));
        let around = match self.face {
            Face::Nothing => 0,
            Face::Messages(_) => 0,
            Face::Line(_) | Face::Run { .. } | Face::Turn { .. } | Face::Note { .. } => {
                piece_overhead(family)
            }
        };
        let filler = match self.face {
            Face::Nothing => 0,
            _ if self.system => 0,
            _ => filler,
        };
        self.tokens = line.unwrap_or(0) + body.unwrap_or(0) + around + filler;
    }

    /// Returns the pages its line speaks of, where it is a line alone. A run belongs to its
    /// directory, whose pages it counts.
    pub fn quotes(&self) -> Option<Vec<Quoted>> {
        let page = self.block.page.index.clone();
        match &self.face {
            Face::Nothing | Face::Messages(_) | Face::Turn { .. } | Face::Note { .. } => None,
            Face::Line(_) => {
                let speech = self.block.as_page().map_or(Speech::All, |shape| shape.speech);
                Some(vec![Quoted { page, speech }])
            }
            Face::Run { quotes, .. } => {
                let directory = Quoted { page, speech: Speech::All };
                Some(std::iter::once(directory).chain(quotes.iter().cloned()).collect())
            }
        }
    }

    /// Returns what is recorded of it when it is sent.
    pub fn source(&self) -> Option<SentSource> {
        Some(match &self.face {
            Face::Nothing => return None,
            Face::Line(line) | Face::Run { line, .. } => SentSource::Engine(line.to_string()),
            Face::Messages(body) => SentSource::Messages {
                content: body.content,
                limit: body.limit,
                speech: body.speech,
            },
            Face::Turn { head, body } => SentSource::Turn {
                head: head.to_string(),
                content: body.content,
                limit: body.limit,
                speech: body.speech,
            },
            Face::Note { head, body } => SentSource::Note {
                head: head.to_string(),
                content: body.content,
                limit: body.limit,
                trusted: body.trusted,
                speech: body.speech,
            },
        })
    }
}
