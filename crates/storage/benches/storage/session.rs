//! A session on SQLite, with one directory to append to.

use std::{path::Path, sync::Arc};

use contexture_core::*;
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use futures::executor::block_on;

pub(crate) struct Session {
    pub(crate) system: ContextSystem,
}

impl Session {
    /// Makes a file with one session.
    pub(crate) fn new(path: &Path, name: &str) -> Self {
        let storage = SqliteStorage::open(path, Default::default()).unwrap();
        Self::on(Arc::new(storage), name)
    }

    /// Makes a session in a storage.
    pub(crate) fn on(storage: Arc<dyn PageStorage>, name: &str) -> Self {
        let usr = NewSegment::new("usr".parse().unwrap(), SegmentKind::User);
        let edit = Edit::AddSegment(usr);
        let made = ContextSystem::create_with(
            storage,
            name.parse().unwrap(),
            "bench",
            Arc::new(SystemClock),
            &edit,
        );
        Self { system: block_on(made).unwrap() }
    }

    /// Appends one page.
    pub(crate) fn append(&self, seed: usize) {
        block_on(self.system.as_system().apply(Edit::CreateDetailPage(page(seed)))).unwrap();
    }

    /// Appends pages as one edit.
    pub(crate) fn append_batch(&self, seed: usize, count: usize) {
        let pages = (seed..seed + count).map(|seed| Edit::CreateDetailPage(page(seed)));
        block_on(self.system.as_system().apply(Edit::Batch(pages.collect()))).unwrap();
    }
}

/// A page of about a kilobyte.
pub(crate) fn page(seed: usize) -> NewDetailPage {
    let root: PageIndex = "usr-0".parse().unwrap();
    NewDetailPage::new(root, format!("Page {seed}").parse().unwrap(), text(seed))
}

/// About a kilobyte of text that is different for each seed and compresses as prose does.
pub(crate) fn text(seed: usize) -> String {
    const WORDS: [&str; 32] = [
        "the",
        "parser",
        "returns",
        "an",
        "error",
        "when",
        "input",
        "ends",
        "before",
        "brace",
        "so",
        "test",
        "fails",
        "with",
        "unexpected",
        "end",
        "of",
        "file",
        "in",
        "src/lib.rs",
        "at",
        "line",
        "and",
        "fix",
        "is",
        "to",
        "check",
        "length",
        "first",
        "then",
        "read",
        "token",
    ];
    let mut state = seed as u64 + 0x9e37_79b9_7f4a_7c15;
    let mut text = format!("{seed}:");
    while text.len() < 1_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(WORDS[(state >> 59) as usize]);
    }
    text
}
