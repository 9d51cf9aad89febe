//! The memory storage is the model: the same commits give the same answers and the same state.

use std::fmt::{Debug, Write};

use contexture_core::{
    MemoryStorage, Operation, Page, PageIndex, PageStorage, Revision, Segment, SessionId,
    Visibility,
    storage::{
        Change, ChildQuery, ChunkKey, Commit, Committed, ContentHash, CustomDelta, CustomKey,
        FocusDelta, Fold, HistoryQuery, LedgerQuery, LevelDelta, LevelEntry, NumberClaim, Order,
        PageRun, PageRunForm, PageStanding, Place, PlaceClaim, ScanQuery, SegmentDelta,
        StandingFilter, StorageResult, UndoneMark, Version, ViewId,
    },
};
use futures::executor::block_on;

use crate::{
    build::{self, PROVISIONAL, Sandbox, bot, index, segment_id, session},
    windows,
};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = usize::try_from(self.roll(items.len().max(1) as u64)).unwrap();
        items.get(at)
    }
}

/// What the next change is decided from.
struct StoredState {
    session: SessionId,
    segments: Vec<Segment>,
    pages: Vec<Page>,
    history: Vec<contexture_core::HistoryEntry>,
    next_place: u64,
}

impl StoredState {
    fn of(storage: &dyn PageStorage, session: &SessionId) -> Self {
        block_on(async {
            let segments = storage.segments(session).await.unwrap();
            let mut pages = Vec::new();
            for segment in &segments {
                let (segment, standing) = (segment.id.clone(), StandingFilter::Any);
                let query = ScanQuery { segment, standing, after: None, limit: usize::MAX };
                pages.extend(storage.scan(session, &query).await.unwrap());
            }
            let query = HistoryQuery { limit: usize::MAX, ..HistoryQuery::default() };
            let history = storage.history(session, &query).await.unwrap();
            let info = storage.session(session).await.unwrap();
            let next_place = info.map_or(1, |info| info.next_place.0);
            Self { session: session.clone(), segments, pages, history, next_place }
        })
    }

    fn next(&self, dice: &mut Dice, step: u64) -> Change {
        let mut change = match dice.roll(16) {
            0 => self.add_segment(dice, step),
            1..=4 => self.append(dice, step),
            5 | 6 => self.rewrite(dice, step),
            7 => self.relocate(dice),
            8 => self.stand(dice),
            9 => self.remove(dice, false),
            10 => self.remove(dice, true),
            11 => self.levels(dice),
            12 => self.focus(dice),
            13 => self.custom(dice, step),
            14 => self.mark(dice),
            _ => self.update_segment(dice),
        };
        change.at = build::at(i64::try_from(step).unwrap());
        change.actor = ["bot", "system", "critic"][dice.roll(3) as usize].parse().unwrap();
        if dice.roll(8) == 0 {
            self.disturb(dice, &mut change);
        }
        change
    }

    fn add_segment(&self, dice: &mut Dice, step: u64) -> Change {
        let id = format!("s{step}");
        let mut change = build::add_segment(&id, dice.roll(3));
        if dice.roll(2) == 0 {
            // A loaded segment brings pages with numbers of their own.
            let page = build::directory(&format!("{id}-40"), Some(&format!("{id}-0")), 1);
            let place = change.places.first.next();
            change.pages.push(build::put(None, Page { place, ..page }));
            change.places.count += 1;
            change.floors.push((segment_id(&id), 41));
        }
        change
    }

    fn directories(&self) -> Vec<&Page> {
        self.pages.iter().filter(|page| page.is_contents() && page.standing.is_listed()).collect()
    }

