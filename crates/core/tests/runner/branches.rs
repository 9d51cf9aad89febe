//! Branches: a view that begins as what another shows, byte for byte, and goes on alone.

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, Format, NewSegment, PageUpdate, Principal,
    ProviderFormat, SegmentKind, Session, WindowOptions,
    message::ToolResult,
    storage::{Branch, BranchParent},
};
use contexture_testkit::{
    fixture::{agent, apply, assistant, calls, memory, page, returned, segment, user, valid},
    window::{SECRET, World, options},
};
use futures::executor::block_on;

const FORMATS: [ProviderFormat; 4] = [
    ProviderFormat::OpenAi,
    ProviderFormat::Responses,
    ProviderFormat::Anthropic,
    ProviderFormat::Gemini,
];

/// Makes an agent's own segment.
async fn own_segment(system: &ContextSystem, name: &str) {
    let new = NewSegment::new(segment(&format!("agent-{name}")), SegmentKind::Custom);
    apply(system, Edit::AddSegment(new)).await;
}

/// Begins and opens a branch.
async fn branch(
    system: &ContextSystem,
    parent: BranchParent<'_>,
    (name, number): (&str, u64),
) -> (AgentContext, Branch) {
    let own = segment(&format!("agent-{name}"));
    let branch = system.branch(parent, &valid(name), number, &own).await.unwrap();
    (open_branch(system, &branch).await, branch)
}

/// What a session shows, as the parent of a branch.
fn of(session: &Session) -> BranchParent<'_> {
    BranchParent::Session(session.principal())
}

/// Opens a branch for its agent.
async fn open_branch(system: &ContextSystem, branch: &Branch) -> AgentContext {
    AgentContext::new(system.open_branch(branch).await.unwrap(), branch.view.clone())
}

async fn body(of: &Session, asked: &WindowOptions) -> Result<String, ErrorKind> {
    of.window(asked).await.map(|window| window.body).map_err(|error| error.kind())
}

fn asked(format: ProviderFormat, budget: Option<u64>) -> WindowOptions {
    let asked = options(Format::Provider(format));
    budget.map_or(asked.clone(), |budget| asked.budget(budget))
}

/// Returns the windows of a principal in every provider format, with and without a budget.
fn bodies(of: &Session) -> Vec<Result<String, ErrorKind>> {
    let budgets = [None, Some(400), Some(2_500), Some(20_000)];
    let all = FORMATS.iter().flat_map(|format| budgets.map(|budget| asked(*format, budget)));
    all.map(|asked| block_on(body(of, &asked))).collect()
}

/// Checks that windows are the same; says where the first differs, and not all of it.
fn assert_same(
    ours: &[Result<String, ErrorKind>],
    expected: &[Result<String, ErrorKind>],
    at: &str,
) {
    for (number, pair) in ours.iter().zip(expected).enumerate() {
        match pair {
            (Ok(ours), Ok(expected)) if ours != expected => {
                let same = ours.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
                let near = |text: &str| {
                    let from = text.floor_char_boundary(same.saturating_sub(60));
                    let to = text.floor_char_boundary((same + 160).min(text.len()));
                    text[from..to].to_owned()
                };
                panic!("{at}, window {number}, byte {same}:\n{}\n{}", near(ours), near(expected));
            }
            (Ok(_), Ok(_)) => {}
            (ours, expected) => assert_eq!(ours.as_ref().err(), expected.as_ref().err(), "{at}"),
        }
    }
}

// A branch shows what its parent shows at that moment, in every provider format, and shows it still
// after whatever happens in the session, also to a process with nothing in memory.
#[test]
fn a_branch_stands_as_its_parent_stood() {
    for seed in 0..24 {
        let mut world = World::new(seed);
        // Nobody else writes to a segment of such a name.
        let name = format!("delta-{SECRET}");
        block_on(own_segment(&world.system, &name));
        for _ in 0..30 {
            world.step();
        }
        let at = world.random.below(4) as usize;
        let parent = match world.agents.get(at) {
            Some(agent) => agent.principal().clone(),
            None => Principal::System,
        };
        let shown = bodies(&world.system.held_by(parent.clone()));
        let (delta, begun) =
            block_on(branch(&world.system, BranchParent::Session(&parent), (&name, 1)));
        assert_same(&bodies(&delta), &shown, &format!("seed {seed}, agent {at}"));
        for _ in 0..40 {
            world.step();
        }
        assert_same(&bodies(&delta), &shown, &format!("seed {seed}, later"));
        let cold = world.cold();
        let cold = block_on(open_branch(&cold, &begun));
        assert_same(&bodies(&cold), &shown, &format!("seed {seed}, opened again"));
    }
}

