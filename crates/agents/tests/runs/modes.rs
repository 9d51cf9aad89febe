//! Isolated, shared and in groups: who sees what, and where it is written.

use contexture_agents::{
    AgentDefinition, ContextMode, Team,
    definition::{ContextFilter, PublishResult},
    settings::{Layer, Settings, SettingsDialect, SettingsFile},
    team::ClearScope,
};
use contexture_core::{AgentContext, Edit, Message, Role, View};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::*;

/// A user turn and an answer in the main session, by the host.
async fn talk(system: &ContextSystem, text: &str) {
    let messages =
        vec![Message::text(Role::User, text), Message::text(Role::Assistant, "Understood.")];
    let segment = "usr".parse().unwrap();
    system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
}

fn served(server: &ProviderServer) -> Vec<String> {
    assert_eq!(server.violations(), Vec::<String>::new());
    server.requests().into_iter().map(|request| request.body).collect()
}

// M-01, M-02, M-15, M-20: an isolated agent sees its own history and nothing else.
#[tokio::test]
async fn an_isolated_agent_sees_nothing_of_others() {
    for name in MODELS {
        let system = memory().await;
        talk(&system, "The launch code is CANARY-MAIN.").await;
        let runner = runner(&system);
        let server = ProviderServer::scripted([
            Reply::text("Reviewed: CANARY-REVIEW."),
            Reply::text("All tests pass."),
            Reply::text("As I said."),
        ]);
        let reviewer = agent("code-review", ContextMode::Isolated);
        let tester = agent("test-runner", ContextMode::Isolated);
        execute(&runner, &job(&reviewer, model(&server, name)), "look at file.py").await;
        execute(&runner, &job(&tester, model(&server, name)), "run the tests").await;
        execute(&runner, &job(&reviewer, model(&server, name)), "and now?").await;
        let requests = served(&server);
        assert!(!requests.concat().contains("CANARY-MAIN"), "{name}");
        assert!(!requests[1].contains("CANARY-REVIEW") && !requests[1].contains("file.py"));
        // Its own earlier exchange is there, and it is told how it runs.
        assert!(requests[2].contains("CANARY-REVIEW") && requests[2].contains("look at file.py"));
        assert!(requests[0].contains("You run in isolated mode"));
        assert!(!requests[0].contains("You run in shared mode"));
        assert!(requests[0].contains("You are code-review."));
    }
}

// M-03, M-14, M-31: a shared agent reads what an isolated one found and published.
#[tokio::test]
async fn a_shared_agent_reads_what_was_published() {
    for name in MODELS {
        let system = memory().await;
        let runner = runner(&system);
        let server = ProviderServer::scripted([
            Reply::text("Three issues in utils.py."),
            Reply::text("Fixed all three."),
        ]);
        let reviewer = agent("code-reviewer", ContextMode::Isolated);
        let fixer = agent("bug-fixer", ContextMode::Shared);
        execute(&runner, &job(&reviewer, model(&server, name)), "look at utils.py").await;
        let answer = execute(&runner, &job(&fixer, model(&server, name)), "fix the above").await;
        let requests = served(&server);
        assert!(requests[1].contains("Three issues in utils.py."), "{name}");
        assert!(requests[1].contains("asked of agent code-reviewer"), "{name}");
        assert!(requests[1].contains("You run in shared mode"));
        assert_eq!(answer.context.linked_to, "Main Session");
        assert_eq!(answer.metadata.context_mode, ContextMode::Shared);
        let main = texts(&system, "usr").await;
        assert_eq!(
            main,
            [
                "User: look at utils.py\nAssistant: Three issues in utils.py.",
                "User: fix the above\nAssistant: Fixed all three.",
            ]
        );
        // The published turn names the pages it came from.
        let page = system.as_system().reader().page(&"usr-1".parse().unwrap()).await.unwrap().page;
        assert_eq!(page.author.to_string(), "code-reviewer");
        assert_eq!(page.sources, ["agent-code-reviewer-1".parse().unwrap()]);
    }
}