    fn append(&self, dice: &mut Dice, step: u64) -> Change {
        let directories = self.directories();
        let Some(parent) = dice.pick(&directories) else { return self.custom(dice, step) };
        let id = parent.index.segment();
        let segment = self.segments.iter().find(|segment| segment.id == *id).unwrap();
        let mut change = build::change(Operation::AddTurn);
        // Guesses that are right are as good as provisional numbers.
        let guess = dice.roll(2) == 0;
        let first = if guess { segment.next_number } else { PROVISIONAL };
        let place = if guess { self.next_place } else { PROVISIONAL };
        let count = dice.roll(3) + 1;
        for at in 0..count {
            let page = PageIndex::new(id.clone(), first + at).to_string();
            let under = parent.index.to_string();
            let mut page = if dice.roll(3) == 0 {
                build::directory(&page, Some(&under), place + at)
            } else {
                // Few different texts, so that contents are shared; long ones are compressed.
                let text =
                    format!("text {} ", dice.roll(12)).repeat(1 + 80 * dice.roll(2) as usize);
                let content = build::content(&text);
                let leaf = build::leaf(&page, &under, place + at, &content);
                change.contents.push(content);
                leaf
            };
            page.turn = (dice.roll(2) == 0).then(|| PageIndex::new(id.clone(), first));
            page.author = if dice.roll(2) == 0 { bot() } else { "system".parse().unwrap() };
            change.subjects.push(page.index.clone());
            change.pages.push(build::put(None, page));
        }
        change.numbers.push(NumberClaim { segment: id.clone(), first, count });
        change.places = PlaceClaim { first: Place(place), count };
        change.basis.pages.push((parent.index.clone(), Some(parent.version)));
        change
    }

    fn edit(&self, dice: &mut Dice, edit: impl FnOnce(&mut Page)) -> Change {
        let mut change = build::change(Operation::UpdatePage);
        if let Some(page) = dice.pick(&self.pages) {
            let mut after = page.clone();
            edit(&mut after);
            after.version = page.version.next();
            change.basis.pages.push((page.index.clone(), Some(page.version)));
            change.pages.push(build::put(Some(page.clone()), after));
        }
        change
    }

    fn rewrite(&self, dice: &mut Dice, step: u64) -> Change {
        let content = build::content(&format!("text {}", dice.roll(12)));
        let mut change = self.edit(dice, |page| {
            page.name = format!("名 {step}").parse().unwrap();
            if !page.is_contents() {
                page.body = build::leaf("x-1", "x-0", 1, &content).body;
            }
        });
        change.contents.push(content);
        change
    }

    fn relocate(&self, dice: &mut Dice) -> Change {
        let place = Place(PROVISIONAL);
        let mut change = self.edit(dice, |page| page.place = place);
        change.places = PlaceClaim { first: place, count: 1 };
        change
    }

    fn stand(&self, dice: &mut Dice) -> Change {
        let standing = [
            PageStanding::InTree,
            PageStanding::HotArchived,
            PageStanding::ColdArchived,
            PageStanding::Moved(index("usr-7")),
        ][dice.roll(4) as usize]
            .clone();
        self.edit(dice, |page| page.standing = standing)
    }

    fn remove(&self, dice: &mut Dice, purge: bool) -> Change {
        let mut change = build::change(Operation::PurgePage);
        for _ in 0..=dice.roll(2) {
            if let Some(page) = dice.pick(&self.pages).filter(|page| !page.index.is_root())
                && !change.pages.iter().any(|delta| delta.index == page.index)
            {
                change.pages.push(build::take(page.clone()));
            }
        }
        change.purge = purge;
        change
    }

    fn levels(&self, dice: &mut Dice) -> Change {
        let mut change = build::change(Operation::FoldPages);
        for _ in 0..dice.roll(4) {
            let Some(page) = dice.pick(&self.pages) else { continue };
            let view: ViewId = ["bot", "system", "zed"][dice.roll(3) as usize].parse().unwrap();
            let shown = [None, Some(Visibility::Hidden), Some(Visibility::Expanded)];
            let pinned = [None, Some(true)];
            let fold = [None, Some(Fold::Gist), Some(Fold::Trimmed)];
            let after = LevelEntry {
                shown: shown[dice.roll(3) as usize],
                pinned: pinned[dice.roll(2) as usize],
                held: (page.index.number() % 2 == 0).then_some(3),
                fold: fold[dice.roll(3) as usize],
                runs: (0..dice.roll(3)).map(|_| run(dice, page)).collect(),
            };
            let (page, before) = (page.index.clone(), LevelEntry::default());
            change.levels.push(LevelDelta { view, page, before, after });
        }
        change
    }

