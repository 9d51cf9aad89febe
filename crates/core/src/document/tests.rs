use std::sync::Arc;

use futures::executor::block_on;

use super::*;
use crate::*;

/// The sample of the source document, its dots left out.
const SEED_SAMPLE: &str = r#"{
  "segments": [
    {"id": "sys", "name": "System", "rootIndex": "sys-0", "permission": 0, "maxCapacity": 0},
    {"id": "usr", "name": "User", "rootIndex": "usr-0", "permission": 1, "maxCapacity": 4000}
  ],
  "pages": {
    "sys-0": { "type": "ContentsPage", "name": "System" },
    "sys-1": { "type": "DetailPage", "name": "System Prompt" },
    "usr-0": { "type": "ContentsPage", "name": "User" },
    "usr-1": { "type": "DetailPage", "name": "Chat 1" }
  },
  "nextIndex": 5,
  "createdAt": "2025-02-06T10:00:00Z",
  "updatedAt": "2025-02-06T10:00:00Z"
}"#;

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

// B-50, B-51, B-52, C21: the seed's own sample loads, numbers going on after the document's.
#[test]
fn the_seeds_sample_loads() {
    let system = load(SEED_SAMPLE).unwrap();
    let segments = system.reader().segments();
    assert_eq!(segments[0].kind, SegmentKind::System);
    assert_eq!(segments[1].kind, SegmentKind::User);
    assert_eq!(segments[1].capacity, Tokens(4000));
    let page = block_on(system.reader().page(&"usr-1".parse().unwrap())).unwrap();
    assert_eq!(page.page.parent, Some("usr-0".parse().unwrap()));
    assert_eq!(page.page.created_at.to_string(), "2025-02-06T10:00:00Z");
    let new = NewDetailPage::new("usr-0".parse().unwrap(), "Next".parse().unwrap(), "x");
    let made = block_on(system.apply_internal(Edit::CreateDetailPage(new))).unwrap();
    assert_eq!(made.pages, ["usr-6".parse().unwrap()]);
}

