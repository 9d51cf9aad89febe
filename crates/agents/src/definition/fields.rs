//! Taking fields from a front matter one by one, noting what is wrong with them.

use super::{
    Dialect,
    node::{Entry, Node, Value},
    problem::{FileProblem, nearest, quoted},
    rules::means_deny,
};

/// The fields of a file that nobody has taken yet, and what is wrong with it so far.
#[derive(Debug)]
pub(crate) struct Fields {
    entries: Vec<Entry>,
    /// What is wrong with the file so far.
    pub(crate) problems: Vec<FileProblem>,
}

/// A text with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Fields {
    pub(crate) fn new(entries: Vec<Entry>, problems: Vec<FileProblem>) -> Self {
        Self { entries, problems }
    }

    /// Notes a problem.
    pub(crate) fn report(&mut self, problem: FileProblem) {
        self.problems.push(problem);
    }

    /// Returns where a field stands that was not taken.
    pub(crate) fn place(&self, key: &str) -> Option<(u32, u32)> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some((entry.line, entry.column))
    }

    /// Returns where a field stands that says exactly this.
    pub(crate) fn place_of(&self, key: &str, text: &str) -> Option<(u32, u32)> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        (entry.node.text() == Some(text)).then_some((entry.node.line, entry.node.column))
    }

    /// Takes a field, if it says anything.
    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        let entry = self.entries.remove(at);
        (!entry.node.is_null()).then_some(entry)
    }

    /// Takes a field that says nothing, and tells whether there was one.
    pub(crate) fn take_null(&mut self, key: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.key != key || !entry.node.is_null());
        self.entries.len() < before
    }

    /// Takes the first of several fields that stands in the file.
    pub(crate) fn take_any(&mut self, keys: &[&str]) -> Option<Entry> {
        keys.iter().find_map(|key| self.take(key))
    }

    /// Takes a field that holds a text.
    pub(crate) fn text(&mut self, key: &str) -> Option<Text> {
        let Entry { node, .. } = self.take(key)?;
        let (line, column) = (node.line, node.column);
        match node.value {
            Value::Text { text, .. } => Some(Text { text: text.trim().to_owned(), line, column }),
            _ => {
                self.wrong_type(key, &node, "a string");
                None
            }
        }
    }

    /// Takes a field that holds `true` or `false`.
    pub(crate) fn boolean(&mut self, key: &str) -> Option<bool> {
        let Entry { node, .. } = self.take(key)?;
        let value = node.boolean();
        if value.is_none() {
            self.wrong_type(key, &node, "true or false");
        }
        value
    }

    /// Notes that a value is not what its field wants.
    pub(crate) fn wrong_type(&mut self, key: &str, node: &Node, wanted: &str) {
        let found = match node.text() {
            Some(text) => format!("'{}'", quoted(text)),
            None => node.what().to_owned(),
        };
        let problem = FileProblem::error(format!("'{key}' is {found}; it must be {wanted}"));
        self.report(problem.at(node.line, node.column).field(key));
    }

    /// Returns the texts of a list, or reports what is none.
    pub(crate) fn texts(&mut self, key: &str, node: &Node) -> Option<Vec<Text>> {
        let Value::List(items) = &node.value else {
            self.wrong_type(key, node, "a list of strings");
            return None;
        };
        let mut texts = Vec::new();
        for item in items {
            match item.text() {
                Some(text) => texts.push(Text {
                    text: text.trim().to_owned(),
                    line: item.line,
                    column: item.column,
                }),
                None => {
                    self.wrong_type(key, item, "a string in this list");
                    return None;
                }
            }
        }
        Some(texts)
    }

    /// Ends the reading: keeps what was not taken, and reports what is unknown among it.
    pub(crate) fn rest(self, dialect: Dialect) -> (Vec<Entry>, Vec<FileProblem>) {
        let Self { entries, mut problems } = self;
        let known = dialect.known();
        for entry in &entries {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            if means_deny(&entry.key) {
                problems.push(denies_nothing(entry, dialect));
                continue;
            }
            let message = format!("unknown field '{}'; it is kept and ignored", quoted(&entry.key));
            let mut problem =
                FileProblem::warning(message).at(entry.line, entry.column).field(&entry.key);
            problem.hint = match entry.key.as_str() {
                "allowed-tools" | "allowedTools" => Some("did you mean 'tools'?".to_owned()),
                key => nearest(key, known.iter().copied())
                    .map(|known| format!("did you mean '{known}'?")),
            };
            problems.push(problem);
        }
        (entries, problems)
    }
}

/// Reports a field that was meant to deny tools and does not.
fn denies_nothing(entry: &Entry, dialect: Dialect) -> FileProblem {
    let message = format!("unknown field '{}', so nothing would be denied", quoted(&entry.key));
    let problem = FileProblem::error(message).at(entry.line, entry.column).field(&entry.key);
    let own = "disallowedTools";
    problem.hint(match dialect.understood().contains(&own) {
        true => format!("did you mean '{own}'?"),
        false => "name the tools under `tools`, in a list `deny`".to_owned(),
    })
}
