//! Level state: which pages a view shows, hides, pins and has folded, kept as ranges and not per page.
//!
//! A view's state is cut into chunks of [`LevelChunk::SPAN`] page numbers of one segment, so that
//! expanding one page of a million reads and writes one small chunk. Numbers are never reused and
//! do not change when a page moves within its segment, so levels follow the page by themselves.
//!
//! Runs belong to the directory whose pages they stand for: a million pages folded into one line are
//! one [`PageRun`] in its entry.

mod page_run;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{Error, PageIndex, SegmentId, Visibility, storage::ViewId};

pub use page_run::{Citation, CitationDetail, KeptRequest, PageRun, PageRunForm};

/// How much of a page stands in the window (D-20): Gist < Summary < Full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Index and name.
    Gist,
    /// Name and description.
    Summary,
    /// Everything.
    Full,
}

impl Level {
    /// Returns the level as it is spelt in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Gist => "gist",
            Level::Summary => "summary",
            Level::Full => "full",
        }
    }
}

impl std::str::FromStr for Level {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let all = [Level::Full, Level::Summary, Level::Gist];
        all.into_iter().find(|level| level.as_str() == text).ok_or_else(|| {
            let (what, text) = ("level", crate::index::shorten(text));
            Error::UnknownValue { what, text, known: "full summary gist" }
        })
    }
}

impl From<Visibility> for Level {
    fn from(visibility: Visibility) -> Self {
        match visibility {
            Visibility::Expanded => Level::Full,
            Visibility::Hidden => Level::Summary,
        }
    }
}

/// How much of a page stands in a view's window, folds included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WindowLevel {
    /// Not in it, not even by name: folded out, or under a directory that keeps it to itself.
    Out,
    /// Part of a run that stands as one line.
    Run,
    /// Index and name.
    Gist,
    /// Name and description.
    Summary,
    /// Everything.
    Full,
}

impl WindowLevel {
    /// Returns the level as it is spelt in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            WindowLevel::Out => "out",
            WindowLevel::Run => "run",
            WindowLevel::Gist => "gist",
            WindowLevel::Summary => "summary",
            WindowLevel::Full => "full",
        }
    }
}

impl Serialize for WindowLevel {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl From<Level> for WindowLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Gist => WindowLevel::Gist,
            Level::Summary => WindowLevel::Summary,
            Level::Full => WindowLevel::Full,
        }
    }
}

/// How far a fold has lowered a page. It caps what the page would stand at without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fold {
    /// To index and name.
    Gist,
    /// To its stub: name, description and what is most telling in it.
    Summary,
    /// To its log, without the texts of files that were written again since.
    Rewritten,
    /// To what was asked in it, and a log of what was called and how that ended.
    #[serde(alias = "asked")]
    Log,
    /// Large results in it to head and tail.
    Trimmed,
}

impl Fold {
    /// Tells whether it leaves a log.
    pub fn is_log(self) -> bool {
        matches!(self, Fold::Log | Fold::Rewritten)
    }

    /// Returns the level it caps a page at.
    pub fn cap(self) -> Level {
        match self {
            Fold::Gist => Level::Gist,
            Fold::Summary | Fold::Rewritten | Fold::Log => Level::Summary,
            Fold::Trimmed => Level::Full,
        }
    }
}

/// What a view says of one page; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelEntry {
    /// Expanded or hidden by this view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Visibility>,
    /// Pinned or unpinned by this view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Expanded by this view on purpose: the number of folds since it was referred to. Until these are
    /// too many, folds leave it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u8>,
    /// Lowered by a fold of this view. Other views do not inherit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Fold>,
    /// Runs of its pages that stand as one line in this view, in order; only of directories.
    #[serde(default, skip_serializing_if = "no_runs")]
    pub runs: Arc<[PageRun]>,
}

fn no_runs(runs: &Arc<[PageRun]>) -> bool {
    runs.is_empty()
}

impl LevelEntry {
    /// Says that a page is expanded or hidden, and nothing else.
    pub fn shown(visibility: Visibility) -> Self {
        Self { shown: Some(visibility), ..Self::default() }
    }

    /// Returns the run that stands for a page at a place under this directory, unless the page is
    /// pinned, which its own entries say.
    pub fn run_over(&self, page: &PageIndex, place: crate::storage::Place) -> Option<&PageRun> {
        self.runs.iter().find(|run| run.stands_for(page, place))
    }
}

/// Names a chunk of level state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChunkKey {
    /// Whose level state.
    pub view: ViewId,
    /// Which segment.
    pub segment: SegmentId,
    /// Which span of numbers.
    pub chunk: u64,
}

impl ChunkKey {
    /// Returns the chunk in which a view's entry for a page lies.
    pub fn of(view: &ViewId, page: &PageIndex) -> Self {
        Self {
            view: view.clone(),
            segment: page.segment().clone(),
            chunk: page.number() / LevelChunk::SPAN,
        }
    }
}

/// One chunk of a view's level state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelChunk {
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    shown: Ranges<Visibility>,
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pinned: Ranges<bool>,
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    held: Ranges<u8>,
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    fold: Ranges<Fold>,
    /// Runs by the number of their directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    runs: BTreeMap<u64, Arc<[PageRun]>>,
}

