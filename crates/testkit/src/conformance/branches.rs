//! Branches: what is inherited stands as it stood, whatever the storage.

use std::sync::Arc;

use contexture_core::{
    AgentContext, Edit, Format, NewSegment, PageStorage, ProviderFormat, SegmentKind,
    storage::{BranchParent, ViewId},
};

use crate::{
    fixture::{agent, apply, assistant, page, reopen, segment, session, session_id, user, valid},
    window::options,
};

pub(super) async fn branches_stand_as_their_parents_stood(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let alpha = agent(&system, "alpha");
    for number in 1..=12 {
        let turn =
            vec![user(&format!("question {number}")), assistant(&format!("answer {number}"))];
        alpha.add_turn(turn).await.expect("it may");
    }
    alpha.hide_details("usr-2").await.expect("it may");
    alpha.pin_page("usr-3").await.expect("it may");
    let own = NewSegment::new(segment("agent-delta"), SegmentKind::Custom);
    apply(&system, Edit::AddSegment(own)).await;
    let asked = options(Format::Provider(ProviderFormat::OpenAi));
    let shown = alpha.window(&asked).await.expect("it fits").body;
    let mut branches = Vec::new();
    for number in [2, 10] {
        let parent = BranchParent::Session(alpha.principal());
        let begun = system.branch(parent, &valid("delta"), number, &segment("agent-delta")).await;
        branches.push(begun.expect("it can branch"));
    }
    // Whatever happens since.
    alpha.expand_details("usr-2").await.expect("it may");
    apply(&system, Edit::RemovePage(page("usr-4"))).await;
    apply(&system, Edit::MovePage { page: page("usr-5"), to: page("agent-delta-0") }).await;
    apply(&system, Edit::MovePage { page: page("usr-1"), to: page("usr-0") }).await;
    apply(&system, crate::fixture::new_directory("usr-0", "Folder", &["usr-6", "usr-7"])).await;
    alpha.add_turn(vec![user("question 13")]).await.expect("it may");
    system.as_system().update_page("usr-8", "Renamed", "").await.expect("it may");
    apply(&system, Edit::RemoveSegment { segment: segment("usr"), cascade: true, force: false })
        .await;
    let again = reopen(storage.clone()).await;
    for branch in branches {
        let branch_system = again.open_branch(&branch).await.expect("it opens");
        let branch = AgentContext::new(branch_system, branch.view);
        // What was moved to its own segment is no turn of its own, but lies there.
        let body = branch.window(&asked).await.expect("it fits").body;
        let same = body.bytes().zip(shown.bytes()).take_while(|(one, other)| one == other).count();
        assert!(same >= shown.len() - 2, "{same} of {}", shown.len());
    }
    let views = storage.views(&session_id()).await.expect("reads");
    assert!(views.is_sorted_by_key(|head| head.view.clone()), "views come by name: {views:?}");
    let names: Vec<String> = views.iter().map(|head| head.view.to_string()).collect();
    assert!(names.contains(&"delta.2".to_owned()) && names.contains(&"delta.10".to_owned()));
    let keys = storage.level_keys(&session_id()).await.expect("reads");
    assert!(keys.is_sorted(), "chunks come in order: {keys:?}");
    let branch: ViewId = valid("delta.10");
    assert!(keys.iter().any(|key| key.view == branch), "{keys:?}");
}
