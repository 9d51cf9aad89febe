//! Calls that somebody has to allow, and about which nobody answers while the run is driven.

use contexture_agents::{
    run::{Decision, Ending},
    runner::Verdict,
    team::{RunName, WhichCalls},
    tools::Question,
};
use contexture_core::{Actor, ErrorKind};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::*;

const WRITE: &str = r#"{"path":"a.txt","content":"a"}"#;

/// Answers with these verdicts, then not at all.
struct Person(Vec<Verdict>);

impl Watcher for Person {
    fn approves(&mut self, _: &Question) -> Verdict {
        if self.0.is_empty() { Verdict::Unanswered } else { self.0.remove(0) }
    }
}

struct Stage {
    memory: Arc<MemoryStorage>,
    folder: tempfile::TempDir,
    server: ProviderServer,
    agent: AgentDefinition,
}

impl Stage {
    /// A model that reads, writes two files with a reading between them, and ends.
    fn new() -> Self {
        let server = ProviderServer::scripted([
            Reply::call("c1", "list_files", "{}")
                .tool_call("c2", "write_file", WRITE)
                .tool_call("c3", "read_file", r#"{"path":"a.txt"}"#)
                .tool_call("c4", "write_file", r#"{"path":"b.txt","content":"b"}"#),
            Reply::text("done"),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let agent = agent("writer", ContextMode::Isolated);
        Self { memory: Arc::new(MemoryStorage::new()), folder, server, agent }
    }

    fn job(&self) -> Job<'_> {
        let mut job = job(&self.agent, model(&self.server, MODELS[0]));
        job.tools = files(self.folder.path());
        job
    }

    /// Begins the run, about which these verdicts are given.
    async fn begin(&self, verdicts: &[Verdict]) -> (ContextSystem, Response) {
        let system = session(self.memory.clone()).await;
        let mut job = self.job();
        job.options.interactive = true;
        let mut person = Person(verdicts.to_vec());
        let response = execute_watched(&runner(&system), &job, "write", &mut person).await;
        (system, response)
    }

    async fn resume(&self, watcher: &mut dyn Watcher) -> Response {
        let system = reopened(self.memory.clone()).await;
        let (_stopper, stop) = stop_signal();
        runner(&system).resume(&self.job(), watcher, stop).await.unwrap().unwrap()
    }

    async fn answer(
        &self,
        call: WhichCalls<'_>,
        decision: Decision,
    ) -> Result<Vec<String>, String> {
        let team = Team::new(reopened(self.memory.clone()).await);
        let by: Actor = "user:anna".parse().unwrap();
        let answered = team.answer_approval(&name(), call, &decision, &by, |_| false).await;
        answered.map_err(|error| format!("{:?}: {error}", error.kind()))
    }

    fn has(&self, file: &str) -> bool {
        self.folder.path().join(file).exists()
    }
}

fn name() -> RunName {
    "writer/1".parse().unwrap()
}

#[tokio::test]
async fn calls_wait_together_and_are_made_in_their_order() {
    let stage = Stage::new();
    let (system, response) = stage.begin(&[]).await;
    assert_eq!(response.ending, Ending::Waiting);
    let ids: Vec<&str> = response.waiting.iter().map(|it| it.call.as_str()).collect();
    assert_eq!(ids, ["c2", "c4"]);
    let question = ["write_file a.txt: creates a new file of 1 byte", "  content: a"];
    assert_eq!(response.waiting[0].question, question);
    assert!(!stage.has("a.txt"));
    // No process drives it, and what it would change is looked up when it is listed.
    let team = Team::new(system);
    assert_eq!(team.runs(None).await.unwrap()[0].run.driver, None);
    std::fs::write(stage.folder.path().join("a.txt"), "was made since").unwrap();
    let listed = team.approvals(None, &files(stage.folder.path())).await.unwrap();
    let now = "write_file a.txt: replaces a file of 14 bytes with 1 byte";
    assert_eq!((listed.len(), listed[0].question[0].as_str()), (2, now));

    assert_eq!(stage.answer(WhichCalls::One("c2"), Decision::Approved).await.unwrap(), ["c2"]);
    let still = stage.resume(&mut Quiet).await;
    assert_eq!((still.ending, still.waiting.len()), (Ending::Waiting, 1));
    let reason = Some("b is taken".to_owned());
    stage.answer(WhichCalls::All, Decision::Denied { reason }).await.unwrap();
    let done = stage.resume(&mut Quiet).await;
    assert_eq!((done.text.as_str(), done.ending), ("done", Ending::Answered));
    assert!(stage.has("a.txt") && !stage.has("b.txt"));
    let body = stage.server.requests().pop().unwrap().json().to_string();
    let wrote = body.find("wrote a.txt").unwrap();
    let read = body.find("a.txt (line").unwrap();
    let denied = body.find("permission denied: anna did not allow this call: b is taken").unwrap();
    assert!(wrote < read && read < denied, "{body}");
    assert_eq!(stage.server.violations(), Vec::<String>::new());
    assert_eq!(team.system().runs("run.").await.unwrap(), []);
}

#[tokio::test]
async fn an_answer_is_given_once() {
    let stage = Stage::new();
    stage.begin(&[]).await;
    stage.answer(WhichCalls::All, Decision::Approved).await.unwrap();
    for which in [WhichCalls::One("c2"), WhichCalls::All] {
        let again = stage.answer(which, Decision::Denied { reason: None }).await.unwrap_err();
        assert!(again.starts_with("Conflict: call c2 of run writer/1 was approved by user:anna"));
    }
    for id in ["c1", "c3", "c9"] {
        let wrong = stage.answer(WhichCalls::One(id), Decision::Approved).await.unwrap_err();
        let said = format!("NotFound: run writer/1 has no call '{id}' that waits for an approval");
        assert_eq!(wrong, said);
    }
    stage.resume(&mut Quiet).await;
    let over = stage.answer(WhichCalls::All, Decision::Approved).await.unwrap_err();
    assert_eq!(over, "NotFound: run writer/1 has ended or does not exist");
}

#[tokio::test]
async fn agents_answer_nothing_and_a_driven_run_is_not_answered() {
    let stage = Stage::new();
    let (system, _) = stage.begin(&[]).await;
    let team = Team::new(system);
    let agent = Actor::Agent("writer".parse().unwrap());
    let (all, approved) = (WhichCalls::All, Decision::Approved);
    let refused = team.answer_approval(&name(), all, &approved, &agent, |_| false).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    let driven = team.answer_approval(&name(), all, &approved, &Actor::System, |_| true).await;
    assert_eq!(driven.unwrap_err().kind(), ErrorKind::Conflict);
    assert!("writer".parse::<RunName>().is_err() && "Writer/x".parse::<RunName>().is_err());
}

// Of two answers at the same moment one is stored, and the other is told which.
#[tokio::test]
async fn of_two_answers_at_once_one_holds() {
    let stage = Stage::new();
    stage.begin(&[]).await;
    let (approve, deny) = tokio::join!(
        stage.answer(WhichCalls::All, Decision::Approved),
        stage.answer(WhichCalls::All, Decision::Denied { reason: None }),
    );
    let (stored, refused) = (approve.is_ok(), [&approve, &deny].iter().any(|it| it.is_err()));
    assert!(refused && approve.is_ok() != deny.is_ok(), "{approve:?} {deny:?}");
    stage.resume(&mut Quiet).await;
    assert_eq!(stage.has("a.txt"), stored);
}

// An answer that is given at once is acted on at once; those that are missing wait.
#[tokio::test]
async fn a_person_may_answer_some_now_and_the_rest_when_it_is_resumed() {
    let stage = Stage::new();
    let (_, response) = stage.begin(&[Verdict::Allowed]).await;
    assert!(stage.has("a.txt"));
    assert_eq!(response.waiting.len(), 1);
    let response = stage.resume(&mut Person(vec![Verdict::Denied])).await;
    assert_eq!(response.ending, Ending::Answered);
    assert!(!stage.has("b.txt"));
}

// The next request closes a run that waits; what waited is never made.
#[tokio::test]
async fn another_request_gives_up_what_waits() {
    let stage = Stage::new();
    let (system, _) = stage.begin(&[]).await;
    let response = execute(&runner(&system), &stage.job(), "something else").await;
    assert_eq!(response.text, "done");
    assert!(!stage.has("a.txt") && !stage.has("b.txt"));
    let talk = texts(&system, "agent-writer").await.concat();
    assert_eq!(talk.matches("interrupted: this call was not made.").count(), 3, "{talk}");
}

// A run that began with questions asks when it is resumed, whatever the resuming call says.
#[tokio::test]
async fn a_run_that_asks_still_asks_when_it_is_resumed() {
    let server = ProviderServer::scripted([
        Reply::call("c1", "write_file", WRITE),
        Reply::call("c2", "write_file", r#"{"path":"b.txt","content":"b"}"#),
    ]);
    let stage = Stage { server, ..Stage::new() };
    stage.begin(&[]).await;
    stage.answer(WhichCalls::All, Decision::Approved).await.unwrap();
    let response = stage.resume(&mut Quiet).await;
    assert_eq!((response.ending, response.waiting[0].call.as_str()), (Ending::Waiting, "c2"));
    assert!(stage.has("a.txt") && !stage.has("b.txt"));
}
