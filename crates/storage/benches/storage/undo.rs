//! Edits on many pages and their undo, and purges: the time must grow as the pages do.

use std::time::Instant;

use contexture_core::*;
use contexture_testkit::backend::Backend;
use futures::executor::block_on;

use crate::session::Session;

const SIZES: [usize; 3] = [1_000, 5_000, 20_000];

/// How many pages lie in a directory of the subtree that is moved.
const FOLDER: usize = 100;

/// How many pages lie in a directory of the subtree that is moved and purged, with its directory.
const THIN: usize = 2;

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

/// Seconds: of an edit, of its undo, and of undoing that; of moving and of purging a subtree in which
/// every other page is a directory.
#[derive(Clone, Copy)]
struct Figures {
    moved: [f64; 3],
    adopted: [f64; 3],
    thin: [f64; 2],
    /// Pages moved one by one, in one edit.
    apart: f64,
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
        let (thin, apart) = (Self::take_thin(backend, pages), Self::take_apart(backend, pages));
        Self { moved, adopted, thin, apart }
    }

    fn take_apart(backend: &dyn Backend, pages: usize) -> f64 {
        let home = backend.home();
        let session = Session::on(home.open(), "apart");
        let other = NewSegment::new("other".parse().unwrap(), SegmentKind::Custom);
        session.edit(Edit::AddSegment(other));
        let first = session.fill(&"usr-0".parse().unwrap(), pages);
        let index = |number: u64| PageIndex::new("usr".parse().unwrap(), number);
        let numbers = first..first + pages as u64;
        session.edit(Edit::Batch(numbers.clone().map(|it| Edit::PinPage(index(it))).collect()));
        let to: PageIndex = "other-0".parse().unwrap();
        let moves = numbers.map(|it| Edit::MovePage { page: index(it), to: to.clone() });
        let began = Instant::now();
        session.edit(Edit::Batch(moves.collect()));
        began.elapsed().as_secs_f64()
    }

    fn take_thin(backend: &dyn Backend, pages: usize) -> [f64; 2] {
        let home = backend.home();
        let session = Session::on(home.open(), "thin");
        let other = NewSegment::new("other".parse().unwrap(), SegmentKind::Custom);
        session.edit(Edit::AddSegment(other));
        let top = session.folder(&"usr-0".parse().unwrap(), Vec::new());
        let folder = |_| {
            let name = "Folder".parse().unwrap();
            Edit::CreateContentsPage(NewContentsPage::new(top.clone(), name))
        };
        let folders = session.edit(Edit::Batch((0..pages / THIN).map(folder).collect())).pages;
        let page = |folder: &PageIndex| {
            let text = format!("text of {folder}");
            let name = "Page".parse().unwrap();
            Edit::CreateDetailPage(NewDetailPage::new(folder.clone(), name, text))
        };
        session.edit(Edit::Batch(folders.iter().map(page).collect()));
        let timed = |edit: Edit| {
            let began = Instant::now();
            let done = session.edit(edit);
            (done.pages, began.elapsed().as_secs_f64())
        };
        let to = "other-0".parse().unwrap();
        let (mut there, moved) = timed(Edit::MovePage { page: top, to });
        let (gone, purged) = timed(Edit::PurgePage(there.remove(0)));
        assert!(gone.len() > 2 * pages, "what was moved and where it stood");
        [moved, purged]
    }

    fn seconds(self) -> String {
        let each = |[there, back, again]: [f64; 3]| {
            format!("{there:.2} s, undone {back:.2} s, redone {again:.2} s")
        };
        let (moved, adopted, [thin, purged]) = (each(self.moved), each(self.adopted), self.thin);
        format!(
            "moved {moved}; adopted {adopted}; thin directories moved {thin:.2} s, purged \
             {purged:.2} s; {:.2} s one by one in one edit",
            self.apart
        )
    }

    fn ratios(self, first: Self) -> String {
        let each = |now: [f64; 3], then: [f64; 3]| {
            let [there, back, again] = [0, 1, 2].map(|at| now[at] / then[at]);
            format!("{there:.1} times, undone {back:.1} times, redone {again:.1} times the time")
        };
        let (moved, adopted) = (each(self.moved, first.moved), each(self.adopted, first.adopted));
        let [thin, purged] = [0, 1].map(|at| self.thin[at] / first.thin[at]);
        format!(
            "moved {moved}; adopted {adopted}; thin directories moved {thin:.1} times, purged \
             {purged:.1} times, one by one {:.1} times the time",
            self.apart / first.apart
        )
    }
}

impl Session {
    fn edit(&self, edit: Edit) -> EditOutcome {
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
