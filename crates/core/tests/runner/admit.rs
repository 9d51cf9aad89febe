//! Admitting what was found elsewhere: only what the view sees, whatever was asked for, in one batch.

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, Edit, ListQuery, MemoryStorage, PageIndex, Permission,
    SegmentKind, View, ViewFilter,
    message::{AdmittedMessage, AdmittedMessages, AdmittedPage, MessageFilter},
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{
        add_segment, agent, apply, assistant, calls, confined, directory, leaf, page, reopen,
        returned, session, user, valid,
    },
};
use futures::executor::block_on;

/// Makes a session with turns and notes of two agents, in the tree and out of it.
async fn filled() -> (Arc<WatchedStorage>, ContextSystem) {
    let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    let system = session(storage.clone()).await;
    add_segment(&system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
    let bot = agent(&system, "bot");
    let turn = vec![
        user("what fails?"),
        calls("c1", "{}"),
        returned("c1", "a long log"),
        assistant("the clock"),
    ];
    bot.add_turn(turn).await.unwrap();
    leaf(&system, "usr-0", "note").await;
    leaf(&system, "oth-0", "elsewhere").await;
    let folder = directory(&system, "usr-0", "folder").await;
    leaf(&system, &folder.to_string(), "inside").await;
    let archived = directory(&system, "usr-0", "old").await;
    leaf(&system, &archived.to_string(), "inside old").await;
    apply(&system, Edit::RemovePage(archived)).await;
    let purged = leaf(&system, "usr-0", "purged").await;
    apply(&system, Edit::PurgePage(purged)).await;
    (storage, system)
}

/// Every index that was ever used, and some that were not.
fn all() -> Vec<PageIndex> {
    let of = |segment: &str, upto: u64| {
        (0..upto).map(|at| format!("{segment}-{at}")).collect::<Vec<_>>()
    };
    let all = [of("usr", 12), of("oth", 4), of("sys", 2), of("none", 2)].concat();
    all.iter().map(|index| page(index)).collect()
}

async fn seen(agent: &AgentContext) -> Vec<String> {
    let admitted = agent.reader().admit(&all()).await.unwrap();
    let all = all();
    let seen = all.iter().zip(&admitted).filter_map(|(index, admitted)| {
        let admitted = admitted.as_ref()?;
        assert_eq!(*index, admitted.page.index);
        Some(format!("{index}{}", if admitted.archived { " archived" } else { "" }))
    });
    seen.collect()
}

fn filtered(system: &ContextSystem, filter: ViewFilter) -> AgentContext {
    AgentContext::new(system.clone(), View { filter, ..View::common(valid("other")) })
}

#[test]
fn the_system_side_sees_everything_that_is_there() {
    block_on(async {
        let (_, system) = filled().await;
        let admitted = system.as_system().reader().admit(&all()).await.unwrap();
        let archived = |it: &&AdmittedPage| it.archived;
        assert_eq!(admitted.iter().flatten().count(), 10);
        let archived: Vec<&str> =
            admitted.iter().flatten().filter(archived).map(|it| it.page.name.as_str()).collect();
        assert_eq!(archived, ["old", "inside old"]);
        assert!(admitted.iter().flatten().all(|it| it.messages == AdmittedMessages::All));
        assert_eq!(system.as_system().reader().admit(&[]).await.unwrap(), []);
        // A removed segment is an archive, to the system side alone.
        let remove = Edit::RemoveSegment { segment: valid("oth"), cascade: true, force: false };
        apply(&system, remove).await;
        let found =
            system.as_system().reader().admit(&[page("oth-1")]).await.unwrap().remove(0).unwrap();
        assert!(found.archived);
        assert_eq!(agent(&system, "bot").reader().admit(&[page("oth-1")]).await.unwrap(), [None]);
    });
}

#[test]
fn a_view_is_admitted_to_what_it_mounts() {
    block_on(async {
        let (_, system) = filled().await;
        let expected =
            ["usr-0", "usr-1", "usr-2", "usr-3", "usr-4", "usr-5 archived", "usr-6 archived"];
        assert_eq!(seen(&confined(&system, "other", &["usr"])).await, expected);
        let oth = confined(&system, "other", &["oth"]);
        assert_eq!(seen(&oth).await, ["oth-0", "oth-1"]);
        // What is out of view is answered like what never was, whoever asks.
        let asked = [page("usr-1"), page("usr-99"), page("none-1")];
        assert_eq!(oth.reader().admit(&asked).await.unwrap(), [None, None, None]);
    });
}

#[test]
fn filters_decide_about_messages() {
    block_on(async {
        let (_, system) = filled().await;
        let turn = page("usr-1");
        let messages = async |speech| {
            let agent = filtered(&system, ViewFilter { speech, ..ViewFilter::default() });
            let found = agent.reader().admit(std::slice::from_ref(&turn)).await.unwrap().remove(0);
            let found = found.unwrap();
            assert_eq!(found.page, agent.reader().page(&turn).await.unwrap().page);
            found.messages
        };
        let whole = |position| AdmittedMessage { position, whole: true };
        assert_eq!(messages(MessageFilter::All).await, AdmittedMessages::All);
        assert_eq!(
            messages(MessageFilter::WithoutTools).await,
            AdmittedMessages::Some(vec![whole(0), whole(3)])
        );
        assert_eq!(
            messages(MessageFilter::RequestsOnly).await,
            AdmittedMessages::Some(vec![whole(0)])
        );

        let without = ViewFilter { without: [page("usr-3")].into(), ..ViewFilter::default() };
        let left = seen(&filtered(&system, without)).await;
        assert!(!left.contains(&"usr-3".to_owned()) && !left.contains(&"usr-4".to_owned()));
        let nobody = ViewFilter { authors: Some([valid("nil")].into()), ..ViewFilter::default() };
        let left = seen(&filtered(&system, nobody)).await;
        assert_eq!(left, ["usr-0", "usr-3", "usr-5 archived", "oth-0", "sys-0"]);
    });
}

// The rules are those of every other read.
#[test]
fn what_is_admitted_is_what_can_be_read() {
    block_on(async {
        let (_, system) = filled().await;
        let speech = |speech| ViewFilter { speech, ..ViewFilter::default() };
        let filters = [
            ViewFilter::default(),
            speech(MessageFilter::WithoutTools),
            speech(MessageFilter::RequestsOnly),
            ViewFilter { authors: Some([valid("bot")].into()), ..ViewFilter::default() },
            ViewFilter { without: [page("usr-1"), page("usr-5")].into(), ..ViewFilter::default() },
        ];
        for filter in filters {
            let agent = filtered(&system, filter);
            let reader = agent.reader();
            for (index, admitted) in all().iter().zip(reader.admit(&all()).await.unwrap()) {
                let read = reader.page_or_archived(index).await.ok();
                assert_eq!(read.as_ref().map(|it| &it.page), admitted.as_ref().map(|it| &it.page));
                let Some(AdmittedPage { page, messages, .. }) = admitted else { continue };
                let (Some(_), AdmittedMessages::Some(some)) = (page.detail(), messages) else {
                    continue;
                };
                assert_eq!(reader.messages(index).await.unwrap().len(), some.len());
            }
        }
    });
}

#[test]
fn a_batch_is_read_a_generation_at_a_time() {
    block_on(async {
        let (storage, system) = filled().await;
        for at in 0..200 {
            leaf(&system, "usr-3", &format!("more {at}")).await;
        }
        let query = ListQuery { limit: 1_000, ..ListQuery::default() };
        let listed = system.as_system().reader().list(&query).await.unwrap().items;
        let pages: Vec<PageIndex> = listed.into_iter().map(|it| it.page.index.clone()).collect();
        let fresh = reopen(storage.clone()).await;
        let agent = filtered(
            &fresh,
            ViewFilter { speech: MessageFilter::WithoutTools, ..Default::default() },
        );
        storage.reset();
        let admitted = agent.reader().admit(&pages).await.unwrap();
        assert_eq!(admitted.iter().flatten().count(), pages.len());
        assert!(storage.calls("pages") <= 2, "{} reads of pages", storage.calls("pages"));
        assert!(storage.calls("contents") <= 4, "{} of contents", storage.calls("contents"));
        assert_eq!(storage.calls("children") + storage.calls("levels"), 0);
    });
}
