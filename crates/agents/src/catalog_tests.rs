use std::{fs, path::Path};

use super::*;

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for part in ["project", "home", "config"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(&self) -> Catalog {
        Catalog::load(&Places {
            project: self.path("project"),
            user: Some(self.path("home")),
            config: Some(self.path("config")),
        })
    }

    /// Shows the problems with paths that are the same everywhere.
    fn problems(&self, catalog: &Catalog) -> String {
        let root = self.folder.path().display().to_string();
        let show = |(path, problem): &(PathBuf, FileProblem)| problem.display(path).to_string();
        let shown: Vec<String> = catalog.problems().iter().map(show).collect();
        shown.join("\n").replace(&format!("{root}/"), "")
    }
}

fn ours(name: &str, title: &str) -> String {
    format!("---\nkind: agent\nname: {name}\ntitle: {title}\n---\nYou are {title}.\n")
}

fn claude(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does it.\n---\nYou do it.\n")
}

// M-08, M-29: every dialect's folder is read, each in its own way, and the order is fixed.
#[test]
fn all_folders_are_read() {
    let home = Home::new();
    home.write("project/.contexture/agents/own.md", &ours("own", "Own"));
    home.write("project/.gemini/agents/seed.md", &ours("seed", "Seed"));
    home.write("project/.gemini/agents/gem.md", &claude("gem"));
    home.write("project/.claude/agents/team/deep/nested.md", &claude("nested"));
    home.write("project/.opencode/agents/open.md", "---\ndescription: d\n---\nDo.");
    home.write("project/.opencode/agent/old.md", "---\ndescription: d\n---\nDo.");
    home.write("project/.letta/agents/letter.md", &claude("letter"));
    home.write(
        "project/.codex/agents/codex-one.toml",
        "description = \"d\"\ndeveloper_instructions = \"Do.\"\n",
    );
    home.write("config/agents/mine.md", &ours("mine", "Mine"));
    home.write("home/.claude/agents/global.md", &claude("global"));
    home.write("home/.config/opencode/agents/everywhere.md", "---\ndescription: d\n---\nDo.");
    // None of these is an agent file, and none is an error.
    home.write("project/.gemini/agents/below/ignored.md", &claude("ignored"));
    home.write("project/.claude/agents/notes.txt", "notes");
    home.write("project/.claude/agents/.draft.md", "draft");
    let catalog = home.load();
    assert_eq!(home.problems(&catalog), "");
    let agents: Vec<(&str, Dialect, Scope)> =
        catalog.agents().map(|agent| (agent.name.as_str(), agent.dialect, agent.scope)).collect();
    use {Dialect::*, Scope::*};
    assert_eq!(
        agents,
        [
            ("codex-one", Codex, Project),
            ("everywhere", OpenCode, Global),
            ("gem", Gemini, Project),
            ("global", ClaudeCode, Global),
            ("letter", Letta, Project),
            ("mine", Contexture, Global),
            ("nested", ClaudeCode, Project),
            ("old", OpenCode, Project),
            ("open", OpenCode, Project),
            ("own", Contexture, Project),
            ("seed", Contexture, Project),
        ]
    );
    assert_eq!(catalog, home.load());
    assert!(catalog.get("own").unwrap().updated_at.is_some());
    assert_eq!(catalog.nearest("nestde"), Some("nested"));
    assert_eq!(catalog.nearest("unheard-of"), None);
}

#[test]
fn a_bad_file_hides_nothing_but_itself() {
    let home = Home::new();
    home.write("project/.contexture/agents/a-broken.md", "no front matter");
    home.write("project/.contexture/agents/b-good.md", &ours("b-good", "Good"));
    home.write("project/.contexture/agents/c-broken.md", "---\nkind: agent\n");
    home.write("project/.claude/agents/good.md", &claude("good"));
    let catalog = home.load();
    let names: Vec<&str> = catalog.agents().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["b-good", "good"]);
    assert!(catalog.has_errors());
    insta::assert_snapshot!(home.problems(&catalog), @r"
    project/.contexture/agents/a-broken.md:1: error: the file has no front matter
      hint: begin the file with a `---` line, fields such as `name: …`, and a second `---` line; keep files that are not agents elsewhere
    project/.contexture/agents/c-broken.md:1: error: the front matter is not closed: the second `---` line is missing
      hint: put a `---` line between the fields and the system prompt
    ");
}

