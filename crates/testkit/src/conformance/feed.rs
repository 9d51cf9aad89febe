//! The change feed: complete, in order, and nothing of what was purged; and hints at what others commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use contexture_core::{
    ContextSystem, Edit, FeedEntry, FeedEvent, PageIndex, PageStorage, PageUpdate, Revision,
    storage::{ContentHash, HistoryQuery, Version},
};
use futures::StreamExt;

use crate::{
    backend::Home,
    fixture::{
        agent, apply, leaf, new_directory, new_leaf, page, reopen, session, session_id, valid,
    },
    state::scan,
};

/// Enough pages that a history entry does not name them all.
const MANY: usize = 150;

/// What somebody keeps who follows the feed.
#[derive(Debug, Default)]
struct Follower {
    upto: Revision,
    pages: BTreeMap<PageIndex, Version>,
    contents: BTreeMap<PageIndex, ContentHash>,
}

impl Follower {
    fn take(&mut self, entry: &FeedEntry) {
        assert_eq!(entry.revision, self.upto.next(), "revisions are dense");
        self.upto = entry.revision;
        for index in entry.purged.iter().chain(&entry.gone) {
            self.pages.remove(index);
            self.contents.remove(index);
        }
        for put in &entry.put {
            self.pages.insert(put.index.clone(), put.version);
            self.contents.extend(put.content.map(|content| (put.index.clone(), content)));
        }
    }

    /// Reads on, a few at a time.
    async fn follow(&mut self, storage: &dyn PageStorage) {
        loop {
            let read = storage.changes(&session_id(), self.upto, 7).await.expect("reads");
            read.iter().for_each(|entry| self.take(entry));
            if read.len() < 7 {
                return;
            }
        }
    }

    /// Asserts that it has the pages there are, at their versions and with their contents.
    async fn assert_up_to_date(&self, system: &ContextSystem) {
        let storage = system.storage();
        let there = scan(&*storage, system.session(), &valid("usr")).await;
        let versions = there.iter().map(|page| (page.index.clone(), page.version));
        let kept = self.pages.iter().filter(|(index, _)| index.segment().as_str() == "usr");
        let kept: BTreeMap<PageIndex, Version> = kept.map(|(i, v)| (i.clone(), *v)).collect();
        assert_eq!(kept, versions.collect(), "at {}", self.upto);
        for page in &there {
            let content = page.detail().map(|detail| detail.content);
            assert_eq!(self.contents.get(&page.index).copied(), content, "{}", page.index);
        }
    }
}

/// Makes all kinds of edits, some of them on many pages.
async fn fill(system: &ContextSystem) {
    let many = (0..MANY).map(|at| new_leaf("usr-0", &format!("page {at}")));
    apply(system, Edit::Batch(many.collect())).await;
    let children: Vec<String> = (1..=MANY).map(|at| format!("usr-{at}")).collect();
    let children: Vec<&str> = children.iter().map(String::as_str).collect();
    let directory = apply(system, new_directory("usr-0", "all", &children)).await.pages.remove(0);
    let bot = agent(system, "bot");
    let note = leaf(system, "usr-0", "note").await;
    bot.pin_page(&note).await.expect("it may");
    bot.focus_page(&note).await.expect("it may");
    let mut update = PageUpdate::of(note.clone());
    update.detail = Some("other words".to_owned());
    apply(system, Edit::UpdatePage(update)).await;
    apply(system, Edit::SetCustom { key: valid("goal"), value: Some("win".to_owned()) }).await;
    apply(system, Edit::Undo { revision: None }).await;
    let made = leaf(system, "usr-0", "made by mistake").await;
    apply(system, Edit::Undo { revision: None }).await;
    assert!(system.as_system().reader().page(&made).await.is_err());
    apply(system, Edit::RemovePage(note)).await;
    apply(system, Edit::PurgePage(directory)).await;
    leaf(system, "usr-0", "last").await;
}

