//! Context tools on a session in memory: what they say, and what they do to the window.

use std::sync::Arc;

use contexture_agents::{Tool, ToolOutput, tool::Effect, tools::context};
use contexture_core::{
    AgentContext, ContextSystem, Edit, Format, NewDetailPage, Permission, ProviderFormat,
    SegmentKind, TokenCounter, Tokens, Visibility, WindowLevel, WindowOptions, window::FoldShares,
};
use contexture_search::LazyIndex;
use contexture_testkit::fixture::{
    add_segment, agent, apply, assistant, confined, directory, leaf, memory, page, segment, user,
    valid,
};
use serde_json::{Value, json};

use super::{find, right, wrong};

/// A token is a word.
pub(super) struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(text.split_whitespace().count() as u64)
    }
}

pub(super) fn options() -> WindowOptions {
    WindowOptions::new(Format::Provider(ProviderFormat::OpenAi), Arc::new(Words))
}

/// An agent with its tools.
pub(super) struct Hand {
    pub(super) context: AgentContext,
    pub(super) tools: Vec<Arc<dyn Tool>>,
    pub(super) index: LazyIndex,
}

impl Hand {
    pub(super) fn new(
        system: &ContextSystem,
        context: AgentContext,
        options: WindowOptions,
    ) -> Self {
        Self::with_index(context, options, LazyIndex::new(system.storage(), None))
    }

    fn with_index(context: AgentContext, options: WindowOptions, index: LazyIndex) -> Self {
        let tools = context::tools(context.clone(), options, index.clone());
        Self { context, tools, index }
    }

    /// The same agent with other windows.
    pub(super) fn with(&self, options: WindowOptions) -> Self {
        Self::with_index(self.context.clone(), options, self.index.clone())
    }

    pub(super) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        find(&self.tools, name).call(&arguments).await
    }

    pub(super) async fn body(&self) -> String {
        self.context.window(&options()).await.unwrap().body
    }
}

/// Says so many words.
pub(super) fn words(count: usize) -> String {
    vec!["word"; count].join(" ")
}

/// A session with a prompt and three turns of 100, 200 and 300 words, and an agent in it.
pub(super) async fn begun() -> (ContextSystem, Hand) {
    let system = memory().await;
    let prompt = NewDetailPage::new(page("sys-0"), valid("Prompt"), "Be brief.");
    apply(&system, Edit::CreateDetailPage(prompt)).await;
    let hand = Hand::new(&system, agent(&system, "scribe"), options());
    for count in [100, 200, 300] {
        let turn = vec![user(&format!("turn {count}")), assistant(&words(count))];
        hand.context.add_turn(turn).await.unwrap();
    }
    (system, hand)
}

