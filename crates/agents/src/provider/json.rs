//! JSON of providers, read field by field: a field that is not what we expect is not there.

use contexture_core::message::{Fields, RawJson};

/// Reads an object.
pub(super) fn object(text: &str) -> Option<Fields> {
    serde_json::from_str(text).ok()
}

/// Returns an object under a name.
pub(super) fn object_at(fields: &Fields, name: &str) -> Option<Fields> {
    fields.get(name)?.read().ok()
}

/// Returns the elements of a list under a name.
pub(super) fn list_at(fields: &Fields, name: &str) -> Vec<RawJson> {
    fields.get(name).and_then(|raw| raw.read().ok()).unwrap_or_default()
}

/// Returns the text under a name.
pub(super) fn text_at(fields: &Fields, name: &str) -> Option<String> {
    fields.get(name).and_then(text)
}

/// Returns the whole number under a name.
pub(super) fn number_at(fields: &Fields, name: &str) -> Option<u64> {
    fields.get(name)?.read().ok()
}

/// Reads a text. Half a surrogate pair, which a server may cut a character into, is replaced.
pub(super) fn text(raw: &RawJson) -> Option<String> {
    if let Ok(text) = raw.read() {
        return Some(text);
    }
    raw.as_str().starts_with('"').then(|| without_halves(raw.as_str()))?
}

/// Writes a text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is always JSON")
}

/// Makes foreign JSON of what is known to be JSON.
pub(super) fn raw(text: &str) -> RawJson {
    RawJson::new(text).expect("written as JSON here")
}

/// Writes an object again, with one field replaced.
pub(super) fn with_field(fields: &Fields, name: &str, value: RawJson) -> RawJson {
    let mut written = Fields::default();
    let mut value = Some(value);
    for (key, old) in fields.iter() {
        let new = if key == name { value.take() } else { Some(old.clone()) };
        if let Some(new) = new {
            written.push(key, new);
        }
    }
    if let Some(value) = value {
        written.push(name, value);
    }
    raw(&serde_json::to_string(&written).expect("fields are always JSON"))
}

fn without_halves(literal: &str) -> Option<String> {
    let mut out = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                out.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        let end = end.min(rest.len());
        out.push_str(rest.get(..end)?);
        rest = &rest[end..];
    }
    out.push_str(rest);
    serde_json::from_str(&out).ok()
}

/// Returns the unit of an escape like `\ud83d` that a text begins with.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_costs_no_text() {
        let read = |text_of: &str| text(&RawJson::new(text_of).unwrap());
        assert_eq!(read(r#""a\ud83db\\ud83d\n""#).unwrap(), "a\u{fffd}b\\ud83d\n");
        assert_eq!(read(r#""\ud83d\ude00\ude00\ud83d""#).unwrap(), "😀\u{fffd}\u{fffd}");
        assert_eq!(read(r#""\ud83d\u0041é\"""#).unwrap(), "\u{fffd}Aé\"");
        assert_eq!((read("1"), read("null"), read("[\"a\"]")), (None, None, None));
    }

    #[test]
    fn a_field_is_replaced_where_it_stands() {
        let fields = object(r#"{"a": 1.50,"b":2,"c":[ ]}"#).unwrap();
        let replaced = with_field(&fields, "b", raw("{ }"));
        assert_eq!(replaced.as_str(), r#"{"a":1.50,"b":{ },"c":[ ]}"#);
        assert_eq!(with_field(&Fields::default(), "b", raw("1")).as_str(), r#"{"b":1}"#);
    }
}
