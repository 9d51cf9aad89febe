//! The shape of JSON: which keys there are, and what stands behind them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use serde_json::{Map, Value};

/// Keys of objects whose own keys are data: indices, names.
const MAPS: [&str; 6] = ["anchors", "custom", "extra", "history", "pages", "shares"];

/// Keys behind which stands what somebody else decides: another command, or a provider.
const OPEN: [&str; 4] = ["other", "output", "source", "window"];

/// What stands behind keys of which the lines here print only the empty form, as the code has it.
const UNSEEN: [(&str, &str); 12] = [
    ("field", "string | null"),
    ("fold", "number | null"),
    ("hint", "string | null"),
    ("sources", "[string]"),
    ("notes", "[string]"),
    ("problems", "[string]"),
    ("runsGivenUp", "[string]"),
    ("traces", "[{ \"place\": string, \"until\": string }]"),
    ("warnings", "[string]"),
    ("effort", "string | null"),
    ("mcp", "[string]"),
    ("next", "string | null"),
];

/// What was seen in one place: everything that stood there, merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// `string`, `time`, `number`, `boolean`, `null`, or the name of an object that is told once.
    plain: BTreeSet<&'static str>,
    /// What an array holds.
    items: Option<Box<Shape>>,
    object: Option<Object>,
    /// What stands behind keys that are data.
    values: Option<Box<Shape>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Object {
    fields: BTreeMap<String, Shape>,
    /// Keys that were not there every time.
    optional: BTreeSet<String>,
}

/// Objects that stand in many places, each told once.
pub(crate) type Named = BTreeMap<&'static str, Shape>;

impl Shape {
    /// Adds a value to what was seen here.
    pub(crate) fn add(&mut self, value: &Value, named: &mut Named) {
        match value {
            Value::Null => self.is("null"),
            Value::Bool(_) => self.is("boolean"),
            Value::Number(_) => self.is("number"),
            Value::String(text) if is_time(text) => self.is("time"),
            Value::String(_) => self.is("string"),
            Value::Array(values) => {
                let items = self.items.get_or_insert_default();
                values.iter().for_each(|value| items.add(value, named));
            }
            Value::Object(fields) => match name(fields) {
                Some(name) => {
                    self.is(name);
                    let mut shape = named.remove(name).unwrap_or_default();
                    shape.add_object(fields, named);
                    // What lies within may have been of the same name.
                    if let Some(within) = named.remove(name) {
                        shape.merge(within);
                    }
                    named.insert(name, shape);
                }
                None => self.add_object(fields, named),
            },
        }
    }

    fn is(&mut self, kind: &'static str) {
        self.plain.insert(kind);
    }

    fn add_object(&mut self, fields: &Map<String, Value>, named: &mut Named) {
        let mut seen = Object::default();
        for (key, value) in fields {
            let mut shape = Shape::default();
            match value {
                Value::Object(values) if MAPS.contains(&key.as_str()) => {
                    let below = shape.values.get_or_insert_default();
                    values.values().for_each(|value| below.add(value, named));
                }
                // The tokens of an answer are an `output` too.
                value if OPEN.contains(&key.as_str()) && !value.is_number() => shape.is("any"),
                value => shape.add(value, named),
            }
            assert!(!is_moment(key) || shape.is_moment(), "{key} is no time: {value}");
            seen.fields.insert(key.clone(), shape);
        }
        self.merge(Shape { object: Some(seen), ..Shape::default() });
    }

    fn merge(&mut self, other: Shape) {
        self.plain.extend(other.plain);
        for (mine, theirs) in [(&mut self.items, other.items), (&mut self.values, other.values)] {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(*theirs);
            }
        }
        match (&mut self.object, other.object) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
    }

    fn is_moment(&self) -> bool {
        self.items.is_none()
            && self.object.is_none()
            && self.plain.iter().all(|kind| ["time", "null"].contains(kind))
    }

    /// Writes the shape, indented so far.
    pub(crate) fn write(&self, indent: usize) -> String {
        let mut all: Vec<String> = Vec::new();
        all.extend(self.object.as_ref().map(|object| object.write(indent)));
        all.extend(self.values.as_ref().map(|values| format!("{{ …: {} }}", values.write(indent))));
        all.extend(self.items.as_ref().map(|items| format!("[{}]", items.write(indent))));
        // What may be absent is said last.
        let (null, plain): (Vec<&str>, Vec<&str>) =
            self.plain.iter().partition(|kind| **kind == "null");
        all.extend(plain.into_iter().chain(null).map(str::to_owned));
        all.join(" | ")
    }
}

impl Object {
    fn merge(&mut self, other: Object) {
        let mine: BTreeSet<String> = self.fields.keys().cloned().collect();
        let theirs: BTreeSet<String> = other.fields.keys().cloned().collect();
        self.optional.extend(mine.symmetric_difference(&theirs).cloned());
        self.optional.extend(other.optional);
        for (key, shape) in other.fields {
            self.fields.entry(key).or_default().merge(shape);
        }
    }

    fn write(&self, indent: usize) -> String {
        let mut text = "{\n".to_owned();
        for (key, shape) in &self.fields {
            let mark = if self.optional.contains(key) { "?" } else { "" };
            let (deeper, mut shape) = (" ".repeat(indent + 2), shape.write(indent + 2));
            if let Some((_, unseen)) = UNSEEN.iter().find(|(unseen, _)| unseen == key)
                && ["[]", "null"].contains(&shape.as_str())
            {
                shape = (*unseen).to_owned();
            }
            writeln!(text, "{deeper}\"{key}\"{mark}: {shape}").unwrap();
        }
        text + &" ".repeat(indent) + "}"
    }
}

/// Names an object that stands in many places.
fn name(fields: &Map<String, Value>) -> Option<&'static str> {
    const PARTS: [&str; 6] = ["text", "toolCall", "toolResult", "image", "thinking", "other"];
    let has = |keys: &[&str]| keys.iter().all(|key| fields.contains_key(*key));
    match () {
        () if has(&["index", "lifecycle"]) => Some("Page"),
        () if has(&["role", "parts"]) => Some("Message"),
        () if has(&["segmentType"]) && !has(&["createdAt"]) => Some("Segment"),
        () if has(&["operation", "actor"]) => Some("Entry"),
        () if has(&["id", "app"]) => Some("Session"),
        () => {
            let (key, value) = fields.iter().next().filter(|_| fields.len() == 1)?;
            (PARTS.contains(&key.as_str()) && value.is_object()).then_some("Part")
        }
    }
}

/// Tells whether a key names a moment.
fn is_moment(key: &str) -> bool {
    key == "at" || key == "timestamp" || key.ends_with("At")
}

/// Tells whether a text is a time in the one form there is: RFC 3339 in UTC, to the millisecond.
fn is_time(text: &str) -> bool {
    let Some((seconds, fraction)) = text.strip_suffix('Z').and_then(|it| it.split_at_checked(19))
    else {
        return false;
    };
    let digits = seconds.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    let is_fraction = |digits: &str| {
        (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    digits.eq(*b"0000-00-00T00:00:00")
        && (fraction.is_empty() || fraction.strip_prefix('.').is_some_and(is_fraction))
}
