use std::sync::atomic::{AtomicUsize, Ordering};

use contexture_testkit::random::Random;
use serde_json::Value;

use super::*;
use crate::{
    Role,
    message::{Image, Thinking},
};

/// Counts a token per four characters of a word, and per other character but a space.
#[derive(Default)]
struct Words {
    bytes: AtomicUsize,
}

impl TokenCounter for Words {
    fn name(&self) -> &str {
        "words"
    }
    fn count(&self, text: &str) -> Tokens {
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        let mut tokens = 0;
        let mut word = 0_u64;
        for c in text.chars().chain([' ']) {
            if c.is_ascii_alphanumeric() {
                word += 1;
                continue;
            }
            tokens += word.div_ceil(4) + u64::from(c != ' ');
            word = 0;
        }
        Tokens(tokens)
    }
}

fn marker(omitted: &Omitted) -> String {
    format!(
        "[{} bytes, {} lines, {} tokens left out]",
        omitted.bytes, omitted.lines, omitted.tokens
    )
}

fn trim(message: Message, limit: u64) -> Option<Message> {
    let messages = trim_messages(&Words::default(), &[message], Tokens(limit), &marker)?;
    assert_eq!(messages.len(), 1);
    messages.into_iter().next()
}

fn count(text: &str) -> u64 {
    Words::default().count(text).0
}

fn of(part: Part) -> Message {
    Message { parts: vec![part], ..Message::text(Role::Assistant, "") }
}

fn call(arguments: &str) -> Message {
    of(Part::ToolCall(ToolCall {
        id: "c1".into(),
        name: "f".into(),
        arguments: arguments.into(),
        extra: Fields::default(),
    }))
}

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line number {n}\n")).collect()
}

fn trim_counted(counter: &Words, text: &str, limit: u64) -> Option<String> {
    let messages = [Message::text(Role::User, text)];
    let trimmed = trim_messages(counter, &messages, Tokens(limit), &marker)?;
    Some(trimmed[0].plain_text())
}

/// Parts a trimmed text at its marker line.
fn parted(text: &str) -> (&str, &str) {
    let at = text.rfind("\n[").unwrap();
    let tail = at + text[at..].find("left out]\n").unwrap() + "left out]\n".len();
    (&text[..at], &text[tail..])
}

#[test]
fn a_text_within_the_limit_stays() {
    assert_eq!(trim(Message::text(Role::User, lines(10)), 1_000), None);
    // As many bytes as the limit has tokens: nothing needs to be counted.
    let counter = Words::default();
    assert_eq!(trim_counted(&counter, &"a\n".repeat(50), 100), None);
    assert_eq!(counter.bytes.load(Ordering::Relaxed), 0);
}

#[test]
fn a_large_text_keeps_head_and_tail() {
    let text = lines(2_000);
    let total = count(&text);
    let trimmed = trim_counted(&Words::default(), &text, 400).unwrap();
    let (first, last) = parted(&trimmed);
    assert!(text.starts_with(first) && text.ends_with(last));
    let (head, tail) = (count(first), count(last));
    assert!((180..=260).contains(&head) && (80..=130).contains(&tail), "{head} {tail}");
    // It is cut between lines, and says how much is gone.
    assert!(text[first.len()..].starts_with('\n') && last.starts_with("line number"));
    let told = marker(&Omitted {
        bytes: (text.len() - first.len() - last.len()) as u64,
        lines: 2_000 - (first.lines().count() + last.lines().count()) as u64,
        tokens: Tokens(total - head - tail),
        words: Vec::new(),
    });
    assert_eq!(trimmed, format!("{first}\n{told}\n{last}"));
    assert_eq!(trim_counted(&Words::default(), &text, 400), Some(trimmed));
}

#[test]
fn a_huge_text_is_counted_once() {
    let large = lines(50_000);
    let result = |text: &str| {
        let content = vec![text_part("short".into()), text_part(text.into())];
        ToolResult { call: "c1".into(), content, error: false, extra: Fields::default() }
    };
    let counter = Words::default();
    let messages = [Message::text(Role::User, &large), of(Part::ToolResult(result(&large)))];
    trim_messages(&counter, &messages, Tokens(500), &marker).unwrap();
    let counted = counter.bytes.load(Ordering::Relaxed);
    assert!(counted < large.len() * 21 / 10, "{counted} of {}", large.len() * 2);

    let counter = Words::default();
    let text = format!("{}{}", "x ".repeat(200_000), lines(50_000));
    trim_counted(&counter, &text, 500).unwrap();
    let counted = counter.bytes.load(Ordering::Relaxed);
    assert!(counted < text.len() + text.len() / 10, "{counted} of {}", text.len());
}

#[test]
fn characters_are_not_torn() {
    for cluster in ["👩\u{200d}👩\u{200d}👧", "e\u{301}", "界", "👍🏽", "\r\n", "ก\u{e34}"]
    {
        let text = cluster.repeat(3_000);
        for limit in 60..90 {
            let trimmed = trim_counted(&Words::default(), &text, limit).unwrap();
            let (head, tail) = parted(&trimmed);
            assert!(head.replace(cluster, "").is_empty(), "{head:?}");
            assert!(tail.replace(cluster, "").is_empty(), "{tail:?}");
        }
    }
}

