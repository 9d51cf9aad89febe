//! Damaged files: truncated, flipped, swapped, gone. A clear error or sound data, nothing worse.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt, fs,
    os::unix::fs::symlink,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Mutex,
};

use contexture_core::{
    ContextSystem, Edit, PageStorage,
    storage::{Commit, NewSession, RunPut},
};
use contexture_testkit::{
    backend::{Backend, Home},
    conformance::sent,
    fixture::{self, apply, leaf, page, segment, session_id, user, valid},
    image::Image,
};
use futures::executor::block_on;

/// How much is damaged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    /// Files up to this size are truncated at every byte.
    every_byte: usize,
    /// Larger ones are truncated, and all are flipped, at so many places at most.
    places: usize,
    /// Each file is swapped for so many others at most.
    others: usize,
}

impl Measure {
    /// A sample that takes seconds.
    pub(crate) const SAMPLE: Self = Self { every_byte: 100, places: 8, others: 5 };
    /// Everything; minutes.
    pub(crate) const WHOLE: Self = Self { every_byte: 64 << 10, places: 600, others: usize::MAX };
}

/// How many damage at once, each in places of its own.
const WORKERS: u64 = 2;

/// What came of all damage.
#[derive(Default)]
pub(crate) struct Summary {
    name: &'static str,
    damaged: u64,
    refused: u64,
    named: u64,
    sound: u64,
    wrong: Vec<String>,
    /// Files truncated at every byte.
    every_byte: u64,
}

impl Summary {
    pub(crate) fn is_clean(&self) -> bool {
        // Where everything is sound nothing was damaged.
        self.wrong.is_empty() && self.refused > 0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, damaged, refused, named, sound, wrong, every_byte } = self;
        let wrong = wrong.len();
        write!(
            f,
            "damage: {name}: {damaged} damaged, {refused} refused, {named} named by verify, \
             {sound} sound, {wrong} wrong; {every_byte} files cut at every byte"
        )
    }
}

/// The files of a folder, as they lay.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

// B-11: what is read is what was written, or it is said to be damaged.
pub(crate) fn run(backend: &dyn Backend, measure: Measure) -> Summary {
    let summary = Mutex::new(Summary { name: backend.name(), ..Summary::default() });
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let summary = &summary;
            scope.spawn(move || {
                for shutdown in [Shutdown::Closed, Shutdown::Killed] {
                    Sample::new(backend, measure, shutdown, worker).damage_all(summary);
                }
            });
        }
    });
    let summary = summary.into_inner().unwrap();
    summary.wrong.iter().take(20).for_each(|wrong| println!("wrong: {wrong}"));
    summary
}

/// How the process left its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shutdown {
    Closed,
    /// As they lie while the storage is open: logs and locks beside the rest.
    Killed,
}

/// A small storage, with every state it ever was in.
struct Sample {
    measure: Measure,
    /// Which share of the damage is done to it.
    worker: u64,
    damaged: Cell<u64>,
    home: Box<dyn Home>,
    folder: PathBuf,
    shutdown: Shutdown,
    files: Files,
    states: Vec<Option<Image>>,
}

impl Sample {
    fn new(backend: &dyn Backend, measure: Measure, shutdown: Shutdown, worker: u64) -> Self {
        let home = backend.home();
        let folder = home.folder().expect("it keeps files");
        let mut states = vec![None];
        drop(Self::fill(&*home, &mut states));
        // A little is written after it was closed, so that logs are short.
        let storage = home.open();
        let system = block_on(fixture::reopen(storage.clone()));
        block_on(leaf(&system, "usr-0", "after reopening"));
        states.push(Some(image(&*storage)));
        let mut files = Files::new();
        if shutdown == Shutdown::Killed {
            collect(&folder, &folder, &mut files);
        }
        drop((system, storage));
        if shutdown == Shutdown::Closed {
            collect(&folder, &folder, &mut files);
        }
        Self { measure, worker, damaged: Cell::new(0), home, folder, shutdown, files, states }
    }

