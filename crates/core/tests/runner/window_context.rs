//! The seed's Context: five parts, a version that moves with the state, and nothing else.

use contexture_core::{
    AgentContext, ContextSystem, Edit, Format, Level, MemoryStorage, Operation, Permission,
    SegmentKind,
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
        let shown: Vec<_> = shown.iter().map(|(key, value)| (&**key, value.as_str())).collect();
        assert_eq!(shown, [("mood", r#""calm""#)]);
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
            // Only capacities lower pages here.
            let lowered = context.diagnostics().iter().all(|told| told.code == "lowered");
            assert!(lowered, "seed {seed}: {:?}", context.diagnostics());
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

// D-11, D-15, D-24: random states, levels, budgets and views, in every format: where version
// and key are equal the bytes are; so different bytes have another version or key.
#[test]
fn equal_version_and_key_are_equal_bytes() {
    use std::collections::HashMap;
    let mut again = 0;
    for seed in 1_000..1_020 {
        let mut world = World::new(seed);
        let mut seen: HashMap<(String, String), String> = HashMap::new();
        for step in 0..40 {
            world.step();
            let levels = [Level::Full, Level::Summary, Level::Gist];
            if world.random.chance(15) {
                let agent = world.agent();
                block_on(agent.switch_level(*world.random.pick(&levels))).unwrap();
            }
            for _ in 0..5 {
                let agent = match world.random.chance(20) {
                    // Another view of the same agent.
                    true => confined(&world.system, "alpha", &["usr", "sys"]),
                    false => world.agent(),
                };
                let formats = [Format::Context, Format::Markdown, "anthropic".parse().unwrap()];
                let mut asked = options(*world.random.pick(&formats));
                if world.random.chance(50) {
                    asked = asked.level(*world.random.pick(&levels));
                }
                if world.random.chance(60) {
                    asked = asked.budget(*world.random.pick(&[900, 2_000, 20_000]));
                }
                let rendered = match world.random.chance(25) {
                    true => block_on(world.system.as_system().reader().window(&asked)),
                    false => block_on(agent.window(&asked)),
                };
                let Ok(window) = rendered else { continue };
                let key = (window.version.to_string(), window.key.as_str().to_owned());
                again += usize::from(seen.contains_key(&key));
                let known = seen.entry(key.clone()).or_insert_with(|| window.body.clone());
                assert_eq!(*known, window.body, "seed {seed} step {step} {asked:?} {key:?}");
                if asked.format == Format::Context {
                    let context = Context::parse(&window.body).unwrap();
                    assert_eq!(context.header().render_key(), Some(&window.key));
                }
            }
        }
    }
    assert!(again > 100, "too few were rendered twice: {again}");
}

// D-15, D-24: levels, budgets and views of one state are told apart.
#[test]
fn what_differs_is_identified() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        for number in 0..12 {
            alpha
                .add_turn(vec![user(&format!("turn {number} {}", "word ".repeat(60)))])
                .await
                .unwrap();
        }
        let full = options(Format::Context);
        let beta = confined(&system, "beta", &["usr"]);
        let mut windows = vec![
            alpha.window(&full).await.unwrap(),
            beta.window(&full).await.unwrap(),
            alpha.window(&full.clone().level(Level::Summary)).await.unwrap(),
            alpha.window(&full.clone().level(Level::Gist)).await.unwrap(),
        ];
        for budget in [500, 700, 900, 1_100] {
            windows.push(alpha.window(&full.clone().budget(budget)).await.unwrap());
        }
        for (at, one) in windows.iter().enumerate() {
            for other in &windows[..at] {
                assert_eq!(one.version.major(), other.version.major());
                assert_ne!(one.body, other.body);
                assert_ne!((one.version, &one.key), (other.version, &other.key));
            }
        }
    });
}

// D-14: rounds of another view show on the system side alone, and there in the key.
#[test]
fn rounds_of_other_views_are_identified_and_kept_apart() {
    block_on(async {
        let system = memory().await;
        let note = leaf(&system, "usr-0", "Note").await;
        let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
        let asked = options(Format::Context);
        let first = system.as_system().reader().context(&asked).await.unwrap();
        let beside = beta.window(&asked).await.unwrap();
        let hidden = alpha.hide_details(&note).await.unwrap();
        let second = system.as_system().reader().context(&asked).await.unwrap();
        assert_ne!(first.history(), second.history());
        assert!(!first.header().can_reuse(second.header()));
        // Nor does the system side's undo of it say anything to others.
        apply(&system, Edit::Undo { revision: Some(hidden.revision) }).await;
        assert_eq!(beta.window(&asked).await.unwrap().body, beside.body);
        let told = beta.history(None, 9).await.unwrap().items;
        assert!(told.iter().all(|entry| entry.operation != Operation::Undo), "{told:?}");
    });
}

// D-10: the level is state of a view: a switch holds until the next, is an edit of its own that
// moves minor, is undone, and touches nobody else.
#[test]
fn a_level_switch_holds_until_the_next() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let beta = confined(&system, "beta", &["usr"]);
        let text = format!("a question {} that stands in full", "with many words ".repeat(40));
        alpha.add_turn(vec![user(&text)]).await.unwrap();
        let asked = options(Format::Context);
        let (before, beside) =
            (alpha.window(&asked).await.unwrap(), beta.window(&asked).await.unwrap());
        alpha.switch_level(Level::Gist).await.unwrap();
        let gist = alpha.window(&asked).await.unwrap();
        assert_eq!(gist.version.major(), before.version.major());
        assert!(gist.version.minor() > before.version.minor());
        let context = Context::parse(&gist.body).unwrap();
        assert_eq!(context.state().current_lod, Level::Gist);
        assert!(!context.content().contains("that stands in full"), "{}", context.content());
        assert_eq!(alpha.reader().level_switched().await.unwrap(), Level::Gist);
        // For one call another level may be asked for; the view stays where it is.
        let full = alpha.window(&asked.clone().level(Level::Full)).await.unwrap();
        assert!(full.body.contains("that stands in full"));
        assert_eq!(alpha.window(&asked).await.unwrap().body, gist.body);
        // It lasts over edits and openings, and is recorded with what is sent.
        let text = format!("next {} another question", "with many words ".repeat(40));
        alpha.add_turn(vec![user(&text)]).await.unwrap();
        let sent = alpha.send(&asked).await.unwrap();
        assert_eq!(sent.record.level, Level::Gist);
        assert!(!sent.window.body.contains("another question"));
        assert_eq!(
            beta.window(&asked.clone().level(Level::Full)).await.unwrap().version.minor(),
            0
        );
        assert_eq!(beside.version.minor(), 0);
        let switched = alpha.history(None, 10).await.unwrap().items.into_iter();
        let switched = switched.filter(|entry| entry.operation == Operation::SwitchLevel);
        let revision = switched.map(|entry| entry.revision).next();
        alpha.undo(revision).await.unwrap();
        assert_eq!(alpha.reader().level_switched().await.unwrap(), Level::Full);
        assert!(alpha.window(&asked).await.unwrap().body.contains("another question"));
    });
}

