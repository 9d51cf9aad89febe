//! Conflicts: exactly where what was read has moved, whatever else moves.

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, Edit, NewSegment, PageIndex, PageStorage, PageUpdate, Permission,
    Revision, SegmentKind, SegmentUpdate, SessionId, Timestamp, View,
    storage::{Change, ChunkKey, Fold, LevelEntry, RunPut, StorageError, UndoneMark, ViewId},
    window::{FoldPlan, FoldReport, FoldStep},
};

use super::{change, commit, dump, stored};
use crate::fixture::{
    BEGIN, TickingClock, add_segment, apply, directory, leaf, new_leaf, page, segment, valid,
};

/// What a change can be based on. Each kind has a subject of its own: `usr-2` is the page read,
/// `usr-3` the page that must stand where it stands, `usr-1` the list, `usr-4` and `usr-5` places to
/// move `usr-3` to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Page,
    Absent,
    Standing,
    Segment,
    List,
    Level,
    Focus,
    Custom,
    Mark,
    Run,
}

const KINDS: [Kind; 10] = [
    Kind::Page,
    Kind::Absent,
    Kind::Standing,
    Kind::Segment,
    Kind::List,
    Kind::Level,
    Kind::Focus,
    Kind::Custom,
    Kind::Mark,
    Kind::Run,
];

struct Scene {
    storage: Arc<dyn PageStorage>,
    id: SessionId,
    system: ContextSystem,
    helper: AgentContext,
    /// An edit that can be undone, and redone, and undone.
    marked: Revision,
}

