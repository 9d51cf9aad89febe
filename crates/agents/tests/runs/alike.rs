//! The same run on every provider leaves the same session.

use contexture_agents::definition::ToolRules;
use contexture_core::{
    Message,
    message::{Part, ToolCall},
};
use contexture_testkit::provider::{Charged, ProviderServer, Reply};

use super::*;

/// Returns all messages of all segments, without what a provider chooses: ids, times, models.
async fn normalised(system: &ContextSystem) -> Vec<String> {
    let mut lines = Vec::new();
    let session = system.as_system();
    let reader = session.reader();
    for segment in reader.segments() {
        let listed = reader.children(&segment.root(), Order::Forward, None, 1_000).await.unwrap();
        for seen in listed.items {
            let page = &seen.page;
            lines.push(format!(
                "{} by {} turn {:?} from {:?} trust {:?}",
                page.index, page.author, page.turn, page.sources, page.trust
            ));
            let mut ids = Vec::new();
            for message in reader.messages(&page.index).await.unwrap() {
                lines.push(serde_json::to_string(&without_provider(message, &mut ids)).unwrap());
            }
        }
    }
    lines
}

/// Takes out what differs by provider: the call ids (by their order instead), time and origin.
fn without_provider(mut message: Message, ids: &mut Vec<String>) -> Message {
    let mut number = |id: &str| {
        let at = ids.iter().position(|known| known == id).unwrap_or_else(|| {
            ids.push(id.to_owned());
            ids.len() - 1
        });
        format!("call {at}")
    };
    for part in &mut message.parts {
        match part {
            Part::ToolCall(ToolCall { id, extra, .. }) => {
                *id = number(id);
                *extra = Default::default();
            }
            Part::ToolResult(result) => result.call = number(&result.call),
            _ => {}
        }
    }
    (message.at, message.origin) = (None, None);
    message.extra = Default::default();
    message
}

async fn workflow(model_name: &str) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("utils.py"), "def f(x):\n    return x.y\n").unwrap();
    let charged = Charged { input: 500, cached: 300, written: 0, output: 30 };
    let edit = r#"{"path":"utils.py","old_text":"return x.y","new_text":"return x and x.y"}"#;
    let server = ProviderServer::scripted([
        Reply::text("I read it.")
            .tool_call("a", "read_file", r#"{"path":"utils.py"}"#)
            .tool_call("b", "grep", r#"{"pattern":"return"}"#)
            .charged(charged),
        Reply::text("发现1个问题：第2行未处理空值").charged(charged),
        Reply::call("c", "edit_file", edit).charged(charged),
        Reply::text("我看到 code-reviewer 发现了1个问题，已修复。").charged(charged),
    ]);
    let system = memory().await;
    let runner = runner(&system);
    let mut reviewer = agent("code-reviewer", ContextMode::Isolated);
    let mut fixer = agent("bug-fixer", ContextMode::Shared);
    let allow = |names: &[&str]| ToolRules {
        allow: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        deny: Vec::new(),
    };
    reviewer.tools = allow(&["read_file", "grep"]);
    fixer.tools = allow(&["read_file", "edit_file"]);
    for (agent, prompt) in [(&reviewer, "分析 utils.py"), (&fixer, "修复上述问题")] {
        let mut job = job(agent, model(&server, model_name));
        job.tools = files(folder.path());
        execute(&runner, &job, prompt).await;
    }
    assert_eq!(server.violations(), Vec::<String>::new(), "{model_name}");
    assert_eq!(server.requests().len(), 4);
    (normalised(&system).await, std::fs::read_to_string(folder.path().join("utils.py")).unwrap())
}

// M-36: reviewing and fixing, on three providers, gives one and the same session.
#[tokio::test]
async fn every_provider_leaves_the_same_session() {
    let (first, file) = workflow(MODELS[0]).await;
    assert_eq!(file, "def f(x):\n    return x and x.y\n");
    assert!(first.iter().any(|line| line.contains("发现1个问题")), "{first:#?}");
    for model_name in &MODELS[1..] {
        let (other, file_there) = workflow(model_name).await;
        assert_eq!(other, first, "{model_name}");
        assert_eq!(file_there, file);
    }
}
