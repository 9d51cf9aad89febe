//! Damaged files, repaired: after it a check is clean, every page is there with its text or a
//! placeholder, and the session can be written.

use std::{
    collections::BTreeMap,
    fmt, fs,
    os::unix::fs::symlink,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Mutex,
};

use contexture_core::{
    Edit, NewSegment, SegmentKind, Timestamp,
    storage::{
        RunPut,
        check::{Losses, Repaired, check_storage, is_lost, repair_storage},
    },
};
use contexture_storage::{FilesStorage, SqliteOptions, SqliteStorage};
use contexture_testkit::{
    backend::{Backend, Home},
    conformance::sent,
    fixture::{self, apply, leaf, page, segment, session_id, user, valid},
    image::Image,
};
use futures::executor::block_on;

use crate::damage::{Files, collect};

/// How much is damaged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    /// How many places of a file are flipped, and how many sectors zeroed, at most.
    places: usize,
    /// One of how many is done.
    of: usize,
}

impl Measure {
    /// A sample that takes seconds.
    pub(crate) const SAMPLE: Self = Self { places: 1, of: 3 };
    /// Minutes.
    pub(crate) const WHOLE: Self = Self { places: 12, of: 1 };
}

/// How many repair at once, each in places of its own.
const WORKERS: usize = 2;

/// What a disk writes or loses at once.
const SECTOR: usize = 512;

/// What came of all repairs.
#[derive(Default)]
pub(crate) struct Summary {
    name: &'static str,
    damaged: u64,
    clean: u64,
    accepted: u64,
    /// How many of those kept every text.
    whole: u64,
    wrong: Vec<String>,
}

impl Summary {
    pub(crate) fn is_clean(&self) -> bool {
        // Files hold everything in pieces, so everything around a lost piece must come back.
        self.name != "files" || (self.wrong.is_empty() && self.clean > 0)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, damaged, clean, accepted, whole, wrong } = self;
        let wrong = wrong.len();
        write!(
            f,
            "repair: {name}: {damaged} damaged, {clean} clean after --repair, {accepted} after \
             --accept-losses, {wrong} not; {whole} kept every text"
        )
    }
}

pub(crate) fn run(backend: &dyn Backend, measure: Measure) -> Summary {
    let summary = Mutex::new(Summary { name: backend.name(), ..Summary::default() });
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let summary = &summary;
            scope.spawn(move || {
                let sample = Sample::new(backend);
                let mut count = 0;
                sample.damages(measure, &mut |what, damage| {
                    count += 1;
                    if count % (WORKERS * measure.of) == worker {
                        sample.repair(what, damage, summary);
                    }
                });
            });
        }
    });
    let summary = summary.into_inner().unwrap();
    summary.wrong.iter().take(20).for_each(|wrong| println!("wrong: {wrong}"));
    summary
}

/// A small storage, and all it holds.
struct Sample {
    name: &'static str,
    home: Box<dyn Home>,
    folder: PathBuf,
    files: Files,
    image: Image,
    /// What every page ever said.
    texts: BTreeMap<String, Vec<contexture_core::storage::ContentHash>>,
}

/// Does something to the files.
type Damage<'a> = &'a dyn Fn() -> std::io::Result<()>;

impl Sample {
    fn new(backend: &dyn Backend) -> Self {
        let home = backend.home();
        let folder = home.folder().expect("it keeps files");
        let mut texts: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let storage = home.open();
        let image = block_on(async {
            let system = fixture::session(storage.clone()).await;
            let other = NewSegment::new(segment("notes"), SegmentKind::Custom);
            let mut update = contexture_core::PageUpdate::of(page("usr-2"));
            update.detail = Some("another text".to_owned());
            for edit in [
                fixture::new_leaf("sys-0", "prompt"),
                fixture::new_directory("usr-0", "dir", &[]),
                fixture::new_leaf("usr-1", "one"),
                fixture::new_leaf("usr-1", "two"),
                Edit::AddTurn { segment: segment("usr"), messages: vec![user("a question")] },
                Edit::AddSegment(other),
                fixture::new_leaf("notes-0", "note"),
                Edit::PinPage(page("usr-2")),
                Edit::FocusPage(page("usr-2")),
                Edit::SetCustom { key: valid("goal"), value: Some("win".to_owned()) },
                Edit::UpdatePage(update),
                Edit::RemovePage(page("usr-3")),
                fixture::new_leaf("usr-1", "gone"),
                Edit::PurgePage(page("usr-5")),
                fixture::new_leaf("usr-1", "undone"),
                Edit::Undo { revision: None },
            ] {
                apply(&system, edit).await;
                let image = Image::read(&*storage, &session_id()).await.unwrap();
                for page in &image.pages {
                    let detail = page.detail().map(|detail| detail.content);
                    texts.entry(page.index.to_string()).or_default().extend(detail);
                }
            }
            let at = Timestamp::from_millis(fixture::BEGIN);
            system.keep_run(&RunPut::first(valid("run"), "{}", at)).await.unwrap();
            let ledger =
                contexture_core::storage::LedgerKey { view: valid("bot"), format: valid("openai") };
            storage.record(&session_id(), &ledger, &sent(1)).await.unwrap();
            Image::read(&*storage, &session_id()).await.unwrap()
        });
        drop(storage);
        let mut files = Files::new();
        collect(&folder, &folder, &mut files);
        Self { name: backend.name(), home, folder, files, image, texts }
    }

