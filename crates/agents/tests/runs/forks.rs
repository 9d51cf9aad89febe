//! Forks: a run that begins as what another view shows, byte for byte, and goes on alone.

use contexture_agents::{
    definition::ToolRules,
    runner::stop_signal,
    settings::{Layer, SettingsDialect, SettingsFile},
    team::{ClearScope, Member},
};
use contexture_core::{
    ErrorKind, Format, Message, PageUpdate, ProviderFormat, Role, WindowOptions,
};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::*;

fn origin(parent: &AgentDefinition) -> ForkOrigin {
    let mode = parent.context_mode.unwrap();
    let parent = Some(Arc::new(Member { agent: parent.clone(), mode }));
    ForkOrigin { sends_as: parent.clone(), parent, ..ForkOrigin::default() }
}

/// A job of a fork of another agent.
fn fork<'a>(
    agent: &'a AgentDefinition,
    parent: &AgentDefinition,
    model: Arc<dyn Model>,
) -> Job<'a> {
    Job { origin: origin(parent), ..job(agent, model) }
}

/// Returns a request up to where messages may be added, without what marks the end of a cached part.
fn prefix(body: &str) -> String {
    let body = unmarked(body);
    let end = ["]", "\n"].iter().find_map(|_| body.rfind("}]")).unwrap();
    body[..end].to_owned()
}

