//! The dialects: where they live, and which fields they have.

use std::path::{Component, Path};

use super::{Dialect, node::Entry};

/// Fields that are understood in every dialect: ours, which are all optional elsewhere (M-05).
const COMMON: [&str; 18] = [
    "kind",
    "name",
    "title",
    "description",
    "model",
    "color",
    "scope",
    "version",
    "contextMode",
    "contextFilter",
    "contextGroup",
    "contextParent",
    "publishResult",
    "tools",
    "mcp",
    "maxTurns",
    "temperature",
    "effort",
];

impl Dialect {
    /// Returns the folder of a project or home in which its files live.
    pub fn folder(self) -> &'static str {
        match self {
            Dialect::Contexture => ".contexture/agents",
            Dialect::Gemini => ".gemini/agents",
            Dialect::ClaudeCode => ".claude/agents",
            Dialect::OpenCode => ".opencode/agents",
            Dialect::Letta => ".letta/agents",
            Dialect::Codex => ".codex/agents",
        }
    }

    /// Returns what people call it.
    pub fn title(self) -> &'static str {
        match self {
            Dialect::Contexture => "Contexture",
            Dialect::Gemini => "Gemini CLI",
            Dialect::ClaudeCode => "Claude Code",
            Dialect::OpenCode => "OpenCode",
            Dialect::Letta => "Letta Code",
            Dialect::Codex => "Codex",
        }
    }

    /// Returns the dialect of the folder a file lies in, or of its extension.
    pub fn of_path(path: &Path) -> Option<Self> {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
            return Some(Dialect::Codex);
        }
        path.parent()?.components().rev().find_map(|part| match part {
            Component::Normal(part) => match part.to_str()? {
                ".contexture" => Some(Dialect::Contexture),
                ".gemini" => Some(Dialect::Gemini),
                ".claude" => Some(Dialect::ClaudeCode),
                ".opencode" | "opencode" => Some(Dialect::OpenCode),
                ".letta" => Some(Dialect::Letta),
                _ => None,
            },
            _ => None,
        })
    }

    /// Returns the dialect a file is written in: what it says of itself, then where it lies, then
    /// what it looks like.
    ///
    /// A file with `kind: agent` is ours wherever it lies: the seed keeps its own in
    /// `.gemini/agents` (M-29).
    pub(crate) fn of_file(placed: Option<Self>, entries: &[Entry]) -> Self {
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        let ours =
            entries.iter().any(|entry| entry.key == "kind" && entry.node.text() == Some("agent"));
        match placed {
            Some(Dialect::Codex) => Dialect::Codex,
            _ if ours => Dialect::Contexture,
            Some(placed) => placed,
            None if has("mode") || has("permission") => Dialect::OpenCode,
            None => Dialect::ClaudeCode,
        }
    }

    /// Tells whether a file without `name` is called by its file name.
    pub(crate) fn names_by_file(self) -> bool {
        matches!(self, Dialect::OpenCode | Dialect::Codex)
    }

    /// Returns the fields that have a meaning in the dialect and none here: kept, not reported.
    pub(crate) fn inert(self) -> &'static [&'static str] {
        match self {
            Dialect::Contexture => &[],
            Dialect::Gemini => &["timeout_mins"],
            Dialect::ClaudeCode => &[
                "permissionMode",
                "skills",
                "hooks",
                "memory",
                "background",
                "isolation",
                "initialPrompt",
            ],
            Dialect::OpenCode => &["mode", "hidden", "top_p", "options", "variant"],
            Dialect::Letta => {
                &["background", "skills", "launchProfile", "memoryBlocks", "mode", "permissionMode"]
            }
            Dialect::Codex => &["sandbox_mode", "nickname_candidates", "skills"],
        }
    }

    /// Returns the fields of its own that are understood here.
    pub(crate) fn understood(self) -> &'static [&'static str] {
        match self {
            Dialect::Contexture => &["window"],
            Dialect::Gemini => &["display_name", "mcp_servers", "mcpServers", "max_turns"],
            Dialect::ClaudeCode => &["disallowedTools", "mcpServers"],
            Dialect::OpenCode => &["permission", "disable", "prompt", "steps", "maxSteps"],
            Dialect::Letta => &["disallowedTools", "fork", "mcpServers"],
            Dialect::Codex => &["developer_instructions", "mcp_servers", "model_reasoning_effort"],
        }
    }

    /// Returns every field that is known in it.
    pub(crate) fn known(self) -> Vec<&'static str> {
        COMMON.iter().chain(self.understood()).chain(self.inert()).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_decides() {
        for (path, dialect) in [
            ("/p/.contexture/agents/a.md", Some(Dialect::Contexture)),
            (".claude/agents/team/deep/a.md", Some(Dialect::ClaudeCode)),
            ("/p/.gemini/agents/a.md", Some(Dialect::Gemini)),
            ("/home/u/.config/opencode/agents/a.md", Some(Dialect::OpenCode)),
            ("/p/.letta/agents/a.md", Some(Dialect::Letta)),
            ("/p/.codex/agents/a.toml", Some(Dialect::Codex)),
            ("agents/a.md", None),
        ] {
            assert_eq!(Dialect::of_path(Path::new(path)), dialect, "{path}");
        }
    }

    #[test]
    fn no_field_is_known_twice() {
        for dialect in [
            Dialect::Contexture,
            Dialect::Gemini,
            Dialect::ClaudeCode,
            Dialect::OpenCode,
            Dialect::Letta,
            Dialect::Codex,
        ] {
            let mut known = dialect.known();
            let count = known.len();
            known.sort_unstable();
            known.dedup();
            assert_eq!(known.len(), count, "{dialect:?}");
            assert!(
                Dialect::of_path(&Path::new("p").join(dialect.folder()).join("a.x"))
                    == Some(dialect)
                    || dialect == Dialect::Codex
            );
        }
    }
}