    /// Makes one of everything, and notes each state.
    fn fill(home: &dyn Home, states: &mut Vec<Option<Image>>) -> ContextSystem {
        let storage = home.open();
        let at = contexture_core::Timestamp::from_millis(fixture::BEGIN);
        let new = NewSession { app: "testkit".to_owned(), at, mark: None };
        let create = Commit { create: Some(new), change: None };
        block_on(storage.commit(&session_id(), create)).unwrap();
        states.push(Some(image(&*storage)));
        let system = block_on(fixture::reopen(storage.clone()));
        let custom = Edit::SetCustom { key: valid("goal"), value: Some("win".to_owned()) };
        let messages = vec![user(&"a long question ".repeat(150))];
        let new =
            contexture_core::NewSegment::new(segment("usr"), contexture_core::SegmentKind::User);
        for edit in [
            Edit::AddSegment(new),
            fixture::new_directory("usr-0", "dir", &[]),
            fixture::new_leaf("usr-1", "one"),
            fixture::new_leaf("usr-1", "two"),
            Edit::AddTurn { segment: segment("usr"), messages },
            Edit::PinPage(page("usr-2")),
            Edit::FocusPage(page("usr-2")),
            custom,
            Edit::RemovePage(page("usr-3")),
        ] {
            block_on(apply(&system, edit));
            states.push(Some(image(&*storage)));
        }
        let run = RunPut::first(valid("run"), "{}", at);
        block_on(system.keep_run(&run)).unwrap();
        states.push(Some(image(&*storage)));
        let ledger =
            contexture_core::storage::LedgerKey { view: valid("bot"), format: valid("openai") };
        block_on(storage.record(&session_id(), &ledger, &sent(1))).unwrap();
        states.push(Some(image(&*storage)));
        system
    }

    fn damage_all(&self, summary: &Mutex<Summary>) {
        self.reset();
        match self.look() {
            Verdict::Sound => {}
            verdict => panic!("nothing is damaged yet, but {verdict:?}"),
        }
        for (path, bytes) in &self.files {
            self.truncate(path, bytes, summary);
            self.flip(path, bytes, summary);
            self.swap(path, bytes, summary);
        }
    }

    fn truncate(&self, path: &Path, bytes: &[u8], summary: &Mutex<Summary>) {
        // What only processes at work share is made anew by the first one, whatever it holds.
        let shared = path.to_string_lossy().ends_with("-shm");
        let every_byte = bytes.len() <= self.measure.every_byte && !bytes.is_empty() && !shared;
        summary.lock().unwrap().every_byte += u64::from(every_byte);
        let stride = if every_byte { 1 } else { bytes.len().div_ceil(self.measure.places).max(1) };
        for length in (0..bytes.len()).step_by(stride) {
            let what = format!("{} with {length} of {} bytes", path.display(), bytes.len());
            self.damaged(what, summary, || fs::write(self.folder.join(path), &bytes[..length]));
        }
    }

    fn flip(&self, path: &Path, bytes: &[u8], summary: &Mutex<Summary>) {
        let stride = bytes.len().div_ceil(self.measure.places).max(1);
        for (number, at) in (0..bytes.len()).step_by(stride).enumerate() {
            let mask = [1, 0x80, 0xff][number % 3];
            let mut damaged = bytes.to_vec();
            damaged[at] ^= mask;
            let what = format!("{} with byte {at} flipped by {mask}", path.display());
            self.damaged(what, summary, || fs::write(self.folder.join(path), &damaged));
        }
    }

