//! Whose turn it is: in a window that agents share, the engine says which agent a request went to.

use std::sync::Arc;

use contexture_core::{
    AgentContext, ContextSystem, Edit, ManualClock, MemoryStorage, Message, NewSegment, Role,
    SegmentKind, View, WindowOptions,
    window::{format::Format, provider::ProviderFormat},
};

async fn shared() -> (ContextSystem, AgentContext, AgentContext) {
    let storage = Arc::new(MemoryStorage::new());
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let system =
        ContextSystem::create(storage, "talk".parse().unwrap(), "app", clock).await.unwrap();
    let usr = NewSegment::new("usr".parse().unwrap(), SegmentKind::User);
    system.apply_internal(Edit::AddSegment(usr)).await.unwrap();
    let agent = |name: &str| AgentContext::new(system.clone(), View::common(name.parse().unwrap()));
    (system.clone(), agent("reviewer"), agent("fixer"))
}

fn options(format: ProviderFormat) -> WindowOptions {
    WindowOptions::new(Format::Provider(format), Arc::new(contexture_testkit::window::FourBytes))
}

// M-03, M-39: an agent that shares the session can tell whose result it reads.
#[test]
fn a_turn_of_another_agent_says_whose_it_is() {
    futures::executor::block_on(async {
        let (system, reviewer, fixer) = shared().await;
        let asked = Message::text(Role::User, "look at utils.py");
        reviewer.add_turn(vec![asked]).await.unwrap();
        let own = Message::text(Role::User, "fix the above");
        fixer.add_turn(vec![own]).await.unwrap();
        let found = Message::text(Role::Assistant, "three issues");
        reviewer.extend_turn(vec![found]).await.unwrap();

        let tag = system.mark().tag();
        let begins = format!("{tag} usr-1 asked of agent reviewer");
        let goes_on = format!("{tag} usr-3 agent reviewer goes on");
        let lines = |body: &str| {
            body.matches(" asked of agent ").count() + body.matches(" goes on").count()
        };
        for format in ProviderFormat::ALL {
            let window = fixer.window(&options(format)).await.unwrap();
            assert_eq!(lines(&window.body), 2, "{}", window.body);
            let at = |text: &str| window.body.find(text).unwrap_or_else(|| panic!("{text}"));
            assert!(at(&begins) < at("look at utils.py"));
            assert!(at("look at utils.py") < at("fix the above"));
            assert!(at("fix the above") < at(&goes_on));
            assert!(at(&goes_on) < at("three issues"));
            // What was sent is proved by its hash, these lines included.
            let sent = fixer.send(&options(format)).await.unwrap();
            let again = fixer.sent(&options(format), sent.record.number).await.unwrap();
            assert_eq!(again.window.body, sent.window.body);

            // Neither its own turns nor anything on the system side is told.
            let own = reviewer.window(&options(format)).await.unwrap();
            assert_eq!(lines(&own.body), 1);
            assert!(own.body.contains("usr-2 asked of agent fixer"));
            let system_side = system.reader().window(&options(format)).await.unwrap();
            assert_eq!(lines(&system_side.body), 0);
        }
    });
}

#[test]
fn the_lines_are_counted() {
    futures::executor::block_on(async {
        let (_, reviewer, fixer) = shared().await;
        reviewer.add_turn(vec![Message::text(Role::User, "look")]).await.unwrap();
        let options = options(ProviderFormat::OpenAi);
        let own = reviewer.window(&options).await.unwrap().account.tokens;
        let other = fixer.window(&options).await.unwrap().account.tokens;
        assert!(other > own + 5, "{other} against {own}");
    });
}
