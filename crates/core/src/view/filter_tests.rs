use super::*;
use crate::message::{RawJson, Text, Thinking, ToolCall, ToolResult};

fn text(text: &str) -> Part {
    Part::Text(Text { text: text.to_owned(), extra: Fields::default() })
}

fn call(id: &str) -> Part {
    let arguments = "{\"path\":\"secret\"}".to_owned();
    Part::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments,
        extra: Fields::default(),
    })
}

fn thought() -> Part {
    let source = RawJson::new(r#"{"type":"thinking","thinking":"secret"}"#).unwrap();
    Part::Thinking(Thinking { text: "secret".to_owned(), source })
}

fn said(role: Role, parts: Vec<Part>) -> Message {
    Message { parts, ..Message::text(role, "") }
}

fn talk() -> Vec<Message> {
    let result = ToolResult {
        call: "1".to_owned(),
        content: vec![text("secret")],
        error: false,
        extra: Fields::default(),
    };
    let other =
        Part::Other(RawJson::new(r#"{"type":"server_tool_use","input":"secret"}"#).unwrap());
    vec![
        said(Role::User, vec![text("please")]),
        said(Role::Assistant, vec![thought(), text("I look"), call("1"), other]),
        said(Role::Tool, vec![Part::ToolResult(result)]),
        said(Role::Assistant, vec![thought(), call("2"), text("")]),
        said(Role::Assistant, vec![text("done")]),
    ]
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::plain_text).collect()
}

// M-39: without tools, what is said in words stays; calls, results, the thoughts that led to them
// and parts of unknown kind go, and a message with nothing left goes too.
#[test]
fn tools_leave_no_trace() {
    let heard = MessageFilter::WithoutTools.heard(talk());
    assert_eq!(texts(&heard), ["please", "I look", "done"]);
    assert!(!format!("{heard:?}").contains("secret"), "{heard:?}");
    let thinks = vec![said(Role::Assistant, vec![thought(), text("hm")])];
    assert_eq!(MessageFilter::WithoutTools.heard(thinks.clone()), thinks);
}

// M-39: requests are what users said, and all is all.
#[test]
fn requests_and_everything() {
    assert_eq!(texts(&MessageFilter::RequestsOnly.heard(talk())), ["please"]);
    assert_eq!(MessageFilter::All.heard(talk()), talk());
}

// M-40: equal filters have equal names, others have others, and the open one has the name that
// records without a filter have.
#[test]
fn filters_are_told_apart() {
    let open = ViewFilter::default();
    assert!(open.is_open() && open.key().is_open());
    let filters = [
        open,
        ViewFilter { authors: Some(BTreeSet::new()), ..ViewFilter::default() },
        ViewFilter { authors: Some([Actor::System].into()), ..ViewFilter::default() },
        ViewFilter { speech: MessageFilter::WithoutTools, ..ViewFilter::default() },
        ViewFilter { speech: MessageFilter::RequestsOnly, ..ViewFilter::default() },
        ViewFilter { since: Some(Timestamp::from_millis(1)), ..ViewFilter::default() },
        ViewFilter { without: ["usr-1".parse().unwrap()].into(), ..ViewFilter::default() },
    ];
    let keys: BTreeSet<FilterKey> = filters.iter().map(ViewFilter::key).collect();
    assert_eq!(keys.len(), filters.len());
    assert_eq!(filters[3].key(), filters[3].clone().key());
}
