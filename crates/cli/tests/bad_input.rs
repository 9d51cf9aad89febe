//! Requests that make no sense: a clear error of the right kind, and nothing changed.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use crate::support::{Ran, Sandbox, error};

#[test]
fn indices_follow_one_grammar() {
    let sandbox = Sandbox::with_pages();
    let long = format!("{}-1", "x".repeat(65));
    for index in [
        "",
        "usr",
        "usr-",
        "usr-01",
        "usr--1",
        "../usr-1",
        "usr-1x",
        "ü-1",
        "usr-99999999999999999999",
        &long,
    ] {
        for args in [
            vec!["page", "show", index],
            vec!["page", "update", index, "--name", "x"],
            vec!["page", "move", "usr-1", "--to", index],
            vec!["page", "create", "--name", "x", "--parent", index],
            vec!["page", "tree", index],
        ] {
            let (kind, message) = sandbox.refused(&args);
            assert_eq!(kind, "invalid", "{args:?}");
            assert!(message.starts_with("invalid page index '"), "{message}");
        }
    }
    assert_eq!(sandbox.json(&["history"])["items"].as_array().unwrap().len(), 3);
}

#[test]
fn names_and_descriptions_are_bounded() {
    let sandbox = Sandbox::with_pages();
    let (long, longer) = ("x".repeat(201), "x".repeat(2_001));
    for name in ["", "  ", "a\nb", "a\u{1b}[31mb", &long] {
        let create = ["page", "create", "--parent", "usr-0", "--name", name];
        let (kind, message) = sandbox.unchanged(&create);
        assert_eq!(kind, "invalid");
        assert!(message.starts_with("invalid name '"), "{message}");
        assert!(!message.contains('\u{1b}'));
    }
    let describe = ["page", "update", "usr-1", "--description", &longer];
    assert_eq!(sandbox.unchanged(&describe).0, "invalid");
}

#[test]
fn places_must_exist_and_be_directories() {
    let sandbox = Sandbox::with_pages();
    let create =
        |parent: &str| sandbox.unchanged(&["page", "create", "--name", "x", "--parent", parent]);
    for parent in ["usr-9", "gone-0"] {
        let missing = format!("page {parent} not found, so page 'x' was not created in it");
        assert_eq!(create(parent), error("not-found", &missing));
    }
    assert_eq!(create("usr-1"), error("invalid", "page usr-1 is not a ContentsPage"));
    assert_eq!(
        sandbox.unchanged(&["page", "move", "usr-2", "--to", "usr-1"]),
        error("invalid", "page usr-1 is not a ContentsPage")
    );
    assert_eq!(sandbox.unchanged(&["page", "move", "usr-9", "--to", "usr-2"]).0, "not-found");
}

#[test]
fn no_page_becomes_its_own_ancestor() {
    let sandbox = Sandbox::with_pages();
    let create = ["page", "create", "--contents", "--parent", "usr-2", "--name", "Inner"];
    sandbox.json(&create);
    assert_eq!(
        sandbox.unchanged(&["page", "move", "usr-2", "--to", "usr-3"]),
        error(
            "invalid",
            "page usr-2 cannot be placed under usr-3, which is the page itself or one of its descendants"
        )
    );
    assert_eq!(sandbox.unchanged(&["page", "move", "usr-2", "--to", "usr-2"]).0, "invalid");
    let adopt = |children: &[&str]| {
        let create = ["page", "create", "--contents", "--parent", "usr-3", "--name", "x"];
        let children: Vec<&str> = children.iter().flat_map(|child| ["--child", child]).collect();
        sandbox.unchanged(&[&create[..], &children].concat())
    };
    assert_eq!(adopt(&["usr-2"]).0, "invalid");
    assert_eq!(adopt(&["usr-3"]).0, "invalid");
    assert_eq!(adopt(&["usr-0"]).0, "invalid");
    assert_eq!(
        adopt(&["sys-1"]),
        error("invalid", "page sys-1 is not in the same segment as usr-3")
    );
    assert_eq!(adopt(&["usr-1", "usr-1"]), error("invalid", "page usr-1 is named twice"));
    assert_eq!(adopt(&["usr-9"]).0, "not-found");
}