// D-28: where the budget lowered pages, the Context says to which level, which pages, and why;
// the fold itself leaves the same.
#[test]
fn what_the_budget_lowers_is_said() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        for number in 0..40 {
            let text = format!("turn {number} {}", "word ".repeat(30));
            alpha.add_turn(vec![user(&text)]).await.unwrap();
        }
        let asked = options(Format::Context);
        let whole = Context::parse(&alpha.window(&asked).await.unwrap().body).unwrap();
        assert_eq!((whole.state().current_lod, whole.diagnostics().len()), (Level::Full, 0));
        let asked = asked.budget(900);
        let due = Context::parse(&alpha.window(&asked).await.unwrap().body).unwrap();
        assert!(due.state().current_lod < Level::Full);
        assert!(!due.diagnostics().is_empty());
        for told in due.diagnostics() {
            assert_eq!(told.code, "lowered");
            let level = told.message.strip_prefix("to fit the budget, at ").unwrap();
            let (level, pages) = level.split_once(": ").unwrap();
            assert!(level.parse::<Level>().unwrap() >= due.state().current_lod);
            assert!(pages.starts_with("usr-"), "{}", told.message);
        }
        let sent = alpha.send(&asked).await.unwrap().window;
        let folded = Context::parse(&sent.body).unwrap();
        assert_eq!(folded.state().current_lod, due.state().current_lod);
        assert_eq!(folded.diagnostics(), due.diagnostics());
        assert_eq!(folded.content(), due.content());
    });
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

// What happens outside a view moves nothing in it: no version, no time, no byte.
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

// D-08: the time is that of the state, not of the rendering; looking again changes nothing.
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
        assert_eq!(
            alpha.history(None, 1_000).await.unwrap().items.len(),
            72,
            "all are kept, the segments too"
        );
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
        assert_eq!(later.header().app_id(), first.header().app_id());
        assert_eq!(later.header().session_id(), first.header().session_id());
    });
}

// D-23, D-25: a failure is told by a Context that has all it must.
#[test]
fn a_failure_is_a_context_too() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        leaf(&system, "usr-0", "Note").await;
        alpha.expand_details("usr-1").await.unwrap();
        let refused = alpha.window(&options(Format::Context).budget(1)).await.unwrap_err();
        let context = alpha.reader().error_context(&refused).await;
        // D-21: it has the version and the time of the state that it could not show.
        let shown = alpha.reader().context(&options(Format::Context)).await.unwrap();
        assert_eq!(context.header().version(), shown.header().version());
        assert_eq!(context.header().timestamp(), shown.header().timestamp());
        let parsed = Context::parse(&context.to_json()).unwrap();
        assert_eq!(parsed.diagnostics()[0].code, "too-large");
        assert!(parsed.anchors().is_empty());
    });
}
