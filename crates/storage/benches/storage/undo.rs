//! Edits on many pages and their undo: the time must grow as the pages do.

use std::time::Instant;

use contexture_core::*;
use contexture_testkit::backend::Backend;
use futures::executor::block_on;

use crate::session::Session;

const SIZES: [usize; 3] = [1_000, 5_000, 20_000];

/// How many pages lie in a directory of the subtree that is moved.
const FOLDER: usize = 100;

pub(crate) fn run(backend: &dyn Backend) {
    let name = backend.name();
    let mut smallest: Option<Figures> = None;
    for pages in SIZES {
        let figures = Figures::take(backend, pages);
        println!("undo: {name}: {pages} pages: {}", figures.seconds());
        let first = smallest.get_or_insert(figures);
        if pages > SIZES[0] {
            let times = pages / SIZES[0];
            println!("undo: {name}: {times} times the pages: {}", figures.ratios(*first));
        }
    }
}

/// Seconds: of an edit, of its undo, and of undoing that.
#[derive(Clone, Copy)]
struct Figures {
    moved: [f64; 3],
    adopted: [f64; 3],
}

impl Figures {
    fn take(backend: &dyn Backend, pages: usize) -> Self {
        let home = backend.home();
        let session = Session::on(home.open(), "undo");
        let other = NewSegment::new("other".parse().unwrap(), SegmentKind::Custom);
        session.edit(Edit::AddSegment(other));
        let root: PageIndex = "usr-0".parse().unwrap();
        let top = session.folder(&root, Vec::new());
        for _ in 0..pages / FOLDER {
            let folder = session.folder(&top, Vec::new());
            session.fill(&folder, FOLDER);
        }
        let to = "other-0".parse().unwrap();
        let moved = session.there_and_back(Edit::MovePage { page: top, to });
        let first = session.fill(&root, pages);
        let children = (first..first + pages as u64)
            .map(|number| PageIndex::new("usr".parse().unwrap(), number));
        let mut adopting = NewContentsPage::new(root, "Adopted".parse().unwrap());
        adopting.children = children.collect();
        let adopted = session.there_and_back(Edit::CreateContentsPage(adopting));
        Self { moved, adopted }
    }

    fn seconds(self) -> String {
        let each = |[there, back, again]: [f64; 3]| {
            format!("{there:.2} s, undone {back:.2} s, redone {again:.2} s")
        };
        format!("moved {}; adopted {}", each(self.moved), each(self.adopted))
    }

    fn ratios(self, first: Self) -> String {
        let each = |now: [f64; 3], then: [f64; 3]| {
            let [there, back, again] = [0, 1, 2].map(|at| now[at] / then[at]);
            format!("{there:.1} times, undone {back:.1} times, redone {again:.1} times the time")
        };
        let (moved, adopted) = (each(self.moved, first.moved), each(self.adopted, first.adopted));
        format!("moved {moved}; adopted {adopted}")
    }
}

impl Session {
    fn edit(&self, edit: Edit) -> system::Outcome {
        block_on(self.system.as_system().apply(edit)).unwrap()
    }

    fn folder(&self, parent: &PageIndex, children: Vec<PageIndex>) -> PageIndex {
        let mut new = NewContentsPage::new(parent.clone(), "Folder".parse().unwrap());
        new.children = children;
        self.edit(Edit::CreateContentsPage(new)).pages.remove(0)
    }

    /// Puts short pages into a directory; returns the number of the first.
    fn fill(&self, parent: &PageIndex, count: usize) -> u64 {
        let page = |at: usize| {
            let name = format!("Page {at}").parse().unwrap();
            Edit::CreateDetailPage(NewDetailPage::new(parent.clone(), name, format!("text {at}")))
        };
        self.edit(Edit::Batch((0..count).map(page).collect())).pages[0].number()
    }

    fn there_and_back(&self, edit: Edit) -> [f64; 3] {
        let timed = |edit: Edit| {
            let began = Instant::now();
            let revision = self.edit(edit).revision;
            (Some(revision), began.elapsed().as_secs_f64())
        };
        let (revision, there) = timed(edit);
        let (revision, back) = timed(Edit::Undo { revision });
        let (_, again) = timed(Edit::Undo { revision });
        [there, back, again]
    }
}
