use contexture_core::{
    Message, Role, Timestamp, Usage,
    message::{Fields, Part, ToolCall},
};

use super::*;

fn run() -> Run {
    Run {
        agent: "bug-fixer".parse().unwrap(),
        number: 1,
        mode: ContextMode::Isolated,
        segment: "agent-bug-fixer".parse().unwrap(),
        model: "openai/gpt-4o".to_owned(),
        prompt: "fix it".to_owned(),
        began_at: Timestamp::from_millis(0),
        driver: None,
        limits: Limits::default(),
        budget: None,
        fork: None,
        publishes: true,
        iterations: 0,
        used: Totals::default(),
        pages: Vec::new(),
        phase: Phase::Asking,
        repeated: Default::default(),
        empty: 0,
        shortened: None,
        stopping: false,
        asks: false,
    }
}

fn says(text: &str) -> Answer {
    let usage = Some(Usage { input: 10, cached: 4, output: 2, ..Usage::default() });
    Answer { message: Message::text(Role::Assistant, text), usage, stop: Stop::End }
}

fn calls(names: &[&str]) -> Answer {
    let mut answer = says("let me see");
    for (at, name) in names.iter().enumerate() {
        let (id, arguments) = (format!("c{at}"), "{}".to_owned());
        let extra = Fields::default();
        let call = ToolCall { id, name: (*name).to_owned(), arguments, extra };
        answer.message.parts.push(Part::ToolCall(call));
    }
    answer.stop = Stop::ToolCalls;
    answer
}

/// Stores a run and reads it back, as happens between any two steps.
fn stored(run: &Run) -> Run {
    let text = serde_json::to_string(run).unwrap();
    let read: Run = serde_json::from_str(&text).unwrap();
    assert_eq!(read, *run);
    read
}

fn results(messages: &[Message]) -> Vec<(String, bool)> {
    let results = messages.iter().flat_map(|message| message.tool_results());
    results
        .map(|result| {
            let Part::Text(text) = &result.content[0] else { panic!("{result:?}") };
            (text.text.clone(), result.error)
        })
        .collect()
}

#[test]
fn a_run_asks_calls_appends_and_publishes() {
    let mut run = run();
    assert_eq!(run.next(), Next::Ask);
    run.answered(calls(&["read_file", "grep"]));
    for name in ["read_file", "grep"] {
        let Next::Call(call) = run.next() else { panic!("{:?}", run.next()) };
        assert_eq!(call.name, name);
        run.begin_call();
        run = stored(&run);
        run.called(&ToolOutput::of(format!("{name} done")));
        run = stored(&run);
    }
    let Next::Append(exchange) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!(exchange.len(), 3);
    assert_eq!(exchange[0].author.as_ref().unwrap().as_str(), "bug-fixer");
    assert_eq!(
        results(&exchange),
        [("read_file done".to_owned(), false), ("grep done".to_owned(), false)]
    );
    run.appended(vec!["agent-bug-fixer-1".parse().unwrap()]);
    assert_eq!(run.next(), Next::Ask);
    run.answered(says("done"));
    run.appended(vec!["agent-bug-fixer-1".parse().unwrap()]);
    let Next::Publish(messages) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!(messages[0].plain_text(), "fix it");
    assert_eq!(messages[1].plain_text(), "done");
    run.published();
    assert_eq!(run.next(), Next::Done);
    assert_eq!((run.ending(), run.text().as_str()), (Some(&Ending::Answered), "done"));
    assert_eq!((run.iterations, run.used.input, run.used.cached), (2, 20, 8));
    assert_eq!(run.pages.len(), 1);
}

#[test]
fn after_a_crash_what_changes_the_world_is_not_done_twice() {
    let effect = |name: &str| if name == "grep" { Effect::Reads } else { Effect::Changes };
    let mut run = run();
    run.answered(calls(&["edit_file", "grep", "write_file"]));
    run.begin_call();
    let mut resumed = stored(&run);
    resumed.resume(Driver::default(), effect);
    // The edit may have happened: it is answered, and the next call is due.
    let Next::Call(call) = resumed.next() else { panic!() };
    assert_eq!(call.name, "grep");
    resumed.begin_call();
    let mut again = stored(&resumed);
    again.resume(Driver::default(), effect);
    let Next::Call(call) = again.next() else { panic!() };
    assert_eq!(call.name, "grep", "reading is harmless and is done again");
    again.called(&ToolOutput::of("found"));
    again.called(&ToolOutput::of("written"));
    let Next::Append(exchange) = again.next() else { panic!() };
    let results = results(&exchange);
    assert!(
        results[0].0.starts_with("interrupted: whether this call took effect is unknown"),
        "{results:?}"
    );
    assert!(results[0].1);
    assert_eq!(results[2], ("written".to_owned(), false));
}

