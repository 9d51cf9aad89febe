//! A small MCP server on standard input and output: it keeps notes while it runs.
//!
//! The tests of MCP tools talk to it as a program of its own. `cargo test` builds examples, and the
//! tests find it beside themselves in `target/…/examples`. With the argument `silent` it starts and
//! never answers; with `broken` it says why on its standard error and ends.

use std::sync::Mutex;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Write;
    match std::env::args().nth(1).as_deref() {
        Some("silent") => std::future::pending::<()>().await,
        Some("broken") => {
            writeln!(std::io::stderr(), "no notes folder")?;
            return Ok(());
        }
        _ => {}
    }
    writeln!(std::io::stderr(), "notes are ready")?;
    Notes::default().serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}

impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let tools = vec![
            tool("sleep", "Never comes back.", json!({})),
            tool("add/note", &"Long. ".repeat(1_000), text.clone()),
            tool("add.note", "Adds a note.", text),
            tool("environment", "Names of variables.", json!({"type": "object"})),
            tool("fail", "Fails.", json!({"type": "object"})),
            tool("picture", "Shows a picture.", json!({"type": "object"})),
            tool("list notes", "Lists the notes.", json!({"type": "object"}))
                .with_annotations(ToolAnnotations::new().read_only(true)),
        ];
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = || {
            let arguments = request.arguments.as_ref();
            arguments.and_then(|it| it.get("text")).and_then(Value::as_str).unwrap_or_default()
        };
        let mut notes = self.0.lock().expect("nobody panics while holding it");
        let said = match request.name.as_ref() {
            "add.note" | "add/note" => {
                notes.push(text().to_owned());
                format!("{} notes", notes.len())
            }
            "list notes" => notes.join("\n"),
            "environment" => std::env::vars().map(|(name, _)| name).collect::<Vec<_>>().join("\n"),
            "picture" => {
                let image = ContentBlock::image("AAAA", "image/png");
                return Ok(CallToolResult::success(vec![image]).into());
            }
            "fail" => {
                let why = ContentBlock::text("the pen is dry");
                return Ok(CallToolResult::error(vec![why]).into());
            }
            "sleep" => {
                drop(notes);
                return std::future::pending().await;
            }
            other => {
                let wrong = format!("no tool {other}");
                return Err(ErrorData::invalid_params(wrong, None));
            }
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }
}

fn tool(name: &str, description: &str, schema: Value) -> Tool {
    let Value::Object(schema) = schema else { unreachable!("schemas here are objects") };
    Tool::new(name.to_owned(), description.to_owned(), schema)
}
