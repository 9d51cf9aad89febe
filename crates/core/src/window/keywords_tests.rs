use contexture_testkit::random::Random;

use super::*;
use crate::message::{Fields, Text, ToolCall};

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn of(parts: Vec<Part>, role: Role) -> Message {
    Message { parts, ..Message::text(role, "") }
}

fn call(arguments: &str) -> Message {
    let call = ToolCall {
        id: "c".into(),
        name: "f".into(),
        arguments: arguments.into(),
        extra: Fields::default(),
    };
    of(vec![Part::ToolCall(call)], Role::Assistant)
}

fn result(text: &str) -> Message {
    let text = Part::Text(Text { text: text.into(), extra: Fields::default() });
    let result = ToolResult {
        call: "c".into(),
        content: vec![text],
        error: false,
        extra: Fields::default(),
    };
    of(vec![Part::ToolResult(result)], Role::Tool)
}

fn found(text: &str) -> Vec<String> {
    top_keywords(&[user(text)], 100)
}

#[test]
fn each_kind_is_found() {
    for (text, expected) in [
        ("look at src/a.rs:42, please", "src/a.rs"),
        ("in /etc/nginx/nginx.conf.", "/etc/nginx/nginx.conf"),
        ("run ./scripts/build or ../x/y", "./scripts/build"),
        (r"open C:\Users\bo\notes.txt now", r"C:\Users\bo\notes.txt"),
        ("edit Cargo.toml and go", "Cargo.toml"),
        ("see https://example.com/a?b=c&d=1.", "https://example.com/a?b=c&d=1"),
        ("the snake_case_name here", "snake_case_name"),
        ("a HashMap there", "HashMap"),
        ("model gpt-4o works", "gpt-4o"),
        ("call os.path.join there", "os.path.join"),
        ("use Foo::bar here", "Foo::bar"),
        ("then frobnicate(x) it", "frobnicate"),
        ("order #W1234567 is late", "#W1234567"),
        ("write mei.kovacs8020@example.com soon", "mei.kovacs8020@example.com"),
        ("about 123456 of them", "123456"),
        ("upgrade to v1.24.3 now", "v1.24.3"),
        ("a \"red bicycle\" was sold", "red bicycle"),
        ("the `frob` thing", "frob"),
        ("raised KeyError there", "KeyError"),
        ("error[E0432]: unresolved", "E0432"),
        ("got ENOENT again", "ENOENT"),
        ("he met Mei Kovacs in town", "Mei Kovacs"),
        ("went to Berlin by train", "Berlin"),
        ("他读了《红楼梦》很久", "红楼梦"),
        ("他说“分布式锁”很难", "分布式锁"),
        ("「設定画面」を開く", "設定画面"),
        ("数据库慢。数据库快。", "数据库"),
        ("データベースとデータベース", "データベース"),
        ("поехал в Москву вчера", "Москву"),
        ("데이터베이스 연결 데이터베이스 오류", "데이터베이스"),
        (
            "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
            "3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        ),
    ] {
        assert!(found(text).iter().any(|found| found == expected), "{text}: {:?}", found(text));
    }
}

#[test]
fn what_tells_nothing_is_not_found() {
    let blob = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4+8BQDwAEhQGA/7d5J1kAAAAASUVORK5CYII=";
    for text in [
        "",
        " \n\t",
        "The this and that, either/or, well-known e.g. i.e. 42 3.14",
        "don't can't it's 'tis",
        "if (x) { return (y); } while (true)",
        "的了是在我你他",
        &format!("data:image/png;base64,{blob}")[22..],
        &"0123456789abcdef".repeat(4),
    ] {
        assert_eq!(found(text), [] as [&str; 0], "{text}");
    }
}

#[test]
fn keys_of_json_are_not_told_but_values_are() {
    let text = r#"{"order_id": "W99", "user_name": "mei_kovacs", "status": "pending", "note":"a\nline src/x.py"}"#;
    let strings = top_keywords(&[call(text)], 20);
    assert!(
        !strings.iter().any(|s| s.contains("order_id") || s.contains("user_name")),
        "{strings:?}"
    );
    for value in ["W99", "mei_kovacs", "pending", "src/x.py"] {
        assert!(strings.iter().any(|s| s == value), "{value}: {strings:?}");
    }
}

#[test]
fn the_place_counts_and_so_does_frequency() {
    let messages = [
        result("lib/bulk.rs lib/once.rs"),
        call(r#"{"path":"src/call.rs"}"#),
        user("see src/user.rs"),
    ];
    let strings = top_keywords(&messages, 3);
    assert_eq!(strings, ["src/call.rs", "src/user.rs", "lib/bulk.rs"]);
    let strings = found("src/one.rs src/two.rs src/two.rs");
    assert_eq!(strings, ["src/two.rs", "src/one.rs"]);
}

#[test]
fn strings_within_better_ones_are_left_out() {
    let strings = found("crates/core/src/window.rs and window.rs and core/src");
    assert_eq!(strings[0], "crates/core/src/window.rs");
    assert!(!strings.iter().any(|s| s == "window.rs" || s == "core/src"), "{strings:?}");
    assert_eq!(top_keywords(&[user("src/a.rs src/b.rs src/c.rs")], 2), ["src/a.rs", "src/b.rs"]);
    assert_eq!(top_keywords(&[user("src/a.rs")], 0), [] as [&str; 0]);
}

#[test]
fn repeated_runs_grow_to_words() {
    let text = "分布式事务很难。我们的分布式事务需要两阶段提交。两阶段提交在数据库里。";
    let strings = found(text);
    assert!(
        strings.contains(&"分布式事务".into()) && strings.contains(&"两阶段提交".into()),
        "{strings:?}"
    );
    assert!(!strings.iter().any(|s| s == "布式事务" || s == "阶段"), "{strings:?}");
    // A long repetition is told once, by its beginning, and not by each of its parts.
    let strings = found(&"用户登录之后订单系统会调用支付接口。".repeat(5));
    assert_eq!(strings, ["用户登录之后订单系统会调"]);
}

#[test]
fn both_ends_of_a_large_text_are_read() {
    let text = format!(
        "src/first.rs {} src/middle.rs {} src/last.rs",
        "x ".repeat(100_000),
        "y ".repeat(100_000)
    );
    let strings = found(&text);
    assert_eq!(strings, ["src/first.rs", "src/last.rs"]);
}

const PIECES: [&str; 44] = [
    "a", "B", "_", "-", ".", "..", "/", "\\", "\\n", "\\u00e9", "\\u12", ":", "::", "://",
    "http://", "@", "#", "~", "+", "=", " ", " ", "\n", "\t", "\"", "'", "`", "“", "”", "《", "》",
    "1", "2024", "Error", "数据", "库", "カタ", "の", "é", "e\u{301}", "\u{200d}", "👩", "(",
    "\u{0}",
];

#[test]
fn any_text_gives_short_clean_strings_and_always_the_same() {
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let text: String = (0..random.below(120)).map(|_| *random.pick(&PIECES)).collect();
        let messages = [user(&text), call(&text), result(&text)];
        let strings = top_keywords(&messages, 10);
        assert_eq!(strings, top_keywords(&messages, 10));
        assert!(strings.len() <= 10);
        for (at, string) in strings.iter().enumerate() {
            let chars = string.chars().count();
            assert!(
                (1..=LONGEST).contains(&chars) && !string.trim().is_empty(),
                "{string:?} of {text:?}"
            );
            assert!(!string.contains(char::is_control), "{string:?} of {text:?}");
            assert!(!strings[..at].iter().any(|better| better.contains(string)), "{strings:?}");
        }
    }
}

#[test]
fn frequency_grows_as_one_plus_ln() {
    for (count, expected) in [(1, 1.0), (2, 1.693), (3, 2.098), (8, 3.079), (100, 5.605)] {
        let given = frequency(count) as f64 / 256.0;
        assert!((given - expected).abs() < 0.07, "{count}: {given}");
    }
}
