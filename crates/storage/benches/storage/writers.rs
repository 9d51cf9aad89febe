//! Writers against hand-written SQL with the same rows and the same durability.

use std::{path::Path, sync::Arc, time::Instant};

use contexture_core::{Edit, PageStorage};
use contexture_storage::sqlite::SqliteStorage;

use futures::{executor::block_on, future::join_all};

use crate::{
    hand::Hand,
    median,
    session::{Session, page, text},
};

const ROUNDS: usize = 9;
const WRITERS: usize = 32;
/// Commits of the one writer in a round, and of each of many.
const ALONE: usize = 200;
const EACH: usize = 40;

pub(crate) fn run(dir: &Path) {
    let storage: Arc<dyn PageStorage> =
        Arc::new(SqliteStorage::open(&dir.join("ours.db"), Default::default()).unwrap());
    let sessions: Vec<Session> =
        (0..WRITERS).map(|at| Session::on(storage.clone(), &format!("s{at}"))).collect();
    let mut hand = Hand::new(&dir.join("hand.db"), WRITERS);
    let mut seed = 0;
    let mut next = |count: usize| {
        seed += count;
        seed
    };

    let mut figures = Vec::new();
    for _ in 0..ROUNDS {
        let first = next(ALONE);
        let hand = by_hand(&mut hand, first, ALONE, 1, 1);
        let first = next(ALONE);
        let pages = pages(first, ALONE);
        let ours =
            seconds(|| pages.into_iter().for_each(|page| block_on(append(&sessions[0], page))));
        figures.push((hand, ours));
    }
    let micros = |seconds: f64| seconds / ALONE as f64 * 1e6;
    report("one writer, µs a commit", &figures, micros, |hand, ours| ours / hand);

    let total = WRITERS * EACH;
    for (how, spread, run) in [
        ("32 tasks on 32 sessions", true, tasks as fn(Work<'_>)),
        ("32 tasks on one session", false, tasks),
        ("32 threads on 32 sessions", true, threads),
        ("32 threads on one session", false, threads),
    ] {
        let writers: Vec<&Session> =
            (0..WRITERS).map(|at| &sessions[if spread { at } else { 0 }]).collect();
        let mut figures = Vec::new();
        for _ in 0..ROUNDS {
            let first = next(total);
            let hand = by_hand(&mut hand, first, total, if spread { WRITERS } else { 1 }, WRITERS);
            let first = next(total);
            let work =
                (0..WRITERS).map(|at| (writers[at], pages(first + at * EACH, EACH))).collect();
            let ours = seconds(|| run(work));
            figures.push((hand, ours));
        }
        let rate = |seconds: f64| total as f64 / seconds;
        report(&format!("{how}, commits/s"), &figures, rate, |hand, ours| hand / ours);
    }
}

/// Each writer's session and what it appends.
type Work<'a> = Vec<(&'a Session, Vec<Edit>)>;

/// Each writer is a task of one executor, as agents of a host are.
fn tasks(work: Work<'_>) {
    let write = |(session, pages): (_, Vec<Edit>)| async move {
        for page in pages {
            append(session, page).await;
        }
    };
    block_on(join_all(work.into_iter().map(write)));
}

/// Each writer is a thread of its own.
fn threads(work: Work<'_>) {
    std::thread::scope(|scope| {
        for (session, pages) in work {
            scope.spawn(move || pages.into_iter().for_each(|page| block_on(append(session, page))));
        }
    });
}

fn pages(first: usize, count: usize) -> Vec<Edit> {
    (first..first + count).map(|seed| Edit::CreateDetailPage(page(seed))).collect()
}

async fn append(session: &Session, page: Edit) {
    session.system.apply_internal(page).await.unwrap();
}

fn seconds(run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    began.elapsed().as_secs_f64()
}

/// Seconds by hand: in SQLite alone, and with making the rows.
type ByHand = (f64, f64);

fn by_hand(hand: &mut Hand, first: usize, count: usize, sessions: usize, group: usize) -> ByHand {
    let texts: Vec<String> = (first..first + count).map(text).collect();
    let (mut making, mut writing) = (0.0, 0.0);
    for (at, texts) in texts.chunks(group).enumerate() {
        let began = Instant::now();
        let rows = hand.rows(texts, first + at * group, sessions);
        making += began.elapsed().as_secs_f64();
        writing += seconds(|| hand.commit(&rows));
    }
    (writing, writing + making)
}

fn report(
    what: &str,
    figures: &[(ByHand, f64)],
    unit: impl Fn(f64) -> f64,
    ratio: impl Fn(f64, f64) -> f64,
) {
    let middle =
        |figure: &dyn Fn(&(ByHand, f64)) -> f64| median(figures.iter().map(figure).collect());
    println!(
        "writers: {what}: by hand {:.0} with rows ready, {:.0} with making them, ours {:.0}; ratio {:.2} and {:.2}",
        unit(middle(&|figure| figure.0.0)),
        unit(middle(&|figure| figure.0.1)),
        unit(middle(&|figure| figure.1)),
        middle(&|figure| ratio(figure.0.0, figure.1)),
        middle(&|figure| ratio(figure.0.1, figure.1)),
    );
}
