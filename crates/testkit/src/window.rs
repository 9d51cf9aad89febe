//! Random sessions for tests of windows: views that overlap, segments nobody may see, every kind of
//! page, and every edit that moves something in a window.

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, Edit, EditOutcome, Error, ErrorKind, Format, ListQuery,
    MemoryStorage, Message, Mounts, NewContentsPage, NewDetailPage, NewSegment, PageIndex,
    PageStorage, PageUpdate, PageView, Permission, SegmentKind, SegmentUpdate, TokenCounter,
    Tokens, View, WindowOptions, storage::CustomKey,
};
use futures::executor::block_on;

use crate::{
    fixture::{
        TickingClock, apply, assistant, calls, page, returned, segment, session_id, user, valid,
    },
    random::Random,
};

/// A word that stands in every name and text of what no agent of a [`World`] may see.
pub const SECRET: &str = "xyzzyplugh";

/// Counts one token for every four bytes begun.
#[derive(Debug, Clone, Copy, Default)]
pub struct FourBytes;

impl TokenCounter for FourBytes {
    fn name(&self) -> &str {
        "four-bytes"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens((text.len() as u64).div_ceil(4))
    }
}

/// Counts words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(text.split_whitespace().count() as u64)
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// Asks for a window in a format, counted by [`FourBytes`].
pub fn options(format: Format) -> WindowOptions {
    WindowOptions::new(format, Arc::new(FourBytes))
}

/// A random session with three agents, and the numbers that drive it.
#[allow(missing_debug_implementations)]
pub struct World {
    /// The random numbers.
    pub random: Random,
    /// Where it is stored.
    pub storage: Arc<dyn PageStorage>,
    /// The session.
    pub system: ContextSystem,
    /// Its agents: two with lists, one with the common view.
    pub agents: Vec<AgentContext>,
    count: u64,
}

const TALK: [&str; 3] = ["usr", "tool", "free"];

impl World {
    /// Begins the session a seed names.
    pub fn new(seed: u64) -> Self {
        let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
        let create =
            ContextSystem::create(storage.clone(), session_id(), "world", TickingClock::new());
        let system = block_on(create).expect("a new session");
        let mut world =
            Self { random: Random::new(seed), storage, system, agents: Vec::new(), count: 0 };
        block_on(world.begin());
        world.agents = world.agents_on(&world.system);
        for _ in 0..world.random.below(30) {
            let agent = world.agent();
            world.append(&agent);
        }
        world
    }

    async fn begin(&mut self) {
        let hidden = format!("agent-{SECRET}");
        let segments = [
            ("sys", SegmentKind::System, Permission::ReadOnly),
            ("usr", SegmentKind::User, Permission::ReadWrite),
            ("tool", SegmentKind::Tool, Permission::ReadWrite),
            (&*hidden, SegmentKind::Custom, Permission::SystemManaged),
            ("free", SegmentKind::Custom, Permission::SystemManaged),
        ];
        for (id, kind, permission) in segments {
            let mut new = NewSegment::new(segment(id), kind).permission(permission);
            if id == hidden {
                new.description = valid(&format!("about {SECRET}"));
            }
            if kind != SegmentKind::System && self.random.chance(25) {
                new.capacity = Tokens(300 + self.random.below(2_500));
            }
            apply(&self.system, Edit::AddSegment(new)).await;
        }
        for number in 0..1 + self.random.below(2) {
            let text = format!("Rule {number}: {}", self.prose(120));
            let new = NewDetailPage::new(page("sys-0"), valid(&format!("Rule {number}")), text);
            apply(&self.system, Edit::CreateDetailPage(new)).await;
        }
        self.hidden_note().await;
    }

    /// Returns the agents as they stand before another instance of the session.
    pub fn agents_on(&self, system: &ContextSystem) -> Vec<AgentContext> {
        let listed = |name: &str, ids: &[&str], writes_to: &str| View {
            mounts: Mounts::Listed(ids.iter().map(|id| segment(id)).collect()),
            writes_to: segment(writes_to),
            ..View::common(valid(name))
        };
        let views = [
            View::common(valid("alpha")),
            listed("beta", &["tool", "sys", "usr"], "usr"),
            listed("gamma", &["free", "sys"], "free"),
        ];
        views.map(|view| AgentContext::new(system.clone(), view)).to_vec()
    }