    /// Visits every damage.
    fn damages(&self, measure: Measure, visit: &mut dyn FnMut(String, Damage<'_>)) {
        for (path, bytes) in &self.files {
            let place = self.folder.join(path);
            // Without what is local to the machine, as git brings it to another.
            let is_local = path.starts_with("store/.local");
            let alone = self.name == "files" && !is_local;
            for cloned in [false, true].into_iter().take(1 + usize::from(alone)) {
                let mut visit = |what: String, damage: Damage<'_>| {
                    let name = path.display();
                    let without = if cloned { ", without .local" } else { "" };
                    visit(format!("{name} {what}{without}"), &|| {
                        if cloned {
                            fs::remove_dir_all(self.folder.join("store/.local"))?;
                        }
                        damage()
                    });
                };
                self.damage(&place, bytes, measure, &mut visit);
            }
        }
    }

    fn damage(
        &self,
        place: &Path,
        bytes: &[u8],
        measure: Measure,
        visit: &mut dyn FnMut(String, Damage<'_>),
    ) {
        // Where everything lies in one file, nothing is left without it.
        if self.name == "files" {
            let removed = || fs::remove_file(place);
            visit("removed".to_owned(), &removed);
            visit("a folder".to_owned(), &|| removed().and_then(|()| fs::create_dir(place)));
            visit("a link to nothing".to_owned(), &|| {
                removed().and_then(|()| symlink("/nothing/there", place))
            });
            visit("emptied".to_owned(), &|| fs::write(place, ""));
            visit("cut in half".to_owned(), &|| fs::write(place, &bytes[..bytes.len() / 2]));
        }
        if let Some(at) = bytes.windows(4).rposition(|four| four == b"text") {
            let mut edited = bytes.to_vec();
            edited[at..at + 4].copy_from_slice(b"word");
            visit("with a word edited".to_owned(), &|| fs::write(place, &edited));
        }
        let stride = bytes.len().div_ceil(measure.places).max(1);
        for at in (stride / 2..bytes.len()).step_by(stride) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1;
            visit(format!("with byte {at} flipped"), &|| fs::write(place, &flipped));
        }
        let sectors = bytes.len().div_ceil(SECTOR);
        for sector in (0..sectors).step_by(sectors.div_ceil(measure.places).max(1)) {
            let (from, to) = (sector * SECTOR, ((sector + 1) * SECTOR).min(bytes.len()));
            let mut zeroed = bytes.to_vec();
            zeroed[from..to].fill(0);
            visit(format!("with sector {sector} zeroed"), &|| fs::write(place, &zeroed));
        }
    }

    fn repair(&self, what: String, damage: Damage<'_>, summary: &Mutex<Summary>) {
        crate::damage::reset(&self.folder, &self.files);
        damage().unwrap_or_else(|error| panic!("{what}: {error}"));
        let repaired = catch_unwind(AssertUnwindSafe(|| block_on(self.try_repair())));
        let repaired = repaired.unwrap_or_else(|_| Err("it panicked".to_owned()));
        let mut summary = summary.lock().unwrap();
        summary.damaged += 1;
        match repaired {
            Ok(RepairOutcome { accepted, whole }) => {
                summary.clean += u64::from(!accepted);
                summary.accepted += u64::from(accepted);
                summary.whole += u64::from(whole);
            }
            Err(how) => summary.wrong.push(format!("{what}: {how}")),
        }
    }

    /// Repairs as `store check --repair` does.
    async fn try_repair(&self) -> Result<RepairOutcome, String> {
        let text = |error: contexture_core::storage::StorageError| error.to_string();
        let at = Timestamp::from_millis(fixture::BEGIN);
        match self.name {
            "files" => FilesStorage::make_ready(&self.folder.join("store")),
            "sqlite" => {
                let file = self.folder.join("contexture.db");
                SqliteStorage::salvage(&file, SqliteOptions::default())
            }
            _ => Ok(Vec::new()),
        }
        .map_err(text)?;
        let storage = self.home.try_open().map_err(text)?;
        let mut accepted = false;
        let mut repaired = repair_storage(&*storage, Losses::Report, at).await.map_err(text)?;
        if !repaired.problems.is_empty() {
            accepted = true;
            repaired = repair_storage(&*storage, Losses::Accept, at).await.map_err(text)?;
        }
        let Repaired { done, problems } = repaired;
        if !problems.is_empty() {
            return Err(format!("{problems:?} after {done:?}"));
        }
        let image = Image::read(&*storage, &session_id()).await.map_err(text)?;
        let mut whole = true;
        for page in &self.image.pages {
            let found = image.pages.iter().find(|found| found.index == page.index);
            let Some(found) = found else { return Err(format!("page {} is gone", page.index)) };
            if found.is_contents() != page.is_contents() {
                return Err(format!("page {} is of another type", page.index));
            }
            let Some(detail) = found.detail() else { continue };
            let said = self.texts.get(&page.index.to_string());
            let is_known = said.is_some_and(|texts| texts.contains(&detail.content));
            // Words that nobody proved are adopted only where the repair says so.
            let index = &page.index;
            let is_said =
                done.iter().any(|line| line.contains(&format!("the text of page {index} is not")));
            // A loss that was accepted says so in other words.
            if !is_known && !is_lost(found) && !is_said && !accepted {
                return Err(format!("page {} never said that", page.index));
            }
            whole &= page.detail() == Some(detail);
        }
        let again = repair_storage(&*storage, Losses::Report, at).await.map_err(text)?;
        if again != Repaired::default() {
            return Err(format!("a second repair has something to do: {again:?}"));
        }
        let system = fixture::reopen(storage.clone()).await;
        leaf(&system, "usr-0", "life goes on").await;
        let problems = check_storage(&*storage).await.map_err(text)?;
        if !problems.is_empty() {
            return Err(format!("after another edit: {problems:?}"));
        }
        Ok(RepairOutcome { accepted, whole })
    }
}

struct RepairOutcome {
    accepted: bool,
    whole: bool,
}
