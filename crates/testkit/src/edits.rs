//! Random edits: a cast of callers on a handful of segments, making every kind of edit, most of
//! them sensible, some refused.

mod folds;

use contexture_core::{
    Edit, Level, Message, Mounts, NewContentsPage, NewDetailPage, NewSegment, PageIndex,
    PageUpdate, Permission, Principal, Revision, SegmentId, SegmentKind, SegmentUpdate, Tokens,
    View, Visibility,
};

use crate::{
    fixture::{assistant, description, segment, user, valid},
    model::Model,
    random::Random,
};

/// Which edits are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diet {
    /// Whether pages are purged, which cannot be undone.
    pub purge: bool,
}

/// Makes random edits.
#[derive(Debug)]
pub struct Edits {
    random: Random,
    diet: Diet,
    count: u64,
    in_batch: bool,
}

const KINDS: [SegmentKind; 4] =
    [SegmentKind::System, SegmentKind::User, SegmentKind::Tool, SegmentKind::Custom];
const PERMISSIONS: [Permission; 3] =
    [Permission::ReadOnly, Permission::ReadWrite, Permission::SystemManaged];
/// Segments there are from the beginning, and some that come and go. `pub` and `pub-secure` check
/// that an owner is never found by prefix.
const SEGMENTS: [&str; 10] =
    ["usr", "tool", "free", "pub", "sys", "agent-alpha", "pub-secure", "prm", "tmp", "agent-beta"];

/// Returns the edits every random session begins with.
pub fn beginning() -> Vec<Edit> {
    use Permission::{ReadOnly, ReadWrite, SystemManaged};
    use SegmentKind::{Custom, System, Tool, User};
    let segments = [
        ("sys", System, ReadOnly),
        ("usr", User, ReadWrite),
        ("tool", Tool, ReadWrite),
        ("free", Custom, SystemManaged),
        ("prm", System, ReadWrite),
        ("pub", Custom, ReadOnly),
        ("agent-alpha", Custom, SystemManaged),
    ];
    let add = |(id, kind, permission): (&str, SegmentKind, Permission)| {
        Edit::AddSegment(NewSegment::new(segment(id), kind).permission(permission))
    };
    segments.map(add).to_vec()
}

/// Returns the cast: the system side, a user, and agents with different views.
pub fn callers() -> Vec<Principal> {
    let common = |name: &str, writes_to: &str| {
        Principal::from(View { writes_to: segment(writes_to), ..View::common(valid(name)) })
    };
    let listed = ["tool", "sys", "pub-secure"].map(segment).to_vec();
    let gamma = View {
        mounts: Mounts::Listed(listed),
        writes_to: segment("tool"),
        ..View::common(valid("gamma"))
    };
    vec![
        Principal::System,
        Principal::User(valid("anna")),
        common("alpha", "usr"),
        common("beta", "free"),
        Principal::from(gamma),
    ]
}

impl Edits {
    /// Begins the run a seed names.
    pub fn new(seed: u64, diet: Diet) -> Self {
        Self { random: Random::new(seed), diet, count: 0, in_batch: false }
    }

    /// Returns the random numbers behind it.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Makes the next edit and says who makes it.
    pub fn next(&mut self, model: &Model) -> (Principal, Edit) {
        let caller = self.random.pick(&callers()).clone();
        self.in_batch = self.random.chance(8);
        let edit = if self.in_batch {
            let count = 1 + self.random.below(4);
            Edit::Batch((0..count).map(|_| self.single(model, &caller)).collect())
        } else {
            self.single(model, &caller)
        };
        (caller, edit)
    }

