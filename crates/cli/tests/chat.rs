use std::fs;

use contexture_testkit::provider::{Charged, Protocol, Reply};

use crate::{
    agent_support::PROTOCOLS,
    chat_support::{Room, Terminal},
};

const FOUND: &str =
    "发现3个问题：\n1. 第12行：未处理空值\n2. 第25行：变量名不规范\n3. 第40行：缺少错误处理";

const SOURCE: &str = "def f(x):\n    return x.y\n";

/// Prepares a project whose provider plays the seed's three examples.
fn seed(protocol: Protocol) -> Room {
    let edit = r#"{"path":"src/utils.py","old_text":"return x.y","new_text":"return x and x.y"}"#;
    let charged = Charged { input: 1_000, cached: 620, written: 0, output: 10 };
    let room = Room::new(
        protocol,
        [
            Reply::text("你好！有什么可以帮你？"),
            Reply::call("call_1", "read_file", r#"{"path":"src/utils.py"}"#),
            Reply::text(FOUND),
            Reply::text("我看到 code-reviewer 发现了3个问题，现在开始修复：")
                .tool_call("call_2", "edit_file", edit)
                .charged(charged),
            Reply::text("所有问题已修复！").charged(charged),
            Reply::text("代码很好。"),
        ],
    );
    fs::create_dir(room.sandbox.path().join("src")).unwrap();
    room.sandbox.write("src/utils.py", SOURCE);
    room
}

/// Waits for the line that tells how an answer was made.
fn status(chat: &mut Terminal, room: &Room, agent: &str, mode: &str) {
    chat.expect(&format!("{agent} · {mode} · {} · ", room.model()));
    chat.expect(" of 100,000");
}

// The seed's examples 1, 2 and 3 in one chat that begins without a session: M-02, M-03, M-24, M-25,
// M-26, M-27, M-30, M-31, M-32, M-35, on every protocol.
fn the_seeds_examples(protocol: Protocol) {
    let room = seed(protocol);
    let mut chat = room.chat(&[]);
    chat.expect("created session default in sqlite:.contexture/contexture.db");

    chat.enter("你好");
    chat.expect("Assistant:");
    chat.expect("你好！有什么可以帮你？");
    status(&mut chat, &room, "chat", "shared");

    chat.enter("@code-reviewer 分析 src/utils.py");
    chat.expect("Code Reviewer:");
    chat.expect("→ read_file src/utils.py");
    chat.expect("✓ read_file: ");
    chat.expect("1. 第12行：未处理空值");
    status(&mut chat, &room, "code-reviewer", "isolated");

    chat.enter("@bug-fixer 修复上述问题");
    chat.expect("Bug Fixer:");
    chat.expect("我看到 code-reviewer 发现了3个问题");
    chat.expect("→ edit_file src/utils.py");
    chat.expect("所有问题已修复！");
    let told = chat.expect("bug-fixer · shared · ");
    assert!(!told.contains("error"), "{told}");
    chat.expect("62 % cached");

    chat.enter("/agents run code-reviewer 分析代码 --context shared");
    chat.expect("Code Reviewer:");
    chat.expect("代码很好。");
    status(&mut chat, &room, "code-reviewer", "shared");

    chat.enter("/agents context bug-fixer");
    chat.expect("Agent: bug-fixer\r\nContext Mode: shared\r\nLinked to: Main Session\r\n");
    chat.enter("/agents context bug-fixer --mode isolated");
    chat.expect("✓ Context mode changed to isolated for this session\r\n");
    chat.enter("/agents context bug-fixer");
    chat.expect("Agent: bug-fixer\r\nContext Mode: isolated (session override)\r\n");
    chat.expect("Original Mode: shared\r\n");
    chat.enter("/quit");
    assert_eq!(chat.end(), 0);

    let fixed = fs::read_to_string(room.sandbox.path().join("src/utils.py")).unwrap();
    assert_eq!(fixed, SOURCE.replace("x.y", "x and x.y"));
    asked(&room.requests());
}

/// Checks what the models of the seed's examples were told.
fn asked(requests: &[String]) {
    let [hello, review, reviewed, fix, fixed, again] = requests else {
        panic!("{} requests", requests.len());
    };
    assert!(hello.contains("你好"));
    // M-02: the isolated reviewer sees nothing of the main session.
    for request in [review, reviewed] {
        assert!(request.contains("分析 src/utils.py"));
        assert!(request.contains("Analyze code quality and identify issues."));
        assert!(!request.contains("你好"), "{request}");
        assert!(!request.contains("有什么可以帮你"), "{request}");
    }
    // M-03: the shared fixer sees what was found, not how.
    for request in [fix, fixed] {
        assert!(request.contains("第12行：未处理空值"), "{request}");
        assert!(request.contains("有什么可以帮你"), "{request}");
        assert!(request.contains("修复上述问题"));
        assert!(!request.contains("return x.y\\n"), "{request}");
    }
    // M-30: for this one call, the reviewer sees the main session; its request is byte-exact.
    assert!(again.contains("所有问题已修复"), "{again}");
    assert!(again.contains("分析代码\""), "{again}");
    assert!(!again.contains("--context"));
}

#[test]
fn the_seeds_examples_on_openai() {
    the_seeds_examples(PROTOCOLS[0]);
}

#[test]
fn the_seeds_examples_on_anthropic() {
    the_seeds_examples(PROTOCOLS[1]);
}

#[test]
fn the_seeds_examples_on_gemini() {
    the_seeds_examples(PROTOCOLS[2]);
}