// B-49, C21, C25: what is exported loads back to the same export, archive and order included.
#[test]
fn export_and_load_round_trip() {
    let system = load(SEED_SAMPLE).unwrap();
    let apply = |edit| block_on(system.apply_internal(edit)).unwrap();
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
        for field in ["createdAt", "updatedAt"] {
            value.as_object_mut().unwrap().remove(field);
        }
        value
    };
    assert_eq!(comparable(&second), comparable(&first));
    assert!(first.contains(r#""arguments": "{ \"x\":1.0 }""#));
    block_on(again.apply_internal(Edit::RestorePage { page: page("usr-1"), to: None })).unwrap();
    let children =
        block_on(again.reader().children(&page("usr-0"), storage::Order::Forward, None, 10));
    let names: Vec<String> =
        children.unwrap().items.iter().map(|child| child.page.index.to_string()).collect();
    assert_eq!(names, ["usr-1", "usr-6", "usr-9", "usr-10"]);
}

// C04: a file that hides what agents are bound by is repaired, with a warning.
#[test]
fn a_hidden_system_root_is_repaired() {
    let text = SEED_SAMPLE.replace(
        r#""name": "System" }"#,
        r#""name": "System", "visibility": 1, "lifecycle": "ColdArchived" }"#,
    );
    let parsed = parse(text.as_bytes(), now()).unwrap();
    assert_eq!(parsed.warnings.len(), 2);
    let system = load(&text).unwrap();
    let root = block_on(system.reader().page(&"sys-0".parse().unwrap())).unwrap();
    assert_eq!((root.visibility, root.lifecycle), (Visibility::Expanded, Lifecycle::Active));
}

// C21: unknown values, broken trees and broken JSON are refused whole.
#[test]
fn documents_that_cannot_stand_are_refused() {
    let with = |from: &str, to: &str| refused(&SEED_SAMPLE.replace(from, to));
    assert!(with(r#""permission": 0"#, r#""permission": 7"#).contains("unknown permission '7'"));
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
    assert!(with(r#""id": "usr""#, r#""id": "sys""#).contains("given twice"));
    assert!(with(r#""rootIndex": "usr-0""#, r#""rootIndex": "usr-1""#).contains("must be usr-0"));
    assert!(
        with("{\n  \"segments\"", "{ \"schemaVersion\": 99, \"segments\"")
            .contains("schemaVersion")
    );
    assert!(refused("{").contains("EOF"));
    assert!(parse(b"\xff{}", now()).is_err());
}

// C08, C10: a session whose segments were all removed still holds their archive, and takes no document.
#[test]
fn an_archive_is_not_loaded_over() {
    let system = load(SEED_SAMPLE).unwrap();
    for id in ["sys", "usr"] {
        let segment = id.parse().unwrap();
        let gone = Edit::RemoveSegment { segment, cascade: true, force: true };
        block_on(system.apply_internal(gone)).unwrap();
    }
    let plan = parse(SEED_SAMPLE.as_bytes(), now()).unwrap().plan;
    let refused = block_on(system.apply_internal(Edit::Load(Box::new(plan)))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
}

// C21, P-25: what lies below an archived directory comes back with it, also after a round trip.
#[test]
fn an_archived_directory_comes_back_whole() {
    let system = load(SEED_SAMPLE).unwrap();
    let mut folder = NewContentsPage::new("usr-0".parse().unwrap(), "folder".parse().unwrap());
    folder.children = vec!["usr-1".parse().unwrap()];
    let made = block_on(system.apply_internal(Edit::CreateContentsPage(folder))).unwrap();
    let folder = made.pages[0].clone();
    block_on(system.apply_internal(Edit::RemovePage(folder.clone()))).unwrap();
    let copy = load(&block_on(export(&system)).unwrap()).unwrap();
    let restore = Edit::RestorePage { page: folder, to: None };
    block_on(copy.apply_internal(restore)).unwrap();
    assert!(block_on(copy.reader().page(&"usr-1".parse().unwrap())).is_ok());
}

// Retired pages that lead in a circle, and numbers that leave no room, are refused.
#[test]
fn documents_that_would_hang_or_block_are_refused() {
    let circle = SEED_SAMPLE.replace(
        r#""name": "Chat 1" }"#,
        r#""name": "Chat 1", "movedTo": "usr-2" }, "usr-2": { "type": "DetailPage", "name": "x", "movedTo": "usr-1" }"#,
    );
    assert!(refused(&circle).contains("leads back"));
    let large = SEED_SAMPLE.replace("\"nextIndex\": 5", "\"nextIndex\": 18446744073709551615");
    assert!(refused(&large).contains("too large"));
    let far = SEED_SAMPLE.replace("\"usr-1\"", "\"usr-9223372036854775806\"");
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
    let text = chains(80, crate::MOST_DEEP);
    assert_eq!(parse(text.as_bytes(), now()).unwrap().plan.pages.len(), 80 * 256 + 1);
    for deep in [257, 20_000] {
        let error = parse(chains(1, deep).as_bytes(), now()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid document: page 'usr-257': it stands 257 directories deep, and 256 is the most"
        );
        assert_eq!(error.kind(), crate::ErrorKind::Invalid);
    }
}

// C04: a read-only system prompt stands in full, whatever the file says of its pages.
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
        |page| format!("page {page} of a read-only system prompt was hidden; it stands in full");
    assert_eq!(shown(0), (0, vec![warning("sys-1"), warning("sys-2")]));
    assert_eq!(shown(1), (2, Vec::new()), "agents may hide these themselves");
    let parsed = parse(document(0).as_bytes(), now()).unwrap();
    let archived = parsed.plan.pages.iter().find(|loaded| loaded.page.name.as_str() == "Old");
    assert_eq!(archived.unwrap().page.standing, crate::Standing::HotArchived);
}
