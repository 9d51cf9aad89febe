//! Reading the query of a request: every name is known, and given once.

use axum::{extract::FromRequestParts, http::request::Parts};
use serde::{
    Deserializer,
    de::{DeserializeOwned, Error as _, IntoDeserializer, value::MapDeserializer},
};

use crate::{Result, ServerError};

/// The query of a request, read as a `T`. Besides what `T` names, every route takes `as`.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        read(parts.uri.query().unwrap_or_default()).map(Query)
    }
}

/// Reads a query.
fn read<T: DeserializeOwned>(query: &str) -> Result<T> {
    let hint = "GET /openapi.json describes what the route takes";
    let mut given: Vec<(String, String)> = Vec::new();
    for (name, value) in pairs(query).filter(|(name, _)| name != "as") {
        if given.iter().any(|(there, _)| *there == name) {
            let message = format!("invalid query: '{}' is given twice", shorten(&name));
            return Err(ServerError::invalid(message, hint));
        }
        given.push((name, value));
    }
    let values = given.into_iter().map(|(name, value)| (name, Value(value)));
    T::deserialize(MapDeserializer::new(values)).map_err(|error: serde::de::value::Error| {
        ServerError::invalid(format!("invalid query: {}", shorten(&error.to_string())), hint)
    })
}

/// Returns the names and values of a query, decoded.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

/// Decodes what a query escapes; what is not valid UTF-8 becomes the replacement character.
fn decode(text: &str) -> String {
    let (bytes, mut decoded) = (text.as_bytes(), Vec::with_capacity(text.len()));
    let digit = |at: usize| {
        let byte = bytes.get(at).copied().map(char::from);
        byte.and_then(|c| c.to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
    };
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high * 16 + low);
                at += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            _ => decoded.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Returns the beginning of a text, as much as an error may repeat.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 200;
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

/// A value of a query, which is read as whatever is wanted.
struct Value(String);

impl<'de> IntoDeserializer<'de, serde::de::value::Error> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $type:ty, $wanted:literal;)+) => {$(
        fn $method<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            let wrong = || Self::Error::custom(format!("'{}' is not {}", shorten(&self.0), $wanted));
            visitor.$visit(self.0.parse::<$type>().map_err(|_| wrong())?)
        }
    )+};
}

impl<'de> Deserializer<'de> for Value {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_string(self.0)
    }

    fn deserialize_option<V: serde::de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    /// A list is written with commas.
    fn deserialize_seq<V: serde::de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let items = self.0.split(',').filter(|item| !item.is_empty());
        let items: Vec<Value> = items.map(|item| Value(item.to_owned())).collect();
        visitor.visit_seq(serde::de::value::SeqDeserializer::new(items.into_iter()))
    }

    fn deserialize_enum<V: serde::de::Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.into_deserializer().deserialize_enum(name, variants, visitor)
    }

    parsed! {
        deserialize_bool visit_bool bool, "true or false";
        deserialize_u16 visit_u16 u16, "a whole number up to 65,535";
        deserialize_u32 visit_u32 u32, "a whole number";
        deserialize_u64 visit_u64 u64, "a whole number";
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Asked {
        limit: Option<u16>,
        full: bool,
        text: Option<String>,
        within: Vec<String>,
    }

    #[test]
    fn a_query_is_read_strictly() {
        let read = read::<Asked>;
        let asked = read("limit=5&full=true&text=a%20b%2Bc+d&within=usr,sys&as=fixer").unwrap();
        let within = vec!["usr".to_owned(), "sys".to_owned()];
        let text = Some("a b+c d".to_owned());
        assert_eq!(asked, Asked { limit: Some(5), full: true, text, within });
        assert_eq!(read("").unwrap(), Asked::default());
        for wrong in ["limit=x", "limit=70000", "full=1", "other=1", "limit=1&limit=2"] {
            let error = read(wrong).unwrap_err();
            assert_eq!(error.kind(), "invalid", "{wrong}");
        }
    }
}
