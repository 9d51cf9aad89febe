use serde_json::{Value, json};

use super::*;

const MINIMAL: &str = r##"{
  "header": {
    "appId": "notebook",
    "sessionId": "sess-001",
    "version": { "major": 1, "minor": 0, "patch": 0 },
    "timestamp": "2025-12-10T10:00:00Z"
  },
  "state": {
    "currentLod": "Summary",
    "focusId": null,
    "custom": null
  },
  "content": "# Notebook\n\n[SUMMARY] Entry 1",
  "anchors": {},
  "history": null
}"##;

const WITH_ANCHORS: &str = r##"{
  "header": { "appId": "notebook", "sessionId": "sess-002", "version": { "major": 1, "minor": 1, "patch": 0 }, "timestamp": "2025-12-10T10:05:00Z" },
  "state": { "currentLod": "Summary", "focusId": "entry-1", "custom": null },
  "content": "# Notebook\n\n[SUMMARY] **[entry-1]** PipeMux 概览 [button:expand]",
  "anchors": {
    "expand-entry-1": {
      "type": "Button",
      "params": [],
      "target": "entry-1"
    },
    "entry-1": {
      "type": "Reference",
      "params": [],
      "target": null
    }
  },
  "history": null
}"##;

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The minimal Context with one value put at a path; `null` there is JSON's null.
fn changed(path: &str, new: Value) -> String {
    let mut context = value(MINIMAL);
    let (parent, name) = path.rsplit_once('/').unwrap();
    context.pointer_mut(parent).unwrap()[name] = new;
    context.to_string()
}

fn without(path: &str) -> String {
    let mut context = value(MINIMAL);
    let (parent, name) = path.rsplit_once('/').unwrap();
    context.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
    context.to_string()
}

#[track_caller]
fn refused(text: &str) -> String {
    let error = Context::parse(text).expect_err(text);
    assert_eq!(error.kind(), crate::ErrorKind::Invalid);
    error.to_string()
}

// D-33, vector 1.
#[test]
fn the_minimal_vector_is_valid_and_comes_back() {
    let context = Context::parse(MINIMAL).unwrap();
    assert_eq!(context.header().app_id(), "notebook");
    assert_eq!(context.header().session_id(), "sess-001");
    assert_eq!(*context.header().version(), ClaimedVersion { major: 1, minor: 0, patch: 0 });
    assert_eq!(context.header().timestamp().to_string(), "2025-12-10T10:00:00Z");
    assert_eq!(context.state().current_lod, Level::Summary);
    assert!(context.anchors().is_empty() && context.history().is_none());
    // The minimal vector has our order of keys, so it comes back byte for byte.
    assert_eq!(context.to_json(), compact(MINIMAL));
}

/// Takes the white space between tokens out; strings are left alone.
fn compact(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let keep = |c: &char| {
        quoted ^= *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        quoted || !c.is_whitespace()
    };
    text.chars().filter(keep).collect()
}

// D-34, vector 2.
#[test]
fn the_vector_with_anchors_is_valid_and_comes_back() {
    let context = Context::parse(WITH_ANCHORS).unwrap();
    let button = context.anchors().get("expand-entry-1").unwrap();
    assert_eq!((button.kind(), button.target()), (AnchorKind::Button, Some("entry-1")));
    let reference = context.anchors().get("entry-1").unwrap();
    assert_eq!((reference.kind(), reference.target()), (AnchorKind::Reference, None));
    assert_eq!(context.state().focus_id.as_deref(), Some("entry-1"));
    assert_eq!(value(&context.to_json()), value(WITH_ANCHORS));
}

