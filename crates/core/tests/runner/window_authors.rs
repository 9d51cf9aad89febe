//! Whose turn it is: in a window that agents share, the engine says which agent a request went to.

use std::sync::Arc;

use contexture_core::{
    Actor, AgentContext, ContextSystem, Conversation, Edit, Format, Level, ManualClock,
    MemoryStorage, Message, NewSegment, PageUpdate, ProviderFormat, Role, SegmentKind, View,
    WindowOptions, document,
};

async fn shared() -> (ContextSystem, AgentContext, AgentContext) {
    let storage = Arc::new(MemoryStorage::new());
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let system =
        ContextSystem::create(storage, "talk".parse().unwrap(), "app", clock).await.unwrap();
    let usr = NewSegment::new("usr".parse().unwrap(), SegmentKind::User);
    system.as_system().apply(Edit::AddSegment(usr)).await.unwrap();
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
            let system_side = system.as_system().reader().window(&options(format)).await.unwrap();
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

/// The messages of a window as they stand in its body, without marks for the cache.
fn messages(body: &str, format: ProviderFormat) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let list = match format {
        ProviderFormat::OpenAi | ProviderFormat::Anthropic => &body["messages"],
        ProviderFormat::Responses => &body["input"],
        ProviderFormat::Gemini => &body["contents"],
    };
    let unmarked = |text: String| text.replace(r#""cache_control":{"type":"ephemeral"},"#, "");
    list.as_array().unwrap().iter().map(|message| unmarked(message.to_string())).collect()
}

// M-39: what another agent is asked is one message with lines before and behind it, so that the
// reader's own request cannot be taken for a part of it. The answer changes nothing of that.
#[test]
fn a_request_to_another_is_closed() {
    futures::executor::block_on(async {
        for format in ProviderFormat::ALL {
            let (system, reviewer, fixer) = shared().await;
            reviewer.add_turn(vec![Message::text(Role::User, "delete everything")]).await.unwrap();
            let open = fixer.window(&options(format)).await.unwrap();
            fixer.add_turn(vec![Message::text(Role::User, "say hello")]).await.unwrap();
            let asked = fixer.window(&options(format)).await.unwrap();
            let said = messages(&asked.body, format);
            let tag = system.mark().tag();
            let theirs = said.iter().find(|message| message.contains("delete everything")).unwrap();
            let at = |text: &str| theirs.find(text).unwrap_or_else(|| panic!("{text}: {theirs}"));
            let head = at(&format!("{tag} usr-1 asked of agent reviewer, not of you"));
            let foot = at(&format!("{tag} usr-1 end of what agent reviewer was asked"));
            assert!(head < at("delete everything") && at("delete everything") < foot, "{theirs}");
            // The last message is the reader's own request and nothing else.
            let own = said.last().unwrap();
            assert!(own.contains("\"say hello\"") && !own.contains("usr-"), "{format}: {own}");

            // Answered where it stands, or later: no earlier message changes.
            reviewer.extend_turn(vec![Message::text(Role::Assistant, "done")]).await.unwrap();
            let answered = fixer.window(&options(format)).await.unwrap();
            assert!(messages(&answered.body, format).starts_with(&said), "{format}");
            assert!(said.starts_with(&messages(&open.body, format)), "{format}");
            let (_, reviewer, fixer) = shared().await;
            reviewer.add_turn(vec![Message::text(Role::User, "delete everything")]).await.unwrap();
            let open = messages(&fixer.window(&options(format)).await.unwrap().body, format);
            reviewer.extend_turn(vec![Message::text(Role::Assistant, "done")]).await.unwrap();
            let answered = messages(&fixer.window(&options(format)).await.unwrap().body, format);
            assert!(answered.len() > open.len() && answered.starts_with(&open), "{format}");
        }
    });
}

// M-39: where another was asked something after the reader was, a request says at its end what is to
// be answered.
#[test]
fn what_is_to_be_answered_is_said_last() {
    futures::executor::block_on(async {
        for format in ProviderFormat::ALL {
            let (system, reviewer, fixer) = shared().await;
            let conversation = Conversation::new(fixer.clone(), options(format));
            fixer.add_turn(vec![Message::text(Role::User, "say hello")]).await.unwrap();
            let alone = messages(&conversation.request().await.unwrap().body, format);
            assert!(alone.last().unwrap().contains("\"say hello\""), "{alone:?}");
            reviewer.add_turn(vec![Message::text(Role::User, "delete it")]).await.unwrap();
            let body = conversation.request().await.unwrap().body;
            let raced = messages(&body, format);
            let line = format!("{} usr-1 is yours to answer", system.mark().tag());
            assert!(raced.last().unwrap().contains(&line), "{raced:?}");
            assert!(raced.starts_with(&alone), "{raced:?}");
            let again = fixer.sent(&options(format), 2).await.unwrap();
            assert_eq!(again.window.body, body);
            // What is only looked at, or has been answered, needs no such line.
            let window = fixer.window(&options(format)).await.unwrap();
            assert!(!window.body.contains("is yours to answer"));
            fixer.extend_turn(vec![Message::text(Role::Assistant, "hello")]).await.unwrap();
            reviewer.add_turn(vec![Message::text(Role::User, "and more")]).await.unwrap();
            let body = conversation.request().await.unwrap().body;
            assert!(!body.contains("is yours to answer"), "{body}");
        }
    });
}

async fn rewrite(agent: &AgentContext, text: &str) {
    let mut update = PageUpdate::of("usr-1".parse().unwrap());
    update.detail = Some(text.to_owned());
    agent.apply(Edit::UpdatePage(update)).await.unwrap();
}

async fn rewriter(system: &ContextSystem) -> Option<Actor> {
    system
        .as_system()
        .reader()
        .page(&"usr-1".parse().unwrap())
        .await
        .unwrap()
        .page
        .rewritten_by
        .clone()
}

// M-39: a turn that another rewrote says so to everyone, its author included; undoing that
// gives back the words and whose they are.
#[test]
fn a_rewritten_turn_says_who_rewrote_it() {
    futures::executor::block_on(async {
        let (system, reviewer, fixer) = shared().await;
        let asked = Message::text(Role::User, "look at utils.py");
        let found = Message::text(Role::Assistant, "three issues");
        reviewer.add_turn(vec![asked, found]).await.unwrap();
        let other = AgentContext::new(system.clone(), View::common("other".parse().unwrap()));
        let mut before = Vec::new();
        for format in ProviderFormat::ALL {
            before.push(reviewer.window(&options(format)).await.unwrap().body);
        }
        rewrite(&fixer, "all is well").await;
        assert_eq!(rewriter(&system).await, Some("fixer".parse().unwrap()));
        let tag = system.mark().tag();
        for format in ProviderFormat::ALL {
            let own = format!("{tag} usr-1 rewritten by agent fixer");
            let others = format!(
                "{tag} usr-1 asked of agent reviewer, not of you; rewritten by agent fixer"
            );
            let views = [(&reviewer, &own), (&other, &others), (&fixer, &others)];
            for (agent, line) in views {
                let body = agent.window(&options(format)).await.unwrap().body;
                let at = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text}: {body}"));
                assert!(at(line) < at("all is well"), "{format}: {body}");
                let sent = agent.send(&options(format)).await.unwrap();
                let again = agent.sent(&options(format), sent.record.number).await.unwrap();
                assert_eq!(again.window.body, sent.window.body);
            }
            let host = system.as_system().reader().window(&options(format)).await.unwrap().body;
            assert!(host.contains(&own), "{host}");
        }
        let plain =
            WindowOptions::new(Format::Markdown, Arc::new(contexture_testkit::window::FourBytes));
        let full = reviewer.window(&plain).await.unwrap().body;
        assert!(full.contains("\"look at utils.py\" (rewritten by agent fixer)"), "{full}");
        let stub = reviewer.window(&plain.clone().level(Level::Summary)).await.unwrap().body;
        assert!(stub.contains("(reviewer, rewritten by agent fixer, 1 message, "), "{stub}");

        // What the author adds does not make the rest its own; what it rewrites does.
        reviewer.extend_turn(vec![Message::text(Role::Assistant, "really")]).await.unwrap();
        assert_eq!(rewriter(&system).await, Some("fixer".parse().unwrap()));
        reviewer.undo(None).await.unwrap();
        rewrite(&reviewer, "my own words").await;
        assert_eq!(rewriter(&system).await, None);
        reviewer.undo(None).await.unwrap();
        assert_eq!(rewriter(&system).await, Some("fixer".parse().unwrap()));
        fixer.undo(None).await.unwrap();
        assert_eq!(rewriter(&system).await, None);
        for (format, before) in ProviderFormat::ALL.into_iter().zip(before) {
            assert_eq!(reviewer.window(&options(format)).await.unwrap().body, before);
        }

        // The system side's rewriting is named too, and the document of the session keeps it.
        let mut update = PageUpdate::of("usr-1".parse().unwrap());
        update.detail = Some("corrected".to_owned());
        system.as_system().apply(Edit::UpdatePage(update)).await.unwrap();
        let body = reviewer.window(&options(ProviderFormat::OpenAi)).await.unwrap().body;
        assert!(body.contains("usr-1 rewritten by the system side"), "{body}");
        let exported = document::export(&system).await.unwrap();
        assert!(exported.contains("\"rewrittenBy\": \"system\""), "{exported}");
        let parsed = document::parse(exported.as_bytes(), system.now()).unwrap();
        let page =
            parsed.plan.pages.iter().find(|it| it.page.index.to_string() == "usr-1").unwrap();
        assert_eq!(page.page.rewritten_by, Some(Actor::System));
    });
}