#[tokio::test]
async fn schemas_have_fixed_bytes_and_effects_are_true() {
    let (_, hand) = begun().await;
    let told: Vec<String> = hand
        .tools
        .iter()
        .map(|tool| {
            format!("{} {:?} {}", tool.spec().name, tool.effect(), tool.spec().schema.as_str())
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    for tool in &hand.tools {
        let schema: Value = tool.spec().schema.read().unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.spec().name);
    }
    assert_eq!(find(&hand.tools, "hide_details").effect(), Effect::Changes);
}

#[tokio::test]
async fn hiding_frees_tokens_at_once_and_says_what_is_read_again() {
    let (_, hand) = begun().await;
    let text = right(hand.call("hide_details", json!({"page": "usr-2"})).await);
    // 2 words asked, 200 answered, 8 around two messages; the line that stays takes some.
    // Behind it stands the third turn.
    assert_eq!(
        text,
        "hidden: usr-2 \"turn 200\": about 191 tokens freed; applies at once: the next request reads everything after it again, about 310 tokens"
    );
    let view = hand.context.get_page("usr-2").await.unwrap();
    assert_eq!(view.visibility, Visibility::Hidden);
    // Once another request is being answered, the third turn may go.
    hand.context.add_turn(vec![user("now")]).await.unwrap();
    let text = right(hand.call("hide_details", json!({"page": "usr-3"})).await);
    assert!(text.contains("about 291 tokens freed; applies at once"), "{text}");
    let text = right(hand.call("hide_details", json!({"page": "usr-3"})).await);
    assert!(text.ends_with("it was not open: no tokens freed, the cache stays valid"), "{text}");
}

#[tokio::test]
async fn expanding_gives_the_content_and_changes_nothing_in_the_window() {
    let (_, hand) = begun().await;
    hand.context.hide_details("usr-1").await.unwrap();
    let before = hand.body().await;
    let output = hand.call("expand_details", json!({"page": "usr-1"})).await;
    assert_eq!(output.expands, [page("usr-1")]);
    let text = right(output);
    let (head, content) = text.split_once("\n---\n").unwrap();
    assert_eq!(
        head,
        "usr-1 \"turn 100\": 104 tokens, here only; its place in the window opens at the next fold; nothing earlier changed, the cache stays valid"
    );
    assert_eq!(content, format!("User: turn 100\nAssistant: {}", words(100)));
    // The level did not change, and not a byte of the window did.
    assert_eq!(hand.body().await, before);
    let view = hand.context.get_page("usr-1").await.unwrap();
    assert_eq!(view.level, WindowLevel::Summary);
}

#[tokio::test]
async fn what_stands_in_full_is_not_given_twice() {
    let (_, hand) = begun().await;
    let output = hand.call("expand_details", json!({"page": "usr-2"})).await;
    assert!(output.expands.is_empty());
    let text = right(output);
    assert_eq!(
        text,
        "usr-2 \"turn 200\" is already shown in full in your window: nothing was added"
    );
}

#[tokio::test]
async fn a_long_page_is_read_in_parts_that_the_window_shows_whole() {
    let (_, hand) = begun().await;
    let numbers: Vec<String> = (0..3_000).map(|number| format!("n{number}")).collect();
    let turn = vec![user("long"), assistant(&numbers.join(" "))];
    hand.context.add_turn(turn).await.unwrap();
    hand.context.hide_details("usr-4").await.unwrap();
    // Results of tools are shown up to a sixteenth of the budget: 1,000 tokens.
    let tight = hand.with(options().budget(16_000));
    let (mut read, mut offset, mut parts) = (String::new(), 0, 0);
    loop {
        let arguments = json!({"page": "usr-4", "offset": offset});
        let text = right(tight.call("expand_details", arguments).await);
        assert!(Words.count(&text).0 <= 1_000, "{}", Words.count(&text).0);
        let content = text.split_once("\n---\n").unwrap().1;
        let (content, note) = content.rsplit_once("\n---\n").unwrap();
        read.push_str(content);
        parts += 1;
        let Some((_, next)) = note.split_once("read on with offset ") else { break };
        offset = next.trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(read, format!("User: long\nAssistant: {}", numbers.join(" ")));
    assert_eq!(parts, 4);
    let past = json!({"page": "usr-4", "offset": 1_000_000});
    let text = wrong(tight.call("expand_details", past).await);
    assert!(text.contains("nothing at offset 1000000"), "{text}");
}

#[tokio::test]
async fn a_page_cut_to_head_and_tail_can_be_read() {
    let (_, hand) = begun().await;
    // In full, but each part over its share of the budget is cut: of 1,000, 300 words are.
    let shares = FoldShares { part: 250, ..FoldShares::default() };
    let tight = WindowOptions { shares, ..options().budget(1_000) };
    let tight = hand.with(tight);
    let output = tight.call("expand_details", json!({"page": "usr-3"})).await;
    assert_eq!(output.expands, [page("usr-3")]);
    assert!(right(output).contains("User: turn 300\nAssistant: word word"));
    // With a larger share it stands whole.
    let shares = FoldShares { part: 500, ..FoldShares::default() };
    let wide = WindowOptions { shares, ..options().budget(1_000) };
    let wide = hand.with(wide);
    let text = right(wide.call("expand_details", json!({"page": "usr-3"})).await);
    assert!(text.contains("is already shown in full in your window"), "{text}");
}

#[tokio::test]
async fn a_page_of_a_run_is_opened_like_any_other() {
    let (_, hand) = begun().await;
    for number in 0..40 {
        let turn = vec![user(&format!("more {number}")), assistant(&words(100))];
        hand.context.add_turn(turn).await.unwrap();
    }
    let tight = options().budget(1_500);
    hand.context.fold(&tight).await.unwrap().unwrap();
    let mut in_run = None;
    for number in 1..=43 {
        let view = hand.context.get_page(page(&format!("usr-{number}"))).await.unwrap();
        if view.level == WindowLevel::Run {
            in_run = Some(view.page.index.clone());
        }
    }
    let in_run = in_run.expect("the fold left a run");
    let tight = hand.with(tight);
    let output = tight.call("expand_details", json!({"page": in_run.to_string()})).await;
    assert_eq!(output.expands, std::slice::from_ref(&in_run));
    assert!(right(output).contains("Assistant: word word"));
    let text = right(tight.call("hide_details", json!({"page": in_run.to_string()})).await);
    assert!(text.contains("no tokens freed, the cache stays valid"), "{text}");
    let text = right(tight.call("remove_page", json!({"page": in_run.to_string()})).await);
    assert!(text.contains("about 0 tokens freed; applies at once"), "{text}");
}

#[tokio::test]
async fn a_directory_lists_its_pages() {
    let (system, hand) = begun().await;
    let notes = directory(&system, "usr-0", "Notes").await;
    for number in 0..120 {
        leaf(&system, &notes.to_string(), &format!("note {number}")).await;
    }
    hand.context.hide_details(&notes).await.unwrap();
    let output = hand.call("expand_details", json!({"page": notes.to_string()})).await;
    assert_eq!(output.expands, std::slice::from_ref(&notes));
    let text = right(output);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("usr-4 \"Notes\": a directory of 120 pages; its place"), "{text}");
    assert_eq!(lines[1], "usr-5 \"note 0\" (about 3 tokens, out)");
    assert_eq!((lines.len(), lines[101]), (102, "[read on with offset 100]"));
    let text = right(hand.call("expand_details", json!({"page": "usr-4", "offset": 100})).await);
    assert_eq!(text.lines().count(), 21);
    assert!(text.lines().nth(1).unwrap().starts_with("usr-105 \"note 100\""), "{text}");
    // Below a hidden directory a page can be read, but its place cannot open.
    let output = hand.call("expand_details", json!({"page": "usr-5"})).await;
    assert!(output.expands.is_empty());
    let text = right(output);
    assert!(text.contains("stays closed") && text.ends_with("text of note 0"), "{text}");
}

#[tokio::test]
async fn edits_say_index_version_and_place() {
    let (_, hand) = begun().await;
    let new = json!({"name": "Plan", "description": "what to do", "detail": "1. read 2. think"});
    let text = right(hand.call("create_detail_page", new).await);
    assert!(text.starts_with("created usr-4 \"Plan\" at the end of usr-0, version 1: "), "{text}");
    assert!(text.ends_with("it is at the end: the cache stays valid"), "{text}");
    let text = right(
        hand.call("create_contents_page", json!({"name": "Old", "children": ["usr-1"]})).await,
    );
    assert_eq!(
        text,
        format!(
            "created usr-5 \"Old\" at the end of usr-0, version 1, with 1 pages in it: applies at once: the next request reads everything after it again, about {} tokens",
            210 + 310 + stub(&hand, "usr-4").await
        )
    );
    assert_eq!(hand.context.get_page("usr-1").await.unwrap().page.parent, Some(page("usr-5")));
    let text = right(hand.call("move_page", json!({"page": "usr-2", "to": "usr-5"})).await);
    assert!(
        text.starts_with("moved usr-2 to the end of usr-5, version 2: applies at once"),
        "{text}"
    );
    let text = right(hand.call("update_page", json!({"page": "usr-2", "name": "Second"})).await);
    assert!(text.starts_with("updated usr-2 \"Second\", now version 3: "), "{text}");
    assert!(text.ends_with("the cache stays valid"), "{text}");
    hand.context.hide_details("usr-4").await.unwrap();
    let update = json!({"page": "usr-4", "description": "what to do next"});
    let text = right(hand.call("update_page", update).await);
    assert!(text.contains("applies at once: the next request reads everything"), "{text}");
    hand.context.add_turn(vec![user("now")]).await.unwrap();
    let text = right(hand.call("remove_page", json!({"page": "usr-3"})).await);
    assert!(text.contains("to the archive") && text.contains("about 310 tokens freed"), "{text}");
    assert!(hand.context.get_page("usr-3").await.is_err());
    let text = wrong(hand.call("update_page", json!({"page": "usr-2"})).await);
    assert_eq!(text, "nothing to change: give a name or a description");
}

async fn stub(hand: &Hand, index: &str) -> u64 {
    let window = hand.context.window(&options()).await.unwrap();
    window.account.pages.iter().find(|item| item.page == page(index)).unwrap().tokens
}

#[tokio::test]
async fn a_claim_that_the_cache_holds_is_true() {
    let (_, hand) = begun().await;
    let edits = [
        ("create_detail_page", json!({"name": "Plan", "detail": "think"})),
        ("update_page", json!({"page": "usr-1", "name": "First", "description": "of all"})),
        ("expand_details", json!({"page": "usr-4"})),
        ("find_page", json!({"query": "First"})),
        ("recall", json!({"query": "word"})),
        ("get_page", json!({"page": "usr-1"})),
        ("pin_page", json!({"page": "usr-2"})),
        ("unpin_page", json!({"page": "usr-2"})),
        ("read_window", json!({})),
    ];
    let first = hand.body().await;
    for (name, arguments) in edits {
        let before = hand.body().await;
        let text = right(hand.call(name, arguments).await);
        let after = hand.body().await;
        // The end of a list of messages closes it; what stands before must be the same.
        let kept = before.trim_end_matches([']', '}', '\n']);
        assert!(after.starts_with(kept), "{name}: {text}\n{before}\n{after}");
        assert!(!text.contains("applies at once"), "{name}: {text}");
    }
    // What stands at the end goes, and nothing before it is another.
    let text = right(hand.call("hide_details", json!({"page": "usr-4"})).await);
    assert!(text.ends_with("it is at the end: the cache stays valid"), "{text}");
    assert!(hand.body().await.starts_with(first.trim_end_matches([']', '}', '\n'])));
}

#[tokio::test]
async fn finding_and_getting() {
    let (system, hand) = begun().await;
    leaf(&system, "usr-0", "Turnip").await;
    let text = right(hand.call("find_page", json!({"query": "TURN", "limit": 2})).await);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.starts_with("usr-1 \"turn 100\" (full, about "), "{text}");
    let text = right(hand.call("find_page", json!({"query": "turnip"})).await);
    assert_eq!(text, "usr-4 \"Turnip\" (full, about 3 tokens)");
    let text = right(hand.call("find_page", json!({"query": "nothing like it"})).await);
    assert_eq!(text, "no page says that; nothing changed; archived: true looks in the archive");
    let text = right(hand.call("get_page", json!({"page": "usr-4"})).await);
    assert_eq!(
        text,
        "usr-4 \"Turnip\" (DetailPage)\ndescription: \"about Turnip\"\ndirectory: usr-0\nlevel: full (Active)\nversion: 1, by system, trust system\nholds: 1 messages, about 3 tokens\n---\ntext of Turnip"
    );
    let text = right(hand.call("get_page", json!({"page": "usr-0"})).await);
    assert!(text.contains("(ContentsPage)") && text.ends_with("holds: 4 pages"), "{text}");
}

