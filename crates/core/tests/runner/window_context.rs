//! The seed's Context: five parts, a version that moves with the state, and nothing else.

use contexture_core::{
    AgentContext, ContextSystem, Edit, Format, Level, MemoryStorage, Permission, SegmentKind,
    context::{AnchorKind, Context, ContextVersion, History, ParsedContext},
};
use contexture_testkit::{
    fixture::{
        TickingClock, add_segment, agent, apply, confined, directory, leaf, memory, page, segment,
        session_id, user, valid,
    },
    window::{World, options},
};
use futures::executor::block_on;

async fn rendered(alpha: &AgentContext, level: Level) -> (ContextVersion, String, ParsedContext) {
    let window = alpha.window(&options(Format::Context).level(level)).await.unwrap();
    let context = Context::parse(&window.body).unwrap();
    (window.version, window.body, context)
}

async fn version(alpha: &AgentContext) -> ContextVersion {
    rendered(alpha, Level::Full).await.0
}

fn custom(key: &str, value: &str) -> Edit {
    Edit::SetCustom { key: valid(key), value: Some(value.to_owned()) }
}

// D-01 to D-06, D-17, D-33: the five parts, as the seed spells them, and they are parsed again.
#[test]
fn a_context_has_five_parts() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let folder = directory(&system, "usr-0", "Folder").await;
        let note = leaf(&system, "usr-0", "Note").await;
        alpha.hide_details(&note).await.unwrap();
        alpha.focus_page(&note).await.unwrap();
        apply(&system, custom("mood", "calm")).await;
        apply(&system, custom("contexture.secret", "own")).await;
        let (version, body, context) = rendered(&alpha, Level::Summary).await;

        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(|key| &**key).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["anchors", "content", "header", "history", "state"]);
        let header = context.header();
        assert_eq!((header.app_id(), header.session_id()), ("testkit", "test"));
        let claimed = header.version();
        let parts = (claimed.major, claimed.minor, claimed.patch);
        assert_eq!(parts, (version.major(), version.minor(), version.patch()));
        assert!(json["header"]["timestamp"].as_str().unwrap().starts_with("2025-10-09T"));

        assert_eq!(json["state"]["currentLod"], "Summary");
        assert_eq!(context.state().focus_id.as_deref(), Some("usr-2"));
        let shown = context.state().custom.clone().unwrap();
        assert_eq!(shown.into_iter().collect::<Vec<_>>(), [("mood".to_owned(), "calm".to_owned())]);
        assert!(!body.contains("contexture.secret"));

        assert!(context.content().contains("\"Folder\"") && context.content().contains("Focus: "));
        let expand = context.anchors().get("expand-usr-2").unwrap();
        assert_eq!((expand.kind(), expand.target()), (AnchorKind::Button, Some("usr-2")));
        let reference = context.anchors().get(&folder.to_string()).unwrap();
        assert_eq!((reference.kind(), reference.target()), (AnchorKind::Reference, None));
        let create = context.anchors().get("create-usr-1").unwrap();
        assert_eq!(create.params(), ["name", "description", "detail"]);

        let rounds = context.history().unwrap().rounds();
        let last = rounds.last().unwrap();
        assert_eq!((last.action.as_str(), last.result.as_str()), ("focusPage", "usr-2"));
        assert!(rounds.windows(2).all(|pair| pair[0].round < pair[1].round));
    });
}

// D-04, D-31: content and names of every kind survive the JSON.
#[test]
fn every_random_context_is_parsed_again() {
    for seed in 900..915 {
        let mut world = World::new(seed);
        for _ in 0..25 {
            world.step();
            let agent = world.agent();
            let asked = options(Format::Context);
            let Ok(window) = block_on(agent.window(&asked)) else { continue };
            let context = Context::parse(&window.body).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(*context.anchors(), window.anchors, "seed {seed}");
            let markdown = block_on(agent.window(&options(Format::Markdown))).unwrap();
            assert_eq!(context.content(), markdown.body, "seed {seed}");
            assert!(context.history().unwrap().rounds().len() <= History::SHOWN);
            assert!(context.diagnostics().is_empty(), "seed {seed}: {:?}", context.diagnostics());
        }
    }
}