#[test]
fn roots_stay() {
    let sandbox = Sandbox::with_pages();
    let root = |verb: &str| format!("page usr-0 is the root of its segment and cannot be {verb}");
    assert_eq!(
        sandbox.unchanged(&["page", "move", "usr-0", "--to", "sys-0"]),
        error("invalid", &root("moved"))
    );
    assert_eq!(sandbox.unchanged(&["page", "remove", "usr-0"]), error("invalid", &root("removed")));
    assert_eq!(sandbox.unchanged(&["page", "archive", "usr-0"]).0, "invalid");
    assert_eq!(sandbox.unchanged(&["page", "purge", "usr-0"]).0, "invalid");
    assert_eq!(sandbox.unchanged(&["page", "restore", "usr-0"]).0, "invalid");
    assert_eq!(
        sandbox.unchanged(&["page", "hide", "sys-0"]),
        error("invalid", "system root page sys-0 cannot be hidden")
    );
}

// Expanding under a hidden ancestor names the nearest.
#[test]
fn nothing_is_expanded_under_a_hidden_directory() {
    let sandbox = Sandbox::with_pages();
    sandbox.json(&["page", "move", "usr-1", "--to", "usr-2"]);
    assert_eq!(
        sandbox.unchanged(&["page", "expand", "usr-1"]),
        error("invalid", "page usr-1 is under usr-2, which is hidden")
    );
}

#[test]
fn texts_must_be_utf8_and_within_the_limit() {
    let sandbox = Sandbox::with_pages();
    sandbox.write("latin1.txt", b"caf\xe9");
    let create = ["page", "create", "--parent", "usr-0", "--name", "x", "--detail-file"];
    let file = |file| sandbox.unchanged(&[&create[..], &[file]].concat());
    assert_eq!(file("latin1.txt"), error("invalid", "latin1.txt is not valid UTF-8 at byte 3"));
    assert_eq!(file("gone.txt"), error("not-found", "file gone.txt not found"));
    sandbox.write("large.txt", vec![b'x'; 17 * 1024 * 1024]);
    assert_eq!(file("large.txt").0, "too-large");
    let huge = std::fs::File::create(sandbox.path().join("huge.txt")).unwrap();
    huge.set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_eq!(
        file("huge.txt"),
        error("too-large", "huge.txt is larger than the limit of 67108864 bytes")
    );
}

#[test]
fn arguments_must_be_utf8() {
    let sandbox = Sandbox::with_pages();
    let refused = |args: &[&[u8]]| {
        let args: Vec<OsString> =
            args.iter().map(|arg| OsStr::from_bytes(arg).to_owned()).collect();
        let mut command = sandbox.command(&["--json"]);
        Ran::of(command.args(args)).into_refusal(&[])
    };
    let state = sandbox.state();
    assert_eq!(
        refused(&[b"page", b"show", b"usr-\xff"]),
        error("invalid", "the argument 'usr-\u{fffd}' is not valid UTF-8")
    );
    assert_eq!(refused(&[b"page", b"update", b"usr-1", b"--name", b"caf\xe9"]).0, "invalid");
    assert_eq!(refused(&[b"--session", b"\xff", b"page", b"list"]).0, "invalid");
    assert_eq!(refused(&[b"--as", b"\xff", b"page", b"list"]).0, "invalid");
    assert_eq!(refused(&[b"load", b"no\xffwhere.json"]).0, "not-found", "paths may be anything");
    assert_eq!(sandbox.state(), state);
    let mut command = sandbox.command(&["page", "list"]);
    let ran = Ran::of(command.env("CONTEXTURE_STORE", OsStr::from_bytes(b"sqlite:\xff")));
    assert_eq!(
        (ran.code, ran.err.lines().next()),
        (1, Some("error: CONTEXTURE_STORE is not valid UTF-8"))
    );
}

#[test]
fn misuse_exits_with_2() {
    let sandbox = Sandbox::empty();
    for args in [
        &[][..],
        &["page"],
        &["page", "show"],
        &["page", "frobnicate", "usr-1"],
        &["page", "list", "--limit", "0"],
        &["page", "list", "--limit", "many"],
        &["page", "create", "--parent", "usr-0", "--name", "x", "--detail", "a", "--contents"],
        &["page", "create", "--parent", "usr-0", "--name", "x", "--child", "usr-1"],
        &["turn", "add", "--user", "x", "--messages", "-"],
        &["segment", "add", "x", "--kind", "user"],
        &["completions", "cobol"],
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains("--help"), "{args:?}: {}", ran.err);
    }
    assert_eq!(sandbox.files(), [""; 0]);
}