// A project agent in the place of a user's is reported, and so are two of one name.
#[test]
fn shadowing_is_reported() {
    let home = Home::new();
    home.write("project/.claude/agents/reviewer.md", &claude("reviewer"));
    home.write("project/.contexture/agents/reviewer.md", &ours("reviewer", "Project's"));
    home.write("home/.claude/agents/reviewer.md", &claude("reviewer"));
    home.write("config/agents/mine.md", &ours("mine", "Mine"));
    home.write("home/.contexture/agents/mine.md", &ours("mine", "Second"));
    let catalog = home.load();
    assert_eq!(catalog.get("reviewer").unwrap().title, "Project's");
    assert_eq!(catalog.get("mine").unwrap().title, "Mine");
    insta::assert_snapshot!(home.problems(&catalog), @r"
    project/.claude/agents/reviewer.md: warning: agent 'reviewer' is defined twice; this file is used: project/.contexture/agents/reviewer.md
      hint: rename or remove one of the two
    home/.contexture/agents/mine.md: warning: agent 'mine' is defined twice; this file is used: config/agents/mine.md
      hint: rename or remove one of the two
    project/.contexture/agents/reviewer.md: warning: the project's agent 'reviewer' replaces yours: home/.claude/agents/reviewer.md
      hint: review it before you run it
    ");
    let shadowed: Vec<(&str, Scope, Scope)> = catalog
        .shadowed()
        .iter()
        .map(|it| (it.name.as_str(), it.used_scope, it.hidden_scope))
        .collect();
    assert_eq!(
        shadowed,
        [
            ("reviewer", Scope::Project, Scope::Project),
            ("mine", Scope::Global, Scope::Global),
            ("reviewer", Scope::Project, Scope::Global),
        ]
    );
}

#[test]
fn in_the_home_itself_nothing_is_read_twice() {
    let home = Home::new();
    home.write("home/.claude/agents/one.md", &claude("one"));
    let places = Places { project: home.path("home"), user: Some(home.path("home")), config: None };
    let catalog = Catalog::load(&places);
    assert_eq!(catalog.get("one").unwrap().scope, Scope::Project);
    assert_eq!(home.problems(&catalog), "");
}

#[cfg(unix)]
#[test]
fn links_that_leave_are_not_followed() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    home.write("secret/stolen.md", &claude("stolen"));
    home.write("project/.claude/agents/real.md", &claude("real"));
    let agents = home.path("project/.claude/agents");
    symlink(home.path("secret/stolen.md"), agents.join("stolen.md")).unwrap();
    symlink(home.path("secret"), agents.join("team")).unwrap();
    symlink(agents.join("real.md"), agents.join("alias.md")).unwrap();
    symlink(&agents, agents.join("loop")).unwrap();
    symlink(Path::new("nowhere.md"), agents.join("dangling.md")).unwrap();
    symlink(home.path("secret"), home.path("project/.letta")).unwrap();
    fs::create_dir(home.path("secret/agents")).unwrap();
    let catalog = home.load();
    assert_eq!(catalog.agents().len(), 1);
    insta::assert_snapshot!(home.problems(&catalog), @r"
    project/.claude/agents/dangling.md: warning: this symlink is broken
    project/.claude/agents/stolen.md: warning: this symlink leads out of the agents folder; it was not followed
    project/.claude/agents/team: warning: this symlink leads out of the agents folder; it was not followed
    project/.claude/agents/alias.md:2: warning: the file is named 'alias', but the agent is named 'real'
      hint: give both the same name
    project/.claude/agents/real.md: warning: agent 'real' is defined twice; this file is used: project/.claude/agents/alias.md
      hint: rename or remove one of the two
    project/.letta/agents: warning: this folder is a symlink that leads out of the project; it was not followed
    ");
}

// A file too big to be an agent is refused unread.
#[test]
fn a_huge_file_is_refused_unread() {
    let home = Home::new();
    home.write("project/.claude/agents/huge.md", &claude("huge"));
    let huge = fs::OpenOptions::new().write(true).open(home.path("project/.claude/agents/huge.md"));
    // Sparse: it has the size and takes no room.
    huge.unwrap().set_len(50 << 20).unwrap();
    let catalog = home.load();
    assert_eq!(catalog.agents().len(), 0);
    insta::assert_snapshot!(home.problems(&catalog), @r"
    project/.claude/agents/huge.md: error: the file is larger than 1 MiB, the limit for agent files
      hint: keep the system prompt short and let the agent read files instead
    ");
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_none_is_reported() {
    let home = Home::new();
    home.write("project/.claude/agents", "a file");
    let catalog = home.load();
    assert!(catalog.has_errors());
    insta::assert_snapshot!(home.problems(&catalog), @"project/.claude/agents: error: cannot be read: Not a directory (os error 20)");
}

// Without its file an agent must not see more than with it, and any broken file may be its.
#[test]
fn a_name_without_a_file_may_be_in_one_that_is_broken() {
    let home = Home::new();
    let name = |text: &str| text.parse::<AgentName>().unwrap();
    home.write("project/.contexture/agents/own.md", &ours("own", "Own"));
    assert_eq!(home.load().definition(&name("other")).unwrap(), None);

    home.write("project/.contexture/agents/torn.md", "no agent");
    let catalog = home.load();
    assert!(catalog.definition(&name("own")).unwrap().is_some());
    let torn = catalog.definition(&name("torn")).unwrap_err();
    assert!(matches!(&torn, AgentsError::FileBroken { name, .. } if name == "torn"), "{torn}");
    let other = catalog.definition(&name("other")).unwrap_err();
    assert!(
        matches!(&other, AgentsError::MaybeBroken { files, .. } if files.len() == 1),
        "{other}"
    );
    let missed = catalog.find("owm").unwrap_err();
    assert!(
        matches!(&missed, AgentsError::AgentNotFound { nearest: Some(own), .. } if own == "own"),
        "{missed}"
    );
}

#[test]
fn an_agent_of_the_project_that_hides_the_users_is_known() {
    let home = Home::new();
    home.write("config/agents/own.md", &ours("own", "Mine"));
    let own: AgentName = "own".parse().unwrap();
    assert_eq!(home.load().hidden_of_user(&own), None);
    home.write("project/.contexture/agents/own.md", &ours("own", "Theirs"));
    let mine = home.path("config/agents/own.md");
    assert_eq!(home.load().hidden_of_user(&own), Some(mine.as_path()));
}