    fn single(&mut self, model: &Model, caller: &Principal) -> Edit {
        self.count += 1;
        let purge = if self.diet.purge { 2 } else { 0 };
        let weights =
            [22, 8, 8, 5, 8, 9, 7, 4, 3, 3, 12, 3, 6, 6, purge, 3, 6, 1, 1, 1, 8, 3, 2, 2];
        match self.random.weighted(&weights) {
            0 => self.create_detail(model),
            1 => self.create_contents(model),
            2 => Edit::AddTurn { segment: self.turns_to(caller), messages: self.messages(true) },
            // What a batch has just moved away may be the turn it would go on with.
            3 if self.in_batch => Edit::PinPage(self.page(model)),
            3 => {
                Edit::ExtendTurn { segment: self.turns_to(caller), messages: self.messages(false) }
            }
            4 => self.update_page(model),
            5 => Edit::ExpandDetails(self.page(model)),
            6 => Edit::HideDetails(self.page(model)),
            7 => Edit::PinPage(self.page(model)),
            8 => Edit::UnpinPage(self.page(model)),
            9 => Edit::FocusPage(self.page(model)),
            10 => Edit::MovePage { page: self.page(model), to: self.directory(model) },
            11 => Edit::ArchivePage(self.page(model)),
            12 => Edit::RemovePage(self.page(model)),
            13 => self.restore(model),
            14 => Edit::PurgePage(self.archived(model)),
            15 => self.set_custom(),
            16 => self.undo(model),
            17 => self.add_segment(),
            18 => self.remove_segment(),
            19 => Edit::SetPermission {
                segment: self.segment(),
                permission: *self.random.pick(&PERMISSIONS),
            },
            20 => self.fold(model, caller),
            21 => self.publish_turn(model),
            22 => Edit::SwitchLevel(*self.random.pick(&[Level::Full, Level::Summary, Level::Gist])),
            _ => self.update_segment(),
        }
    }

    fn name(&mut self) -> String {
        let word = *self.random.pick(&["plan", "note", "任务", "result", "draft", "Ärger"]);
        format!("{word} {}", self.count)
    }

    fn segment(&mut self) -> SegmentId {
        let at = self.random.weighted(&[30, 12, 12, 4, 4, 6, 3, 4, 3, 2]);
        segment(SEGMENTS[at])
    }

    fn turns_to(&mut self, caller: &Principal) -> SegmentId {
        match caller.view() {
            Some(view) if self.random.chance(80) => view.writes_to.clone(),
            _ => self.segment(),
        }
    }

    /// Names any page that is, was or will be.
    fn any(&mut self, model: &Model) -> PageIndex {
        let segment = self.segment();
        let next = model.numbers.get(&segment).copied().unwrap_or(1);
        // Recent pages are the likelier.
        let number = match self.random.below(3) {
            0 => self.random.below(next + 1),
            _ => next.saturating_sub(self.random.below(12)),
        };
        // What a batch makes has no number yet that the same batch could name.
        let number = if self.in_batch { number.min(next - 1) } else { number };
        PageIndex::new(segment, number)
    }

    fn such(&mut self, model: &Model, wanted: impl Fn(&Model, &PageIndex) -> bool) -> PageIndex {
        let mut index = self.any(model);
        for _ in 0..12 {
            if wanted(model, &index) {
                break;
            }
            index = self.any(model);
        }
        index
    }

    fn page(&mut self, model: &Model) -> PageIndex {
        self.such(model, |model, index| model.stands(index))
    }

    fn directory(&mut self, model: &Model) -> PageIndex {
        if self.random.chance(25) {
            return self.segment().root();
        }
        self.such(model, |model, index| {
            model.stands(index) && model.pages[index].is_contents && model.above(index).len() < 6
        })
    }

    fn archived(&mut self, model: &Model) -> PageIndex {
        self.such(model, |model, index| model.pages.contains_key(index) && !model.stands(index))
    }

    fn visibility(&mut self) -> Option<Visibility> {
        *self.random.pick(&[None, None, Some(Visibility::Expanded), Some(Visibility::Hidden)])
    }

    fn create_detail(&mut self, model: &Model) -> Edit {
        let name = self.name();
        // Some texts are the same, so that contents are shared.
        let text = format!("text {}", self.random.below(40));
        let mut new = NewDetailPage::new(self.directory(model), valid(&name), text);
        new.visibility = self.visibility();
        if self.random.chance(15) {
            new.sources = vec![self.page(model)];
        }
        Edit::CreateDetailPage(new)
    }

