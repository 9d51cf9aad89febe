//! Opening a database with a session of a million pages must touch only what is asked for.

use std::{process::Command, sync::Arc, time::Instant};

use contexture_core::{
    storage::{ImportPart, Order, Place},
    *,
};
use contexture_storage::SystemClock;
use futures::executor::block_on;

use crate::{append, make, median, open_storage};

pub(crate) const CHILD: &str = "open-child";

pub(crate) fn run(url: &str, pages: u64) {
    let storage = open_storage(url);
    let small = make(storage.clone(), "small");
    (0..30).for_each(|seed| append(&small, seed));
    let began = Instant::now();
    block_on(grow(&*storage, pages));
    println!("open: {pages} pages taken over in {:.1} s", began.elapsed().as_secs_f64());
    let program = std::env::current_exe().unwrap();
    let times = (0..7).map(|_| {
        let output = Command::new(&program).arg(CHILD).arg(url).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().parse::<f64>().unwrap()
    });
    let times: Vec<f64> = times.collect();
    let most = times.iter().copied().fold(0.0, f64::max);
    println!(
        "open: open, one page, ancestors, last 200 siblings, in a fresh process: {:.1} ms (most {most:.1})",
        median(times)
    );
}

/// Takes over a session whose pages are copies of one of the small session's.
async fn grow(storage: &dyn PageStorage, count: u64) {
    let (small, big): (SessionId, SessionId) =
        ("small".parse().unwrap(), "million".parse().unwrap());
    storage.import(&big, ImportPart::Begin).await.unwrap();
    let mut segments = storage.segments(&small).await.unwrap();
    segments[0].next_number = count + 1;
    let id = segments[0].id.clone();
    storage.import(&big, ImportPart::Segments(segments)).await.unwrap();
    let indices = [PageIndex::new(id.clone(), 0), PageIndex::new(id.clone(), 1)];
    let mut found = storage.pages(&small, &indices).await.unwrap().into_iter().flatten();
    let (root, leaf) = (found.next().unwrap(), found.next().unwrap());
    storage.import(&big, ImportPart::Pages(vec![root])).await.unwrap();
    for first in (1..=count).step_by(5_000) {
        let pages = (first..(first + 5_000).min(count + 1)).map(|number| Page {
            index: PageIndex::new(id.clone(), number),
            place: Place(number + 1),
            ..leaf.clone()
        });
        storage.import(&big, ImportPart::Pages(pages.collect())).await.unwrap();
    }
    let mut info = storage.session(&small).await.unwrap().unwrap();
    info.next_place = Place(count + 2);
    storage.import(&big, ImportPart::Finish(info)).await.unwrap();
}

/// Runs in a process of its own and prints milliseconds.
pub(crate) fn child(url: &str) {
    let began = Instant::now();
    let storage = open_storage(url);
    block_on(async {
        let session = "million".parse().unwrap();
        let system = ContextSystem::open(storage, session, Arc::new(SystemClock)).await.unwrap();
        let session = system.as_system();
        let reader = session.reader();
        let root: PageIndex = "usr-0".parse().unwrap();
        let last = reader.children(&root, Order::Backward, None, 200).await.unwrap();
        let page = &last.items[100].page;
        assert_eq!(reader.ancestors(&page.index).await.unwrap().len(), 1);
    });
    println!("{}", began.elapsed().as_secs_f64() * 1e3);
}
