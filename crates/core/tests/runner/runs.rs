//! Run records: moved on together with an edit, never by an agent, never by undo.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, EditOutcome, Error, ErrorKind, MemoryStorage, PageUpdate, Principal,
    Result, Revision, Timestamp,
    storage::{EditLimits, RunKey, RunPut, RunRecord, StorageError, SystemSettings, Version},
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{
        TickingClock, agent, apply, assistant, calls, leaf, memory, page, reopen, returned,
        session, session_id, user, valid,
    },
};
use futures::executor::block_on;

fn first(key: &str, value: &str) -> RunPut {
    RunPut::first(valid(key), value, Timestamp::from_millis(7))
}

fn next(record: &RunRecord, value: &str) -> RunPut {
    record.next(value, Timestamp::from_millis(8))
}

async fn only(system: &ContextSystem) -> RunRecord {
    let mut records = system.runs("").await.unwrap();
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}

#[track_caller]
fn assert_moved(answer: Result<EditOutcome>) {
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(matches!(error, Error::Storage(StorageError::RunMoved { .. })), "{error:?}");
    assert_eq!(error.to_string(), "run 'run/1' was advanced by another process");
}

fn rename(index: &str, name: &str) -> Edit {
    let mut update = PageUpdate::of(page(index));
    update.name = Some(valid(name));
    Edit::UpdatePage(update)
}

#[test]
fn keys_are_validated_once() {
    assert_eq!(valid::<RunKey>(" run/α 1 ").as_str(), "run/α 1");
    assert!("k".repeat(200).parse::<RunKey>().is_ok());
    for bad in ["", " ", "a\nb", "a\u{0}b", &"k".repeat(201)] {
        assert!(bad.parse::<RunKey>().is_err(), "{bad:?}");
    }
}

// The exchange an agent's loop has finished and the record of its run move in one commit.
#[test]
fn an_exchange_and_its_run_move_together() {
    block_on(async {
        let system = memory().await;
        let bot = agent(&system, "bot");
        bot.add_turn(vec![user("please")]).await.unwrap();
        assert_eq!(system.keep_run(&first("run/1", "calling")).await.unwrap(), Version(1));
        let calling = only(&system).await;
        let revision = system.info().await.unwrap().revision;

        let exchange = vec![calls("c1", "{}"), returned("c1", "found")];
        let extend = Edit::ExtendTurn { segment: valid("usr"), messages: exchange };
        let put = next(&calling, "called");
        let outcome = system.apply_with_runs(bot.principal(), &extend, &[put]).await.unwrap();
        assert_eq!(outcome.revision, revision.next());
        let called = only(&system).await;
        assert_eq!((called.version, called.value.as_str()), (Version(2), "called"));
        // The edit is the agent's own.
        let page = bot.get_page("usr-1").await.unwrap().page;
        assert_eq!((page.author.to_string().as_str(), page.detail().unwrap().messages), ("bot", 3));

        // Taking it back leaves the record: the call was made, whatever becomes of the page.
        bot.undo(None).await.unwrap();
        assert_eq!(bot.get_messages("usr-1").await.unwrap().len(), 1);
        assert_eq!(only(&system).await, called);
        bot.undo(Some(outcome.revision.next())).await.unwrap();
        assert_eq!(bot.get_messages("usr-1").await.unwrap().len(), 3);
        assert_eq!(only(&system).await, called);
    });
}

// A refused edit leaves the record; the edit is checked for the agent, the record is not its to name.
#[test]
fn what_is_refused_moves_nothing() {
    block_on(async {
        let system = memory().await;
        let bot = agent(&system, "bot");
        leaf(&system, "sys-0", "prompt").await;
        system.keep_run(&first("run/1", "one")).await.unwrap();
        let one = only(&system).await;
        let put = [next(&one, "two")];
        let edit = rename("sys-1", "mine");
        let refused = system.apply_with_runs(bot.principal(), &edit, &put).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        assert_eq!(only(&system).await, one);
        // For the system side the same edit stands.
        system.apply_with_runs(&Principal::System, &edit, &put).await.unwrap();
        assert_eq!(only(&system).await.value, "two");

        let twice = [next(&only(&system).await, "x"), next(&only(&system).await, "y")];
        let refused =
            system.apply_with_runs(&Principal::System, &rename("sys-1", "z"), &twice).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(only(&system).await.value, "two");
    });
}

