//! Runs: neighbouring pages of one directory that stand in a window as one line.

use serde::{Deserialize, Serialize};

use crate::{
    Page, PageIndex,
    storage::{FilterKey, Place},
};

/// A run of a directory's pages, by their places, which only grow and are never used again.
///
/// A pinned page stands by itself, whatever covers it: pins are looked up when the run is shown, so it
/// does not matter who pinned it, or when.
///
/// It holds no text: its line is made from the pages it cites when it is rendered, so what is
/// purged from a page is gone from every line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRun {
    /// The first place it covers.
    pub first: Place,
    /// The last place it covers.
    pub last: Place,
    /// The first page in it when it was folded.
    pub from: PageIndex,
    /// The last page in it when it was folded.
    pub to: PageIndex,
    /// How many pages it stood for when it was folded, without those that a directory adopted since.
    pub pages: u64,
    /// How many messages they held, where the fold was made for their sake; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages: u64,
    /// How many calls were made in them, as far as they were read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// Through which filter they were counted.
    #[serde(default, skip_serializing_if = "FilterKey::is_open")]
    pub filter: FilterKey,
    /// What stands in their place.
    pub form: PageRunForm,
    /// The requests in it that stand before the line, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<KeptRequest>,
    /// What the line tells of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<Citation>,
    /// Pages within it that stand by themselves again, directly behind the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<PageIndex>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What stands in place of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PageRunForm {
    /// One line: which pages, and what is most telling in them.
    Line,
    /// One short line: which pages.
    Gist,
    /// Nothing; the directory still lists the pages.
    Out,
}

/// A request that stands though its page is folded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRequest {
    /// The page that begins with it.
    pub page: PageIndex,
    /// Whether only its beginning and its end stand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

/// What a run's line tells of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The page.
    pub page: PageIndex,
    /// How much of what happened in it.
    #[serde(default, skip_serializing_if = "CitationDetail::is_nothing")]
    pub told: CitationDetail,
    /// Which of its most telling words, by rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<u16>,
}

/// How much a line tells of what happened in a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CitationDetail {
    /// Nothing but names.
    #[default]
    Nothing,
    /// What was asked.
    Asked,
    /// What was asked, and which files were written.
    Wrote,
    /// What was asked, and the page's description in place of what was found in its turn.
    ///
    /// A fold decides it: a description that is written later leaves the lines that stand as they are.
    Summary,
    /// What was asked, written and concluded, and what failed.
    All,
}

impl CitationDetail {
    fn is_nothing(&self) -> bool {
        *self == CitationDetail::Nothing
    }
}

impl PageRun {
    /// Returns about how many bytes it takes in memory.
    pub(super) fn size(&self) -> usize {
        use std::mem::size_of;
        let index = |index: &PageIndex| 32 + index.segment().as_str().len();
        let cited = self
            .cited
            .iter()
            .map(|cited| size_of::<Citation>() + index(&cited.page) + 16 + 2 * cited.words.len());
        let requests = self.requests.iter().map(|it| size_of::<PageIndex>() + index(&it.page));
        let apart = self.apart.iter().map(|page| size_of::<PageIndex>() + index(page));
        size_of::<Self>()
            + index(&self.from)
            + index(&self.to)
            + cited.sum::<usize>()
            + requests.sum::<usize>()
            + apart.sum::<usize>()
    }

    /// Returns the pages that its line and its requests are made from.
    pub fn named(&self) -> impl Iterator<Item = &PageIndex> {
        let requests = self.requests.iter().map(|request| &request.page);
        requests.chain(self.cited.iter().map(|cited| &cited.page))
    }

    /// Tells whether a place lies in it.
    pub fn covers(&self, place: Place) -> bool {
        self.first <= place && place <= self.last
    }

    /// Tells whether it stands for a page, which is not so for those that stand by themselves again.
    pub fn stands_for(&self, page: &PageIndex, place: Place) -> bool {
        self.covers(place) && !self.apart.contains(page)
    }

    /// Returns the run as it is when a page that it stands for stands by itself, directly behind it.
    pub(crate) fn without(&self, page: &Page) -> Self {
        let mut run = self.clone();
        if run.stands_for(&page.index, page.place) {
            run.apart.push(page.index.clone());
        }
        run
    }

    /// Returns the run as it is when a page that it stands for goes elsewhere; none where that was all.
    pub(crate) fn parted_from(&self, page: &Page) -> Option<Self> {
        let mut run = self.clone();
        if run.stands_for(&page.index, page.place) {
            run.pages = run.pages.saturating_sub(1);
        }
        (run.pages > 0 || !run.requests.is_empty() || !run.apart.is_empty()).then_some(run)
    }
}
