//! Anchors: what stands in a window can be pressed, checked like any other operation.

use std::{collections::BTreeMap, sync::Arc};

use contexture_core::{
    AgentContext, ContextSystem, Edit, Error, ErrorKind, Format, Level, Permission, SegmentKind,
    Visibility,
    context::{Anchor, Apps, Context, Pressed},
};
use contexture_testkit::{
    fixture::{add_segment, agent, apply, confined, directory, leaf, memory, page, segment},
    window::options,
};
use futures::executor::block_on;

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../examples/notebook.rs"]
mod notebook;

fn params(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

async fn press(alpha: &AgentContext, key: &str, given: &[(&str, &str)]) -> Result<Pressed, Error> {
    alpha.press(key, &params(given), &Apps::default()).await
}

async fn refused(alpha: &AgentContext, key: &str, given: &[(&str, &str)]) -> ErrorKind {
    press(alpha, key, given).await.map(drop).unwrap_err().kind()
}

/// Returns what is to be pressed instead of a stale anchor.
async fn stale(alpha: &AgentContext, key: &str, given: &[(&str, &str)]) -> Option<String> {
    match press(alpha, key, given).await {
        Err(Error::StaleAnchor { key: told, fresh, .. }) => {
            assert_eq!(told, key);
            fresh
        }
        other => panic!("{key}: {other:?}"),
    }
}

async fn anchors(alpha: &AgentContext) -> Vec<String> {
    let window = alpha.window(&options(Format::Markdown)).await.unwrap();
    window.anchors.iter().map(|(key, _)| key.to_string()).collect()
}

// D-05, D-19: every action through its anchor does what the operation does.
#[test]
fn anchors_act() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let folder = directory(&system, "usr-0", "Folder").await;
        alpha.expand_details(&folder).await.unwrap();

        let made = [("name", "Plan"), ("description", "what to do"), ("detail", "1. read")];
        let Pressed::Edited(outcome) = press(&alpha, "create-usr-0", &made).await.unwrap() else {
            panic!("it creates a page");
        };
        let plan = outcome.pages[0].clone();
        assert_eq!(plan.to_string(), "usr-2");
        press(&alpha, "hide-usr-2", &[]).await.unwrap();
        assert!(anchors(&alpha).await.contains(&"expand-usr-2".to_owned()));

        press(&alpha, "expand-usr-2", &[]).await.unwrap();
        let seen = alpha.get_page(&plan).await.unwrap();
        assert_eq!((seen.visibility, seen.page.name.as_str()), (Visibility::Expanded, "Plan"));
        let now = anchors(&alpha).await;
        assert!(
            now.contains(&"hide-usr-2".to_owned()) && !now.contains(&"expand-usr-2".to_owned())
        );

        press(&alpha, "update-usr-2", &[("name", "Better"), ("description", ""), ("detail", "2.")])
            .await
            .unwrap();
        let seen = alpha.get_page(&plan).await.unwrap();
        assert_eq!((seen.page.name.as_str(), seen.page.description.as_str()), ("Better", ""));
        assert_eq!(alpha.get_messages(&plan).await.unwrap()[0].plain_text(), "2.");

        press(&alpha, "move-usr-2", &[("to", "usr-1")]).await.unwrap();
        assert_eq!(alpha.get_page(&plan).await.unwrap().page.parent, Some(folder));
        press(&alpha, "hide-usr-2", &[]).await.unwrap();
        assert_eq!(alpha.get_page(&plan).await.unwrap().visibility, Visibility::Hidden);

        let Pressed::Found(found) = press(&alpha, "find", &[("query", "BETTER")]).await.unwrap()
        else {
            panic!("it finds pages");
        };
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].page.index, plan);
    });
}

/// A session with a read-only segment beside the usual ones; what agents may hide is hidden.
async fn guarded() -> (ContextSystem, AgentContext) {
    let system = memory().await;
    add_segment(&system, "ro", SegmentKind::Custom, Permission::ReadOnly).await;
    leaf(&system, "sys-0", "Rule").await;
    leaf(&system, "ro-0", "Fact").await;
    leaf(&system, "usr-0", "Note").await;
    for hidden in ["ro-1", "usr-1"] {
        apply(&system, Edit::HideDetails(page(hidden))).await;
    }
    let alpha = agent(&system, "alpha");
    (system, alpha)
}