#[test]
fn no_text_exceeds_its_limit() {
    let mut random = Random::new(7);
    let pieces = [
        "a",
        "word ",
        "界",
        "\n",
        "\n\n",
        "longer_identifier ",
        "{\"a\":1}",
        "   ",
        "e\u{301}",
        "\u{200d}",
    ];
    for _ in 0..1_500 {
        let text: String = (0..random.below(800)).map(|_| *random.pick(&pieces)).collect();
        let limit = 1 + random.below(300);
        let least = count(&marker(&omitted_of(&text, count(&text))));
        let size = |text: &str| assert!(count(text) <= limit.max(least), "{} {limit}", count(text));
        if let Some(message) = trim(Message::text(Role::User, text.clone()), limit) {
            assert!(count(&text) > limit);
            size(&message.plain_text());
        }
        let json = serde_json::json!({ "a": text, "b": [1, { "c": "x" }] }).to_string();
        let least = count(&marker(&omitted_of(&json, count(&json)))) + 10;
        if let Some(message) = trim(call(&json), limit) {
            let arguments = &message.tool_calls().next().unwrap().arguments;
            assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
            assert!(count(arguments) <= limit.max(least), "{arguments} {limit}");
        }
    }
}

#[test]
fn the_marker_says_what_is_gone() {
    let message = trim(Message::text(Role::User, lines(2_000)), 200).unwrap();
    let text = message.plain_text();
    let at = text.lines().position(|line| line.contains("left out")).unwrap();
    let gone = 2_000 - (text.lines().count() - 1);
    assert!(text.lines().nth(at).unwrap().contains(&format!(" {gone} lines,")), "{text}");
    assert!(text.starts_with("line number 1\n") && text.ends_with("line number 2000\n"));
}

#[test]
fn arguments_keep_all_but_their_long_strings() {
    let long = "say \"it\" again\\n ".repeat(400);
    let string = serde_json::to_string(&long).unwrap();
    let json =
        format!(r#"{{ "z":1.50, "path": "src/a.rs","content":{string}, "a":[{{"b":{string}}}] }}"#);
    let message = trim(call(&json), 400).unwrap();
    let call = message.tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "f"));
    assert!(call.arguments.starts_with(r#"{ "z":1.50, "path": "src/a.rs","content":"say \"it\""#));
    let value: Value = serde_json::from_str(&call.arguments).unwrap();
    for cut in [&value["content"], &value["a"][0]["b"]] {
        let cut = cut.as_str().unwrap();
        assert!(
            cut.contains("left out]")
                && cut.starts_with("say")
                && long.ends_with(&cut[cut.len() - 9..])
        );
    }
    assert!(count(&call.arguments) <= 400);
}

#[test]
fn arguments_that_cannot_be_cut_are_replaced() {
    let many: Vec<u32> = (0..3_000).collect();
    for arguments in [
        serde_json::to_string(&many).unwrap(),
        format!("{{\"n\":{}}}", serde_json::to_string(&many).unwrap()),
        format!("{{\"broken\": {}", lines(800)),
        format!("{{\"lone\": \"\\ud800{}\"}}", "x, ".repeat(2_000)),
    ] {
        let message = trim(call(&arguments), 300).unwrap();
        let cut = &message.tool_calls().next().unwrap().arguments;
        let value: Value = serde_json::from_str(cut).unwrap();
        assert!(cut.starts_with(r#"{"omitted":"["#) && count(cut) <= 300, "{cut}");
        assert!(arguments.starts_with(value["head"].as_str().unwrap()));
        assert!(arguments.ends_with(value["tail"].as_str().unwrap()));
    }
    let tiny = trim(call(&serde_json::to_string(&many).unwrap()), 10).unwrap();
    let value: Value = serde_json::from_str(&tiny.tool_calls().next().unwrap().arguments).unwrap();
    assert!(value["omitted"].is_string() && value.get("head").is_none());
}

#[test]
fn a_result_keeps_to_the_limit_as_a_whole() {
    let text = |text: String| text_part(text);
    let image =
        Part::Image(Image { source: RawJson::new(&format!("{:?}", "x ".repeat(900))).unwrap() });
    let other = Part::Other(RawJson::new(&format!("[{}1]", "1,".repeat(900))).unwrap());
    let content =
        vec![text("short".into()), image.clone(), text(lines(900)), other, text(lines(900))];
    let result = ToolResult { call: "c1".into(), content, error: true, extra: Fields::default() };
    let message = trim(of(Part::ToolResult(result)), 600).unwrap();
    let result = message.tool_results().next().unwrap();
    assert_eq!((result.call.as_str(), result.error, result.content.len()), ("c1", true, 5));
    assert_eq!((&result.content[0], &result.content[1]), (&text("short".into()), &image));
    let texts = [2, 4].map(|at| match &result.content[at] {
        Part::Text(text) => count(&text.text),
        part => panic!("{part:?}"),
    });
    assert!(texts[0] + texts[1] < 600 && texts[0] > 200 && texts[1] > 200, "{texts:?}");
    assert!(matches!(&result.content[3], Part::Text(text) if text.text.starts_with('[')));
}

#[test]
fn thinking_and_unknown_fields_stay_whole_or_go() {
    let thinking = |size| {
        let source = RawJson::new(&format!("{:?}", "think ".repeat(size))).unwrap();
        Part::Thinking(Thinking { text: String::new(), source })
    };
    let mut message = of(thinking(900));
    message.parts.push(text_part("done".into()));
    message.parts.push(thinking(3));
    message.extra.push("large", RawJson::new(&format!("{:?}", "x ".repeat(900))).unwrap());
    message.extra.push("small", RawJson::new("1").unwrap());
    let cut = trim(message, 300).unwrap();
    assert_eq!(cut.parts, [text_part("done".into()), thinking(3)]);
    assert_eq!(cut.extra.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["small"]);
    let alone = trim(of(thinking(900)), 300).unwrap();
    assert!(matches!(&alone.parts[..], [Part::Text(text)] if text.text.contains("left out")));
}
