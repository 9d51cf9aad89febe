//! Front matter as YAML: plain data within narrow limits.
//!
//! Read from the parser's events rather than through serde, for three reasons: every value keeps
//! its line, scalars keep their spelling, and a tag is seen and refused before it means anything.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, Span};

use super::{
    node::{Entry, Node, Value},
    problem::{FileProblem, quoted},
};

/// The most values of a front matter, those that aliases repeat included.
const MOST_NODES: usize = 4_000;
/// The deepest nesting.
const MOST_DEPTH: usize = 24;
/// The most aliases.
const MOST_ALIASES: usize = 32;

/// Why a front matter was not read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refused {
    /// It is not YAML. What was meant may still be plain.
    Syntax(FileProblem),
    /// It is YAML of a kind that is not taken: tags, limits, keys twice.
    Rule(FileProblem),
}

impl Refused {
    /// Returns what is wrong.
    pub(crate) fn problem(self) -> FileProblem {
        match self {
            Refused::Syntax(problem) | Refused::Rule(problem) => problem,
        }
    }
}

/// Reads a front matter whose first line is line `first` of the file. An empty one is an empty map.
pub(crate) fn read(text: &str, first: u32) -> Result<Vec<Entry>, Refused> {
    let options = granit_parser::options! { disallow_directives: true, emit_comments: false };
    let mut builder = Builder::new(first);
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let marker = error.marker();
            let (line, column) = builder.place(marker.line(), marker.col());
            let said = error.kind().to_string();
            Refused::Syntax(
                FileProblem::error(format!("the front matter is not YAML: {said}"))
                    .at(line, column),
            )
        })?;
        builder.take(event, &span)?;
    }
    builder.finish()
}

/// A collection that is not closed yet.
enum Open {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<(String, u32, u32)> },
}

struct Frame {
    open: Open,
    line: u32,
    column: u32,
    anchor: usize,
}

struct Builder {
    first: u32,
    stack: Vec<Frame>,
    root: Option<Node>,
    documents: usize,
    nodes: usize,
    aliases: usize,
    anchors: BTreeMap<usize, Node>,
}

impl Builder {
    fn new(first: u32) -> Self {
        Self {
            first,
            stack: Vec::new(),
            root: None,
            documents: 0,
            nodes: 0,
            aliases: 0,
            anchors: BTreeMap::new(),
        }
    }

    /// Returns a place of the YAML text as one of the file; both count columns from 0 and 1.
    fn place(&self, line: usize, column: usize) -> (u32, u32) {
        let line = u32::try_from(line.saturating_sub(1)).unwrap_or(u32::MAX);
        let column = u32::try_from(column + 1).unwrap_or(u32::MAX);
        (self.first.saturating_add(line), column)
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Refused> {
        let (line, column) = self.place(span.start.line(), span.start.col());
        let rule = |message: String| Refused::Rule(FileProblem::error(message).at(line, column));
        if let Some(tag) = event.tag() {
            let tag = quoted(&format!("{}{}", tag.original_handle(), tag.suffix()));
            let message = format!("the tag '{tag}' is not allowed: front matter is plain data");
            return Err(rule(message));
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(rule("the front matter holds more than one document".to_owned()));
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let value = Value::Text { text: text.into_owned(), plain };
                self.place_node(Node { line, column, value }, anchor)?;
            }
            Event::Alias(id) => {
                self.aliases += 1;
                if self.aliases > MOST_ALIASES {
                    return Err(rule(format!(
                        "the front matter has more than {MOST_ALIASES} aliases"
                    )));
                }
                let Some(node) = self.anchors.get(&id) else {
                    return Err(rule("an alias refers to a value that contains it".to_owned()));
                };
                let (size, depth) = (node.size(), node.depth());
                if self.nodes + size > MOST_NODES || self.stack.len() + depth > MOST_DEPTH {
                    return Err(rule("aliases make the front matter too large".to_owned()));
                }
                self.nodes += size;
                let node = Node { line, column, value: node.value.clone() };
                self.place_node(node, 0)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(Open::List(Vec::new()), line, column, anchor)?;
            }
            Event::MappingStart(_, anchor, _) => {
                let open = Open::Map { entries: Vec::new(), key: None };
                self.open(open, line, column, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, open: Open, line: u32, column: u32, anchor: usize) -> Result<(), Refused> {
        if self.stack.len() >= MOST_DEPTH {
            let message = format!("the front matter is nested deeper than {MOST_DEPTH} levels");
            return Err(Refused::Rule(FileProblem::error(message).at(line, column)));
        }
        if let Some(Frame { open: Open::Map { key: None, .. }, .. }) = self.stack.last() {
            let message = "a key of the front matter is a list or map; keys must be plain strings";
            return Err(Refused::Rule(FileProblem::error(message).at(line, column)));
        }
        self.stack.push(Frame { open, line, column, anchor });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refused> {
        let Some(Frame { open, line, column, anchor }) = self.stack.pop() else {
            return Ok(());
        };
        let value = match open {
            Open::List(items) => Value::List(items),
            Open::Map { entries, .. } => Value::Map(entries),
        };
        self.place_node(Node { line, column, value }, anchor)
    }

    fn place_node(&mut self, node: Node, anchor: usize) -> Result<(), Refused> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            let message = format!("the front matter holds more than {MOST_NODES} values");
            return Err(Refused::Rule(FileProblem::error(message).at(node.line, node.column)));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.open {
            Open::List(items) => items.push(node),
            Open::Map { entries, key } => match key.take() {
                Some((key, line, column)) => entries.push(Entry { key, line, column, node }),
                None => *key = Some(new_key(entries, node)?),
            },
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<Entry>, Refused> {
        match self.root {
            None => Ok(Vec::new()),
            Some(node) if node.is_null() => Ok(Vec::new()),
            Some(Node { value: Value::Map(entries), .. }) => Ok(entries),
            Some(node) => {
                let message = format!("the front matter is {}, not a map of fields", node.what());
                Err(Refused::Syntax(
                    FileProblem::error(message)
                        .at(node.line, node.column)
                        .hint("write one `key: value` per line"),
                ))
            }
        }
    }
}

/// Checks a key: a scalar that the map does not have yet.
fn new_key(entries: &[Entry], node: Node) -> Result<(String, u32, u32), Refused> {
    let (line, column) = (node.line, node.column);
    let rule = |message: String| Refused::Rule(FileProblem::error(message).at(line, column));
    let Value::Text { text, .. } = node.value else {
        return Err(rule(
            "a key of the front matter is a list or map; keys must be plain strings".to_owned(),
        ));
    };
    if let Some(entry) = entries.iter().find(|entry| entry.key == text) {
        let (key, first) = (quoted(&text), entry.line);
        let message = format!("the key '{key}' appears twice, first on line {first}");
        return Err(Refused::Rule(
            FileProblem::error(message).at(line, column).field(&text).hint("remove one of the two"),
        ));
    }
    Ok((text, line, column))
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
