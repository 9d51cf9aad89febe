//! Descriptions of folded turns: who may write one, when lines tell it, and what becomes of it.

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, Operation, PageIndex, ViewFilter, WindowOptions,
    message::MessageFilter,
    window::{FoldedTurn, TurnLimits, TurnLine},
};
use contexture_testkit::{
    fixture::{agent, apply, assistant, calls, description, memory, returned, user},
    window::options,
};
use futures::executor::block_on;

use super::view_filter::seen_through;

const LIMITS: TurnLimits = TurnLimits { turns: 3, bytes: 2_000 };

/// Takes turns until a fold is due, and takes it.
async fn next_fold(agent: &AgentContext, turns: std::ops::Range<u64>) {
    for turn in turns {
        let asked = format!("question {turn} about src/module_{turn}.rs {}", "word ".repeat(40));
        let answer = format!("answer {turn}: fn handle_{turn}() {}", "more ".repeat(400));
        let (id, path) = (format!("call-{turn}"), format!(r#"{{"path":"src/{turn}.rs"}}"#));
        let messages =
            vec![user(&asked), calls(&id, &path), returned(&id, "secret"), assistant(&answer)];
        agent.add_turn(messages).await.unwrap();
        if agent.fold(&openai()).await.unwrap().is_some() {
            return;
        }
    }
    panic!("so many turns take more than they may");
}

fn openai() -> WindowOptions {
    options("openai".parse().unwrap()).budget(8_000)
}

/// An agent whose older turns are folded.
async fn folded(system: &ContextSystem) -> AgentContext {
    let alpha = agent(system, "alpha");
    // The first folds leave logs and no lines.
    for fold in 0..20 {
        next_fold(&alpha, fold * 100..(fold + 1) * 100).await;
        if !alpha.folded_turns(LIMITS).await.unwrap().is_empty() {
            return alpha;
        }
    }
    panic!("no fold left a line");
}

fn line(text: &str) -> TurnLine {
    TurnLine { line: Some(description(text)), model: "small".to_owned(), tokens: 90 }
}

fn first(turn: &FoldedTurn) -> &PageIndex {
    &turn.pages[0]
}

async fn body(agent: &AgentContext) -> String {
    agent.window(&openai()).await.unwrap().body
}

#[test]
fn a_description_is_told_from_the_next_fold_on() {
    block_on(async {
        let system = memory().await;
        let alpha = folded(&system).await;
        let before = body(&alpha).await;
        let turns = alpha.folded_turns(LIMITS).await.unwrap();
        assert!((1..=3).contains(&turns.len()), "{turns:?}");
        assert!(turns.iter().all(|turn| turn.text.starts_with("user: question ")), "{turns:?}");
        assert!(turns[0].text.contains("call: ") && turns[0].text.contains("\nassistant: answer"));
        let outcome = system.describe_turn(&turns[0], &line("A tale of turns")).await.unwrap();
        let outcome = outcome.expect("there is a line");
        let entry = system.as_system().reader().history(None, 1).await.unwrap().items.remove(0);
        assert_eq!((entry.operation, entry.revision), (Operation::UpdatePage, outcome.revision));
        let page = system.as_system().reader().page(first(&turns[0])).await.unwrap().page;
        assert_eq!((page.author.agent(), &page.rewritten_by), (Some(alpha.agent()), &None));
        // What stands keeps its bytes.
        assert_eq!(body(&alpha).await, before);
        // The turn is not listed again.
        let left = alpha.folded_turns(LIMITS).await.unwrap();
        assert!(left.iter().all(|turn| turn.hash != turns[0].hash), "{left:?}");

        next_fold(&alpha, 9_000..9_100).await;
        let told = format!(r#"summary {}: \"A tale of turns\""#, first(&turns[0]));
        let after = body(&alpha).await;
        assert!(after.contains(&told), "{told}\n{after}");
        assert!(alpha.window(&openai()).await.unwrap().due.is_none());

        // Taken back, it is gone from the line, and is not asked for again.
        apply(&system, Edit::Undo { revision: Some(outcome.revision) }).await;
        let undone = body(&alpha).await;
        assert!(!undone.contains("A tale of turns") && !undone.contains("; summary"), "{undone}");
        let left = alpha.folded_turns(TurnLimits { turns: 100, ..LIMITS }).await.unwrap();
        assert!(left.iter().all(|turn| turn.hash != turns[0].hash), "{left:?}");
    });
}

#[test]
fn a_turn_is_asked_for_once() {
    block_on(async {
        let system = memory().await;
        let alpha = folded(&system).await;
        let turn = alpha.folded_turns(LIMITS).await.unwrap().remove(0);
        let nothing = TurnLine { line: None, ..line("") };
        assert!(system.describe_turn(&turn, &nothing).await.unwrap().is_none());
        let again = system.describe_turn(&turn, &line("late")).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict);
        assert!(
            system
                .as_system()
                .reader()
                .page(first(&turn))
                .await
                .unwrap()
                .page
                .description
                .is_empty()
        );
        let left = alpha.folded_turns(LIMITS).await.unwrap();
        assert!(left.iter().all(|left| left.hash != turn.hash));
        // No text is kept in the record.
        let record = system.runs("summary.").await.unwrap().remove(0);
        assert_eq!(
            record.value,
            format!(r#"{{"page":"{}","model":"small","tokens":90,"written":false}}"#, first(&turn))
        );
    });
}

#[test]
fn only_turns_that_have_ended_and_are_folded_are_listed() {
    block_on(async {
        let system = memory().await;
        let alpha = folded(&system).await;
        let all = TurnLimits { turns: 100, bytes: 200 };
        let turns = alpha.folded_turns(all).await.unwrap();
        assert!(turns.iter().all(|turn| turn.text.len() <= 200));
        // Nothing is folded for the system side.
        assert_eq!(system.as_system().reader().folded_turns(all).await.unwrap(), []);
        // A page that stands by itself again is none of the line's.
        alpha.apply(Edit::PinPage(first(&turns[0]).clone())).await.unwrap();
        let left = alpha.folded_turns(all).await.unwrap();
        assert!(left.iter().all(|turn| turn.hash != turns[0].hash));
    });
}

// A description is made from everything in a turn: through a filter that leaves a part of it out, it
// is not seen.
#[test]
fn a_view_of_a_part_neither_lists_nor_reads_descriptions() {
    block_on(async {
        let system = memory().await;
        let alpha = folded(&system).await;
        let turn = alpha.folded_turns(LIMITS).await.unwrap().remove(0);
        let beta = agent(&system, "beta");
        let filter = ViewFilter { speech: MessageFilter::WithoutTools, ..ViewFilter::default() };
        let narrow = seen_through(&beta, &system, filter);
        let small = openai().budget(2_500);
        narrow.fold(&small).await.unwrap().expect("all of it takes more");
        let folded = narrow.window(&small).await.unwrap().body;
        assert!(folded.contains("pages folded)") || folded.contains("pages, "), "{folded}");
        assert_eq!(narrow.folded_turns(LIMITS).await.unwrap(), []);
        let page = first(&turn);
        system.describe_turn(&turn, &line("the tool said secret")).await.unwrap();
        let described = |view: AgentContext| async move {
            !view.get_page(page).await.unwrap().page.description.is_empty()
        };
        assert!(described(alpha.clone()).await && described(beta.clone()).await);
        assert!(!described(narrow.clone()).await);
        assert_eq!(narrow.find_page("the tool said", 10).await.unwrap(), []);
        let without = ViewFilter { without: [page.clone()].into(), ..ViewFilter::default() };
        assert!(seen_through(&beta, &system, without).get_page(page).await.is_err());
    });
}
