//! A scan of everything through a capped cache must not grow with what is scanned.

use std::{sync::Arc, time::Instant};

use contexture_core::{
    storage::{Order, ResidentLimits, SystemSettings},
    *,
};
use contexture_storage::SystemClock;
use contexture_testkit::backend::Backend;
use futures::executor::block_on;

use crate::{
    backends, figures, peak_megabytes,
    session::{Session, text},
};

pub(crate) const CHILD: &str = "memory-child";

const PAGES: usize = 200_000;
const BATCH: usize = 1_000;
const LIMITS: ResidentLimits = ResidentLimits { bytes: 64 << 20 };
const MOST: f64 = 160.0;

pub(crate) fn run(backend: &dyn Backend) {
    let name = backend.name();
    let home = backend.home();
    let began = Instant::now();
    let session = Session::on(home.open(), "memory");
    for from in (0..PAGES).step_by(BATCH) {
        let pages = (from..from + BATCH).map(|seed| {
            // Two kilobytes each.
            let text = text(seed) + &text(PAGES + seed);
            let name = format!("Page {seed}").parse().unwrap();
            Edit::CreateDetailPage(NewDetailPage::new("usr-0".parse().unwrap(), name, text))
        });
        block_on(session.system.as_system().apply(Edit::Batch(pages.collect()))).unwrap();
    }
    drop(session);
    println!("memory: {name}: {PAGES} pages of 2 KB in {:.1} s", began.elapsed().as_secs_f64());
    let figures = figures(CHILD, &home.locator().expect("another process can open it"));
    println!(
        "memory: {name}: a scan with contents through a cache of 64 MB: {:.1} MB resident at most \
         (aim: under {MOST} MB), {:.1} s",
        figures[0], figures[1]
    );
    assert!(figures[0] < MOST, "the cache does not bound what is resident");
}

/// Runs in a process of its own; prints megabytes and seconds.
pub(crate) fn child(locator: &str) {
    let began = Instant::now();
    let storage = backends::open(locator).unwrap();
    let settings = SystemSettings { resident: LIMITS, ..SystemSettings::default() };
    block_on(async {
        let session = "memory".parse().unwrap();
        let clock = Arc::new(SystemClock);
        let system = ContextSystem::open_with(storage, session, clock, settings).await.unwrap();
        let session = system.as_system();
        let reader = session.reader();
        let root: PageIndex = "usr-0".parse().unwrap();
        let (mut after, mut bytes, mut count) = (None, 0, 0);
        loop {
            let list = reader.children(&root, Order::Forward, after, 500).await.unwrap();
            for seen in &list.items {
                after = Some(seen.page.place);
                // By its number, as whoever follows a reference reads it: through the cache.
                let page = reader.page(&seen.page.index).await.unwrap().page;
                let messages = reader.messages(&page.index).await.unwrap();
                bytes += message::detail_text(&messages).len();
                count += 1;
            }
            if !list.more {
                break;
            }
        }
        assert!(count == PAGES && bytes > PAGES * 2_000, "{count} pages, {bytes} bytes");
    });
    println!("{} {}", peak_megabytes(), began.elapsed().as_secs_f64());
}
