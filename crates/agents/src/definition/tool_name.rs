//! What tools are called: one table for all dialects.

/// Our workspace tools, with what other dialects call them.
const OURS: [(&str, &[&str]); 6] = [
    ("read_file", &["Read", "read", "ReadFile", "readFile", "view", "fs_read", "read/readFile"]),
    (
        "write_file",
        &[
            "Write",
            "write",
            "WriteFile",
            "create_file",
            "createFile",
            "fs_write",
            "edit/createFile",
        ],
    ),
    (
        "edit_file",
        &[
            "Edit",
            "edit",
            "EditFile",
            "editFiles",
            "edit/editFiles",
            "MultiEdit",
            "multi_edit",
            "multiedit",
            "replace",
            "str_replace",
            "patch",
            "apply_patch",
        ],
    ),
    ("grep", &["Grep", "grep_search", "search_file_content", "search/textSearch"]),
    (
        "list_files",
        &[
            "Glob",
            "glob",
            "LS",
            "ls",
            "list",
            "find",
            "list_directory",
            "listDirectory",
            "search/listDirectory",
            "search/fileSearch",
        ],
    ),
    ("run_command", &["Bash", "bash", "run_shell_command", "runCommands", "shell"]),
];

/// Our tools on the context: they are called the same everywhere.
const CONTEXT: [&str; 14] = [
    "create_contents_page",
    "create_detail_page",
    "expand_details",
    "find_page",
    "get_page",
    "hide_details",
    "move_page",
    "pin_page",
    "read_window",
    "recall",
    "remove_page",
    "restore_page",
    "unpin_page",
    "update_page",
];

/// Tools of other programs that have no counterpart here.
const FOREIGN: [&str; 58] = [
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "CronCreate",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "NotebookEdit",
    "NotebookRead",
    "ReadMcpResourceTool",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "activate_skill",
    "agent",
    "ask_user",
    "codebase",
    "codesearch",
    "complete_task",
    "execute",
    "fetch",
    "githubRepo",
    "google_web_search",
    "lsp",
    "problems",
    "question",
    "read_many_files",
    "save_memory",
    "search",
    "skill",
    "task",
    "terminal",
    "todo",
    "todoread",
    "todowrite",
    "update_plan",
    "usages",
    "web",
    "web_fetch",
    "web_search",
    "webfetch",
    "websearch",
];

/// A tool's name, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolName<'a> {
    /// One of ours, by our name.
    Ours(&'a str),
    /// `mcp__SERVER__TOOL`, or `mcp__SERVER` for all of a server's tools.
    Mcp(&'a str),
    /// `*`: every tool.
    All,
    /// Another program's tool that has no counterpart here.
    Foreign(&'a str),
    /// No tool that is known.
    Unknown(&'a str),
}

impl<'a> ToolName<'a> {
    /// Returns the name as lists of allowed and denied tools hold it.
    pub fn as_str(&self) -> &'a str {
        match self {
            ToolName::Ours(name)
            | ToolName::Mcp(name)
            | ToolName::Foreign(name)
            | ToolName::Unknown(name) => name,
            ToolName::All => "*",
        }
    }
}

/// Returns what a tool of any dialect is called here.
pub fn canonical_tool(name: &str) -> ToolName<'_> {
    let name = name.trim();
    if name == "*" {
        return ToolName::All;
    }
    if let Some(rest) = name.strip_prefix("mcp__") {
        let whole = name.strip_suffix("__*").unwrap_or(name);
        return if rest.is_empty() { ToolName::Unknown(name) } else { ToolName::Mcp(whole) };
    }
    let ours = OURS.iter().find(|(own, others)| *own == name || others.contains(&name));
    if let Some((own, _)) = ours {
        return ToolName::Ours(own);
    }
    if CONTEXT.contains(&name) {
        return ToolName::Ours(name);
    }
    if FOREIGN.contains(&name) { ToolName::Foreign(name) } else { ToolName::Unknown(name) }
}

/// Returns the names of our workspace tools.
pub(crate) fn own_tools() -> impl Iterator<Item = &'static str> {
    OURS.iter().map(|(own, _)| *own).chain(CONTEXT)
}

/// Returns every name of a tool that there is here, in any dialect; ours first.
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    own_tools().chain(OURS.iter().flat_map(|(_, others)| others.iter().copied()))
}

/// Parts `Bash(git diff:*)` into the tool and the restriction in brackets.
pub(crate) fn restriction(name: &str) -> (&str, Option<&str>) {
    match name.split_once('(') {
        Some((tool, rest)) if rest.ends_with(')') => {
            (tool.trim_end(), Some(rest.trim_end_matches(')')))
        }
        _ => (name, None),
    }
}

/// Parts a list written as one text at its commas, except those in brackets.
pub(crate) fn split_list(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | '\n' if depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialects_names_become_ours() {
        for (name, expected) in [
            ("Read", ToolName::Ours("read_file")),
            ("read_file", ToolName::Ours("read_file")),
            ("replace", ToolName::Ours("edit_file")),
            ("grep_search", ToolName::Ours("grep")),
            ("LS", ToolName::Ours("list_files")),
            ("list_directory", ToolName::Ours("list_files")),
            ("expand_details", ToolName::Ours("expand_details")),
            ("Bash", ToolName::Ours("run_command")),
            ("run_shell_command", ToolName::Ours("run_command")),
            ("BashOutput", ToolName::Foreign("BashOutput")),
            ("mcp__github", ToolName::Mcp("mcp__github")),
            ("mcp__github__*", ToolName::Mcp("mcp__github")),
            ("mcp__github__search", ToolName::Mcp("mcp__github__search")),
            (" * ", ToolName::All),
            ("raed", ToolName::Unknown("raed")),
        ] {
            assert_eq!(canonical_tool(name), expected, "{name}");
        }
    }

    #[test]
    fn no_name_means_two_tools() {
        let mut names: Vec<&str> =
            OURS.iter().flat_map(|(_, others)| others.iter().copied()).collect();
        names.extend(own_tools());
        names.extend(FOREIGN);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(own_tools().all(|own| canonical_tool(own) == ToolName::Ours(own)));
    }

    #[test]
    fn commas_in_brackets_part_nothing() {
        assert_eq!(split_list("Read, Task(a, b),,Bash(x)"), ["Read", "Task(a, b)", "Bash(x)"]);
        assert_eq!(restriction("Bash(git diff:*)"), ("Bash", Some("git diff:*")));
        assert_eq!(restriction("Read"), ("Read", None));
    }
}
