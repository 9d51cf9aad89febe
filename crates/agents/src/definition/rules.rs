//! Which tools an agent may use, in every way dialects say it.

use super::{
    Dialect, ToolRules,
    fields::{Fields, Text},
    node::{Entry, Node, Value},
    problem::{FileProblem, nearest, quoted},
    tool_name::{ToolName, canonical_tool, known_names, own_tools, restriction, split_list},
};

/// What people call a list of denied tools. Where none of them is understood, a file that has one
/// would deny nothing.
const DENYING: [&str; 12] = [
    "blockedTools",
    "deniedTools",
    "denied",
    "deny",
    "denyList",
    "denyTools",
    "disallow",
    "disallowed",
    "disallowTools",
    "disallowedTools",
    "excludeTools",
    "forbiddenTools",
];

/// Tells whether a field that nobody understands was meant to deny tools.
pub(crate) fn means_deny(key: &str) -> bool {
    nearest(key, DENYING).is_some()
}

/// Takes the fields about tools.
pub(crate) fn tools(fields: &mut Fields, dialect: Dialect) -> ToolRules {
    let mut rules = ToolRules::default();
    if let Some((line, column)) = fields.place("tools") {
        match fields.take("tools") {
            Some(entry) => read_tools(fields, dialect, &entry.node, &mut rules),
            None => fields.report(
                FileProblem::warning("'tools' is empty, so all tools are allowed")
                    .at(line, column)
                    .field("tools")
                    .hint(
                        "remove the field to allow all tools, or write `tools: []` to allow none",
                    ),
            ),
        }
    }
    if dialect.understood().contains(&"disallowedTools")
        && let Some(entry) = fields.take("disallowedTools")
        && let Some(names) = names(fields, "disallowedTools", &entry.node)
    {
        rules.deny.extend(denied(fields, dialect, "disallowedTools", &names));
    }
    if dialect == Dialect::OpenCode
        && let Some(entry) = fields.take("permission")
    {
        permission(fields, dialect, &entry, &mut rules);
    }
    warn_of_plan_mode(fields, dialect);
    dedup(&mut rules.deny);
    rules
}

fn read_tools(fields: &mut Fields, dialect: Dialect, node: &Node, rules: &mut ToolRules) {
    let Value::Map(entries) = &node.value else {
        // Letta says `all` where others say `*`.
        if node.text() == Some("all") {
            return;
        }
        if let Some(names) = names(fields, "tools", node) {
            rules.allow = allowed(fields, "tools", &names);
        }
        return;
    };
    if !entries.is_empty() && entries.iter().all(|entry| entry.node.boolean().is_some()) {
        return switches(fields, dialect, entries, rules);
    }
    for entry in entries {
        match entry.key.as_str() {
            _ if entry.node.is_null() => {}
            "allow" => {
                if let Some(names) = names(fields, "tools.allow", &entry.node) {
                    rules.allow = allowed(fields, "tools.allow", &names);
                }
            }
            "deny" => {
                if let Some(names) = names(fields, "tools.deny", &entry.node) {
                    rules.deny = denied(fields, dialect, "tools.deny", &names);
                }
            }
            key => {
                let message = format!("'tools' has no field '{}'", quoted(key));
                let problem =
                    FileProblem::error(message).at(entry.line, entry.column).field("tools");
                let meant = nearest(key, ["allow", "deny"]);
                let meant = meant.or_else(|| means_deny(key).then_some("deny"));
                fields.report(problem.hint(match meant {
                    Some(meant) => format!("did you mean '{meant}'?"),
                    None => "its fields are `allow` and `deny`, each a list of tools".to_owned(),
                }));
            }
        }
    }
}

/// Reads `{write: false, edit: true}`: what is off is denied; `"*": false` turns all others off.
fn switches(fields: &mut Fields, dialect: Dialect, entries: &[Entry], rules: &mut ToolRules) {
    let (mut on, mut off) = (Vec::new(), Vec::new());
    let mut others = true;
    for entry in entries {
        let switch = entry.node.boolean() == Some(true);
        if entry.key == "*" {
            others = switch;
            continue;
        }
        let text = Text { text: entry.key.clone(), line: entry.line, column: entry.column };
        if switch { on.push(text) } else { off.push(text) }
    }
    rules.deny = denied(fields, dialect, "tools", &off);
    if !others {
        rules.allow = allowed(fields, "tools", &on);
    }
}

