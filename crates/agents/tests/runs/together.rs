//! Two agents in one session at the same time.

use contexture_core::{Edit, Message, Role};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::*;

// M-38: two agents share a session at once, 200 turns each; no turn is lost, each agent's own
// order holds, and every request keeps its provider's rules.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_agents_share_a_session_at_once() {
    const TURNS: usize = 200;
    let system = memory().await;
    let server = Arc::new(ProviderServer::answering(|request| {
        // A call now and then, so that exchanges interleave too; each another, so that none of them
        // counts as going round in circles.
        let length = request.body.len();
        if length % 3 == 0 {
            let query = format!(r#"{{"page":"usr-{length}"}}"#);
            return Reply::call(&format!("c{length}"), "get_page", &query);
        }
        Reply::text("Answered.")
    }));
    let mut tasks = Vec::new();
    for (name, model_name) in [("left", MODELS[0]), ("right", MODELS[1])] {
        let (system, server) = (system.clone(), server.clone());
        tasks.push(tokio::spawn(async move {
            let runner = runner(&system);
            let agent = agent(name, ContextMode::Shared);
            for turn in 0..TURNS {
                let job = job(&agent, model(&server, model_name));
                let prompt = format!("question {turn:03} to {name}");
                execute(&runner, &job, &prompt).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(server.violations(), Vec::<String>::new());
    let said = all_messages(&system).await;
    let texts = |role: Role| {
        let said = said.iter().filter(move |message| message.role == role);
        said.map(Message::plain_text).filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    for name in ["left", "right"] {
        let asked: Vec<String> =
            texts(Role::User).into_iter().filter(|text| text.ends_with(name)).collect();
        let expected: Vec<String> =
            (0..TURNS).map(|turn| format!("question {turn:03} to {name}")).collect();
        assert_eq!(asked, expected);
        let answers = said.iter().filter(|message| {
            message.author.as_ref().is_some_and(|author| author.as_str() == name)
                && message.plain_text() == "Answered."
        });
        assert_eq!(answers.count(), TURNS);
    }
}

/// Returns every message of the main session, in order.
async fn all_messages(system: &ContextSystem) -> Vec<Message> {
    let session = system.as_system();
    let reader = session.reader();
    let (mut after, mut said) = (None, Vec::new());
    loop {
        let root = "usr-0".parse().unwrap();
        let listed = reader.children(&root, Order::Forward, after, 1_000).await.unwrap();
        after = listed.items.last().map(|seen| seen.page.place);
        for seen in &listed.items {
            said.extend(reader.messages(&seen.page.index).await.unwrap());
        }
        if !listed.more {
            return said;
        }
    }
}

// Only one process drives a run: an agent that is running is not begun again.
#[tokio::test]
async fn an_agent_that_is_running_is_not_begun_again() {
    let system = memory().await;
    let server = ProviderServer::scripted([Reply::text("Never.").hang_after(0)]);
    let busy = agent("busy", ContextMode::Isolated);
    let counter = contexture_tokens::counter_for("gpt-4o");
    let team = Team::new(system.clone());
    let runner =
        Arc::new(Runner::new(team, Settings::default(), counter, Driver::default(), |_| true));
    let (stopper, stop) = stop_signal();
    let first = job(&busy, model(&server, MODELS[0]));
    let mut quiet = Quiet;
    let begun = runner.execute(&first, "wait", &mut quiet, stop);
    let second = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        let (_stopper, stop) = stop_signal();
        let job = job(&busy, model(&server, MODELS[0]));
        let refused = runner.execute(&job, "again", &mut Quiet, stop).await.unwrap_err();
        assert_eq!(refused.kind(), contexture_core::ErrorKind::Conflict);
        stopper.stop();
    };
    let (begun, ()) = tokio::join!(begun, second);
    begun.unwrap();
}

// Writing from the host while an agent runs conflicts with nothing.
#[tokio::test]
async fn the_host_writes_while_an_agent_runs() {
    let system = memory().await;
    let server = ProviderServer::scripted([Reply::text("Late.").hang_after(0)]);
    let open = agent("open", ContextMode::Shared);
    let runner = runner(&system);
    let job = job(&open, model(&server, MODELS[0]));
    let (_stopper, stop) = stop_signal();
    let mut quiet = Quiet;
    let running = runner.execute(&job, "think", &mut quiet, stop);
    let writing = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        let messages = vec![Message::text(Role::User, "meanwhile")];
        let segment = "usr".parse().unwrap();
        system.as_system().apply(Edit::AddTurn { segment, messages }).await.unwrap();
        server.release();
    };
    let (answer, ()) = tokio::join!(running, writing);
    assert_eq!(answer.unwrap().text, "Late.");
    assert_eq!(texts(&system, "usr").await, ["think", "meanwhile", "Late."].map(str::to_owned));
}