// what the permission denies is neither registered nor done.
#[test]
fn anchors_are_checked_like_any_operation() {
    block_on(async {
        let (_, alpha) = guarded().await;
        let now = anchors(&alpha).await;
        let denied = [
            ("hide-sys-1", vec![]),
            ("hide-sys-0", vec![]),
            ("update-sys-1", vec![("name", "Mine"), ("description", ""), ("detail", "")]),
            ("update-ro-1", vec![("name", "Mine"), ("description", ""), ("detail", "")]),
            ("move-ro-1", vec![("to", "usr-0")]),
            ("create-ro-0", vec![("name", "New")]),
            ("create-sys-0", vec![("name", "New")]),
        ];
        for (key, given) in denied {
            assert!(!now.contains(&key.to_owned()), "{key} is registered");
            let kind = refused(&alpha, key, &given).await;
            assert_eq!(kind, ErrorKind::PermissionDenied, "{key}");
        }
        // Its own levels are its own, also there.
        for key in ["expand-ro-1", "hide-ro-1"] {
            press(&alpha, key, &[]).await.unwrap();
        }
        let body = alpha.window(&options(Format::Markdown)).await.unwrap().body;
        assert!(!body.contains("[button:hide-sys-1]"), "{body}");
    });
}

// An anchor whose page has moved on says what to press instead.
#[test]
fn stale_anchors_name_the_fresh_one() {
    block_on(async {
        let (system, alpha) = guarded().await;
        let note = page("usr-1");
        assert_eq!(stale(&alpha, "hide-usr-1", &[]).await.as_deref(), Some("expand-usr-1"));
        press(&alpha, "expand-usr-1", &[]).await.unwrap();
        let fresh = stale(&alpha, "expand-usr-1", &[]).await.unwrap();
        assert_eq!(fresh, "hide-usr-1");
        press(&alpha, &fresh, &[]).await.unwrap();

        // Another view's levels do not make it stale.
        agent(&system, "beta").expand_details(&note).await.unwrap();
        press(&alpha, "expand-usr-1", &[]).await.unwrap();

        add_segment(&system, "new", SegmentKind::Custom, Permission::ReadWrite).await;
        alpha.move_page(&note, "new-0").await.unwrap();
        let fresh = stale(&alpha, "update-usr-1", &[("name", "X")]).await;
        assert_eq!(fresh.as_deref(), Some("update-new-1"));
        // Where it went is told only to those who see it there.
        let beta = confined(&system, "beta", &["sys", "usr"]);
        let told = press(&beta, "hide-usr-1", &[]).await.map(drop).unwrap_err();
        assert_eq!(told.kind(), ErrorKind::NotFound);
        assert!(!told.to_string().contains("new"), "{told}");

        alpha.remove_page("new-1").await.unwrap();
        assert_eq!(stale(&alpha, "hide-new-1", &[]).await, None);
    });
}

// D-19: a reference says where something is; pressing it does nothing.
#[test]
fn references_never_act() {
    block_on(async {
        let (system, alpha) = guarded().await;
        let before = system.info().await.unwrap().revision;
        for key in ["usr-1", "usr-0", "sys-1"] {
            assert!(anchors(&alpha).await.contains(&key.to_owned()));
            assert_eq!(refused(&alpha, key, &[]).await, ErrorKind::Invalid, "{key}");
        }
        assert_eq!(system.info().await.unwrap().revision, before);
        // Also where its key reads like an action on another page.
        add_segment(&system, "expand-usr", SegmentKind::Custom, Permission::ReadWrite).await;
        leaf(&system, "expand-usr-0", "Trap").await;
        let only = confined(&system, "gamma", &["sys", "expand-usr"]);
        for view in [&only, &alpha] {
            assert_eq!(refused(view, "expand-usr-1", &[]).await, ErrorKind::Invalid);
            assert_eq!(refused(view, "expand-usr-9", &[]).await, ErrorKind::NotFound);
        }
        // It is offered to nobody who sees both, and to everybody else.
        let body = alpha.window(&options(Format::Markdown)).await.unwrap().body;
        assert!(body.contains("**[usr-1]**") && !body.contains("[button:expand-usr-1]"), "{body}");
        let shown = alpha.window(&options(Format::Markdown)).await.unwrap();
        assert!(!shown.anchors.get("expand-usr-1").unwrap().is_executable());
        let plain = confined(&system, "delta", &["sys", "usr"]);
        let body = plain.window(&options(Format::Markdown)).await.unwrap().body;
        assert!(body.contains("[button:expand-usr-1]"), "{body}");
        press(&plain, "expand-usr-1", &[]).await.unwrap();
        assert_eq!(alpha.get_page("usr-1").await.unwrap().visibility, Visibility::Hidden);
    });
}

