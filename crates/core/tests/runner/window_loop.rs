//! The loop of a host: every request is valid and fits, folds when it must or when it costs nothing,
//! and what providers report corrects the counting.

use std::sync::Arc;

use contexture_core::{
    Advice, AgentContext, ContextSystem, Conversation, Edit, ErrorKind, Format, ManualClock,
    MemoryStorage, Message, NewSegment, ProviderFormat, SegmentKind, Tokens, Usage, WindowOptions,
    window::{CALIBRATION_WINDOWS, Calibration, ModelRequest, validate_body},
};
use contexture_testkit::{
    fixture::{agent, assistant, calls, leaf, returned, session_id, user, valid},
    window::{World, options},
};
use futures::executor::block_on;

struct Stage {
    clock: Arc<ManualClock>,
    system: ContextSystem,
    agent: AgentContext,
}

fn stage() -> Stage {
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let storage = Arc::new(MemoryStorage::new());
    let segments = [("sys", SegmentKind::System), ("usr", SegmentKind::User)];
    let setup = segments.map(|(id, kind)| Edit::AddSegment(NewSegment::new(valid(id), kind)));
    let setup = Edit::Batch(setup.to_vec());
    let made = ContextSystem::create_with(storage, session_id(), "loop", clock.clone(), &setup);
    let system = block_on(made).unwrap();
    let agent = agent(&system, "alpha");
    Stage { clock, system, agent }
}

fn question(number: u64) -> Message {
    user(&format!("question {number} {}", "word ".repeat(40)))
}

fn check_body(format: Format, request: &ModelRequest) -> Vec<serde_json::Value> {
    let Format::Provider(format) = format else { panic!("a provider's format") };
    let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    validate_body(format, &body).unwrap_or_else(|broken| panic!("{broken}"));
    let key = match format {
        ProviderFormat::OpenAi | ProviderFormat::Anthropic => "messages",
        ProviderFormat::Responses => "input",
        ProviderFormat::Gemini => "contents",
    };
    body[key].as_array().unwrap().clone()
}

fn openai(budget: u64) -> WindowOptions {
    options("openai".parse().unwrap()).budget(budget)
}

// D-28: every request of a long talk is valid and fits; a fold is taken when it would not, and the
// messages before stay as they are otherwise.
#[test]
fn every_request_is_valid_and_fits() {
    for format in ProviderFormat::ALL {
        let stage = stage();
        block_on(async {
            let asked = WindowOptions { format: Format::Provider(format), ..openai(1_500) };
            let conversation = Conversation::new(stage.agent, asked.clone());
            let (mut folds, mut before) = (0, Vec::new());
            for turn in 0..60 {
                let id = format!("c{turn}");
                conversation.append(vec![question(turn)]).await.unwrap();
                let request = conversation.request().await.unwrap();
                let messages = check_body(asked.format, &request);
                assert!(request.tokens.0 <= 1_500 && request.cached <= request.tokens);
                folds += u64::from(request.fold.is_some());
                if request.fold.is_none() && format != ProviderFormat::Anthropic {
                    assert_eq!(messages[..before.len()], before[..], "{format} turn {turn}");
                }
                before = messages;
                let answer = vec![calls(&id, "{}"), returned(&id, "result"), assistant("done")];
                conversation.append(answer).await.unwrap();
            }
            assert!((2..15).contains(&folds), "{format}: {folds}");
        });
    }
}

// D-28: while the cache is warm a window that fits is left alone; when it has gone cold the fold
// that would soon be due is taken at no cost.
#[test]
fn a_cold_cache_is_the_time_to_fold() {
    let stage = stage();
    block_on(async {
        let conversation = Conversation::new(stage.agent, openai(2_000));
        let mut turn = 0;
        let request = loop {
            turn += 1;
            conversation.append(vec![question(turn), assistant("ok")]).await.unwrap();
            let request = conversation.request().await.unwrap();
            assert!(request.fold.is_none(), "turn {turn}");
            if request.tokens.0 > 1_700 {
                break request;
            }
        };
        stage.clock.advance_millis(4 * 60 * 1_000);
        let warm = conversation.request().await.unwrap();
        assert!(warm.fold.is_none());
        assert_eq!(warm.body, conversation.request().await.unwrap().body);
        stage.clock.advance_millis(6 * 60 * 1_000);
        let cold = conversation.request().await.unwrap();
        let fold = cold.fold.expect("the cache went cold");
        assert!(fold.tokens_after < fold.tokens_before && cold.tokens < request.tokens);
        assert!(cold.tokens.0 <= 1_600);
        // The ledger says which fold it was, though it was taken before the window was sent.
        let agent = conversation.session();
        let sent = &agent.ledger(openai(0).format, 1).await.unwrap()[0];
        let taken = sent.fold.expect("the record names the fold");
        let entry = &agent.history(Some(taken.next()), 1).await.unwrap().items[0];
        assert_eq!((entry.revision, entry.fold), (taken, Some(fold)));
        stage.clock.advance_millis(6 * 60 * 1_000);
        assert!(conversation.request().await.unwrap().fold.is_none(), "once is enough");
    });
}

// D-28: without a message there is nothing to answer: providers would refuse the request, so it is
// refused here and leaves no record. The window itself can be looked at.
#[test]
fn a_conversation_without_messages_has_no_request() {
    for format in ProviderFormat::ALL {
        let stage = stage();
        block_on(async {
            leaf(&stage.system, "sys-0", "Prompt").await;
            let asked = WindowOptions { format: Format::Provider(format), ..openai(2_000) };
            let conversation = Conversation::new(stage.agent, asked.clone());
            let refused = conversation.request().await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{format}");
            assert_eq!(refused.advice(), Advice::text("append a user message first"));
            assert!(conversation.session().ledger(asked.format, 1).await.unwrap().is_empty());
            conversation.session().window(&asked).await.unwrap();
            conversation.append(vec![question(1)]).await.unwrap();
            conversation.request().await.unwrap();
        });
    }
}