#[test]
fn a_run_that_is_stopped_keeps_what_there_is() {
    let mut asking = run();
    asking.stop("half an ans");
    let Next::Append(messages) = asking.next() else { panic!() };
    assert_eq!(messages[0].plain_text(), "half an ans");
    // Half an answer is kept where it was said, and not published.
    asking.appended(Vec::new());
    assert_eq!(asking.ending(), Some(&Ending::Stopped));

    let mut acting = run();
    acting.answered(calls(&["edit_file", "grep"]));
    acting.begin_call();
    acting.stop("");
    let Next::Append(exchange) = acting.next() else { panic!() };
    let results = results(&exchange);
    assert!(results[0].0.starts_with("interrupted: whether this call took effect is unknown"));
    assert_eq!(results[1].0, "interrupted: this call was not made.");
    acting.appended(Vec::new());
    assert_eq!(acting.next(), Next::Append(Vec::new()));
    acting.appended(Vec::new());
    assert_eq!(acting.ending(), Some(&Ending::Stopped));
}

#[test]
fn limits_end_a_run() {
    let mut asked = run();
    asked.limits.iterations = 1;
    assert!(!asked.stop_at_limit());
    asked.answered(calls(&["grep"]));
    asked.called(&ToolOutput::of("x"));
    asked.appended(Vec::new());
    assert!(asked.stop_at_limit());
    asked.appended(Vec::new());
    let Some(Ending::Limit(why)) = asked.ending() else { panic!("{asked:?}") };
    assert_eq!(why, "the model was asked 1 times, the limit of this run");

    let mut tokens = run();
    tokens.limits.tokens = Some(12);
    tokens.answered(calls(&["grep"]));
    tokens.called(&ToolOutput::of("x"));
    tokens.appended(Vec::new());
    assert!(tokens.stop_at_limit());
}

#[test]
fn the_same_call_over_and_over_ends_a_run() {
    let mut run = run();
    for _ in 0..4 {
        run.answered(calls(&["grep"]));
        run.called(&ToolOutput::of("nothing"));
        run.appended(Vec::new());
        assert_eq!(run.next(), Next::Ask);
    }
    run.answered(calls(&["grep"]));
    run.called(&ToolOutput::of("nothing"));
    run.appended(Vec::new());
    run.appended(Vec::new());
    let Some(Ending::Stuck(why)) = run.ending() else { panic!("{run:?}") };
    assert_eq!(why, "grep was called 5 times in a row with the same result");

    // Another result is progress.
    let mut moving = self::run();
    for at in 0..20 {
        moving.answered(calls(&["grep"]));
        moving.called(&ToolOutput::of(format!("line {at}")));
        moving.appended(Vec::new());
        assert_eq!(moving.next(), Next::Ask);
    }
}

#[test]
fn an_empty_answer_is_asked_for_once_more() {
    let mut run = run();
    run.answered(says("  "));
    assert_eq!(run.next(), Next::Ask);
    run.answered(says(""));
    run.appended(Vec::new());
    assert!(matches!(run.ending(), Some(Ending::Stuck(_))), "{run:?}");

    let mut cut = self::run();
    cut.answered(Answer { stop: Stop::Length, ..says("half") });
    cut.appended(Vec::new());
    cut.published();
    assert_eq!(cut.ending(), Some(&Ending::CutShort));
}

#[test]
fn calls_without_an_id_of_their_own_get_one() {
    let mut run = run();
    let mut answer = calls(&["grep", "grep", "grep"]);
    for (part, id) in answer.message.parts.iter_mut().skip(1).zip(["", "same", "same"]) {
        let Part::ToolCall(call) = part else { panic!("{part:?}") };
        id.clone_into(&mut call.id);
    }
    run.answered(answer);
    for _ in 0..3 {
        run.called(&ToolOutput::of("x"));
    }
    let Next::Append(exchange) = run.next() else { panic!() };
    let ids: Vec<&str> = exchange[0].tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call", "same", "same-1"]);
    assert!(contexture_core::message::group_exchanges(exchange).is_ok());
}

#[test]
fn what_a_provider_took_back_is_not_acted_on() {
    let mut run = run();
    run.answered(Answer { stop: Stop::Refused("policy".to_owned()), ..calls(&["edit_file"]) });
    let Next::Append(messages) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!(messages[0].tool_calls().count(), 0);
    run.appended(Vec::new());
    assert_eq!(run.ending(), Some(&Ending::Refused("policy".to_owned())));
}

// D-29: what is published is filtered.
#[test]
fn secrets_are_not_published() {
    let mut run = run();
    run.answered(says("the key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"));
    run.appended(Vec::new());
    let Next::Publish(messages) = run.next() else { panic!("{:?}", run.next()) };
    assert!(!messages[1].plain_text().contains("abcdefghijkl"), "{messages:?}");
}