fn example() -> Context {
    let timestamp = Timestamp::from_millis(1_765_360_800_123);
    let key = RenderKey::claimed("k".to_owned());
    let version = ContextVersion::new(7, 2, 1);
    let header = Header::new("app", "demo", version, timestamp, Some(key)).unwrap();
    let custom = [("b", r#"{"c":[2]}"#), ("a", "1.10"), ("t", "text")];
    let custom = custom.map(|(key, value)| (key.to_owned(), RawJson::of_text(value)));
    let state = ContextState {
        current_lod: Level::Gist,
        focus_id: Some("usr-1".to_owned()),
        custom: Some(custom.into()),
    };
    let mut anchors = Anchors::default();
    let usr: crate::PageIndex = "usr-1".parse().unwrap();
    for action in [PageAction::Move, PageAction::Expand] {
        anchors.register(action.key(&usr), action.anchor(&usr)).unwrap();
    }
    anchors.register(reference_key(&usr), Anchor::reference()).unwrap();
    let (action, result) = ("expand-usr-1".to_owned(), "expanded".to_owned());
    let history = History::latest(vec![Round { round: 4, action, result, timestamp }], 50);
    Context::new(header, state, "# Demo\n".to_owned(), anchors, Some(history), Vec::new())
}

// D-01 to D-08: five parts, in a fixed form; equal inputs give equal bytes.
#[test]
fn json_has_a_fixed_form() {
    let expected = concat!(
        r#"{"header":{"appId":"app","sessionId":"demo","version":{"major":7,"minor":2,"patch":1},"#,
        r#""timestamp":"2025-12-10T10:00:00.123Z","renderKey":"k"},"#,
        r#""state":{"currentLod":"Gist","focusId":"usr-1","#,
        r#""custom":{"a":1.10,"b":{"c":[2]},"t":"text"}},"#,
        r##""content":"# Demo\n","##,
        r#""anchors":{"expand-usr-1":{"type":"Button","params":[],"target":"usr-1"},"#,
        r#""move-usr-1":{"type":"Form","params":["to"],"target":"usr-1"},"#,
        r#""usr-1":{"type":"Reference","params":[],"target":null}},"#,
        r#""history":{"4":{"action":"expand-usr-1","result":"expanded","#,
        r#""timestamp":"2025-12-10T10:00:00.123Z"}}}"#
    );
    assert_eq!(example().to_json(), expected);
    assert_eq!(example(), example());
    // What we write, we read, and write the same again.
    assert_eq!(Context::parse(expected).unwrap().to_json(), expected);
}

// D-20: levels by the seed's names, and no others.
#[test]
fn levels_are_spelt_as_in_the_seed() {
    assert!(Level::Gist < Level::Summary && Level::Summary < Level::Full);
    for (name, level) in [("Gist", Level::Gist), ("Summary", Level::Summary), ("Full", Level::Full)]
    {
        let context = Context::parse(&changed("/state/currentLod", json!(name))).unwrap();
        assert_eq!(context.state().current_lod, level);
        assert_eq!(value(&context.to_json())["state"]["currentLod"], name);
    }
    for bad in [json!("summary"), json!("Most"), json!(""), json!(1), json!(null)] {
        refused(&changed("/state/currentLod", bad));
    }
}

// D-17, D-02 to D-04: what every Context must have.
#[test]
fn the_minimum_is_required() {
    for path in [
        "/header",
        "/header/appId",
        "/header/sessionId",
        "/header/version",
        "/header/version/major",
        "/header/version/minor",
        "/header/version/patch",
        "/header/timestamp",
        "/state",
        "/state/currentLod",
        "/content",
        "/anchors",
    ] {
        let name = path.rsplit('/').next().unwrap();
        for text in [without(path), changed(path, Value::Null)] {
            let message = refused(&text);
            assert!(message.contains(&format!("'{name}'")), "{path}: {message}");
        }
    }
    for path in ["/header/appId", "/header/sessionId"] {
        for bad in [json!(""), json!(" "), json!(7)] {
            refused(&changed(path, bad));
        }
    }
    for bad in [json!(-1), json!(1.5), json!("1")] {
        refused(&changed("/header/version/major", bad));
    }
    refused(&changed("/header/timestamp", json!("yesterday")));
    refused(&changed("/anchors", json!([])));
    let long = refused(&changed("/header/version/major", json!("x".repeat(10_000))));
    assert!(long.len() < 300, "{long}");
    for bad in ["", "null", "[]", "{", "\u{feff}{}", &"[".repeat(100_000)] {
        refused(bad);
    }
}

// D-03, D-06, D-32: what may be missing may be, and what is new is passed over.
#[test]
fn optional_fields_may_be_missing_and_unknown_ones_are_passed_over() {
    for path in ["/state/focusId", "/state/custom", "/history"] {
        assert_eq!(Context::parse(&without(path)).unwrap().to_json(), compact(MINIMAL));
    }
    for path in ["/extra", "/header/extra", "/header/version/extra", "/state/extra"] {
        let text = changed(path, json!({"any": [1, {"thing": null}]}));
        assert_eq!(Context::parse(&text).unwrap().to_json(), compact(MINIMAL), "{path}");
    }
    // D-03: custom values are any JSON, and stay what they were.
    let given = changed("/state/custom", json!({"a": "1", "b": [2], "c": {"d": null}, "e": 5}));
    let parsed = Context::parse(&given).unwrap();
    assert_eq!(value(&parsed.to_json())["state"]["custom"], value(&given)["state"]["custom"]);
    let custom = parsed.state().custom.clone().unwrap();
    assert_eq!(custom["b"].read::<Vec<u8>>().unwrap(), [2]);
}

// D-05, D-19, D-22: anchors follow their rules also when they are read.
#[test]
fn anchors_are_checked() {
    let form = json!({"type": "Form", "params": ["to"], "target": null});
    let parsed = Context::parse(&changed("/anchors", json!({"move-a-1": form}))).unwrap();
    assert_eq!(parsed.anchors().get("move-a-1").unwrap().params(), ["to"]);
    for (key, bad) in [
        ("a", json!({"type": "Button", "params": ["x"], "target": null})),
        ("a", json!({"type": "Form", "params": [], "target": null})),
        ("a", json!({"type": "Reference", "params": ["x"], "target": null})),
        ("a", json!({"type": "button", "params": [], "target": null})),
        ("a", json!({"type": "Form", "params": ["x", "x"], "target": null})),
        ("a", json!({"type": "Form", "params": [1], "target": null})),
        ("a", json!({"type": "Button", "params": null, "target": null})),
        ("a", json!({"type": "Button", "params": [], "target": 3})),
        ("a", json!({"params": []})),
        ("a", json!(null)),
        ("a b", json!({"type": "Button", "params": [], "target": null})),
        ("", json!({"type": "Button", "params": [], "target": null})),
    ] {
        let anchors = [(key.to_owned(), bad)].into_iter().collect();
        refused(&changed("/anchors", Value::Object(anchors)));
    }
    let button = r#"{"type":"Button","params":[],"target":null}"#;
    let twice = format!(r#""anchors": {{"a": {button}, "\u0061": {button}}}"#);
    let message = refused(&MINIMAL.replace(r#""anchors": {}"#, &twice));
    assert!(message.contains("'a' appears twice in anchors"), "{message}");
}

// D-22: no field may have two values.
#[test]
fn a_field_given_twice_is_refused() {
    for (field, again) in [
        (r#""minor": 0"#, r#""minor": 0, "minor": 1"#),
        (r#""focusId": null"#, r#""focusId": null, "focusId": "usr-1""#),
        (r#""anchors": {}"#, r#""anchors": {}, "anchors": {}"#),
        (r#""appId": "notebook""#, r#""appId": "notebook", "appId": "other""#),
        (r#""custom": null"#, r#""custom": {"a": "1", "a": "2"}"#),
    ] {
        assert!(refused(&MINIMAL.replace(field, again)).contains("appears twice"), "{again}");
    }
}

// D-06: rounds as an array or by their numbers, oldest first, each once.
#[test]
fn history_is_read_in_both_forms() {
    let round = |result: &str| json!({"action": "press", "result": result, "timestamp": "2025-12-10T10:00:00Z"});
    let numbered = |number: u64, result: &str| {
        let mut round = round(result);
        round["round"] = json!(number);
        round
    };
    let read = |history: Value| Context::parse(&changed("/history", history));
    let array = read(json!([numbered(10, "ten"), numbered(9, "nine")])).unwrap();
    let object = read(json!({"10": round("ten"), "9": round("nine")})).unwrap();
    assert_eq!(array, object);
    let results: Vec<&str> =
        array.history().unwrap().rounds().iter().map(|round| round.result.as_str()).collect();
    assert_eq!(results, ["nine", "ten"]);
    assert!(read(json!([])).unwrap().history().unwrap().rounds().is_empty());
    for bad in [
        json!([numbered(1, "a"), numbered(1, "b")]),
        json!([round("unnumbered")]),
        json!({"first": round("a")}),
        json!({"1": {"action": "press"}}),
        json!("none"),
        json!([1]),
    ] {
        assert!(read(bad.clone()).is_err(), "{bad}");
    }
}

// D-23, D-25: a failure is a whole Context that says what went wrong.
#[test]
fn an_error_context_has_all_it_must() {
    let told = vec![
        Diagnostic {
            code: "corrupt".to_owned(),
            message: "page usr-3:\n[button:x] `no`".to_owned(),
        },
        Diagnostic { code: "invalid".to_owned(), message: String::new() },
    ];
    let now = Timestamp::from_millis(0);
    let context = Context::error("", " ", ContextVersion::NONE, now, told.clone());
    assert_eq!(context.header().app_id(), "unknown");
    assert_eq!(context.header().session_id(), "unknown");
    assert!(context.anchors().is_empty());
    assert_eq!(context.diagnostics(), told);
    assert_eq!(
        context.content(),
        "# Error\n\nThis context could not be rendered.\n\n\
         - **corrupt**: page usr-3: \\[button:x\\] \\`no\\`\n- **invalid**:\n"
    );
    let parsed = Context::parse(&context.to_json()).unwrap();
    assert_eq!(parsed.diagnostics(), told);
    assert_eq!(parsed.to_json(), context.to_json());

    let bare = Context::error("app", "demo", ContextVersion::new(4, 0, 0), now, Vec::new());
    assert_eq!(bare.header().app_id(), "app");
    assert!(!bare.content().is_empty() && !bare.to_json().contains("diagnostics"));
    Context::parse(&bare.to_json()).unwrap();
}

// D-27: an anchor that did not get its key is told among the diagnostics.
#[test]
fn anchor_conflicts_are_diagnostics() {
    let Context { header, state, content, mut anchors, .. } = example();
    anchors.register("usr-1".parse().unwrap(), Anchor::button(None)).unwrap_err();
    let context = Context::new(header, state, content, anchors, None, Vec::new());
    let [told] = context.diagnostics() else { panic!("{:?}", context.diagnostics()) };
    assert_eq!(told.code, "anchor-conflict");
    assert_eq!(told.message, "anchor 'usr-1' is declared twice; the first declaration stands");
    assert_eq!(context.anchors().get("usr-1").unwrap().kind(), AnchorKind::Reference);
}

// D-30: a Context that was read has only claimed its version.
#[test]
fn a_parsed_version_is_only_claimed() {
    let context = example();
    let parsed = Context::parse(&context.to_json()).unwrap();
    let claimed: &ClaimedVersion = parsed.header().version();
    assert_eq!(*claimed, ClaimedVersion::from(*context.header().version()));
}

// What was rendered serves again only where version and key are equal, and for nothing that
// failed.
#[test]
fn reuse_needs_equal_version_and_key() {
    let at = Timestamp::from_millis(0);
    let header = |version: (u64, u64, u64), key: &str| {
        let (major, minor, patch) = version;
        let key = (!key.is_empty()).then(|| RenderKey::of([key.as_bytes()]));
        Header::new("app", "demo", ContextVersion::new(major, minor, patch), at, key).unwrap()
    };
    let first = header((3, 4, 5), "full");
    assert!(first.can_reuse(&header((3, 4, 5), "full")));
    for other in [(2, 4, 5), (3, 3, 5), (3, 4, 6)] {
        assert!(!first.can_reuse(&header(other, "full")));
    }
    assert!(!first.can_reuse(&header((3, 4, 5), "gist")));
    assert!(!header((3, 4, 5), "").can_reuse(&header((3, 4, 5), "")));
}
