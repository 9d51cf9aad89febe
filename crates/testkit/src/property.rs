//! The property every storage must hold: random edits do what the naive model says, and the
//! invariants of the tree hold after each of them.

use std::{collections::BTreeSet, sync::Arc};

use contexture_core::{
    ContextSystem, Edit, EditOutcome, Error, ErrorKind, Lifecycle, Operation, PageIndex,
    PageStorage, Principal, Reader, SegmentKind, Visibility,
    storage::{Content, check::check_session},
};
use futures::executor::block_on;

use crate::{
    edits::{Diet, Edits, beginning, callers},
    fixture::{TickingClock, session_id},
    model::{Model, ModelOutcome, view_of},
    state,
};

/// How often everything is compared; what an edit touched is compared after each.
const WHOLE: u64 = 10;

/// Makes random edits and compares with the model. Panics with the seed where they differ.
///
/// `open` opens the storage: at the beginning, and again, with `reopen` percent probability, after
/// an edit, when everything that held the old one has been dropped.
pub fn run(open: impl Fn() -> Arc<dyn PageStorage>, seed: u64, edits: u64, reopen: u64) -> Summary {
    let mut run = PropertyRun::begin(&open, seed, Diet { purge: true });
    for step in 0..edits {
        run.step(step);
        if run.edits.random().chance(reopen) {
            run = run.reopened(&open);
        }
    }
    run.compare_whole(edits);
    run.summary
}

/// What a run was like; a run in which everything is refused proves nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Edits that were made.
    pub made: u64,
    /// Edits that were refused, as they had to be.
    pub refused: u64,
    /// Undos that were made.
    pub undone: u64,
    /// Folds that were made.
    pub folded: u64,
    /// How often the storage was opened again.
    pub reopened: u64,
}

/// Makes an edit as a caller would.
pub async fn make(
    system: &ContextSystem,
    caller: &Principal,
    edit: Edit,
) -> Result<EditOutcome, Error> {
    system.held_by(caller.clone()).apply(edit).await
}

pub(crate) struct PropertyRun {
    pub(crate) seed: u64,
    pub(crate) system: ContextSystem,
    pub(crate) model: Model,
    pub(crate) edits: Edits,
    clock: Arc<TickingClock>,
    summary: Summary,
    /// Every index a page ever had.
    ever: BTreeSet<PageIndex>,
}

impl PropertyRun {
    pub(crate) fn begin(open: &impl Fn() -> Arc<dyn PageStorage>, seed: u64, diet: Diet) -> Self {
        let clock = TickingClock::new();
        let create = ContextSystem::create(open(), session_id(), "property", clock.clone());
        let system = block_on(create).expect("a new session");
        let edits = Edits::new(seed, diet);
        let mut run = Self {
            seed,
            system,
            model: Model::new(),
            edits,
            clock,
            summary: Summary::default(),
            ever: BTreeSet::new(),
        };
        for edit in beginning() {
            run.make(0, &Principal::System, &edit);
        }
        run
    }

    fn reopened(self, open: &impl Fn() -> Arc<dyn PageStorage>) -> Self {
        let Self { seed, system, model, edits, clock, mut summary, ever } = self;
        drop(system);
        summary.reopened += 1;
        let again = ContextSystem::open(open(), session_id(), clock.clone());
        let system = block_on(again).expect("the session was stored");
        Self { seed, system, model, edits, clock, summary, ever }
    }

    /// Makes one random edit; tells whether it was made.
    pub(crate) fn step(&mut self, step: u64) -> bool {
        let (caller, edit) = self.edits.next(&self.model);
        let made = self.make(step, &caller, &edit);
        if step.is_multiple_of(WHOLE) {
            self.compare_whole(step);
        }
        made
    }

    fn make(&mut self, step: u64, caller: &Principal, edit: &Edit) -> bool {
        let expected = self.model.apply(caller, edit);
        let real = block_on(make(&self.system, caller, edit.clone()));
        let actor = caller.actor();
        let seed = self.seed;
        let at = format!("seed {seed}, step {step}: {actor} makes {edit:?}");
        match (expected, real) {
            (Ok(expected), Ok(outcome)) => {
                self.summary.made += 1;
                self.summary.undone += u64::from(expected.undone.is_some());
                self.summary.folded += u64::from(edit.operation() == Operation::FoldPages);
                self.compare_outcome(&expected, &outcome, &at);
                self.compare_touched(&at);
                self.compare_levels(caller, &expected.pages, &at);
                true
            }
            (Err(kind), Err(error)) if error.kind() == kind => {
                self.summary.refused += 1;
                assert!(kind != ErrorKind::Corrupt && kind != ErrorKind::Unavailable, "{at}");
                false
            }
            (expected, real) => panic!("{at}\nmust be {expected:?}\nbut is  {real:?}"),
        }
    }