// M-39: what another agent was asked and has not answered is closed in a message of its own; what
// comes last is the agent's own request.
#[tokio::test]
async fn an_open_request_of_another_is_not_taken_for_its_own() {
    for name in MODELS {
        let system = memory().await;
        let other = View::common("code-reviewer".parse().unwrap());
        let other = AgentContext::new(system.clone(), other);
        other.add_turn(vec![Message::text(Role::User, "delete everything")]).await.unwrap();
        let server = ProviderServer::scripted([Reply::text("Hello.")]);
        let fixer = agent("bug-fixer", ContextMode::Shared);
        execute(&runner(&system), &job(&fixer, model(&server, name)), "say hello").await;
        let request = served(&server).remove(0);
        let at = |text: &str| request.rfind(text).unwrap_or_else(|| panic!("{name}: {request}"));
        assert!(at("asked of agent code-reviewer, not of you") < at("delete everything"));
        assert!(at("delete everything") < at("end of what agent code-reviewer was asked"));
        assert!(at("end of what agent code-reviewer was asked") < at("\"say hello\""));
        assert!(!request.contains("is yours to answer"), "{name}: {request}");
    }
}

// `publishResult: none` keeps the main session as it is.
#[tokio::test]
async fn nothing_is_published_where_the_file_says_so() {
    let system = memory().await;
    let server = ProviderServer::scripted([Reply::text("Quiet work.")]);
    let mut quiet = agent("quiet", ContextMode::Isolated);
    quiet.publish_result = PublishResult::None;
    execute(&runner(&system), &job(&quiet, model(&server, MODELS[0])), "do it").await;
    assert_eq!(texts(&system, "usr").await, Vec::<String>::new());
    assert_eq!(texts(&system, "agent-quiet").await.len(), 1);
}

fn member(name: &str, group: &str) -> AgentDefinition {
    let mut member = agent(name, ContextMode::Shared);
    member.context_group = Some(group.to_owned());
    member
}

// M-40: a group shares one segment; other groups and the main session do not see it.
#[tokio::test]
async fn groups_keep_to_themselves() {
    for name in MODELS {
        let system = memory().await;
        talk(&system, "CANARY-MAIN").await;
        let runner = runner(&system);
        let server = ProviderServer::answering(|_| Reply::text("Noted."));
        let (red, blue) = (member("red-one", "red"), member("blue-one", "blue"));
        let mate = member("red-two", "red");
        let shared = agent("open", ContextMode::Shared);
        execute(&runner, &job(&red, model(&server, name)), "keep CANARY-RED").await;
        execute(&runner, &job(&blue, model(&server, name)), "keep CANARY-BLUE").await;
        execute(&runner, &job(&mate, model(&server, name)), "what do we know?").await;
        execute(&runner, &job(&shared, model(&server, name)), "and you?").await;
        let requests = served(&server);
        assert!(!requests[1].contains("CANARY-RED"));
        assert!(requests[2].contains("CANARY-RED") && !requests[2].contains("CANARY-BLUE"));
        assert!(requests[2].contains("in the group `red`"));
        assert!(!requests[3].contains("CANARY-RED") && !requests[3].contains("CANARY-BLUE"));
        assert!(requests[3].contains("CANARY-MAIN"));
        assert!(!requests[..3].concat().contains("CANARY-MAIN"));
    }
}

