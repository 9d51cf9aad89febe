use contexture_testkit::provider::{ProviderServer, Reply};

use crate::support::Sandbox;

/// Returns the words of every command, groups before what is in them.
fn commands(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    let mut next = 0;
    while next < all.len() {
        let words = all[next].clone();
        let help = help(sandbox, &words);
        let section = help.split_once("Commands:\n").map(|(_, rest)| rest).unwrap_or_default();
        let listed = section.lines().take_while(|line| line.starts_with("  "));
        // A long description goes on in lines that are further in.
        let names = listed.filter(|line| !line.starts_with("   "));
        for name in names.filter_map(|line| line.split_whitespace().next()) {
            if name != "help" {
                all.push(words.iter().cloned().chain([name.to_owned()]).collect());
            }
        }
        next += 1;
    }
    all
}

/// Returns the commands that can be run, each as its words.
pub(crate) fn leaves(sandbox: &Sandbox) -> Vec<String> {
    let all = commands(sandbox);
    let is_group = |words: &[String]| {
        all.iter().any(|other| other.len() > words.len() && other.starts_with(words))
    };
    all.iter().filter(|words| !is_group(words)).map(|words| words.join(" ")).collect()
}

fn help(sandbox: &Sandbox, words: &[String]) -> String {
    let words = words.iter().map(String::as_str).chain(["--help"]);
    let help = sandbox.text(&words.collect::<Vec<_>>());
    help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn help_teaches() {
    let sandbox = Sandbox::empty();
    let commands = commands(&sandbox);
    assert!(commands.len() > 40, "{commands:?}");
    let pages = commands.iter().map(|words| {
        let title = [vec!["contexture".to_owned()], words.clone()].concat().join(" ");
        format!("# {title}\n\n{}\n", help(&sandbox, words))
    });
    insta::assert_snapshot!(pages.collect::<Vec<_>>().join("\n"));
}

// Every command shows an example, and every example works after `contexture init`; agents ask a
// provider on loopback.
#[test]
fn examples_work() {
    let sandbox = Sandbox::empty();
    let server = ProviderServer::answering(|asked| {
        // Examples of approvals need a call that waits for one.
        let answered = asked.body.contains("functionResponse");
        let edits = asked.body.contains("Fix the typos.") && !answered;
        let edit = r#"{"path":"a.txt","old_text":"teh","new_text":"the"}"#;
        if edits { Reply::call("call_1", "edit_file", edit) } else { Reply::text("Done.") }
    });
    for words in commands(&sandbox) {
        let help = help(&sandbox, &words);
        let section = help.split_once("\nExample").map(|(_, rest)| rest).unwrap_or_default();
        let script: Vec<&str> = section.lines().skip(1).collect();
        assert!(!script.is_empty(), "{words:?} has no example");
        if words == ["serve"] {
            // It runs until it is stopped: its own tests do that.
            continue;
        }
        let fresh = Sandbox::new();
        let mut shell = fresh.shell(&format!("set -e\n{}", script.join("\n")));
        let output = shell.env("GOOGLE_GEMINI_BASE_URL", server.url()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
    }
    assert_eq!(server.violations(), Vec::<String>::new());
}

// Every command has a manual page, made from its help.
#[test]
fn every_command_has_a_manual_page() {
    let sandbox = Sandbox::empty();
    let said = sandbox.text(&["man", "manual"]);
    let folder = sandbox.path().join("manual/man1");
    let commands = commands(&sandbox);
    assert_eq!(said, format!("{} manual pages in manual/man1\n", commands.len()));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), commands.len());
    for words in &commands {
        let name = [&["contexture".to_owned()], words.as_slice()].concat().join("-");
        let page = std::fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains("Example"), "{name}");
    }
    let create = std::fs::read_to_string(folder.join("contexture-page-create.1")).unwrap();
    assert!(create.contains("\\-\\-parent") && create.contains("\\-\\-store"), "{create}");
    let main = std::fs::read_to_string(folder.join("contexture.1")).unwrap();
    assert_eq!(sandbox.text(&["man"]), main);
    // Again, in the same folder.
    assert_eq!(sandbox.text(&["man", "manual"]), said);
    sandbox.write("file", "");
    assert_eq!(sandbox.refused(&["man", "file"]).0, "unavailable");
}

#[test]
fn completions_and_version() {
    let sandbox = Sandbox::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.text(&["completions", shell]);
        assert!(script.contains("contexture") && script.contains("restore"), "{shell}");
    }
    assert!(sandbox.text(&["completions", "bash"]).contains("system-managed"));
    for word in ["claude-code", "responses", "window", "fold", "press", "import"] {
        assert!(sandbox.text(&["completions", "bash"]).contains(word), "{word}");
    }
    assert!(sandbox.text(&["--version"]).starts_with("contexture "));
}