/// Reads names from a list, or from one text with commas.
fn names(fields: &mut Fields, key: &str, node: &Node) -> Option<Vec<Text>> {
    let Some(text) = node.text() else {
        return fields.texts(key, node);
    };
    let part = |part: &str| Text { text: part.to_owned(), line: node.line, column: node.column };
    Some(split_list(text).into_iter().map(part).collect())
}

/// Translates names that are allowed. All of them: none is left to be named.
fn allowed(fields: &mut Fields, key: &str, names: &[Text]) -> Option<Vec<String>> {
    let mut list = Vec::new();
    let (mut unknown, mut limited) = (Vec::new(), Vec::new());
    for name in names {
        let (tool, restriction) = restriction(&name.text);
        match canonical_tool(tool) {
            ToolName::All => return None,
            // To allow all where a part was meant would be too much: as it stands it allows nothing.
            ToolName::Ours(_) | ToolName::Mcp(_) if restriction.is_some() => {
                limited.push(name);
                list.push(name.text.clone());
            }
            ToolName::Ours(own) => list.push(own.to_owned()),
            ToolName::Mcp(mcp) => list.push(mcp.to_owned()),
            ToolName::Foreign(_) | ToolName::Unknown(_) => {
                unknown.push(name);
                list.push(name.text.clone());
            }
        }
    }
    report_unknown(fields, key, &unknown);
    if let Some(first) = limited.first() {
        let message = format!(
            "limits in parentheses are not supported, so these tools are not allowed: {}",
            listed(&limited)
        );
        let problem = FileProblem::warning(message).at(first.line, first.column).field(key);
        fields.report(problem.hint("name the tool without parentheses to allow all of it"));
    }
    dedup(&mut list);
    Some(list)
}

/// Translates names that are denied. What is denied in part is denied whole.
fn denied(fields: &mut Fields, dialect: Dialect, key: &str, names: &[Text]) -> Vec<String> {
    let mut list = Vec::new();
    let (mut unknown, mut limited) = (Vec::new(), Vec::new());
    for name in names {
        let (tool, restriction) = restriction(&name.text);
        let canonical = canonical_tool(tool);
        match canonical {
            ToolName::Unknown(_) => unknown.push(name),
            ToolName::Ours(_) | ToolName::Mcp(_) if restriction.is_some() => limited.push(name),
            _ => {}
        }
        list.push(canonical.as_str().to_owned());
    }
    report_slips(fields, dialect, key, unknown);
    if let Some(first) = limited.first() {
        let message = format!(
            "tools cannot be denied in part, so these are denied entirely: {}",
            listed(&limited)
        );
        fields.report(FileProblem::warning(message).at(first.line, first.column).field(key));
    }
    list
}

