//! The MCP servers of an agent file: names, or servers described in place.

use std::collections::BTreeMap;

use super::{
    Dialect, McpConfig, McpServer,
    fields::Fields,
    node::{Entry, Node, Value},
    problem::{FileProblem, quoted},
};

/// Takes the fields about MCP servers.
pub(crate) fn servers(fields: &mut Fields, dialect: Dialect) -> Vec<McpServer> {
    let mut servers = Vec::new();
    if let Some(entry) = fields.take("mcp") {
        match entry.node.value {
            Value::Map(parts) => {
                for part in parts {
                    match part.key.as_str() {
                        "servers" => read(fields, "mcp.servers", &part.node, &mut servers),
                        key => fields.report(
                            FileProblem::error(format!("'mcp' has no field '{}'", quoted(key)))
                                .at(part.line, part.column)
                                .field("mcp")
                                .hint("its only field is `servers`, a list of names"),
                        ),
                    }
                }
            }
            _ => fields.wrong_type("mcp", &entry.node, "a map with `servers`"),
        }
    }
    for key in ["mcpServers", "mcp_servers"] {
        if dialect.understood().contains(&key)
            && let Some(entry) = fields.take(key)
        {
            read(fields, key, &entry.node, &mut servers);
        }
    }
    servers
}

/// Reads a list of names and inline servers, a map of servers, or a text with commas.
fn read(fields: &mut Fields, key: &str, node: &Node, servers: &mut Vec<McpServer>) {
    match &node.value {
        _ if node.is_null() => {}
        Value::Text { text, .. } => {
            for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                add(fields, key, node, name, None, servers);
            }
        }
        Value::List(items) => {
            for item in items {
                match (&item.value, item.text()) {
                    (_, Some(name)) => add(fields, key, item, name, None, servers),
                    (Value::Map(entries), _) => inline(fields, key, entries, servers),
                    _ => fields.wrong_type(key, item, "a server's name in this list"),
                }
            }
        }
        Value::Map(entries) => inline(fields, key, entries, servers),
    }
}

fn inline(fields: &mut Fields, key: &str, entries: &[Entry], servers: &mut Vec<McpServer>) {
    for entry in entries {
        if entry.node.is_null() {
            add(fields, key, &entry.node, &entry.key, None, servers);
            continue;
        }
        if let Some(config) = config(fields, key, entry) {
            add(fields, key, &entry.node, &entry.key, Some(config), servers);
        }
    }
}

fn add(
    fields: &mut Fields,
    key: &str,
    node: &Node,
    name: &str,
    config: Option<McpConfig>,
    servers: &mut Vec<McpServer>,
) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    // Tools are called mcp__NAME__TOOL, so the name must not hold what parts them.
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) || name.contains("__") {
        let message = format!("'{}' is not a valid name for an MCP server", quoted(name));
        let hint = "use at most 64 letters, digits, '-', '_' and '.', and no '__'";
        fields.report(FileProblem::error(message).at(node.line, node.column).field(key).hint(hint));
        return;
    }
    if servers.iter().any(|server| server.name == name) {
        let message = format!("the MCP server '{name}' is named twice");
        fields.report(FileProblem::warning(message).at(node.line, node.column).field(key));
        return;
    }
    servers.push(McpServer { name: name.to_owned(), config });
}

fn config(fields: &mut Fields, key: &str, server: &Entry) -> Option<McpConfig> {
    let Value::Map(parts) = &server.node.value else {
        fields.wrong_type(key, &server.node, "a map with a `command` or a `url`");
        return None;
    };
    let part = |names: &[&str]| parts.iter().find(|part| names.contains(&part.key.as_str()));
    let text = |names: &[&str]| part(names).and_then(|part| part.node.text());
    let at = |problem: FileProblem| problem.at(server.line, server.column).field(key);
    if text(&["type"]) == Some("sse") {
        let message = format!(
            "the MCP server '{}' uses SSE, which is not supported; it was left out",
            quoted(&server.key)
        );
        fields.report(
            at(FileProblem::warning(message))
                .hint("use streamable HTTP, which most servers offer too: `type: http`"),
        );
        return None;
    }
    if let Some(command) = part(&["command"]) {
        let mut words = match &command.node.value {
            Value::List(_) => texts(fields, key, &command.node)?,
            _ => vec![command.node.text().unwrap_or_default().to_owned()],
        };
        if let Some(args) = part(&["args"]).filter(|args| !args.node.is_null()) {
            words.extend(texts(fields, key, &args.node)?);
        }
        let env = match part(&["env", "environment"]) {
            Some(env) => pairs(fields, key, &env.node)?,
            None => BTreeMap::new(),
        };
        let mut words = words.into_iter();
        if let Some(command) = words.next().filter(|command| !command.is_empty()) {
            return Some(McpConfig::Stdio { command, args: words.collect(), env });
        }
    }
    if let Some(url) = text(&["url", "httpUrl"]) {
        let headers = match part(&["headers", "http_headers"]) {
            Some(headers) => pairs(fields, key, &headers.node)?,
            None => BTreeMap::new(),
        };
        if url.starts_with("http://") || url.starts_with("https://") {
            return Some(McpConfig::Http { url: url.to_owned(), headers });
        }
    }
    let message = format!("the MCP server '{}' has no usable command or URL", quoted(&server.key));
    fields.report(
        at(FileProblem::error(message)).hint("give a `command` with `args`, or an http(s) `url`"),
    );
    None
}

fn texts(fields: &mut Fields, key: &str, node: &Node) -> Option<Vec<String>> {
    Some(fields.texts(key, node)?.into_iter().map(|text| text.text).collect())
}

fn pairs(fields: &mut Fields, key: &str, node: &Node) -> Option<BTreeMap<String, String>> {
    let Value::Map(entries) = &node.value else {
        if node.is_null() {
            return Some(BTreeMap::new());
        }
        fields.wrong_type(key, node, "a map of strings here");
        return None;
    };
    let mut pairs = BTreeMap::new();
    for entry in entries {
        let Value::Text { text, .. } = &entry.node.value else {
            fields.wrong_type(key, &entry.node, "a string here");
            return None;
        };
        pairs.insert(entry.key.clone(), text.clone());
    }
    Some(pairs)
}