// D-31: nothing but known keys does anything.
#[test]
fn unknown_keys_do_nothing() {
    block_on(async {
        let (system, alpha) = guarded().await;
        add_segment(&system, "agent-beta", SegmentKind::Custom, Permission::ReadWrite).await;
        leaf(&system, "agent-beta-0", "Secret").await;
        let before = system.info().await.unwrap().revision;
        let unknown = [
            "",
            " ",
            "expand",
            "expand-",
            "expand-usr",
            "expand-usr-99",
            "Expand-usr-1",
            "nowhere-1",
            "purge-usr-1",
            "remove-usr-1",
            "undo-1",
            "expand-agent-beta-1",
            "agent-beta-1",
            "notebook.add",
            "find-usr-1",
            "expand-usr-1 ",
            "[button:expand-usr-1]",
            "\u{202e}x",
        ];
        for key in unknown {
            assert_eq!(refused(&alpha, key, &[]).await, ErrorKind::NotFound, "{key:?}");
        }
        let long = "x".repeat(100_000);
        let told = press(&alpha, &long, &[]).await.map(drop).unwrap_err();
        assert!(told.to_string().len() < 1_000);
        // What does not exist for the caller is told like what does not exist at all.
        let foreign = press(&alpha, "expand-agent-beta-1", &[]).await.map(drop).unwrap_err();
        let absent = press(&alpha, "expand-agent-gone-1", &[]).await.map(drop).unwrap_err();
        let plain = |error: Error| error.to_string().replace("beta", "gone");
        assert_eq!(plain(foreign), plain(absent));
        assert_eq!(system.info().await.unwrap().revision, before);
    });
}

// D-19: a form gets the parameters it names, a button none.
#[test]
fn parameters_are_checked() {
    block_on(async {
        let (system, alpha) = guarded().await;
        let before = system.info().await.unwrap().revision;
        let wrong: [(&str, &[(&str, &str)]); 9] = [
            ("find", &[]),
            ("find", &[("query", "x"), ("limit", "9")]),
            ("move-usr-1", &[]),
            ("move-usr-1", &[("to", "not an index")]),
            ("move-usr-1", &[("to", "usr-0"), ("from", "usr-0")]),
            ("create-usr-0", &[("detail", "text")]),
            ("create-usr-0", &[("name", "")]),
            ("update-usr-1", &[("title", "x")]),
            ("expand-usr-1", &[("force", "yes")]),
        ];
        for (key, given) in wrong {
            assert_eq!(refused(&alpha, key, given).await, ErrorKind::Invalid, "{key} {given:?}");
        }
        assert_eq!(system.info().await.unwrap().revision, before);
    });
}

// D-13: pressing what a window registered never says that it is unknown.
#[test]
fn everything_registered_can_be_pressed() {
    block_on(async {
        let (system, alpha) = guarded().await;
        let folder = directory(&system, "usr-0", "Folder").await;
        alpha.focus_page(&folder).await.unwrap();
        alpha.expand_details("usr-1").await.unwrap();
        for level in [Level::Full, Level::Summary, Level::Gist] {
            let asked = options(Format::Markdown).level(level);
            let window = alpha.window(&asked).await.unwrap();
            // What stands in the text is what is registered.
            for button in window.body.split("[button:").skip(1) {
                let key = button.split(']').next().unwrap();
                assert!(window.anchors.get(key).is_some_and(Anchor::is_executable), "{key}");
            }
            for (key, anchor) in window.anchors.iter() {
                let value = |name: &str| if name == "to" { "usr-0" } else { "text" };
                let given: Vec<(&str, &str)> =
                    anchor.params().iter().map(|name| (&**name, value(name))).collect();
                let pressed = press(&alpha, key.as_str(), &given).await;
                match (anchor.is_executable(), pressed) {
                    (true, Ok(_)) => {}
                    (false, Err(error)) => assert_eq!(error.kind(), ErrorKind::Invalid, "{key}"),
                    (_, other) => panic!("{key}: {other:?}"),
                }
                if anchor.is_executable() && key.as_str() != "find" {
                    let _ = alpha.undo(None).await;
                }
            }
        }
    });
}

fn mounted() -> Arc<Apps> {
    let mut apps = Apps::default();
    apps.mount(Arc::new(notebook::Notebook::default())).unwrap();
    Arc::new(apps)
}

