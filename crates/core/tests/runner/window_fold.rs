//! Folds: they lower the count, come back with undo, stay in their view, and are taken once.

use contexture_core::{
    AgentContext, ContextSystem, Edit, Error, Format, ListQuery, Tokens, Window, WindowLevel,
    WindowOptions,
    storage::{Fold, PageStanding},
};
use contexture_testkit::{
    fixture::{agent, apply, assistant, calls, memory, page, returned, user, valid},
    window::{World, options},
};
use futures::executor::block_on;

use super::window::{check, random_options};

/// What a window says, without what counts its states: a fold and its undo are two states more.
fn said(window: &Window) -> String {
    if window.format != Format::Context {
        return window.body.clone();
    }
    let mut context: serde_json::Value = serde_json::from_str(&window.body).unwrap();
    context["history"] = serde_json::Value::Null;
    context["header"] = serde_json::Value::Null;
    context.to_string()
}

/// Renders a view in every format, folded as far as capacities ask for it.
fn everything(agent: &AgentContext) -> Vec<Result<String, String>> {
    let render = |format| {
        let window = block_on(agent.window(&options(format)));
        window.map(|window| said(&window)).map_err(|error| error.to_string())
    };
    Format::ALL.into_iter().map(render).collect()
}

// D-07: the fold that is due is rendered before it is taken, taking it changes no byte,
// undoing it brings every byte back in every format, and no other view sees any of it.
#[test]
fn folds_are_previewed_taken_and_undone() {
    let mut taken = 0;
    for seed in 300..345 {
        let mut world = World::new(seed);
        for step in 0..30 {
            world.step();
            if !world.random.chance(40) {
                continue;
            }
            let at = world.random.below(3) as usize;
            let mut asked = random_options(&mut world.random);
            if asked.format == Format::Context {
                asked.format = Format::Markdown;
            }
            let told = format!("seed {seed} step {step} agent {at} {asked:?}");
            let agent = world.agents[at].clone();
            let Some(before) = check(&agent, &asked, &told) else { continue };
            let Some(due) = before.due else { continue };
            let others: Vec<_> = world.agents.iter().map(everything).collect();
            let outcome = block_on(agent.fold(&asked)).unwrap().expect("one is due");
            taken += 1;
            assert_eq!(outcome.report, due, "{told}");
            let after = check(&agent, &asked, &told).expect("it did fit");
            assert_eq!(after.body, before.body, "{told}");
            assert_eq!((after.due, after.account.tokens), (None, before.account.tokens), "{told}");
            for (other, was) in others.iter().enumerate().filter(|(other, _)| *other != at) {
                assert_eq!(everything(&world.agents[other]), *was, "{told}: view {other}");
            }
            if world.random.chance(60) {
                block_on(agent.undo(outcome.revision)).unwrap();
                assert_eq!(everything(&agent), others[at], "{told}");
                let again = check(&agent, &asked, &told).expect("it did fit");
                assert_eq!((again.body, again.due), (before.body, before.due), "{told}");
            }
        }
    }
    assert!(taken > 60, "{taken}");
}

// Sending again without an edit folds nothing more and gives the same bytes.
#[test]
fn sending_again_is_the_same() {
    let (mut sent, mut folded) = (0, 0);
    for seed in 400..430 {
        let mut world = World::new(seed);
        for step in 0..25 {
            world.step();
            let (agent, mut asked) = (world.agent(), random_options(&mut world.random));
            if asked.format == Format::Context {
                // A fold is a round of its history.
                asked.format = Format::Markdown;
            }
            let Ok(first) = block_on(agent.send(&asked)) else { continue };
            (sent, folded) = (sent + 1, folded + usize::from(first.record.fold.is_some()));
            let second = block_on(agent.send(&asked)).unwrap();
            let at = format!("seed {seed} step {step} {asked:?}");
            assert_eq!(second.record.fold, None, "{at}");
            let unmarked =
                |body: &str| body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            assert_eq!(unmarked(&first.window.body), unmarked(&second.window.body), "{at}");
            let third = block_on(agent.send(&asked)).unwrap();
            assert_eq!(second.record.hash, third.record.hash, "{at}");
        }
    }
    assert!(sent > 400 && folded > 40, "{sent} sent, {folded} of them folded");
}