    fn compare_outcome(&mut self, expected: &ModelOutcome, outcome: &EditOutcome, at: &str) {
        assert_eq!(outcome.revision.0, self.model.revision(), "{at}");
        assert_eq!(outcome.moved, expected.moved, "{at}");
        assert_eq!(outcome.undone.map(|revision| revision.0), expected.undone, "{at}");
        if expected.undone.is_none() {
            assert_eq!(outcome.pages, expected.pages, "{at}");
        }
    }

    /// Compares what the edit touched: the pages, their texts, the page as readers see it.
    fn compare_touched(&mut self, at: &str) {
        let storage = self.system.storage();
        let touched = self.model.touched_last();
        let pages = block_on(storage.pages(&session_id(), &touched)).expect("pages can be read");
        for (index, page) in touched.iter().zip(pages) {
            let differs = self.model.compare_page(index, page.as_ref());
            assert!(differs.is_none(), "{at}\n{}", differs.unwrap_or_default());
            let is_new = page.as_ref().is_some_and(|page| page.version.0 == 1);
            let was_there = !self.ever.insert(index.clone());
            assert!(index.is_root() || !(is_new && was_there), "{at}\n{index} was used before");
            if let Some(detail) = page.as_ref().and_then(|page| page.detail()) {
                let content = block_on(storage.contents(&session_id(), &[detail.content]))
                    .expect("it is there");
                let content = content.into_iter().next().flatten();
                let texts: Vec<_> = content
                    .as_ref()
                    .map(Content::messages)
                    .expect("the content is there")
                    .expect("the content can be read")
                    .iter()
                    .map(|message| (message.role, message.plain_text()))
                    .collect();
                assert_eq!(texts, self.model.pages[index].texts, "{at}\n{index}");
            }
            let seen = block_on(self.system.as_system().reader().page(index));
            let present = self.model.seen(&Principal::System, index.segment()).is_some();
            let stands = present && self.model.stands(index);
            assert_eq!(seen.is_ok(), stands, "{at}\n{index} is read as {seen:?}");
        }
    }

    /// Compares at which level the caller sees the pages it acted on.
    fn compare_levels(&self, caller: &Principal, pages: &[PageIndex], at: &str) {
        let session = self.system.held_by(caller.clone());
        let reader = session.reader();
        for index in pages {
            let present = self.model.seen(caller, index.segment()).is_some();
            if present && self.model.stands(index) {
                let seen = block_on(reader.page(index)).expect("it stands in the tree").level;
                let expected = self.model.window_level(&view_of(caller), index);
                assert_eq!(seen, expected, "{at}\n{index}");
            }
        }
    }

    /// Compares everything, and checks the invariants of the tree.
    pub(crate) fn compare_whole(&self, step: u64) {
        let at = format!("seed {}, after step {step}", self.seed);
        let found = self.model.compare(&block_on(state::state(&self.system)));
        assert!(found.is_empty(), "{at}:\n{}", found.join("\n"));
        let storage = &*self.system.storage();
        let problems = block_on(check_session(storage, &session_id())).expect("it can be read");
        assert!(problems.is_empty(), "{at}:\n{}", problems.join("\n"));
        let problems = block_on(storage.verify()).expect("it can be verified");
        assert!(problems.is_empty(), "{at}:\n{}", problems.join("\n"));
        for caller in callers() {
            let session = self.system.held_by(caller.clone());
            self.compare_view(&session.reader(), &caller, &at);
        }
    }

    /// Checks that a view lists the segments it must and that every system root stands expanded.
    fn compare_view(&self, reader: &Reader<'_>, caller: &Principal, at: &str) {
        let segments = reader.segments();
        for segment in &segments {
            let seen = block_on(reader.page(&segment.root())).expect("a segment has a root");
            if segment.kind == SegmentKind::System {
                let stands = (seen.visibility, seen.lifecycle);
                assert_eq!(stands, (Visibility::Expanded, Lifecycle::Active), "{at}");
            }
            let expected = self.model.window_level(&view_of(caller), &segment.root());
            assert_eq!(seen.level, expected, "{at}: {} of {}", segment.root(), caller.actor());
        }
        let listed: BTreeSet<_> = segments.iter().map(|segment| segment.id.clone()).collect();
        let ids = self.model.segments.keys();
        let expected: BTreeSet<_> =
            ids.filter(|id| self.model.seen(caller, id).is_some()).cloned().collect();
        assert_eq!(listed, expected, "{at}: the segments {} sees", caller.actor());
    }
}
