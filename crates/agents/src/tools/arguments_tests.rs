use contexture_core::message::RawJson;

use super::*;

fn spec(schema: &str) -> ToolSpec {
    let schema = RawJson::new(schema).unwrap();
    ToolSpec { name: "try_it".to_owned(), description: String::new(), schema }
}

const CLOSED: &str = r#"{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"},"tags":{"type":["array","null"]}},"required":["path"],"additionalProperties":false}"#;

const TAKES: &str = "try_it takes {path: string, limit?: integer, tags?: array or null}";

#[test]
fn what_is_wrong_is_said_with_the_fields_there_are() {
    let spec = spec(CLOSED);
    let table = [
        ("", "missing: 'path'"),
        ("{}", "missing: 'path'"),
        ("[]", "the arguments must be a JSON object, but they are array"),
        ("\"path\"", "the arguments must be a JSON object, but they are string"),
        (r#"{"path":3}"#, "'path' must be string, but it is integer"),
        (r#"{"path":null}"#, "'path' must be string, but it is null"),
        (r#"{"path":"a","limit":"3"}"#, "'limit' must be integer, but it is string"),
        (r#"{"path":"a","limit":2.5}"#, "'limit' must be integer, but it is number"),
        (r#"{"path":"a","file":1}"#, "unknown field 'file'"),
        (
            r#"{"path":1,"file":1}"#,
            "'path' must be string, but it is integer; unknown field 'file'",
        ),
    ];
    for (text, wrong) in table {
        assert_eq!(parse(&spec, text), Err(format!("{wrong}. {TAKES}")), "{text}");
    }
    let broken = parse(&spec, r#"{"path": "#).unwrap_err();
    assert!(broken.starts_with("the arguments are not valid JSON: EOF"), "{broken}");
    assert!(broken.ends_with(TAKES), "{broken}");
}

#[test]
fn what_is_right_passes() {
    let spec = spec(CLOSED);
    for text in [
        r#"{"path":"a"}"#,
        r#"{"path":"a","limit":3}"#,
        r#"{"path":"a","limit":null}"#,
        r#"{"path":"a","limit":3.0,"tags":[]}"#,
    ] {
        assert_eq!(parse(&spec, text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}

#[test]
fn an_open_schema_lets_unknown_fields_pass_and_an_empty_text_is_no_arguments() {
    let open = spec(r#"{"type":"object"}"#);
    assert_eq!(parse(&open, "  ").unwrap(), serde_json::json!({}));
    assert_eq!(parse(&open, r#"{"x":[1]}"#).unwrap(), serde_json::json!({"x": [1]}));
    assert!(parse(&open, "[").unwrap_err().ends_with("try_it takes no arguments"));
}

#[test]
fn deep_nesting_is_an_error_and_no_stack_overflow() {
    let deep = format!("{{\"path\":{}", "[".repeat(100_000));
    assert!(parse(&spec(CLOSED), &deep).unwrap_err().contains("not valid JSON"));
}
