//! Files nobody would write: whatever they hold, they are refused in words.

use std::path::Path;

use proptest::prelude::*;

use super::{Parsed, Scope, Severity, Times, parse};

const SEEDS: [(&str, &str); 4] = [
    (
        ".contexture/agents/a.md",
        "---\nkind: agent\nname: a\ntitle: A\ncontextMode: shared\ncontextFilter: {agents: [b], roles: [user], since: 2025-01-01, maxAge: 7d}\ntools: {allow: [Read], deny: [x]}\nmcp: {servers: [s]}\n---\nBody\n",
    ),
    (
        ".claude/agents/a.md",
        "\u{feff}---\r\nname: A b\r\ndescription: x: \"y\"\r\ntools: Read, Bash(a, b)\r\nmcpServers: [{s: {command: c}}]\r\n---\r\nBody\r\n",
    ),
    (
        ".opencode/agents/a b.md",
        "---\ndescription: d\ntools: {write: false, '*': true}\npermission: {edit: {a: ask}}\nx: &a [1, *a]\n---\n",
    ),
    (
        ".codex/agents/a.toml",
        "description = \"d\"\nname = 'é'\n[mcp_servers.x]\nurl = \"http://x\"\n",
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // No file, however mangled, does more than be refused.
    #[test]
    fn mangled_files_never_panic(
        seed in 0..SEEDS.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<u8>()), 0..12),
        signs in "[-:#'\"\\[\\]{}&*!|>%@`, ?\n\t é]{0,6}",
    ) {
        let (path, text) = SEEDS[seed];
        let mut bytes = text.as_bytes().to_vec();
        for (at, what, byte) in edits {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            match what {
                0 if at < bytes.len() => { bytes.remove(at); }
                1 if at < bytes.len() => bytes[at] = byte,
                2 => bytes.truncate(at.max(8)),
                _ => { bytes.splice(at..at, signs.bytes()); }
            }
        }
        check(&parse(&bytes, Path::new(path), Scope::Global, Times::default()), &bytes)?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), front in any::<bool>()) {
        let mut file = if front { b"---\n".to_vec() } else { Vec::new() };
        file.extend(bytes);
        file.extend(b"\n---\n");
        for path in ["a.md", "a.toml", "\u{1f4a5}/..", "", "/"] {
            check(&parse(&file, Path::new(path), Scope::Global, Times::default()), &file)?;
        }
    }
}

/// Checks what holds for every file: an error means no agent, and lines are those of the file.
fn check(parsed: &Parsed, bytes: &[u8]) -> Result<(), TestCaseError> {
    let sound = parsed.problems.iter().all(|problem| problem.severity != Severity::Error);
    prop_assert!(sound || parsed.definition.is_none());
    let breaks = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    for problem in &parsed.problems {
        let line = problem.line.unwrap_or(1) as usize;
        prop_assert!((1..=breaks + 2).contains(&line), "{problem:?}");
        let shown = problem.display(Path::new("x")).to_string();
        let lines = if problem.hint.is_some() { 2 } else { 1 };
        prop_assert_eq!(shown.lines().count(), lines, "{:?}", problem);
        prop_assert!(!shown.contains(['\u{1b}', '\u{7}', '\r', '\0']), "{:?}", problem);
    }
    Ok(())
}

#[test]
fn effort_is_a_word() {
    let effort = |path: &str, value: &str| {
        let text = format!(
            "---\nkind: agent\nname: a\ntitle: A\ndescription: d\neffort: {value}\n---\nDo."
        );
        let parsed = parse(text.as_bytes(), Path::new(path), Scope::Project, Times::default());
        (parsed.definition.and_then(|agent| agent.effort), parsed.problems.len())
    };
    for path in [".claude/agents/a.md", ".contexture/agents/a.md"] {
        assert_eq!(effort(path, "High"), (Some("high".to_owned()), 0));
        for wrong in ["[high]", "'so, so'", "3"] {
            assert_eq!(effort(path, wrong), (None, 1), "{wrong}");
        }
    }
}
