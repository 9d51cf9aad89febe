//! Pages: created, changed, and what both refuse.

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, MemoryStorage, NewContentsPage, NewDetailPage,
    Page, PageName, PageUpdate, Trust, Visibility, WindowLevel,
    message::detail_text,
    storage::{EditLimits, PageStanding, SystemSettings},
};
use contexture_testkit::{
    fixture::{
        TickingClock, agent, apply, assistant, confined, description, leaf, new_directory,
        new_leaf, page, session, session_id, user, valid,
    },
    state,
    window::options,
};
use futures::executor::block_on;

use super::{children, hop, prepared, refused};

// B-24, B-25, B-26, B-27, B-47, P-01, P-11, P-16, P-21, P-23,
// P-27: creation, and what it refuses.
#[test]
fn pages_are_created_once_under_a_directory() {
    block_on(async {
        let system = prepared().await;
        let helper = agent(&system, "helper");
        let index =
            helper.create_detail_page("goroutine原理", "解释", "第一行\n第二行", "usr-1").await;
        assert_eq!(index.unwrap(), page("usr-5"));
        assert_eq!(children(&system, "usr-1").await, ["usr-2", "usr-4", "usr-5"]);
        let text = helper.get_messages("usr-5").await.unwrap();
        assert_eq!(detail_text(&text), "第一行\n第二行");
        let adopted = [page("usr-5"), page("usr-3")];
        let dir = helper.create_contents_page("dir", "", "usr-1", &adopted).await.unwrap();
        assert_eq!(children(&system, &dir.to_string()).await, ["usr-5", "usr-3"]);
        assert_eq!(children(&system, "usr-2").await, [""; 0]);
        leaf(&system, "oth-0", "elsewhere").await;
        for (parent, adopted, kind) in [
            ("usr-4", &[][..], ErrorKind::Invalid),
            ("usr-99", &[], ErrorKind::NotFound),
            ("usr-2", &["usr-4", "usr-4"], ErrorKind::Invalid),
            ("usr-2", &["usr-0"], ErrorKind::Invalid),
            ("usr-2", &["usr-1"], ErrorKind::Invalid),
            ("usr-2", &["usr-2"], ErrorKind::Invalid),
            ("usr-2", &["oth-1"], ErrorKind::Invalid),
            ("usr-2", &["usr-4", "usr-98"], ErrorKind::NotFound),
        ] {
            let error = refused(&system, new_directory(parent, "x", adopted)).await;
            assert_eq!(error.kind(), kind, "{parent} {adopted:?}: {error}");
        }
        assert_eq!(
            refused(&system, new_leaf("usr-4", "x")).await.to_string(),
            "page usr-4 is not a ContentsPage"
        );
        assert_eq!(helper.get_children("usr-4").await.unwrap_err().kind(), ErrorKind::Invalid);
        assert!("".parse::<PageName>().is_err());
        assert_eq!(leaf(&system, "usr-0", "next").await, page("usr-7"), "refusals take no number");
    });
}

// B-26: the error names the page that was to be made and the parent that is missing, alike for one
// that there is not and one outside the view.
#[test]
fn a_missing_parent_is_named_with_the_page() {
    block_on(async {
        let system = prepared().await;
        let missing =
            |index: &str| format!("page {index} not found, so page 'x' was not created in it");
        for edit in [new_leaf("usr-99", "x"), new_directory("usr-99", "x", &[])] {
            let error = refused(&system, edit).await;
            assert_eq!((error.to_string(), error.kind()), (missing("usr-99"), ErrorKind::NotFound));
        }
        let narrow = confined(&system, "narrow", &["oth"]);
        for parent in ["usr-0", "usr-99"] {
            let error = narrow.create_detail_page("x", "", "", parent).await.unwrap_err();
            assert_eq!(error.to_string(), missing(parent));
        }
    });
}