    fn focus(&self, dice: &mut Dice) -> Change {
        let mut change = build::change(Operation::FocusPage);
        let view: ViewId = ["bot", "system"][dice.roll(2) as usize].parse().unwrap();
        let after = dice.pick(&self.pages).map(|page| page.index.clone());
        let after = after.filter(|_| dice.roll(3) > 0);
        change.focus.push(FocusDelta { view, before: None, after });
        change
    }

    fn custom(&self, dice: &mut Dice, step: u64) -> Change {
        let mut change = build::change(Operation::SetCustom);
        let key: CustomKey = format!("键 {}", dice.roll(5)).parse().unwrap();
        let after = (dice.roll(3) > 0).then(|| format!("value\n{step}"));
        change.custom.push(CustomDelta { key, before: None, after });
        change
    }

    fn mark(&self, dice: &mut Dice) -> Change {
        let mut change = build::change(Operation::Undo);
        if let Some(entry) = dice.pick(&self.history) {
            let undone = dice.roll(2) == 0;
            let (revision, before) = (entry.revision, entry.undone_by);
            change.marks.push(UndoneMark { revision, before, undone });
            change.undoes = Some(entry.revision);
        }
        change
    }

    fn update_segment(&self, dice: &mut Dice) -> Change {
        let mut change = build::change(Operation::UpdateSegment);
        if let Some(before) = dice.pick(&self.segments) {
            let mut after = before.clone();
            after.ordinal = dice.roll(5);
            after.version = before.version.next();
            after.next_number = 0;
            change.basis.segments.push((before.id.clone(), Some(before.version)));
            change.segments.push(SegmentDelta {
                before: Some(before.clone()),
                after,
                restores: None,
            });
        }
        change
    }

    /// Bases the change on something that may have moved.
    fn disturb(&self, dice: &mut Dice, change: &mut Change) {
        let Some(page) = dice.pick(&self.pages) else { return };
        let view: ViewId = "bot".parse().unwrap();
        let basis = &mut change.basis;
        match dice.roll(8) {
            7 => basis.standing.push((page.index.clone(), Some(page.index.segment().root()))),
            0 => basis.pages.push((page.index.clone(), Some(Version(dice.roll(3))))),
            1 => basis.pages.push((index("usr-18446744073709551615"), None)),
            2 => basis.segments.push((page.index.segment().clone(), Some(Version(1)))),
            3 => basis.lists.push((page.index.clone(), None)),
            4 => basis.levels.push((view, page.index.clone(), LevelEntry::default())),
            5 => basis.focus.push((view, None)),
            _ => basis.custom.push(("键 1".parse().unwrap(), None)),
        }
    }
}

