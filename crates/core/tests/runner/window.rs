//! Windows of random sessions: they fit or say why not, show nothing that is out of view, and the
//! same state gives the same bytes.

use std::sync::Arc;

use contexture_core::{
    AgentContext, Error, ErrorKind, Format, Level, SegmentKind, TokenCounter, Window, WindowLevel,
    WindowOptions, window::validate_body,
};
use contexture_testkit::{
    random::Random,
    window::{SECRET, Words, World, options},
};
use futures::executor::block_on;
use serde_json::Value;

/// Counts what a model reads of a window again: every text in it, without what stands around them.
pub(crate) fn recount(window: &Window, counter: &dyn TokenCounter) -> u64 {
    match window.format {
        Format::Markdown => counter.count(&window.body).0,
        Format::Context => {
            let context: Value = serde_json::from_str(&window.body).unwrap();
            counter.count(context["content"].as_str().unwrap()).0
        }
        Format::Provider(_) => recount_json(&serde_json::from_str(&window.body).unwrap(), counter),
    }
}

fn recount_json(value: &Value, counter: &dyn TokenCounter) -> u64 {
    let around = ["role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "cache_control"];
    match value {
        Value::String(text) => counter.count(text).0,
        Value::Array(items) => items.iter().map(|item| recount_json(item, counter)).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !around.contains(&key.as_str()))
            .map(|(_, value)| recount_json(value, counter))
            .sum(),
        _ => 0,
    }
}

/// Asks for a random format, level and budget.
pub(crate) fn random_options(random: &mut Random) -> WindowOptions {
    let mut asked = options(*random.pick(&Format::ALL));
    if random.chance(30) {
        asked.counter = Arc::new(Words);
    }
    let levels = [Level::Full, Level::Full, Level::Full, Level::Summary, Level::Gist];
    asked.level = Some(*random.pick(&levels));
    if random.chance(85) {
        asked = asked.budget(*random.pick(&[150, 400, 700, 1_200, 2_500, 6_000, 20_000]));
    }
    if random.chance(20) {
        asked.reserved = contexture_core::Tokens(random.below(200));
    }
    asked
}

/// Says whether any part of a window, or of what came instead of it, speaks of what is out of view.
fn leaks(shown: &Result<Window, Error>) -> bool {
    let told = match shown {
        Ok(window) => {
            let account = serde_json::to_string(&window.account).unwrap();
            let anchors = serde_json::to_string(&window.anchors).unwrap();
            let pieces = serde_json::to_string(&window.pieces).unwrap();
            [window.body.as_str(), &account, &anchors, &pieces, &window.repaired.join(" ")].concat()
        }
        Err(error) => format!("{error} {error:?} {}", error.advice()),
    };
    told.to_lowercase().contains(SECRET)
}

/// Checks what holds for every window of an agent.
pub(crate) fn check(agent: &AgentContext, asked: &WindowOptions, at: &str) -> Option<Window> {
    let shown = block_on(agent.window(asked));
    assert!(!leaks(&shown), "{at}: {shown:?}");
    let window = match shown {
        Ok(window) => window,
        Err(error) => {
            check_refusal(agent, &error, at);
            return None;
        }
    };
    let account = &window.account;
    if let Some(budget) = asked.budget {
        assert!(account.tokens <= budget.0, "{at}: {} > {budget}", account.tokens);
    }
    let recounted = recount(&window, asked.counter.as_ref()) + asked.reserved.0;
    assert!(recounted <= account.tokens, "{at}: {recounted} > {}\n{}", account.tokens, window.body);
    let sum: u64 = account.segments.iter().map(|segment| segment.tokens).sum();
    assert!(sum + asked.reserved.0 <= account.tokens, "{at}");
    assert_eq!(sum, account.pages.iter().map(|page| page.tokens).sum::<u64>(), "{at}");
    for segment in agent.list_segments().unwrap() {
        let taken = account.segments.iter().find(|taken| taken.id == segment.id).unwrap();
        let bounded = segment.capacity.0 > 0 && segment.kind != SegmentKind::System;
        // Only what never folds, the last page and pinned ones, may keep it over its capacity.
        let met = taken.tokens <= segment.capacity.0 || taken.full_pages <= 4;
        assert!(!bounded || met, "{at}: {taken:?}");
    }
    if let Some(due) = window.due {
        assert!(due.tokens_after < due.tokens_before, "{at}: {due:?}");
    }
    if let Format::Provider(format) = asked.format {
        let body = serde_json::from_str(&window.body).unwrap();
        validate_body(format, &body).unwrap_or_else(|broken| panic!("{at}: {broken}"));
    }
    check_standing(agent, asked, &window, at);
    Some(window)
}

