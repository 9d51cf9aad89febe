//! How JSON is laid out in files, so that people can read it and `git diff` can show what changed.
//!
//! Only white space is added, with two exceptions that keep every byte. A string of several lines
//! becomes `{"lines": [...]}`, a line each. A value that brought white space of its own, or is nested
//! very deeply, becomes `{"raw": "..."}`. An object that looks like one of these gets a `!` behind its
//! key. [`gather`] takes it all back: what was [`spread`] comes out byte for byte.

/// From this depth on a value is written as text.
const DEEP: usize = 100;

/// Values up to this many bytes stay on one line.
const SHORT: usize = 76;

/// Lays out one JSON value.
pub(crate) fn spread(compact: &str) -> Result<String, &'static str> {
    let node = Parser::parse(compact, true)?;
    let mut out = String::with_capacity(compact.len() + compact.len() / 4);
    write_spread(&mut out, &node, 0, true);
    Ok(out)
}

/// Takes a layout back.
pub(crate) fn gather(spread: &str) -> Result<String, &'static str> {
    let node = Parser::parse(spread, false)?;
    let mut out = String::with_capacity(spread.len());
    write_compact(&mut out, &node)?;
    Ok(out)
}

enum Node<'a> {
    /// A string, number or word, as it is spelt.
    Scalar(&'a str),
    List(Vec<Node<'a>>, &'a str),
    Map(Vec<(&'a str, Node<'a>)>, &'a str),
    /// What can only be kept as text.
    Text(&'a str),
}

impl Node<'_> {
    /// Tells whether it can stand on one line.
    fn is_short(&self) -> bool {
        match self {
            Node::Scalar(text) => lines(text).is_none(),
            Node::List(items, span) => span.len() <= SHORT && items.iter().all(Node::is_short),
            Node::Map(entries, span) => {
                span.len() <= SHORT && entries.iter().all(|(_, node)| node.is_short())
            }
            Node::Text(_) => false,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Whether white space belongs to the value.
    exact: bool,
}

impl<'a> Parser<'a> {
    fn parse(text: &'a str, exact: bool) -> Result<Node<'a>, &'static str> {
        let mut parser = Self { text, at: 0, exact };
        parser.skip_space();
        let node = parser.value(0)?;
        parser.skip_space();
        if parser.at == text.len() { Ok(node) } else { Err("there is more after its end") }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over white space; tells whether there was any.
    fn skip_space(&mut self) -> bool {
        let from = self.at;
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        self.at > from
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, &'static str> {
        let from = self.at;
        match self.peek().ok_or("it ends too early")? {
            b'{' | b'[' if depth >= DEEP && self.exact => {
                self.skip_nested()?;
                Ok(Node::Text(&self.text[from..self.at]))
            }
            // What we add ourselves goes two levels deeper.
            b'{' | b'[' if depth > DEEP + 2 => Err("it is nested too deeply"),
            b'{' => self.map(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Node::Scalar),
            _ => self.word().map(Node::Scalar),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Node<'a>, &'static str> {
        let (from, mut items, mut spaced) = (self.at, Vec::new(), false);
        self.at += 1;
        spaced |= self.skip_space();
        while self.peek() != Some(b']') {
            items.push(self.value(depth + 1)?);
            spaced |= self.skip_space();
            spaced |= self.comma(b']')?;
        }
        self.at += 1;
        let span = &self.text[from..self.at];
        Ok(if spaced && self.exact { Node::Text(span) } else { Node::List(items, span) })
    }

    fn map(&mut self, depth: usize) -> Result<Node<'a>, &'static str> {
        let (from, mut entries, mut spaced) = (self.at, Vec::new(), false);
        self.at += 1;
        spaced |= self.skip_space();
        while self.peek() != Some(b'}') {
            let key = self.string()?;
            spaced |= self.skip_space();
            if self.peek() != Some(b':') {
                return Err("a colon is missing");
            }
            self.at += 1;
            spaced |= self.skip_space();
            entries.push((key, self.value(depth + 1)?));
            spaced |= self.skip_space();
            spaced |= self.comma(b'}')?;
        }
        self.at += 1;
        let span = &self.text[from..self.at];
        Ok(if spaced && self.exact { Node::Text(span) } else { Node::Map(entries, span) })
    }

    /// Steps over a comma, unless the end comes; tells whether there was white space after it.
    fn comma(&mut self, end: u8) -> Result<bool, &'static str> {
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == end => return Ok(false),
            _ => return Err("a comma is missing"),
        }
        let spaced = self.skip_space();
        if self.peek() == Some(end) { Err("there is a comma too many") } else { Ok(spaced) }
    }

    fn string(&mut self) -> Result<&'a str, &'static str> {
        let from = self.at;
        if self.peek() != Some(b'"') {
            return Err("a string is missing");
        }
        self.at += 1;
        loop {
            match self.peek().ok_or("a string does not end")? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.text.get(from..self.at).ok_or("a string does not end")
    }

    fn word(&mut self) -> Result<&'a str, &'static str> {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            self.at += 1;
        }
        if self.at == from { Err("a value is missing") } else { Ok(&self.text[from..self.at]) }
    }

    /// Steps over a nested value without going into it.
    fn skip_nested(&mut self) -> Result<(), &'static str> {
        let mut open = 0_usize;
        loop {
            match self.peek().ok_or("it ends too early")? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
    }
}

/// Returns what stands between the quotes, line by line, if there are several lines.
fn lines(token: &str) -> Option<Vec<&str>> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    let bytes = inner.as_bytes();
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        if bytes.get(at + 1) == Some(&b'n') {
            pieces.push(&inner[from..at]);
            from = at + 2;
        }
        at += 2;
    }
    if pieces.is_empty() {
        return None;
    }
    pieces.push(&inner[from..]);
    Some(pieces)
}

/// Tells whether a key, quotes included, could be taken for one of ours.
fn is_ours(key: &str) -> bool {
    let name = key.trim_matches('"').trim_end_matches('!');
    key.len() == key.trim_matches('"').len() + 2 && (name == "lines" || name == "raw")
}

fn write_spread(out: &mut String, node: &Node<'_>, indent: usize, top: bool) {
    match node {
        Node::Scalar(token) => match lines(token) {
            Some(pieces) => {
                out.push_str("{\"lines\": [");
                for (at, piece) in pieces.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    new_line(out, indent + 1);
                    out.push('"');
                    out.push_str(piece);
                    out.push('"');
                }
                new_line(out, indent);
                out.push_str("]}");
            }
            None => out.push_str(token),
        },
        Node::Text(text) => {
            out.push_str("{\"raw\": ");
            out.push_str(&quote(text));
            out.push('}');
        }
        Node::List(items, _) => {
            let inline = node.is_short() && !top;
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                part(out, at, inline, indent);
                write_spread(out, item, indent + 1, false);
            }
            close(out, items.is_empty() || inline, indent, ']');
        }
        Node::Map(entries, _) => {
            let inline = node.is_short() && !top;
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                part(out, at, inline, indent);
                if entries.len() == 1 && is_ours(key) {
                    out.push_str(&key[..key.len() - 1]);
                    out.push_str("!\"");
                } else {
                    out.push_str(key);
                }
                out.push_str(": ");
                write_spread(out, value, indent + 1, false);
            }
            close(out, entries.is_empty() || inline, indent, '}');
        }
    }
}

