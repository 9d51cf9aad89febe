//! Folds and runs: in the level state, in the basis of later edits, in history.

use std::sync::Arc;

use contexture_core::{
    Edit, ErrorKind, Operation, Page, PageIndex, PageStorage, Visibility,
    storage::{
        ChunkKey, Citation, CitationDetail, Fold, HistoryQuery, KeptRequest, LevelEntry, PageRun,
        PageRunForm, ViewId,
    },
    window::{FoldPlan, FoldReport, FoldStep},
};

use super::stored;
use crate::fixture::{agent, apply, directory, leaf, page, reopen, session, session_id, valid};

/// Asks for a fold of these entries, before and after.
pub(super) fn fold(entries: &[(PageIndex, LevelEntry, LevelEntry)]) -> Edit {
    let step = |(page, before, after): &(PageIndex, LevelEntry, LevelEntry)| FoldStep {
        page: page.clone(),
        before: before.clone(),
        after: after.clone(),
    };
    Edit::FoldPages(FoldPlan { steps: entries.iter().map(step).collect(), report: report() })
}

fn report() -> FoldReport {
    FoldReport {
        folded: 3,
        tokens_before: 900,
        tokens_after: 400,
        reread_tokens: 100,
        saved_tokens: 500,
    }
}

/// What a view says of a directory whose pages, from the first to the last of these, are one run.
pub(super) fn run_over(pages: &[&Page], form: PageRunForm) -> LevelEntry {
    let (first, last) = (pages[0], pages[pages.len() - 1]);
    let run = PageRun {
        first: first.place,
        last: last.place,
        from: first.index.clone(),
        to: last.index.clone(),
        pages: pages.len() as u64,
        messages: 0,
        calls: 2,
        filter: Default::default(),
        form,
        requests: vec![KeptRequest { page: first.index.clone(), brief: true }],
        cited: vec![Citation {
            page: first.index.clone(),
            told: CitationDetail::All,
            words: vec![0, 2],
        }],
        apart: Vec::new(),
    };
    LevelEntry { runs: Arc::new([run]), ..LevelEntry::default() }
}

/// The same, but that a page stands by itself again.
pub(super) fn without(entry: &LevelEntry, page: &PageIndex) -> LevelEntry {
    let mut runs = entry.runs.to_vec();
    runs.iter_mut().for_each(|run| run.apart.push(page.clone()));
    LevelEntry { runs: runs.into(), ..entry.clone() }
}

async fn entry(storage: &dyn PageStorage, view: &ViewId, page: &PageIndex) -> LevelEntry {
    let keys = [ChunkKey::of(view, page)];
    storage.levels(&session_id(), &keys).await.expect("reads")[0].entry(page.number())
}

pub(super) async fn folds_and_runs_round_trip(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let dir = directory(&system, "usr-0", "dir").await;
    let mut pages = Vec::new();
    for name in ["one", "two", "three"] {
        let index = leaf(&system, "usr-1", name).await;
        pages.push(stored(&*storage, &session_id(), &index.to_string()).await);
    }
    let bot = agent(&system, "bot");
    let view: ViewId = valid("bot");
    let none = LevelEntry::default();
    bot.expand_details("usr-1").await.expect("it may");
    bot.hide_details("usr-0").await.expect("it may");
    let shown = LevelEntry { held: Some(0), ..LevelEntry::shown(Visibility::Expanded) };
    let folded = LevelEntry { fold: Some(Fold::Trimmed), ..shown.clone() };
    let in_line = LevelEntry {
        fold: Some(Fold::Summary),
        ..run_over(&[&pages[0], &pages[1]], PageRunForm::Gist)
    };
    let in_line = LevelEntry { shown: shown.shown, held: shown.held, ..in_line };
    let gist = LevelEntry { fold: Some(Fold::Gist), ..none.clone() };
    let three = &pages[2].index;
    let steps = [
        (dir.clone(), shown.clone(), in_line.clone()),
        (three.clone(), none.clone(), gist.clone()),
    ];
    let taken = bot.apply(fold(&steps)).await.expect("it may");
    assert_eq!(taken.pages, [dir.clone(), three.clone()]);
    assert_eq!(entry(&*storage, &view, &dir).await, in_line);
    assert_eq!(entry(&*storage, &view, three).await, gist);
    assert_eq!(entry(&*storage, &ViewId::SYSTEM, &dir).await, none, "others do not inherit it");
    // Who opens it anew sees the same.
    let again = reopen(storage.clone()).await;
    let outdated = [(dir.clone(), shown.clone(), folded.clone())];
    let refused = agent(&again, "bot").apply(fold(&outdated)).await.expect_err("it is outdated");
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    // Pinned, a page leaves its run; the directory's entry changes with it.
    let pinned = bot.pin_page(&pages[1].index).await.expect("it may");
    let apart = without(&in_line, &pages[1].index);
    assert_eq!(entry(&*storage, &view, &dir).await, apart);
    assert_eq!(entry(&*storage, &view, &pages[1].index).await.pinned, Some(true));
    for (revision, left) in [(pinned.revision, in_line), (taken.revision, shown)] {
        apply(&system, Edit::Undo { revision: Some(revision) }).await;
        assert_eq!(entry(&*storage, &view, &dir).await, left);
    }
    assert_eq!(entry(&*storage, &view, three).await, none);
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

pub(super) async fn a_fold_is_reported_in_history(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "note").await;
    let gist = LevelEntry { fold: Some(Fold::Gist), ..LevelEntry::default() };
    apply(&system, fold(&[(page("usr-1"), LevelEntry::default(), gist.clone())])).await;
    let query = HistoryQuery { limit: 2, ..HistoryQuery::default() };
    let history = storage.history(&session_id(), &query).await.expect("reads");
    assert_eq!((history[0].operation, history[0].fold), (Operation::FoldPages, Some(report())));
    assert_eq!(history[0].inverse.levels[0].after, gist);
    assert_eq!(history[1].fold, None);
}