impl LevelChunk {
    /// How many page numbers a chunk spans.
    pub const SPAN: u64 = 1024;

    /// Returns what it says of the page with that number.
    pub fn entry(&self, number: u64) -> LevelEntry {
        LevelEntry {
            shown: self.shown.get(number),
            pinned: self.pinned.get(number),
            held: self.held.get(number),
            fold: self.fold.get(number),
            runs: self.runs.get(&number).cloned().unwrap_or_default(),
        }
    }

    /// Sets what it says of the page with that number.
    pub fn set(&mut self, number: u64, entry: LevelEntry) {
        self.shown.set(number, entry.shown);
        self.pinned.set(number, entry.pinned);
        self.held.set(number, entry.held);
        self.fold.set(number, entry.fold);
        if entry.runs.is_empty() {
            self.runs.remove(&number);
        } else {
            self.runs.insert(number, entry.runs);
        }
    }

    /// Returns the numbers of which it says anything, with what it says.
    pub fn entries(&self) -> impl Iterator<Item = (u64, LevelEntry)> {
        let mut numbers: BTreeSet<u64> = self.runs.keys().copied().collect();
        numbers.extend(self.shown.numbers());
        numbers.extend(self.pinned.numbers());
        numbers.extend(self.held.numbers());
        numbers.extend(self.fold.numbers());
        numbers.into_iter().map(|number| (number, self.entry(number)))
    }

    /// Returns what it says of pins: the first and last number of each range, in order.
    pub fn pins(&self) -> impl Iterator<Item = (u64, u64, bool)> {
        self.pinned.0.iter().copied()
    }

    /// Returns about how many bytes it takes in memory.
    pub fn size(&self) -> usize {
        let ranges =
            self.shown.0.len() + self.pinned.0.len() + self.held.0.len() + self.fold.0.len();
        let runs = self.runs.values().flat_map(|runs| runs.iter()).map(PageRun::size);
        std::mem::size_of::<Self>() + ranges * RANGE + self.runs.len() * ENTRY + runs.sum::<usize>()
    }

    /// Tells whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
            && self.pinned.is_empty()
            && self.held.is_empty()
            && self.fold.is_empty()
            && self.runs.is_empty()
    }
}

/// What a range takes, and a directory with runs beside them.
const RANGE: usize = std::mem::size_of::<(u64, u64, u64)>();
const ENTRY: usize = 64;

/// Values over disjoint ranges of numbers, in order, neighbours of equal value merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Ranges<T>(Vec<(u64, u64, T)>);

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Ranges<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Copy + PartialEq> Ranges<T> {
    /// Returns the first range that ends at `number` or later.
    fn position(&self, number: u64) -> usize {
        self.0.partition_point(|&(_, last, _)| last < number)
    }

    /// Returns the numbers that have a value.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|&(first, last, _)| first..=last)
    }

    fn get(&self, number: u64) -> Option<T> {
        let &(first, _, value) = self.0.get(self.position(number))?;
        (first <= number).then_some(value)
    }

    fn set(&mut self, number: u64, value: Option<T>) {
        if self.get(number) == value {
            return;
        }
        let at = self.position(number);
        if let Some(&(first, last, old)) = self.0.get(at)
            && first <= number
        {
            let left = (first < number).then(|| (first, number - 1, old));
            let right = (number < last).then(|| (number + 1, last, old));
            self.0.splice(at..=at, left.into_iter().chain(right));
        }
        let Some(value) = value else { return };
        let at = self.position(number);
        self.0.insert(at, (number, number, value));
        self.merge_with_next(at);
        if at > 0 {
            self.merge_with_next(at - 1);
        }
    }

    fn merge_with_next(&mut self, at: usize) {
        if let (Some(&(first, last, value)), Some(&(next, end, other))) =
            (self.0.get(at), self.0.get(at + 1))
            && last + 1 == next
            && value == other
        {
            self.0.splice(at..=at + 1, [(first, end, value)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_behave_like_a_map_and_stay_merged() {
        let mut ranges = Ranges::default();
        let mut model = std::collections::BTreeMap::new();
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (number, value) = ((seed >> 33) % 40, (seed >> 50) % 4);
            let value = (value < 3).then_some(value);
            ranges.set(number, value);
            match value {
                Some(value) => model.insert(number, value),
                None => model.remove(&number),
            };
            for number in 0..41 {
                assert_eq!(ranges.get(number), model.get(&number).copied());
            }
            for pair in ranges.0.windows(2) {
                assert!(pair[0].1 < pair[1].0, "overlap: {ranges:?}");
                assert!(
                    pair[0].1 + 1 < pair[1].0 || pair[0].2 != pair[1].2,
                    "unmerged: {ranges:?}"
                );
            }
        }
    }

    #[test]
    fn a_run_of_equal_entries_is_one_range() {
        let mut chunk = LevelChunk::default();
        for number in 0..1000 {
            chunk.set(number, LevelEntry::shown(Visibility::Hidden));
        }
        assert_eq!(serde_json::to_string(&chunk).unwrap(), r#"{"shown":[[0,999,"Hidden"]]}"#);
    }
}
