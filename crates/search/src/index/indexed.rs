//! A document in the form that tantivy indexes. It owns its texts, so none of them is copied on the way.

use std::iter::{Chain, Empty, Map};

use tantivy::schema::{
    Document, Field, Value,
    document::{ReferenceValue, ReferenceValueLeaf},
};

/// A document as tantivy indexes it.
#[derive(Debug, Default)]
pub(crate) struct IndexedDocument {
    /// The terms of each part, spelled as the index spells them.
    pub(super) terms: Vec<(Field, String)>,
    /// The facts that are kept in columns.
    pub(super) facts: Vec<(Field, Fact)>,
}

/// A fact about a document.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fact {
    Number(u64),
    Signed(i64),
}

/// A value of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldValue<'a> {
    Terms(&'a str),
    Fact(Fact),
}

type Pair<'a> = (Field, FieldValue<'a>);
type Terms<'a> = Map<std::slice::Iter<'a, (Field, String)>, fn(&'a (Field, String)) -> Pair<'a>>;
type Facts<'a> = Map<std::slice::Iter<'a, (Field, Fact)>, fn(&'a (Field, Fact)) -> Pair<'a>>;

impl Document for IndexedDocument {
    type Value<'a> = FieldValue<'a>;
    type FieldsValuesIter<'a> = Chain<Terms<'a>, Facts<'a>>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        let terms: Terms<'_> = self.terms.iter().map(|(field, it)| (*field, FieldValue::Terms(it)));
        let facts: Facts<'_> = self.facts.iter().map(|(field, it)| (*field, FieldValue::Fact(*it)));
        terms.chain(facts)
    }
}

impl<'a> Value<'a> for FieldValue<'a> {
    type ArrayIter = Empty<Self>;
    type ObjectIter = Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match self {
            FieldValue::Terms(terms) => ReferenceValueLeaf::Str(terms),
            FieldValue::Fact(Fact::Number(number)) => ReferenceValueLeaf::U64(*number),
            FieldValue::Fact(Fact::Signed(number)) => ReferenceValueLeaf::I64(*number),
        })
    }
}