/// An agent with turns of about 60 tokens each.
async fn talk(turns: u64) -> AgentContext {
    talk_in(&memory().await, turns).await
}

async fn talk_in(system: &ContextSystem, turns: u64) -> AgentContext {
    let alpha = agent(system, "alpha");
    for turn in 0..turns {
        let text = format!("question {turn} about src/module_{turn}.rs {}", "word ".repeat(20));
        let answer = format!("answer {turn}: fn handle_{turn}() {}", "more ".repeat(15));
        alpha.add_turn(vec![user(&text), assistant(&answer)]).await.unwrap();
    }
    alpha
}

fn openai(budget: u64) -> WindowOptions {
    options("openai".parse().unwrap()).budget(budget)
}

// D-28: a fold goes well below the budget, so that the next is far off.
#[test]
fn a_fold_lasts_for_many_turns() {
    block_on(async {
        let alpha = talk(60).await;
        let asked = openai(2_500);
        let sent = alpha.send(&asked).await.unwrap();
        assert!(sent.record.fold.is_some());
        let mut quiet = 0;
        while alpha.send(&asked).await.unwrap().record.fold.is_none() {
            quiet += 1;
            let text = format!("next {quiet} {}", "word ".repeat(30));
            alpha.add_turn(vec![user(&text), assistant("ok")]).await.unwrap();
        }
        assert!(quiet >= 8, "only {quiet} turns between two folds");
    });
}

// However long the session, lines of earlier folds do not pile up.
#[test]
fn lines_of_folds_do_not_pile_up() {
    block_on(async {
        let alpha = talk(0).await;
        let asked = openai(2_000);
        for turn in 0..400 {
            let text = format!("turn {turn} on crate_{turn}::item {}", "text ".repeat(24));
            alpha.add_turn(vec![user(&text), assistant("done")]).await.unwrap();
            let sent = alpha.send(&asked).await.unwrap();
            assert!(sent.window.account.tokens <= 2_000);
        }
        let window = alpha.window(&asked).await.unwrap();
        let segment = window.account.segments.iter().find(|taken| taken.id.as_str() == "usr");
        let segment = segment.unwrap();
        assert!(segment.runs + segment.lines <= 500, "{segment:?}");
        assert!(segment.full_pages >= 10, "{segment:?}");
        let last = window.account.pages.last().unwrap();
        assert_eq!((last.page.to_string(), last.level), ("usr-400".to_owned(), WindowLevel::Full));
    });
}

// P-02: a page in a run comes back by expanding, directly behind the run, and folds again.
#[test]
fn an_expanded_page_leaves_its_run() {
    block_on(async {
        let alpha = talk(60).await;
        let asked = openai(2_500);
        alpha.send(&asked).await.unwrap();
        let all = ListQuery { limit: 100, ..ListQuery::default() };
        let pages = alpha.list_pages(&all).await.unwrap().items;
        let folded = pages.iter().find(|seen| seen.level == WindowLevel::Run).unwrap();
        let index = folded.page.index.clone();
        let number = index.number() - 1;
        let text = format!("question {number} about");
        assert!(!alpha.window(&asked).await.unwrap().body.contains(&text));
        alpha.expand_details(&index).await.unwrap();
        let window = alpha.window(&asked).await.unwrap();
        assert!(window.body.contains(&text), "it stands again");
        let body = &window.body;
        assert!(body.find("pages folded)").unwrap() < body.find(&text).unwrap());
        for turn in 0..240 {
            alpha
                .add_turn(vec![user(&format!("later {turn} {}", "word ".repeat(40)))])
                .await
                .unwrap();
            alpha.send(&asked).await.unwrap();
        }
        let level = alpha.get_page(&index).await.unwrap().level;
        assert!(level < WindowLevel::Full, "it folded again");
    });
}

