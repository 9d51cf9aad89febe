//! Faults at every write of a scripted run: whatever strikes, what the context system answers is
//! what the storage holds, and that is the state before or after the edit, never between.
//!
//! One pass for each kind of fault covers every write. At each step the fault strikes the step's one
//! write; then the storage is compared with the states the model had before and after the step. If
//! the edit was not made it is made again, else the script goes on. Either way the state is the one
//! that the script has without faults, so the next write meets the fault in the state in which it
//! would have met it in a run of its own. Only the context system's memory has a longer past, which
//! makes the test harder, not easier: it lives through all faults and is never opened anew.
//!
//! Where each answer takes milliseconds the kinds of faults take turns ([`Passes::InTurn`]). Where a
//! server gives them, they are mostly asked of a snapshot of the state that is compared.

mod answers;
mod script;

use std::{
    cell::Cell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use contexture_core::{
    Clock, ContextSystem, ErrorKind, MemoryStorage, PageStorage, Timestamp,
    storage::{Commit, Mark, NewSession, StorageError, check::check_session},
};
use futures::{executor::block_on, join};

use crate::{
    backend::Backend,
    fault::{Fault, FaultyStorage, step_aside},
    fixture::{BEGIN, session_id},
    image::{Image, difference},
};
use answers::answers;
use script::Step;

pub use script::EDITS;

/// How often the storage verifies itself.
const VERIFY: usize = 25;

/// What came of all faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The storage.
    pub name: &'static str,
    /// How many faults struck.
    pub faults: u64,
    /// After how many something acknowledged was gone.
    pub lost: u64,
    /// After how many the state was neither that before nor that after, or memory and storage
    /// differed.
    pub between: u64,
    /// What was seen, the first few.
    pub notes: Vec<String>,
}

impl Summary {
    /// Tells whether nothing was lost and nothing half done.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.between == 0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, faults, lost, between, .. } = self;
        write!(f, "faults: {name}: {faults} faults, {lost} lost, {between} between")
    }
}

/// Which faults strike which writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// Every kind of fault strikes every write.
    EveryKind,
    /// Every write is struck twice: once so that it is not made or late, once so that it is made and
    /// not heard of. The kinds take turns.
    InTurn,
}

impl Passes {
    fn faults(self) -> &'static [&'static [Fault]] {
        match self {
            Passes::EveryKind => &[
                &[Fault::Before],
                &[Fault::After],
                &[Fault::Delay],
                &[Fault::CutBefore],
                &[Fault::CutAfter],
            ],
            Passes::InTurn => &[
                &[Fault::Before, Fault::CutBefore, Fault::Delay],
                &[Fault::After, Fault::CutAfter],
            ],
        }
    }
}

/// Lets faults strike every write of the script.
pub fn run(backend: &dyn Backend, passes: Passes) -> Summary {
    let mut summary =
        Summary { name: backend.name(), faults: 0, lost: 0, between: 0, notes: vec![] };
    let script = Script::new();
    for faults in passes.faults() {
        let home = backend.home();
        let is_remote = home.locator().is_some() && home.folder().is_none();
        block_on(Pass::begin(&script, faults, home.open(), is_remote)).run(&mut summary);
    }
    summary
}

/// A clock that stands still within a step, so that an edit made again is the same edit.
#[derive(Debug)]
struct StepClock(AtomicI64);

impl StepClock {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(BEGIN)))
    }

    fn at(&self, step: usize) {
        self.0.store(BEGIN + step as i64 + 1, Ordering::Relaxed);
    }
}

impl Clock for StepClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The steps, and what the model held and answered before the first and after each.
struct Script {
    steps: Vec<Step>,
    images: Vec<Image>,
    answers: Vec<String>,
}

impl Script {
    fn new() -> Self {
        let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
        let clock = StepClock::new();
        let system = block_on(open(storage.clone(), clock.clone()));
        let steps = script::steps();
        let (mut images, mut answered) = (Vec::new(), Vec::new());
        for step in 0..=steps.len() {
            images.push(block_on(read(&*storage)));
            answered.push(block_on(answers(&system)));
            if let Some(next) = steps.get(step) {
                clock.at(step);
                block_on(next.make(&system)).unwrap_or_else(|error| panic!("{next:?}: {error}"));
            }
        }
        Self { steps, images, answers: answered }
    }
}

/// Makes the session, with a mark that all storages share, and opens it.
async fn open(storage: Arc<dyn PageStorage>, clock: Arc<StepClock>) -> ContextSystem {
    let mark = Some(Mark::from_seed(b"faults"));
    let new = NewSession { app: "testkit".to_owned(), at: clock.now(), mark };
    let commit = Commit { create: Some(new), change: None };
    storage.commit(&session_id(), commit).await.expect("a new session");
    ContextSystem::open(storage, session_id(), clock).await.expect("it was just made")
}

/// The script with one kind of fault at every write.
struct Pass<'a> {
    script: &'a Script,
    faults: &'static [Fault],
    storage: Arc<dyn PageStorage>,
    faulty: Arc<FaultyStorage>,
    clock: Arc<StepClock>,
    system: ContextSystem,
    /// Whether a server is asked.
    is_remote: bool,
}

impl<'a> Pass<'a> {
    async fn begin(
        script: &'a Script,
        faults: &'static [Fault],
        storage: Arc<dyn PageStorage>,
        is_remote: bool,
    ) -> Self {
        let faulty = FaultyStorage::new(storage.clone());
        let clock = StepClock::new();
        let system = open(faulty.clone(), clock.clone()).await;
        Self { script, faults, storage, faulty, clock, system, is_remote }
    }

