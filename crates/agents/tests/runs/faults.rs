//! What goes wrong in a run: bad tools, loops, empty answers, requests too long, stops.

use contexture_agents::{
    AgentsError, ModelError,
    definition::ToolRules,
    run::{Ending, Limits},
};
use contexture_testkit::{
    fake::WatchedStorage,
    provider::{ProviderServer, Reply},
};

use super::*;

#[derive(Default)]
struct Log(Vec<String>);

impl Watcher for Log {
    fn tool_call(&mut self, name: &str, arguments: &str) {
        self.0.push(format!("call {name} {arguments}"));
    }
    fn tool_result(&mut self, name: &str, result: &str, error: bool) {
        self.0.push(format!("result {name} {error} {result}"));
    }
    fn notice(&mut self, text: &str) {
        self.0.push(format!("notice {text}"));
    }
}

// M-10: who watches is told of calls and results; a tool that is denied is refused when the model
// calls it anyway.
#[tokio::test]
async fn denied_unknown_and_misused_tools_are_answered() {
    for name in MODELS {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "alpha\n").unwrap();
        let system = memory().await;
        let server = ProviderServer::scripted([
            Reply::call("c1", "edit_file", r#"{"path":"a.txt","old_text":"alpha","new_text":"x"}"#)
                .tool_call("c2", "fly", "{}")
                .tool_call("c3", "read_file", r#"{"path":7}"#)
                .tool_call("c4", "read_file", r#"{"path":"a.txt"}"#),
            Reply::text("I could not edit it."),
        ]);
        let mut reader = agent("reader", ContextMode::Isolated);
        reader.tools = ToolRules { allow: Some(vec!["read_file".to_owned()]), deny: Vec::new() };
        let mut job = job(&reader, model(&server, name));
        job.tools = files(folder.path());
        let mut log = Log::default();
        let answer = execute_watched(&runner(&system), &job, "edit a.txt", &mut log).await;
        assert_eq!(answer.text, "I could not edit it.");
        assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "alpha\n");
        let results: Vec<&String> =
            log.0.iter().filter(|line| line.starts_with("result")).collect();
        assert!(results[0].contains("edit_file true permission denied: "), "{results:?}");
        assert!(results[1].starts_with("result fly true"), "{results:?}");
        assert!(results[2].starts_with("result read_file true"), "{results:?}");
        assert!(results[3].contains("alpha"), "{results:?}");
        // It was not offered either.
        assert_eq!(server.violations(), Vec::<String>::new());
        let first = &server.requests()[0].body;
        assert!(!first.contains("edit_file") && first.contains("read_file"));
    }
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped() {
    let system = memory().await;
    let server =
        ProviderServer::answering(|_| Reply::call("again", "find_page", r#"{"query":"x"}"#));
    let looping = agent("looping", ContextMode::Isolated);
    let answer = execute(&runner(&system), &job(&looping, model(&server, MODELS[0])), "go").await;
    assert!(
        matches!(&answer.ending, Ending::Stuck(why) if why.contains("find_page")),
        "{answer:?}"
    );
    assert_eq!(server.requests().len(), 5);
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn limits_end_a_run_with_what_it_has() {
    let system = memory().await;
    let server = ProviderServer::answering(|request| {
        let call = format!("c{}", request.body.len());
        Reply::call(&call, "find_page", &format!(r#"{{"query":"{call}"}}"#))
    });
    let busy = agent("busy", ContextMode::Isolated);
    let mut job = job(&busy, model(&server, MODELS[0]));
    job.options.limits = Limits { iterations: 3, tokens: None };
    let answer = execute(&runner(&system), &job, "go").await;
    assert!(matches!(&answer.ending, Ending::Limit(_)), "{answer:?}");
    assert_eq!((answer.metadata.iterations, server.requests().len()), (3, 3));
    assert_eq!(texts(&system, "agent-busy").await.len(), 1);
}

// A provider that finds a request too long: the window is folded and the request sent once more.
#[tokio::test]
async fn a_request_too_long_is_folded_and_sent_once_more() {
    let system = memory().await;
    let runner = runner(&system);
    let long = "many words about the weather ".repeat(40);
    let server = ProviderServer::answering(move |request| {
        if request.body.len() > 12_000 { Reply::context_length() } else { Reply::text(&long) }
    });
    let chatty = agent("chatty", ContextMode::Isolated);
    let job = job(&chatty, model(&server, MODELS[0]));
    let mut log = Log::default();
    for number in 0..12 {
        let prompt = format!("tell me more, part {number}");
        let answer = execute_watched(&runner, &job, &prompt, &mut log).await;
        assert_eq!(answer.ending, Ending::Answered);
    }
    assert!(log.0.iter().any(|line| line.contains("too long; folding to")), "{:?}", log.0);

    // Where that does not help, the provider's word is passed on.
    let patient = ProviderServer::answering(|_| Reply::text("many words ".repeat(100)));
    let other = agent("other", ContextMode::Isolated);
    for _ in 0..6 {
        execute(&runner, &super::job(&other, model(&patient, MODELS[0])), "tell me").await;
    }
    let strict = ProviderServer::answering(|_| Reply::context_length());
    let job = super::job(&other, model(&strict, MODELS[0]));
    let (_stopper, stop) = stop_signal();
    let failed = runner.execute(&job, "more", &mut Quiet, stop).await.unwrap_err();
    assert!(matches!(failed, AgentsError::Model(ModelError::ContextLength { .. })), "{failed}");
    assert_eq!(strict.requests().len(), 2);
}

// A provider that fails leaves the run to be gone on with; nothing said is lost.
#[tokio::test]
async fn resumes_a_failed_run() {
    let system = memory().await;
    let runner = runner(&system);
    let broken = ProviderServer::answering(|_| Reply::html());
    let steady = agent("steady", ContextMode::Isolated);
    let (_stopper, stop) = stop_signal();
    let job = job(&steady, model(&broken, MODELS[1]));
    let failed = runner.execute(&job, "hello", &mut Quiet, stop.clone()).await.unwrap_err();
    assert!(matches!(failed, AgentsError::Model(ModelError::BadAnswer { .. })), "{failed}");
    assert_eq!(runner.team().runs(None).await.unwrap().len(), 1);
    assert_eq!(texts(&system, "agent-steady").await, ["hello"], "written before it was asked");

    let server = ProviderServer::scripted([Reply::text("Hello.")]);
    let job = super::job(&steady, model(&server, MODELS[1]));
    let answer = runner.resume(&job, &mut Quiet, stop).await.unwrap().unwrap();
    assert_eq!(answer.text, "Hello.");
    assert_eq!(runner.team().runs(None).await.unwrap(), []);
    assert_eq!(texts(&system, "agent-steady").await, ["User: hello\nAssistant: Hello."]);
}

// Stopping keeps what there is.
#[tokio::test]
async fn a_run_that_is_stopped_keeps_the_half_answer() {
    // After this many events a part of the text has come, and not all of it.
    for (name, events) in MODELS.into_iter().zip([3, 5, 1]) {
        let system = memory().await;
        let server = Arc::new(ProviderServer::scripted([Reply::text("Half ")
            .say("an answer")
            .hang_after(events)]));
        let slow = agent("slow", ContextMode::Isolated);
        let (stopper, stop) = stop_signal();
        struct StopAtText(contexture_agents::runner::Stopper);
        impl Watcher for StopAtText {
            fn text(&mut self, _: &str) {
                self.0.stop();
            }
        }
        let job = job(&slow, model(&server, name));
        let runner = runner(&system);
        let answer = runner.execute(&job, "go on", &mut StopAtText(stopper), stop).await.unwrap();
        assert_eq!(answer.ending, Ending::Stopped, "{name}");
        assert!(
            !answer.text.is_empty() && "Half an answer".starts_with(&answer.text),
            "{name}: {answer:?}"
        );
        let kept = texts(&system, "agent-slow").await;
        assert!(kept[0].ends_with(&format!("Assistant: {}", answer.text)), "{kept:?}");
        assert_eq!(runner.team().runs(None).await.unwrap(), []);
    }
}

// M-19, M-21: the response tells the model, the tokens with their cached share, and the mode.
#[tokio::test]
async fn a_response_reports_what_it_took() {
    let system = memory().await;
    let charged =
        contexture_testkit::provider::Charged { input: 900, cached: 700, written: 0, output: 20 };
    let server = ProviderServer::scripted([
        Reply::call("c1", "find_page", r#"{"query":"x"}"#).charged(charged),
        Reply::text("Nothing there.").charged(charged),
    ]);
    let asked = agent("asked", ContextMode::Isolated);
    let answer = execute(&runner(&system), &job(&asked, model(&server, MODELS[0])), "look").await;
    let shown = serde_json::to_value(&answer).unwrap();
    assert_eq!(shown["agentName"], "asked");
    assert_eq!(shown["metadata"]["model"], MODELS[0]);
    assert_eq!(shown["metadata"]["tokensUsed"], 1_840);
    assert_eq!(shown["metadata"]["tokens"]["cached"], 1_400);
    assert_eq!(shown["metadata"]["iterations"], 2);
    assert_eq!(shown["metadata"]["contextMode"], "isolated");
    assert_eq!(shown["context"]["segment"], "agent-asked");
}

// What the host sends before the window is block 0: it is recorded and counted.
#[tokio::test]
async fn tools_are_counted_as_block_0() {
    let system = memory().await;
    let server = ProviderServer::answering(|_| Reply::text("Yes."));
    let asked = agent("asked", ContextMode::Isolated);
    let runner = runner(&system);
    execute(&runner, &job(&asked, model(&server, MODELS[0])), "there?").await;
    let context = runner.team().enter(&asked, ContextMode::Isolated).await.unwrap();
    let format = contexture_core::Format::Provider(contexture_core::ProviderFormat::OpenAi);
    let sent = context.ledger(format, 1).await.unwrap();
    assert!(sent[0].head.is_some());
    assert!(sent[0].reserved.0 > 200, "{:?}", sent[0].reserved);
    assert!(sent[0].tokens.0 > sent[0].reserved.0);
    assert!(sent[0].usage.is_some());
}

// What a session may take in a window is the session's to say.
#[tokio::test]
async fn the_sessions_budget_bounds_its_agents() {
    let system = memory().await;
    let (key, value) = ("budget".parse().unwrap(), Some("1500".to_owned()));
    let set = contexture_core::Edit::SetCustom { key, value };
    system.as_system().apply(set).await.unwrap();
    let server = ProviderServer::answering(|_| Reply::text("words and more words ".repeat(30)));
    let chatty = agent("chatty", ContextMode::Isolated);
    let runner = runner(&system);
    let mut job = job(&chatty, model(&server, MODELS[0]));
    for _ in 0..12 {
        execute(&runner, &job, "go on").await;
    }
    let longest = server.requests().iter().map(|request| request.body.len()).max().unwrap();
    assert!(longest < 12_000, "{longest}");
    // The call's own word goes before it.
    job.options.budget = Some(50_000);
    let context = runner.team().enter(&chatty, ContextMode::Isolated).await.unwrap();
    execute(&runner, &job, "and now?").await;
    let sent = context.ledger(job.model.window_format(), 1).await.unwrap();
    assert!(sent[0].budget.unwrap().0 > 20_000, "{:?}", sent[0].budget);
}

// Of the file's and the call's limits the smaller holds.
#[tokio::test]
async fn the_smaller_limit_holds() {
    for (file, call) in [(2, 9), (9, 2)] {
        let system = memory().await;
        let server = ProviderServer::answering(|request| {
            let length = request.body.len();
            Reply::call(&format!("c{length}"), "find_page", &format!(r#"{{"query":"{length}"}}"#))
        });
        let mut busy = agent("busy", ContextMode::Isolated);
        busy.max_turns = Some(file);
        let mut job = job(&busy, model(&server, MODELS[0]));
        job.options.limits = Limits { iterations: call, tokens: None };
        execute(&runner(&system), &job, "go").await;
        assert_eq!(server.requests().len(), 2, "{file} in the file, {call} in the call");
    }
}

// A model that asks for very much at once gets the first 128 calls, a result for each, and a record
// that is not written whole for each of them.
#[tokio::test]
async fn an_answer_with_very_many_calls_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    let system = session(storage.clone()).await;
    let text = "x".repeat(1_000);
    let mut reply = Reply::empty();
    for at in 0..200 {
        let arguments = format!(r#"{{"path":"{at}.txt","content":"{text}"}}"#);
        reply = reply.tool_call(&format!("c{at}"), "write_file", &arguments);
    }
    let server = ProviderServer::scripted([reply, Reply::text("done")]);
    let writer = agent("writer", ContextMode::Isolated);
    let mut job = job(&writer, model(&server, MODELS[0]));
    job.tools = files(folder.path());
    storage.reset();
    let answer = execute(&runner(&system), &job, "write them all").await;
    assert_eq!(answer.text, "done");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 128);
    assert!(folder.path().join("127.txt").exists() && !folder.path().join("128.txt").exists());
    assert_eq!(server.violations(), Vec::<String>::new());
    let request = &server.requests()[1].body;
    assert_eq!(request.matches("refused: an answer may have at most 128 calls").count(), 72);
    // The answer has about 210,000 bytes; it stands in the record once, and in it again when it fails.
    let bytes = storage.count("run_bytes");
    assert!(bytes < 600_000, "{bytes} bytes of run records");
    assert_eq!(system.runs("part.").await.unwrap(), []);
}