// A folded page is read with `get_page` and stays folded; a long one in parts.
#[tokio::test]
async fn getting_gives_the_text_and_opens_nothing() {
    let (_, hand) = begun().await;
    hand.context.hide_details("usr-1").await.unwrap();
    let before = hand.body().await;
    let output = hand.call("get_page", json!({"page": "usr-1"})).await;
    assert!(output.expands.is_empty());
    let text = right(output);
    let (head, content) = text.split_once("\n---\n").unwrap();
    assert!(head.contains("level: summary"), "{head}");
    assert_eq!(content, format!("User: turn 100\nAssistant: {}", words(100)));
    assert_eq!(hand.body().await, before);
    let tight = hand.with(options().budget(2_500));
    let text = right(tight.call("get_page", json!({"page": "usr-1"})).await);
    let offset = text.rsplit_once("read on with offset ").expect(&text).1.trim_end_matches(']');
    let offset: u64 = offset.parse().unwrap();
    let rest = json!({"page": "usr-1", "offset": offset});
    assert!(right(tight.call("get_page", rest).await).contains(&format!("[bytes {offset}–")));
    let past = wrong(tight.call("get_page", json!({"page": "usr-1", "offset": 99_999})).await);
    assert!(past.contains("nothing at offset 99999"), "{past}");
}