/// Takes OpenCode's permissions. What should be asked for, or depends on paths, is denied: there
/// is nobody to ask, and to allow it would be more than was said.
fn permission(fields: &mut Fields, dialect: Dialect, entry: &Entry, rules: &mut ToolRules) {
    let Value::Map(entries) = &entry.node.value else {
        match entry.node.text() {
            Some("allow") => {}
            Some("ask" | "deny") => rules.allow = Some(Vec::new()),
            _ => {
                fields.wrong_type("permission", &entry.node, "a map of tools to allow, ask or deny")
            }
        }
        return;
    };
    let (mut unknown, mut denied) = (Vec::new(), Vec::new());
    for entry in entries {
        let covered: Vec<&str> = match entry.key.as_str() {
            "edit" => vec!["edit_file", "write_file"],
            // No tools, but what tools may do: nothing here does it.
            "doom_loop" | "external_directory" => continue,
            key => match canonical_tool(key) {
                ToolName::Ours(name) | ToolName::Mcp(name) => vec![name],
                ToolName::All => vec!["*"],
                ToolName::Foreign(_) => continue,
                ToolName::Unknown(_) => {
                    let (line, column) = (entry.line, entry.column);
                    let name = Text { text: entry.key.clone(), line, column };
                    let allows = entry.node.text() == Some("allow");
                    if allows {
                        unknown.push(name)
                    } else {
                        denied.push(name)
                    }
                    continue;
                }
            },
        };
        let at = |problem: FileProblem| problem.at(entry.line, entry.column).field("permission");
        let key = quoted(&entry.key);
        match (entry.node.text(), &entry.node.value) {
            (Some("allow"), _) => continue,
            (Some("deny"), _) => {}
            (Some("ask"), _) => fields.report(at(FileProblem::warning(format!(
                "asking for permission is not supported, so '{key}' is denied"
            )))),
            (_, Value::Map(parts))
                if parts.iter().all(|part| part.node.text() == Some("allow")) =>
            {
                continue;
            }
            (_, Value::Map(_)) => fields.report(at(FileProblem::warning(format!(
                "patterns in permissions are not supported, so '{key}' is denied"
            )))),
            _ => {
                fields.wrong_type(
                    "permission",
                    &entry.node,
                    "allow, ask, deny or a map of patterns",
                );
                continue;
            }
        }
        rules.deny.extend(covered.into_iter().map(str::to_owned));
    }
    report_unknown(fields, "permission", &unknown.iter().collect::<Vec<_>>());
    report_slips(fields, dialect, "permission", denied.iter().collect());
}

/// A Claude file that only plans says nothing about it in its tools.
fn warn_of_plan_mode(fields: &mut Fields, dialect: Dialect) {
    if !matches!(dialect, Dialect::ClaudeCode | Dialect::Letta) {
        return;
    }
    let Some(at) = fields.place_of("permissionMode", "plan") else { return };
    let message = "'permissionMode: plan' is not enforced here";
    let problem = FileProblem::warning(message).at(at.0, at.1).field("permissionMode");
    fields.report(problem.hint("add `disallowedTools: Write, Edit`"));
}

/// Reports names that are denied and that nobody knows. A slip is an error: the tool that was meant
/// would be allowed. In files of other programs a name may be a tool of theirs, unless it is nearly
/// one that there is here.
fn report_slips(fields: &mut Fields, dialect: Dialect, key: &str, names: Vec<&Text>) {
    let meant = |name: &Text| {
        let name = restriction(&name.text).0;
        nearest(name, own_tools()).or_else(|| nearest(name, known_names()))
    };
    let is_slip = |name: &&Text| dialect == Dialect::Contexture || meant(name).is_some();
    let (slips, foreign): (Vec<&Text>, Vec<&Text>) = names.into_iter().partition(is_slip);
    report_unknown(fields, key, &foreign);
    for slip in slips {
        let name = quoted(&slip.text);
        let message = format!("there is no tool '{name}', so nothing would be denied");
        let problem = FileProblem::error(message).at(slip.line, slip.column).field(key);
        fields.report(problem.hint(match meant(slip) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => {
                let own = own_tools().collect::<Vec<_>>().join(", ");
                format!("the tools are {own}; tools of MCP servers are named mcp__SERVER__TOOL")
            }
        }));
    }
}

fn report_unknown(fields: &mut Fields, key: &str, names: &[&Text]) {
    let Some(first) = names.first() else { return };
    let what = if names.len() == 1 { "unknown tool" } else { "unknown tools" };
    let message = format!("{what}, ignored: {}", listed(names));
    let mut problem = FileProblem::warning(message).at(first.line, first.column).field(key);
    let unknown = names.iter().find_map(|name| match canonical_tool(&name.text) {
        ToolName::Unknown(name) => nearest(name, own_tools()).map(|own| (name, own)),
        _ => None,
    });
    if let Some((name, own)) = unknown {
        problem = problem.hint(format!("did you mean '{own}' by '{}'?", quoted(name)));
    }
    fields.report(problem);
}

fn listed(names: &[&Text]) -> String {
    const MOST: usize = 8;
    let mut shown: Vec<String> = names.iter().take(MOST).map(|name| quoted(&name.text)).collect();
    if names.len() > MOST {
        shown.push(format!("and {} more", names.len() - MOST));
    }
    shown.join(", ")
}

/// Removes what stands in a list before, keeping its order.
fn dedup(names: &mut Vec<String>) {
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
}
