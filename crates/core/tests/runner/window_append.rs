//! Appending: what a provider was sent stays as it was, until a fold is taken.

use contexture_core::{Format, ProviderFormat, Window, window::validate_body};
use contexture_testkit::window::{World, options};
use futures::executor::block_on;

/// The messages of a window, as they stand in its body, without marks for the cache.
fn messages(window: &Window) -> Vec<String> {
    let unmarked = |text: &str| text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    window.messages.iter().map(|range| unmarked(&window.body[range.clone()])).collect()
}

fn check_body(format: ProviderFormat, window: &Window, at: &str) {
    let body = serde_json::from_str(&window.body).unwrap();
    validate_body(format, &body).unwrap_or_else(|broken| panic!("{at}: {broken}"));
}

// D-11, D-35: whatever is appended, each message of the window before stands unchanged at its place
// in the next one, in every provider format, unless a fold was taken for it.
#[test]
fn appending_changes_no_earlier_message() {
    let (mut grown, mut folded) = (0, 0);
    for seed in 500..540 {
        let mut world = World::new(seed);
        // Its turns go to the last segment of its view.
        let agent = world.agents[1].clone();
        for format in ProviderFormat::ALL {
            let budget = *world.random.pick(&[900, 1_800, 4_000, 100_000]);
            let asked = options(Format::Provider(format)).budget(budget);
            let mut before: Option<Window> = None;
            for step in 0..20 {
                for _ in 0..1 + world.random.below(2) {
                    world.append(&agent);
                }
                let at = format!("seed {seed} {format} step {step} budget {budget}");
                let Ok(sent) = block_on(agent.send(&asked)) else {
                    before = None;
                    continue;
                };
                check_body(format, &sent.window, &at);
                if let (Some(before), None) = (&before, sent.record.fold) {
                    let (was, is) = (messages(before), messages(&sent.window));
                    assert!(is.len() >= was.len(), "{at}");
                    for (number, (was, is)) in was.iter().zip(&is).enumerate() {
                        assert_eq!(was, is, "{at}: message {number}");
                    }
                    grown += u64::from(is.len() > was.len());
                }
                folded += u64::from(sent.record.fold.is_some());
                before = Some(sent.window);
            }
        }
    }
    assert!(grown > 1_000 && folded > 60, "{grown} {folded}");
}

// D-35: what is expected to be cached is at least all of the window before, less its last piece,
// when nothing was folded.
#[test]
fn appending_keeps_the_cache() {
    for seed in 600..615 {
        let mut world = World::new(seed);
        let agent = world.agents[1].clone();
        let asked = options("anthropic".parse().unwrap()).budget(100_000);
        let mut before: Option<(u64, u64)> = None;
        for step in 0..25 {
            world.append(&agent);
            let Ok(sent) = block_on(agent.send(&asked)) else { break };
            if let (Some((tokens, last)), None) = (before, sent.record.fold) {
                let cached = sent.record.cached.0;
                assert!(cached + last >= tokens, "seed {seed} step {step}: {cached} of {tokens}");
                assert!(cached <= sent.record.tokens.0, "seed {seed} step {step}");
            }
            let last = sent.window.pieces.last().map_or(0, |piece| piece.tokens.0);
            before = Some((sent.record.tokens.0, last));
        }
    }
}

// D-12: at every level asked for, and with turns continued in place, the same holds.
#[test]
fn levels_asked_for_keep_it_too() {
    for seed in 700..710 {
        let world = World::new(seed);
        let agent = world.agents[1].clone();
        for level in [contexture_core::Level::Summary, contexture_core::Level::Gist] {
            let asked = options("openai".parse().unwrap()).level(level);
            let mut before: Option<Vec<String>> = None;
            for _ in 0..12 {
                let root = agent.view().writes_to.root();
                let made = agent.create_detail_page("Note", "new", "text", root);
                block_on(made).unwrap();
                let sent = block_on(agent.send(&asked)).unwrap();
                let is = messages(&sent.window);
                if let (Some(was), None) = (&before, sent.record.fold) {
                    assert_eq!(was[..], is[..was.len()], "seed {seed} {level:?}");
                }
                before = Some(is);
            }
        }
    }
}