fn part(out: &mut String, at: usize, inline: bool, indent: usize) {
    match (at, inline) {
        (0, true) => {}
        (_, true) => out.push_str(", "),
        (at, false) => {
            out.push_str(if at == 0 { "" } else { "," });
            new_line(out, indent + 1);
        }
    }
}

fn close(out: &mut String, inline: bool, indent: usize, end: char) {
    if !inline {
        new_line(out, indent);
    }
    out.push(end);
}

fn new_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", indent));
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string can always be written")
}

fn write_compact(out: &mut String, node: &Node<'_>) -> Result<(), &'static str> {
    match node {
        Node::Scalar(token) | Node::Text(token) => out.push_str(token),
        Node::List(items, _) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_compact(out, item)?;
            }
            out.push(']');
        }
        Node::Map(entries, _) => match &entries[..] {
            [("\"lines\"", Node::List(pieces, _))] => {
                out.push('"');
                for (at, piece) in pieces.iter().enumerate() {
                    let Node::Scalar(token) = piece else { return Err("a line is not a string") };
                    let inner = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                    out.push_str(if at == 0 { "" } else { "\\n" });
                    out.push_str(inner.ok_or("a line is not a string")?);
                }
                out.push('"');
            }
            [("\"raw\"", Node::Scalar(token))] => {
                let text: String =
                    serde_json::from_str(token).map_err(|_| "raw is not a string")?;
                out.push_str(&text);
            }
            [(key, value)] if is_ours(key) && key.ends_with("!\"") => {
                out.push('{');
                out.push_str(&key[..key.len() - 2]);
                out.push_str("\":");
                write_compact(out, value)?;
                out.push('}');
            }
            entries => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    out.push_str(key);
                    out.push(':');
                    write_compact(out, value)?;
                }
                out.push('}');
            }
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spread_is_gathered_byte_for_byte() {
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        let long = format!("[\"{}\",\"{}\"]", "x".repeat(100), "é\\n\\\\n\\n".repeat(9));
        for text in [
            "{}",
            "[]",
            "-1.50e+5",
            r#"{"b":1.50,"a":{"z":1e5,"é":"\u00e9"},"e":[],"m":{}}"#,
            r#"{"text":"one\ntwo\n","same":"one\\ntwo","odd":"\u000a\n"}"#,
            r#"[{"lines":["a","b"]},{"lines!":1},{"raw":"x"},{"raw!!":{"raw":null}},{"lines":"x\ny"}]"#,
            r#"{"spaced":{"b": 1.50, "a":  [1,2]},"not":[1,{"x": 1}],"s":"a b"}"#,
            "[ ]",
            r#"{"a":[[1,2],[3]],"quote":"\"","back":"\\"}"#,
            &deep,
            &long,
        ] {
            let spread = spread(text).unwrap();
            assert_eq!(gather(&spread).unwrap(), text, "{spread}");
        }
    }

    #[test]
    fn lines_stand_one_below_the_other() {
        let text = r#"{"name":"a","parts":[{"text":{"text":"one\ntwo"}}],"numbers":[1,2,3]}"#;
        let expected = "{\n  \"name\": \"a\",\n  \"parts\": [\n    {\n      \"text\": {\n        \"text\": {\"lines\": [\n          \"one\",\n          \"two\"\n        ]}\n      }\n    }\n  ],\n  \"numbers\": [1, 2, 3]\n}";
        assert_eq!(spread(text).unwrap(), expected);
    }

    #[test]
    fn nonsense_is_refused() {
        let deep = "[".repeat(200_000);
        for text in
            ["", "{", "[1,]", "{\"a\"}", "{\"a\":}", "\"x", "\"\\", "[1 2]", "1 2", "{,}", &deep]
        {
            assert!(gather(text).is_err() && spread(text).is_err(), "{text:.20}");
        }
    }
}
