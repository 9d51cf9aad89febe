//! The walk over what a view shows, for the window.
//!
//! It visits what is visible and nothing else: runs are stepped over by their places, and what a
//! hidden directory holds is not looked at.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{Reader, lists::Gap};
use crate::{
    Level, Mounts, Page, PageIndex, Result, Segment, SegmentKind,
    storage::{
        ChunkKey, LevelChunk, LevelEntry, PageRun, PageRunForm, PageStanding, Place, ViewId,
    },
    window::outline::{Block, Outline, PageShape, Section, Shape},
};

impl Reader<'_> {
    /// Walks the view: its System-kind segments first, then the others in order.
    pub(crate) async fn outline(&self) -> Result<Outline> {
        let mut segments = self.segments();
        // What changes least stands first, so that appending changes no earlier byte: prompts, then
        // what was put aside, then the conversation. Within each part the view's order stays, and a
        // view that lists its segments keeps its own order but for the prompts.
        let listed = self.guard.is_some_and(|view| matches!(view.mounts, Mounts::Listed(_)));
        let written = self.guard.map(|view| &view.writes_to);
        segments.sort_by_key(|segment| match segment.kind {
            SegmentKind::System => 0,
            _ if listed => 1,
            SegmentKind::Tool | SegmentKind::Custom if written != Some(&segment.id) => 1,
            _ if written == Some(&segment.id) => 3,
            _ => 2,
        });
        let mut sections = Vec::with_capacity(segments.len());
        for segment in segments {
            let mut walk = Walk::new(self, &segment);
            walk.segment().await?;
            let blocks = walk.blocks;
            sections.push(Section { segment, blocks });
        }
        let filter = self.guard.map(|view| view.filter.key()).unwrap_or_default();
        Ok(Outline { sections, filter })
    }
}

/// A walk through one segment.
struct Walk<'a, 'r> {
    reader: &'a Reader<'r>,
    segment: &'a Segment,
    chunks: HashMap<(bool, u64), Arc<LevelChunk>>,
    /// The pinned pages of the segment; known where there are runs.
    pinned: Option<Arc<[Arc<Page>]>>,
    blocks: Vec<Block>,
}

/// A directory whose pages are being visited: gaps between its runs, each run behind its gap.
struct Open {
    directory: Arc<Page>,
    runs: Arc<[PageRun]>,
    /// Which gap is being visited, and how far it has been.
    gap: usize,
    list: Option<Arc<Vec<(Place, PageIndex)>>>,
    at: usize,
    /// Pages that stand by themselves behind a run, last first.
    apart: Vec<Arc<Page>>,
}

impl Open {
    fn new(directory: Arc<Page>, runs: Arc<[PageRun]>) -> Self {
        Self { directory, runs, gap: 0, list: None, at: 0, apart: Vec::new() }
    }

    fn gap(&self) -> Gap {
        let before = self.gap.checked_sub(1).and_then(|before| self.runs.get(before));
        Gap {
            after: before.map(|run| run.last),
            before: self.runs.get(self.gap).map(|run| run.first),
        }
    }
}

impl<'a, 'r> Walk<'a, 'r> {
    fn new(reader: &'a Reader<'r>, segment: &'a Segment) -> Self {
        Self { reader, segment, chunks: HashMap::new(), pinned: None, blocks: Vec::new() }
    }

    async fn segment(&mut self) -> Result<()> {
        let Some(root) = self.reader.system.page(&self.segment.root()).await? else {
            return Ok(());
        };
        let mut open: Vec<Open> = Vec::new();
        open.extend(self.visit(root, 0).await?);
        while !open.is_empty() {
            let depth = open.len();
            let Some(top) = open.last_mut() else { break };
            let Some(page) = self.step(top, depth).await? else {
                open.pop();
                continue;
            };
            // A root that is damaged could name one of its own pages as its parent.
            if !page.index.is_root() {
                let deeper = self.visit(page, depth).await?;
                open.extend(deeper);
            }
        }
        Ok(())
    }