/// What cannot fit says which page is in the way, and that page is one that never folds.
fn check_refusal(agent: &AgentContext, error: &Error, at: &str) {
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{at}: {error}");
    let Error::WindowTooLarge { tokens, budget, culprit } = error else {
        panic!("{at}: {error:?}");
    };
    assert!(tokens > budget, "{at}: {error}");
    let Some((index, _)) = culprit.split_once(" alone takes ") else { return };
    let seen = block_on(agent.get_page(index)).unwrap_or_else(|other| panic!("{at}: {other}"));
    if culprit.contains("never folds)") && culprit.contains("it is the last") {
        assert!(seen.page.detail().is_some(), "{at}: {error}");
    }
    if culprit.contains("it is pinned") {
        assert!(seen.pinned, "{at}: {error}");
    }
}

/// What never folds stands as it did without a budget: system prompts, pinned pages, the last page.
fn check_standing(agent: &AgentContext, asked: &WindowOptions, window: &Window, at: &str) {
    let level = |page| {
        // A run is named after its first page, which may stand by itself again.
        let pages = &window.account.pages;
        pages.iter().filter(|shown| shown.page == page).map(|shown| shown.level).max()
    };
    for segment in agent.list_segments().unwrap() {
        if segment.kind != SegmentKind::System {
            continue;
        }
        for seen in block_on(agent.get_children(segment.root())).unwrap() {
            let shown = level(seen.page.index.clone());
            assert_eq!(shown, Some(WindowLevel::Full), "{at}: {}", seen.page.index);
        }
    }
    if asked.level < Some(Level::Full) {
        return;
    }
    let all = block_on(
        agent.list_pages(&contexture_core::ListQuery { limit: 10_000, ..Default::default() }),
    );
    let mut last = None;
    for seen in all.unwrap().items {
        let stands = seen.level == WindowLevel::Full && seen.page.detail().is_some();
        if seen.pinned && stands {
            let shown = level(seen.page.index.clone());
            assert_eq!(shown, Some(WindowLevel::Full), "{at}: {} is pinned", seen.page.index);
        }
        let talk =
            agent.get_segment(seen.page.index.segment()).unwrap().kind != SegmentKind::System;
        last = last.or((stands && talk).then_some(()));
    }
    if last.is_some() {
        let full = |shown: &&contexture_core::window::PageAccount| {
            shown.level == WindowLevel::Full
                && block_on(agent.get_page(&shown.page)).unwrap().page.detail().is_some()
                && agent.get_segment(shown.page.segment()).unwrap().kind != SegmentKind::System
        };
        assert!(window.account.pages.iter().any(|shown| full(&shown)), "{at}: nothing is in full");
    }
}

// D-28, D-31, P-04: whatever was edited, a window under a budget fits, by its own account
// and counted again, or is refused with the page that is in the way; what is out of view is in
// no part of it; what never folds stands.
#[test]
fn random_windows_fit_and_show_only_the_view() {
    let (mut fitted, mut refused, mut folded) = (0, 0, 0);
    for seed in 0..60 {
        let mut world = World::new(seed);
        for step in 0..45 {
            world.step();
            let agent = world.agent();
            let asked = random_options(&mut world.random);
            let at = format!("seed {seed} step {step} {} {asked:?}", agent.agent());
            match check(&agent, &asked, &at) {
                Some(window) => {
                    fitted += 1;
                    folded += u64::from(window.due.is_some());
                }
                None => refused += 1,
            }
            // Others must be able to build upon folds that were taken.
            if world.random.chance(25) && block_on(agent.fold(&asked)).is_ok() {
                let again = check(&agent, &asked, &at).expect("it did fit");
                assert_eq!(again.due, None, "{at}: one fold is enough");
            }
        }
    }
    assert!(fitted > 1_500 && refused > 50 && folded > 200, "{fitted} {refused} {folded}");
}

