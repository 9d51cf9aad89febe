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
/// How many write at once.
const CURVE: [usize; 4] = [1, 8, 32, 128];
/// Commits of the one writer in a round, and of many together.
const ALONE: usize = 200;
const TOGETHER: usize = 1_280;

pub(crate) fn run(dir: &Path) {
    let most = CURVE[CURVE.len() - 1];
    let storage: Arc<dyn PageStorage> =
        Arc::new(SqliteStorage::open(&dir.join("ours.db"), Default::default()).unwrap());
    let sessions: Vec<Session> =
        (0..most).map(|at| Session::on(storage.clone(), &format!("s{at}"))).collect();
    let mut hand = Hand::new(&dir.join("hand.db"), most);
    let mut seed = 0;
    let mut next = |count: usize| {
        seed += count;
        seed
    };
    for writers in CURVE {
        let each = if writers == 1 { ALONE } else { TOGETHER / writers };
        let total = writers * each;
        let ways = [("tasks", tasks as fn(Work<'_>)), ("threads", threads)];
        // One writer has one session, and is a task or a thread alike.
        let ways = if writers == 1 { &ways[..1] } else { &ways[..] };
        let spreads = if writers == 1 { &[1][..] } else { &[writers, 1][..] };
        for (how, run) in ways {
            for &spread in spreads {
                let own: Vec<&Session> = (0..writers).map(|at| &sessions[at % spread]).collect();
                let mut figures = Vec::new();
                for _ in 0..ROUNDS {
                    let hand = by_hand(&mut hand, next(total), total, spread, writers);
                    let first = next(total);
                    let work =
                        (0..writers).map(|at| (own[at], pages(first + at * each, each))).collect();
                    figures.push((hand, seconds(|| run(work))));
                }
                let what = match (writers, spread) {
                    (1, _) => "one writer".to_owned(),
                    (_, 1) => format!("{writers} {how} on one session"),
                    _ => format!("{writers} {how} on {spread} sessions"),
                };
                let rate = |seconds: f64| total as f64 / seconds;
                report(&format!("{what}, commits/s"), &figures, rate, |hand, ours| hand / ours);
            }
        }
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
    session.system.as_system().apply(page).await.unwrap();
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
