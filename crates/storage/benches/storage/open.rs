//! Opening a session of a million pages, and its first window, must touch only what is visible.

use std::{sync::Arc, time::Instant};

use contexture_core::{
    storage::{LevelEntry, Order, PageRun, PageRunForm},
    window::{FoldPlan, FoldReport, FoldStep},
    *,
};
use contexture_storage::SystemClock;
use contexture_testkit::{backend::Backend, window::FourBytes};
use futures::executor::block_on;

use crate::{backends, figures, median, peak_megabytes, session::Session};

pub(crate) const CHILD: &str = "open-child";

/// How many pages are visible; all before them are one line.
const VISIBLE: usize = 200;
const BATCH: usize = 1_000;

pub(crate) fn run(backend: &dyn Backend, pages: usize) {
    let home = backend.home();
    let began = Instant::now();
    let session = Session::on(home.open(), "million");
    for from in (0..pages).step_by(BATCH) {
        session.append_batch(from, BATCH.min(pages - from));
    }
    block_on(fold(&session.system, pages));
    drop(session);
    println!("open: {}: {pages} pages in {:.1} s", backend.name(), began.elapsed().as_secs_f64());
    let locator = home.locator().expect("another process can open it");
    let rounds: Vec<Vec<f64>> = (0..7).map(|_| figures(CHILD, &locator)).collect();
    let middle = |at: usize| median(rounds.iter().map(|figures| figures[at]).collect());
    let most = rounds.iter().map(|figures| figures[0]).fold(0.0, f64::max);
    println!(
        "open: {}: one page with its text, ancestors, last 20 siblings: {:.2} ms (most {most:.2} ms); \
         then the first window: {:.2} ms; {:.1} MB resident at most, in a fresh process",
        backend.name(),
        middle(0),
        middle(1),
        middle(2),
    );
}

/// Leaves all but the last pages as one line.
async fn fold(system: &ContextSystem, pages: usize) {
    let usr = |number: usize| PageIndex::new("usr".parse().unwrap(), number as u64);
    let (first, last) = (usr(1), usr(pages.saturating_sub(VISIBLE).max(1)));
    let page = |index: PageIndex| async move {
        system.as_system().reader().page(&index).await.unwrap().page
    };
    let run = PageRun {
        first: page(first.clone()).await.place,
        last: page(last.clone()).await.place,
        pages: last.number(),
        from: first,
        to: last,
        messages: 0,
        calls: 0,
        requests: Vec::new(),
        filter: Default::default(),
        form: PageRunForm::Line,
        cited: Vec::new(),
        apart: Vec::new(),
    };
    let after = LevelEntry { runs: vec![run].into(), ..LevelEntry::default() };
    let steps = vec![FoldStep { page: usr(0), before: LevelEntry::default(), after }];
    let plan = FoldPlan { steps, report: FoldReport::default() };
    system.as_system().apply(Edit::FoldPages(plan)).await.unwrap();
    // Counts are kept with the storage, as they are for any session that was used before.
    system.as_system().send(&options()).await.unwrap();
}

fn options() -> WindowOptions {
    WindowOptions::new(Format::Provider(ProviderFormat::OpenAi), Arc::new(FourBytes))
        .budget(400_000)
}

/// Runs in a process of its own; prints milliseconds to the page, to the window, and megabytes.
pub(crate) fn child(locator: &str) {
    let began = Instant::now();
    let storage = backends::open(locator).unwrap();
    block_on(async {
        let session = "million".parse().unwrap();
        let system = ContextSystem::open(storage, session, Arc::new(SystemClock)).await.unwrap();
        let session = system.as_system();
        let reader = session.reader();
        let root: PageIndex = "usr-0".parse().unwrap();
        let count = reader.child_count(&root).await.unwrap();
        let page = PageIndex::new("usr".parse().unwrap(), count / 2);
        let page = reader.page(&page).await.unwrap().page;
        assert!(!reader.messages(&page.index).await.unwrap().is_empty());
        assert_eq!(reader.ancestors(&page.index).await.unwrap().len(), 1);
        let last = reader.children(&root, Order::Backward, None, 20).await.unwrap();
        assert_eq!(last.items.len(), 20);
        let opened = began.elapsed().as_secs_f64() * 1e3;
        let window = reader.window(&options()).await.unwrap();
        assert!(!window.body.is_empty());
        let shown = began.elapsed().as_secs_f64() * 1e3;
        println!("{opened} {} {}", shown - opened, peak_megabytes());
    });
}