// P-29: a page's record holds its own state and where it stands; what lies in a directory is found by
// that, so the directory's own record does not change when pages come and go.
#[test]
fn a_page_records_its_own_state_and_its_parent() {
    block_on(async {
        let system = prepared().await;
        let stored = || async {
            let pages = state::read(&*system.storage(), system.session()).await.pages;
            let stands = |index: &str| pages[&page(index)].clone();
            (stands("usr-4"), stands("usr-1"), stands("usr-2"))
        };
        let (flat, from, to) = stored().await;
        assert_eq!(
            (flat.parent.clone(), flat.standing.clone()),
            (Some(page("usr-1")), PageStanding::InTree)
        );
        apply(&system, hop("usr-4", "usr-2")).await;
        let (moved, from_after, to_after) = stored().await;
        assert_eq!(moved.parent, Some(page("usr-2")));
        assert!(moved.place > flat.place);
        assert_eq!((from_after, to_after), (from, to));
        assert_eq!(children(&system, "usr-2").await.last().unwrap(), "usr-4");
        assert!(!children(&system, "usr-1").await.contains(&"usr-4".to_owned()));
        agent(&system, "helper").update_page("usr-4", "renamed", "").await.unwrap();
        apply(&system, Edit::RemovePage(page("usr-4"))).await;
        let (removed, _, _) = stored().await;
        assert_eq!(
            (removed.name.as_str(), &removed.standing),
            ("renamed", &PageStanding::ColdArchived)
        );
        assert_eq!((removed.parent, removed.place), (moved.parent, moved.place));
        assert_eq!(Page::decode(&flat.encode()).unwrap(), flat, "its stored form is all of it");
    });
}

// Tidying up by one agent leaves what another sees: pages that a directory adopts stand in every
// view as they stood, in full, hidden or folded; unless the directory is asked to be hidden.
#[test]
fn adopted_pages_stay_as_visible_as_they_were() {
    block_on(async {
        let system = session(Arc::new(MemoryStorage::new())).await;
        let (tidy, other) = (agent(&system, "tidy"), agent(&system, "other"));
        for number in 0..40 {
            tidy.add_turn(vec![user(&format!("turn {number}")), assistant("yes")]).await.unwrap();
        }
        other.hide_details("usr-39").await.unwrap();
        other.pin_page("usr-2").await.unwrap();
        let bounded = options("markdown".parse().unwrap()).max_messages(30);
        other.fold(&bounded).await.unwrap().expect("one is due");
        let names = ["usr-1", "usr-2", "usr-38", "usr-39", "usr-40"];
        let levels = |agent: AgentContext| async move {
            let mut levels = Vec::new();
            for index in names {
                levels.push(agent.get_page(index).await.unwrap().level);
            }
            levels
        };
        use WindowLevel::{Full, Gist, Out, Run, Summary};
        assert_eq!(levels(tidy.clone()).await, [Full; 5]);
        assert_eq!(levels(other.clone()).await, [Run, Full, Full, Summary, Full]);
        let adopted = names.map(page);
        let dir = tidy.create_contents_page("done", "", "usr-0", &adopted).await.unwrap();
        for view in [&tidy, &other] {
            assert_eq!(view.get_page(&dir).await.unwrap().visibility, Visibility::Expanded);
        }
        assert_eq!(levels(tidy.clone()).await, [Full; 5]);
        // Out of its run, a page stands by its name alone, and not in full.
        assert_eq!(levels(other.clone()).await, [Gist, Full, Full, Summary, Full]);
        tidy.undo(None).await.unwrap();
        assert_eq!(levels(other.clone()).await, [Run, Full, Full, Summary, Full]);
        let mut hidden = NewContentsPage::new(page("usr-0"), valid("away"));
        (hidden.children, hidden.visibility) = (adopted.to_vec(), Some(Visibility::Hidden));
        tidy.apply(Edit::CreateContentsPage(hidden)).await.unwrap();
        assert_eq!(levels(other.clone()).await, [Out; 5]);
    });
}

