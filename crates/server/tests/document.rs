//! The document that describes the routes is kept true: every answer that a test gets is judged by it.

use std::{fs, path::Path, sync::LazyLock};

use serde_json::Value;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&contexture_server::openapi()).unwrap());

// `UPDATE_DOCS=1 cargo test -p contexture-server --test runner document` writes it again.
#[test]
fn the_document_is_what_is_checked_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let document = contexture_server::openapi();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &document).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(there == document, "docs/openapi.json is out of date: run with UPDATE_DOCS=1");
}

#[test]
fn the_document_is_whole() {
    assert_eq!(DOCUMENT["openapi"], "3.1.0");
    let mut ids = std::collections::BTreeSet::new();
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let what = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{what} says what it does");
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{id} names two operations");
            assert!(operation["responses"]["default"].is_object(), "{what} says how it fails");
            let named = operation["parameters"].as_array().into_iter().flatten();
            let mut named: Vec<String> =
                named.map(|it| format!("{}:{}", it["in"], it["name"])).collect();
            let count = named.len();
            named.sort();
            named.dedup();
            assert_eq!(named.len(), count, "{what} names each parameter once");
        }
    }
}

/// Fails if an answer is not what the document says.
pub(crate) fn judge(method: &str, path: &str, status: u16, kind: Option<&str>, body: &str) {
    let path = path.split('?').next().unwrap_or_default();
    let Some(operation) = operation(method, path) else { return };
    let responses = &operation["responses"];
    let answer = responses.get(status.to_string()).unwrap_or_else(|| {
        assert!(status >= 400, "{method} {path}: {status} is not in the document");
        &responses["default"]
    });
    let Some(kind) = kind.filter(|_| !body.is_empty()) else { return };
    let kind = kind.split(';').next().unwrap_or_default();
    if kind == "application/x-ndjson" {
        return;
    }
    let described = &answer["content"][kind];
    assert!(described.is_object(), "{method} {path}: {status} with {kind} is not in the document");
    if kind == "application/json" {
        let value: Value = serde_json::from_str(body).unwrap();
        if let Err(why) = fits(&described["schema"], &value) {
            panic!("{method} {path}: {why}\n{body}");
        }
    }
}

fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let words: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<&str> = template.split('/').collect();
        wanted.len() == words.len()
            && wanted.iter().zip(&words).all(|(it, word)| it == word || it.starts_with('{'))
    };
    let paths = DOCUMENT["paths"].as_object()?;
    let mut found: Vec<&String> = paths.keys().filter(|template| fits(template)).collect();
    // A word as it is comes before any word.
    found.sort_by_key(|template| template.matches('{').count());
    paths[*found.first()?].get(method.to_lowercase())
}

/// Judges a value by a schema. A property that the schema does not name is wrong.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = name.trim_start_matches('#');
        let schema = DOCUMENT.pointer(schema).ok_or_else(|| format!("{name} is not described"))?;
        return fits(schema, value).map_err(|why| format!("{name}: {why}"));
    }
    for either in ["oneOf", "anyOf"] {
        if let Some(schemas) = schema[either].as_array() {
            let wrong: Vec<String> =
                schemas.iter().filter_map(|schema| fits(schema, value).err()).collect();
            if wrong.len() == schemas.len() {
                return Err(wrong.join(" or "));
            }
            return Ok(());
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(some) => some.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_of_type = types.contains(&kind) || (kind == "integer" && types.contains(&"number"));
    if !is_of_type {
        return Err(format!("{value} is not {types:?}"));
    }
    for item in value.as_array().into_iter().flatten() {
        fits(&schema["items"], item)?;
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(format!("'{name}' is missing"));
        }
    }
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    for (name, value) in object {
        let schema = properties.get(name).ok_or_else(|| format!("'{name}' is not described"))?;
        fits(schema, value).map_err(|why| format!("'{name}': {why}"))?;
    }
    Ok(())
}
