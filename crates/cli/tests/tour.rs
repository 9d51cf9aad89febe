use std::fs;

use serde_json::Value;

use crate::support::Sandbox;

#[test]
fn the_tour_shows_each_step_with_its_command() {
    let sandbox = Sandbox::empty();
    let tour = sandbox.text(&["tour", "--keep", "tour"]);
    insta::assert_snapshot!(without_times(&tour));
    let store = "sqlite:tour/contexture.db";
    assert_eq!(sandbox.json(&["--store", store, "store", "check"])["ok"], true);
    assert_eq!(sandbox.json(&["--store", store, "page", "show", "usr-2"])["name"], "Cause");
    assert_eq!(sandbox.refused(&["tour", "--keep", "tour"]).0, "conflict");
}

// Every line it shows does the same again when it is pasted.
#[test]
fn what_is_shown_is_what_runs() {
    let sandbox = Sandbox::empty();
    let tour = sandbox.json(&["tour", "--keep", "tour"]);
    fs::remove_file(sandbox.path().join("tour/contexture.db")).unwrap();
    for step in tour["steps"].as_array().unwrap() {
        let line = step["command"].as_str().unwrap();
        let mut shell = sandbox.shell(&format!("{line} --json"));
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), step["exit"].as_i64().map(|code| code as i32), "{line}");
        let said = [output.stdout, output.stderr].concat();
        let said: Value = serde_json::from_slice(&said).unwrap();
        assert_eq!(
            crate::support::timeless(said),
            crate::support::timeless(step["output"].clone())
        );
    }
}

#[test]
fn without_a_folder_the_store_is_left_among_temporary_files() {
    let sandbox = Sandbox::empty();
    let tour = sandbox.text(&["tour"]);
    let files = sandbox.files();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].starts_with("contexture-tour-"), "{files:?}");
    assert!(tour.contains(&files[0]));
    assert!(sandbox.path().join(&files[0]).join("contexture.db").is_file());
    sandbox.text(&["tour"]);
    assert_eq!(sandbox.files().len(), 2);
}

fn without_times(text: &str) -> String {
    let is_time = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        (digits == 8 && word.len() == 10 && word.contains('-'))
            || (digits == 6 && word.trim_end_matches(',').ends_with('Z') && word.contains(':'))
    };
    let line = |line: &str| {
        let words = line.split(' ').map(|word| match word {
            word if is_time(word) => word.replace(|c: char| c.is_ascii_digit(), "0"),
            word => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