// The same where another view has closed what the directory goes to, or what the pages come from.
#[test]
fn adopted_pages_stay_as_visible_in_views_that_closed_a_directory() {
    block_on(async {
        let system = session(Arc::new(MemoryStorage::new())).await;
        let (tidy, other) = (agent(&system, "tidy"), agent(&system, "other"));
        for (parent, name) in [("usr-0", "shelf"), ("usr-1", "box")] {
            let edit = new_directory(parent, name, &[]);
            apply(&system, edit).await;
        }
        for parent in ["usr-1", "usr-1", "usr-2", "usr-0"] {
            leaf(&system, parent, "note").await;
        }
        let levels = |agent: AgentContext, names: &'static [&'static str]| async move {
            let mut levels = Vec::new();
            for index in names {
                levels.push(agent.get_page(*index).await.unwrap().level);
            }
            levels
        };
        use WindowLevel::{Full, Gist, Out, Run};
        const PAGES: &[&str] = &["usr-1", "usr-2", "usr-3", "usr-4", "usr-5", "usr-6"];
        // What was seen stays in sight: the shelf opens, and the rest on it is a line.
        other.hide_details("usr-1").await.unwrap();
        let closed = levels(other.clone(), PAGES).await;
        assert_eq!(closed[1..], [Out, Out, Out, Out, Full]);
        let dir = tidy.create_contents_page("done", "", "usr-2", &[page("usr-6")]).await.unwrap();
        assert_eq!(other.get_page(&dir).await.unwrap().level, Full);
        assert_eq!(levels(other.clone(), PAGES).await, [Full, Full, Run, Run, Run, Full]);
        assert_eq!(levels(tidy.clone(), PAGES).await, [Full; 6]);
        let window = options("markdown".parse().unwrap());
        let body = other.window(&window).await.unwrap().body;
        assert!(body.contains("[RUN] **[usr-3]** to usr-4 (2 pages folded)"), "{body}");
        tidy.undo(None).await.unwrap();
        assert_eq!(levels(other.clone(), PAGES).await, closed);
        // What was not seen does not come into sight, and the line counts what is left.
        let taken = [page("usr-3"), page("usr-5")];
        tidy.create_contents_page("taken", "", "usr-0", &taken).await.unwrap();
        assert_eq!(levels(other.clone(), &["usr-3", "usr-5"]).await, [Gist, Gist]);
        assert_eq!(levels(tidy.clone(), &["usr-3", "usr-5"]).await, [Full, Full]);
        // Where nothing was seen, the directory stays closed.
        tidy.create_contents_page("inner", "", "usr-1", &[page("usr-4")]).await.unwrap();
        assert_eq!(levels(other.clone(), &["usr-4"]).await, [Out]);
        // What the system side closed is closed for all but those who opened it themselves.
        tidy.expand_details("usr-2").await.unwrap();
        apply(&system, Edit::HideDetails(page("usr-2"))).await;
        let note = leaf(&system, "usr-2", "late").await;
        tidy.create_contents_page("out", "", "usr-0", std::slice::from_ref(&note)).await.unwrap();
        assert_eq!(tidy.get_page(&note).await.unwrap().level, Full);
        let fresh = agent(&system, "fresh");
        assert_eq!(fresh.get_page(&note).await.unwrap().level, WindowLevel::Summary);
    });
}

// P-03, P-04, A-34: expanded unless asked otherwise; a read-only prompt is expanded whatever was
// asked.
#[test]
fn new_pages_stand_as_they_should() {
    block_on(async {
        let system = prepared().await;
        leaf(&system, "sys-0", "Prompt").await;
        let visibility = |index: &'static str| {
            let system = &system;
            async move { system.as_system().reader().page(&page(index)).await.unwrap().visibility }
        };
        assert_eq!(visibility("usr-1").await, Visibility::Expanded);
        assert_eq!(visibility("usr-4").await, Visibility::Expanded);
        assert_eq!(visibility("usr-0").await, Visibility::Expanded);
        assert_eq!(visibility("sys-1").await, Visibility::Expanded);
        agent(&system, "helper").add_turn(vec![user("hi")]).await.unwrap();
        assert_eq!(visibility("usr-5").await, Visibility::Expanded);
        let mut asked = NewDetailPage::new(page("usr-0"), valid("away"), "");
        asked.visibility = Some(Visibility::Hidden);
        apply(&system, Edit::CreateDetailPage(asked)).await;
        assert_eq!(visibility("usr-6").await, Visibility::Hidden);
        let helper = agent(&system, "helper");
        let note = helper.create_detail_page("note", "", "mine", "usr-0").await.unwrap();
        assert_eq!(helper.get_page(&note).await.unwrap().level, WindowLevel::Full);
        let mut asked = NewContentsPage::new(page("sys-0"), valid("folded"));
        asked.visibility = Some(Visibility::Hidden);
        apply(&system, Edit::CreateContentsPage(asked)).await;
        assert_eq!(visibility("sys-2").await, Visibility::Expanded, "a read-only prompt stands");
    });
}

