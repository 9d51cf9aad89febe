//! The request that is being worked on stands word for word, however long the work on it takes.

use contexture_core::{
    ContextSystem, Edit, Format, Level, ProviderFormat, WindowOptions, window::validate_body,
};
use contexture_testkit::{
    fixture::{apply, assistant, calls, leaf, memory, returned, segment, user},
    window::options,
};
use futures::executor::block_on;

const REQUEST: &str = "Read all of it. IMPORTANT: never touch the third, and answer in German.";

/// A session in which earlier work was done, and then a long turn begun.
async fn begun() -> ContextSystem {
    let system = memory().await;
    leaf(&system, "sys-0", "Prompt").await;
    for number in 0..6 {
        let messages =
            vec![user(&format!("earlier request {number}")), assistant(&"done ".repeat(300))];
        apply(&system, Edit::AddTurn { segment: segment("usr"), messages }).await;
    }
    let messages = vec![user(REQUEST), assistant("I begin.")];
    apply(&system, Edit::AddTurn { segment: segment("usr"), messages }).await;
    system
}

async fn go_on(system: &ContextSystem, number: usize) {
    let id = format!("call_{number}");
    let text = format!("line {number} of a file\n").repeat(150);
    let messages = vec![calls(&id, r#"{"path":"big.py"}"#), returned(&id, &text)];
    apply(system, Edit::ExtendTurn { segment: segment("usr"), messages }).await;
}

fn all(budget: u64) -> Vec<WindowOptions> {
    let formats = ProviderFormat::ALL.map(Format::Provider).into_iter().chain([Format::Markdown]);
    formats.map(|format| options(format).budget(budget)).collect()
}

#[test]
fn what_was_asked_last_stands_through_every_fold() {
    for budget in [3_000, 6_000] {
        for options in all(budget) {
            block_on(async {
                let system = begun().await;
                let mut folds = 0;
                for number in 0..40 {
                    go_on(&system, number).await;
                    let sent = system.as_system().send(&options).await.unwrap();
                    folds += u64::from(sent.record.fold.is_some());
                    let body = &sent.window.body;
                    assert!(body.contains(REQUEST), "{budget} {number}: {body}");
                    assert!(sent.record.tokens.0 <= budget);
                    if let Format::Provider(format) = options.format {
                        let body = serde_json::from_str(body).unwrap();
                        validate_body(format, &body).unwrap();
                    }
                }
                assert!(folds > 3, "{folds}");
            });
        }
    }
}

// Only what was asked stands of its page, and a line says that there is more: expanding it, or taking the
// fold back, brings all of it.
#[test]
fn the_rest_of_its_page_comes_back() {
    block_on(async {
        let system = begun().await;
        let options = options("openai".parse().unwrap()).budget(3_000);
        let is_folded = async || {
            let window = system.as_system().reader().window(&options).await.unwrap();
            !window.body.contains("\"I begin.\"")
        };
        let mut number = 0;
        while !is_folded().await {
            go_on(&system, number).await;
            number += 1;
            assert!(number < 40, "the page of the request is never folded");
            if !is_folded().await {
                system.as_system().send(&options).await.unwrap();
            }
        }
        let whole = WindowOptions { level: Some(Level::Full), budget: None, ..options.clone() };
        let unfolded = system.as_system().reader().window(&whole).await.unwrap().body;
        let sent = system.as_system().send(&options).await.unwrap();
        assert!(sent.window.body.contains("usr-7\\n said: I begin."), "{}", sent.window.body);
        assert!(sent.record.fold.is_some());
        apply(&system, Edit::ExpandDetails("usr-7".parse().unwrap())).await;
        let expanded = system.as_system().reader().window(&whole).await.unwrap().body;
        assert!(expanded.contains("\"I begin.\"") && expanded.contains(REQUEST), "{expanded}");
        apply(&system, Edit::Undo { revision: None }).await;
        apply(&system, Edit::Undo { revision: None }).await;
        assert_eq!(system.as_system().reader().window(&whole).await.unwrap().body, unfolded);
    });
}

// A request that leaves no room for anything else folds at last, rather than end the work.
#[test]
fn a_request_that_cannot_stand_is_folded_last() {
    block_on(async {
        let system = memory().await;
        let long = "a long request ".repeat(400);
        let messages = vec![user(&long), assistant("I begin.")];
        apply(&system, Edit::AddTurn { segment: segment("usr"), messages }).await;
        for number in 0..4 {
            go_on(&system, number).await;
        }
        let options = options("openai".parse().unwrap()).budget(900);
        let sent = system.as_system().send(&options).await.unwrap();
        assert!(sent.record.tokens.0 <= 900);
    });
}