/// Returns a request without cache marks.
fn unmarked(body: &str) -> String {
    body.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

fn bodies(server: &ProviderServer) -> Vec<String> {
    assert_eq!(server.violations(), Vec::<String>::new());
    server.requests().into_iter().map(|request| request.body).collect()
}

async fn talk(system: &ContextSystem, text: &str) {
    let messages =
        vec![Message::text(Role::User, text), Message::text(Role::Assistant, "Understood.")];
    let segment = "usr".parse().unwrap();
    system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
}

// The first request of a fork has the parent's last one as its prefix: tools, system text and messages.
#[tokio::test]
async fn a_fork_begins_with_the_bytes_of_its_parents_last_request() {
    for (name, parents_mode) in MODELS
        .iter()
        .flat_map(|name| [(*name, ContextMode::Shared), (*name, ContextMode::Isolated)])
    {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "alpha\n").unwrap();
        let system = memory().await;
        talk(&system, "The launch is on Friday.").await;
        let runner = runner(&system);
        let server = ProviderServer::scripted([
            Reply::call("call_1", "read_file", r#"{"path":"a.txt"}"#),
            Reply::text("It says alpha."),
            Reply::call("call_2", "read_file", r#"{"path":"a.txt"}"#),
            Reply::text("Still alpha, says the fork."),
        ]);
        let mut lead = agent("lead", parents_mode);
        lead.effort = Some("high".to_owned());
        lead.tools = ToolRules { allow: Some(vec!["read_file".to_owned()]), deny: Vec::new() };
        let mut helper = agent("helper", ContextMode::Fork);
        helper.temperature = Some(0.5);
        let mut asked = job(&lead, model(&server, name));
        asked.tools = files(folder.path());
        execute(&runner, &asked, "What is in a.txt?").await;
        let mut forked = fork(&helper, &lead, model(&server, name));
        forked.tools = files(folder.path());
        let response = execute(&runner, &forked, "Look again.").await;
        assert_eq!(response.text, "Still alpha, says the fork.");
        assert_eq!(response.metadata.context_mode, ContextMode::Fork);
        let requests = bodies(&server);
        assert!(
            unmarked(&requests[2]).starts_with(&prefix(&requests[1])),
            "{name} {parents_mode}\n{}\n{}",
            requests[1],
            requests[2]
        );
        let behind = &unmarked(&requests[2])[prefix(&requests[1]).len()..];
        for told in
            ["It says alpha.", "you are the agent `helper`", "You are helper.", "Look again."]
        {
            assert!(behind.contains(told), "{name}: {told} in {behind}");
        }
        assert!(
            !requests[2].contains("You run in isolated mode")
                || parents_mode == ContextMode::Isolated
        );
        // What it did lies in its own segment; the main session has its request and answer.
        let own = texts(&system, "fork-helper").await;
        assert_eq!(own.len(), 2, "{own:?}");
        assert!(own[1].contains("Look again.") && own[1].contains("Still alpha"), "{own:?}");
        let main = texts(&system, "usr").await;
        assert_eq!(
            main.last().unwrap(),
            "User: Look again.\nAssistant: Still alpha, says the fork."
        );
    }
}

// What either does later is unseen by the other; undo in the parent leaves the fork as it was.
#[tokio::test]
async fn neither_sees_what_the_other_does_later() {
    for name in MODELS {
        let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
        let system = session(storage.clone()).await;
        talk(&system, "The launch is on Friday.").await;
        let server = ProviderServer::scripted([
            Reply::text("Noted by the lead."),
            Reply::failing(400, "gone"),
            Reply::text("The lead goes on."),
            Reply::text("The fork answers."),
            Reply::text("The lead again."),
        ]);
        let lead = agent("lead", ContextMode::Shared);
        let mut helper = agent("helper", ContextMode::Fork);
        helper.publish_result = contexture_agents::definition::PublishResult::None;
        let runner = super::runner(&system);
        execute(&runner, &job(&lead, model(&server, name)), "Remember CANARY-LEAD.").await;
        let forked = fork(&helper, &lead, model(&server, name));
        let (_stopper, stop) = stop_signal();
        let failed = runner.execute(&forked, "CANARY-FORK", &mut Quiet, stop).await;
        assert!(failed.is_err());
        // The parent goes on, changes what was inherited, and takes back what it said.
        execute(&runner, &job(&lead, model(&server, name)), "CANARY-LATER").await;
        system.as_system().update_page("usr-1", "Other", "").await.unwrap();
        let rewritten = PageUpdate {
            detail: Some("CANARY-REWRITTEN".to_owned()),
            ..PageUpdate::of("usr-1".parse().unwrap())
        };
        system.as_system().apply(Edit::UpdatePage(rewritten)).await.unwrap();
        system.as_system().apply(Edit::RemovePage("usr-2".parse().unwrap())).await.unwrap();
        // Another process goes on with the fork.
        let again = reopened(storage.clone()).await;
        let resumed_by = super::runner(&again);
        let (_stopper, stop) = stop_signal();
        let response = resumed_by.resume(&forked, &mut Quiet, stop).await.unwrap().unwrap();
        assert_eq!(response.text, "The fork answers.");
        execute(&super::runner(&again), &job(&lead, model(&server, name)), "And now?").await;
        let requests = bodies(&server);
        assert!(requests[1].contains("CANARY-LEAD") && requests[1].contains("CANARY-FORK"));
        assert_eq!(
            unmarked(&requests[3]),
            unmarked(&requests[1]),
            "{name}: it is asked the same again"
        );
        assert!(!requests[3].contains("CANARY-LATER") && !requests[3].contains("REWRITTEN"));
        assert!(!requests[2].contains("CANARY-FORK") && !requests[4].contains("CANARY-FORK"));
    }
}

#[tokio::test]
async fn its_own_rules_are_checked_at_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let system = memory().await;
    let runner = runner(&system);
    let server = ProviderServer::scripted([
        Reply::text("Ready."),
        Reply::call("call_1", "write_file", r#"{"path":"a.txt","content":"x"}"#),
        Reply::call("call_2", "edit_file", r#"{"path":"a.txt","old_text":"x","new_text":"y"}"#),
        Reply::text("I may not."),
    ]);
    let mut lead = agent("lead", ContextMode::Shared);
    lead.tools.deny = vec!["edit_file".to_owned()];
    let mut helper = agent("helper", ContextMode::Fork);
    helper.tools.deny = vec!["write_file".to_owned()];
    let mut asked = job(&lead, model(&server, MODELS[0]));
    asked.tools = files(folder.path());
    execute(&runner, &asked, "Get ready.").await;
    let mut forked = fork(&helper, &lead, model(&server, MODELS[0]));
    forked.tools = files(folder.path());
    execute(&runner, &forked, "Write it.").await;
    let requests = bodies(&server);
    // The parent's list is sent, whatever the fork may use of it.
    assert!(requests[1].contains(r#""name":"write_file""#));
    assert!(!requests[1].contains(r#""name":"edit_file""#));
    assert!(requests[2].contains("tool 'write_file' is not allowed for agent 'helper'"));
    assert!(requests[3].contains("tool 'edit_file' is not allowed for agent 'helper'"));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

// Each new run forks again; the view of a fork is its latest; what it wrote can be cleared.
#[tokio::test]
async fn each_run_forks_again() {
    let system = memory().await;
    let runner = runner(&system);
    let server = ProviderServer::scripted([
        Reply::text("One."),
        Reply::text("CANARY-FIRST."),
        Reply::text("Two."),
        Reply::text("Second."),
    ]);
    let lead = agent("lead", ContextMode::Shared);
    let mut helper = agent("helper", ContextMode::Fork);
    helper.publish_result = contexture_agents::definition::PublishResult::None;
    let model = model(&server, MODELS[0]);
    for round in ["first", "second"] {
        execute(&runner, &job(&lead, model.clone()), &format!("lead {round}")).await;
        execute(&runner, &fork(&helper, &lead, model.clone()), &format!("fork {round}")).await;
    }
    let requests = bodies(&server);
    assert!(requests[3].contains("lead second") && !requests[3].contains("CANARY-FIRST"));
    assert!(unmarked(&requests[3]).starts_with(&prefix(&requests[2])));
    let seen = runner.team().context(&helper, ContextMode::Fork).await.unwrap();
    assert!(seen.get_page("usr-2").await.is_ok());
    let own: Vec<bool> = [1, 2, 3, 4]
        .map(|number| format!("fork-helper-{number}"))
        .iter()
        .map(|page| futures::executor::block_on(seen.get_page(page.as_str())).is_ok())
        .collect();
    assert_eq!(own, [false, false, true, true]);
    let refused = seen.update_page("usr-1", "Mine", "").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    let cleared = runner.team().clear(&helper.name, ClearScope::Isolated, |_| false).await.unwrap();
    assert_eq!(cleared.isolated.len(), 4);
}

// A fork of a fork continues the same requests, and a fork of the host's own view what the host sees.
#[tokio::test]
async fn forks_of_forks_and_of_the_main_view() {
    for name in MODELS {
        let system = memory().await;
        talk(&system, "The launch is on Friday.").await;
        let runner = runner(&system);
        let server =
            ProviderServer::scripted([Reply::text("First fork."), Reply::text("Second fork.")]);
        let mut first = agent("first", ContextMode::Fork);
        first.publish_result = contexture_agents::definition::PublishResult::None;
        let second = agent("second", ContextMode::Fork);
        let of_host = execute(&runner, &job(&first, model(&server, name)), "Fork the host.").await;
        assert_eq!(of_host.context.linked_to, "fork of Main Session (fork-first)");
        let parent = Some(Arc::new(Member { agent: first.clone(), mode: ContextMode::Fork }));
        let fork = runner.team().state(&first.name).await.unwrap().0.fork;
        let origin = ForkOrigin { parent, fork, ..ForkOrigin::default() };
        let deeper = Job { origin, ..job(&second, model(&server, name)) };
        execute(&runner, &deeper, "Fork the fork.").await;
        let requests = bodies(&server);
        assert!(requests[0].contains("The launch is on Friday."));
        assert!(unmarked(&requests[1]).starts_with(&prefix(&requests[0])), "{name}");
        for told in ["First fork.", "You are second.", "Fork the fork."] {
            assert!(requests[1].contains(told), "{name}: {told}");
        }
        // One that never began cannot be forked.
        let never = agent("never", ContextMode::Fork);
        let parent = Some(Arc::new(Member { agent: never, mode: ContextMode::Fork }));
        let origin = ForkOrigin { parent, ..ForkOrigin::default() };
        let nowhere = Job { origin, ..job(&second, model(&server, name)) };
        let (_stopper, stop) = stop_signal();
        let refused = runner.execute(&nowhere, "go", &mut Quiet, stop).await.unwrap_err();
        assert_eq!(refused.to_string(), "agent 'never' runs as a fork, and has no fork here yet");
    }
}

// A purge is the only thing that reaches what a fork inherited.
#[tokio::test]
async fn a_purge_reaches_a_fork() {
    let system = memory().await;
    talk(&system, "The secret is CANARY-PURGED.").await;
    talk(&system, "The launch is on Friday.").await;
    let server = ProviderServer::scripted([Reply::text("Known."), Reply::text("Done.")]);
    let lead = agent("lead", ContextMode::Shared);
    let helper = agent("helper", ContextMode::Fork);
    let runner = runner(&system);
    execute(&runner, &job(&lead, model(&server, MODELS[0])), "Well?").await;
    execute(&runner, &fork(&helper, &lead, model(&server, MODELS[0])), "Go.").await;
    let counter = contexture_tokens::counter_for("gpt-4o");
    let options = WindowOptions::new(Format::Provider(ProviderFormat::OpenAi), counter);
    for (page, stands) in [("usr-2", true), ("usr-1", false)] {
        system.as_system().apply(Edit::RemovePage(page.parse().unwrap())).await.unwrap();
        let seen = runner.team().context(&helper, ContextMode::Fork).await.unwrap();
        let before = seen.window(&options).await.unwrap().body;
        assert!(before.contains("CANARY-PURGED") && before.contains("Friday"), "{before}");
        if !stands {
            system.as_system().apply(Edit::PurgePage(page.parse().unwrap())).await.unwrap();
            let again = runner.team().context(&helper, ContextMode::Fork).await.unwrap();
            seen.refresh().await.unwrap();
            for seen in [seen, again] {
                let after = seen.window(&options).await.unwrap().body;
                assert!(!after.contains("CANARY-PURGED") && after.contains("Friday"), "{after}");
            }
        }
    }
}

// M-37: the bound of a shared window holds for forks of it.
#[tokio::test]
async fn a_fork_of_a_shared_window_is_bounded_like_it() {
    for name in MODELS {
        let system = memory().await;
        for number in 0..80 {
            talk(&system, &format!("question {number}.")).await;
        }
        let text = br#"{"agents":{"sharedContextMaxMessages":20}}"#;
        let path = std::path::Path::new("settings.json");
        let file = SettingsFile::parse(Layer::User, path, SettingsDialect::Contexture, text);
        let runner = runner_with(&system, Settings::merge(&[file.unwrap()]));
        let server = ProviderServer::scripted([Reply::text("Here."), Reply::text("There.")]);
        let lead = agent("lead", ContextMode::Shared);
        let helper = agent("helper", ContextMode::Fork);
        execute(&runner, &job(&lead, model(&server, name)), "where are we?").await;
        execute(&runner, &fork(&helper, &lead, model(&server, name)), "and you?").await;
        let requests = bodies(&server);
        assert!(requests[1].contains("messages folded"), "{name}");
        assert!(unmarked(&requests[1]).starts_with(&prefix(&requests[0])), "{name}");
        assert!(requests[1].matches("Understood.").count() * 2 <= 20, "{name}");
    }
}

// Two at once, a fork of a fork whose run is not over, and parents whose history was taken away.
#[tokio::test]
async fn forks_of_what_is_under_way_or_gone() {
    let system = memory().await;
    talk(&system, "The launch is on Friday.").await;
    let runner = runner(&system);
    let server = ProviderServer::answering(|request| {
        let is = |name: &str| request.body.contains(&format!("You are {name}."));
        match is("first") && !is("second") && !is("third") {
            true => Reply::failing(400, "gone"),
            false => Reply::text("Done."),
        }
    });
    let lead = agent("lead", ContextMode::Shared);
    let [mut first, second, third] =
        ["first", "second", "third"].map(|name| agent(name, ContextMode::Fork));
    first.publish_result = contexture_agents::definition::PublishResult::None;
    let model = model(&server, MODELS[0]);
    execute(&runner, &job(&lead, model.clone()), "Well?").await;
    let (_stopper, stop) = stop_signal();
    let failed = runner.execute(&fork(&first, &lead, model.clone()), "Go.", &mut Quiet, stop).await;
    assert!(failed.is_err(), "its run is not over");
    let forked = runner.team().state(&first.name).await.unwrap().0.fork;
    // Both see what the first had come to, and neither sees the other.
    let of_first = |agent| {
        let member = Arc::new(Member { agent: first.clone(), mode: ContextMode::Fork });
        let sends_as = Some(Arc::new(Member { agent: lead.clone(), mode: ContextMode::Shared }));
        let fork = forked.clone();
        let origin = ForkOrigin { parent: Some(member), sends_as, fork, ..ForkOrigin::default() };
        Job { origin, ..job(agent, model.clone()) }
    };
    let (two, three) = (of_first(&second), of_first(&third));
    tokio::join!(execute(&runner, &two, "CANARY-TWO"), execute(&runner, &three, "CANARY-THREE"));
    let requests = bodies(&server);
    let of = |name: &str| {
        let told = format!("You are {name}.");
        requests.iter().find(|body| body.contains(&told)).unwrap().clone()
    };
    for (name, canary, other) in
        [("second", "CANARY-TWO", "CANARY-THREE"), ("third", "CANARY-THREE", "CANARY-TWO")]
    {
        let body = of(name);
        assert!(body.contains("You are first.") && body.contains(canary), "{body}");
        assert!(!body.contains(other), "{body}");
    }
    // The parent's history is gone: what is left of its view is forked.
    let gone = Edit::RemoveSegment { segment: "usr".parse().unwrap(), cascade: true, force: false };
    system.as_system().apply(gone).await.unwrap();
    let response = execute(&runner, &fork(&third, &lead, model.clone()), "Alone?").await;
    assert_eq!(response.text, "Done.");
    let last = bodies(&server).pop().unwrap();
    assert!(!last.contains("Friday") && last.contains("You are lead."), "{last}");
}

// A fork of the main view sees what is common, and nothing that is another agent's or group's own.
#[tokio::test]
async fn a_fork_of_the_main_view_sees_nobodys_own() {
    let system = memory().await;
    talk(&system, "The launch is on Friday.").await;
    let runner = runner(&system);
    let server = ProviderServer::answering(|_| Reply::text("Done."));
    let model = model(&server, MODELS[0]);
    let mut quiet = agent("quiet", ContextMode::Isolated);
    quiet.publish_result = contexture_agents::definition::PublishResult::None;
    let mut grouped = agent("grouped", ContextMode::Shared);
    grouped.context_group = Some("red".to_owned());
    let [mut first, second] = ["first", "second"].map(|name| agent(name, ContextMode::Fork));
    first.publish_result = contexture_agents::definition::PublishResult::None;
    execute(&runner, &job(&quiet, model.clone()), "CANARY-QUIET").await;
    execute(&runner, &job(&grouped, model.clone()), "CANARY-GROUP").await;
    execute(&runner, &job(&first, model.clone()), "CANARY-FORK").await;
    execute(&runner, &job(&second, model.clone()), "Well?").await;
    let last = bodies(&server).pop().unwrap();
    assert!(last.contains("The launch is on Friday.") && last.contains("You are second."));
    for own in ["CANARY", "You are quiet.", "You are grouped.", "You are first."] {
        assert!(!last.contains(own), "{own} in {last}");
    }
}

// Forks of each other's forks stay small and readable, however long that goes on.
#[tokio::test]
async fn forks_of_forks_do_not_grow() {
    let system = memory().await;
    let runner = runner(&system);
    let server = ProviderServer::answering(|_| Reply::text("Done."));
    let model = model(&server, MODELS[0]);
    let [mut one, mut two] = ["one", "two"].map(|name| agent(name, ContextMode::Fork));
    for agent in [&mut one, &mut two] {
        agent.publish_result = contexture_agents::definition::PublishResult::None;
    }
    execute(&runner, &job(&one, model.clone()), "begin").await;
    let mut sizes = Vec::new();
    for round in 0..70 {
        let (child, parent) = if round % 2 == 0 { (&two, &one) } else { (&one, &two) };
        let member = Arc::new(Member { agent: parent.clone(), mode: ContextMode::Fork });
        let fork = runner.team().state(&parent.name).await.unwrap().0.fork;
        let origin = ForkOrigin { parent: Some(member), fork, ..ForkOrigin::default() };
        let deeper = Job { origin, ..job(child, model.clone()) };
        let mut deeper = deeper;
        deeper.options.budget = Some(3_000);
        execute(&runner, &deeper, "go").await;
        let (_, record) = runner.team().state(&child.name).await.unwrap();
        sizes.push(record.unwrap().value.len());
    }
    assert!(sizes[69] < sizes[3] + 200, "{sizes:?}");
}