// D-07, D-08: the same state gives the same bytes, in the process that made it and in one that
// has nothing in memory, at every budget and level. This checks every cache there is.
#[test]
fn cold_and_warm_give_the_same_bytes() {
    for seed in 100..130 {
        let mut world = World::new(seed);
        for step in 0..30 {
            world.step();
            let asked = random_options(&mut world.random);
            let at = world.random.below(3) as usize;
            let warm = &world.agents[at];
            if world.random.chance(30) {
                let _ = block_on(warm.send(&asked));
            }
            let cold = world.cold();
            let cold = &world.agents_on(&cold)[at];
            let (warm, cold) = (block_on(warm.window(&asked)), block_on(cold.window(&asked)));
            match (warm, cold) {
                (Ok(warm), Ok(cold)) => {
                    let at = format!("seed {seed} step {step} {asked:?}");
                    assert_eq!(warm.body, cold.body, "{at}");
                    assert_eq!(warm.hash, cold.hash, "{at}");
                    assert_eq!(warm.account, cold.account, "{at}");
                    assert_eq!(warm.anchors, cold.anchors, "{at}");
                    assert_eq!((warm.version, warm.due), (cold.version, cold.due), "{at}");
                }
                (Err(warm), Err(cold)) => assert_eq!(warm.to_string(), cold.to_string()),
                (warm, cold) => panic!("seed {seed} step {step}: {warm:?} {cold:?}"),
            }
        }
    }
}

// D-08: a session built twice in the same way renders alike, hash by hash.
#[test]
fn sessions_built_alike_render_alike() {
    let hashes = |seed| {
        let mut world = World::new(seed);
        let mut hashes = Vec::new();
        for _ in 0..40 {
            world.step();
            let (agent, asked) = (world.agent(), random_options(&mut world.random));
            let sent = block_on(agent.send(&asked));
            hashes.push(sent.map(|sent| sent.record.hash).map_err(|error| error.to_string()));
        }
        hashes
    };
    for seed in 200..215 {
        assert_eq!(hashes(seed), hashes(seed), "seed {seed}");
    }
}

// P-02, P-03, P-04: what is archived is in no window; a hidden leaf shows its description and no
// text, and a hidden directory itself and none of its pages.
#[test]
fn lifecycle_and_visibility_decide_what_stands() {
    use contexture_testkit::fixture::{agent, directory, leaf, memory};
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let folder = directory(&system, "usr-0", "Folder").await;
        let inner = leaf(&system, &folder.to_string(), "Inner").await;
        let outer = leaf(&system, "usr-0", "Outer").await;
        let shows = async |text: &str| {
            let window = alpha.window(&options(Format::Markdown)).await.unwrap();
            window.body.contains(text)
        };
        assert!(shows("text of Inner").await, "new pages stand in full");
        alpha.hide_details(&inner).await.unwrap();
        assert!(shows("\"Inner\"").await && shows("about Inner").await);
        assert!(!shows("text of Inner").await, "a line only");
        alpha.expand_details(&inner).await.unwrap();
        assert!(shows("text of Inner").await);
        alpha.hide_details(&folder).await.unwrap();
        assert!(shows("\"Folder\"").await && !shows("Inner").await);
        alpha.expand_details(&folder).await.unwrap();
        assert!(shows("text of Inner").await);
        alpha.archive_page(&inner).await.unwrap();
        assert!(!shows("Inner").await);
        alpha.restore_page(&inner).await.unwrap();
        assert!(shows("text of Inner").await);
        alpha.remove_page(&outer).await.unwrap();
        assert!(!shows("Outer").await);
    });
}

// D-20: each level shows less than the one above, and system prompts stay in full.
#[test]
fn levels_asked_for_cap_all_but_the_system() {
    use contexture_testkit::fixture::{agent, leaf, memory};
    block_on(async {
        let system = memory().await;
        leaf(&system, "sys-0", "Rule").await;
        let alpha = agent(&system, "alpha");
        let note = leaf(&system, "usr-0", "Note").await;
        alpha.expand_details(&note).await.unwrap();
        let mut bodies = Vec::new();
        for level in [Level::Full, Level::Summary, Level::Gist] {
            let asked = options(Format::Markdown).level(level);
            let body = alpha.window(&asked).await.unwrap().body;
            assert!(body.contains("text of Rule"), "{body}");
            bodies.push((body.contains("text of Note"), body.contains("about Note")));
        }
        assert_eq!(bodies, [(true, true), (false, true), (false, false)]);
    });
}