// B-42, P-12, P-13: empty is unchanged, clearing is explicit, nothing to change is an error; a
// directory has no text; the version asked for must be there.
#[test]
fn updates_change_what_is_given() {
    block_on(async {
        let system = prepared().await;
        let helper = agent(&system, "helper");
        let before = helper.get_page("usr-4").await.unwrap().page;
        helper.update_page("usr-4", "", "new words").await.unwrap();
        let after = helper.get_page("usr-4").await.unwrap().page;
        assert_eq!((after.name.as_str(), after.description.as_str()), ("flat", "new words"));
        assert!(after.version > before.version && after.updated_at > before.updated_at);
        assert_eq!((after.created_at, after.trust), (before.created_at, Trust::Agent));
        let update = PageUpdate {
            description: Some(description("")),
            detail: Some(String::new()),
            ..PageUpdate::of(page("usr-4"))
        };
        helper.apply(Edit::UpdatePage(update)).await.unwrap();
        let cleared = helper.get_page("usr-4").await.unwrap().page;
        assert!(cleared.description.is_empty());
        assert_eq!(cleared.detail().unwrap().messages, 0);
        let text = PageUpdate { detail: Some("more".to_owned()), ..PageUpdate::of(page("usr-4")) };
        helper.apply(Edit::UpdatePage(text)).await.unwrap();
        let written = helper.get_page("usr-4").await.unwrap().page;
        assert!(written.updated_at > cleared.updated_at, "a new text alone changes the time");
        assert_eq!(detail_text(&helper.get_messages("usr-4").await.unwrap()), "more");
        assert_eq!(
            helper.update_page("usr-4", "", "").await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
        let text = PageUpdate { detail: Some("x".to_owned()), ..PageUpdate::of(page("usr-1")) };
        assert_eq!(refused(&system, Edit::UpdatePage(text)).await.kind(), ErrorKind::Invalid);
        let stale = PageUpdate {
            name: Some(valid("x")),
            if_version: Some(after.version),
            ..PageUpdate::of(page("usr-4"))
        };
        let error = refused(&system, Edit::UpdatePage(stale)).await;
        assert_eq!(error.to_string(), "page usr-4 is at version 4, not 2");
        assert_eq!(error.kind(), ErrorKind::Conflict);
    });
}

// Provenance: trust is the lowest of the sources' and never rises.
#[test]
fn trust_never_rises() {
    block_on(async {
        let system = prepared().await;
        let helper = agent(&system, "helper");
        helper.update_page("usr-4", "touched", "").await.unwrap();
        let mut made = NewDetailPage::new(page("usr-0"), valid("summary"), "short");
        made.sources = vec![page("usr-3"), page("usr-4")];
        apply(&system, Edit::CreateDetailPage(made)).await;
        let page_of = |index: &'static str| {
            let system = &system;
            async move { system.as_system().reader().page(&page(index)).await.unwrap().page }
        };
        assert_eq!(page_of("usr-3").await.trust, Trust::System);
        assert_eq!(page_of("usr-5").await.trust, Trust::Agent);
        apply(
            &system,
            Edit::UpdatePage(PageUpdate {
                name: Some(valid("x")),
                ..PageUpdate::of(page("usr-5"))
            }),
        )
        .await;
        assert_eq!(page_of("usr-5").await.trust, Trust::Agent);
        apply(&system, hop("usr-5", "oth-0")).await;
        assert_eq!(page_of("oth-1").await.trust, Trust::Agent);
    });
}

// Content over the limit is refused.
#[test]
fn too_much_text_is_refused() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        session(storage.clone()).await;
        let limits = EditLimits { detail_bytes: 500 };
        let settings = SystemSettings { limits, ..SystemSettings::default() };
        let clock = TickingClock::new();
        let system =
            ContextSystem::open_with(storage, session_id(), clock, settings).await.unwrap();
        let new = NewDetailPage::new(page("usr-0"), valid("big"), "x".repeat(600));
        let error = refused(&system, Edit::CreateDetailPage(new)).await;
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("more than the limit of 500"), "{error}");
    });
}