// The window as a list, in order, with what each page takes.
#[tokio::test]
async fn the_window_is_listed() {
    let (system, hand) = begun().await;
    hand.context.hide_details("usr-2").await.unwrap();
    let text = right(hand.call("read_window", json!({})).await);
    let account = hand.context.window(&options()).await.unwrap().account;
    let mut lines = text.lines();
    let head = format!("{} tokens, {} pages and runs", account.tokens, account.pages.len());
    assert_eq!(lines.next(), Some(head.as_str()));
    let names = [
        "sys-1 \"Prompt\" (full, ",
        "usr-1 \"turn 100\" (full, ",
        "usr-2 \"turn 200\" (summary, ",
        "usr-3 \"turn 300\" (full, ",
    ];
    let pages: Vec<&str> = lines.filter(|line| !line.contains("-0 ")).collect();
    assert_eq!(pages.len(), names.len(), "{text}");
    for (line, name) in pages.iter().zip(names) {
        assert!(line.starts_with(name), "{text}");
    }
    // What the view does not show is not in it.
    add_segment(&system, "secret", SegmentKind::Custom, Permission::ReadWrite).await;
    leaf(&system, "secret-0", "Hidden").await;
    let narrow = Hand::new(&system, confined(&system, "narrow", &["usr"]), options());
    let text = right(narrow.call("read_window", json!({})).await);
    assert!(!text.contains("secret") && !text.contains("Prompt"), "{text}");
    for _ in 0..110 {
        hand.context.add_turn(vec![user("more")]).await.unwrap();
    }
    let text = right(hand.call("read_window", json!({})).await);
    assert!(text.ends_with("[read on with offset 100]") && text.lines().count() == 102, "{text}");
    let rest = right(hand.call("read_window", json!({"offset": 100})).await);
    assert!(rest.ends_with(" tokens)") && rest.contains("usr-113 "), "{rest}");
}