/// Everything a storage answers, as text.
fn dump(storage: &dyn PageStorage, state: &StoredState) -> String {
    let mut text = String::new();
    let name = &state.session;
    block_on(async {
        let mut after = None;
        loop {
            let batch = storage.sessions(after.as_ref(), 2).await.unwrap();
            let Some(last) = batch.last() else { break };
            after = Some(last.id.clone());
            line(&mut text, "sessions", &batch);
        }
        line(&mut text, "session", &storage.session(name).await.unwrap());
        line(&mut text, "segments", &storage.segments(name).await.unwrap());
        let mut indices: Vec<PageIndex> =
            state.pages.iter().map(|page| page.index.clone()).collect();
        indices.extend([index("usr-18446744073709551615"), index("nowhere-1"), index("usr-0")]);
        line(&mut text, "pages", &storage.pages(name, &indices).await.unwrap());
        for parent in &indices {
            line(&mut text, "count", &storage.child_count(name, parent).await.unwrap());
            line(&mut text, "last", &storage.last_place(name, parent).await.unwrap());
            for standing in FILTERS {
                for order in [Order::Forward, Order::Backward] {
                    for (after, limit) in [(None, usize::MAX), (Some(Place(9)), 3), (None, 0)] {
                        let parent = parent.clone();
                        let query = ChildQuery { parent, standing, order, after, limit };
                        let children = storage.children(name, &query).await.unwrap();
                        let children: Vec<_> = children.iter().map(|page| &page.index).collect();
                        line(&mut text, "children", &children);
                    }
                }
            }
        }
        let segments = state.segments.iter().map(|segment| segment.id.clone());
        for segment in segments.chain([segment_id("nowhere")]) {
            for standing in FILTERS {
                for (after, limit) in [(None, usize::MAX), (Some(2), 2), (Some(u64::MAX), 5)] {
                    let query = ScanQuery { segment: segment.clone(), standing, after, limit };
                    line(&mut text, "scan", &storage.scan(name, &query).await.unwrap());
                }
            }
            for author in ["bot", "system", "nobody"] {
                let author = author.parse().unwrap();
                let page = storage.last_turn_page(name, &segment, &author).await.unwrap();
                line(&mut text, "turn", &page);
            }
            let views = ["bot", "system", "zed"].map(|view| view.parse::<ViewId>().unwrap());
            let keys = views.map(|view| ChunkKey { view, segment: segment.clone(), chunk: 0 });
            line(&mut text, "levels", &storage.levels(name, &keys).await.unwrap());
        }
        let texts = (0..12).flat_map(|number| {
            let text = format!("text {number}");
            [text.clone(), format!("{text} "), format!("{text} ").repeat(81)]
        });
        let hashes: Vec<ContentHash> = texts.map(|text| build::content(&text).hash()).collect();
        let contents = storage.contents(name, &hashes).await.unwrap();
        let contents: Vec<_> =
            contents.iter().map(|content| content.as_ref().map(|c| c.bytes())).collect();
        line(&mut text, "contents", &contents);
        line(&mut text, "views", &storage.views(name).await.unwrap());
        line(&mut text, "custom", &storage.custom(name).await.unwrap());
        for (upto, limit) in [(None, usize::MAX), (Some(4), 2)] {
            let query = LedgerQuery { upto, limit };
            let records = storage.ledger(name, &build::ledger("bot"), &query).await.unwrap();
            line(&mut text, "ledger", &records);
        }
        for actor in [None, Some("bot"), Some("system")] {
            for undoable in [false, true] {
                for (before, after) in [(None, None), (Some(Revision(9)), Some(Revision(2)))] {
                    let actor = actor.map(|actor| actor.parse().unwrap());
                    for order in [Order::Backward, Order::Forward] {
                        let actor = actor.clone();
                        let query =
                            HistoryQuery { before, after, actor, undoable, order, limit: 30 };
                        line(&mut text, "history", &storage.history(name, &query).await.unwrap());
                    }
                }
            }
        }
    });
    text
}

const FILTERS: [StandingFilter; 3] =
    [StandingFilter::Listed, StandingFilter::ColdArchived, StandingFilter::Any];

fn line(text: &mut String, what: &str, value: &impl Debug) {
    writeln!(text, "{what}: {value:?}").unwrap();
}

/// A run that stands for a page and those behind it.
fn run(dice: &mut Dice, page: &Page) -> PageRun {
    PageRun {
        first: page.place,
        last: Place(page.place.0 + dice.roll(5)),
        from: page.index.clone(),
        to: page.index.clone(),
        pages: dice.roll(5),
        messages: 0,
        calls: 0,
        requests: Vec::new(),
        filter: Default::default(),
        form: [PageRunForm::Line, PageRunForm::Gist, PageRunForm::Out][dice.roll(3) as usize],
        cited: Vec::new(),
        apart: (0..dice.roll(2)).map(|_| page.index.clone()).collect(),
    }
}

