//! Nothing outside the project folder is read, listed, found or touched, whatever a model writes.

#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
};

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{files::Project, right, wrong};

const SECRET: &str = "top secret";

/// A project in a folder with secrets beside it, and links of every kind in it.
fn attacked() -> Project {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let write = |path: &str, content: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), content).unwrap();
    };
    write("outside/secret.txt", SECRET);
    write("project-twin/secret.txt", SECRET);
    write("project/inside.txt", "harmless");
    write("project/sub/file.txt", "harmless");
    write("project/.contexture/settings.json", "{}");
    write("project/.contexture/contexture.db", SECRET);
    write("project/.contexture/contexture.db-wal", SECRET);
    write("project/.git/config", "[core]");
    write("project/deep/.git/config", "[core]");
    write("project/.claude/agents/a.md", "agent");
    let link = |to: &Path, from: &str| symlink(to, root.join("project").join(from)).unwrap();
    link(&root.join("outside"), "out");
    link(Path::new("../outside"), "out_relative");
    link(&root.join("outside/secret.txt"), "secret_link");
    link(Path::new("out/secret.txt"), "link_to_link");
    link(Path::new("/"), "slash");
    link(Path::new("sub"), "sub_link");
    link(Path::new("inside.txt"), "inside_link");
    link(Path::new(".contexture"), "settings_link");
    link(Path::new(".contexture/contexture.db"), "store_link");
    link(Path::new("nowhere"), "dangling");
    link(&root.join("outside/new.txt"), "dangling_out");
    link(Path::new("loop"), "loop");
    Project::within(folder, "project")
}

/// Everything under a folder, links not followed, with what files hold.
pub(super) fn snapshot(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let told = if kind.is_dir() {
                folders.push(entry.path());
                "folder".to_owned()
            } else if kind.is_file() {
                fs::read_to_string(entry.path()).unwrap()
            } else {
                format!("{kind:?}")
            };
            all.insert(entry.path().to_string_lossy().into_owned(), told);
        }
    }
    all
}

fn paths_out(root: &Path) -> Vec<String> {
    let absolute = root.join("outside/secret.txt").to_string_lossy().into_owned();
    let twin = root.join("project-twin/secret.txt").to_string_lossy().into_owned();
    let around = format!("{}/../outside/secret.txt", root.join("project").display());
    [
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "./.././outside/secret.txt",
        "../project-twin/secret.txt",
        "..",
        "/etc/passwd",
        "//etc/passwd",
        "out/secret.txt",
        "out_relative/secret.txt",
        "secret_link",
        "link_to_link",
        "slash/etc/passwd",
        "sub/../out/secret.txt",
        "sub_link/../../outside/secret.txt",
        "loop",
        "dangling_out",
        "a\0b",
        &absolute,
        &twin,
        &around,
    ]
    .map(str::to_owned)
    .to_vec()
}

#[tokio::test]
async fn every_way_out_is_refused_and_nothing_outside_is_touched() {
    let project = attacked();
    let root = project.folder.path().canonicalize().unwrap();
    let before = snapshot(&root);
    for path in paths_out(&root) {
        let calls: [(&str, Value); 5] = [
            ("read_file", json!({"path": path})),
            ("list_files", json!({"path": path})),
            ("grep", json!({"pattern": "secret|root", "path": path})),
            ("edit_file", json!({"path": path, "old_text": "top", "new_text": "my"})),
            ("write_file", json!({"path": path, "content": "owned"})),
        ];
        for (tool, arguments) in calls {
            let text = wrong(project.call(tool, arguments).await);
            assert!(!text.contains(SECRET) && !text.contains("root:"), "{tool} {path:?}: {text}");
        }
    }
    assert_eq!(snapshot(&root), before);
}

#[tokio::test]
async fn links_inside_are_read_and_never_written_through() {
    let project = attacked();
    let root = project.folder.path().canonicalize().unwrap();
    for path in ["inside_link", "sub_link/file.txt"] {
        let text = right(project.call("read_file", json!({"path": path})).await);
        assert!(text.ends_with("harmless"), "{text}");
    }
    let listed = right(project.call("list_files", json!({"path": "sub_link"})).await);
    assert_eq!(listed, "sub/file.txt");
    let before = snapshot(&root);
    for path in
        ["inside_link", "sub_link/file.txt", "sub_link/new.txt", "dangling", "settings_link/x"]
    {
        let write = json!({"path": path, "content": "x"});
        let text = wrong(project.call("write_file", write).await);
        assert!(
            text.contains("is a symlink, and nothing is written through one"),
            "{path}: {text}"
        );
        let edit = json!({"path": path, "old_text": "harmless", "new_text": "x"});
        assert!(wrong(project.call("edit_file", edit).await).contains("is a symlink"), "{path}");
    }
    assert_eq!(snapshot(&root), before);
}

#[tokio::test]
async fn walks_go_through_no_link() {
    let project = attacked();
    let listed = right(project.call("list_files", json!({})).await);
    assert!(listed.contains("out (symlink)"), "{listed}");
    assert!(!listed.contains("out/") && !listed.contains("slash/"), "{listed}");
    let found = right(project.call("grep", json!({"pattern": "secret|harmless"})).await);
    assert_eq!(found, "inside.txt:1: harmless\nsub/file.txt:1: harmless");
}

