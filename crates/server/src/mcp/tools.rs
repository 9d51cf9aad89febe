//! Tools: listed in a fixed order, called with a session and an agent.

use std::sync::{Arc, OnceLock};

use contexture_agents::tools::context::{HostOutput, HostTool};
use rmcp::{
    ErrorData,
    model::{
        CacheScope, CallToolRequestParams, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, Tool, ToolAnnotations,
    },
};
use serde_json::{Value, json};

use super::access::{Access, Asked, refusal, tools};
use crate::Host;

/// For how long a client need not ask for the list again: it never changes while a server runs.
const FRESH_MILLIS: u64 = 3_600_000;

/// Lists the tools.
pub(super) fn list() -> ListToolsResult {
    static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
    let tools = TOOLS.get_or_init(|| HostTool::ALL.map(described).to_vec()).clone();
    ListToolsResult::with_all_items(tools)
        .with_ttl_ms(FRESH_MILLIS)
        .with_cache_scope(CacheScope::Public)
}

/// Describes a tool, with the session and the agent among its arguments.
fn described(tool: HostTool) -> Tool {
    let spec = tool.spec();
    let mut schema: JsonObject = spec.schema.read().unwrap_or_default();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let text = |about: &str| json!({"type": "string", "description": about});
        properties.insert("session".to_owned(), text("By default this connection's."));
        properties.insert("agent".to_owned(), text("Whose view; by default this connection's."));
    }
    let annotations = ToolAnnotations::new()
        .read_only(tool.only_reads())
        .destructive(tool.changes_pages())
        .idempotent(tool.is_idempotent())
        .open_world(false);
    let described =
        Tool::new(spec.name, spec.description, Arc::new(schema)).with_annotations(annotations);
    match tool.changes_pages() {
        true => described.with_raw_output_schema(Arc::new(changed())),
        false => described,
    }
}

/// Returns the schema of what tools that change pages say for programs.
fn changed() -> JsonObject {
    let schema = json!({
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "pages": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "index": {"type": "string"},
                        "version": {"type": "integer"}
                    },
                    "required": ["index"]
                }
            }
        },
        "required": ["summary", "pages"]
    });
    serde_json::from_value(schema).unwrap_or_default()
}

/// Calls a tool. What is wrong with the arguments is an answer that the model reads.
pub(super) async fn call(
    host: &Host,
    access: &Access,
    request: CallToolRequestParams,
) -> Result<CallToolResult, ErrorData> {
    let name = request.name.as_ref();
    if !HostTool::ALL.iter().any(|tool| tool.name() == name) {
        return Err(ErrorData::invalid_params(
            "there is no such tool; tools/list lists them",
            None,
        ));
    }
    let mut arguments = request.arguments.unwrap_or_default();
    let asked = match Asked::take(&mut arguments) {
        Ok(asked) => asked,
        Err(wrong) => return Ok(failed(refusal(&wrong))),
    };
    Ok(match tools(host, access, &asked).await {
        Ok(tools) => result(tools.call(name, Value::Object(arguments)).await),
        Err(refused) => failed(refusal(&refused)),
    })
}

fn result(output: HostOutput) -> CallToolResult {
    let HostOutput { text, error, object } = output;
    if error {
        return failed(text);
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = object;
    result
}

fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}