// D-15: major moves with content, minor with levels and begins again with each major.
#[test]
fn versions_say_what_moved() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let before = version(&alpha).await;
        let note = leaf(&system, "usr-0", "Note").await;
        let made = version(&alpha).await;
        assert!(made.major() > before.major());
        assert_eq!(made.minor(), 0);

        alpha.expand_details(&note).await.unwrap();
        let expanded = version(&alpha).await;
        assert_eq!(expanded.major(), made.major());
        assert!(expanded.minor() > made.minor() && expanded.is_compatible_with(made));
        alpha.pin_page(&note).await.unwrap();
        let pinned = version(&alpha).await;
        assert!(pinned.minor() > expanded.minor());
        alpha.focus_page(&note).await.unwrap();
        let focused = version(&alpha).await;
        assert!(focused.minor() > pinned.minor(), "{focused} after {pinned}");
        // The system side's levels are everybody's default.
        apply(&system, Edit::HideDetails(note.clone())).await;
        assert!(version(&alpha).await.minor() > focused.minor());

        alpha.update_page(&note, "Renamed", "").await.unwrap();
        let renamed = version(&alpha).await;
        assert!(renamed.major() > made.major());
        assert_eq!((renamed.minor(), renamed.patch()), (0, made.patch()));
        assert!(!renamed.is_compatible_with(made));
    });
}

// D-11, D-24, C34: one version, one rendering; a state that shows something else has another.
#[test]
fn equal_versions_are_equal_bytes() {
    use std::collections::HashMap;
    for seed in 1_000..1_020 {
        let mut world = World::new(seed);
        let mut seen: HashMap<(String, String, Level), String> = HashMap::new();
        for step in 0..50 {
            world.step();
            let agent = world.agent();
            let level = *world.random.pick(&[Level::Full, Level::Summary, Level::Gist]);
            let asked = options(Format::Context).level(level);
            let Ok(window) = block_on(agent.window(&asked)) else { continue };
            let key = (agent.agent().to_string(), window.version.to_string(), level);
            let known = seen.entry(key.clone()).or_insert_with(|| window.body.clone());
            assert_eq!(*known, window.body, "seed {seed} step {step} {key:?}");
        }
    }
}

// D-21: major never decreases, whatever is edited, undone or removed.
#[test]
fn versions_never_go_back() {
    for seed in 1_100..1_120 {
        let mut world = World::new(seed);
        let mut last: Vec<Option<ContextVersion>> = vec![None; 3];
        for step in 0..50 {
            if world.random.chance(15) {
                let _ = block_on(world.agents[0].undo(None));
            }
            world.step();
            for (at, agent) in world.agents.iter().enumerate() {
                let now = block_on(agent.window(&options(Format::Markdown))).map(|it| it.version);
                let Ok(now) = now else { continue };
                assert!(last[at].is_none_or(|last| last <= now), "seed {seed} step {step} {now}");
                last[at] = Some(now);
            }
        }
    }
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        add_segment(&system, "tmp", SegmentKind::Custom, Permission::ReadWrite).await;
        leaf(&system, "tmp-0", "Note").await;
        let before = version(&alpha).await;
        let remove = Edit::RemoveSegment { segment: segment("tmp"), cascade: true, force: true };
        apply(&system, remove).await;
        let after = version(&alpha).await;
        assert!(after.major() > before.major(), "{after} after {before}");
        apply(&system, Edit::Undo { revision: None }).await;
        assert!(version(&alpha).await.major() > after.major());
    });
}

// C36, C49: what happens outside a view moves nothing in it: no version, no time, no byte.
#[test]
fn edits_outside_the_view_move_nothing() {
    block_on(async {
        let system = memory().await;
        add_segment(&system, "agent-beta", SegmentKind::Custom, Permission::ReadWrite).await;
        let alpha = agent(&system, "alpha");
        let note = leaf(&system, "usr-0", "Note").await;
        let before = rendered(&alpha, Level::Full).await;
        let hidden = leaf(&system, "agent-beta-0", "Other").await;
        let beta = confined(&system, "beta", &["usr", "agent-beta"]);
        beta.update_page(&hidden, "Renamed", "").await.unwrap();
        beta.expand_details(&hidden).await.unwrap();
        // Another view's levels on a page both see.
        beta.expand_details(&note).await.unwrap();
        beta.focus_page(&note).await.unwrap();
        beta.add_turn(vec![user("hello")]).await.unwrap();
        let after = rendered(&alpha, Level::Full).await;
        assert_eq!((before.0, before.1), (after.0, after.1));
        // What it sees does.
        let gamma = agent(&system, "gamma");
        gamma.update_page(&note, "Seen", "").await.unwrap();
        assert!(rendered(&alpha, Level::Full).await.0 > before.0);
    });
}