pub(super) async fn changes_are_dense_complete_and_in_order(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let mut beside = Follower::default();
    beside.follow(&*storage).await;
    fill(&system).await;
    // One who followed all along, and one who comes late, when earlier entries were scrubbed.
    let mut late = Follower::default();
    for follower in [&mut beside, &mut late] {
        follower.follow(&*storage).await;
        follower.assert_up_to_date(&system).await;
    }
    let id = session_id();
    assert_eq!(storage.revision(&id).await.expect("reads"), Some(late.upto));
    assert_eq!(storage.revision(&valid("none")).await.expect("reads"), None);
    assert_eq!(storage.changes(&id, late.upto, 9).await.expect("reads"), []);
    assert_eq!(storage.changes(&id, Revision(0), 0).await.expect("reads"), []);
    assert_eq!(storage.changes(&valid("none"), Revision(0), 9).await.expect("reads"), []);

    let all = storage.changes(&id, Revision(0), 1_000).await.expect("reads");
    let query = HistoryQuery { limit: 1_000, ..HistoryQuery::default() };
    let mut history = storage.history(&id, &query).await.expect("reads");
    history.reverse();
    assert_eq!(all, history.iter().map(FeedEntry::of).collect::<Vec<_>>());
    assert!(all.iter().any(|entry| entry.put.len() == MANY));
    assert!(all.iter().any(|entry| !entry.levels.is_empty()));
    assert!(all.iter().any(|entry| !entry.focus.is_empty()));
    assert!(all.iter().any(|entry| !entry.custom.is_empty()));
    assert!(all.iter().any(|entry| !entry.segments.is_empty()));
}

pub(super) async fn changes_say_what_was_purged(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    fill(&system).await;
    let all = storage.changes(&session_id(), Revision(0), 1_000).await.expect("reads");
    let purge = all.iter().rfind(|entry| !entry.purged.is_empty()).expect("there is one");
    let purged: BTreeSet<&PageIndex> = purge.purged.iter().collect();
    assert_eq!(purged.len(), MANY + 1, "the directory and all below it");
    assert_eq!(purged, purge.gone.iter().collect());
    // Nothing that came before gives away what it held.
    for entry in &all {
        let puts = entry.put.iter().filter(|put| purged.contains(&put.index));
        for put in puts {
            assert_eq!(put.content, None, "{} at {}", put.index, entry.revision);
            assert!(entry.purged.contains(&put.index), "{} at {}", put.index, entry.revision);
        }
    }
}

pub(super) async fn commits_of_another_process_reach_subscribers(home: Arc<dyn Home>) {
    let storage = home.open();
    if !storage.capabilities().shared {
        return;
    }
    let system = session(storage).await;
    let name = |system: &ContextSystem| {
        let system = system.clone();
        async move {
            system
                .as_system()
                .reader()
                .page(&page("usr-1"))
                .await
                .expect("it stands")
                .page
                .name
                .clone()
        }
    };
    leaf(&system, "usr-0", "plan").await;
    assert_eq!(name(&system).await.as_str(), "plan");
    let mut feed = system.subscribe();
    let elsewhere = reopen(home.open()).await;
    for round in ["one", "two", "three"] {
        let mut update = PageUpdate::of(page("usr-1"));
        update.name = Some(valid(round));
        let made = apply(&elsewhere, Edit::UpdatePage(update)).await.revision;
        // Nobody asks this system to refresh.
        let Some(FeedEvent::Change(entry)) = feed.next().await else { panic!("an edit was made") };
        assert_eq!((entry.revision, entry.put.len()), (made, 1));
        assert_eq!(name(&system).await.as_str(), round);
    }
    let own = leaf(&system, "usr-0", "own").await;
    let Some(FeedEvent::Change(entry)) = feed.next().await else { panic!("an edit was made") };
    assert_eq!(entry.put[0].index, own);
}
