//! Many writers on one session: no update is lost, no number is used twice, nothing hangs.
//!
//! [`prepare`] once, [`work`] from any number of threads or processes, [`verify`] at the end. A test
//! on several processes calls `work` in each with its own context system on the same storage.

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    AgentContext, ContextSystem, Edit, Error, ErrorKind, PageIndex, PageUpdate, Permission,
    SegmentKind, storage::check::check_session,
};
use futures::executor::block_on;

use crate::{
    fixture::{add_segment, agent, apply, assistant, description, new_leaf, page, segment, user},
    state::scan,
};

/// How many pages a round of one writer makes in `usr`: a note, a draft that it moves, a turn, and a
/// page that it removes.
const PAGES: u64 = 4;

/// Makes what the writers share: a counter `usr-1`, directories `usr-2` and `usr-3`, a segment `oth`.
pub async fn prepare(system: &ContextSystem) {
    apply(system, new_leaf("usr-0", "counter")).await;
    let mut zero = PageUpdate::of(page("usr-1"));
    zero.description = Some(description("0"));
    apply(system, Edit::UpdatePage(zero)).await;
    for name in ["from", "to"] {
        apply(system, crate::fixture::new_directory("usr-0", name, &[])).await;
    }
    add_segment(system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
}

/// Does the rounds of one writer, named by its number.
pub fn work(system: &ContextSystem, writer: u64, rounds: u64) {
    let agent = agent(system, &format!("writer-{writer}"));
    block_on(async {
        for round in 0..rounds {
            let fail = |error: Error| panic!("writer {writer}, round {round}: {error}");
            mixed_edits(system, &agent, writer, round).await.unwrap_or_else(fail);
            count_up(&agent).await.unwrap_or_else(fail);
        }
    });
}

async fn mixed_edits(
    system: &ContextSystem,
    agent: &AgentContext,
    writer: u64,
    round: u64,
) -> Result<(), Error> {
    let name = format!("note {writer} {round}");
    let note = agent.create_detail_page(&name, "", &name, "usr-0").await?;
    agent.expand_details(&note).await?;
    agent.pin_page(&note).await?;
    let draft =
        agent.create_detail_page(&format!("draft {writer} {round}"), "", "d", "usr-2").await?;
    agent.move_page(&draft, "usr-3").await?;
    agent.add_turn(vec![user(&format!("turn {writer} {round}"))]).await?;
    agent.extend_turn(vec![assistant("answer")]).await?;
    let gone =
        agent.create_detail_page(&format!("gone {writer} {round}"), "", "g", "usr-2").await?;
    agent.remove_page(&gone).await?;
    // Both lists are enumerated while others add to them.
    let carried = agent.create_detail_page(&name, "", "c", "oth-0").await?;
    agent.update_page(&carried, &format!("carried {writer} {round}"), "").await?;
    let mistake = agent.update_page(&note, "mistake", "").await?;
    agent.undo(Some(mistake.revision)).await?;
    if round == 0 {
        system.as_system().apply(Edit::PinPage(note)).await?;
    }
    Ok(())
}

/// Reads the counter, adds one, writes it if nobody else has; else begins again.
async fn count_up(agent: &AgentContext) -> Result<(), Error> {
    loop {
        let counter = agent.get_page("usr-1").await?.page;
        let count: u64 = counter.description.as_str().parse().expect("the counter counts");
        let mut update = PageUpdate::of(counter.index.clone());
        update.description = Some(description(&(count + 1).to_string()));
        update.if_version = Some(counter.version);
        match agent.apply(Edit::UpdatePage(update)).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
    }
}

/// Checks that everything every writer did is there, once.
pub async fn verify(system: &ContextSystem, writers: u64, rounds: u64) {
    let storage = &*system.storage();
    let session = system.session();
    let counter =
        system.as_system().reader().page(&page("usr-1")).await.expect("the counter stands");
    assert_eq!(
        counter.page.description.as_str(),
        (writers * rounds).to_string(),
        "updates were lost"
    );

    let pages = scan(storage, session, &segment("usr")).await;
    let numbers: BTreeSet<u64> = pages.iter().map(|page| page.index.number()).collect();
    // At least: a turn whose page is no longer last in line goes on in a new one.
    let least = 4 + PAGES * writers * rounds;
    assert!(pages.len() as u64 >= least, "{} pages, at least {least} were made", pages.len());
    assert_eq!(numbers.len(), pages.len(), "a number was used twice");
    assert_eq!(numbers.last().map(|last| last + 1), Some(pages.len() as u64), "numbers have gaps");

    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for page in &pages {
        *names.entry(page.name.as_str()).or_default() += 1;
    }
    for writer in 0..writers {
        for round in 0..rounds {
            for what in ["note", "draft", "turn", "gone"] {
                let name = format!("{what} {writer} {round}");
                assert_eq!(names.get(name.as_str()), Some(&1), "{name}");
            }
        }
    }
    let under = |parent: &str, listed: bool| {
        let parent: PageIndex = page(parent);
        let here = |page: &&contexture_core::Page| {
            page.parent.as_ref() == Some(&parent) && page.standing.is_listed() == listed
        };
        pages.iter().filter(here).count() as u64
    };
    let each = writers * rounds;
    assert_eq!(
        (under("usr-3", true), under("usr-2", true), under("usr-2", false)),
        (each, 0, each)
    );
    let problems = check_session(storage, session).await.expect("it can be read");
    assert!(problems.is_empty(), "{problems:?}");
    let problems = storage.verify().await.expect("it can be verified");
    assert!(problems.is_empty(), "{problems:?}");
}

/// Lets `writers` threads work at once, each on the context system that `open` gives it.
pub fn run(open: impl Fn(u64) -> ContextSystem + Sync, writers: u64, rounds: u64) {
    block_on(prepare(&open(0)));
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let open = &open;
            scope.spawn(move || work(&open(writer), writer, rounds));
        }
    });
    block_on(verify(&open(0), writers, rounds));
}
