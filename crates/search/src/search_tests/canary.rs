//! No query of an agent returns, ranks by, counts or hints at what is outside its view.
//!
//! Two stores go through the same edits. What the view does not see says something else in each: other segments, other
//! authors, tools, early turns, pages left out by name, other sessions, and what a branch's parent did since. Everything
//! that a search answers must be the same in both.

use std::{path::Path, sync::Arc};

use contexture_core::{
    AgentContext, ContextSystem, Edit, Format, MemoryStorage, Mounts, NewSegment, PageIndex,
    PageStorage, PageUpdate, Principal, Role, SegmentKind, Session, SessionId, Timestamp, Tokens,
    View, message::MessageFilter, storage::BranchParent,
};
use contexture_testkit::{
    edits::beginning,
    fixture::{TickingClock, assistant, calls, returned, segment, session_id, user, valid},
    random::Random,
    window::options,
};
use futures::executor::block_on;

use super::{WORDS, words};
use crate::{FindQuery, RecallQuery, SearchIndex};

/// What is said where the view does not look, in one store and in the other.
const OUTSIDE: [[&str; 3]; 2] = [
    ["harbour copper canaryone", "lantern canaryone thunder orchard", "canaryone"],
    ["meadow meadow meadow canarytwo willow 東京都 velvet compass", "canarytwo harbour", "v1.2.3"],
];

/// Who says something, as far as the view is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Seen,
    Unseen,
}

/// One of the two stores.
struct Store {
    number: usize,
    system: ContextSystem,
    other: ContextSystem,
    storage: Arc<dyn PageStorage>,
    random: Random,
    texts: Random,
}

impl Store {
    async fn new(number: usize, seed: u64) -> Self {
        let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
        let open = async |session: SessionId| {
            let clock = TickingClock::new();
            let create = ContextSystem::create(storage.clone(), session, "search", clock);
            let system = create.await.unwrap();
            for edit in beginning() {
                system.as_system().apply(edit).await.unwrap();
            }
            system
        };
        let (system, other) = (open(session_id()).await, open(valid("other")).await);
        let (random, texts) = (Random::new(seed), Random::new(seed ^ 7 ^ number as u64));
        Self { number, system, other, storage, random, texts }
    }

    /// Returns a text: the same in both stores, or another one.
    fn text(&mut self, said: Said) -> String {
        let same = words(&mut self.random);
        match said {
            Said::Seen => same,
            Said::Unseen => (*self.texts.pick(&OUTSIDE[self.number])).to_owned(),
        }
    }

    /// Says something in a turn; what the tools say may be seen when the rest is not.
    async fn say(&mut self, holder: &Session, id: &str, said: Said, tools: Said) -> PageIndex {
        let mut messages = vec![user(&self.text(said))];
        if self.random.chance(50) {
            let asked = format!("{{\"q\":\"{}\"}}", self.text(tools));
            messages.extend([calls("c", &asked), returned("c", &self.text(tools))]);
        }
        messages.push(assistant(&self.text(said)));
        let add = Edit::AddTurn { segment: segment(id), messages };
        holder.apply(add).await.unwrap().pages.remove(0)
    }

    fn agent(&self, name: &str) -> Session {
        self.system.held_by(View::common(valid(name)).into())
    }
}

/// What a view of these tests leaves out.
#[derive(Debug, Clone, Copy)]
struct Left {
    authors: bool,
    tools: bool,
    early: bool,
    pages: bool,
}

/// What came of a seed in one store: each answer as text.
async fn answers(number: usize, seed: u64, place: Option<&Path>) -> Vec<String> {
    let mut store = Store::new(number, seed).await;
    let host = store.system.as_system();
    // Without a filter, the branch is looked at as well.
    let filtered = store.random.chance(70);
    let left = Left {
        authors: filtered && store.random.chance(50),
        tools: filtered && store.random.chance(50),
        early: filtered && store.random.chance(40),
        pages: filtered && store.random.chance(50),
    };
    let tools = if left.tools { Said::Unseen } else { Said::Seen };
    let mut without = Vec::new();
    let mut since = None;
    let mut branch: Option<AgentContext> = None;
    let (alpha, beta) = (store.agent("alpha"), store.agent("beta"));
    let index = SearchIndex::open(store.storage.clone(), place).unwrap();
    for step in 0..60 {
        if step == 20 && left.early {
            since = Some(store.system.now());
        }
        let is_late = !left.early || step >= 20;
        let seen = if is_late { Said::Seen } else { Said::Unseen };
        let (holder, seen) = match store.random.below(3) {
            0 => (&host, seen),
            1 => (&alpha, seen),
            _ if left.authors => (&beta, Said::Unseen),
            _ => (&beta, seen),
        };
        let is_named = left.pages && store.random.chance(20);
        let said = if is_named { Said::Unseen } else { seen };
        let of_tools = if said == Said::Unseen { said } else { tools };
        let page = store.say(holder, "usr", said, of_tools).await;
        if is_named {
            without.push(page.clone());
        }
        if store.random.chance(15) {
            host.apply(Edit::RemovePage(page)).await.unwrap();
        } else if store.random.chance(10) {
            host.apply(Edit::ArchivePage(page)).await.unwrap();
        }
        let free = store.say(&host, "free", Said::Unseen, Said::Unseen).await;
        if store.random.chance(20) {
            host.apply(Edit::RemovePage(free)).await.unwrap();
        }
        let other = store.other.as_system();
        store.say(&other, "usr", Said::Unseen, Said::Unseen).await;
        if step == 40 {
            branch = Some(begin_branch(&store.system).await);
        }
        if place.is_some() && step % 16 == 15 {
            index.catch_up(&session_id()).await.unwrap();
            index.catch_up(&valid("other")).await.unwrap();
            index.flush().await.unwrap();
        }
    }
    let mut view = View::common(valid("reader"));
    view.mounts = Mounts::Listed(vec![segment("usr"), segment("tool")]);
    if left.authors {
        view.filter.authors = Some([contexture_core::Actor::System, valid("alpha")].into());
    }
    if left.tools {
        view.filter.speech = MessageFilter::WithoutTools;
    }
    view.filter.since = since;
    view.filter.without = without.into_iter().collect();
    let reader = store.system.held_by(Principal::from(view));
    let mut answers = Vec::new();
    for _ in 0..24 {
        let query = query(&mut store.random);
        answers.push(format!("{left:?} {query:?}: {}", answer(&index, &reader, &query).await));
    }
    // A branch does not see what its parent does later. The parent's pages before were seen in both.
    if let Some(branch) =
        branch.filter(|_| !left.tools && !left.authors && !left.early && !left.pages)
    {
        let mut late = store.random.below(40);
        while late > 0 {
            store.say(&host, "usr", Said::Unseen, Said::Unseen).await;
            late /= 2;
        }
        let changed: PageIndex = "usr-1".parse().unwrap();
        let detail = Some(store.text(Said::Unseen));
        let update = PageUpdate { detail, ..PageUpdate::of(changed) };
        // It may be in the archive.
        let _ = host.apply(Edit::UpdatePage(update)).await;
        for _ in 0..12 {
            let query = query(&mut store.random);
            answers.push(format!("branch, {query:?}: {}", answer(&index, &branch, &query).await));
        }
    }
    answers
}

