//! A window that is sent is prepared and rendered once, and what it is compared with is kept.

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, Edit, Format, MemoryStorage, Permission, ProviderFormat,
    SegmentKind, Window, WindowOptions,
};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{add_segment, apply, confined, page, reopen, session, user},
    window::{FourBytes, World, options},
};
use futures::{executor::block_on, join};

use super::window::random_options;

const ANTHROPIC: Format = Format::Provider(ProviderFormat::Anthropic);

/// A session of some turns with a second segment, and what is asked of its storage.
struct Scene {
    memory: Arc<MemoryStorage>,
    storage: Arc<WatchedStorage>,
    system: ContextSystem,
}

impl Scene {
    async fn new(turns: usize) -> Self {
        let memory = Arc::new(MemoryStorage::new());
        let storage = WatchedStorage::new(memory.clone());
        let system = session(storage.clone()).await;
        add_segment(&system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
        let scene = Self { memory, storage, system };
        for at in 0..turns {
            scene.agent().add_turn(vec![user(&words(at))]).await.unwrap();
        }
        scene.storage.reset();
        scene
    }

    fn agent(&self) -> AgentContext {
        confined(&self.system, "bot", &["usr"])
    }

    /// Returns an agent that writes elsewhere.
    fn other(&self) -> AgentContext {
        confined(&self.system, "other", &["oth"])
    }

    /// Returns how often a window was prepared: each time reads the custom state once.
    fn prepared(&self) -> u64 {
        self.storage.calls("custom")
    }
}

fn words(at: usize) -> String {
    format!("request {at}: {}", "look at this and tell me what it is ".repeat(8))
}

/// Checks that two windows are the same in all but the revision they were read at.
#[track_caller]
fn assert_alike(one: &Window, other: &Window) {
    assert_eq!(one.body, other.body);
    assert_eq!(one.pieces, other.pieces);
    assert_eq!(one.account, other.account);
    assert_eq!((one.version, &one.key, one.hash), (other.version, &other.key, other.hash));
    assert_eq!((one.due, one.frozen), (other.due, other.frozen));
    assert_eq!((&one.messages, &one.repaired), (&other.messages, &other.repaired));
}

/// Options under which the turns of a scene do not fit.
fn tight(format: Format) -> WindowOptions {
    options(format).budget(1_500)
}

// The same bytes, pieces and account as a window that is prepared again after the fold.
#[test]
fn a_window_with_a_fold_is_what_preparing_it_again_gives() {
    for format in Format::ALL {
        block_on(async {
            let scene = Scene::new(40).await;
            let sent = scene.agent().send(&tight(format)).await.unwrap();
            assert!(sent.fold.is_some_and(|fold| fold.folded > 0), "{format}");
            let expected = if format == Format::Context { 2 } else { 1 };
            assert_eq!(scene.prepared(), expected, "{format}");
            let cold = reopen(scene.memory.clone()).await;
            for system in [&scene.system, &cold] {
                let again = confined(system, "bot", &["usr"]).window(&tight(format)).await.unwrap();
                assert_alike(&again, &sent.window);
                assert_eq!(again.revision, sent.window.revision, "{format}");
            }
        });
    }
}

// The same in random sessions with random options.
#[test]
fn random_windows_sent_are_what_preparing_them_again_gives() {
    let (mut folds, mut same) = (0, 0);
    for seed in 4_200..4_215 {
        let mut world = World::new(seed);
        for _ in 0..40 {
            world.step();
            let at = world.random.below(3) as usize;
            let mut asked = random_options(&mut world.random);
            asked.counter = Arc::new(FourBytes);
            let Ok(sent) = block_on(world.agents[at].send(&asked)) else { continue };
            let told = format!("seed {seed}: {asked:?}");
            let again = block_on(world.agents[at].window(&asked)).unwrap();
            assert_eq!(again.pieces, sent.window.pieces, "{told}");
            assert_eq!(again.account, sent.window.account, "{told}");
            assert_eq!((again.version, again.due), (sent.window.version, None), "{told}");
            folds += usize::from(sent.fold.is_some());
            // Marks for the cache move with what was sent before.
            if sent.record.previous_tail.is_none() {
                assert_eq!(again.body, sent.window.body, "{told}");
                same += 1;
            }
        }
    }
    assert!(folds > 20 && same > 100, "{folds} folds, {same} alike");
}

// Somebody writes to what the window shows while its fold is committed: it is prepared again.
#[test]
fn a_change_beside_the_fold_is_shown() {
    for elsewhere in [true, false] {
        block_on(async {
            let scene = Scene::new(40).await;
            let agent = scene.agent();
            let release = scene.storage.hold_next_commit();
            let write = async {
                let system = &scene.system;
                let writer =
                    if elsewhere { scene.other() } else { confined(system, "x", &["usr"]) };
                writer.add_turn(vec![user("said meanwhile")]).await.unwrap();
                release.send(()).unwrap();
            };
            let options = tight(ANTHROPIC);
            let (sent, ()) = join!(agent.send(&options), write);
            let sent = sent.unwrap();
            assert!(sent.fold.is_some());
            assert_eq!(sent.window.body.contains("said meanwhile"), !elsewhere);
            assert_eq!(scene.prepared(), if elsewhere { 1 } else { 2 });
            let again = agent.window(&options).await.unwrap();
            assert_alike(&again, &sent.window);
        });
    }
}

// A window whose read overlaps a commit is read again only where that changed what it shows.
#[test]
fn a_commit_elsewhere_does_not_disturb_a_window() {
    for elsewhere in [true, false] {
        block_on(async {
            let scene = Scene::new(5).await;
            let options = options(ANTHROPIC);
            let expected = scene.agent().window(&options).await.unwrap();
            // A process with nothing in memory has to read contents.
            let system = reopen(scene.storage.clone()).await;
            let reader = confined(&system, "bot", &["usr"]);
            scene.storage.reset();
            let release = scene.storage.hold_next_read("contents");
            let write = async {
                let segment = if elsewhere { "oth" } else { "usr" };
                let writer = confined(&system, "x", &[segment]);
                writer.add_turn(vec![user("said meanwhile")]).await.unwrap();
                release.send(()).unwrap();
            };
            let (window, ()) = join!(reader.window(&options), write);
            let window = window.unwrap();
            // The writer, with nothing in memory, read custom state too.
            assert_eq!(scene.prepared() - 1, if elsewhere { 1 } else { 2 });
            assert_eq!(window.body.contains("said meanwhile"), !elsewhere);
            if elsewhere {
                assert_alike(&window, &expected);
            }
        });
    }
}

// What others say of levels, and custom state, is part of every window.
#[test]
fn levels_and_custom_state_of_the_system_side_disturb_a_window() {
    let budget = Edit::SetCustom { key: "budget".parse().unwrap(), value: Some("1500".to_owned()) };
    let edits = [Edit::HideDetails(page("usr-1")), budget, Edit::PinPage(page("oth-0"))];
    for edit in edits {
        block_on(async {
            let scene = Scene::new(5).await;
            let system = reopen(scene.storage.clone()).await;
            let reader = confined(&system, "bot", &["usr"]);
            scene.storage.reset();
            let release = scene.storage.hold_next_read("contents");
            let write = async {
                apply(&system, edit.clone()).await;
                release.send(()).unwrap();
            };
            let options = options(ANTHROPIC);
            let (window, ()) = join!(reader.window(&options), write);
            let window = window.unwrap();
            assert_alike(&reader.window(&options).await.unwrap(), &window);
        });
    }
}

// The window before is not read again for each that is sent.
#[test]
fn the_newest_window_of_a_ledger_is_kept() {
    block_on(async {
        let scene = Scene::new(3).await;
        let agent = scene.agent();
        let options = options(ANTHROPIC);
        agent.send(&options).await.unwrap();
        scene.storage.reset();
        for at in 0..40 {
            agent.add_turn(vec![user(&words(at))]).await.unwrap();
            agent.send(&options).await.unwrap();
        }
        assert_eq!(scene.storage.calls("ledger"), 0);
        for number in 1..=41 {
            agent.sent(&options, number).await.unwrap();
        }

        // Another process records one in between.
        let cold = reopen(scene.memory.clone()).await;
        let theirs = confined(&cold, "bot", &["usr"]).send(&options).await.unwrap();
        let ours = agent.send(&options).await.unwrap();
        assert_eq!((theirs.record.number, ours.record.number), (42, 43));
        assert!(ours.record.kept > 0 && ours.record.pieces.is_empty());
        agent.sent(&options, 43).await.unwrap();
    });
}

// What a purge took is in no window that is sent afterwards, nor in what it is built upon.
#[test]
fn a_purge_drops_the_newest_window_of_a_ledger() {
    block_on(async {
        let scene = Scene::new(3).await;
        let agent = scene.agent();
        let options = options(ANTHROPIC);
        agent.send(&options).await.unwrap();
        apply(&scene.system, Edit::PurgePage(page("usr-2"))).await;
        let after = agent.send(&options).await.unwrap();
        assert_eq!(after.record.kept, 0);
        let again = agent.sent(&options, after.record.number).await.unwrap();
        assert_eq!(again.window.body, after.window.body);
        assert!(agent.sent(&options, 1).await.is_err());
    });
}