// A window that is far from full is left alone, however cold the cache.
#[test]
fn a_small_window_is_never_folded_early() {
    let stage = stage();
    block_on(async {
        let conversation = Conversation::new(stage.agent, openai(50_000));
        for turn in 0..10 {
            conversation.append(vec![question(turn)]).await.unwrap();
            stage.clock.advance_millis(60 * 60 * 1_000);
            assert!(conversation.request().await.unwrap().fold.is_none());
        }
    });
}

// Reports correct the budget; where large parts are cut does not move with them.
#[test]
fn reports_correct_the_counting() {
    let stage = stage();
    block_on(async {
        let mut asked = openai(3_000);
        asked.model = Some("gpt-4o".to_owned());
        let conversation = Conversation::new(stage.agent, asked.clone());
        let large = format!("begin {} end", "some output of a tool\n".repeat(300));
        let turn = vec![user("go"), calls("c", "{}"), returned("c", &large), assistant("ok")];
        conversation.append(turn).await.unwrap();
        let (mut before, mut factors) = (Vec::new(), Vec::new());
        for turn in 0..12 {
            conversation.append(vec![user(&format!("question {turn}"))]).await.unwrap();
            let request = conversation.request().await.unwrap();
            let messages = check_body(asked.format, &request);
            assert!(request.fold.is_none());
            assert_eq!(messages[..before.len()], before[..], "turn {turn}");
            before = messages;
            // The model counts half as much again.
            let counted = conversation.session().ledger(asked.format, 1).await.unwrap()[0].tokens;
            let usage = Usage { input: counted.0 * 3 / 2, ..Usage::default() };
            conversation.report(&request, &usage).await.unwrap();
            factors.push(conversation.calibration().await.unwrap().unwrap().factor());
        }
        let last = factors.last().unwrap();
        assert!((1.4..1.6).contains(last) && factors[0] < *last, "{factors:?}");
        // Anybody who reads the ledger learns the same; what was made for another model is not asked.
        let sent = conversation.session().ledger(asked.format, CALIBRATION_WINDOWS).await.unwrap();
        let (own, other) =
            (Calibration::of_sent("gpt-4o", &sent), Calibration::of_sent("gemini-pro", &sent));
        assert_eq!((own.factor(), own.observations()), (*last, 12));
        assert_eq!(other.observations(), 0);
        let request = conversation.request().await.unwrap();
        let counted = conversation.session().ledger(asked.format, 1).await.unwrap()[0].clone();
        assert!(request.tokens.0 > counted.tokens.0 * 14 / 10);
        let budget = counted.budget.unwrap();
        assert!((Tokens(1_500)..Tokens(2_100)).contains(&budget), "{budget}");
    });
}

// Without a model there is nothing to correct.
#[test]
fn no_model_no_correction() {
    let stage = stage();
    block_on(async {
        let conversation = Conversation::new(stage.agent, openai(3_000));
        conversation.append(vec![question(1)]).await.unwrap();
        let request = conversation.request().await.unwrap();
        conversation.report(&request, &Usage { input: 9_999, ..Usage::default() }).await.unwrap();
        assert!(conversation.calibration().await.unwrap().is_none());
        let again = conversation.request().await.unwrap();
        assert_eq!((again.body, again.tokens), (request.body, request.tokens));
    });
}

// what is said before any user message continues the turn, or begins one where there is none.
#[test]
fn append_begins_and_continues_turns() {
    let stage = stage();
    block_on(async {
        let conversation = Conversation::new(stage.agent, openai(3_000));
        let first = conversation.append(vec![assistant("hello")]).await.unwrap();
        assert_eq!(first.len(), 1);
        let more = conversation.append(vec![assistant("again"), question(1), assistant("yes")]);
        let more = more.await.unwrap();
        assert_eq!(more.len(), 2, "{more:?}");
        assert_eq!(more[0], first[0]);
        assert!(conversation.append(Vec::new()).await.unwrap().is_empty());
        check_body("openai".parse().unwrap(), &conversation.request().await.unwrap());
    });
}

// D-28: random talks through the loop, with every size of message, in every format.
#[test]
fn random_talks_hold() {
    for seed in 1_200..1_215 {
        let mut world = World::new(seed);
        let format = Format::Provider(*world.random.pick(&ProviderFormat::ALL));
        let asked = WindowOptions { format, ..openai(3_000) };
        let conversation = Conversation::new(world.agents[1].clone(), asked);
        for _ in 0..40 {
            let begins = world.random.chance(70);
            let said = world.exchange(begins);
            block_on(conversation.append(said)).unwrap();
            match block_on(conversation.request()) {
                Ok(request) => {
                    check_body(format, &request);
                    assert!(request.tokens.0 <= 3_000, "seed {seed}");
                    let usage = Usage { input: request.tokens.0, ..Usage::default() };
                    block_on(conversation.report(&request, &usage)).unwrap();
                }
                Err(error) => {
                    assert_eq!(error.kind(), contexture_core::ErrorKind::TooLarge, "seed {seed}");
                }
            }
        }
    }
}

#[allow(dead_code)]
#[path = "../../examples/own_loop.rs"]
mod own_loop;

// The example is what a host would write: it runs, and it is short.
#[test]
fn the_example_runs_and_is_short() {
    own_loop::main().unwrap();
    assert!(include_str!("../../examples/own_loop.rs").lines().count() < 40);
}
