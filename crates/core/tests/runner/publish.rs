//! Publishing: an agent's result written for it, with where it came from.

use contexture_core::{
    AgentContext, ContextSystem, Edit, ErrorKind, ListQuery, Message, PageIndex, Permission,
    SegmentKind, Trust,
};
use contexture_testkit::{
    fixture::{
        add_segment, agent, apply, assistant, calls, confined, leaf, memory, page, returned,
        segment, user, valid,
    },
    state::state,
};
use futures::executor::block_on;

fn publish(messages: Vec<Message>, sources: &[&str]) -> Edit {
    let sources = sources.iter().map(|source| page(source)).collect();
    Edit::PublishTurn { segment: segment("usr"), agent: valid("scout"), messages, sources }
}

fn report() -> Vec<Message> {
    vec![assistant("what I found")]
}

/// A scout that works in `lab` and is published to `usr`; `lab-1` is a turn of its own, `lab-2` one
/// with what a tool returned.
async fn working() -> (ContextSystem, AgentContext) {
    let system = memory().await;
    add_segment(&system, "lab", SegmentKind::Custom, Permission::ReadWrite).await;
    let scout = confined(&system, "scout", &["lab"]);
    scout.add_turn(vec![user("look"), assistant("looking")]).await.unwrap();
    scout.add_turn(vec![user("read"), calls("c", "{}"), returned("c", "text")]).await.unwrap();
    (system, scout)
}

async fn trust_of(system: &ContextSystem, index: &PageIndex) -> Trust {
    system.as_system().reader().page(index).await.unwrap().page.trust
}

#[test]
fn a_published_turn_is_the_agents() {
    block_on(async {
        let (system, scout) = working().await;
        let mut quoted = assistant("as another said");
        quoted.author = Some(valid("other"));
        let long = assistant(&format!("and more\n{}", "x".repeat(5_000)));
        let messages = vec![assistant("what I found"), long, quoted];
        let pages = apply(&system, publish(messages, &["lab-1", "sys-0"])).await.pages;
        assert_eq!(pages, ["usr-1", "usr-2"].map(page));
        for index in &pages {
            let page = system.as_system().reader().page(index).await.unwrap().page;
            assert_eq!(page.author.to_string(), "scout");
            assert_eq!(page.sources, ["lab-1", "sys-0"].map(contexture_testkit::fixture::page));
            assert_eq!(page.turn, Some(pages[0].clone()));
            assert_eq!(page.trust, Trust::Agent);
        }
        let mut authors = Vec::new();
        for index in &pages {
            for message in system.as_system().reader().messages(index).await.unwrap() {
                authors.push(message.author.unwrap().to_string());
                assert!(message.at.is_some());
            }
        }
        assert_eq!(authors, ["scout", "scout", "other"]);
        // The scout does not see where it was published.
        assert_eq!(scout.get_page("usr-1").await.unwrap_err().kind(), ErrorKind::NotFound);
        // In history it is the system side's, under its own name.
        let entry = system.as_system().reader().history(None, 1).await.unwrap().items.remove(0);
        assert_eq!(
            (entry.actor.to_string(), entry.operation.as_str()),
            ("system".into(), "publishTurn")
        );
    });
}

// Trust never rises: a page made from others takes the lowest, of its sources, its messages and the
// agent.
#[test]
fn what_is_published_is_trusted_no_more_than_its_sources() {
    block_on(async {
        let (system, _) = working().await;
        assert_eq!(trust_of(&system, &page("lab-2")).await, Trust::Tool);
        let fetched = vec![calls("d", "{}"), returned("d", "fetched")];
        let cases = [
            (vec![user("as a user would")], vec![], Trust::Agent),
            (report(), vec!["sys-0"], Trust::Agent),
            (report(), vec!["lab-1", "lab-2"], Trust::Tool),
            (fetched, vec!["lab-1"], Trust::Tool),
        ];
        for (messages, sources, expected) in cases {
            let told = format!("{sources:?}");
            let pages = apply(&system, publish(messages, &sources)).await.pages;
            assert_eq!(trust_of(&system, &pages[0]).await, expected, "{told}");
        }
    });
}

#[test]
fn publishing_belongs_to_the_system_side() {
    block_on(async {
        let (system, scout) = working().await;
        let before = state(&system).await;
        for agent in [&scout, &agent(&system, "helper")] {
            for edit in [publish(report(), &[]), publish(Vec::new(), &["nil-7"])] {
                for edit in [edit.clone(), Edit::Batch(vec![edit])] {
                    let refused = agent.apply(edit).await.unwrap_err();
                    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
                    assert_eq!(
                        refused.to_string(),
                        "permission denied: operation 'publishTurn' belongs to the system side"
                    );
                }
            }
        }
        for (edit, kind) in [
            (publish(report(), &["lab-9"]), ErrorKind::NotFound),
            (publish(report(), &["lab-1", "nil-1"]), ErrorKind::NotFound),
            (publish(Vec::new(), &["lab-1"]), ErrorKind::Invalid),
            (publish(vec![calls("c", "{}")], &[]), ErrorKind::Invalid),
        ] {
            let told = format!("{edit:?}");
            let refused = system.as_system().apply(edit).await.expect_err(&told);
            assert_eq!(refused.kind(), kind, "{refused}");
        }
        assert_eq!(before.differences(&state(&system).await), [""; 0]);
    });
}

#[test]
fn what_was_published_can_be_taken_back() {
    block_on(async {
        let (system, scout) = working().await;
        let before = state(&system).await;
        let made = apply(&system, publish(report(), &["lab-1"])).await.revision;
        let published = state(&system).await;
        // It is not the agent's edit.
        let refused = scout.undo(Some(made)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused}");
        let undo = apply(&system, Edit::Undo { revision: Some(made) }).await.revision;
        assert_eq!(before.differences(&state(&system).await), [""; 0]);
        apply(&system, Edit::Undo { revision: Some(undo) }).await;
        assert_eq!(published.differences(&state(&system).await), [""; 0]);
    });
}

// A source out of view is not shown to whoever reads the page, wherever they meet it.
#[test]
fn sources_out_of_view_are_not_shown() {
    block_on(async {
        let (system, _) = working().await;
        leaf(&system, "usr-0", "asked").await;
        let made = apply(&system, publish(report(), &["lab-1", "usr-1", "lab-2"])).await;
        let index = &made.pages[0];
        let reader = confined(&system, "reader", &["sys", "usr"]);
        let both = confined(&system, "keeper", &["lab", "usr"]);
        let seen = async |agent: &AgentContext| {
            let query = ListQuery { limit: 100, ..ListQuery::default() };
            let listed = agent.list_pages(&query).await.unwrap().items;
            let mut pages = vec![agent.get_page(index).await.unwrap()];
            pages.extend(listed.into_iter().filter(|seen| seen.page.index == *index));
            pages.extend(agent.get_children("usr-0").await.unwrap().pop());
            assert_eq!(pages.len(), 3);
            pages.iter().map(|seen| seen.page.sources.clone()).collect::<Vec<_>>()
        };
        assert_eq!(seen(&reader).await, vec![vec![page("usr-1")]; 3]);
        let all = ["lab-1", "usr-1", "lab-2"].map(page).to_vec();
        assert_eq!(seen(&both).await, vec![all; 3]);
        let history = format!("{:?}", reader.history(None, 100).await.unwrap().items);
        assert!(history.contains("PublishTurn") && !history.contains("lab"), "{history}");
    });
}