// P-04: pins hold through any number of folds, and are named when they leave no room.
#[test]
fn pins_hold() {
    block_on(async {
        let alpha = talk(10).await;
        alpha.pin_page("usr-3").await.unwrap();
        for turn in 0..80 {
            alpha
                .add_turn(vec![user(&format!("later {turn} {}", "word ".repeat(40)))])
                .await
                .unwrap();
            let sent = alpha.send(&openai(1_500)).await.unwrap();
            assert!(sent.window.body.contains("question 2 about"), "turn {turn}");
        }
        let mut asked = openai(90);
        asked.part_limit = Some(Tokens(1_000));
        let refused = alpha.window(&asked).await.unwrap_err();
        let Error::WindowTooLarge { culprit, .. } = &refused else { panic!("{refused}") };
        assert!(
            culprit.starts_with("usr-3 alone takes") && culprit.contains("pinned"),
            "{refused}"
        );
    });
}

// P-04: who pins a page, and when, does not matter: a run that was made over it before does not
// stand for it, in any view, and does again when the pin is gone.
#[test]
fn a_pin_of_the_system_side_brings_a_page_out_of_a_run() {
    block_on(async {
        let system = memory().await;
        let alpha = talk_in(&system, 40).await;
        alpha.send(&openai(1_500)).await.unwrap();
        let level = |index: &'static str| {
            let alpha = &alpha;
            async move { alpha.get_page(index).await.unwrap().level }
        };
        let pages = alpha.get_children("usr-0").await.unwrap();
        let folded = pages.iter().find(|seen| seen.level == WindowLevel::Run).unwrap();
        let index = folded.page.index.clone();
        let spoken = format!("question {} about", index.number() - 1);
        let shown = async || alpha.window(&openai(3_000)).await.unwrap().body.contains(&spoken);
        assert!(!shown().await);
        apply(&system, Edit::PinPage(index.clone())).await;
        assert_eq!(alpha.get_page(&index).await.unwrap().level, WindowLevel::Full);
        assert!(shown().await);
        let lifted = apply(&system, Edit::UnpinPage(index.clone())).await;
        assert_eq!(alpha.get_page(&index).await.unwrap().level, WindowLevel::Run);
        assert!(!shown().await);
        // Undoing writes the pin back without asking any run.
        apply(&system, Edit::Undo { revision: Some(lifted.revision) }).await;
        assert!(shown().await);
        // The view's own word counts more.
        alpha.unpin_page(&index).await.unwrap();
        assert!(!shown().await);
        assert_eq!(level("usr-40").await, WindowLevel::Full);
    });
}

// P-04: whatever was folded, pinned and undone by whomever, no run stands for a pinned page.
#[test]
fn no_run_stands_for_a_pinned_page() {
    let mut pinned = 0;
    for seed in 700..730 {
        let mut world = World::new(seed);
        for step in 0..40 {
            world.step();
            let agent = world.agent();
            if world.random.chance(40) {
                let _ = block_on(agent.fold(&openai(300 + world.random.below(1_500))));
            }
            if world.random.chance(30) {
                let page = world.random.pick(&world.pages()).page.index.clone();
                let pin = if world.random.chance(70) { Edit::PinPage } else { Edit::UnpinPage };
                let _ = block_on(world.system.as_system().apply(pin(page)));
            }
            if world.random.chance(15) {
                let _ = block_on(world.system.as_system().apply(Edit::Undo { revision: None }));
            }
            let at = format!("seed {seed} step {step} {}", agent.agent());
            let all = ListQuery { limit: 10_000, ..ListQuery::default() };
            let window = block_on(agent.window(&options(Format::Markdown))).unwrap();
            for seen in block_on(agent.list_pages(&all)).unwrap().items {
                let index = &seen.page.index;
                let Some(parent) = seen.page.parent.as_ref().filter(|_| seen.pinned) else {
                    continue;
                };
                let above = block_on(agent.get_page(parent)).unwrap();
                let open =
                    above.level == WindowLevel::Full && seen.page.standing == PageStanding::InTree;
                assert_ne!(seen.level, WindowLevel::Run, "{at}: {index}");
                assert_eq!(seen.level == WindowLevel::Out, !open, "{at}: {index}");
                let mut shown = window.account.pages.iter().filter(|shown| shown.page == *index);
                assert!(!open || shown.any(|shown| shown.level == seen.level), "{at}: {index}");
                pinned += 1;
            }
        }
    }
    assert!(pinned > 500, "{pinned}");
}