#[test]
fn more_calls_than_are_made_are_answered_as_refused() {
    let mut run = run();
    run.answered(calls(&["grep"; MOST_CALLS + 40]));
    for at in 0..MOST_CALLS {
        assert_eq!(run.open_call(), Some(at));
        run.begin_call();
        run.called(&ToolOutput::of("found"));
    }
    let Next::Append(exchange) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!(exchange.len(), 1 + MOST_CALLS + 40, "every call has its result");
    let results = results(&exchange);
    assert_eq!(results[MOST_CALLS - 1], ("found".to_owned(), false));
    for (text, error) in &results[MOST_CALLS..] {
        assert!(text.starts_with("refused: an answer may have at most 128 calls") && *error);
    }
    assert!(contexture_core::message::group_exchanges(exchange).is_ok());
}

#[test]
fn what_is_kept_beside_a_run_says_how_far_it_came() {
    let answered = |text: &str| CallState::Answered { text: text.to_owned(), error: false };
    let mut run = run();
    run.answered(calls(&["edit_file", "edit_file", "edit_file", "edit_file"]));
    run.called(&ToolOutput::of("in the record"));
    run.restore(Some(2), vec![(0, answered("late")), (1, answered("beside")), (9, answered("no"))]);
    let Phase::Acting(calls) = &run.phase else { panic!("{run:?}") };
    let states = serde_json::to_value(calls).unwrap()["states"].clone();
    let text = states.to_string();
    assert!(text.contains("in the record") && text.contains("beside"), "{text}");
    assert!(!text.contains("late"), "{text}");
    assert_eq!((&states[2], &states[3]), (&"begun".into(), &"waiting".into()));
}

fn decided(decision: Decision) -> Approval {
    Approval { decision, by: "user:anna".parse().unwrap(), at: Timestamp::from_millis(9) }
}

/// A run whose model asked for a reading, two edits and another reading, and whose edits wait.
fn waiting() -> Run {
    let mut run = run();
    run.answered(calls(&["grep", "edit_file", "read_file", "write_file"]));
    run.begin_call();
    run.called(&ToolOutput::of("found"));
    for place in [1, 3] {
        run.ask_first(place, AskedApproval { since: Timestamp::from_millis(5), origin: None });
    }
    run
}

#[test]
fn a_run_waits_until_every_call_is_answered() {
    let mut run = stored(&waiting());
    assert_eq!(run.next(), Next::Wait);
    let ids: Vec<&str> = run.waiting().iter().map(|it| it.call.id.as_str()).collect();
    assert_eq!(ids, ["c1", "c3"]);
    run.decide(1, decided(Decision::Approved));
    run = stored(&run);
    // The first could be made, but the other is not answered.
    assert_eq!(run.next(), Next::Wait);
    let reason = Some("not the tests".to_owned());
    run.decide(3, decided(Decision::Denied { reason }));
    // What is decided stays decided.
    run.decide(1, decided(Decision::Denied { reason: None }));
    run = stored(&run);
    for name in ["edit_file", "read_file"] {
        let Next::Call(call) = run.next() else { panic!("{:?}", run.next()) };
        assert_eq!(call.name, name);
        run.begin_call();
        run.called(&ToolOutput::of("done"));
    }
    let Next::Refuse(call, refusal) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!(call.name, "write_file");
    assert_eq!(refusal, "permission denied: anna did not allow this call: not the tests");
    let refused = ToolOutput::failed(refusal);
    run.called(&refused);
    let Next::Append(exchange) = run.next() else { panic!("{:?}", run.next()) };
    let results = results(&exchange);
    let errors: Vec<bool> = results.iter().map(|(_, error)| *error).collect();
    assert_eq!((errors, results[0].0.as_str()), (vec![false, false, false, true], "found"));
}

#[test]
fn an_approved_call_is_made_once() {
    let mut run = waiting();
    run.decide(1, decided(Decision::Approved));
    run.decide(3, decided(Decision::Approved));
    // A process that dies before the call begins changes nothing.
    let mut resumed = stored(&run);
    resumed.resume(Driver::default(), |_| Effect::Changes);
    let Next::Call(call) = resumed.next() else { panic!("{:?}", resumed.next()) };
    assert_eq!(call.id, "c1");
    // Once it has begun it may have happened.
    resumed.restore(Some(1), Vec::new());
    resumed.resume(Driver::default(), |_| Effect::Changes);
    let Next::Call(call) = resumed.next() else { panic!("{:?}", resumed.next()) };
    assert_eq!(call.id, "c2", "the call that may have happened is not made again");
}

#[test]
fn a_run_that_is_given_up_makes_no_call_that_waits() {
    let mut run = waiting();
    run.decide(1, decided(Decision::Approved));
    run.stop("");
    let Next::Append(exchange) = run.next() else { panic!("{:?}", run.next()) };
    let results = results(&exchange);
    for (result, _) in &results[1..] {
        assert_eq!(result, "interrupted: this call was not made.");
    }
}

// Records of earlier versions know calls that wait for their turn, and nothing of approvals.
#[test]
fn earlier_records_are_read() {
    let mut run = run();
    run.answered(calls(&["grep"]));
    let mut text = serde_json::to_string(&run).unwrap();
    assert!(text.contains(r#""states":["waiting"]"#), "{text}");
    text = text.replace(r#","asks":false"#, "");
    assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
}