// Where others changed what the edit was based on it is decided again; where the run was moved on it
// is not.
#[test]
fn only_the_edit_is_decided_again() {
    block_on(async {
        let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
        let system = session(storage.clone()).await;
        let other = reopen(storage.clone()).await;
        leaf(&system, "usr-0", "note").await;
        system.keep_run(&first("run/1", "one")).await.unwrap();
        let one = only(&system).await;

        apply(&other, rename("usr-1", "theirs")).await;
        storage.reset();
        let put = [next(&one, "two")];
        system.apply_with_runs(&Principal::System, &rename("usr-1", "ours"), &put).await.unwrap();
        assert_eq!(storage.count("commit"), 2, "the first found the page changed");
        let two = only(&system).await;
        assert_eq!((two.version, two.value.as_str()), (Version(2), "two"));

        other.keep_run(&next(&two, "theirs")).await.unwrap();
        apply(&other, rename("usr-1", "theirs again")).await;
        storage.reset();
        let put = [next(&two, "three")];
        assert_moved(
            system.apply_with_runs(&Principal::System, &rename("usr-1", "never"), &put).await,
        );
        assert_eq!(storage.count("commit"), 1, "it is not tried again");
        assert_eq!(only(&system).await.value, "theirs");
        let page = reopen(storage.clone())
            .await
            .as_system()
            .reader()
            .page(&page("usr-1"))
            .await
            .unwrap()
            .page;
        assert_eq!(page.name.as_str(), "theirs again");
    });
}

// Of many loops that hold the same record exactly one takes the step.
#[test]
fn one_of_many_takes_a_step() {
    let system = block_on(memory());
    block_on(system.keep_run(&first("run/1", "one"))).unwrap();
    let one = block_on(only(&system));
    let taken: usize = std::thread::scope(|scope| {
        let step = |number: usize| {
            let (system, one) = (&system, &one);
            scope.spawn(move || {
                let messages = vec![user("go"), assistant(&format!("step {number}"))];
                let edit = Edit::AddTurn { segment: valid("usr"), messages };
                let put = [next(one, &number.to_string())];
                block_on(system.apply_with_runs(&Principal::System, &edit, &put)).is_ok()
            })
        };
        let steps: Vec<_> = (0..8).map(step).collect();
        steps.into_iter().map(|step| usize::from(step.join().unwrap())).sum()
    });
    assert_eq!(taken, 1);
    block_on(async {
        let messages = system.as_system().reader().messages(&page("usr-1")).await.unwrap();
        let record = only(&system).await;
        assert_eq!(messages[1].plain_text(), format!("step {}", record.value));
        assert_eq!(record.version, Version(2));
        assert_eq!(
            system.as_system().reader().page(&page("usr-2")).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}

#[test]
fn records_have_a_limit_and_no_revision() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        session(storage.clone()).await;
        let settings =
            SystemSettings { limits: EditLimits { detail_bytes: 10 }, ..SystemSettings::default() };
        let clock = TickingClock::new();
        let system =
            ContextSystem::open_with(storage, session_id(), clock, settings).await.unwrap();
        let before = system.info().await.unwrap();
        system.keep_run(&first("run/1", "0123456789")).await.unwrap();
        let large = system.keep_run(&first("run/2", "0123456789A")).await.unwrap_err();
        assert_eq!(large.kind(), ErrorKind::TooLarge);
        assert_eq!(
            large.to_string(),
            "the record of run 'run/2' has 11 bytes, more than the limit of 10"
        );
        let again = system.keep_run(&first("run/1", "x")).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict);
        let gone = only(&system).await.removal(Timestamp::from_millis(9));
        assert_eq!(system.keep_run(&gone).await.unwrap(), Version(2));
        assert_eq!(system.runs("").await.unwrap(), []);
        assert_eq!(system.info().await.unwrap(), before);
        assert_eq!(before.revision, Revision(2));
    });
}

// A run that has not ended may quote what is to be destroyed: it goes first, or with the purge.
#[test]
fn a_purge_waits_for_runs_that_have_not_ended() {
    block_on(async {
        let system = memory().await;
        let index = leaf(&system, "usr-0", "secret").await;
        system.keep_run(&first("agent.bot", "{}")).await.unwrap();
        system.keep_run(&first("run.bot.000001", "secret")).await.unwrap();
        let refused = system.as_system().apply(Edit::PurgePage(index.clone())).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert!(refused.to_string().contains("run 'run.bot.000001' has not ended"), "{refused}");
        assert!(system.as_system().reader().page(&index).await.is_ok(), "nothing was purged");
        let run = system.runs("run.").await.unwrap().remove(0);
        // Moving it on is not ending it.
        let moved = [next(&run, "still secret")];
        let purge = Edit::PurgePage(index.clone());
        let refused = system.apply_with_runs(&Principal::System, &purge, &moved).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        let ended = [run.removal(Timestamp::from_millis(9))];
        let purged = system.apply_with_runs(&Principal::System, &purge, &ended).await.unwrap();
        assert_eq!(purged.pages, [index]);
        assert_eq!(only(&system).await.key.as_str(), "agent.bot");
    });
}
