//! docs/conformance.md is true to the tests: every id is there, every test it names exists.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeMap, fs, path::Path};

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/testkit lies two deep")
}

/// Returns the rows of the tables: id to what proves it.
fn rows() -> BTreeMap<String, String> {
    let text = fs::read_to_string(project().join("docs/conformance.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let is_id = cells[0].len() == 4 && cells[0].as_bytes()[1] == b'-';
        if is_id {
            let proof = cells.last().unwrap().to_string();
            assert!(rows.insert(cells[0].to_owned(), proof).is_none(), "{} stands twice", cells[0]);
        }
    }
    rows
}

#[test]
fn every_requirement_has_a_row() {
    let rows = rows();
    let ids = [('A', 42), ('B', 58), ('D', 36), ('M', 41), ('P', 29)]
        .into_iter()
        .flat_map(|(letter, last)| (1..=last).map(move |number| format!("{letter}-{number:02}")));
    let missing: Vec<String> = ids.filter(|id| !rows.contains_key(id)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

#[test]
fn every_test_named_exists() {
    for (id, proof) in rows() {
        let named = quoted(&proof);
        assert!(!named.is_empty(), "{id} names no test");
        for name in named {
            assert!(name.contains("::"), "{id}: '{name}' is not path::test");
            assert_is_test(&id, name);
        }
    }
}

// What these pages do not show by running it, they show by naming a test.
#[test]
fn every_test_named_on_a_page_exists() {
    for (page, least) in [("docs/agents.md", 50), ("docs/security.md", 50)] {
        let text = fs::read_to_string(project().join(page)).unwrap();
        let shown = text.split("\n\n").filter(|paragraph| paragraph.starts_with("Shown "));
        let names: Vec<&str> = shown.flat_map(quoted).collect();
        names.iter().for_each(|name| assert_is_test(page, name));
        assert!(names.len() > least, "only {} tests are named in {page}", names.len());
    }
}

// Every name and flow of the source documents leads to code or a command that a test uses.
#[test]
fn every_name_of_the_documents_leads_to_a_test() {
    let text = fs::read_to_string(project().join("docs/seed.md")).unwrap();
    let is_row = |line: &&str| line.starts_with("| ") && line.contains("::");
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, ours, shown] = cells[..] else { panic!("{row}: not three cells") };
        let tests = quoted(shown);
        assert!(!tests.is_empty(), "{name}: no test is named");
        tests.iter().for_each(|test| assert_is_test(name, test));
        let read = |test: &&str| {
            let (path, _) = test.split_once("::").unwrap_or((test, ""));
            fs::read_to_string(project().join(path)).unwrap()
        };
        let sources: Vec<String> = tests.iter().map(read).collect();
        for word in quoted(ours).first().into_iter().flat_map(|code| words(code)) {
            let used = sources.iter().any(|source| source.contains(&word));
            assert!(used, "{name}: none of {tests:?} uses {word}");
        }
    }
    assert!(rows.len() > 100, "only {} names and flows", rows.len());
}

/// Returns what must stand in a test that uses this: a command's words, or what is called.
fn words(code: &str) -> Vec<String> {
    if let Some(command) = code.strip_prefix("contexture ") {
        return command.split(' ').map(str::to_owned).collect();
    }
    let called = code.split(['(', '{', ' ']).next().unwrap_or(code);
    vec![match called.rsplit_once('.') {
        Some((_, method)) => format!(".{method}"),
        None => called.to_owned(),
    }]
}

/// Returns what stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Checks that `path::test` is the name of a test.
fn assert_is_test(place: &str, name: &str) {
    let (path, function) =
        name.split_once("::").unwrap_or_else(|| panic!("{place}: '{name}' is not path::test"));
    let text = fs::read_to_string(project().join(path))
        .unwrap_or_else(|error| panic!("{place}: {path}: {error}"));
    let declared = text
        .match_indices(&format!("fn {function}("))
        .any(|(at, _)| attributes(&text[..at]).any(is_test_attribute));
    assert!(declared, "{place}: {path} has no test {function}");
}

/// Returns the attributes and comments right before a function, the nearest first.
fn attributes(before: &str) -> impl Iterator<Item = &str> {
    // The last line is the function's own, up to `fn`.
    let above = before.lines().rev().skip(usize::from(!before.ends_with('\n'))).map(str::trim);
    above.take_while(|line| line.starts_with("#[") || line.starts_with("//"))
}

fn is_test_attribute(line: &str) -> bool {
    ["#[test]", "#[tokio::test]"].contains(&line) || line.starts_with("#[tokio::test(")
}

#[test]
fn attributes_of_tests_are_known() {
    for (text, is_test) in [
        ("#[test]\nfn a()", true),
        ("#[test]\n#[cfg(unix)]\n    fn a()", true),
        ("#[tokio::test]\nasync fn a()", true),
        ("#[tokio::test(flavor = \"multi_thread\")]\n// why\nasync fn a()", true),
        ("#[test]\nfn b() {}\n\nfn a()", false),
        ("fn a()", false),
    ] {
        let before = &text[..text.rfind("fn a").unwrap()];
        assert_eq!(attributes(before).any(is_test_attribute), is_test, "{text}");
    }
}
