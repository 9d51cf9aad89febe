use super::{super::ToolRules, *};

fn parse_at(path: &str, text: &str) -> Parsed {
    parse(text.as_bytes(), Path::new(path), Scope::Project, Times::default())
}

/// Reads a file that is sound, and checks that nothing is said about it.
fn clean(path: &str, text: &str) -> AgentDefinition {
    let parsed = parse_at(path, text);
    assert_eq!(shown(path, &parsed), "");
    parsed.definition.unwrap()
}

fn shown(path: &str, parsed: &Parsed) -> String {
    let show = |problem: &FileProblem| problem.display(Path::new(path)).to_string();
    parsed.problems.iter().map(show).collect::<Vec<_>>().join("\n")
}

/// Reads a file and shows what is said about it.
fn said(path: &str, text: &str) -> String {
    shown(path, &parse_at(path, text))
}

/// Shows what is said about fields in a file of ours that is otherwise sound.
fn said_of(fields: &str) -> String {
    let text = format!("---\nkind: agent\nname: a\ntitle: A\n{fields}\n---\nDo.\n");
    said(".contexture/agents/a.md", &text)
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

// M-08, M-29: the seed's own example, in the folder where the seed keeps it.
#[test]
fn the_seeds_example_is_an_agent() {
    let text = "---\nkind: agent\nname: bug-fixer\ntitle: Bug Fixer\ncontextMode: shared  # shares\ntools:\n  allow: [read_file, edit_file]\n---\nFix bugs.\nYou can see the history.\n";
    for folder in [".gemini", ".contexture", ".claude"] {
        let agent = clean(&format!("{folder}/agents/bug-fixer.md"), text);
        assert_eq!(agent.name.as_str(), "bug-fixer");
        assert_eq!(agent.title, "Bug Fixer");
        assert_eq!(agent.context_mode, Some(ContextMode::Shared));
        assert_eq!(agent.tools.allow, Some(list(&["read_file", "edit_file"])));
        assert_eq!(agent.system_prompt, "Fix bugs.\nYou can see the history.");
        assert_eq!(agent.dialect, Dialect::Contexture);
    }
}

// M-09: every field of the definition.
#[test]
fn every_field_of_ours_is_read() {
    let text = r##"---
kind: agent
name: full
title: Full
description: Has it all.
model: gemini-2.0-flash
color: "#4A90E2"
scope: project
version: 1.10
contextMode: shared
contextGroup: quality
contextFilter:
  agents: [code-reviewer, user]
  roles: [user, assistant]
  since: 2025-10-06
  maxAge: 2h
publishResult: none
tools:
  allow:
    - Read
    - mcp__github__search
  deny: [write_file]
mcp:
  servers: [github]
maxTurns: 12
temperature: 0.5
effort: high
window:
  shares:
    requests: 0.1
    highWater: 0.8
    held: 5
---

Prompt
"##;
    let times = Times {
        created: Some(Timestamp::from_millis(500)),
        updated: Some(Timestamp::from_millis(1_000)),
    };
    let path = Path::new(".contexture/agents/full.md");
    let parsed = parse(text.as_bytes(), path, Scope::Project, times);
    assert_eq!(parsed.problems, []);
    insta::assert_snapshot!(format!("{:#?}", parsed.definition.unwrap()), @r##"
    AgentDefinition {
        name: "full",
        title: "Full",
        description: "Has it all.",
        model: Some(
            "gemini-2.0-flash",
        ),
        color: Some(
            "#4A90E2",
        ),
        scope: Project,
        version: Some(
            "1.10",
        ),
        context_mode: Some(
            Shared,
        ),
        context_filter: ContextFilter {
            agents: Some(
                [
                    "code-reviewer",
                    "user",
                ],
            ),
            roles: Some(
                [
                    "user",
                    "assistant",
                ],
            ),
            since: Some(
                2025-10-06T00:00:00Z,
            ),
            max_age_seconds: Some(
                7200,
            ),
        },
        context_group: Some(
            "quality",
        ),
        context_parent: None,
        publish_result: None,
        tools: ToolRules {
            allow: Some(
                [
                    "read_file",
                    "mcp__github__search",
                ],
            ),
            deny: [
                "write_file",
            ],
        },
        mcp: [
            McpServer {
                name: "github",
                config: None,
            },
        ],
        max_turns: Some(
            12,
        ),
        temperature: Some(
            0.5,
        ),
        effort: Some(
            "high",
        ),
        shares: ShareSettings(
            {
                Requests: 100,
                HighWater: 800,
                Held: 5,
            },
        ),
        system_prompt: "Prompt",
        file: ".contexture/agents/full.md",
        dialect: Contexture,
        created_at: Some(
            1970-01-01T00:00:00.5Z,
        ),
        updated_at: Some(
            1970-01-01T00:00:01Z,
        ),
        extra: {},
    }
    "##);
}

// M-05: an agent that says nothing new is what it always was.
#[test]
fn new_fields_are_optional() {
    let agent = clean(".contexture/agents/a.md", "---\nkind: agent\nname: a\ntitle: A\n---\nDo.");
    assert_eq!(agent.context_mode, None);
    assert_eq!(agent.context_filter, Default::default());
    assert_eq!(agent.context_group, None);
    assert_eq!(agent.publish_result, PublishResult::Exchange);
    assert_eq!(agent.tools, ToolRules::default());
}

// M-33: nothing but the two words is a mode; no silent fallback.
#[test]
fn wrong_modes_are_refused() {
    for bad in ["Shared", "share", "ISOLATED", "both", "true", "\"\"", "[shared]", "{a: b}", "1"] {
        let text = format!("---\nkind: agent\nname: a\ntitle: A\ncontextMode: {bad}\n---\nDo.");
        let parsed = parse_at(".contexture/agents/a.md", &text);
        assert_eq!(parsed.definition, None, "{bad}");
        assert_eq!(parsed.problems[0].line, Some(5), "{bad}");
    }
    for (word, mode) in [
        ("isolated", ContextMode::Isolated),
        ("shared", ContextMode::Shared),
        ("fork", ContextMode::Fork),
    ] {
        let text = format!("---\nkind: agent\nname: a\ntitle: A\ncontextMode: {word}\n---\nDo.");
        let parsed = parse_at(".contexture/agents/a.md", &text);
        assert_eq!(parsed.definition.unwrap().context_mode, Some(mode));
    }
    insta::assert_snapshot!(said_of("contextMode: Shared"), @r"
    .contexture/agents/a.md:5: error: 'contextMode' is 'Shared': it must be 'isolated', 'shared' or 'fork'
      hint: did you mean 'shared'?
    ");
    insta::assert_snapshot!(said_of("contextMode: both"), @".contexture/agents/a.md:5: error: 'contextMode' is 'both': it must be 'isolated', 'shared' or 'fork'");
}

#[test]
fn wrong_values_are_errors_with_their_line() {
    insta::assert_snapshot!(said_of("publishResult: exchang"), @r"
    .contexture/agents/a.md:5: error: 'publishResult' is 'exchang': it must be 'exchange' or 'none'
      hint: did you mean 'exchange'?
    ");
    insta::assert_snapshot!(said_of("contextGroup: No Group"), @".contexture/agents/a.md:5: error: invalid group name 'No Group': it must begin with a lower-case letter and contain only lower-case letters and digits, joined by single '-' or '_'");
    insta::assert_snapshot!(said_of("scope: everywhere"), @".contexture/agents/a.md:5: error: 'scope' is 'everywhere': it must be 'global' or 'project'");
    insta::assert_snapshot!(said_of("temperature: hot\nmaxTurns: 0"), @r"
    .contexture/agents/a.md:5: error: 'temperature' is 'hot'; it must be a number from 0 to 2
    .contexture/agents/a.md:6: error: 'maxTurns' is '0'; it must be a whole number above 0
    ");
    insta::assert_snapshot!(said_of("tools:\n  alow: [read_file]"), @r"
    .contexture/agents/a.md:6: error: 'tools' has no field 'alow'
      hint: did you mean 'allow'?
    ");
    insta::assert_snapshot!(said_of("mcp: {servers: [a b]}"), @r"
    .contexture/agents/a.md:5: error: 'a b' is not a valid name for an MCP server
      hint: use at most 64 letters, digits, '-', '_' and '.', and no '__'
    ");
    insta::assert_snapshot!(said_of("contextFilter: {agent: [x], roles: [tool, users], since: soon, maxAge: 2 hours}"), @r"
    .contexture/agents/a.md:5: error: 'contextFilter' has no field 'agent'
      hint: did you mean 'agents'?
    .contexture/agents/a.md:5: error: 'users' in 'contextFilter.roles' is not a role
      hint: did you mean 'user'?
    .contexture/agents/a.md:5: error: 'contextFilter.roles' must include 'user'
      hint: add `user`: providers reject a conversation without user messages
    .contexture/agents/a.md:5: error: 'contextFilter.since' is 'soon'; it must be a date or time such as 2025-02-06 or 2025-02-06T10:00:00Z
    .contexture/agents/a.md:5: error: 'contextFilter.maxAge' is '2 hours'; it must be a number with s, m, h, d or w, such as 30m or 7d
    ");
    insta::assert_snapshot!(said_of("contextFilter: everything"), @".contexture/agents/a.md:5: error: 'contextFilter' is 'everything'; it must be a map with `agents`, `roles`, `since` or `maxAge`");
    insta::assert_snapshot!(said_of("contextFilter: {agents: [main]}"), @r"
    .contexture/agents/a.md:5: error: 'main' in 'contextFilter.agents' is not an agent name
      hint: name agents, or `user` for the person
    ");
    insta::assert_snapshot!(said_of("window:\n  share: {}\n  shares:\n    request: 0.1\n    requests: 1.5\n    held:"), @r"
    .contexture/agents/a.md:6: error: 'window' has no field 'share'
      hint: its only field is `shares`
    .contexture/agents/a.md:8: error: 'window.shares': there is no share 'request'; the shares are requests, recent, highWater, lowWater, lines, part, held; did you mean 'requests'?
    .contexture/agents/a.md:9: error: 'window.shares.requests' is '1.5'; it must be a number from 0 to 1 with at most three decimals
    .contexture/agents/a.md:10: error: 'window.shares.held' is nothing; it must be a whole number from 0 to 255
    ");
    insta::assert_snapshot!(said_of("window: {shares: {lowWater: 0.9, highWater: 0.5}}"), @".contexture/agents/a.md:5: error: 'window.shares': lowWater (0.9) must not be above highWater (0.5)");
    insta::assert_snapshot!(said_of("window: wide"), @".contexture/agents/a.md:5: error: 'window' is 'wide'; it must be a map with `shares`");
    insta::assert_snapshot!(said_of("description: [a]"), @".contexture/agents/a.md:5: error: 'description' is a list; it must be a string");
}

#[test]
fn doubtful_values_are_warnings() {
    let warned = |fields: &str| {
        let text = format!("---\nkind: agent\nname: a\ntitle: A\n{fields}\n---\nDo.\n");
        let parsed = parse_at(".contexture/agents/a.md", &text);
        assert!(parsed.definition.is_some(), "{fields}");
        shown("a.md", &parsed)
    };
    insta::assert_snapshot!(warned("contextMode: isolated\ncontextGroup: quality"), @r"
    a.md:6: warning: 'contextGroup' has no effect on an agent whose mode is isolated
      hint: write `contextMode: shared`, or leave the group out
    ");
    insta::assert_snapshot!(warned("contextmode: shared\ntool: [grep]\nfavourite: tea"), @r"
    a.md:5: warning: unknown field 'contextmode'; it is kept and ignored
      hint: did you mean 'contextMode'?
    a.md:6: warning: unknown field 'tool'; it is kept and ignored
      hint: did you mean 'tools'?
    a.md:7: warning: unknown field 'favourite'; it is kept and ignored
    ");
    insta::assert_snapshot!(warned("color: #fff\nscope: global\ntools:"), @r##"
    a.md:5: warning: 'color' is empty
      hint: `#` begins a comment: write `color: "#4A90E2"`
    a.md:6: warning: 'scope' is 'global', but the file is in the project, and that decides
    a.md:7: warning: 'tools' is empty, so all tools are allowed
      hint: remove the field to allow all tools, or write `tools: []` to allow none
    "##);
    insta::assert_snapshot!(warned("tools: [Bash, read_fil, 'Read(./src/**)', grep]"), @r"
    a.md:5: warning: unknown tool, ignored: read_fil
      hint: did you mean 'read_file' by 'read_fil'?
    a.md:5: warning: limits in parentheses are not supported, so these tools are not allowed: Read(./src/**)
      hint: name the tool without parentheses to allow all of it
    ");
}

// A list of denied tools with a slip in it would allow what was to be denied.
#[test]
fn a_slip_in_what_is_denied_is_an_error() {
    let ours = |fields: &str| {
        said("a.md", &format!("---\nkind: agent\nname: a\ntitle: A\n{fields}\n---\nDo."))
    };
    insta::assert_snapshot!(ours("tools: {deny: [write_fil, Bash, mcp__notes, telepot]}"), @r"
    a.md:5: error: there is no tool 'write_fil', so nothing would be denied
      hint: did you mean 'write_file'?
    a.md:5: error: there is no tool 'telepot', so nothing would be denied
      hint: the tools are read_file, write_file, edit_file, grep, list_files, run_command, create_contents_page, create_detail_page, expand_details, find_page, get_page, hide_details, move_page, pin_page, read_window, recall, remove_page, restore_page, unpin_page, update_page; tools of MCP servers are named mcp__SERVER__TOOL
    ");
    insta::assert_snapshot!(ours("tools: {allow: [grep], denied: [write_file]}"), @r"
    a.md:5: error: 'tools' has no field 'denied'
      hint: did you mean 'deny'?
    ");
    insta::assert_snapshot!(ours("disallowedTools: [write_file]\ndeny: Edit"), @r"
    a.md:5: error: unknown field 'disallowedTools', so nothing would be denied
      hint: name the tools under `tools`, in a list `deny`
    a.md:6: error: unknown field 'deny', so nothing would be denied
      hint: name the tools under `tools`, in a list `deny`
    ");
    insta::assert_snapshot!(ours("tools: {wirte: false}"), @r"
    a.md:5: error: there is no tool 'wirte', so nothing would be denied
      hint: did you mean 'Write'?
    ");
    // Files of other programs name their own tools too.
    let claude = |fields: &str| {
        let text = format!("---\nname: a\ndescription: d\n{fields}\n---\nDo.");
        said(".claude/agents/a.md", &text)
    };
    insta::assert_snapshot!(claude("disallowedTools: Wirte, Worktree, Bash(rm *)"), @r"
    .claude/agents/a.md:4: error: there is no tool 'Wirte', so nothing would be denied
      hint: did you mean 'Write'?
    .claude/agents/a.md:4: warning: unknown tool, ignored: Worktree
    .claude/agents/a.md:4: warning: tools cannot be denied in part, so these are denied entirely: Bash(rm *)
    ");
    insta::assert_snapshot!(claude("disalowed-tools: Write"), @r"
    .claude/agents/a.md:4: error: unknown field 'disalowed-tools', so nothing would be denied
      hint: did you mean 'disallowedTools'?
    ");
    insta::assert_snapshot!(
        said(".opencode/agents/a.md", "---\ndescription: d\npermission: {edti: deny, wriet: allow}\n---\nDo."), @r"
    .opencode/agents/a.md:3: error: there is no tool 'edti', so nothing would be denied
      hint: did you mean 'Edit'?
    .opencode/agents/a.md:3: warning: unknown tool, ignored: wriet
    "
    );
}

// The name, and the file's.
#[test]
fn names_follow_their_rule() {
    let ours = |name: &str| format!("---\nkind: agent\nname: {name}\ntitle: A\n---\nDo.");
    let path = ".contexture/agents/a.md";
    insta::assert_snapshot!(said(path, &ours("b")), @r"
    .contexture/agents/a.md:3: error: the file is named 'a', but the agent is named 'b'
      hint: give both the same name
    ");
    insta::assert_snapshot!(said(path, &ours("Code Reviewer")), @r"
    .contexture/agents/a.md:3: error: invalid agent name 'Code Reviewer': it must begin with a lower-case letter and contain only lower-case letters and digits, joined by single '-' or '_'
      hint: write `name: code-reviewer`
    ");
    insta::assert_snapshot!(said(path, &ours("system")), @r"
    .contexture/agents/a.md:3: error: invalid agent name 'system': it is reserved
      hint: choose a name such as `code-reviewer`
    ");
    insta::assert_snapshot!(said(path, &ours("../../etc/passwd")), @r"
    .contexture/agents/a.md:3: error: invalid agent name '../../etc/passwd': it must begin with a lower-case letter and contain only lower-case letters and digits, joined by single '-' or '_'
      hint: write `name: etc-passwd`
    ");
    insta::assert_snapshot!(said(path, "---\nkind: agent\n---\nDo."), @r"
    .contexture/agents/a.md: error: the field 'name' is missing
      hint: add `name: a`
    .contexture/agents/a.md: error: the field 'title' is missing
      hint: add `title: My Agent`
    ");
    insta::assert_snapshot!(said(path, "---\nname: a\ndescription: b\n---\nDo."), @r"
    .contexture/agents/a.md: error: the field 'kind' is missing
      hint: add `kind: agent`; files of other programs belong in their own folders, such as `.claude/agents`
    .contexture/agents/a.md: error: the field 'title' is missing
      hint: add `title: A`
    ");
    insta::assert_snapshot!(said(path, "---\nkind: agents\nname: a\ntitle: A\n---\nDo."), @".contexture/agents/a.md:2: error: 'kind' is 'agents': it must be 'agent'");
    // A name that looks like a YAML 1.1 boolean is a name.
    assert_eq!(clean(".contexture/agents/no.md", &ours("no")).name.as_str(), "no");
    assert_eq!(clean(".contexture/agents/on.md", &ours("on")).name.as_str(), "on");
}

#[test]
fn foreign_names_become_ours() {
    let claude = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nDo.");
    let path = ".claude/agents/code-reviewer.md";
    let parsed = parse_at(path, &claude("Code Reviewer"));
    insta::assert_snapshot!(shown(path, &parsed), @r"
    .claude/agents/code-reviewer.md:2: warning: 'Code Reviewer' is not a valid agent name; the agent is called 'code-reviewer'
      hint: write names like `code-reviewer`; 'Code Reviewer' became the title
    ");
    let agent = parsed.definition.unwrap();
    assert_eq!((agent.name.as_str(), agent.title.as_str()), ("code-reviewer", "Code Reviewer"));
    insta::assert_snapshot!(said(path, &claude("other")), @r"
    .claude/agents/code-reviewer.md:2: warning: the file is named 'code-reviewer', but the agent is named 'other'
      hint: give both the same name
    ");
    for bad in ["../evil", "a/b", "..", "'a\\b'", "system", "代码"] {
        let parsed = parse_at(".claude/agents/代码.md", &claude(bad));
        assert_eq!(parsed.definition, None, "{bad}");
    }
    // Where the file's name is a name, it serves for one in another script.
    assert_eq!(parse_at(path, &claude("代码")).definition.unwrap().name.as_str(), "code-reviewer");
    let path = ".opencode/agents/Code Reviewer.md";
    let parsed = parse_at(path, "---\ndescription: d\n---\nDo.");
    insta::assert_snapshot!(shown(path, &parsed), @r"
    .opencode/agents/Code Reviewer.md: warning: the file name 'Code Reviewer' is not a valid agent name; the agent is called 'code-reviewer'
      hint: rename the file to 'code-reviewer'
    ");
    assert_eq!(parsed.definition.unwrap().title, "Code Reviewer");
    insta::assert_snapshot!(said(".claude/agents/x.md", "---\ndescription: d\n---\nDo."), @r"
    .claude/agents/x.md: error: the field 'name' is missing
      hint: add `name: x`
    ");
    insta::assert_snapshot!(said(".claude/agents/x.md", "---\nname: x\n---\nDo."), @r"
    .claude/agents/x.md: error: the field 'description' is missing; Claude Code requires it
      hint: add a description, or add `kind: agent` and a `title` to make it a Contexture file
    ");
}

#[test]
fn claude_files_are_understood() {
    let text = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Grep, Glob, LS\ndisallowedTools: Write, Bash\nmodel: inherit\nmaxTurns: 5\ncolor: purple\npermissionMode: acceptEdits\nskills: [a]\nmcpServers:\n  - github\n  - local:\n      command: npx\n      args: [-y, server]\n      env: {KEY: 1}\ncontextMode: shared\n---\nReview.";
    let agent = clean(".claude/agents/team/reviewer.md", text);
    assert_eq!(agent.dialect, Dialect::ClaudeCode);
    assert_eq!(agent.title, "Reviewer");
    assert_eq!(agent.model, None);
    assert_eq!(agent.tools.allow, Some(list(&["read_file", "grep", "list_files"])));
    assert_eq!(agent.tools.deny, list(&["write_file", "run_command"]));
    assert_eq!((agent.max_turns, agent.color.as_deref()), (Some(5), Some("purple")));
    assert_eq!(agent.context_mode, Some(ContextMode::Shared));
    assert_eq!(agent.extra["permissionMode"], "\"acceptEdits\"");
    assert_eq!(agent.extra["skills"], "[\"a\"]");
    insta::assert_snapshot!(format!("{:?}", agent.mcp), @r#"[McpServer { name: "github", config: None }, McpServer { name: "local", config: Some(Stdio { command: "npx", args: ["-y", "server"], env: {"KEY": "1"} }) }]"#);
    let plain = |model: &str| {
        let text = format!("---\nname: a\ndescription: d\nmodel: {model}\n---\nDo.");
        clean(".claude/agents/a.md", &text).model
    };
    assert_eq!(plain("sonnet").as_deref(), Some("sonnet"));
    insta::assert_snapshot!(
        said(".claude/agents/a.md", "---\nname: a\ndescription: d\npermissionMode: plan\ndisallowedTools: [Read(./.env), Teleport]\n---\nDo."),
        @r"
    .claude/agents/a.md:4: warning: 'permissionMode: plan' is not enforced here
      hint: add `disallowedTools: Write, Edit`
    .claude/agents/a.md:5: warning: unknown tool, ignored: Teleport
    .claude/agents/a.md:5: warning: tools cannot be denied in part, so these are denied entirely: Read(./.env)
    "
    );
}

#[test]
fn gemini_files_are_understood() {
    let text = "---\nname: checker\nkind: local\ndisplay_name: The Checker\ndescription: Checks.\ntools: [read_file, grep_search, '*']\nmcp_servers:\n  docs: {httpUrl: 'https://example.com/mcp', headers: {A: b}}\nmodel: gemini-2.5-pro\ntemperature: 0.2\nmax_turns: 10\ntimeout_mins: 5\n---\nCheck.";
    let agent = clean(".gemini/agents/checker.md", text);
    assert_eq!((agent.dialect, agent.title.as_str()), (Dialect::Gemini, "The Checker"));
    assert_eq!(
        (agent.tools.allow, agent.max_turns, agent.temperature),
        (None, Some(10), Some(0.2))
    );
    assert_eq!(agent.extra["timeout_mins"], "5");
    insta::assert_snapshot!(format!("{:?}", agent.mcp), @r#"[McpServer { name: "docs", config: Some(Http { url: "https://example.com/mcp", headers: {"A": "b"} }) }]"#);
    insta::assert_snapshot!(
        said(".gemini/agents/a.md", "---\nname: a\nkind: remote\ndescription: d\n---\nDo."), @".gemini/agents/a.md:3: error: 'kind' is 'remote': only agents that run here can be used: write 'local', or 'agent' for a Contexture file"
    );
}

// Shares are ours alone: elsewhere the field is one that nobody knows.
#[test]
fn only_our_files_set_shares() {
    let text = "---\nname: a\ndescription: b\nwindow: {shares: {requests: 0.1}}\n---\nDo.\n";
    for folder in [".claude", ".gemini", ".opencode", ".letta"] {
        let path = format!("{folder}/agents/a.md");
        let parsed = parse_at(&path, text);
        assert!(
            shown(&path, &parsed)
                .contains("warning: unknown field 'window'; it is kept and ignored")
        );
        assert!(parsed.definition.unwrap().shares.is_empty());
    }
}

#[test]
fn opencode_files_are_understood() {
    let text = "---\ndescription: Writes docs.\nmode: subagent\nmodel: anthropic/claude-sonnet-4-5\ntemperature: 0.1\nsteps: 7\ntools:\n  bash: false\n  write: false\n  read: true\n---\nWrite.";
    let agent = clean(".opencode/agents/docs-writer.md", text);
    assert_eq!((agent.name.as_str(), agent.title.as_str()), ("docs-writer", "Docs Writer"));
    assert_eq!(agent.tools, ToolRules { allow: None, deny: list(&["run_command", "write_file"]) });
    assert_eq!(agent.max_turns, Some(7));
    let tools = |fields: &str| {
        let text = format!("---\ndescription: d\n{fields}\n---\nDo.");
        let parsed = parse_at(".opencode/agents/a.md", &text);
        (parsed.definition.clone().unwrap().tools, shown("a.md", &parsed))
    };
    let (only, _) = tools("tools: {'*': false, read: true, list: true}");
    assert_eq!(only.allow, Some(list(&["read_file", "list_files"])));
    // What was to be asked for, or depends on paths, is denied: never more than was said.
    let (rules, warnings) = tools(
        "permission:\n  edit: ask\n  bash: {'*': deny}\n  read: {'*': allow, '*.env': deny}\n  grep: allow",
    );
    assert_eq!(rules.deny, list(&["edit_file", "write_file", "run_command", "read_file"]));
    insta::assert_snapshot!(warnings, @r"
    a.md:4: warning: asking for permission is not supported, so 'edit' is denied
    a.md:5: warning: patterns in permissions are not supported, so 'bash' is denied
    a.md:6: warning: patterns in permissions are not supported, so 'read' is denied
    ");
    assert_eq!(tools("permission: deny").0.allow, Some(Vec::new()));
    // All means all: tools of servers too. A key that names nothing is told.
    assert_eq!(tools("permission: {'*': deny}").0.deny, list(&["*"]));
    let (rules, warnings) =
        tools("permission: {mcp__my.notes__delete: deny, webfetch: deny, notes_delete: deny}");
    assert_eq!(rules.deny, list(&["mcp__my.notes__delete"]));
    insta::assert_snapshot!(warnings, @"a.md:3: warning: unknown tool, ignored: notes_delete");
    let off = parse_at(".opencode/agents/a.md", "---\ndescription: d\ndisable: true\n---\nDo.");
    assert_eq!(off.definition, None);
    insta::assert_snapshot!(shown("a.md", &off), @"a.md: warning: 'disable: true' turns the agent off; the file was left out");
    insta::assert_snapshot!(said("a.md", "---\nmode: all\nname: a\ndescription: d\ndisable: yes\nprompt: p\n---\nDo."), @r"
    a.md:5: error: 'disable' is 'yes'; it must be true or false
    a.md:6: warning: 'prompt' is ignored: the body is the system prompt
    ");
}

#[test]
fn letta_files_are_understood() {
    let text = "---\nname: recall\ndescription: Recalls.\ntools: all\nskills:\nmodel: auto\nfork: true\nbackground: true\n---\nRecall.";
    let agent = clean(".letta/agents/recall.md", text);
    assert_eq!((agent.dialect, agent.tools.allow, agent.model), (Dialect::Letta, None, None));
    assert_eq!((agent.context_mode, agent.extra.get("fork")), (Some(ContextMode::Fork), None));
    let letta = |fields: &str| {
        let text = format!("---\nname: recall\ndescription: Recalls.\n{fields}\n---\nRecall.");
        clean(".letta/agents/recall.md", &text).context_mode
    };
    // Our own field holds where both are there.
    assert_eq!(letta("fork: true\ncontextMode: isolated"), Some(ContextMode::Isolated));
    assert_eq!((letta("fork: false"), letta("model: auto")), (None, None));
    let wrong = "---\nname: recall\ndescription: d\nfork: maybe\n---\nRecall.";
    insta::assert_snapshot!(said(".letta/agents/recall.md", wrong), @".letta/agents/recall.md:4: error: 'fork' is 'maybe'; it must be true or false");
    // In other dialects it means nothing.
    let text = "---\nname: recall\ndescription: d\nfork: true\n---\nRecall.";
    let other = parse_at(".claude/agents/recall.md", text).definition.unwrap();
    assert_eq!((other.context_mode, other.extra["fork"].as_str()), (None, "true"));
}

#[test]
fn a_parent_is_named() {
    let text = |fields: &str| format!("---\nkind: agent\nname: a\ntitle: A\n{fields}\n---\nDo.\n");
    let read = |fields: &str| clean(".contexture/agents/a.md", &text(fields));
    let agent = read("contextMode: fork\ncontextParent: lead");
    assert_eq!(agent.context_mode, Some(ContextMode::Fork));
    assert_eq!(agent.context_parent.unwrap().as_str(), "lead");
    assert_eq!(read("contextParent: lead").context_mode, None);
    let said = |fields: &str| said(".contexture/agents/a.md", &text(fields));
    insta::assert_snapshot!(said("contextParent: a"), @".contexture/agents/a.md:5: error: an agent cannot be its own 'contextParent'");
    insta::assert_snapshot!(said("contextParent: Lead Agent"), @".contexture/agents/a.md:5: error: invalid agent name 'Lead Agent': it must begin with a lower-case letter and contain only lower-case letters and digits, joined by single '-' or '_'");
    insta::assert_snapshot!(said("contextMode: shared\ncontextParent: lead"), @r"
    .contexture/agents/a.md:6: warning: 'contextParent' has no effect on an agent whose mode is shared
      hint: write `contextMode: fork`, or leave the parent out
    ");
}

#[test]
fn codex_files_are_understood() {
    let text = "description = \"Explores.\"\nmodel = \"gpt-5\"\nmodel_reasoning_effort = \"high\"\ndeveloper_instructions = \"\"\"\nLook around.\nTouch nothing.\"\"\"\n\n[mcp_servers.docs]\nurl = \"https://example.com/mcp\"\n";
    let agent = clean(".codex/agents/explorer.toml", text);
    assert_eq!((agent.name.as_str(), agent.title.as_str()), ("explorer", "Explorer"));
    assert_eq!(agent.system_prompt, "Look around.\nTouch nothing.");
    assert_eq!(agent.effort.as_deref(), Some("high"));
    assert_eq!(agent.mcp.len(), 1);
    let path = ".codex/agents/a.toml";
    insta::assert_snapshot!(said(path, "name = \"b\"\ndescription = 3\ndescripton = \"x\"\n"), @r"
    .codex/agents/a.toml: warning: the agent has no system prompt
      hint: write it as `developer_instructions`
    .codex/agents/a.toml:1: warning: the file is named 'a', but the agent is named 'b'
      hint: give both the same name
    .codex/agents/a.toml:3: warning: unknown field 'descripton'; it is kept and ignored
      hint: did you mean 'description'?
    ");
    insta::assert_snapshot!(said(path, "description = \"a\ndeveloper_instructions = 1"), @r#".codex/agents/a.toml:1: error: the file is not TOML: invalid basic string, expected `"`"#);
}

/// Returns the tools that a file without any problem allows.
fn clean_tools(field: &str) -> Option<Vec<String>> {
    let text = format!("---\nname: a\ndescription: d\n{field}\n---\nDo.");
    clean(".claude/agents/a.md", &text).tools.allow
}

#[test]
fn unquoted_colons_are_recovered_from() {
    let text = "---\nname: a\ndescription: Use it. Examples: <example>\nuser: \"go: now\"\n</example>\ntools: Read\nmodel: opus\n---\nDo.";
    let parsed = parse_at(".claude/agents/a.md", text);
    assert!(parsed.recovered);
    insta::assert_snapshot!(shown("a.md", &parsed), @r"
    a.md:3: warning: 'description' is not valid YAML (an unquoted ': ' or quote); it was read as text up to the next field
      hint: write `description: >-` and put the text on the next line, indented by two spaces
    ");
    let agent = parsed.definition.unwrap();
    assert_eq!(agent.description, "Use it. Examples: <example>\nuser: \"go: now\"\n</example>");
    assert_eq!(
        (agent.tools.allow, agent.model.as_deref()),
        (Some(list(&["read_file"])), Some("opus"))
    );
    let all = parse_at(".claude/agents/a.md", "---\nname: a\ndescription: d\ntools: *\n---\nDo.");
    assert_eq!(all.definition.unwrap().tools.allow, clean_tools("tools: \"*\""));
    // What is ambiguous stays an error, with the line in the file.
    insta::assert_snapshot!(said("a.md", "---\nname: a\ndescription: d\ntools: Read: all\n---\nDo."), @r"
    a.md:4: error: the front matter is not YAML: mapping values are not allowed in this context
      hint: put quotes around values that contain ': ' or begin with a character such as [ { * & !
    ");
    insta::assert_snapshot!(said("a.md", "---\nname: a\nname: b\ndescription: x: y\n---\nDo."), @r"
    a.md:3: error: the key 'name' appears twice, first on line 2
      hint: remove one of the two
    ");
    insta::assert_snapshot!(said("a.md", "---\r\nname: a\r\ndescription: !!str d\r\n---\r\nDo."), @"a.md:3: error: the tag '!!str' is not allowed: front matter is plain data");
}

#[test]
fn a_body_may_be_long_but_not_endless() {
    let body = "word ".repeat(200_000);
    let text = |body: &str| format!("---\nname: a\ndescription: d\n---\n{body}");
    assert_eq!(clean(".claude/agents/a.md", &text(&body)).system_prompt, body.trim_end());
    insta::assert_snapshot!(said("a.md", &text(&body.repeat(2))), @r"
    a.md: error: the file is larger than 1 MiB, the limit for agent files
      hint: keep the system prompt short and let the agent read files instead
    ");
    insta::assert_snapshot!(said(".claude/agents/a.md", &text("\n \n")), @r"
    .claude/agents/a.md: warning: the agent has no system prompt
      hint: write it below the second `---`
    ");
}
