//! Appending: what was sent stays as it was, cache marks apart, and costs next to nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    random_tests::{Maker, rendered},
    tests::*,
    *,
};
use crate::Role;

fn assembled_at(
    format: ProviderFormat,
    talk: &[Arc<RenderedPiece>],
    breakpoints: Breakpoints,
) -> Assembled {
    let rules = messages("sys-1", vec![Message::text(Role::System, "rules")]);
    let system = [Arc::new(render_system(&rules, &mark()))];
    let assembled = assemble(format, WindowParts { system: &system, talk, breakpoints }).unwrap();
    validate_body(format, &serde_json::from_str(&assembled.json).unwrap()).unwrap();
    assembled
}

fn unmarked(assembled: &Assembled) -> Vec<String> {
    let item = |range: &std::ops::Range<usize>| {
        assembled.json[range.clone()].replace(anthropic::CACHE_MARK, "")
    };
    assembled.items.iter().map(item).collect()
}

#[test]
fn appending_changes_nothing_before() {
    for seed in 0..400 {
        let mut maker = Maker::new(seed);
        let talk = maker.talk();
        for format in ProviderFormat::ALL {
            let rendered = rendered(format, &talk, Some("m"));
            let mut before: Option<Assembled> = None;
            for end in 0..=rendered.len() {
                let freeze = usize::try_from(maker.random.below(9)).ok();
                let breakpoints = Breakpoints { freeze, previous_tail: end.checked_sub(2) };
                let now = assembled_at(format, &rendered[..end], breakpoints);
                if let Some(before) = before {
                    let (was, is) = (unmarked(&before), unmarked(&now));
                    assert!(is.starts_with(&was), "seed {seed} {format}: {was:#?} {is:#?}");
                    if format != ProviderFormat::Anthropic {
                        let sent = before.json.strip_suffix("]}").unwrap();
                        assert!(now.json.starts_with(sent), "seed {seed} {format}");
                    }
                }
                before = Some(now);
            }
        }
    }
}

fn said(number: u64) -> Piece {
    messages(&format!("usr-{number}"), vec![Message::text(Role::User, format!("text {number}"))])
}

#[test]
fn the_cache_is_written_at_four_places() {
    let talk: Vec<Piece> = (0..6).map(said).collect();
    let format = ProviderFormat::Anthropic;
    let rendered = rendered(format, &talk, None);
    let marked = |freeze, previous_tail| {
        let assembled = assembled_at(format, &rendered, Breakpoints { freeze, previous_tail });
        let has_mark = |range: &std::ops::Range<usize>| {
            assembled.json[range.clone()].contains(anthropic::CACHE_MARK)
        };
        let marks = assembled.json.matches(anthropic::CACHE_MARK).count();
        let items: Vec<usize> = (0..6).filter(|at| has_mark(&assembled.items[*at])).collect();
        assert_eq!(marks, items.len() + 1, "the system part has one");
        items
    };
    assert_eq!(marked(None, None), [5]);
    assert_eq!(marked(Some(1), Some(4)), [1, 4, 5]);
    assert_eq!(marked(Some(4), Some(1)), [1, 4, 5]);
    assert_eq!(marked(Some(3), Some(3)), [3, 5]);
    assert_eq!(marked(Some(5), Some(99)), [5]);
    let none = assemble(
        ProviderFormat::OpenAi,
        WindowParts {
            system: &[],
            talk: &[],
            breakpoints: Breakpoints { freeze: Some(0), previous_tail: None },
        },
    );
    assert_eq!(none.unwrap().json, r#"{"messages":[]}"#);
}

#[test]
fn a_piece_of_nothing_ends_where_the_one_before_does() {
    let talk = [said(1), messages("usr-2", Vec::new()), said(3)];
    let rendered = rendered(ProviderFormat::Anthropic, &talk, None);
    let breakpoints = Breakpoints { freeze: Some(1), previous_tail: None };
    let assembled = assembled_at(ProviderFormat::Anthropic, &rendered, breakpoints);
    let first = &assembled.json[assembled.items[0].clone()];
    assert!(first.ends_with(r#","cache_control":{"type":"ephemeral"}}]}"#), "{first}");
}

#[test]
fn a_long_window_is_assembled_in_no_time() {
    let exchange = |number: u64| {
        let text = "x".repeat(1_000);
        let json = format!(
            r#"[{{"role":"user","content":"{text}"}},{{"role":"assistant","tool_calls":[
                {{"id":"call_{number}","function":{{"name":"f","arguments":"{{}}"}}}}]}},
                {{"role":"tool","tool_call_id":"call_{number}","content":"{text}"}}]"#
        );
        parsed(&format!("usr-{number}"), &json)
    };
    let talk: Vec<Piece> = (1..=200).map(exchange).collect();
    for format in ProviderFormat::ALL {
        let rendered = rendered(format, &talk, None);
        let best = (0..30).map(|_| {
            let begun = Instant::now();
            let parts =
                WindowParts { system: &[], talk: &rendered, breakpoints: Breakpoints::default() };
            let assembled = assemble(format, parts).unwrap();
            let took = begun.elapsed();
            assert!(assembled.json.len() > 400_000 && assembled.repaired.len() < 2);
            took
        });
        let best = best.min().unwrap();
        println!("{format}: {best:?}");
        // It takes a tenth of this; the bound is against rendering or reading the text again.
        assert!(best < Duration::from_millis(2), "{format}: {best:?}");
    }
}