    /// Opens the session again, with nothing in memory.
    pub fn cold(&self) -> ContextSystem {
        let open = ContextSystem::open(self.storage.clone(), session_id(), TickingClock::new());
        block_on(open).expect("the session exists")
    }

    /// Returns words; about as many bytes as asked for.
    pub fn prose(&mut self, bytes: u64) -> String {
        const SYLLABLES: [&str; 12] =
            ["ba", "src/", "to", "Fehler", "的", "x42", "run_", "::", "line", "né", "0x1f", "-"];
        let mut text = String::new();
        while (text.len() as u64) < bytes {
            for _ in 0..1 + self.random.below(3) {
                text.push_str(self.random.pick::<&str>(&SYLLABLES));
            }
            text.push_str(self.random.pick::<&str>(&[" ", " ", " ", "\n", ". "]));
        }
        text
    }

    fn size(&mut self) -> u64 {
        match self.random.below(10) {
            0..6 => 20 + self.random.below(200),
            6..9 => self.random.below(1_500),
            _ => self.random.below(9_000),
        }
    }

    fn part(&mut self) -> Vec<contexture_core::message::Part> {
        let size = self.size();
        user(&self.prose(size)).parts
    }

    /// Returns the messages of a turn, or of its continuation.
    pub fn exchange(&mut self, begins: bool) -> Vec<Message> {
        self.count += 1;
        let id = format!("call-{}", self.count);
        let mut messages = Vec::new();
        if begins {
            let mut said = user("");
            let parts = if self.random.chance(10) { 6 } else { 1 };
            said.parts = (0..parts).flat_map(|_| self.part()).collect();
            messages.push(said);
        }
        if self.random.chance(15) {
            // Two calls at once, answered one by one.
            let other = format!("{id}-b");
            let mut both = calls(&id, "{}");
            both.parts.extend(calls(&other, r#"{"path":"b"}"#).parts);
            let (first, second) = (self.prose(300), self.prose(2_000));
            messages.extend([both, returned(&id, &first), returned(&other, &second)]);
        } else if self.random.chance(60) {
            let size = self.size();
            messages.push(calls(&id, &format!(r#"{{"path":"src/file{}.rs"}}"#, self.count)));
            messages.push(returned(&id, &self.prose(size)));
        }
        if messages.is_empty() || self.random.chance(60) {
            messages.push(assistant(&self.prose(80)));
        }
        messages
    }

    /// Returns all pages of the tree that agents may see, in natural order.
    pub fn pages(&self) -> Vec<PageView> {
        let query = ListQuery { limit: 10_000, ..ListQuery::default() };
        let listing =
            block_on(self.system.as_system().reader().list(&query)).expect("it can be listed");
        let mut pages = listing.items;
        pages.retain(|seen| !seen.page.index.segment().as_str().contains(SECRET));
        pages
    }

    fn any_page(&mut self) -> PageIndex {
        let pages = self.pages();
        let talk: Vec<&PageView> =
            pages.iter().filter(|seen| seen.page.index.segment().as_str() != "sys").collect();
        self.random.pick(&talk).page.index.clone()
    }

    fn any_directory(&mut self) -> PageIndex {
        let pages = self.pages();
        let open = |seen: &&PageView| {
            seen.page.is_contents() && seen.page.index.segment().as_str() != "sys"
        };
        let directories: Vec<&PageView> = pages.iter().filter(open).collect();
        self.random.pick(&directories).page.index.clone()
    }

    /// Returns one of the agents.
    pub fn agent(&mut self) -> AgentContext {
        self.random.pick(&self.agents).clone()
    }

    async fn hidden_note(&mut self) {
        self.count += 1;
        let root = page(&format!("agent-{SECRET}-0"));
        let name = valid(&format!("{SECRET} {}", self.count));
        let mut new = NewDetailPage::new(root, name, format!("{SECRET} lives at /srv/{SECRET}.rs"));
        new.description = valid(&format!("on {SECRET}"));
        apply(&self.system, Edit::CreateDetailPage(new)).await;
    }

    /// Adds something at the end of what an agent writes: a turn, more of it, or a note.
    pub fn append(&mut self, agent: &AgentContext) {
        let made = match self.random.below(10) {
            0..5 => block_on(agent.add_turn(self.exchange(true))).map(drop),
            5..8 => block_on(agent.extend_turn(self.exchange(false))).map(drop),
            _ => {
                let root = agent.view().writes_to.root();
                let new = self.note(root);
                block_on(agent.apply(new)).map(drop)
            }
        };
        let refusal = made.as_ref().err().map(|error| (error.kind(), error.to_string()));
        assert!(matches!(refusal, None | Some((ErrorKind::NotFound, _))), "{refusal:?}");
    }

    fn note(&mut self, parent: PageIndex) -> Edit {
        self.count += 1;
        let size = self.size();
        let text = self.prose(size);
        let mut new = NewDetailPage::new(parent, valid(&format!("Note {}", self.count)), text);
        new.description = valid(&format!("about {}", self.count));
        Edit::CreateDetailPage(new)
    }

    /// Makes a random edit; tells whether it was made.
    pub fn step(&mut self) -> bool {
        let weights = [22, 9, 12, 5, 9, 6, 5, 3, 2, 6, 3, 3, 3, 4, 2, 3, 2];
        let kind = self.random.weighted(&weights);
        let agent = self.agent();
        let by_system = self.random.chance(25);
        let edit = match kind {
            0 | 1 => {
                self.append(&agent);
                return true;
            }
            2 => self.noted(),
            3 => self.directory(),
            4 => Edit::ExpandDetails(self.any_page()),
            5 => Edit::HideDetails(self.any_page()),
            6 => Edit::PinPage(self.any_page()),
            7 => Edit::UnpinPage(self.any_page()),
            8 => Edit::FocusPage(self.any_page()),
            9 => Edit::MovePage { page: self.any_page(), to: self.any_directory() },
            10 => Edit::ArchivePage(self.any_page()),
            11 => Edit::RemovePage(self.any_page()),
            12 => Edit::RestorePage { page: self.any_page(), to: None },
            13 => {
                let size = self.size();
                let detail = Some(self.prose(size));
                Edit::UpdatePage(PageUpdate { detail, ..PageUpdate::of(self.any_page()) })
            }
            14 => {
                let capacity = [0, 400, 900, 3_000];
                let capacity = Some(Tokens(*self.random.pick(&capacity)));
                let id = segment(self.random.pick::<&str>(&TALK));
                Edit::UpdateSegment(SegmentUpdate { capacity, ..SegmentUpdate::of(id) })
            }
            15 => {
                // One edit of the system side over what an agent sees and what it does not.
                block_on(self.hidden_note());
                let hidden = page(&format!("agent-{SECRET}-1"));
                let expand = Edit::ExpandDetails(self.any_page());
                Edit::Batch(vec![Edit::ExpandDetails(hidden), expand])
            }
            _ => {
                let key: CustomKey = valid("mood");
                Edit::SetCustom { key, value: Some(format!("mood {}", self.count)) }
            }
        };
        let made = if by_system || kind >= 14 {
            block_on(self.system.as_system().apply(edit))
        } else {
            block_on(agent.apply(edit))
        };
        self.sound(made)
    }

    fn sound(&self, made: Result<EditOutcome, Error>) -> bool {
        match made {
            Ok(_) => true,
            Err(error) => {
                let broken = [ErrorKind::Corrupt, ErrorKind::Unavailable];
                assert!(!broken.contains(&error.kind()), "{error}");
                false
            }
        }
    }

    fn noted(&mut self) -> Edit {
        let parent = self.any_directory();
        self.note(parent)
    }

    fn directory(&mut self) -> Edit {
        self.count += 1;
        let parent = self.any_directory();
        let name = valid(&format!("Folder {}", self.count));
        let mut new = NewContentsPage::new(parent, name);
        if self.random.chance(50) {
            new.children = vec![self.any_page()];
        }
        Edit::CreateContentsPage(new)
    }
}
