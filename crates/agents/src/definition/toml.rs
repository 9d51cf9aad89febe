//! Codex writes its agents in TOML: read into the same tree as front matter.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    node::{Entry, Node, Value},
    problem::{FileProblem, clean},
};

/// Reads a TOML file. TOML has no tags, no aliases and no keys twice; size and depth are bounded by
/// the file's and the parser's own limits.
pub(crate) fn read(text: &str) -> Result<Vec<Entry>, FileProblem> {
    let places = Places::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let (line, column) = places.at(error.span().map_or(0, |span| span.start));
        FileProblem::error(format!("the file is not TOML: {}", clean(error.message().trim())))
            .at(line, column)
    })?;
    Ok(entries(table.into_inner(), &places))
}

fn entries(table: DeTable<'_>, places: &Places) -> Vec<Entry> {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| {
            let (line, column) = places.at(key.span().start);
            let node = node(value, places);
            Entry { key: key.into_inner().into_owned(), line, column, node }
        })
        .collect();
    entries.sort_by_key(|entry| (entry.line, entry.column));
    entries
}

fn node(value: Spanned<DeValue<'_>>, places: &Places) -> Node {
    let (line, column) = places.at(value.span().start);
    let plain = |text: String| Value::Text { text, plain: true };
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text { text: text.into_owned(), plain: false },
        DeValue::Integer(number) => plain(number.to_string()),
        DeValue::Float(number) => plain(number.to_string()),
        DeValue::Boolean(boolean) => plain(boolean.to_string()),
        DeValue::Datetime(time) => plain(time.to_string()),
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| node(item, places)).collect())
        }
        DeValue::Table(table) => Value::Map(entries(table, places)),
    };
    Node { line, column, value }
}

/// Where the lines of a text begin.
struct Places {
    starts: Vec<usize>,
}

impl Places {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    fn at(&self, offset: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line.saturating_sub(1)];
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        (number(line), number(offset - start + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_lines() {
        let entries = read("name = \"a\"\n\n[mcp_servers.x]\ncommand = \"run\"\nn = 3\n").unwrap();
        let json: Vec<(&str, u32, String)> = entries
            .iter()
            .map(|entry| (entry.key.as_str(), entry.line, entry.node.json().to_string()))
            .collect();
        assert_eq!(json[0], ("name", 1, "\"a\"".to_owned()));
        assert_eq!((json[1].0, json[1].1), ("mcp_servers", 3));
        assert!(json[1].2.contains("\"n\":3"));
    }

    #[test]
    fn errors_name_the_line() {
        for bad in ["a = 1\nb = = 2\n", "a = 1\na = 2\n"] {
            assert_eq!(read(bad).unwrap_err().line, Some(2), "{bad}");
        }
        let deep = format!("a = {}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(read(&deep).is_err());
    }
}