// The last page never folds; where it alone is too large, it is what the error names.
#[test]
fn the_last_page_never_folds() {
    block_on(async {
        let alpha = talk(5).await;
        let text = format!("the last question {}", "word ".repeat(100));
        alpha.add_turn(vec![user(&text)]).await.unwrap();
        for budget in [700, 400, 250, 200] {
            let window = alpha.window(&openai(budget)).await.unwrap();
            assert!(window.body.contains("the last question"), "{budget}: {}", window.body);
        }
        // Notes behind it that are lines already give way before it does.
        for note in 0..30 {
            let name = format!("Note {note}");
            let note = alpha.create_detail_page(&name, "of no use", "text", "usr-0").await.unwrap();
            alpha.hide_details(&note).await.unwrap();
        }
        let window = alpha.window(&openai(300)).await.unwrap();
        assert!(window.body.contains("the last question"), "{}", window.body);
        let mut asked = openai(60);
        asked.part_limit = Some(Tokens(1_000));
        let refused = alpha.window(&asked).await.unwrap_err();
        let Error::WindowTooLarge { culprit, .. } = &refused else { panic!("{refused}") };
        assert!(culprit.starts_with("usr-6 alone takes"), "{refused}");
    });
}

// Hidden notes alone can be too many; they fold like anything else.
#[test]
fn lines_without_any_page_in_full_fold_too() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        for note in 0..50 {
            let name = format!("Note {note}");
            let note = alpha.create_detail_page(&name, "of some use", "text", "usr-0").await;
            alpha.hide_details(&note.unwrap()).await.unwrap();
        }
        for format in Format::ALL {
            let window = alpha.window(&options(format).budget(400)).await.unwrap();
            assert!(window.due.is_some() && window.account.tokens <= 400, "{format}");
        }
    });
}

// A segment over its capacity folds by itself; other segments keep all they have.
#[test]
fn a_capacity_folds_its_own_segment_only() {
    use contexture_core::{Edit, SegmentKind, SegmentUpdate};
    use contexture_testkit::fixture::{add_segment, apply, directory, leaf, segment};
    block_on(async {
        let system = memory().await;
        add_segment(&system, "tool", SegmentKind::Tool, contexture_core::Permission::ReadWrite)
            .await;
        let alpha = agent(&system, "alpha");
        let folder = directory(&system, "tool-0", "Folder").await;
        alpha.expand_details(&folder).await.unwrap();
        for number in 0..20 {
            let inner = leaf(&system, &folder.to_string(), &format!("Inner {number}")).await;
            alpha.expand_details(&inner).await.unwrap();
        }
        for turn in 0..20 {
            let text = format!("turn {turn} {}", "word ".repeat(30));
            alpha.add_turn(vec![user(&text)]).await.unwrap();
        }
        let capacity = Some(Tokens(150));
        let update = SegmentUpdate { capacity, ..SegmentUpdate::of(segment("usr")) };
        apply(&system, Edit::UpdateSegment(update)).await;
        let asked = options(Format::Markdown);
        let window = alpha.window(&asked).await.unwrap();
        assert!(window.due.is_some());
        for number in 0..20 {
            assert!(window.body.contains(&format!("text of Inner {number}\n")), "{}", window.body);
        }
        alpha.fold(&asked).await.unwrap().unwrap();
        let folder = alpha.get_page(&folder).await.unwrap();
        assert_eq!(folder.level, WindowLevel::Full);
        let usr = window.account.segments.iter().find(|taken| taken.id.as_str() == "usr").unwrap();
        assert!(usr.tokens <= 150, "{usr:?}");
    });
}