fn answer(result: StorageResult<Committed>) -> String {
    match result {
        Ok(committed) => format!("{committed:?}"),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

#[test]
fn the_same_commits_give_the_same_answers_and_state() {
    for seed in 1..=4 {
        let (sandbox, memory) = (Sandbox::new(), MemoryStorage::new());
        let mut sqlite = sandbox.open();
        let mut dice = Dice(seed);
        let names = [session("one"), session("two")];
        let mut conflicts = 0;
        for step in 0..400 {
            let name = dice.pick(&names).unwrap();
            let state = StoredState::of(&memory, name);
            let commit = match dice.roll(40) {
                0 => Commit { create: Some(build::new_session()), change: None },
                _ if state.next_place == 1 => Commit {
                    create: Some(build::new_session()),
                    change: Some(build::add_segment("usr", 1)),
                },
                _ => Commit { create: None, change: Some(state.next(&mut dice, step)) },
            };
            let expected = answer(block_on(memory.commit(name, commit.clone())));
            conflicts += usize::from(expected.starts_with("Conflict"));
            assert_eq!(answer(block_on(sqlite.commit(name, commit))), expected, "step {step}");
            if step % 3 == 0 {
                let expected = windows::send(&memory, name, step);
                assert_eq!(windows::send(&sqlite, name, step), expected, "step {step}");
            }
            if step % 150 == 149 {
                let removed = block_on(memory.remove_session(&names[1])).unwrap();
                assert_eq!(block_on(sqlite.remove_session(&names[1])).unwrap(), removed);
            }
            if step % 20 == 0 {
                let state = StoredState::of(&memory, name);
                similar(&dump(&sqlite, &state), &dump(&memory, &state));
                build::assert_sound(&memory);
                build::assert_sound(&sqlite);
            }
            if step % 100 == 50 {
                drop(sqlite);
                sqlite = sandbox.open();
            }
        }
        assert!(conflicts > 5, "only {conflicts} conflicts were tried");
        for name in &names {
            let state = StoredState::of(&memory, name);
            similar(&dump(&sqlite, &state), &dump(&memory, &state));
        }
    }
}

fn similar(ours: &str, expected: &str) {
    for (ours, expected) in ours.lines().zip(expected.lines()) {
        assert_eq!(ours, expected);
    }
    assert_eq!(ours.lines().count(), expected.lines().count());
}

#[test]
fn a_missing_session_reads_as_empty() {
    let (sandbox, memory) = (Sandbox::new(), MemoryStorage::new());
    let sqlite = sandbox.open();
    let state = StoredState::of(&memory, &session("nobody"));
    similar(&dump(&sqlite, &state), &dump(&memory, &state));
    assert!(!block_on(sqlite.remove_session(&session("nobody"))).unwrap());
}

#[test]
fn it_says_what_it_is() {
    let sandbox = Sandbox::new();
    let capabilities = sandbox.open().capabilities();
    assert_eq!(
        (capabilities.name, capabilities.durable, capabilities.shared),
        ("sqlite", true, true)
    );
}

// Numbers that SQLite cannot hold are refused by name, and nothing changes.
#[test]
fn numbers_beyond_sqlite_are_refused() {
    let sandbox = Sandbox::new();
    let sqlite = sandbox.open();
    build::init(&sqlite, "s");
    let state = StoredState::of(&sqlite, &session("s"));
    let before = dump(&sqlite, &state);
    let mut change = build::change(Operation::Load);
    let page = build::directory("usr-9223372036854775808", Some("usr-0"), 5);
    change.pages.push(build::put(None, page));
    let error = build::commit(&sqlite, "s", change).unwrap_err().to_string();
    assert!(error.contains("9223372036854775808"), "{error}");
    let mut change = build::change(Operation::Load);
    change.places.count = u64::MAX;
    assert!(build::commit(&sqlite, "s", change).is_err());
    similar(&dump(&sqlite, &state), &before);
    build::commit(&sqlite, "s", build::append("usr", "still fine")).unwrap();
    build::assert_sound(&sqlite);
}