// M-39: an agent's filter by agent and by role.
#[tokio::test]
async fn a_filter_leaves_out_agents_and_tools() {
    let system = memory().await;
    talk(&system, "CANARY-USER").await;
    let runner = runner(&system);
    let server = ProviderServer::scripted([
        Reply::call("c1", "find_page", r#"{"query":"CANARY-TOOL"}"#),
        Reply::text("Loud answer CANARY-LOUD."),
        Reply::text("Other answer CANARY-OTHER."),
        Reply::text("Seen."),
    ]);
    let loud = agent("loud", ContextMode::Shared);
    let other = agent("other", ContextMode::Shared);
    let mut picky = agent("picky", ContextMode::Shared);
    picky.context_filter = ContextFilter {
        agents: Some(vec!["loud".to_owned()]),
        roles: Some(vec!["user".to_owned(), "assistant".to_owned()]),
        ..ContextFilter::default()
    };
    execute(&runner, &job(&loud, model(&server, MODELS[0])), "be loud").await;
    execute(&runner, &job(&other, model(&server, MODELS[0])), "be other").await;
    execute(&runner, &job(&picky, model(&server, MODELS[0])), "who is there?").await;
    let requests = served(&server);
    let seen = &requests[3];
    assert!(seen.contains("CANARY-LOUD"));
    for hidden in ["CANARY-OTHER", "CANARY-TOOL", "CANARY-USER"] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
}

// M-40: what is older than an agent asks for does not exist for it, by age and by time.
#[tokio::test]
async fn a_filter_leaves_out_what_is_older() {
    let storage = Arc::new(MemoryStorage::new());
    talk(&session(storage.clone()).await, "CANARY-OLD").await;
    let system = reopened(storage).await;
    let since = system.now();
    talk(&system, "CANARY-NEW").await;
    let runner = runner(&system);
    let server = ProviderServer::answering(|_| Reply::text("Seen."));
    for filter in [
        ContextFilter { max_age_seconds: Some(50), ..ContextFilter::default() },
        ContextFilter { since: Some(since), ..ContextFilter::default() },
    ] {
        let mut picky = agent("picky", ContextMode::Shared);
        picky.context_filter = filter;
        execute(&runner, &job(&picky, model(&server, MODELS[0])), "who is there?").await;
    }
    for request in served(&server) {
        assert!(request.contains("CANARY-NEW") && !request.contains("CANARY-OLD"), "{request}");
    }
    assert_eq!(server.requests().len(), 2);
}

// M-13, M-17: clearing goes to the archive, keeps the main session, and can be undone.
#[tokio::test]
async fn a_history_is_cleared_by_scope_and_comes_back() {
    let system = memory().await;
    let runner = runner(&system);
    let server = ProviderServer::answering(|_| Reply::text("Done."));
    let solo = agent("solo", ContextMode::Isolated);
    let mut both = job(&solo, model(&server, MODELS[0]));
    execute(&runner, &both, "first").await;
    both.mode = ContextMode::Shared;
    execute(&runner, &both, "second").await;
    let team = Team::new(system.clone());
    let (main, own) = (texts(&system, "usr").await, texts(&system, "agent-solo").await);
    assert_eq!((main.len(), own.len()), (2, 1));

    let cleared = team.clear(&solo.name, ClearScope::Isolated, |_| false).await.unwrap();
    assert_eq!((cleared.isolated.len(), cleared.published.len(), cleared.kept), (1, 0, 1));
    assert_eq!(texts(&system, "agent-solo").await, Vec::<String>::new());
    assert_eq!(texts(&system, "usr").await, main);
    let cleared = team.clear(&solo.name, ClearScope::All, |_| false).await.unwrap();
    assert_eq!((cleared.published.len(), cleared.kept), (1, 1));
    assert_eq!(texts(&system, "usr").await, main[1..]);
    for _ in 0..2 {
        system.as_system().apply(Edit::Undo { revision: None }).await.unwrap();
    }
    assert_eq!(texts(&system, "usr").await, main);
    assert_eq!(texts(&system, "agent-solo").await, own);
}

// M-27: the session's own say is kept in the session.
#[tokio::test]
async fn a_session_remembers_its_override() {
    let system = memory().await;
    let (team, name) = (Team::new(system.clone()), "solo".parse().unwrap());
    assert_eq!(team.session_mode(&name).await.unwrap(), None);
    team.set_session_mode(&name, Some(ContextMode::Shared)).await.unwrap();
    let again = Team::new(reopened(system.storage().clone()).await);
    assert_eq!(again.session_mode(&name).await.unwrap(), Some(ContextMode::Shared));
    again.set_session_mode(&name, None).await.unwrap();
    assert_eq!(again.session_mode(&name).await.unwrap(), None);
}

// Shared needs a main session, before any model is called.
#[tokio::test]
async fn a_shared_run_needs_a_main_session() {
    let clock = Arc::new(ManualClock::at_millis(0));
    let storage = Arc::new(MemoryStorage::new());
    let system =
        ContextSystem::create(storage, "bare".parse().unwrap(), "app", clock).await.unwrap();
    let server = ProviderServer::scripted([]);
    let shared = agent("open", ContextMode::Shared);
    let (_stopper, stop) = stop_signal();
    let job = job(&shared, model(&server, MODELS[0]));
    let refused = runner(&system).execute(&job, "hi", &mut Quiet, stop).await.unwrap_err();
    assert!(refused.to_string().contains("no main segment 'usr'"), "{refused}");
    assert_eq!(server.requests().len(), 0);
}

// M-37: a shared window is bounded, by folding, and says how to get the rest back.
#[tokio::test]
async fn a_shared_window_is_bounded() {
    for (settings, most) in [
        ("{}", 100),
        (r#"{"agents":{"sharedContextMaxMessages":20}}"#, 20),
        (r#"{"agents":{"sharedContextMaxMessages":60}}"#, 60),
    ] {
        let system = memory().await;
        for number in 0..80 {
            talk(&system, &format!("question {number}.")).await;
        }
        let (path, text) = (std::path::Path::new("settings.json"), settings.as_bytes());
        let file = SettingsFile::parse(Layer::User, path, SettingsDialect::Contexture, text);
        let runner = runner_with(&system, Settings::merge(&[file.unwrap()]));
        let server = ProviderServer::scripted([Reply::text("Here.")]);
        let shared = agent("open", ContextMode::Shared);
        let job = job(&shared, model(&server, MODELS[0]));
        let response = execute(&runner, &job, "where are we?").await;
        let history = response.context.conversation_history;
        assert!(history.len() <= most, "{} of {most}", history.len());
        assert_eq!(history.last().unwrap().plain_text(), "Here.");
        let request = &served(&server)[0];
        // What stands in full has its answer; of what is folded a line may quote it.
        let body = server.requests()[0].json();
        let messages = body["messages"].as_array().unwrap();
        let answers = messages.iter().filter(|message| message["content"] == "Understood.");
        let stand = 2 * answers.count() + 1;
        // A fold goes down to three fifths of the bound and no further: the newest stand.
        assert!(stand <= most && stand > most / 2, "{stand} of {most}");
        assert!(request.contains("messages folded"), "{request}");
        assert!(request.contains("question 79.") && request.contains("where are we?"));
        // The main session itself lost nothing.
        assert_eq!(texts(&system, "usr").await.len(), 81);
    }
}

// M-19: the mode is resolved once: every message of a run, the user's, the model's and the tools', goes
// where it says, also when the session's mode is switched meanwhile.
#[tokio::test]
async fn every_message_of_a_run_goes_where_its_mode_says() {
    for mode in ContextMode::ALL {
        let system = memory().await;
        let other = match mode {
            ContextMode::Isolated => ContextMode::Shared,
            ContextMode::Shared => ContextMode::Fork,
            ContextMode::Fork => ContextMode::Isolated,
        };
        let (team, name) = (Team::new(system.clone()), "asked".parse().unwrap());
        let server = ProviderServer::answering(move |request| {
            let switched = futures::executor::block_on(team.set_session_mode(&name, Some(other)));
            switched.expect("it may be switched at any time");
            if request.body.contains("c1") {
                return Reply::text("Nothing there.");
            }
            Reply::call("c1", "find_page", r#"{"query":"needle"}"#)
        });
        let asked = agent("asked", mode);
        let runner = runner(&system);
        let answer = execute(&runner, &job(&asked, model(&server, MODELS[0])), "look").await;
        assert_eq!(answer.metadata.context_mode, mode);
        assert_eq!(server.requests().len(), 2);
        let main = texts(&system, "usr").await.concat();
        let whole = |text: &str| {
            ["look", "needle", "no page says that", "Nothing there."]
                .map(|part| text.contains(part))
        };
        match mode {
            ContextMode::Shared => {
                assert_eq!(whole(&main), [true; 4], "{main}");
                let own = "agent-asked".parse().unwrap();
                assert!(
                    system.as_system().reader().segment(&own).is_err(),
                    "it wrote nowhere else"
                );
            }
            ContextMode::Isolated | ContextMode::Fork => {
                // The exchange is published; how it came about is the agent's own.
                assert_eq!(whole(&main), [true, false, false, true], "{main}");
                let own = if mode == ContextMode::Fork { "fork-asked" } else { "agent-asked" };
                assert_eq!(whole(&texts(&system, own).await.concat()), [true; 4]);
            }
        }
    }
}
