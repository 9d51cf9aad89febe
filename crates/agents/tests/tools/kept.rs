//! What decides what runs is not written, wherever it lies and whatever leads there.

#![cfg(unix)]

use std::{fs, os::unix::fs::symlink};

use contexture_agents::tools::workspace::Protected;
use serde_json::json;
use tempfile::TempDir;

use super::{files::Project, right, wrong};

async fn refuses(project: &Project, paths: &[&str]) {
    for path in paths {
        let text = wrong(project.call("write_file", json!({"path": path, "content": "x"})).await);
        let fits = text.starts_with("permission denied: ") && text.contains("is not written: ");
        assert!(fits, "{path}: {text}");
    }
}

async fn allows(project: &Project, paths: &[&str]) {
    for path in paths {
        right(project.call("write_file", json!({"path": path, "content": "x"})).await);
    }
}

#[tokio::test]
async fn settings_that_are_not_there_yet_are_not_made() {
    let folder = TempDir::new().unwrap();
    let config = folder.path().join(".config/contexture");
    let project = Project::protecting(folder, "", Protected::default().settings(config));
    let inside = [
        ".config/contexture/settings.json",
        ".config/contexture/agents/x.md",
        ".config/contexture",
        "a/../.config/contexture/settings.json",
    ];
    refuses(&project, &inside).await;
    // It is not known yet whether the system tells upper case from lower.
    refuses(&project, &[".CONFIG/Contexture/settings.json"]).await;
    assert!(!project.folder.path().join(".config").exists());
    allows(&project, &[".config/other.txt", ".config/other/contexture/x", "contexture/x"]).await;
    refuses(&project, &inside).await;
    assert!(!project.folder.path().join(".config/contexture").exists());
}

// A folder of settings that is kept elsewhere, in a repository of one's own.
#[tokio::test]
async fn settings_behind_links_are_not_written() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    for path in ["home", "project/dotfiles/ctx/agents", "project/plain"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("project/dotfiles/ctx/settings.json"), "{}").unwrap();
    fs::write(root.join("project/plain/one.json"), "{}").unwrap();
    symlink("../project/dotfiles/ctx", root.join("home/contexture")).unwrap();
    symlink(root.join("project/plain/one.json"), root.join("home/one.json")).unwrap();
    symlink("../project/plain/later/two.json", root.join("home/two.json")).unwrap();
    let protected = Protected::default()
        .settings(root.join("home/contexture"))
        .settings(root.join("home/one.json"))
        .settings(root.join("home/two.json"));
    let project = Project::protecting(folder, "project", protected);
    refuses(
        &project,
        &[
            "dotfiles/ctx/settings.json",
            "dotfiles/ctx/agents/new.md",
            "dotfiles/ctx/new/deep.md",
            "plain/one.json",
            "plain/later/two.json",
        ],
    )
    .await;
    let edit = json!({"path": "dotfiles/ctx/settings.json", "old_text": "{", "new_text": "x"});
    assert!(wrong(project.call("edit_file", edit).await).contains("is not written: "));
    allows(&project, &["dotfiles/other/settings.json", "plain/later/one.json", "plain/x"]).await;
    // It is read as before.
    let path = json!({"path": "dotfiles/ctx/settings.json"});
    assert!(right(project.call("read_file", path).await).ends_with("{}"));
}

// A file is replaced and never written into, so a second name for it changes nothing.
#[tokio::test]
async fn a_hard_link_to_an_agent_file_does_not_lead_to_it() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    for path in ["config/agents", "project"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for (file, link) in [("agents/a.md", "twin.md"), ("settings.json", "twin.json")] {
        fs::write(root.join("config").join(file), "original").unwrap();
        fs::hard_link(root.join("config").join(file), root.join("project").join(link)).unwrap();
    }
    let protected = Protected::default()
        .settings(root.join("config"))
        .settings(root.join("config/settings.json"));
    let project = Project::protecting(folder, "project", protected);
    refuses(&project, &["twin.json"]).await;
    allows(&project, &["twin.md"]).await;
    for path in ["config/agents/a.md", "config/settings.json"] {
        assert_eq!(project.content(path), "original");
    }
}

#[tokio::test]
async fn a_project_in_a_folder_of_settings_is_only_read() {
    for (place, written) in [("settings", false), ("kept", true)] {
        let folder = TempDir::new().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("tool/work")).unwrap();
        fs::write(root.join("tool/work/a.txt"), "harmless").unwrap();
        let tool = root.join("tool");
        let protected = match place {
            "settings" => Protected::default().settings(tool),
            _ => Protected::default().kept(tool),
        };
        let project = Project::protecting(folder, "tool/work", protected);
        right(project.call("read_file", json!({"path": "a.txt"})).await);
        if written {
            allows(&project, &["a.txt", "new/b.txt"]).await;
        } else {
            refuses(&project, &["a.txt", "new/b.txt"]).await;
        }
    }
}

#[tokio::test]
async fn what_is_kept_is_not_written_below_the_project() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("tools/bin")).unwrap();
    fs::write(root.join("tools/bin/program"), "binary").unwrap();
    fs::write(root.join("program"), "binary").unwrap();
    let protected =
        Protected::default().kept(root.join("tools/bin")).kept(root.join("program")).kept(root);
    let project = Project::protecting(folder, "", protected);
    refuses(&project, &["tools/bin/program", "tools/bin/other", "program", "Program"]).await;
    allows(&project, &["tools/other", "x"]).await;
}

#[tokio::test]
async fn a_repositorys_own_state_is_not_written_where_it_lies_elsewhere() {
    for link in [false, true] {
        let folder = TempDir::new().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("meta/hooks")).unwrap();
        if link {
            symlink("meta", root.join(".git")).unwrap();
        } else {
            fs::write(root.join(".git"), "gitdir: meta\n").unwrap();
        }
        let project = Project::within(folder, "");
        refuses(&project, &["meta/hooks/pre-commit", "meta/config", ".git"]).await;
        allows(&project, &["src/meta/config"]).await;
    }
}
