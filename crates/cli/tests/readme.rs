use std::{fs, path::Path};

use crate::support::Sandbox;

// The README's first five minutes work when pasted.
#[test]
fn the_first_five_minutes_work_when_pasted() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, after) = readme.split_once("<!-- five minutes: begin -->").unwrap();
    let (block, _) = after.split_once("<!-- five minutes: end -->").unwrap();
    let script = block.trim().trim_start_matches("```sh").trim_end_matches("```");

    let sandbox = Sandbox::empty();
    let output = sandbox.shell(&format!("set -e\n{script}")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for expected in [
        "sys-1  System prompt",
        "└── usr-2  Plan",
        "imported from openai: 16 exchanges",
        "by segment",
        "would fold: ",
        "folded as revision ",
        "[RUN] ",
        "refused, as it should be",
        "removePage",
        "no problems found",
    ] {
        assert!(said.contains(expected), "{expected} is not in:\n{said}");
    }
    // A folded turn is a line that says what came of it.
    let run = said.lines().find(|line| line.starts_with("[RUN] usr-1 ")).unwrap();
    assert!(run.contains("The clock is mocked twice."), "{run}");
    // The fold is taken back, and with it every page stands in full again.
    let history = sandbox.json(&["history"]);
    let edits = history["items"].as_array().unwrap();
    let fold = edits.iter().find(|edit| edit["operation"] == "foldPages").unwrap();
    assert!(!fold["undoneBy"].is_null(), "{fold}");
    let window = sandbox.text(&["window"]);
    assert!(window.contains("[FULL] **[usr-4]**") && !window.contains("[RUN] "), "{window}");
    let sessions = sandbox.json(&["session", "list"]);
    let ids = sessions["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap());
    let copy = ids.filter(|id| id.starts_with("copy-")).collect::<Vec<_>>();
    let copied = sandbox.json(&["--session", copy[0], "page", "show", "usr-1"]);
    assert_eq!(copied["detail"], sandbox.json(&["page", "show", "usr-1"])["detail"]);
    // It can be pasted again in the same folder.
    let again = sandbox.shell(&format!("set -e\n{script}")).output().unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
}
