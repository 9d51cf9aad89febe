//! Pages: created, changed, and what both refuse.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, ErrorKind, MemoryStorage, NewContentsPage, NewDetailPage, PageName,
    PageUpdate, Trust, Visibility, decide::Limits, message::detail_text, system::Settings,
};
use contexture_testkit::fixture::{
    TickingClock, agent, apply, description, leaf, new_directory, new_leaf, page, session,
    session_id, user, valid,
};
use futures::executor::block_on;

use super::{children, hop, prepared, refused};

// B-24, B-25, B-26, B-27, B-47, C05, C06, P-01, P-11, P-16, P-21, P-23,
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

// C44, P-03, P-04, A-34: hidden unless asked otherwise; roots, turns and System-kind pages are
// expanded.
#[test]
fn new_pages_stand_as_they_should() {
    block_on(async {
        let system = prepared().await;
        leaf(&system, "sys-0", "Prompt").await;
        let visibility = |index: &'static str| {
            let system = &system;
            async move { system.reader().page(&page(index)).await.unwrap().visibility }
        };
        assert_eq!(visibility("usr-1").await, Visibility::Hidden);
        assert_eq!(visibility("usr-4").await, Visibility::Hidden);
        assert_eq!(visibility("usr-0").await, Visibility::Expanded);
        assert_eq!(visibility("sys-1").await, Visibility::Expanded);
        agent(&system, "helper").add_turn(vec![user("hi")]).await.unwrap();
        assert_eq!(visibility("usr-5").await, Visibility::Expanded);
        let mut asked = NewDetailPage::new(page("usr-0"), valid("shown"), "");
        asked.visibility = Some(Visibility::Expanded);
        apply(&system, Edit::CreateDetailPage(asked)).await;
        assert_eq!(visibility("usr-6").await, Visibility::Expanded);
        let mut asked = NewContentsPage::new(page("sys-0"), valid("folded"));
        asked.visibility = Some(Visibility::Hidden);
        apply(&system, Edit::CreateContentsPage(asked)).await;
        assert_eq!(visibility("sys-2").await, Visibility::Expanded, "a read-only prompt stands");
    });
}

// B-42, C26, P-12, P-13: empty is unchanged, clearing is explicit, nothing to change is an error; a
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
        assert_eq!(error.to_string(), "page usr-4 is at version 3, not 2");
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
            async move { system.reader().page(&page(index)).await.unwrap().page }
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

// C26: content over the limit is refused.
#[test]
fn too_much_text_is_refused() {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        session(storage.clone()).await;
        let limits = Limits { detail_bytes: 500 };
        let settings = Settings { limits, ..Settings::default() };
        let clock = TickingClock::new();
        let system =
            ContextSystem::open_with(storage, session_id(), clock, settings).await.unwrap();
        let new = NewDetailPage::new(page("usr-0"), valid("big"), "x".repeat(600));
        let error = refused(&system, Edit::CreateDetailPage(new)).await;
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("the limit is 500"), "{error}");
    });
}
