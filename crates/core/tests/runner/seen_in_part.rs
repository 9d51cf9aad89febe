//! What a view shows in part is not replaced, moved, removed, archived, restored or adopted through
//! it; and an edit that was made is told as made, and can be undone by its author.

use contexture_core::{
    AgentContext, ContextSystem, Edit, Error, ErrorKind, PageIndex, PageUpdate, Permission,
    SegmentKind, ViewFilter, message::MessageFilter, storage::Order,
};
use contexture_testkit::fixture::{
    add_segment, agent, apply, assistant, calls, description, directory, leaf, memory,
    new_directory, page, returned, segment, user, valid,
};
use futures::executor::block_on;

use crate::view_filter::seen_through;

fn speech(speech: MessageFilter) -> ViewFilter {
    ViewFilter { speech, ..ViewFilter::default() }
}

fn rewrite(index: &PageIndex) -> Edit {
    let detail = Some("rewritten".to_owned());
    Edit::UpdatePage(PageUpdate { detail, ..PageUpdate::of(index.clone()) })
}

/// Every edit that takes a page along.
fn taking(index: &PageIndex, elsewhere: &str) -> Vec<Edit> {
    vec![
        Edit::MovePage { page: index.clone(), to: page("usr-0") },
        Edit::MovePage { page: index.clone(), to: page(elsewhere) },
        Edit::ArchivePage(index.clone()),
        Edit::RemovePage(index.clone()),
        new_directory("usr-0", "Mine", &[&index.to_string()]),
        Edit::Batch(vec![Edit::PinPage(index.clone()), Edit::RemovePage(index.clone())]),
    ]
}

async fn assert_refused(system: &ContextSystem, agent: &AgentContext, edit: Edit) {
    let before = system.info().await.unwrap().revision;
    let error = agent.apply(edit.clone()).await.unwrap_err();
    assert!(matches!(error, Error::SeenInPart { .. }), "{edit:?}: {error}");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().ends_with(": this view shows only part of it"), "{error}");
    assert_eq!(system.info().await.unwrap().revision, before);
}

/// A session with an own segment for alpha, to move things to.
async fn prepared() -> (ContextSystem, AgentContext, AgentContext) {
    let system = memory().await;
    add_segment(&system, "agent-alpha", SegmentKind::Custom, Permission::ReadWrite).await;
    let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
    (system, alpha, beta)
}

// M-39: a page of which some messages are heard keeps all of them.
#[test]
fn a_page_heard_in_part_stays_as_it_is() {
    block_on(async {
        let (system, alpha, beta) = prepared().await;
        let said = vec![user("request"), calls("1", "{}"), returned("1", "found"), assistant("ok")];
        let turn = beta.add_turn(said).await.unwrap()[0].clone();
        let whole = system.as_system().reader().messages(&turn).await.unwrap();
        for heard in [MessageFilter::RequestsOnly, MessageFilter::WithoutTools] {
            let filtered = seen_through(&alpha, &system, speech(heard));
            assert!(filtered.get_messages(&turn).await.unwrap().len() < whole.len());
            for edit in taking(&turn, "agent-alpha-0").into_iter().chain([rewrite(&turn)]) {
                assert_refused(&system, &filtered, edit).await;
            }
            assert_eq!(system.as_system().reader().messages(&turn).await.unwrap(), whole);
            // What it shows and hides is its own business, and a name is seen as it is.
            filtered.hide_details(&turn).await.unwrap();
            filtered.expand_details(&turn).await.unwrap();
            filtered.update_page(&turn, "request", "asked by beta").await.unwrap();
        }
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::RequestsOnly));
        for archive in [Edit::RemovePage(turn.clone()), Edit::ArchivePage(turn.clone())] {
            apply(&system, archive).await;
            let restore = Edit::RestorePage { page: turn.clone(), to: None };
            assert_refused(&system, &filtered, restore.clone()).await;
            let elsewhere = Some(page("agent-alpha-0"));
            let restored = Edit::RestorePage { page: turn.clone(), to: elsewhere };
            assert_refused(&system, &filtered, restored).await;
            apply(&system, restore).await;
        }
        // A view that shows all of it may do all of it, through whatever filter.
        let words = beta.add_turn(vec![user("request"), assistant("ok")]).await.unwrap();
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::WithoutTools));
        filtered.apply(rewrite(&words[0])).await.unwrap();
        alpha.apply(rewrite(&turn)).await.unwrap();
    });
}

/// Ways in which a view does not see a page that lies deep in a directory.
async fn hidings(system: &ContextSystem, hidden: &PageIndex) -> Vec<ViewFilter> {
    let later = system.now();
    let nobody = ViewFilter { authors: Some([].into()), ..ViewFilter::default() };
    let since = ViewFilter { since: Some(later), ..ViewFilter::default() };
    let without = ViewFilter { without: [hidden.clone()].into(), ..ViewFilter::default() };
    vec![nobody, since, without, speech(MessageFilter::RequestsOnly)]
}