// D-28: pages of many large parts are cut only where that makes them fit, and then they do.
#[test]
fn trimming_is_believed_only_when_counted() {
    use contexture_core::message::{Fields, Part, Text};
    let alpha = block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let mut many = user("");
        let part = |number| Text {
            text: format!("part {number} {}", "word ".repeat(300)),
            extra: Fields::default(),
        };
        many.parts = (0..12).map(|number| Part::Text(part(number))).collect();
        alpha.add_turn(vec![many]).await.unwrap();
        let result = "line of output\n".repeat(500);
        alpha
            .add_turn(vec![user("go"), calls("c", "{}"), returned("c", &result), assistant("ok")])
            .await
            .unwrap();
        alpha
    });
    for budget in [5_600, 5_000, 4_000, 3_000, 2_000, 1_000, 500] {
        for format in Format::ALL {
            for limit in [None, Some(Tokens(10_000))] {
                let mut asked = options(format).budget(budget);
                asked.part_limit = limit;
                let _ = check(&alpha, &asked, &format!("{budget} {format}"));
            }
        }
    }
}

// What a fold may lower is checked where it is committed, not only where it is planned.
#[test]
fn forged_folds_are_refused() {
    use contexture_core::{
        Edit, ErrorKind, Visibility,
        storage::LevelEntry,
        window::{FoldPlan, FoldReport, FoldStep},
    };
    use contexture_testkit::fixture::leaf;
    block_on(async {
        let system = memory().await;
        let rule = leaf(&system, "sys-0", "Rule").await;
        let note = leaf(&system, "usr-0", "Note").await;
        let alpha = agent(&system, "alpha");
        let fold = async |page: &contexture_core::PageIndex, after: LevelEntry| {
            let step = FoldStep { page: page.clone(), before: LevelEntry::default(), after };
            let plan = FoldPlan { steps: vec![step], report: FoldReport::default() };
            alpha.apply(Edit::FoldPages(plan)).await.map_err(|error| error.kind())
        };
        let gist = || LevelEntry { fold: Some(Fold::Gist), ..LevelEntry::default() };
        assert_eq!(fold(&rule, gist()).await.unwrap_err(), ErrorKind::Invalid);
        let shown = LevelEntry::shown(Visibility::Expanded);
        assert_eq!(fold(&note, shown).await.unwrap_err(), ErrorKind::Invalid);
        assert_eq!(fold(&page("usr-9"), gist()).await.unwrap_err(), ErrorKind::NotFound);
        let other = valid::<contexture_core::PageIndex>("nowhere-1");
        assert_eq!(fold(&other, gist()).await.unwrap_err(), ErrorKind::NotFound);
        fold(&note, gist()).await.unwrap();
        // It was planned on what no longer stands.
        assert_eq!(fold(&note, gist()).await.unwrap_err(), ErrorKind::Conflict);
    });
}

// One page larger than a segment's capacity is cut, and what cannot be met keeps nobody from
// their window.
#[test]
fn a_capacity_that_cannot_be_met_stops_no_window() {
    use contexture_core::{Edit, SegmentUpdate};
    use contexture_testkit::fixture::{apply, segment};
    block_on(async {
        let system = memory().await;
        let capacity = Some(Tokens(100));
        let update = SegmentUpdate { capacity, ..SegmentUpdate::of(segment("usr")) };
        apply(&system, Edit::UpdateSegment(update)).await;
        let text = "many words of little weight ".repeat(400);
        let messages = vec![user(&text)];
        apply(&system, Edit::AddTurn { segment: segment("usr"), messages }).await;
        let window = system.as_system().reader().window(&options(Format::Markdown)).await.unwrap();
        assert!(window.body.contains("omitted here") && window.body.len() < text.len() / 4);
    });
}
