use super::*;
use crate::{data::Session, economy::detail::talk::Talk};

/// A session of 40 exchanges of one user and one model message, each of a known size.
fn talk() -> Talk {
    let mut messages = vec![r#"{"role":"system","content":"rules"}"#.to_owned()];
    for n in 0..40 {
        let text = format!("word_{n} ").repeat(60);
        messages.push(format!(r#"{{"role":"user","content":"{text}","observation":true}}"#));
        messages.push(format!(r#"{{"role":"assistant","content":"did word_{n} again"}}"#));
    }
    let line = format!(r#"{{"session_id":"s","messages":[{}]}}"#, messages.join(","));
    let session = Session::parse(&line).unwrap();
    Talk::new(&session, contexture_tokens::counter_for("o200k_base").as_ref())
}

fn requests(policy: &mut dyn Policy, talk: &Talk) -> Vec<PolicyRequest> {
    talk.calls.iter().map(|call| policy.request(call).unwrap()).collect()
}

fn total(request: &PolicyRequest) -> u64 {
    request.segments.iter().map(|segment| segment.block.tokens).sum()
}

#[test]
fn no_policy_exceeds_the_budget_or_loses_the_system_prompt_or_the_last_message() {
    let talk = talk();
    let counter = contexture_tokens::counter_for("o200k_base");
    for budget in [1_000, 2_000, 4_000] {
        let ground = Ground::new(&talk, budget, counter.as_ref());
        assert!(talk.tokens() > budget);
        let policies: [Box<dyn Policy + '_>; 5] = [
            Box::new(Sliding::new(&ground)),
            Box::new(Clear::new(&ground)),
            Box::new(Summary::new(&ground)),
            Box::new(Fold::new(&ground, 0, 500)),
            Box::new(Fold::new(&ground, 400, 600)),
        ];
        for mut policy in policies {
            for (call, request) in talk.calls.iter().zip(requests(policy.as_mut(), &talk)) {
                assert!(total(&request) <= budget);
                assert_eq!(request.segments[0].block.key, 0);
                let last = request.segments.last().unwrap();
                assert_eq!(last.block.key, call.items as u64 - 1);
            }
        }
    }
}

#[test]
fn a_frozen_part_stays_and_a_fold_goes_down_to_its_share() {
    let talk = talk();
    let counter = contexture_tokens::counter_for("o200k_base");
    let ground = Ground::new(&talk, 4_000, counter.as_ref());
    let requests = requests(&mut Fold::new(&ground, 400, 600), &talk);
    let folds: Vec<&PolicyRequest> = requests.iter().filter(|request| request.folded).collect();
    assert!(!folds.is_empty());
    for request in folds {
        assert!((2_000..=2_400).contains(&total(request)), "{}", total(request));
        // Behind the system prompt and the frozen part stand the lines.
        let frozen = request.marks[1];
        let early = request.segments[..frozen].iter().map(|segment| segment.block.tokens);
        assert!((1_200..=1_600).contains(&early.sum::<u64>()));
        assert_eq!(request.segments[frozen].block.tokens, 12);
    }
}

#[test]
fn a_message_over_a_quarter_is_cut_to_head_and_tail() {
    let text = (0..3_000).map(|n| format!("{n} ")).collect::<String>();
    let line = format!(
        r#"{{"session_id":"s","messages":[{{"role":"user","content":"{text}"}},{{"role":"assistant","content":"ok"}}]}}"#
    );
    let counter = contexture_tokens::counter_for("o200k_base");
    let talk = Talk::new(&Session::parse(&line).unwrap(), counter.as_ref());
    let ground = Ground::new(&talk, 4_000, counter.as_ref());
    let segment = &ground.segments[0];
    assert!((800..=1_000).contains(&segment.block.tokens), "{}", segment.block.tokens);
    let Shown::Cut(0, shown) = &segment.shown else { panic!("{:?}", segment.shown) };
    assert!(shown.starts_with("0 1 2 ") && shown.trim_end().ends_with("2998 2999"));
}
