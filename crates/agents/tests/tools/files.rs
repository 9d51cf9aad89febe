//! Workspace tools: what they read, find and write.

use std::{fs, path::Path, sync::Arc};

use contexture_agents::{
    Tool, ToolOutput,
    tools::workspace::{Protected, Workspace, tools},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{find, right, wrong};

/// A project folder with its tools.
pub(super) struct Project {
    pub(super) folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Project {
    pub(super) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self::within(folder, "")
    }

    /// Takes a folder of a folder for the project.
    pub(super) fn within(folder: TempDir, path: &str) -> Self {
        let tools = tools(&Arc::new(Workspace::open(&folder.path().join(path)).unwrap()));
        Self { folder, tools }
    }

    /// As [`Self::within`], with what is protected.
    pub(super) fn protecting(folder: TempDir, path: &str, protected: Protected) -> Self {
        let workspace = Workspace::open(&folder.path().join(path)).unwrap().protecting(protected);
        Self { folder, tools: tools(&Arc::new(workspace)) }
    }

    pub(super) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        find(&self.tools, name).call(&arguments).await
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

#[tokio::test]
async fn reading_lines() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\nthree\n");
    project.write("open.txt", "one\ntwo");
    project.write("empty.txt", "");
    let read = async |arguments| project.call("read_file", arguments).await;
    let text = right(read(json!({"path": "a.txt"})).await);
    assert_eq!(text, "a.txt (lines 1–3 of 3)\none\ntwo\nthree\n");
    let text = right(read(json!({"path": "./x/../a.txt", "offset": 2, "limit": 1})).await);
    assert_eq!(text, "a.txt (lines 2–2 of 3)\ntwo\n[there is more: read on with offset 3]");
    let text = right(read(json!({"path": "open.txt"})).await);
    assert_eq!(text, "open.txt (lines 1–2 of 2)\none\ntwo");
    assert_eq!(right(read(json!({"path": "empty.txt"})).await), "empty.txt (empty)");
    let text = wrong(read(json!({"path": "a.txt", "offset": 9})).await);
    assert_eq!(text, "a.txt has 3 lines: there is no line 9");
    let text = wrong(read(json!({"path": "b.txt"})).await);
    assert_eq!(text, "no file b.txt: list_files shows which files exist");
    let absolute = project.folder.path().canonicalize().unwrap().join("a.txt");
    let text = right(read(json!({"path": absolute.to_str().unwrap()})).await);
    assert!(text.starts_with("a.txt (lines 1–3 of 3)"), "{text}");
}

#[tokio::test]
async fn long_files_are_read_in_parts_that_together_are_the_whole() {
    let project = Project::new();
    let whole: String = (1..=60_000).map(|line| format!("line {line} of many ✓\n")).collect();
    project.write("long.txt", &whole);
    let (mut read, mut offset) = (String::new(), 1_u64);
    loop {
        let arguments = json!({"path": "long.txt", "offset": offset, "limit": 25_000});
        let text = right(project.call("read_file", arguments).await);
        assert!(text.len() < 257 * 1024, "{}", text.len());
        let (_, content) = text.split_once('\n').unwrap();
        let Some((content, note)) = content.rsplit_once('[') else {
            read.push_str(content);
            break;
        };
        read.push_str(content);
        offset = note.trim_end_matches(']').rsplit_once(' ').unwrap().1.parse().unwrap();
    }
    assert!(read == whole, "{} of {} bytes", read.len(), whole.len());
}

#[tokio::test]
async fn binary_files_are_named_and_broken_text_is_repaired() {
    let project = Project::new();
    project.write("image.png", b"\x89PNG\0\0\0");
    project.write("latin.txt", b"caf\xe9\n");
    let text = wrong(project.call("read_file", json!({"path": "image.png"})).await);
    assert_eq!(text, "image.png is binary, 7 bytes");
    let text = right(project.call("read_file", json!({"path": "latin.txt"})).await);
    assert_eq!(
        text,
        "latin.txt (lines 1–1 of 1; not valid UTF-8: invalid bytes are shown as \u{fffd})\ncaf\u{fffd}\n"
    );
    for (path, why) in [("image.png", "binary"), ("latin.txt", "not valid UTF-8 (byte 3)")] {
        let edit = json!({"path": path, "old_text": "caf", "new_text": "tea"});
        let text = wrong(project.call("edit_file", edit).await);
        assert!(text.contains(why), "{text}");
    }
    assert_eq!(fs::read(project.folder.path().join("latin.txt")).unwrap(), b"caf\xe9\n");
    let one = "x".repeat(300 * 1024);
    project.write("one.txt", &one);
    let text = right(project.call("read_file", json!({"path": "one.txt"})).await);
    assert!(text.ends_with("[line 1 is too long and is cut here; the next line has offset 2]"));
    assert!(text.len() < 257 * 1024);
}

#[tokio::test]
async fn listing_is_sorted_and_leaves_out_what_is_ignored() {
    let project = Project::new();
    project.write(".gitignore", "target/\n*.log\n");
    for path in [
        "src/main.rs",
        "src/b/deep.rs",
        "README.md",
        "target/x.rs",
        "a.log",
        ".github/ci.yml",
        ".git/config",
    ] {
        project.write(path, "x");
    }
    let list = async |arguments| right(project.call("list_files", arguments).await);
    let all = ".github/ci.yml\n.gitignore\nREADME.md\nsrc/b/deep.rs\nsrc/main.rs";
    assert_eq!(list(json!({})).await, all);
    assert_eq!(list(json!({"path": "src"})).await, "src/b/deep.rs\nsrc/main.rs");
    assert_eq!(list(json!({"pattern": "*.rs"})).await, "src/b/deep.rs\nsrc/main.rs");
    assert_eq!(list(json!({"pattern": "/src/*.rs"})).await, "src/main.rs");
    assert_eq!(list(json!({"pattern": "src/**/*.rs"})).await, "src/b/deep.rs\nsrc/main.rs");
    assert_eq!(list(json!({"pattern": "*.py"})).await, "no matching files in .");
    let text = wrong(project.call("list_files", json!({"path": "README.md"})).await);
    assert!(text.contains("not a folder"), "{text}");
    let text = wrong(project.call("list_files", json!({"pattern": "a{b"})).await);
    assert!(text.contains("is not a valid glob"), "{text}");
    for number in 0..510 {
        project.write(&format!("many/{number:03}.txt"), "");
    }
    let text = list(json!({"path": "many"})).await;
    assert_eq!(text.lines().count(), 501);
    assert!(text.ends_with("many/499.txt\n[only the first 500: name a folder or a pattern]"));
}

#[tokio::test]
async fn searching() {
    let project = Project::new();
    project.write("src/a.rs", "fn one() {}\nfn two() {}\r\n\n");
    project.write("src/b.md", "fn in prose\n");
    project.write("bin", b"fn\0");
    project.write("wide.txt", format!("{}needle{}\n", "<".repeat(5_000), ">".repeat(5_000)));
    let grep = async |arguments| project.call("grep", arguments).await;
    let text = right(grep(json!({"pattern": "fn \\w+"})).await);
    assert_eq!(text, "src/a.rs:1: fn one() {}\nsrc/a.rs:2: fn two() {}\nsrc/b.md:1: fn in prose");
    let text = right(grep(json!({"pattern": "^fn", "glob": "*.rs", "limit": 1})).await);
    assert_eq!(
        text,
        "src/a.rs:1: fn one() {}\n[only the first 1: narrow the pattern, path or glob]"
    );
    assert_eq!(
        right(grep(json!({"pattern": "(?i)PROSE", "path": "src/b.md"})).await),
        "src/b.md:1: fn in prose"
    );
    assert_eq!(right(grep(json!({"pattern": "^$"})).await), "src/a.rs:3: ");
    assert_eq!(right(grep(json!({"pattern": "nowhere"})).await), "no line matches");
    let text = right(grep(json!({"pattern": "needle"})).await);
    assert!(text.contains("<needle>") && text.chars().count() < 330, "{text}");
    for pattern in ["(", "(a{1000}){1000}"] {
        let text = wrong(grep(json!({"pattern": pattern})).await);
        assert!(text.starts_with("the pattern is not a valid regular expression"), "{text}");
    }
    assert!(wrong(grep(json!({"pattern": "x", "path": "none"})).await).starts_with("no file none"));
}

#[tokio::test]
async fn editing() {
    let project = Project::new();
    let before = "fn one() {\n    1\n}\nfn two() {\n    1\n}\n";
    project.write("a.rs", before);
    let edit = async |old: &str, new: &str, all: bool| {
        let arguments =
            json!({"path": "a.rs", "old_text": old, "new_text": new, "replace_all": all});
        project.call("edit_file", arguments).await
    };
    let text = wrong(edit("    1\n", "    2\n", false).await);
    assert_eq!(
        text,
        "old_text occurs 2 times in a.rs (lines 2, 5): take more lines to make it unique, or set replace_all"
    );
    let text = wrong(edit("fn tow() {", "fn three() {", false).await);
    assert_eq!(text, "old_text does not occur in a.rs; the nearest line is 4: fn two() {");
    assert!(wrong(edit("", "x", false).await).contains("old_text is empty"));
    assert!(wrong(edit("fn", "fn", false).await).contains("are the same"));
    assert_eq!(project.content("a.rs"), before);
    let text = right(edit("fn two() {\n    1\n", "fn two() {\n    2\n    3\n", false).await);
    assert_eq!(text, "edited a.rs: lines 4–5 changed (2 became 3)");
    assert_eq!(project.content("a.rs"), "fn one() {\n    1\n}\nfn two() {\n    2\n    3\n}\n");
    let text = right(edit("fn", "pub fn", true).await);
    assert_eq!(text, "edited a.rs: 2 places changed, the first on line 1");
    project.write("a.rs", "one\r\ntwo\r\n");
    let text = wrong(edit("one\ntwo", "x", false).await);
    assert!(text.contains("its lines end with \\r\\n"), "{text}");
    let none = json!({"path": "none.rs", "old_text": "a", "new_text": "b"});
    assert_eq!(
        wrong(project.call("edit_file", none).await),
        "no file none.rs: write_file creates one"
    );
}

#[tokio::test]
async fn writing_makes_folders_replaces_whole_and_leaves_nothing_beside() {
    let project = Project::new();
    let write = async |path: &str, content: &str| {
        project.call("write_file", json!({"path": path, "content": content})).await
    };
    assert_eq!(right(write("a/b/c.txt", "héllo").await), "wrote a/b/c.txt: 6 bytes; a new file");
    let text = right(write("a/b/c.txt", "x").await);
    assert_eq!(text, "wrote a/b/c.txt: 1 bytes; it replaced a file of 6 bytes");
    assert_eq!(project.content("a/b/c.txt"), "x");
    assert!(wrong(write("a/b", "x").await).contains("is a folder"));
    assert!(wrong(write("a/b/c.txt/d", "x").await).contains("not a folder"));
    assert!(wrong(write("", "x").await).contains("the project folder itself"));
    let names: Vec<_> = fs::read_dir(project.folder.path().join("a/b")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    project.write("run.sh", "echo one\n");
    let path = project.folder.path().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let edit = json!({"path": "run.sh", "old_text": "one", "new_text": "two"});
    right(project.call("edit_file", edit).await);
    assert_eq!(mode(&path), 0o750);
    right(project.call("write_file", json!({"path": "run.sh", "content": "echo three\n"})).await);
    assert_eq!((mode(&path), project.content("run.sh").as_str()), (0o750, "echo three\n"));
}

// What a folder leaves out holds below it; what stands deeper counts first, `.ignore` before
// `.gitignore`, and what git keeps to itself last.
#[tokio::test]
async fn rules_of_nested_folders_are_kept() {
    let project = Project::new();
    project
        .write(".gitignore", "\u{feff}*.log\n/only-here.txt\nbuild/\n!keep.log\ndeep/**/x.txt\n");
    project.write(".git/info/exclude", "private.txt\nkept.log\n");
    project.write("a/.gitignore", "!loud.log\n*.tmp\r\n");
    project.write("a/b/.ignore", "loud.log\n!quiet.tmp\n");
    for path in [
        "one.log",
        "keep.log",
        "only-here.txt",
        "a/only-here.txt",
        "build/x",
        "a/build/x",
        "private.txt",
        "a/private.txt",
        "a/loud.log",
        "a/b/loud.log",
        "a/b/quiet.tmp",
        "a/b/other.tmp",
        "deep/1/2/x.txt",
        "deep/1/2/y.txt",
    ] {
        project.write(path, "x");
    }
    let listed = right(project.call("list_files", json!({})).await);
    let expected = [
        ".gitignore",
        "a/.gitignore",
        "a/b/.ignore",
        "a/b/quiet.tmp",
        "a/loud.log",
        "a/only-here.txt",
        "deep/1/2/y.txt",
        "keep.log",
    ];
    assert_eq!(listed, expected.join("\n"));
    // A folder that is named is looked at by its own rules.
    let listed = right(project.call("list_files", json!({"path": "build"})).await);
    assert_eq!(listed, "build/x");
}

#[tokio::test]
async fn folders_that_lie_too_deep_are_said_to_be_left_out() {
    let project = Project::new();
    project.write("near.txt", "needle\n");
    project.write(&format!("{}far.txt", "d/".repeat(110)), "needle\n");
    let listed = right(project.call("list_files", json!({})).await);
    assert_eq!(listed, "near.txt\n[files more than 100 folders deep are left out: name a folder]");
    let found = right(project.call("grep", json!({"pattern": "needle"})).await);
    assert!(found.starts_with("near.txt:1: needle\n[stopped before"), "{found}");
    let near = json!({"path": "d/".repeat(50)});
    assert!(right(project.call("list_files", near).await).ends_with("d/far.txt"));
}