/// Makes a session with a few turns of an agent.
async fn talk() -> (ContextSystem, AgentContext) {
    let system = memory().await;
    let alpha = agent(&system, "alpha");
    for number in 1..=3 {
        let turn =
            vec![user(&format!("question {number}")), assistant(&format!("answer {number}"))];
        alpha.add_turn(turn).await.unwrap();
    }
    own_segment(&system, "delta").await;
    own_segment(&system, "epsilon").await;
    (system, alpha)
}

/// Returns the messages of an OpenAI body.
async fn messages(of: &Session) -> Vec<String> {
    let body = body(of, &asked(ProviderFormat::OpenAi, None)).await.unwrap();
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    body["messages"].as_array().unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn what_either_adds_is_unseen_by_the_other() {
    block_on(async {
        let (system, alpha) = talk().await;
        let before = messages(&alpha).await;
        let (delta, ..) = branch(&system, of(&alpha), ("delta", 1)).await;
        delta.add_turn(vec![user("try it another way"), assistant("done")]).await.unwrap();
        alpha.add_turn(vec![user("question 4")]).await.unwrap();
        let (mine, theirs) = (messages(&delta).await, messages(&alpha).await);
        assert!(mine.starts_with(&before) && theirs.starts_with(&before));
        assert!(mine.concat().contains("another way") && !mine.concat().contains("question 4"));
        assert!(!theirs.concat().contains("another way"));
        // The next branch of the same agent begins again.
        let (again, ..) = branch(&system, of(&alpha), ("delta", 2)).await;
        assert_eq!(messages(&again).await, theirs);
        let last = delta.extend_turn(vec![assistant("and more")]).await.unwrap();
        assert_eq!(last[0].segment().as_str(), "agent-delta");
        assert_eq!(messages(&again).await, theirs);
        assert!(messages(&delta).await.concat().contains("and more"));
    });
}

#[test]
fn what_is_inherited_is_read_only() {
    block_on(async {
        let (system, alpha) = talk().await;
        let (delta, ..) = branch(&system, of(&alpha), ("delta", 1)).await;
        let rename = PageUpdate { name: Some(valid("Mine")), ..PageUpdate::of(page("usr-1")) };
        for edit in [
            Edit::UpdatePage(rename),
            Edit::RemovePage(page("usr-1")),
            Edit::MovePage { page: page("usr-1"), to: page("agent-delta-0") },
            Edit::AddTurn { segment: segment("usr"), messages: vec![user("here")] },
        ] {
            let refused = delta.apply(edit).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
        }
        // Levels are its own.
        delta.hide_details("usr-1").await.unwrap();
        assert!(!messages(&delta).await.concat().contains("answer 1"));
        assert!(messages(&alpha).await.concat().contains("answer 1"));
        delta.undo(None).await.unwrap();
        assert_eq!(messages(&delta).await, messages(&alpha).await);
        // Also of a page that its parent has removed since.
        alpha.remove_page("usr-2").await.unwrap();
        assert!(messages(&delta).await.concat().contains("answer 2"));
        delta.hide_details("usr-2").await.unwrap();
        assert!(!messages(&delta).await.concat().contains("answer 2"));
    });
}

#[test]
fn a_branch_of_a_branch_stands_as_that_stood() {
    block_on(async {
        let (system, alpha) = talk().await;
        let (delta, begun) = branch(&system, of(&alpha), ("delta", 1)).await;
        delta.add_turn(vec![user("aside"), assistant("one")]).await.unwrap();
        alpha.update_page("usr-1", "Renamed", "").await.unwrap();
        alpha.remove_page("usr-2").await.unwrap();
        let shown = messages(&delta).await;
        let (epsilon, ..) = branch(&system, BranchParent::Branch(&begun), ("epsilon", 1)).await;
        assert_eq!(messages(&epsilon).await, shown);
        delta.add_turn(vec![user("later")]).await.unwrap();
        alpha.remove_page("usr-3").await.unwrap();
        assert_eq!(messages(&epsilon).await, shown);
        epsilon.add_turn(vec![user("deeper")]).await.unwrap();
        assert!(messages(&epsilon).await.starts_with(&shown));
        assert!(!messages(&delta).await.concat().contains("deeper"));
    });
}

#[test]
fn only_a_purge_reaches_what_is_inherited() {
    block_on(async {
        let (system, alpha) = talk().await;
        let (delta, begun) = branch(&system, of(&alpha), ("delta", 1)).await;
        system.as_system().update_page("usr-1", "Other", "").await.unwrap();
        apply(&system, Edit::RemovePage(page("usr-2"))).await;
        assert!(messages(&delta).await.concat().contains("answer 2"));
        apply(&system, Edit::PurgePage(page("usr-2"))).await;
        let cold = open_branch(&system, &begun).await;
        for branch in [&cold, &delta] {
            branch.refresh().await.unwrap();
            let shown = messages(branch).await.concat();
            assert!(!shown.contains("answer 2") && shown.contains("answer 1"), "{shown}");
        }
    });
}

#[test]
fn a_branch_folds_alone() {
    block_on(async {
        let (system, alpha) = talk().await;
        for number in 4..40 {
            let text = format!("question {number} {}", "and some words ".repeat(12));
            alpha.add_turn(vec![user(&text), assistant("yes")]).await.unwrap();
        }
        let (delta, begun) = branch(&system, of(&alpha), ("delta", 1)).await;
        let before = body(&alpha, &asked(ProviderFormat::OpenAi, None)).await.unwrap();
        let tight = asked(ProviderFormat::OpenAi, Some(900));
        delta.add_turn(vec![user("go on")]).await.unwrap();
        let sent = delta.send(&tight).await.unwrap();
        assert!(sent.record.fold.is_some() && sent.record.number == 1);
        assert_eq!(body(&alpha, &asked(ProviderFormat::OpenAi, None)).await.unwrap(), before);
        let folded = body(&delta, &asked(ProviderFormat::OpenAi, None)).await.unwrap();
        let cold = open_branch(&system, &begun).await;
        assert_eq!(body(&cold, &asked(ProviderFormat::OpenAi, None)).await.unwrap(), folded);
        delta.undo(None).await.unwrap();
    });
}

// The provider has cached what the parent sent.
#[test]
fn the_first_window_of_a_branch_goes_on_from_its_parents_last() {
    block_on(async {
        let (system, alpha) = talk().await;
        for format in FORMATS {
            let asked = asked(format, None);
            let theirs = alpha.send(&asked).await.unwrap();
            let number = 10 + format as u64;
            let (delta, ..) = branch(&system, of(&alpha), ("delta", number)).await;
            delta.add_turn(vec![user("another way")]).await.unwrap();
            let mine = delta.send(&asked).await.unwrap();
            assert_eq!(mine.record.number, 1);
            assert_eq!(mine.record.cached, theirs.record.tokens, "{format:?}");
            let again = delta.sent(&asked, 1).await.unwrap();
            assert_eq!(again.window.body, mine.window.body);
        }
    });
}

#[test]
fn only_the_system_side_begins_a_branch() {
    block_on(async {
        let (_, alpha) = talk().await;
        let (view, parent) = (valid("alpha.1"), alpha.principal().view_id());
        let refused = alpha.apply(Edit::BranchView { view, parent, levels: Vec::new() }).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    });
}

// Its results go to the parent: the branch goes on without them.
#[test]
fn an_open_exchange_is_interrupted_in_the_branch_alone() {
    block_on(async {
        let (system, alpha) = talk().await;
        let mut both = calls("c1", "{}");
        both.parts.extend(calls("c2", "{}").parts);
        alpha.open_exchange(vec![user("look"), both]).await.unwrap();
        let found = |call: &str, text: &str| vec![returned(call, text)];
        alpha.add_results(found("c2", "found")).await.unwrap();
        let (delta, begun) = branch(&system, of(&alpha), ("delta", 1)).await;
        let (open, lost) = ("no result yet: the call is still open", ToolResult::INTERRUPTED);
        for format in FORMATS {
            let asked = asked(format, None);
            let (parents, ours) =
                (body(&alpha, &asked).await.unwrap(), body(&delta, &asked).await.unwrap());
            assert!(parents.contains(open) && !parents.contains(lost), "{format}");
            assert!(ours.contains(lost) && !ours.contains(open) && ours.contains("found"));
        }
        delta.add_turn(vec![user("go on")]).await.unwrap();
        let sent = delta.send(&asked(ProviderFormat::OpenAi, None)).await.unwrap();
        alpha.add_results(found("c1", "the file")).await.unwrap();
        let parents = body(&alpha, &asked(ProviderFormat::OpenAi, None)).await.unwrap();
        assert!(parents.contains("the file") && !parents.contains(open));
        // Opened again, what was sent can be shown before any page was read.
        let cold = open_branch(&system, &begun).await;
        let again =
            cold.sent(&asked(ProviderFormat::OpenAi, None), sent.record.number).await.unwrap();
        assert_eq!(again.window.body, sent.window.body);
        let ours = body(&cold, &asked(ProviderFormat::OpenAi, None)).await.unwrap();
        assert!(ours.contains(lost) && !ours.contains("the file"));
    });
}