    /// Returns what strikes at a step.
    fn fault(&self, step: usize) -> Fault {
        self.faults[step % self.faults.len()]
    }

    fn run(&self, summary: &mut Summary) {
        for step in 0..self.script.steps.len() {
            summary.faults += 1;
            if let Err(problem) = block_on(self.step(step)) {
                match problem {
                    WrongState::Lost(_) => summary.lost += 1,
                    WrongState::Between(_) => summary.between += 1,
                }
                let (WrongState::Lost(note) | WrongState::Between(note)) = problem;
                let told = &self.script.steps[step];
                summary
                    .notes
                    .push(format!("{:?} at step {step}, {told:?}: {note}", self.fault(step)));
                // What follows would only repeat it.
                return;
            }
        }
        assert!(!self.faulty.is_armed());
        assert_eq!(self.faulty.writes(), self.expected_writes(), "a step is one write");
    }

    /// The one that made the session, one for each step, and one more where it was made again.
    fn expected_writes(&self) -> u64 {
        let writes = |step| match self.fault(step) {
            Fault::Before | Fault::CutBefore => 2,
            Fault::After | Fault::CutAfter | Fault::Delay => 1,
        };
        1 + (0..self.script.steps.len()).map(writes).sum::<u64>()
    }

    async fn step(&self, step: usize) -> Result<(), WrongState> {
        let (made, next) = (&self.script.steps[step], step + 1);
        let fault = self.fault(step);
        self.clock.at(step);
        self.faulty.arm(fault, 1);
        let answer = if fault == Fault::Delay {
            let done = Cell::new(false);
            let edit = async {
                let answer = made.make(&self.system).await;
                done.set(true);
                answer
            };
            let (answer, watched) = join!(edit, self.watch(step, &done));
            watched?;
            answer
        } else {
            made.make(&self.system).await
        };
        let is_made = match fault {
            Fault::Delay => {
                answer
                    .map_err(|error| WrongState::Between(format!("late, and refused: {error}")))?;
                true
            }
            fault => {
                let kind = answer.err().map(|error| error.kind());
                if kind != Some(ErrorKind::Unavailable) {
                    return Err(WrongState::Between(format!("the caller was told {kind:?}")));
                }
                matches!(fault, Fault::After | Fault::CutAfter)
            }
        };
        if matches!(fault, Fault::CutBefore | Fault::CutAfter) {
            // Nothing is written while it is cut, and whoever asks hears so.
            let refused = made.make(&self.system).await.err().map(|error| error.kind());
            assert_eq!(refused, Some(ErrorKind::Unavailable), "while the connection is cut");
            self.faulty.mend();
        }
        self.compare(if is_made { next } else { step }).await?;
        if !is_made {
            let again = made.make(&self.system).await;
            again.map_err(|error| WrongState::Between(format!("made again: {error}")))?;
            self.compare(next).await?;
        }
        if step.is_multiple_of(VERIFY) || next == self.script.steps.len() {
            self.verify().await?;
        }
        Ok(())
    }

    /// Looks at the storage for as long as a late write takes.
    async fn watch(&self, step: usize, done: &Cell<bool>) -> Result<(), WrongState> {
        loop {
            let is_done = done.get();
            let snapshot = self.storage.snapshot().await.expect("it can be taken");
            let image = match Image::read(&*snapshot, &session_id()).await {
                // A purge meanwhile took what it shows: a storage may say so, and another is taken.
                Err(StorageError::Unavailable { .. }) => {
                    step_aside().await;
                    continue;
                }
                image => image.expect("everything can be read"),
            };
            let images = &self.script.images;
            if image != images[step] && image != images[step + 1] {
                return Err(WrongState::Between(image.difference(&images[step])));
            }
            if is_done {
                return Ok(());
            }
            step_aside().await;
        }
    }

    /// Compares the storage, the context system's memory and a fresh one with the model.
    async fn compare(&self, state: usize) -> Result<(), WrongState> {
        let images = &self.script.images;
        // A snapshot is read without asking a server for each of hundreds of answers.
        let still = self.storage.snapshot().await.expect("it can be taken");
        let image = read(&*still).await;
        if image != images[state] {
            let note = image.difference(&images[state]);
            let earlier = images[..state].contains(&image);
            return Err(if earlier { WrongState::Lost(note) } else { WrongState::Between(note) });
        }
        let expected = &self.script.answers[state];
        // Now and then the server itself is asked.
        let asks_still = self.is_remote && !state.is_multiple_of(VERIFY);
        self.faulty.read_from(asks_still.then(|| still.clone()));
        let warm = answers(&self.system).await;
        self.faulty.read_from(None);
        if warm != *expected {
            return Err(WrongState::Between(format!("memory: {}", difference(&warm, expected))));
        }
        let fresh = ContextSystem::open(still, session_id(), self.clock.clone()).await;
        let fresh = answers(&fresh.expect("the session is there")).await;
        if fresh != *expected {
            return Err(WrongState::Between(format!("storage: {}", difference(&fresh, expected))));
        }
        Ok(())
    }

    async fn verify(&self) -> Result<(), WrongState> {
        let mut problems = self.storage.verify().await.expect("it can be verified");
        let session = check_session(&*self.storage, &session_id()).await;
        problems.extend(session.expect("it can be read"));
        if problems.is_empty() { Ok(()) } else { Err(WrongState::Between(problems.join("; "))) }
    }
}

async fn read(storage: &dyn PageStorage) -> Image {
    Image::read(storage, &session_id()).await.expect("everything can be read")
}

enum WrongState {
    Lost(String),
    Between(String),
}
