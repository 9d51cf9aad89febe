//! Names of tools as providers take them: letters, digits, `_` and `-`, at most 64.

use std::collections::BTreeSet;

use contexture_core::storage::ContentHash;

/// The longest name.
const MOST: usize = 64;

/// The most of it that names the server.
const SERVER: usize = 28;

/// Returns what the names of a server's tools begin with: `mcp__SERVER`.
///
/// No double underscore remains in the server's part, so where it ends is never in doubt.
pub fn prefix(server: &str) -> String {
    let mut safe = safe(server);
    while safe.contains("__") {
        safe = safe.replace("__", "_");
    }
    let safe = safe.trim_matches('_');
    let safe = if safe.is_empty() { "server" } else { safe };
    format!("mcp__{}", fit(safe, server, SERVER).trim_end_matches('_'))
}

/// Returns what a server's tool is called, unless another of its tools took that name.
pub(in crate::tools) fn offered(server: &str, tool: &str) -> String {
    fit(&format!("{}__{}", prefix(server), safe(tool)), tool, MOST)
}

/// Gives out the names of one server's tools, each once.
pub(super) struct Names {
    server: String,
    taken: BTreeSet<String>,
}

impl Names {
    pub(super) fn of(server: &str) -> Self {
        Self { server: server.to_owned(), taken: BTreeSet::new() }
    }

    /// Returns the name for a tool. Tools come sorted, so a collision ends the same way each time.
    pub(super) fn next(&mut self, tool: &str) -> String {
        let wanted = offered(&self.server, tool);
        let mut name = wanted.clone();
        let mut count = 2;
        while !self.taken.insert(name.clone()) {
            let suffix = format!("_{count}");
            let room = wanted.len().min(MOST - suffix.len());
            name = format!("{}{suffix}", &wanted[..room]);
            count += 1;
        }
        name
    }
}

/// Puts an underscore for every character that is not allowed.
fn safe(name: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    name.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect()
}

/// Shortens a safe name; what was cut is told apart by a hash of the whole.
fn fit(safe: &str, whole: &str, most: usize) -> String {
    if safe.len() <= most {
        return safe.to_owned();
    }
    let hash = ContentHash::of(whole.as_bytes()).to_string();
    format!("{}-{}", &safe[..most - 9], &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_short_and_distinct() {
        let mut names = Names::of("My notes!");
        assert_eq!(names.next("read.note"), "mcp__My_notes__read_note");
        assert_eq!(names.next("read/note"), "mcp__My_notes__read_note_2");
        assert_eq!(names.next("read_note"), "mcp__My_notes__read_note_3");
        let long = "x".repeat(300);
        let (one, other) = (names.next(&long), names.next(&format!("{long}y")));
        assert_ne!(one, other);
        for name in [one, other, names.next(&long), names.next("ünï"), names.next("")] {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            assert!(name.len() <= 64 && name.bytes().all(fits), "{name}");
            assert!(name.starts_with("mcp__My_notes__"), "{name}");
        }
    }

    #[test]
    fn a_prefix_ends_where_it_ends() {
        assert_eq!(prefix("time"), "mcp__time");
        assert_eq!(prefix("a__b"), "mcp__a_b");
        assert_eq!(prefix("__"), "mcp__server");
        assert_eq!(prefix("a."), "mcp__a");
        let long = prefix(&"s".repeat(80));
        assert!(long.len() <= 5 + SERVER && long != prefix(&"s".repeat(81)), "{long}");
    }
}