    /// Returns the next page to visit in a directory, having put the runs before it.
    async fn step(&mut self, top: &mut Open, depth: usize) -> Result<Option<Arc<Page>>> {
        let system = self.reader.system;
        loop {
            if let Some(page) = top.apart.pop() {
                return Ok(Some(page));
            }
            let list = match &top.list {
                Some(list) => list.clone(),
                None => system.listed(&top.directory.index, top.gap()).await?,
            };
            while let Some((_, index)) = list.get(top.at) {
                top.at += 1;
                if let Some(page) = system.page(index).await? {
                    top.list = Some(list);
                    return Ok(Some(page));
                }
            }
            let Some(run) = top.runs.get(top.gap).cloned() else { return Ok(None) };
            (top.gap, top.list, top.at) = (top.gap + 1, None, 0);
            top.apart = self.apart(&run, &top.directory.index).await?;
            if run.form == PageRunForm::Out && run.requests.is_empty() {
                continue;
            }
            let directory = &top.directory;
            let run = self.reader.run_as_seen(self.segment, &directory.index, run).await?;
            if let Some(mut run) = run {
                // A page that stands by itself shows its request itself.
                run.requests.retain(|it| top.apart.iter().all(|page| page.index != it.page));
                let (page, shape) = (directory.clone(), Shape::Run(run));
                self.blocks.push(Block { page, depth, shape });
            }
        }
    }

    /// Returns the pages that stand by themselves behind a run, last first.
    async fn apart(&mut self, run: &PageRun, parent: &PageIndex) -> Result<Vec<Arc<Page>>> {
        let mut pages = Vec::with_capacity(run.apart.len());
        for index in &run.apart {
            pages.extend(self.reader.system.page(index).await?);
        }
        let pinned = self.pinned().await?;
        pages.extend(pinned.iter().filter(|page| run.stands_for(&page.index, page.place)).cloned());
        pages.retain(|page| page.standing.is_listed() && page.parent.as_ref() == Some(parent));
        pages.sort_by_key(|page| std::cmp::Reverse(page.place));
        Ok(pages)
    }

    /// Returns the pages of the segment that this view or the system side pinned: no run stands for
    /// them.
    async fn pinned(&mut self) -> Result<Arc<[Arc<Page>]>> {
        if let Some(pinned) = &self.pinned {
            return Ok(pinned.clone());
        }
        let (system, view) = (self.reader.system, &self.reader.view);
        let mut numbers = BTreeSet::new();
        // The view's own word comes last, for it is the one that counts.
        for view in [&ViewId::SYSTEM, view] {
            for &(first, last, pinned) in system.pins(view, self.segment).await?.iter() {
                for number in first..=last {
                    if pinned {
                        numbers.insert(number);
                    } else {
                        numbers.remove(&number);
                    }
                }
            }
        }
        let mut pages = Vec::with_capacity(numbers.len());
        for number in numbers {
            let index = PageIndex::new(self.segment.id.clone(), number);
            pages.extend(system.page(&index).await?);
        }
        let pages: Arc<[Arc<Page>]> = pages.into();
        self.pinned = Some(pages.clone());
        Ok(pages)
    }

    /// Puts a page's block; returns the directory to be walked if it is one and shows its pages.
    async fn visit(&mut self, page: Arc<Page>, depth: usize) -> Result<Option<Open>> {
        if page.standing != PageStanding::InTree {
            return Ok(None);
        }
        let Some(seen_page) = self.reader.seen_page_below(self.segment, page).await? else {
            return Ok(None);
        };
        let page = seen_page.page;
        let own = self.entry(true, &page.index).await?;
        let system = match &self.reader.view {
            view if *view == ViewId::SYSTEM => own.clone(),
            _ => self.entry(false, &page.index).await?,
        };
        let entries = (own, system);
        let level = self.reader.level(self.segment, &page, &entries);
        let (mut own, system) = entries;
        let pinned = own.pinned.or(system.pinned).unwrap_or(false);
        // What is being worked on never folds.
        let stands = pinned || page.is_open();
        if self.segment.stands_in_full() {
            // Folds and runs of other times, when the name stood for another segment.
            (own.fold, own.runs) = (None, Arc::default());
        }
        let open = (page.is_contents() && level == Level::Full)
            .then(|| Open::new(page.clone(), own.runs.clone()));
        let shape = PageShape {
            level,
            fold: own.fold.filter(|_| !stands),
            pinned: stands,
            speech: seen_page.speech,
            entry: own,
        };
        self.blocks.push(Block { page, depth, shape: Shape::Page(shape) });
        Ok(open)
    }

    async fn entry(&mut self, own: bool, page: &PageIndex) -> Result<LevelEntry> {
        let at = (own, page.number() / LevelChunk::SPAN);
        if let Some(chunk) = self.chunks.get(&at) {
            return Ok(chunk.entry(page.number()));
        }
        let view = if own { &self.reader.view } else { &ViewId::SYSTEM };
        let chunk = self.reader.system.chunk(&ChunkKey::of(view, page)).await?;
        let entry = chunk.entry(page.number());
        self.chunks.insert(at, chunk);
        Ok(entry)
    }
}
