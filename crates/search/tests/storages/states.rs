//! Stores that are opened again, put back to an earlier state, or hold another session of the same name.

use contexture_core::{Edit, MemoryStorage, storage::copy::copy_session};
use contexture_testkit::fixture::session_id;
use futures::executor::block_on;

use crate::{World, begin, found, open_session, say};

pub(crate) fn goes_on_after_reopening(world: &World) {
    block_on(async {
        let (storage, index) = world.open();
        let system = begin(&storage).await;
        let first = say(&system, "usr", "the copper lantern").await;
        let second = say(&system, "usr", "the copper harbour").await;
        assert_eq!(found(&index, &system.as_system(), "copper").await.len(), 2);
        drop((index, system, storage));

        // Edits are made while nobody searches.
        let storage = world.home.open();
        let system = open_session(&storage).await;
        let third = say(&system, "usr", "the copper orchard").await;
        system.as_system().apply(Edit::PurgePage(first)).await.unwrap();
        drop((system, storage));

        for _ in 0..2 {
            let (storage, index) = world.open();
            let session = open_session(&storage).await.as_system();
            let mut pages = found(&index, &session, "copper").await;
            pages.sort();
            assert_eq!(pages, [second.to_string(), third.to_string()]);
            assert_eq!(found(&index, &session, "lantern").await, [""; 0]);
        }
    });
}

// The session is replaced by an earlier state of it, with the same mark, and edited again.
pub(crate) fn notices_an_earlier_state(world: &World) {
    block_on(async {
        let backup = MemoryStorage::new();
        let (storage, index) = world.open();
        let system = begin(&storage).await;
        say(&system, "usr", "copper one").await;
        copy_session(&*storage, &backup, &session_id(), &mut |_| {}).await.unwrap();
        let mark = storage.session(&session_id()).await.unwrap().unwrap().mark;
        for text in ["velvet two", "velvet three"] {
            say(&system, "usr", text).await;
        }
        assert_eq!(found(&index, &system.as_system(), "velvet").await.len(), 2);
        index.flush().await.unwrap();
        drop(system);
        for (round, grown) in [1, 2, 3].into_iter().enumerate() {
            storage.remove_session(&session_id()).await.unwrap();
            copy_session(&backup, &*storage, &session_id(), &mut |_| {}).await.unwrap();
            let info = storage.session(&session_id()).await.unwrap().unwrap();
            assert_eq!(info.mark, mark, "it is the same session");
            let system = open_session(&storage).await;
            let word = format!("meadow{}", "xyz".repeat(round));
            for number in 0..grown {
                say(&system, "usr", &format!("{word} {number}")).await;
            }
            let session = system.as_system();
            assert_eq!(found(&index, &session, "velvet").await, [""; 0], "round {round}");
            assert_eq!(found(&index, &session, &word).await.len(), grown, "round {round}");
            assert_eq!(found(&index, &session, "copper").await, ["usr-1"], "round {round}");
            index.flush().await.unwrap();
            assert_eq!(found(&index, &session, &word).await.len(), grown, "round {round}");
        }
    });
}

pub(crate) fn a_session_made_again_is_another_one(world: &World) {
    block_on(async {
        let (storage, index) = world.open();
        let system = begin(&storage).await;
        say(&system, "usr", "the copper lantern").await;
        assert_eq!(found(&index, &system.as_system(), "copper").await.len(), 1);
        index.flush().await.unwrap();
        drop(system);
        storage.remove_session(&session_id()).await.unwrap();
        let system = begin(&storage).await;
        say(&system, "usr", "the velvet lantern").await;
        let session = system.as_system();
        assert_eq!(found(&index, &session, "copper").await, [""; 0]);
        assert_eq!(found(&index, &session, "velvet").await.len(), 1);
    });
}