#[tokio::test]
async fn refusals_and_errors_are_failed_answers_with_a_hint() {
    let (system, hand) = begun().await;
    add_segment(&system, "secret", SegmentKind::Custom, Permission::ReadWrite).await;
    leaf(&system, "secret-0", "Key").await;
    let hidden = Hand::new(&system, confined(&system, "spy", &["sys", "usr"]), options());
    let table = [
        (
            "update_page",
            json!({"page": "sys-1", "name": "Mine"}),
            "permission denied: operation 'updatePage' on sys-1",
        ),
        (
            "remove_page",
            json!({"page": "sys-1"}),
            "permission denied: operation 'removePage' on sys-1",
        ),
        ("hide_details", json!({"page": "sys-0"}), "permission denied: "),
        ("move_page", json!({"page": "usr-1", "to": "sys-0"}), "permission denied: "),
        (
            "create_detail_page",
            json!({"name": "x", "detail": "y", "parent": "sys-0"}),
            "permission denied: ",
        ),
        (
            "expand_details",
            json!({"page": "usr-77"}),
            "page usr-77 not found; find_page finds pages",
        ),
        ("expand_details", json!({"page": "usr-03"}), "invalid page index 'usr-03'"),
        (
            "move_page",
            json!({"page": "usr-1", "to": "usr-2"}),
            "page usr-2 is not a ContentsPage; name a directory",
        ),
        ("create_contents_page", json!({"name": ""}), "invalid "),
    ];
    for (name, arguments, begins) in table {
        let told = format!("{name} {arguments}");
        let text = wrong(hand.call(name, arguments).await);
        assert!(text.starts_with(begins), "{told}: {text}");
    }
    // What is out of view cannot be told from what is not there.
    for (name, arguments) in [
        ("expand_details", json!({"page": "secret-1"})),
        ("get_page", json!({"page": "secret-1"})),
        ("hide_details", json!({"page": "secret-1"})),
        ("pin_page", json!({"page": "secret-1"})),
        ("unpin_page", json!({"page": "secret-1"})),
        ("remove_page", json!({"page": "secret-1"})),
        ("move_page", json!({"page": "usr-1", "to": "secret-0"})),
    ] {
        let text = wrong(hidden.call(name, arguments).await);
        assert!(text.contains(" not found; find_page finds pages"), "{name}: {text}");
    }
    let text = right(hidden.call("find_page", json!({"query": "Key"})).await);
    assert!(text.starts_with("no page"), "{text}");
}