// C35, D-08: the time is that of the state, not of the rendering; looking again changes nothing.
#[test]
fn the_time_is_of_the_state() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let outcome = leaf(&system, "usr-0", "Note").await;
        let entry = alpha.history(None, 1).await.unwrap().items.remove(0);
        let first = rendered(&alpha, Level::Full).await;
        for _ in 0..5 {
            system.now();
        }
        let second = rendered(&alpha, Level::Full).await;
        assert_eq!(first.1, second.1);
        assert_eq!(first.2.header().timestamp(), entry.at);
        alpha.expand_details(&outcome).await.unwrap();
        let third = rendered(&alpha, Level::Full).await;
        assert!(third.2.header().timestamp() > entry.at);
        // An empty session has the time it was made.
        let storage = std::sync::Arc::new(MemoryStorage::new());
        let empty = ContextSystem::create(storage, session_id(), "testkit", TickingClock::new());
        let empty = empty.await.unwrap();
        let context = rendered(&agent(&empty, "alpha"), Level::Full).await.2;
        assert_eq!(context.header().timestamp(), empty.created_at());
    });
}

// D-06, D-14, D-36: at most fifty rounds, the newest, oldest first.
#[test]
fn history_shows_the_latest_rounds() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        for number in 0..70 {
            alpha.create_detail_page(&format!("Note {number}"), "", "t", "usr-0").await.unwrap();
        }
        let context = rendered(&alpha, Level::Gist).await.2;
        let rounds = context.history().unwrap().rounds();
        assert_eq!(rounds.len(), History::SHOWN);
        assert_eq!(rounds.last().unwrap().result, "usr-70");
        assert_eq!(rounds[0].result, "usr-21");
        assert!(rounds.iter().all(|round| round.action == "createDetailPage"));
    });
}

// D-03: the focus shows while its page is in the tree, also when it is folded away.
#[test]
fn focus_is_shown_while_it_stands() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        for number in 0..40 {
            let text = format!("turn {number} {}", "word ".repeat(30));
            alpha.add_turn(vec![user(&text)]).await.unwrap();
        }
        alpha.focus_page("usr-20").await.unwrap();
        let asked = options(Format::Context).budget(800);
        let sent = alpha.send(&asked).await.unwrap();
        let context = Context::parse(&sent.window.body).unwrap();
        assert_eq!(context.state().focus_id.as_deref(), Some("usr-20"));
        assert!(context.anchors().get("usr-20").is_some(), "what the text points at is registered");
        alpha.remove_page("usr-20").await.unwrap();
        let context = rendered(&alpha, Level::Full).await.2;
        assert_eq!(context.state().focus_id, None);
        assert!(context.anchors().get("usr-20").is_none());
        let _ = page("usr-20");
    });
}

// D-03, D-24: custom state is part of what a Context shows, so setting it is another version.
#[test]
fn custom_state_moves_the_version() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let before = rendered(&alpha, Level::Full).await;
        apply(&system, custom("mood", "calm")).await;
        let after = rendered(&alpha, Level::Full).await;
        assert_ne!(before.1, after.1);
        assert!(after.0 > before.0, "{} after {}", after.0, before.0);
    });
}

// D-11, D-24, D-26, D-35: while nothing moves the Context is the very same value; then it is made
// anew, and equals what the format prints.
#[test]
fn the_context_is_frozen_until_its_state_moves() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        leaf(&system, "usr-0", "Note").await;
        let asked = options(Format::Context);
        let first = alpha.reader().context(&asked).await.unwrap();
        let again = alpha.reader().context(&asked).await.unwrap();
        assert!(std::sync::Arc::ptr_eq(&first, &again));
        assert_eq!(first.to_json(), alpha.window(&asked).await.unwrap().body);

        // A narrower view of the same agent is another Context, whatever its version.
        let narrow = confined(&system, "alpha", &["sys"]);
        let seen = narrow.reader().context(&asked).await.unwrap();
        assert!(!seen.content().contains("Note"));

        leaf(&system, "usr-0", "Later").await;
        let later = alpha.reader().context(&asked).await.unwrap();
        assert!(later.content().contains("Later") && !first.content().contains("Later"));
        assert_eq!(later.to_json(), alpha.window(&asked).await.unwrap().body);
    });
}

// D-23, D-25: a failure is told by a Context that has all it must.
#[test]
fn a_failure_is_a_context_too() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let refused = alpha.window(&options(Format::Context).budget(1)).await.unwrap_err();
        let context = alpha.reader().error_context(&refused).await;
        let parsed = Context::parse(&context.to_json()).unwrap();
        assert_eq!(parsed.diagnostics()[0].code, "too-large");
        assert!(parsed.anchors().is_empty());
    });
}
