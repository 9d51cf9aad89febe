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
    let ids = [('A', 42), ('B', 58), ('D', 36), ('P', 29)]
        .into_iter()
        .flat_map(|(letter, last)| (1..=last).map(move |number| format!("{letter}-{number:02}")));
    let missing: Vec<String> = ids.filter(|id| !rows.contains_key(id)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

#[test]
fn every_test_named_exists() {
    for (id, proof) in rows() {
        let named: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        let later = proof.starts_with("later: ");
        assert!(later || !named.is_empty(), "{id} names neither a test nor what brings it");
        for name in named {
            let (path, function) =
                name.split_once("::").unwrap_or_else(|| panic!("{id}: '{name}' is not path::test"));
            let text = fs::read_to_string(project().join(path))
                .unwrap_or_else(|error| panic!("{id}: {path}: {error}"));
            let declared = text.match_indices(&format!("fn {function}(")).any(|(at, _)| {
                let before = &text[at.saturating_sub(200)..at];
                before.trim_end().ends_with("#[test]") || before.contains("#[test]\n")
            });
            assert!(declared, "{id}: {path} has no test {function}");
        }
    }
}