// M-40: a directory that holds, at any depth, what the view does not see, stays where it is.
#[test]
fn a_directory_that_holds_what_is_not_seen_stays() {
    block_on(async {
        let (system, alpha, beta) = prepared().await;
        let outer = directory(&system, "usr-0", "outer").await;
        let inner = directory(&system, &outer.to_string(), "inner").await;
        let deep = directory(&system, &inner.to_string(), "deep").await;
        leaf(&system, &deep.to_string(), "note").await;
        let hidden =
            beta.add_turn(vec![user("ask"), assistant("answer")]).await.unwrap()[0].clone();
        apply(&system, Edit::MovePage { page: hidden.clone(), to: deep.clone() }).await;
        for archived in [false, true] {
            if archived {
                apply(&system, Edit::RemovePage(hidden.clone())).await;
            }
            for filter in hidings(&system, &hidden).await {
                let filtered = seen_through(&alpha, &system, filter);
                for directory in [&outer, &inner, &deep] {
                    for edit in taking(directory, "agent-alpha-0") {
                        assert_refused(&system, &filtered, edit).await;
                    }
                    filtered.update_page(directory, "", "about").await.unwrap();
                    filtered.hide_details(directory).await.unwrap();
                    filtered.expand_details(directory).await.unwrap();
                }
                // One may still put something into it.
                let name = valid("more");
                let new = contexture_core::NewDetailPage::new(deep.clone(), name, "text");
                filtered.apply(Edit::CreateDetailPage(new)).await.unwrap();
            }
        }
        // Nothing in it is unseen any more: it can be moved, archived and brought back.
        apply(&system, Edit::PurgePage(hidden)).await;
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::RequestsOnly));
        filtered.move_page(&deep, "usr-0").await.unwrap();
        filtered.remove_page(&deep).await.unwrap();
        filtered.restore_page(&deep).await.unwrap();
    });
}

// A segment that an agent manages goes only if the agent sees all of it.
#[test]
fn a_segment_that_holds_what_is_not_seen_stays() {
    block_on(async {
        let (system, alpha, beta) = prepared().await;
        add_segment(&system, "free", SegmentKind::Custom, Permission::SystemManaged).await;
        let messages = vec![user("ask")];
        beta.apply(Edit::AddTurn { segment: segment("free"), messages }).await.unwrap();
        let nobody = ViewFilter { authors: Some([].into()), ..ViewFilter::default() };
        let filtered = seen_through(&alpha, &system, nobody);
        let remove = Edit::RemoveSegment { segment: segment("free"), cascade: true, force: false };
        assert_refused(&system, &filtered, remove.clone()).await;
        seen_through(&alpha, &system, speech(MessageFilter::RequestsOnly))
            .apply(remove)
            .await
            .unwrap();
    });
}

// A large directory that is seen whole is taken along whole.
#[test]
fn a_large_directory_is_judged_page_by_page() {
    block_on(async {
        let (system, alpha, beta) = prepared().await;
        let mut turns = Vec::new();
        for number in 0..150 {
            turns.extend(beta.add_turn(vec![user(&format!("ask {number}"))]).await.unwrap());
        }
        let names: Vec<String> = turns.iter().map(PageIndex::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let all = apply(&system, new_directory("usr-0", "all", &names)).await.pages[0].clone();
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::RequestsOnly));
        let moved = filtered.move_page(&all, "agent-alpha-0").await.unwrap();
        assert_eq!(moved.moved.len(), 151);
        let there = moved.pages[0].clone();
        let listing = filtered.reader().children(&there, Order::Forward, None, 999).await.unwrap();
        assert_eq!(listing.items.len(), 150);
    });
}

// An edit may take its page out of its author's view. It is told as made, stands in the
// author's history, and can be undone.
#[test]
fn an_edit_is_told_as_made_and_undone_by_its_author() {
    block_on(async {
        let (system, alpha, beta) = prepared().await;
        let turn = beta.add_turn(vec![user("only a request")]).await.unwrap()[0].clone();
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::RequestsOnly));
        let made = filtered.apply(rewrite(&turn)).await.unwrap();
        assert_eq!(made.pages, std::slice::from_ref(&turn));
        assert_eq!(filtered.get_page(&turn).await.unwrap_err().kind(), ErrorKind::NotFound);
        let history = filtered.history(None, 9).await.unwrap().items;
        let entry = history.iter().find(|entry| entry.revision == made.revision).unwrap();
        assert_eq!(entry.pages, std::slice::from_ref(&turn));
        // Nobody else's filtered view learns of it.
        let other =
            seen_through(&agent(&system, "gamma"), &system, speech(MessageFilter::RequestsOnly));
        let seen = other.history(None, 99).await.unwrap().items;
        assert!(seen.iter().all(|entry| entry.revision != made.revision));
        let undone = filtered.undo(None).await.unwrap();
        assert_eq!(undone.undone, Some(made.revision));
        let messages = filtered.get_messages(&turn).await.unwrap();
        assert_eq!(messages[0].plain_text(), "only a request");
        // What others have put into a directory since is not taken along by an undo either.
        let drawer = directory(&system, "usr-0", "drawer").await;
        filtered.remove_page(&drawer).await.unwrap();
        let back = filtered.undo(None).await.unwrap();
        let more = beta.add_turn(vec![user("ask"), assistant("answer")]).await.unwrap();
        apply(&system, Edit::MovePage { page: more[0].clone(), to: drawer.clone() }).await;
        let error = filtered.undo(Some(back.revision)).await.unwrap_err();
        assert!(matches!(error, Error::CannotUndo { .. }), "{error}");
        assert!(error.to_string().contains("shows only some of the pages"), "{error}");
        assert!(system.as_system().reader().page(&more[0]).await.is_ok());
        alpha.undo(Some(back.revision)).await.unwrap();
        // What the view leaves out by name is out of reach of undo as well.
        let renamed = alpha.update_page(&turn, "", "mine").await.unwrap();
        let without = ViewFilter { without: [turn.clone()].into(), ..ViewFilter::default() };
        let blind = seen_through(&alpha, &system, without);
        let error = blind.undo(Some(renamed.revision)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let told = system.as_system().reader().page(&turn).await.unwrap().page;
        assert_eq!(told.description, description("mine"));
    });
}
