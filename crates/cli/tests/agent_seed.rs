//! The seed's examples, as commands, on all three protocols.

use std::fs;

use contexture_testkit::provider::{Protocol, Reply};
use serde_json::json;

use crate::{
    agent_support::{PROTOCOLS, Stage},
    support::timeless,
};

const REVIEW: &str = "\
发现3个问题：
1. 第12行：未处理空值
2. 第25行：变量名不规范
3. 第40行：缺少错误处理";

const UTILS: &str = "def first(x):\n    return x[0]\n";

fn stage(protocol: Protocol) -> Stage {
    let edit = json!({
        "path": "src/utils.py",
        "old_text": "    return x[0]",
        "new_text": "    return x[0] if x else None",
    });
    let stage = Stage::new(
        protocol,
        [
            Reply::call("c1", "read_file", r#"{"path":"src/utils.py"}"#),
            Reply::text("先看看。").tool_call("c2", "grep", r#"{"pattern":"return"}"#),
            Reply::text(REVIEW),
            Reply::call("c3", "edit_file", &edit.to_string()),
            Reply::text("所有问题已修复！"),
            Reply::text("看到了。"),
        ],
    );
    fs::create_dir(stage.sandbox.path().join("src")).unwrap();
    stage.sandbox.write("src/utils.py", UTILS);
    stage.sandbox.json(&["turn", "add", "--user", "CANARY-MAIN 你好", "--assistant", "你好！"]);
    stage
}

// M-01, M-02, M-03, M-19, M-20, M-29, M-35, M-36: example 1. An isolated reviewer that sees nothing
// of the main session, then a shared fixer that reads its review and edits the file.
#[test]
fn review_then_fix() {
    for protocol in PROTOCOLS {
        let stage = stage(protocol);
        let ran = stage.run(&["agents", "run", "code-reviewer", "分析", "src/utils.py"]);
        assert_eq!((ran.code, ran.out), (0, format!("先看看。\n{REVIEW}\n")), "{}", ran.err);
        assert!(ran.err.contains("→ read_file {\"path\":\"src/utils.py\"}\n"), "{}", ran.err);
        assert!(ran.err.contains("✓ grep: "), "{}", ran.err);
        let last = ran.err.lines().last().unwrap();
        assert!(last.starts_with("code-reviewer · isolated · "), "{last}");
        assert!(last.contains(" · 3 requests · 330 tokens, 0 % cached · window "), "{last}");
        assert!(last.ends_with(" of 100,000"), "{last}");

        assert_eq!(stage.requests().len(), 3);
        for request in stage.requests() {
            let body = request.json().to_string();
            assert!(!body.contains("CANARY-MAIN"), "{protocol:?}: {body}");
            assert!(body.contains("分析 src/utils.py"), "{body}");
            assert!(body.contains("Analyze code quality"), "{body}");
            assert!(request.wants_stream());
        }
        assert!(stage.last_request().contains("return x[0]"), "tool results came back");
        let offered = stage.offered(protocol);
        assert!(offered.contains(&"read_file".to_owned()) && offered.contains(&"grep".to_owned()));
        assert!(!offered.contains(&"edit_file".to_owned()), "{offered:?}");

        let ran = stage.run(&["agents", "run", "bug-fixer", "修复上述问题"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "所有问题已修复！\n"), "{}", ran.err);
        assert!(ran.err.contains("✓ edit_file: "), "{}", ran.err);
        assert!(ran.err.lines().last().unwrap().starts_with("bug-fixer · shared · "));
        let fixed = fs::read_to_string(stage.sandbox.path().join("src/utils.py")).unwrap();
        assert_eq!(fixed, "def first(x):\n    return x[0] if x else None\n");
        for request in &stage.requests()[3..] {
            let body = request.json().to_string();
            for seen in ["CANARY-MAIN", "第12行：未处理空值", "分析 src/utils.py", "修复上述问题"]
            {
                assert!(body.contains(seen), "{protocol:?} misses {seen}: {body}");
            }
            // The reviewer's own traffic stays its own.
            assert!(!body.contains("先看看") && !body.contains("Analyze code quality"), "{body}");
        }
    }
}

// M-24, M-30: example 2. The flag wins over the file, for one call.
#[test]
fn shared_for_one_call() {
    for protocol in PROTOCOLS {
        let stage = stage(protocol);
        let before =
            fs::read_to_string(stage.sandbox.path().join(".gemini/agents/code-reviewer.md"));
        let ran = stage.run(&["agents", "run", "code-reviewer", "分析代码", "--context", "shared"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.lines().last().unwrap().starts_with("code-reviewer · shared · "));
        let body = stage.last_request();
        assert!(body.contains("CANARY-MAIN") && body.contains("分析代码"), "{body}");
        assert!(!body.contains("--context"), "{body}");
        let after =
            fs::read_to_string(stage.sandbox.path().join(".gemini/agents/code-reviewer.md"));
        assert_eq!(before.unwrap(), after.unwrap());
        let mode = stage.text(&["agents", "context", "code-reviewer"]);
        assert!(mode.contains("Context Mode: isolated\n"), "{mode}");
        assert!(mode.contains("Last run: shared on "), "{mode}");
    }
}

// M-26, M-27, M-31, M-32: example 3, word for word, and what the override does.
#[test]
fn look_and_switch() {
    for protocol in PROTOCOLS {
        let stage = stage(protocol);
        let shown = stage.text(&["agents", "context", "bug-fixer"]);
        let first = "Agent: bug-fixer\nContext Mode: shared\nLinked to: Main Session\n";
        assert!(shown.starts_with(&format!("{first}\n")), "{shown}");
        assert_eq!(
            stage.text(&["agents", "context", "bug-fixer", "--mode", "isolated"]),
            "✓ Context mode changed to isolated for this session\n"
        );
        let shown = stage.text(&["agents", "context", "bug-fixer"]);
        let first =
            "Agent: bug-fixer\nContext Mode: isolated (session override)\nOriginal Mode: shared\n";
        assert!(shown.starts_with(&format!("{first}\n")), "{shown}");

        let ran = stage.run(&["agents", "run", "bug-fixer", "--max-turns", "1", "看看"]);
        assert!(ran.err.contains("bug-fixer · isolated · "), "{}", ran.err);
        assert!(!stage.last_request().contains("CANARY-MAIN"));
        // Another session knows nothing of it.
        stage.sandbox.json(&["--session", "other", "init"]);
        let shown = stage.text(&["--session", "other", "agents", "context", "bug-fixer"]);
        assert!(shown.contains("Context Mode: shared\n"), "{shown}");
        // And it is an edit like any other.
        stage.text(&["agents", "context", "bug-fixer", "--mode", "default"]);
        let shown = stage.text(&["agents", "context", "bug-fixer"]);
        assert!(shown.contains("Context Mode: shared\n"), "{shown}");
    }
}

// M-21: the response object.
#[test]
fn the_response_as_json() {
    let stage = stage(Protocol::OpenAi);
    let mut response = timeless(stage.json(&["agents", "run", "code-reviewer", "分析"]));
    let took = response["metadata"]["durationMs"].take();
    assert!(took.as_i64().unwrap() >= 0);
    assert_eq!(
        response,
        json!({
            "agentName": "code-reviewer",
            "text": REVIEW,
            "context": {
                "segment": "agent-code-reviewer",
                "pages": ["agent-code-reviewer-1"],
                "linkedTo": "its own history (agent-code-reviewer)",
            },
            "metadata": {
                "model": "openai/gpt-4o",
                "tokensUsed": 330,
                "tokens": { "input": 300, "cached": 0, "output": 30 },
                "durationMs": null,
                "iterations": 3,
                "contextMode": "isolated",
            },
            "ending": "answered",
            "warnings": [],
        })
    );
}
