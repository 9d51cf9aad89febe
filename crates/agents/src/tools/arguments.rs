//! Arguments of calls: read from the text a model wrote, and checked against the tool's schema.
//!
//! Only the outermost fields are checked: that they are there, known and of the right type. What is
//! deeper is the tool's own business.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::shorten;
use crate::tool::{ToolOutput, ToolSpec};

/// The longest text of arguments that is read.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Reads and checks the arguments of a call; an empty text stands for none.
pub(super) fn parse(spec: &ToolSpec, text: &str) -> Result<Value, String> {
    let schema = spec.schema.read().unwrap_or_default();
    let wrong = |what: String| format!("{what}. {}", describe(&spec.name, &schema));
    if text.trim().is_empty() {
        return check(&schema, Map::new()).map_err(wrong);
    }
    if text.len() > MOST_BYTES {
        return Err(format!("the arguments are too long: more than {MOST_BYTES} bytes"));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => check(&schema, fields).map_err(wrong),
        Ok(other) => Err(wrong(not_an_object(&other))),
        Err(error) => Err(wrong(format!("the arguments are not valid JSON: {error}"))),
    }
}

/// Checks arguments that were read already; null stands for none.
pub(super) fn of_value(spec: &ToolSpec, arguments: Value) -> Result<Value, String> {
    let schema = spec.schema.read().unwrap_or_default();
    let wrong = |what: String| format!("{what}. {}", describe(&spec.name, &schema));
    match arguments {
        Value::Object(fields) => check(&schema, fields).map_err(wrong),
        Value::Null => check(&schema, Map::new()).map_err(wrong),
        other => Err(wrong(not_an_object(&other))),
    }
}

fn not_an_object(arguments: &Value) -> String {
    format!("the arguments must be a JSON object, but they are {}", type_of(arguments))
}

/// Reads checked arguments as a tool's own type.
pub(super) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolOutput> {
    T::deserialize(arguments)
        .map_err(|error| ToolOutput::failed(format!("the arguments are wrong: {error}")))
}

/// What of a schema is looked at.
#[derive(Debug, Default, serde::Deserialize)]
struct Schema {
    #[serde(default)]
    properties: Map<String, Value>,
    #[serde(default)]
    required: Vec<String>,
    #[serde(default, rename = "additionalProperties")]
    additional: Option<Value>,
}

fn check(schema: &Schema, fields: Map<String, Value>) -> Result<Value, String> {
    let missing: Vec<&str> = schema
        .required
        .iter()
        .filter(|name| !fields.contains_key(*name))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        return Err(format!("missing: '{}'", missing.join("', '")));
    }
    let closed = schema.additional == Some(Value::Bool(false));
    let mut wrong: Vec<String> = Vec::new();
    for (name, value) in &fields {
        let Some(property) = schema.properties.get(name) else {
            if closed {
                wrong.push(format!("unknown field '{}'", shorten(name, 80)));
            }
            continue;
        };
        let left_out = value.is_null() && !schema.required.contains(name);
        let types = types_of(property);
        if !left_out && !types.is_empty() && !types.iter().any(|wanted| fits(wanted, value)) {
            wrong.push(format!(
                "'{name}' must be {}, but it is {}",
                types.join(" or "),
                type_of(value)
            ));
        }
    }
    if wrong.is_empty() {
        return Ok(Value::Object(fields));
    }
    // The order of a map may depend on how the JSON reader was built.
    wrong.sort();
    Err(wrong.join("; "))
}

/// Returns the types a property names; none where it says it in another way.
fn types_of(property: &Value) -> Vec<&str> {
    match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn fits(wanted: &str, value: &Value) -> bool {
    match wanted {
        "string" => value.is_string(),
        "integer" => {
            value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|it| it.fract() == 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Shows the fields of a schema, those that must be given first.
fn describe(tool: &str, schema: &Schema) -> String {
    let mut fields: Vec<(bool, String)> = schema
        .properties
        .iter()
        .map(|(name, property)| {
            let optional = !schema.required.contains(name);
            let types = types_of(property).join(" or ");
            let types = if types.is_empty() { "any".to_owned() } else { types };
            let mark = if optional { "?" } else { "" };
            (optional, format!("{name}{mark}: {types}"))
        })
        .collect();
    fields.sort();
    let fields: Vec<String> = fields.into_iter().map(|(_, field)| field).collect();
    if fields.is_empty() {
        return format!("{tool} takes no arguments");
    }
    format!("{tool} takes {{{}}}", fields.join(", "))
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
