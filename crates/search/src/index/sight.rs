//! What a view sees of a segment, document by document.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
};

use contexture_core::{Segment, View};
use tantivy::DocId;

use super::{
    class::{Class, PARTS, Part, Parts, Seen},
    entry::Entry,
    key::At,
    snapshot::Block,
};

/// What a view sees of a segment.
#[derive(Debug)]
pub(crate) struct Sight {
    /// Nothing is left out.
    open: bool,
    /// What is seen of each class that is on disk.
    classes: Vec<Seen>,
    /// Whom to ask about classes that are not.
    judge: Option<(View, Segment)>,
    asked: Mutex<HashMap<Class, Seen>>,
    since: Option<i64>,
    left_out: LeftOut,
    id: u64,
}

/// What a view leaves out by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Pages that are left out themselves, directories among them.
    pub(crate) pages: BTreeSet<u32>,
    /// The turns of pages that are left out, in whatever segment: descriptions may tell of them.
    pub(crate) turns: BTreeSet<u64>,
}

impl Sight {
    /// The sight of those who see everything.
    pub(crate) fn open(classes: &[Class]) -> Self {
        let all = |class: &Class| Seen { parts: Parts(class.parts), timed: false };
        Self {
            open: true,
            classes: classes.iter().map(all).collect(),
            judge: None,
            asked: Mutex::default(),
            since: None,
            left_out: LeftOut::default(),
            id: 0,
        }
    }

    /// Returns what a view sees of a segment.
    pub(crate) fn new(
        view: &View,
        segment: &Segment,
        classes: &[Class],
        left_out: LeftOut,
    ) -> Self {
        if view.filter.is_open() {
            return Self::open(classes);
        }
        let classes: Vec<Seen> = classes.iter().map(|class| class.seen_by(view, segment)).collect();
        let since = view.filter.since.map(|since| since.as_millis());
        let mut hasher = DefaultHasher::new();
        (&classes, since, &left_out.pages, &left_out.turns).hash(&mut hasher);
        Self {
            open: false,
            classes,
            judge: Some((view.clone(), segment.clone())),
            asked: Mutex::default(),
            since,
            left_out,
            id: hasher.finish().max(1),
        }
    }

    /// Names it, within this process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns what is seen of a document on disk.
    pub(crate) fn of_document(&self, block: &Block, doc: DocId) -> Parts {
        self.of_class(block, doc, block.at(doc), block.class(doc))
    }

    /// Tells whether nothing is left out.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns what is seen of a document on disk whose place and class are known.
    pub(crate) fn of_class(&self, block: &Block, doc: DocId, at: At, class: usize) -> Parts {
        let seen = self.classes.get(class).copied();
        let seen = seen.unwrap_or(Seen { parts: Parts::NONE, timed: false });
        if self.open {
            return seen.parts;
        }
        self.judged(seen, at, || block.began(doc), || block.chapter(doc), || block.turn(doc))
    }

    /// Returns what is seen of a document in memory.
    pub(crate) fn of_entry(&self, entry: &Entry) -> Parts {
        let Some((view, segment)) = &self.judge else { return Parts(entry.class.parts) };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = match asked.get(&entry.class) {
            Some(seen) => *seen,
            None => {
                let seen = entry.class.seen_by(view, segment);
                asked.insert(entry.class.clone(), seen);
                seen
            }
        };
        drop(asked);
        self.judged(seen, entry.at, || entry.began, || entry.chapter, || entry.turn)
    }

    fn judged(
        &self,
        seen: Seen,
        at: At,
        began: impl Fn() -> i64,
        chapter: impl Fn() -> u32,
        turn: impl Fn() -> Option<u64>,
    ) -> Parts {
        if seen.parts == Parts::NONE {
            return Parts::NONE;
        }
        if seen.timed && self.since.is_some_and(|since| began() < since) {
            return Parts::NONE;
        }
        let LeftOut { pages, turns } = &self.left_out;
        // A root stands in no directory; its own number is 0, as is the number of its chapter.
        let is_out = |page: &u32| pages.contains(page);
        if !pages.is_empty() && (is_out(&at.page) || (at.page != 0 && is_out(&chapter()))) {
            return Parts::NONE;
        }
        if !turns.is_empty() && turn().is_some_and(|turn| turns.contains(&turn)) {
            return seen.parts.without(Part::Description);
        }
        seen.parts
    }
}

/// Takes out what is not seen.
pub(crate) fn mask(counts: &mut [u16; PARTS], parts: Parts) {
    for part in Part::ALL {
        if !parts.has(part) {
            counts[part as usize] = 0;
        }
    }
}

/// Returns everything at or below some pages, given the directory that each directory stands in.
pub(crate) fn below(
    pages: impl IntoIterator<Item = u32>,
    parents: &BTreeMap<u32, u32>,
) -> BTreeSet<u32> {
    let mut out: BTreeSet<u32> = pages.into_iter().collect();
    if out.is_empty() {
        return out;
    }
    loop {
        let is_new = |(page, parent): &(&u32, &u32)| {
            !out.contains(*page) && **page != 0 && out.contains(*parent)
        };
        let found: Vec<u32> = parents.iter().filter(is_new).map(|(page, _)| *page).collect();
        if found.is_empty() {
            return out;
        }
        out.extend(found);
    }
}
