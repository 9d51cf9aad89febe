//! Foreign JSON, kept as the very text it was.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use serde_json::value::RawValue;

/// A JSON value as the text it came in: white space, number spelling and key order included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn new(text: &str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Ok(Self(raw.get().into()))
    }

    /// Writes a value as JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(|text| Self(text.into()))
    }

    /// Keeps a text as it is if it is JSON, else as a JSON string.
    pub fn of_text(text: &str) -> Self {
        Self::new(text).unwrap_or_else(|_| Self::string(text))
    }

    /// Writes a text as a JSON string.
    pub fn string(text: &str) -> Self {
        Self::of(&text).expect("a string is always JSON")
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the value as a type.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<RawValue>>::deserialize(deserializer)?;
        Ok(Self(raw.get().into()))
    }
}

/// The fields of a JSON object in their order, each value as the text it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, RawJson)>);

impl Fields {
    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first field of that name out.
    pub fn take(&mut self, name: &str) -> Option<RawJson> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// Returns the first field of that name.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Puts a field at the end.
    pub fn push(&mut self, name: impl Into<String>, value: RawJson) {
        self.0.push((name.into(), value));
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Fields;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry::<String, RawJson>()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_json_survives_byte_for_byte() {
        let text = r#"{"b": 1.50, "a":  {"z":1e5,"é":"\u00e9"}}"#;
        let fields: Fields = serde_json::from_str(text).unwrap();
        assert_eq!(fields.get("b").unwrap().as_str(), "1.50");
        assert_eq!(fields.get("a").unwrap().as_str(), r#"{"z":1e5,"é":"\u00e9"}"#);
        let back = serde_json::to_string(&fields).unwrap();
        assert_eq!(back, r#"{"b":1.50,"a":{"z":1e5,"é":"\u00e9"}}"#);
    }
}
