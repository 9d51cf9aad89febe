use std::{
    collections::BTreeSet,
    process::{Child, Command, Stdio},
};

use crate::support::Sandbox;

const PROCESSES: usize = 4;
const ROUNDS: usize = 12;

/// Starts a shell that runs a script in which the program is found.
fn start(sandbox: &Sandbox, script: &str) -> Child {
    let programs = assert_cmd::cargo::cargo_bin!("contexture").parent().unwrap().to_owned();
    Command::new("sh")
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .current_dir(sandbox.path())
        .args(["-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

// Four processes on one database file, mixed edits: no lost update, no deadlock, check clean.
#[test]
fn four_processes_share_one_file() {
    let sandbox = Sandbox::with_pages();
    let before: usize =
        sandbox.json(&["history", "--limit", "1000"])["items"].as_array().unwrap().len();
    let script = |process: usize| {
        let mut lines = vec!["set -e".to_owned()];
        for round in 0..ROUNDS {
            let name = format!("p{process}-{round}");
            lines.push(format!(
                "contexture page create --parent usr-0 --name {name} --detail {name}"
            ));
            lines.push(format!("contexture --as agent-{process} page pin usr-1"));
            lines.push(format!("contexture page update usr-1 --description {name}"));
            lines.push(format!("contexture --as agent-{process} turn add --user hello-{name}"));
        }
        lines.join("\n")
    };
    let children: Vec<Child> =
        (0..PROCESSES).map(|process| start(&sandbox, &script(process))).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let edits = PROCESSES * ROUNDS * 4;
    let history = sandbox.json(&["history", "--limit", "1000"]);
    assert_eq!(history["items"].as_array().unwrap().len(), before + edits);
    // Every update raised the version once: none was lost.
    let page = sandbox.json(&["page", "show", "usr-1"]);
    let updates = (PROCESSES * ROUNDS) as u64;
    assert_eq!(page["version"].as_u64().unwrap(), 1 + updates);
    let listed = sandbox.json(&["page", "list", "--limit", "1000"]);
    let names: BTreeSet<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|page| page["name"].as_str())
        .collect();
    for process in 0..PROCESSES {
        for round in 0..ROUNDS {
            assert!(names.contains(format!("p{process}-{round}").as_str()));
            assert!(names.contains(format!("hello-p{process}-{round}").as_str()));
        }
    }
    assert_eq!(sandbox.json(&["store", "check"])["ok"], true);
}
