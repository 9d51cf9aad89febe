use std::sync::Arc;

use futures::executor::block_on;

use super::*;
use crate::*;

/// The sample of the source document, word for word but for its dots.
fn sample() -> String {
    include_str!("sample.txt").replace(", ...", "")
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_760_000_000_000)
}

fn load(text: &str) -> Result<ContextSystem> {
    let parsed = parse(text.as_bytes(), now())?;
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let storage = Arc::new(MemoryStorage::new());
    let session = "loaded".parse()?;
    let edit = Edit::Load(Box::new(parsed.plan));
    block_on(ContextSystem::create_with(storage, session, "test", clock, &edit))
}

fn refused(text: &str) -> String {
    let error = parse(text.as_bytes(), now()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    error.to_string()
}

fn as_json(system: &ContextSystem) -> serde_json::Value {
    serde_json::from_str(&block_on(export(system)).unwrap()).unwrap()
}

fn add_note(system: &ContextSystem, parent: &str) -> String {
    let new = NewDetailPage::new(parent.parse().unwrap(), "Next".parse().unwrap(), "x");
    let made = block_on(system.as_system().apply(Edit::CreateDetailPage(new))).unwrap();
    made.pages[0].to_string()
}

// B-50, B-51, B-52: the seed's own sample loads, all that it says is kept, and permissions are
// written as words.
#[test]
fn the_seeds_sample_loads() {
    let system = load(&sample()).unwrap();
    let segments = system.reader().segments();
    assert_eq!(segments[0].kind, SegmentKind::System);
    assert_eq!(segments[1].kind, SegmentKind::User);
    assert_eq!(segments[1].capacity, Tokens(4000));
    let page = block_on(system.reader().page(&"usr-1".parse().unwrap())).unwrap();
    assert_eq!(page.page.parent, Some("usr-0".parse().unwrap()));
    let (given, written) =
        (serde_json::from_str::<serde_json::Value>(&sample()).unwrap(), as_json(&system));
    for key in ["nextIndex", "createdAt", "updatedAt"] {
        assert_eq!(written[key], given[key], "{key}");
    }
    for (at, permission) in ["read-only", "read-write"].into_iter().enumerate() {
        assert_eq!(written["segments"][at]["permission"], permission);
        for key in ["id", "name", "rootIndex", "maxCapacity"] {
            assert_eq!(written["segments"][at][key], given["segments"][at][key], "{key}");
        }
        for key in ["createdAt", "updatedAt"] {
            assert_eq!(written["segments"][at][key], given[key], "{key}");
        }
    }
    for (index, page) in given["pages"].as_object().unwrap() {
        let kept = &written["pages"][index];
        assert_eq!((&kept["type"], &kept["name"]), (&page["type"], &page["name"]));
        assert_eq!(
            (&kept["createdAt"], &kept["updatedAt"]),
            (&given["createdAt"], &given["updatedAt"])
        );
    }
}

// B-50: the session has the document's times, also where it was there before; what happens then
// has its own.
#[test]
fn a_session_has_the_times_of_its_document() {
    let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
    let made = ContextSystem::create(
        Arc::new(MemoryStorage::new()),
        "there".parse().unwrap(),
        "test",
        clock,
    );
    let system = block_on(made).unwrap();
    let other = block_on(ContextSystem::open(
        system.storage(),
        "there".parse().unwrap(),
        Arc::new(ManualClock::at_millis(1_760_000_000_000)),
    ));
    let other = other.unwrap();
    let plan = parse(sample().as_bytes(), now()).unwrap().plan;
    block_on(system.as_system().apply(Edit::Load(Box::new(plan)))).unwrap();
    let info = block_on(system.info()).unwrap();
    assert_eq!(info.created_at.to_string(), "2025-02-06T10:00:00Z");
    assert_eq!(info.updated_at, info.created_at);
    assert_eq!(system.created_at(), info.created_at);
    assert!(block_on(other.refresh()).unwrap(), "it is the same session still");
    assert_eq!(other.created_at(), info.created_at);
    add_note(&system, "usr-0");
    let later = block_on(system.info()).unwrap();
    assert_eq!((later.created_at, later.updated_at), (info.created_at, now()));
}

// B-29, B-50: `nextIndex` is the last number given, on reading and on writing.
#[test]
fn numbers_continue_after_the_last_one_given() {
    let system = load(&sample()).unwrap();
    assert_eq!(add_note(&system, "usr-0"), "usr-6");
    let written = as_json(&system);
    assert_eq!(
        (&written["nextIndex"], &written["segments"][1]["nextIndex"]),
        (&6.into(), &6.into())
    );
    assert_eq!(written["segments"][0]["nextIndex"], 5);
    let again = load(&written.to_string()).unwrap();
    assert_eq!(as_json(&again)["nextIndex"], 6);
    assert_eq!([add_note(&again, "usr-0"), add_note(&again, "sys-0")], ["usr-7", "sys-6"]);
    // Its own numbers, where they are larger.
    let larger = load(&sample().replace("\"usr-1\"", "\"usr-9\"")).unwrap();
    assert_eq!([add_note(&larger, "usr-0"), add_note(&larger, "sys-0")], ["usr-10", "sys-6"]);
    let own = sample().replace("\"maxCapacity\": 4000", "\"nextIndex\": 0");
    assert_eq!(add_note(&load(&own).unwrap(), "usr-0"), "usr-2");
    // An empty segment has given none.
    let fresh = load(r#"{"segments": [{"id": "usr", "permission": 1}]}"#).unwrap();
    assert_eq!(as_json(&fresh)["nextIndex"], 0);
    assert_eq!(add_note(&fresh, "usr-0"), "usr-1");
}

// P-02, P-25: `lifecycle` is kept, as a number or as a word; what lies below something that
// keeps it out of the window comes back with that.
#[test]
fn the_lifecycle_is_kept() {
    let with = |fields: &str| {
        let page = format!(r#""name": "Chat 1", {fields} }}"#);
        load(&sample().replace(r#""name": "Chat 1" }"#, &page)).unwrap()
    };
    let usr_1: PageIndex = "usr-1".parse().unwrap();
    for (given, kept) in [
        ("0", Lifecycle::Active),
        ("1", Lifecycle::HotArchived),
        ("2", Lifecycle::ColdArchived),
        ("\"HotArchived\"", Lifecycle::HotArchived),
    ] {
        let system = with(&format!(r#""lifecycle": {given}"#));
        let page = block_on(system.reader().page_or_archived(&usr_1)).unwrap();
        assert_eq!(page.lifecycle, kept, "{given}");
        let again = load(&block_on(export(&system)).unwrap()).unwrap();
        assert_eq!(block_on(again.reader().page_or_archived(&usr_1)).unwrap().lifecycle, kept);
        if kept != Lifecycle::Active {
            let back = Edit::RestorePage { page: usr_1.clone(), to: None };
            block_on(again.as_system().apply(back)).unwrap();
        }
        assert_eq!(block_on(again.reader().page(&usr_1)).unwrap().lifecycle, Lifecycle::Active);
    }
    for (above, back) in [
        (r#""visibility": 1"#, Edit::ExpandDetails("usr-2".parse().unwrap())),
        (r#""lifecycle": 1"#, Edit::RestorePage { page: "usr-2".parse().unwrap(), to: None }),
        (r#""lifecycle": 2"#, Edit::RestorePage { page: "usr-2".parse().unwrap(), to: None }),
    ] {
        let own = if above.ends_with('2') { 2 } else { 1 };
        let system = with(
            &format!(
                r#""lifecycle": {own}, "parent": "usr-2" }},
            "usr-2": {{ "type": "ContentsPage", "name": "Folder", "visibility": 0, {above}"#
            )
            .replace(r#""visibility": 0, "visibility": 1"#, r#""visibility": 1"#),
        );
        let page = block_on(system.reader().page_or_archived(&usr_1)).unwrap();
        assert_eq!(page.lifecycle as u8, own, "{above}");
        block_on(system.as_system().apply(back)).unwrap();
        let page = block_on(system.reader().page(&usr_1)).unwrap();
        assert_eq!(page.lifecycle, Lifecycle::Active, "{above}");
    }
}

// P-10: the number of messages merged into a text is kept, through storing and exporting.
#[test]
fn the_message_count_is_kept() {
    let page = r#""name": "Chat 1", "detail": "User: hi\nAssistant: hello", "messageCount": 2 }"#;
    let system = load(&sample().replace(r#""name": "Chat 1" }"#, page)).unwrap();
    for system in [load(&block_on(export(&system)).unwrap()).unwrap(), system] {
        system.evict_all();
        let page = block_on(system.reader().page(&"usr-1".parse().unwrap())).unwrap();
        let detail = page.page.detail().unwrap();
        assert_eq!(
            (detail.messages, detail.message_count()),
            (1, 2),
            "windows go by what it holds"
        );
        assert_eq!(as_json(&system)["pages"]["usr-1"]["messageCount"], 2);
        assert_eq!(as_json(&system)["pages"]["usr-1"]["detail"], "User: hi\nAssistant: hello");
    }
    let directory = r#""name": "System", "messageCount": 2 }"#;
    assert!(refused(&sample().replace(r#""name": "System" }"#, directory)).contains("no detail"));
}

// B-49: what is exported loads back to the same export, archive and order included.
#[test]
fn export_and_load_round_trip() {
    let system = load(&sample()).unwrap();
    let apply = |edit| block_on(system.as_system().apply(edit)).unwrap();
    let page = |index: &str| -> PageIndex { index.parse().unwrap() };
    let messages = message::wire::parse_messages(
        r#"[{"role":"user","content":"你好"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{ \"x\":1.0 }"}}]},
            {"role":"tool","tool_call_id":"a","content":"done"}]"#.as_bytes(),
    );
    apply(Edit::AddTurn { segment: "usr".parse().unwrap(), messages: messages.unwrap() });
    for name in ["a", "b", "c"] {
        let new = NewDetailPage::new(page("usr-0"), name.parse().unwrap(), "text");
        apply(Edit::CreateDetailPage(new));
    }
    let mut folder = NewContentsPage::new(page("usr-0"), "folder".parse().unwrap());
    folder.children = vec![page("usr-8"), page("usr-7")];
    apply(Edit::CreateContentsPage(folder));
    apply(Edit::RemovePage(page("usr-1")));
    apply(Edit::ArchivePage(page("usr-9")));
    apply(Edit::HideDetails(page("usr-6")));
    let first = block_on(export(&system)).unwrap();
    system.evict_all();
    assert_eq!(block_on(export(&system)).unwrap(), first);

    let again = load(&first).unwrap();
    let second = block_on(export(&again)).unwrap();
    let comparable = |text: &str| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        for page in value["pages"].as_object_mut().unwrap().values_mut() {
            page.as_object_mut().unwrap().remove("place");
        }
        value
    };
    assert_eq!(comparable(&second), comparable(&first));
    assert!(first.contains(r#""arguments": "{ \"x\":1.0 }""#));
    block_on(again.as_system().apply(Edit::RestorePage { page: page("usr-1"), to: None })).unwrap();
    let children =
        block_on(again.reader().children(&page("usr-0"), storage::Order::Forward, None, 10));
    let names: Vec<String> =
        children.unwrap().items.iter().map(|child| child.page.index.to_string()).collect();
    assert_eq!(names, ["usr-1", "usr-6", "usr-9", "usr-10"]);
}

// A file that hides what agents are bound by is repaired, with a warning.
#[test]
fn a_hidden_system_root_is_repaired() {
    let text = sample().replace(
        r#""name": "System" }"#,
        r#""name": "System", "visibility": 1, "lifecycle": "ColdArchived" }"#,
    );
    let parsed = parse(text.as_bytes(), now()).unwrap();
    assert_eq!(parsed.warnings.len(), 2);
    let system = load(&text).unwrap();
    let root = block_on(system.reader().page(&"sys-0".parse().unwrap())).unwrap();
    assert_eq!((root.visibility, root.lifecycle), (Visibility::Expanded, Lifecycle::Active));
}

// Unknown values, broken trees and broken JSON are refused whole.
#[test]
fn documents_that_cannot_stand_are_refused() {
    let with = |from: &str, to: &str| refused(&sample().replace(from, to));
    assert!(with(r#""permission": 0"#, r#""permission": 7"#).contains("unknown permission '7'"));
    assert!(with(r#""permission": 0"#, r#""permission": "all""#).contains("unknown permission"));
    assert!(
        with(r#""permission": 0"#, r#""segmentType": "blob""#).contains("unknown segment kind")
    );
    assert!(
        with(r#""name": "Chat 1""#, r#""name": "x", "lifecycle": 3"#)
            .contains("unknown lifecycle '3'")
    );
    assert!(
        with(r#""name": "Chat 1""#, r#""name": "x", "archived": "warm""#).contains("neither hot")
    );
    assert!(
        with(r#""type": "DetailPage", "name": "Chat 1""#, r#""type": "Blob", "name": "x""#)
            .contains("unknown type")
    );
    assert!(
        with(r#""name": "Chat 1""#, r#""name": "Chat 1", "visibility": "Shown""#)
            .contains("unknown visibility")
    );
    assert!(with(r#""name": "Chat 1""#, r#""name": """#).contains("invalid name"));
    assert!(with(r#""usr-1""#, r#""usr-01""#).contains("invalid page index"));
    assert!(with(r#""usr-1""#, r#""pub-1""#).contains("segment is not listed"));
    assert!(
        with(r#""name": "Chat 1""#, r#""name": "x", "parent": "usr-9""#).contains("is missing")
    );
    assert!(
        with(r#""name": "Chat 1""#, r#""name": "x", "parent": "usr-1""#)
            .contains("not a ContentsPage")
    );
    assert!(
        with(r#""name": "Chat 1""#, r#""name": "x", "parent": "sys-0""#)
            .contains("another segment")
    );
    assert!(with(r#""maxCapacity": 4000"#, r#""maxCapacity": -1"#).contains("negative"));
    assert!(with(r#""id": "usr""#, r#""id": "sys""#).contains("appears twice"));
    assert!(with(r#""rootIndex": "usr-0""#, r#""rootIndex": "usr-1""#).contains("must be usr-0"));
    assert!(
        with("{\n  \"segments\"", "{ \"schemaVersion\": 99, \"segments\"")
            .contains("schemaVersion")
    );
    assert!(refused("{").contains("EOF"));
    assert!(parse(b"\xff{}", now()).is_err());
}

// A session whose segments were all removed still holds their archive, and takes no document.
#[test]
fn an_archive_is_not_loaded_over() {
    let system = load(&sample()).unwrap();
    for id in ["sys", "usr"] {
        let segment = id.parse().unwrap();
        let gone = Edit::RemoveSegment { segment, cascade: true, force: true };
        block_on(system.as_system().apply(gone)).unwrap();
    }
    let plan = parse(sample().as_bytes(), now()).unwrap().plan;
    let refused = block_on(system.as_system().apply(Edit::Load(Box::new(plan)))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
}

// P-25: what lies below an archived directory comes back with it, also after a round trip.
#[test]
fn an_archived_directory_comes_back_whole() {
    let system = load(&sample()).unwrap();
    let mut folder = NewContentsPage::new("usr-0".parse().unwrap(), "folder".parse().unwrap());
    folder.children = vec!["usr-1".parse().unwrap()];
    let made = block_on(system.as_system().apply(Edit::CreateContentsPage(folder))).unwrap();
    let folder = made.pages[0].clone();
    block_on(system.as_system().apply(Edit::RemovePage(folder.clone()))).unwrap();
    let copy = load(&block_on(export(&system)).unwrap()).unwrap();
    let restore = Edit::RestorePage { page: folder, to: None };
    block_on(copy.as_system().apply(restore)).unwrap();
    assert!(block_on(copy.reader().page(&"usr-1".parse().unwrap())).is_ok());
}

// Retired pages that lead in a circle, and numbers that leave no room, are refused.
#[test]
fn documents_that_would_hang_or_block_are_refused() {
    let circle = sample().replace(
        r#""name": "Chat 1" }"#,
        r#""name": "Chat 1", "movedTo": "usr-2" }, "usr-2": { "type": "DetailPage", "name": "x", "movedTo": "usr-1" }"#,
    );
    assert!(refused(&circle).contains("leads back"));
    let large = sample().replace("\"nextIndex\": 5", "\"nextIndex\": 18446744073709551615");
    assert!(refused(&large).contains("too large"));
    let far = sample().replace("\"usr-1\"", "\"usr-9223372036854775806\"");
    assert!(refused(&far).contains("too large"));
}

/// Writes a document of directories in chains, each as deep as that.
fn chains(count: usize, deep: usize) -> String {
    let mut pages = String::from(r#""usr-0": {"type": "ContentsPage", "name": "User"}"#);
    for number in 1..=count * deep {
        let parent = if (number - 1) % deep == 0 { 0 } else { number - 1 };
        pages += &format!(
            r#", "usr-{number}": {{"type": "ContentsPage", "name": "n", "parent": "usr-{parent}"}}"#
        );
    }
    format!(r#"{{"segments": [{{"id": "usr", "permission": 1}}], "pages": {{{pages}}}}}"#)
}

// A deep document is read in time that grows with its size; one that is too deep is refused.
#[test]
fn documents_are_at_most_256_deep() {
    let text = chains(80, crate::storage::MAX_DEPTH);
    assert_eq!(parse(text.as_bytes(), now()).unwrap().plan.pages.len(), 80 * 256 + 1);
    for deep in [257, 20_000] {
        let error = parse(chains(1, deep).as_bytes(), now()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid document: page 'usr-257': it is 257 directories deep; the limit is 256"
        );
        assert_eq!(error.kind(), crate::ErrorKind::Invalid);
    }
}

// A read-only system prompt stands in full, whatever the file says of its pages.
#[test]
fn a_hidden_page_of_a_read_only_prompt_is_shown_with_a_warning() {
    let document = |permission: u64| {
        format!(
            r#"{{"segments": [{{"id": "sys", "segmentType": "system", "permission": {permission}}}],
            "pages": {{
                "sys-1": {{"type": "ContentsPage", "name": "Rules", "visibility": 1}},
                "sys-2": {{"type": "DetailPage", "name": "Rule", "parent": "sys-1", "detail": "x",
                    "visibility": "Hidden"}},
                "sys-3": {{"type": "DetailPage", "name": "Old", "archived": "hot", "detail": "x"}}
            }}}}"#
        )
    };
    let shown = |permission| {
        let parsed = parse(document(permission).as_bytes(), now()).unwrap();
        let hidden =
            parsed.plan.pages.iter().filter(|loaded| loaded.page.visibility == Visibility::Hidden);
        (hidden.count(), parsed.warnings)
    };
    let warning =
        |page| format!("page {page} of a read-only system prompt was hidden; it was expanded");
    assert_eq!(shown(0), (0, vec![warning("sys-1"), warning("sys-2")]));
    assert_eq!(shown(1), (2, Vec::new()), "agents may hide these themselves");
    let parsed = parse(document(0).as_bytes(), now()).unwrap();
    let archived = parsed.plan.pages.iter().find(|loaded| loaded.page.name.as_str() == "Old");
    assert_eq!(archived.unwrap().page.standing, crate::storage::PageStanding::HotArchived);
}