    /// Puts other things in a file's place: nothing, a folder, other files, links.
    fn swap(&self, path: &Path, bytes: &[u8], summary: &Mutex<Summary>) {
        let place = self.folder.join(path);
        let away = tempfile::tempdir().unwrap();
        let copy = away.path().join("copy");
        fs::write(&copy, bytes).unwrap();
        let name = path.display();
        let without = || fs::remove_file(&place);
        self.damaged(format!("{name} removed"), summary, without);
        self.damaged(format!("{name} a folder"), summary, || {
            without().and_then(|()| fs::create_dir(&place))
        });
        self.damaged(format!("{name} a link to a copy"), summary, || {
            without().and_then(|()| symlink(&copy, &place))
        });
        self.damaged(format!("{name} a link to nothing"), summary, || {
            without().and_then(|()| symlink(away.path().join("nothing"), &place))
        });
        self.damaged(format!("{name} a link to itself"), summary, || {
            without().and_then(|()| symlink(&place, &place))
        });
        // From the next one on and around: so a sample lets every file take the place of some other.
        let at = self.files.keys().position(|other| other == path).expect("it is one of them");
        let others = self.files.iter().cycle().skip(at + 1).take(self.files.len() - 1);
        let stride = (self.files.len() - 1).div_ceil(self.measure.others).max(1);
        for (other, theirs) in others.step_by(stride) {
            let what = format!("{name} with what {} holds", other.display());
            self.damaged(what, summary, || fs::write(&place, theirs));
            let what = format!("{name} a link to {}", other.display());
            self.damaged(what, summary, || {
                without().and_then(|()| symlink(self.folder.join(other), &place))
            });
        }
    }

    /// Damages something, looks what comes of it, and notes that.
    fn damaged(
        &self,
        what: String,
        summary: &Mutex<Summary>,
        damage: impl FnOnce() -> std::io::Result<()>,
    ) {
        self.damaged.set(self.damaged.get() + 1);
        if self.damaged.get() % WORKERS != self.worker {
            return;
        }
        self.reset();
        damage().unwrap_or_else(|error| panic!("{what}: {error}"));
        let verdict = catch_unwind(AssertUnwindSafe(|| self.look()));
        let verdict = verdict.unwrap_or_else(|_| Verdict::Wrong("it panicked".to_owned()));
        let mut summary = summary.lock().unwrap();
        summary.damaged += 1;
        match verdict {
            Verdict::Refused => summary.refused += 1,
            Verdict::Named => summary.named += 1,
            Verdict::Sound => summary.sound += 1,
            Verdict::Wrong(how) => {
                let shutdown = self.shutdown;
                summary.wrong.push(format!("{shutdown:?}, {what}: {how}"));
            }
        }
    }

    fn reset(&self) {
        reset(&self.folder, &self.files);
    }

    /// Opens it and reads everything.
    fn look(&self) -> Verdict {
        let Ok(storage) = self.home.try_open() else { return Verdict::Refused };
        let Ok(image) = block_on(Image::read(&*storage, &session_id())) else {
            return Verdict::Refused;
        };
        let image = image.info.is_some().then_some(image);
        if self.states.contains(&image) {
            return Verdict::Sound;
        }
        // Rows may be missing if that is noticed, but none may say what was never said.
        let known = self.states.iter().flatten();
        let says = |page| known.clone().any(|state| state.pages.contains(page));
        if let Some(page) = image.iter().flat_map(|image| &image.pages).find(|page| !says(page)) {
            return Verdict::Wrong(format!("page {} was never like that", page.index));
        }
        match block_on(storage.verify()) {
            Ok(problems) if problems.is_empty() => {
                let newest = self.states.iter().flatten().next_back().expect("it was filled");
                let found = image.map(|image| image.difference(newest));
                Verdict::Wrong(format!("verify finds nothing: {found:?}"))
            }
            _ => Verdict::Named,
        }
    }
}

#[derive(Debug)]
enum Verdict {
    /// Opening or reading said what is wrong.
    Refused,
    /// It can be read, and `verify` says what is wrong.
    Named,
    /// It is a state it once was in.
    Sound,
    Wrong(String),
}

fn image(storage: &dyn PageStorage) -> Image {
    block_on(Image::read(storage, &session_id())).unwrap()
}

/// Reads all files below a folder.
pub(crate) fn collect(root: &Path, folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("it lies within").to_owned();
            files.insert(name, fs::read(path).unwrap());
        }
    }
}

/// Puts every file back.
pub(crate) fn reset(folder: &Path, files: &Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    for (path, bytes) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it lies in the folder")).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