    fn create_contents(&mut self, model: &Model) -> Edit {
        let name = self.name();
        let mut new = NewContentsPage::new(self.directory(model), valid(&name));
        new.description = description(&format!("holds {name}"));
        new.visibility = self.visibility();
        if self.random.chance(40) {
            let wanted = new.parent.segment().clone();
            let near = |model: &Model, index: &PageIndex| {
                *index.segment() == wanted && !index.is_root() && model.stands(index)
            };
            new.children = (0..1 + self.random.below(3)).map(|_| self.such(model, near)).collect();
        }
        Edit::CreateContentsPage(new)
    }

    fn publish_turn(&mut self, model: &Model) -> Edit {
        let agent: &&str = self.random.pick(&["alpha", "beta", "delta"]);
        let agent = valid(agent);
        let sources = (0..self.random.below(3)).map(|_| self.page(model)).collect();
        let segment = self.segment();
        Edit::PublishTurn { segment, agent, messages: self.messages(true), sources }
    }

    fn messages(&mut self, turn: bool) -> Vec<Message> {
        let mut messages = Vec::new();
        if turn {
            messages.push(user(&self.text()));
        }
        for _ in 0..self.random.below(4) {
            messages.push(assistant(&self.text()));
        }
        if turn && self.random.chance(20) {
            messages.push(user(&self.text()));
        }
        messages
    }

    fn text(&mut self) -> String {
        let name = self.name();
        if self.random.chance(30) {
            let much = usize::try_from(1_000 + self.random.below(4_000)).expect("it is small");
            return format!("{name}\n{}", "x".repeat(much));
        }
        format!("{name}\nand so on")
    }

    fn update_page(&mut self, model: &Model) -> Edit {
        let mut update = PageUpdate::of(self.page(model));
        let name = self.name();
        if self.random.chance(60) {
            update.name = Some(valid(&name));
        }
        if self.random.chance(40) {
            update.description = Some(description(&name));
        }
        if self.random.chance(40) {
            update.detail = Some(if self.random.chance(20) { String::new() } else { name });
        }
        Edit::UpdatePage(update)
    }

    fn restore(&mut self, model: &Model) -> Edit {
        let page = self.archived(model);
        let to = self.random.chance(30).then(|| self.directory(model));
        Edit::RestorePage { page, to }
    }

    fn set_custom(&mut self) -> Edit {
        let key: &&str = self.random.pick(&["goal", "mode", "阶段"]);
        let key = valid(key);
        let value = self.random.chance(80).then(|| format!("value {}", self.random.below(5)));
        Edit::SetCustom { key, value }
    }

    fn undo(&mut self, model: &Model) -> Edit {
        let newest = model.revision();
        let revision = match self.random.below(3) {
            0 => None,
            1 => Some(newest.saturating_sub(self.random.below(6))),
            _ => Some(self.random.below(newest + 2)),
        };
        Edit::Undo { revision: revision.map(Revision) }
    }

    fn add_segment(&mut self) -> Edit {
        let new = NewSegment::new(self.segment(), *self.random.pick(&KINDS));
        Edit::AddSegment(new.permission(*self.random.pick(&PERMISSIONS)))
    }

    fn remove_segment(&mut self) -> Edit {
        let (cascade, force) = (self.random.chance(70), self.random.chance(50));
        // The main segments stay most of the time, or nothing would ever grow.
        let id = *self.random.pick(&SEGMENTS[3..]);
        Edit::RemoveSegment { segment: segment(id), cascade, force }
    }

    fn update_segment(&mut self) -> Edit {
        let mut update = SegmentUpdate::of(self.segment());
        let name = self.name();
        if self.random.chance(50) {
            update.name = Some(valid(&name));
        }
        if self.random.chance(50) {
            update.description = Some(description(&name));
        }
        if self.random.chance(30) {
            update.permission = Some(*self.random.pick(&PERMISSIONS));
        }
        if self.random.chance(30) {
            update.capacity = Some(Tokens(self.random.below(10_000)));
        }
        Edit::UpdateSegment(update)
    }
}