async fn begin_branch(system: &ContextSystem) -> AgentContext {
    let add = Edit::AddSegment(NewSegment::new(segment("fork"), SegmentKind::Custom));
    system.as_system().apply(add).await.unwrap();
    let mut view = View::common(valid("parent"));
    view.mounts = Mounts::Listed(vec![segment("usr")]);
    let parent = Principal::from(view);
    let parent = BranchParent::Session(&parent);
    let branch = system.branch(parent, &valid("fixer"), 1, &segment("fork")).await.unwrap();
    let opened = system.open_branch(&branch).await.unwrap();
    AgentContext::new(opened, branch.view)
}

/// Returns a random query, of words that are seen and of those that are not.
fn query(random: &mut Random) -> FindQuery {
    let word = |random: &mut Random| match random.below(6) {
        0 => "canaryone".to_owned(),
        1 => "canarytwo".to_owned(),
        _ => (*random.pick(&WORDS)).to_owned(),
    };
    let text = match random.below(5) {
        0 => format!("{}*", word(random).chars().take(2).collect::<String>()),
        1 => format!("\"{} {}\"", word(random), word(random)),
        2 => "canary*".to_owned(),
        _ => format!("{} {}?", word(random), word(random)),
    };
    let mut query = FindQuery { limit: 1 + random.below(30) as usize, ..FindQuery::new(text) };
    if random.chance(20) {
        let name: &&str = random.pick(&["usr", "free", "fork"]);
        query.within = vec![segment(name)];
    }
    if random.chance(20) {
        query.by = vec![random.pick(&[contexture_core::Actor::System, valid("beta")]).clone()];
    }
    if random.chance(20) {
        query.roles = vec![*random.pick(&[Role::User, Role::Assistant, Role::Tool])];
    }
    if random.chance(15) {
        query.tools = calls("c", "{}").tool_calls().map(|call| call.name.clone()).collect();
    }
    if random.chance(20) {
        query.since = Some(Timestamp::from_millis(1_760_000_000_000 + random.below(400) as i64));
    }
    query.archived = *random.pick(&[None, Some(true), Some(false)]);
    query
}

/// Returns everything that a search and a recall say.
async fn answer(index: &SearchIndex, session: &Session, query: &FindQuery) -> String {
    let hits = index.find(session, query).await.unwrap();
    let mut answers = Vec::new();
    for hit in &hits {
        let archived = hit.page.archived;
        let (name, description) = (&hit.page.page.name, &hit.page.page.description);
        let score = hit.score.to_bits();
        let said = (hit.message, hit.role, &hit.snippet, score, hit.features);
        answers.push(format!("{} {archived} {name} {description} {said:?}", hit.index()));
    }
    let recall = RecallQuery { find: query.clone(), budget: Tokens(200), ..RecallQuery::default() };
    let plan = index.recall(session, &recall, &options(Format::Markdown)).await.unwrap();
    let recalled: Vec<_> = plan.pages.iter().map(|page| (page.hit.index(), page.tokens)).collect();
    let counts = (plan.standing, plan.left_out, plan.refused);
    format!("{} hits: {answers:?}, recalled {recalled:?}, {counts:?}", hits.len())
}

fn compare(seeds: std::ops::Range<u64>) {
    let mut found = 0;
    for seed in seeds {
        let place = tempfile::tempdir().unwrap();
        let one = block_on(answers(0, seed, None));
        let other = block_on(answers(1, seed, Some(place.path())));
        assert_eq!(one.len(), other.len(), "seed {seed}");
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one, other, "seed {seed}");
            found += usize::from(!one.contains(": 0 hits"));
        }
    }
    assert!(found > 20, "only {found} queries found anything");
}

#[test]
fn what_a_view_does_not_see_changes_no_answer() {
    compare(0..16);
}