// D-05, D-13: an application's panel stands at the end of every format; its anchors are in
// the registry and are pressed like any other; its state is in the Context.
#[test]
fn a_notebook_is_part_of_the_window() {
    block_on(async {
        let (_, alpha) = guarded().await;
        let mut asked = options(Format::Markdown);
        asked.apps = mounted();
        let add = params(&[("title", "Build [button:x]"), ("text", "use the lock")]);
        let Pressed::Answered(answer) =
            alpha.press("notebook.add", &add, &asked.apps).await.unwrap()
        else {
            panic!("the application answers");
        };
        assert_eq!(answer, "added entry 1");
        let window = alpha.window(&asked).await.unwrap();
        let panel = "## Notebook\n\n1. Build \\[button:x]: use the lock\n\n\
             [button:notebook.open-1]\n[form:notebook.add title=… text=…]\n";
        assert!(window.body.ends_with(panel), "{}", window.body);
        assert!(window.anchors.get("notebook.open-1").is_some());

        for format in Format::ALL {
            asked.format = format;
            let window = alpha.window(&asked).await.unwrap();
            assert!(window.body.contains("use the lock"), "{format}");
            let recounted = super::window::recount(&window, asked.counter.as_ref());
            assert!(recounted <= window.account.tokens, "{format}");
            let sent = alpha.send(&asked).await.unwrap();
            let twice = alpha.send(&asked).await.unwrap();
            assert!(twice.record.cached <= twice.record.tokens, "{format}");
            assert_eq!(alpha.sent(&asked, 1).await.unwrap().window.body, sent.window.body);
        }
        asked.format = Format::Context;
        let context = Context::parse(&alpha.window(&asked).await.unwrap().body).unwrap();
        assert_eq!(context.state().custom.as_ref().unwrap()["notebook.entries"].as_str(), "1");
        assert!(context.anchors().get("notebook.add").is_some());

        alpha.press("notebook.open-1", &BTreeMap::new(), &asked.apps).await.unwrap();
        let gone = alpha.press("notebook.open-1", &BTreeMap::new(), &asked.apps).await;
        assert_eq!(gone.map(drop).unwrap_err().kind(), ErrorKind::NotFound);
        let unmounted = press(&alpha, "notebook.open-1", &[]).await.map(drop).unwrap_err();
        assert_eq!(unmounted.kind(), ErrorKind::NotFound);
    });
}

// D-06, D-11, D-13: a press of an application is a round, moves major, and cannot be undone; with
// an application mounted the Context is frozen all the same.
#[test]
fn presses_of_applications_are_rounds() {
    block_on(async {
        let (system, alpha) = guarded().await;
        let beta = confined(&system, "beta", &["usr"]);
        let mut asked = options(Format::Context);
        asked.apps = mounted();
        let before = alpha.reader().context(&asked).await.unwrap();
        assert!(Arc::ptr_eq(&before, &alpha.reader().context(&asked).await.unwrap()));
        let other = beta.window(&options(Format::Context)).await.unwrap();

        let add = params(&[("title", "Build"), ("text", "use the lock")]);
        alpha.press("notebook.add", &add, &asked.apps).await.unwrap();
        let after = alpha.reader().context(&asked).await.unwrap();
        assert!(after.header().version().major() > before.header().version().major());
        let last = after.history().unwrap().rounds().last().unwrap().clone();
        assert_eq!((&*last.action, &*last.result), ("press notebook.add", "added entry 1"));
        assert!(Arc::ptr_eq(&after, &alpha.reader().context(&asked).await.unwrap()));
        // Nothing of it reaches a view that has no part in it.
        assert_eq!(beta.window(&options(Format::Context)).await.unwrap().body, other.body);

        let pressed = alpha.history(None, 1).await.unwrap().items[0].revision;
        let refused = alpha.undo(Some(pressed)).await.unwrap_err();
        assert!(refused.to_string().contains("an application made it"), "{refused}");
        // A bare undo passes it over.
        alpha.focus_page("usr-0").await.unwrap();
        asked.apps.press(Level::Full, "notebook.open-1", &BTreeMap::new()).unwrap();
        alpha.press("notebook.close-1", &BTreeMap::new(), &asked.apps).await.unwrap();
        let focused = alpha.undo(None).await.unwrap().undone.unwrap();
        assert!(focused > pressed);
        let after = alpha.reader().context(&asked).await.unwrap();
        // A change that nobody pressed for shows in the key.
        asked.apps.press(Level::Full, "notebook.open-1", &BTreeMap::new()).unwrap();
        let opened = alpha.reader().context(&asked).await.unwrap();
        assert_eq!(opened.header().version(), after.header().version());
        assert!(!opened.header().can_reuse(after.header()));
        assert!(opened.anchors().get("notebook.close-1").is_some());
        // Presses that are refused leave no round.
        let gone = alpha.press("notebook.open-1", &BTreeMap::new(), &asked.apps).await;
        assert_eq!(gone.map(drop).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(alpha.reader().context(&asked).await.unwrap().header(), opened.header());
    });
}

// A page of a segment that is read-only for all is still only read through the system side's
// own presses where the core itself refuses.
#[test]
fn the_system_side_presses_too() {
    block_on(async {
        let (system, _) = guarded().await;
        let given = params(&[("name", "Ours")]);
        system.as_system().press("update-ro-1", &given, &Apps::default()).await.unwrap();
        let none = BTreeMap::new();
        let root = system.as_system().press("hide-sys-0", &none, &Apps::default()).await;
        assert_eq!(root.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
        apply(&system, Edit::RemoveSegment { segment: segment("ro"), cascade: true, force: true })
            .await;
        let gone = system.as_system().press("update-ro-1", &given, &Apps::default()).await;
        assert!(gone.is_err());
    });
}