// The request that is being answered cannot be taken out of the window by answering it.
#[tokio::test]
async fn the_request_being_answered_stays() {
    let (_, hand) = begun().await;
    // The third turn of three is the one that is open.
    let directory = hand.context.create_contents_page("Old", "", "usr-0", &[]).await.unwrap();
    for (name, arguments) in [
        ("hide_details", json!({ "page": "usr-0" })),
        ("hide_details", json!({ "page": "usr-3" })),
        ("remove_page", json!({ "page": "usr-3" })),
        ("move_page", json!({ "page": "usr-3", "to": directory.to_string() })),
        ("create_contents_page", json!({ "name": "d", "children": ["usr-3"] })),
    ] {
        let output = hand.call(name, arguments).await;
        assert!(output.error, "{name}: {}", output.text);
        assert!(output.text.contains("Name another page."), "{name}: {}", output.text);
    }
    right(hand.call("remove_page", json!({ "page": "usr-1" })).await);
}

// What was folded long ago comes back in full as the answer; its place opens at the next fold.
#[tokio::test]
async fn recall_brings_back_what_is_folded() {
    let (system, hand) = begun().await;
    let told = vec![user("Where is the key?"), assistant("Under the blue flowerpot, on the left.")];
    hand.context.add_turn(told).await.unwrap();
    leaf(&system, "usr-0", "Turnip").await;
    let text = right(hand.call("recall", json!({"query": "where did I put the key"})).await);
    assert_eq!(text, "what says that is already shown in full in your window");
    hand.context.hide_details("usr-4").await.unwrap();
    let before = hand.body().await;
    let output = hand.call("recall", json!({"query": "where did I put the key"})).await;
    assert_eq!(output.expands, [page("usr-4")]);
    let text = right(output);
    assert!(text.starts_with("1 pages, "), "{text}");
    assert!(text.contains("--- usr-4 \"Where is the key?\" ("), "{text}");
    assert!(
        text.ends_with(
            "User: Where is the key?\nAssistant: Under the blue flowerpot, on the left."
        )
    );
    assert_eq!(hand.body().await, before, "the window is as it was");
    let text = right(hand.call("recall", json!({"query": "key flowerpot", "budget": 3})).await);
    assert!(
        text.starts_with("what says that takes more than 3 tokens: find_page lists it"),
        "{text}"
    );
    let text = right(hand.call("recall", json!({"query": "zebra crossing"})).await);
    assert_eq!(text, "no page says that; nothing was added; archived: true looks in the archive");
    for wrong_arguments in [json!({}), json!({"query": 7}), json!({"query": "x", "budget": 0.5})] {
        wrong(hand.call("recall", wrong_arguments).await);
    }
}