impl Scene {
    async fn new(storage: &Arc<dyn PageStorage>, name: &str) -> Self {
        let (storage, id): (_, SessionId) = (storage.clone(), valid(name));
        let clock = TickingClock::new();
        let made = ContextSystem::create(storage.clone(), id.clone(), "testkit", clock).await;
        let system = made.expect("a new session");
        add_segment(&system, "usr", SegmentKind::User, Permission::ReadWrite).await;
        add_segment(&system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
        directory(&system, "usr-0", "list").await; // usr-1
        leaf(&system, "usr-0", "read").await; // usr-2
        leaf(&system, "usr-0", "stands").await; // usr-3
        directory(&system, "usr-0", "here").await; // usr-4
        directory(&system, "usr-0", "there").await; // usr-5
        leaf(&system, "usr-1", "listed").await; // usr-6
        apply(&system, custom("goal", Some("0"))).await;
        let helper = AgentContext::new(system.clone(), View::common(valid("helper")));
        helper.pin_page("usr-2").await.expect("it may");
        helper.focus_page("usr-2").await.expect("it may");
        let marked = apply(&system, custom("marked", Some("x"))).await.revision;
        let run = RunPut::first(valid("run"), "{}", Timestamp::from_millis(BEGIN));
        system.keep_run(&run).await.expect("there is none");
        Self { storage, id, system, helper, marked }
    }

    async fn parent(&self, index: &str) -> Option<PageIndex> {
        stored(&*self.storage, &self.id, index).await.parent
    }

    async fn next_number(&self, id: &str) -> u64 {
        let segments = self.storage.segments(&self.id).await.expect("reads");
        segments.iter().find(|segment| segment.id.as_str() == id).expect("it is there").next_number
    }

    async fn run(&self) -> contexture_core::storage::RunRecord {
        self.storage.runs(&self.id, "run").await.expect("reads").remove(0)
    }

    async fn undone_by(&self) -> Option<Revision> {
        let query = contexture_core::storage::HistoryQuery {
            before: Some(self.marked.next()),
            limit: 1,
            ..Default::default()
        };
        self.storage.history(&self.id, &query).await.expect("reads")[0].undone_by
    }

    /// Returns a change that does nothing and is based on one thing as it is now.
    async fn based(&self, kind: Kind) -> Change {
        let (storage, id) = (&*self.storage, &self.id);
        let mut based = change();
        let basis = &mut based.basis;
        match kind {
            Kind::Page => {
                let version = stored(storage, id, "usr-2").await.version;
                basis.pages.push((page("usr-2"), Some(version)));
            }
            Kind::Absent => {
                let next = PageIndex::new(segment("oth"), self.next_number("oth").await);
                basis.pages.push((next, None));
            }
            Kind::Standing => basis.standing.push((page("usr-3"), self.parent("usr-3").await)),
            Kind::Segment => {
                let segments = storage.segments(id).await.expect("reads");
                let usr = segments.into_iter().find(|segment| segment.id.as_str() == "usr");
                basis.segments.push((segment("usr"), usr.map(|usr| usr.version)));
            }
            Kind::List => {
                let last = storage.last_place(id, &page("usr-1")).await.expect("reads");
                basis.lists.push((page("usr-1"), last));
            }
            Kind::Level => {
                let keys = [ChunkKey::of(&valid("helper"), &page("usr-2"))];
                let entry = storage.levels(id, &keys).await.expect("reads")[0].entry(2);
                basis.levels.push((valid("helper"), page("usr-2"), entry));
            }
            Kind::Focus => {
                let views = storage.views(id).await.expect("reads");
                let head = views.into_iter().find(|head| head.view == valid::<ViewId>("helper"));
                basis.focus.push((valid("helper"), head.and_then(|head| head.focus)));
            }
            Kind::Custom => {
                let custom = storage.custom(id).await.expect("reads");
                let goal = custom.into_iter().find(|(key, _)| key.as_str() == "goal");
                basis.custom.push((valid("goal"), goal.map(|(_, value)| value)));
            }
            Kind::Mark => {
                let (revision, before) = (self.marked, self.undone_by().await);
                // As an undo, or a redo, of it would.
                let undone = before.is_none();
                based.marks.push(UndoneMark { revision, before, undone });
            }
            Kind::Run => {
                based.runs.push(self.run().await.next("[]", Timestamp::from_millis(BEGIN)));
            }
        }
        based
    }

    /// Moves what a kind is about, each round to something else.
    async fn moves(&self, kind: Kind, round: usize) {
        let edit = match kind {
            Kind::Page => rename("usr-2", &format!("round {round}")),
            Kind::Absent => new_leaf("oth-0", "absent no more"),
            Kind::Standing => {
                let here = self.parent("usr-3").await == Some(page("usr-4"));
                let to = page(if here { "usr-5" } else { "usr-4" });
                Edit::MovePage { page: page("usr-3"), to }
            }
            Kind::Segment => {
                let mut update = SegmentUpdate::of(segment("usr"));
                update.name = Some(valid(&format!("round {round}")));
                Edit::UpdateSegment(update)
            }
            Kind::List => new_leaf("usr-1", "one more"),
            Kind::Level => {
                let pinned = self.based(Kind::Level).await.basis.levels.remove(0).2.pinned;
                let page = page("usr-2");
                let edit = match pinned {
                    Some(true) => Edit::UnpinPage(page),
                    _ => Edit::PinPage(page),
                };
                self.helper.apply(edit).await.expect("it may");
                return;
            }
            Kind::Focus => {
                let focus = self.based(Kind::Focus).await.basis.focus.remove(0).1;
                let to = if focus == Some(page("usr-2")) { "usr-6" } else { "usr-2" };
                self.helper.focus_page(to).await.expect("it may");
                return;
            }
            Kind::Custom => custom("goal", Some(&format!("round {round}"))),
            Kind::Mark => {
                let undo = self.undone_by().await.unwrap_or(self.marked);
                Edit::Undo { revision: Some(undo) }
            }
            Kind::Run => {
                let next = self.run().await.next(format!("{round}"), Timestamp::from_millis(BEGIN));
                self.system.keep_run(&next).await.expect("it is at that version");
                return;
            }
        };
        apply(&self.system, edit).await;
    }

    /// Commits what was based; tells whether it conflicted, and that nothing has changed then.
    async fn conflicts(&self, based: Change) -> bool {
        let before = dump(&*self.storage, &self.id).await;
        match commit(&*self.storage, &self.id, based).await {
            Ok(_) => false,
            Err(StorageError::Conflict { .. } | StorageError::RunMoved { .. }) => {
                assert_eq!(dump(&*self.storage, &self.id).await, before, "it did something");
                true
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn custom(key: &str, value: Option<&str>) -> Edit {
    Edit::SetCustom { key: valid(key), value: value.map(str::to_owned) }
}

fn rename(index: &str, name: &str) -> Edit {
    let mut update = PageUpdate::of(page(index));
    update.name = Some(valid(name));
    Edit::UpdatePage(update)
}

/// Moves that are near to what is read, and none of it.
fn near_misses() -> Vec<Edit> {
    let mut other = SegmentUpdate::of(segment("oth"));
    other.name = Some(valid("another"));
    vec![
        // The list's directory, the places to move to and the root get other names.
        rename("usr-1", "list renamed"),
        rename("usr-0", "root renamed"),
        // What stands may be renamed and shown differently where it stands.
        rename("usr-3", "stands renamed"),
        Edit::PinPage(page("usr-3")),
        // The same page in another view, and another page that shares its chunk.
        Edit::PinPage(page("usr-2")),
        Edit::FocusPage(page("usr-6")),
        // Another segment, another key, another page.
        Edit::UpdateSegment(other),
        custom("goals", Some("1")),
        custom("goa", Some("1")),
        rename("usr-6", "listed renamed"),
        // A list's end does not go back when something leaves it.
        Edit::RemovePage(page("usr-6")),
        Edit::RestorePage { page: page("usr-6"), to: None },
        // Numbers taken in the segment are not a change of the segment.
        new_leaf("usr-0", "unrelated"),
        Edit::AddTurn { segment: segment("usr"), messages: vec![crate::fixture::user("hello")] },
    ]
}

pub(super) async fn what_moved_conflicts_and_nothing_else(storage: Arc<dyn PageStorage>) {
    let scene = Scene::new(&storage, "matrix").await;
    let mut round = 0;
    for read in KINDS {
        for moved in KINDS {
            round += 1;
            let based = scene.based(read).await;
            scene.moves(moved, round).await;
            let conflicts = scene.conflicts(based).await;
            assert_eq!(conflicts, read == moved, "{read:?} was read, {moved:?} moved");
        }
        // Read again, it holds.
        assert!(!scene.conflicts(scene.based(read).await).await, "{read:?} was read again");
    }
    for read in KINDS {
        let scene = Scene::new(&storage, &format!("near-{read:?}")).await;
        let based = scene.based(read).await;
        for edit in near_misses() {
            apply(&scene.system, edit).await;
        }
        let another = RunPut::first(valid("run/2"), "{}", Timestamp::from_millis(BEGIN));
        scene.system.keep_run(&another).await.expect("there is none");
        scene.helper.pin_page("usr-6").await.expect("it may");
        assert!(!scene.conflicts(based).await, "{read:?} was read, others moved");
    }
}

pub(super) async fn every_kind_of_move_is_seen(storage: Arc<dyn PageStorage>) {
    let fold = |before: LevelEntry| {
        let after = LevelEntry { fold: Some(Fold::Gist), ..before.clone() };
        let steps = vec![FoldStep { page: page("usr-2"), before, after }];
        Edit::FoldPages(FoldPlan { steps, report: FoldReport::default() })
    };
    let pinned = LevelEntry { pinned: Some(true), ..LevelEntry::default() };
    let mut text = PageUpdate::of(page("usr-2"));
    text.detail = Some("another text".to_owned());
    let remove = |force| Edit::RemoveSegment { segment: segment("usr"), cascade: true, force };
    let permission = Permission::ReadOnly;
    let add = Edit::AddSegment(NewSegment::new(segment("usr"), SegmentKind::User));
    let by_helper = true;
    let cases: Vec<(Kind, bool, Vec<Edit>, bool)> = vec![
        (Kind::Page, false, vec![Edit::UpdatePage(text)], true),
        (Kind::Page, false, vec![Edit::ArchivePage(page("usr-2"))], true),
        (Kind::Page, false, vec![Edit::RemovePage(page("usr-2"))], true),
        (Kind::Page, false, vec![Edit::PurgePage(page("usr-2"))], true),
        (Kind::Page, false, vec![Edit::MovePage { page: page("usr-2"), to: page("usr-4") }], true),
        (Kind::Page, false, vec![Edit::MovePage { page: page("usr-2"), to: page("oth-0") }], true),
        // Even what came back to what it was has been somewhere else.
        (Kind::Page, false, vec![rename("usr-2", "a"), Edit::Undo { revision: None }], true),
        (Kind::Standing, false, vec![Edit::RemovePage(page("usr-3"))], true),
        (Kind::Standing, false, vec![Edit::PurgePage(page("usr-3"))], true),
        (
            Kind::Standing,
            false,
            vec![Edit::MovePage { page: page("usr-3"), to: page("oth-0") }],
            true,
        ),
        (Kind::Standing, false, vec![Edit::ArchivePage(page("usr-3"))], false),
        (
            Kind::Segment,
            false,
            vec![Edit::SetPermission { segment: segment("usr"), permission }],
            true,
        ),
        (Kind::Segment, false, vec![remove(false)], true),
        (Kind::Segment, false, vec![remove(false), add], true),
        (Kind::List, false, vec![Edit::MovePage { page: page("usr-2"), to: page("usr-1") }], true),
        (Kind::List, false, vec![Edit::PurgePage(page("usr-6"))], true),
        (Kind::List, false, vec![Edit::ArchivePage(page("usr-6"))], false),
        (Kind::Level, by_helper, vec![Edit::HideDetails(page("usr-2"))], true),
        (Kind::Level, by_helper, vec![Edit::ExpandDetails(page("usr-2"))], true),
        (
            Kind::Level,
            by_helper,
            vec![
                Edit::UnpinPage(page("usr-2")),
                fold(LevelEntry { pinned: Some(false), ..pinned }),
            ],
            true,
        ),
        (Kind::Custom, false, vec![custom("goal", None)], true),
        (Kind::Custom, false, vec![custom("goal", Some(""))], true),
        (Kind::Custom, false, vec![custom("goal", Some("1")), custom("goal", Some("0"))], false),
    ];
    for (at, (read, by_helper, edits, expected)) in cases.into_iter().enumerate() {
        let scene = Scene::new(&storage, &format!("case-{at}")).await;
        let based = scene.based(read).await;
        let made = format!("{edits:?}");
        for edit in edits {
            if by_helper {
                scene.helper.apply(edit).await.unwrap_or_else(|error| panic!("{made}: {error}"));
            } else {
                apply(&scene.system, edit).await;
            }
        }
        assert_eq!(scene.conflicts(based).await, expected, "{read:?} was read, then {made}");
    }
}