#[tokio::test]
async fn settings_agent_files_and_repositories_are_not_written_and_the_store_is_not_read() {
    let project = attacked();
    let root = project.folder.path().canonicalize().unwrap();
    let before = snapshot(&root);
    for path in [
        ".contexture/settings.json",
        ".contexture/agents/mine.md",
        ".Contexture/settings.json",
        "sub/../.contexture/settings.json",
        "deep/.contexture/settings.json",
        ".contexture",
        ".gemini/agents/a.md",
        ".claude/agents/a.md",
        ".opencode/x",
        ".letta/x",
        ".codex/config.toml",
        ".git/config",
        ".git/hooks/pre-commit",
        "deep/.git/config",
        ".GIT/config",
    ] {
        let text = wrong(project.call("write_file", json!({"path": path, "content": "x"})).await);
        assert!(text.starts_with("permission denied: "), "{path}: {text}");
        assert!(text.contains(" is not written: settings, agent files"), "{path}: {text}");
        let edit = json!({"path": path, "old_text": "c", "new_text": "x"});
        let text = wrong(project.call("edit_file", edit).await);
        assert!(text.starts_with("permission denied: "), "{path}: {text}");
        assert!(text.contains(" is not written: settings, agent files"), "{path}: {text}");
    }
    for path in [
        ".contexture/contexture.db",
        ".contexture/contexture.db-wal",
        "store_link",
        "settings_link/contexture.db",
        "sub/../.contexture/contexture.db",
    ] {
        let text = wrong(project.call("read_file", json!({"path": path})).await);
        assert!(text.contains("belongs to a context store"), "{path}: {text}");
    }
    let text = right(project.call("read_file", json!({"path": ".contexture/settings.json"})).await);
    assert!(text.ends_with("{}"), "{text}");
    assert_eq!(snapshot(&root), before);
}

#[tokio::test]
async fn devices_pipes_sockets_and_folders_are_not_opened() {
    let project = attacked();
    let root = project.folder.path().join("project");
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    for path in ["pipe", "socket"] {
        let text = wrong(project.call("read_file", json!({"path": path})).await);
        assert!(text.contains("is not a regular file"), "{path}: {text}");
        let text = wrong(project.call("write_file", json!({"path": path, "content": "x"})).await);
        assert!(text.contains("a device, pipe or socket"), "{path}: {text}");
        let edit = json!({"path": path, "old_text": "a", "new_text": "b"});
        assert!(wrong(project.call("edit_file", edit).await).contains("a device"), "{path}");
        wrong(project.call("grep", json!({"pattern": "x", "path": path})).await);
    }
    // A search that meets them goes on.
    let found = right(project.call("grep", json!({"pattern": "harmless"})).await);
    assert_eq!(found.lines().count(), 2);
    let text = wrong(project.call("read_file", json!({"path": "sub"})).await);
    assert_eq!(text, "sub is a folder: list_files shows what is in it");
}

/// Parts that paths of attackers are made of.
fn part() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "..",
        ".",
        "",
        "/",
        "sub",
        "out",
        "out_relative",
        "slash",
        "sub_link",
        "secret_link",
        "link_to_link",
        "outside",
        "project",
        "project-twin",
        "secret.txt",
        "inside.txt",
        "etc",
        "passwd",
        "dangling_out",
        "loop",
        "~",
        "\\",
        "C:",
        ".git",
        ".contexture",
        "new",
        "...",
    ]);
    prop_oneof![9 => known.prop_map(str::to_owned), 1 => "[^\0]{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_paths_never_escape(
        parts in prop::collection::vec(part(), 1..7),
        absolute in any::<bool>(),
    ) {
        thread_local! {
            static PROJECT: (Project, BTreeMap<String, String>) = {
                let project = attacked();
                let outside = outside(project.folder.path());
                (project, outside)
            };
        }
        PROJECT.with(|(project, before)| {
            let root = project.folder.path().join("project");
            let mut path = parts.join("/");
            if absolute {
                path = format!("{}/{path}", root.display());
            }
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let calls = [
                ("read_file", json!({"path": path})),
                ("grep", json!({"pattern": "secret|root:", "path": path})),
                ("write_file", json!({"path": path, "content": "owned"})),
                ("edit_file", json!({"path": path, "old_text": "secret", "new_text": "owned"})),
                ("list_files", json!({"path": path})),
            ];
            for (tool, arguments) in calls {
                let text = runtime.block_on(project.call(tool, arguments)).text;
                prop_assert!(!text.contains(SECRET), "{} {:?}: {}", tool, path, text);
                prop_assert!(!text.contains("root:x"), "{} {:?}: {}", tool, path, text);
            }
            prop_assert_eq!(&outside(project.folder.path()), before, "{:?}", path);
            Ok(())
        })?;
    }
}

/// Everything beside the project.
fn outside(root: &Path) -> BTreeMap<String, String> {
    let inside = root.join("project").to_string_lossy().into_owned();
    let mut all = snapshot(root);
    all.retain(|path, _| !path.starts_with(&format!("{inside}/")));
    // A store that a random path would have overwritten is as bad.
    for path in ["project/.contexture/settings.json", "project/.git/config"] {
        all.insert(path.to_owned(), fs::read_to_string(root.join(path)).unwrap());
    }
    all
}