// What was removed is found in the archive, read, recalled and restored, within the view and as far as the
// permission goes.
#[tokio::test]
async fn an_agent_finds_reads_and_restores_what_was_removed() {
    let (system, hand) = begun().await;
    add_segment(&system, "notes", SegmentKind::Custom, Permission::ReadWrite).await;
    add_segment(&system, "secret", SegmentKind::Custom, Permission::ReadWrite).await;
    for (index, text) in
        [("notes-0", "the flowerpot is blue"), ("secret-0", "the flowerpot is red")]
    {
        let new = NewDetailPage::new(page(index), valid("Key"), text);
        let made = apply(&system, Edit::CreateDetailPage(new)).await.pages.remove(0);
        apply(&system, Edit::RemovePage(made)).await;
    }
    let confined = confined(&system, "scribe", &["sys", "usr", "notes"]);
    let hand = Hand::with_index(confined, options(), hand.index.clone());
    let tree = json!({"query": "flowerpot"});
    let archive = json!({"query": "flowerpot", "archived": true});
    let text = right(hand.call("find_page", tree.clone()).await);
    assert_eq!(text, "no page says that; nothing changed; archived: true looks in the archive");
    let text = right(hand.call("find_page", archive.clone()).await);
    assert!(text.starts_with("notes-1 \"Key\" (in the archive, about "), "{text}");
    assert!(text.contains("the flowerpot is blue") && text.lines().count() == 1, "{text}");
    let text = right(hand.call("get_page", json!({"page": "notes-1"})).await);
    assert!(text.contains("(in the archive)") && text.ends_with("the flowerpot is blue"), "{text}");
    let output = hand.call("recall", archive.clone()).await;
    assert!(output.expands.is_empty());
    let text = right(output);
    assert!(text.starts_with("1 pages, ") && text.contains("they stay in the archive"), "{text}");
    assert!(text.contains("the flowerpot is blue") && !text.contains("red"), "{text}");
    let text = wrong(hand.call("expand_details", json!({"page": "notes-1"})).await);
    assert!(text.ends_with("get_page shows it, and restore_page returns it to the tree"), "{text}");
    for name in ["get_page", "restore_page"] {
        let text = wrong(hand.call(name, json!({"page": "secret-1"})).await);
        assert!(text.starts_with("page secret-1 not found; "), "{name}: {text}");
    }
    // Restoring needs write permission; reading does not.
    let permission = Permission::ReadOnly;
    apply(&system, Edit::SetPermission { segment: segment("notes"), permission }).await;
    let text = wrong(hand.call("restore_page", json!({"page": "notes-1"})).await);
    assert!(text.starts_with("permission denied: operation 'restorePage' on notes-1"), "{text}");
    right(hand.call("get_page", json!({"page": "notes-1"})).await);
    right(hand.call("recall", archive.clone()).await);
    let permission = Permission::ReadWrite;
    apply(&system, Edit::SetPermission { segment: segment("notes"), permission }).await;
    let directory = hand.context.create_contents_page("Found", "", "notes-0", &[]).await.unwrap();
    let text = wrong(hand.call("restore_page", json!({"page": "notes-1", "to": "secret-0"})).await);
    assert!(text.starts_with("page secret-0 not found; "), "{text}");
    let to = json!({"page": "notes-1", "to": directory.to_string()});
    let text = right(hand.call("restore_page", to).await);
    assert!(text.starts_with(&format!("restored notes-1 \"Key\" in {directory}: ")), "{text}");
    let text = right(hand.call("find_page", tree).await);
    assert!(text.starts_with("notes-1 \"Key\" (full, "), "{text}");
    let text = right(hand.call("find_page", archive).await);
    assert_eq!(text, "no page in the archive says that; nothing changed");
}
