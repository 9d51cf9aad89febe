//! Tools of MCP servers: programs that speak on their standard input and output, or servers that
//! speak streamable HTTP.
//!
//! A server that does not start, or not in time, gives a warning, and the run goes on without it. A
//! server's program lives as long as one of its tools does; what it writes to its standard error is
//! traced and never reaches the terminal.
//!
//! What a server says of its tools and what they answer comes from outside: names are made safe,
//! descriptions and answers are cut, schemas keep one order of fields whatever the server's.

mod address;
mod answer;
mod name;
mod narrow;
mod program;
mod server;
mod trust;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use contexture_core::message::RawJson;
use futures::future::join_all;
use rmcp::{
    model::{CallToolRequestParams, ErrorCode, JsonObject},
    service::ServiceError,
    transport::streamable_http_client::StreamableHttpError,
};
use serde_json::Value;

pub use address::without_secrets;
pub(super) use name::offered;
pub use name::prefix;
pub use trust::{ProjectServers, Servers, SkippedServer, servers};

use self::{name::Names, server::Server};
use crate::{
    definition::McpConfig,
    tool::{Effect, Tool, ToolOutput, ToolSpec},
};

/// The longest description of a tool, in bytes.
const DESCRIPTION: usize = 2 * 1024;

/// The longest schema of a tool, in bytes.
const SCHEMA: usize = 64 * 1024;

/// What a model is told to do about a call whose outcome is not known.
const LOOK: &str = "Check before you repeat it.";

/// How servers are reached.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// How long a server may take to start and to list its tools.
    pub start: Duration,
    /// How long a call may take.
    pub call: Duration,
    /// The folder programs run in; by default the present one.
    pub folder: Option<PathBuf>,
    /// Variables of the environment that programs do not inherit, beside keys of providers and the
    /// store. A server that needs one is given it by its own configuration.
    pub withheld: Vec<String>,
}

impl McpOptions {
    /// Gives servers that long to start, and calls as long.
    pub fn new(timeout: Duration) -> Self {
        Self { start: timeout, call: timeout, folder: None, withheld: Vec::new() }
    }
}

/// Connects servers and returns their tools, always in the same order, with warnings about what
/// could not be had.
pub async fn connect(
    servers: &[(String, McpConfig)],
    options: &McpOptions,
) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
    let mut warnings = Vec::new();
    let mut wanted: BTreeMap<String, (&str, &McpConfig)> = BTreeMap::new();
    for (name, config) in servers {
        // Rules name servers by this, so no two may share it.
        if let Some((first, _)) = wanted.get(&prefix(name)) {
            warnings.push(format!(
                "MCP server '{name}' is left out: its tools would have the same names as those of '{first}'"
            ));
            continue;
        }
        wanted.insert(prefix(name), (name, config));
    }
    let started =
        join_all(wanted.values().map(|(name, config)| start(name, config, options))).await;
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for started in started {
        match started {
            Ok((server, listed)) => {
                tools.extend(tools_of(&server, listed, options.call, &mut warnings));
            }
            Err(warning) => warnings.push(warning),
        }
    }
    (tools, warnings)
}

type Listed = (Arc<Server>, Vec<rmcp::model::Tool>);

/// Starts a server and asks for its tools, within the time there is for both.
async fn start(name: &str, config: &McpConfig, options: &McpOptions) -> Result<Listed, String> {
    let said = server::Said::default();
    let start = async {
        let server = Server::start(name, config, options, &said).await?;
        let tools = server.service.list_all_tools().await;
        let tools = tools.map_err(|error| without_secrets(&error.to_string()))?;
        Ok((Arc::new(server), tools))
    };
    let wrong = match tokio::time::timeout(options.start, start).await {
        Ok(Ok(listed)) => return Ok(listed),
        Ok(Err(error)) => error,
        Err(_) => format!("no answer within {} s", options.start.as_secs_f64()),
    };
    let said = match said.last().await {
        Some(said) => format!("; it said: {said}"),
        None => String::new(),
    };
    Err(format!("MCP server '{name}' is left out: {wrong}{said}"))
}

fn tools_of(
    server: &Arc<Server>,
    mut listed: Vec<rmcp::model::Tool>,
    timeout: Duration,
    warnings: &mut Vec<String>,
) -> Vec<Arc<dyn Tool>> {
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    let mut names = Names::of(&server.name);
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for tool in listed {
        let schema = schema_of(&tool.input_schema);
        if schema.as_str().len() > SCHEMA {
            warnings.push(format!(
                "tool '{}' of MCP server '{}' is left out: its schema has more than {SCHEMA} bytes",
                tool.name, server.name
            ));
            continue;
        }
        let said = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let (name, description) = (names.next(&tool.name), answer::cut(said, DESCRIPTION));
        let reads = tool.annotations.as_ref().is_some_and(|it| it.read_only_hint == Some(true));
        tools.push(Arc::new(McpTool {
            spec: ToolSpec { name, description, schema },
            effect: if reads { Effect::Reads } else { Effect::Changes },
            name: tool.name.into_owned(),
            server: server.clone(),
            timeout,
        }));
    }
    tools
}

/// Returns a schema as text with one order of fields; providers want it to be an object's.
fn schema_of(schema: &JsonObject) -> RawJson {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| Value::from("object"));
    let mut text = String::new();
    answer::write_sorted(&Value::Object(schema), &mut text);
    RawJson::new(&text).expect("what was read as JSON is written as JSON")
}

struct McpTool {
    spec: ToolSpec,
    effect: Effect,
    /// As the server calls it.
    name: String,
    server: Arc<Server>,
    timeout: Duration,
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn origin(&self) -> Option<(&str, &str)> {
        Some((&self.server.name, &self.name))
    }

    async fn call(&self, arguments: &Value) -> ToolOutput {
        let mut params = CallToolRequestParams::new(self.name.clone());
        params.arguments = arguments.as_object().cloned();
        let server = &self.server.name;
        if self.server.service.is_transport_closed() {
            return ToolOutput::failed(format!(
                "MCP server '{server}' has exited and did not run the call: its tools are gone for this run"
            ));
        }
        let call = self.server.service.call_tool(params);
        let wrong = match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(result)) => return answer::of(&result),
            Ok(Err(error)) => error,
            Err(_) => {
                let seconds = self.timeout.as_secs_f64();
                return unknown(server, &format!("did not answer within {seconds} s"));
            }
        };
        let said = answer::cut(&without_secrets(&wrong.to_string()), DESCRIPTION);
        match wrong {
            ServiceError::McpError(error) if refuses(error.code) => {
                ToolOutput::failed(format!("MCP server '{server}' did not run the call: {said}"))
            }
            ServiceError::McpError(_) => {
                ToolOutput::failed(format!("MCP server '{server}' reports an error: {said}"))
            }
            error if never_left(&error) => {
                ToolOutput::failed(format!("MCP server '{server}' did not run the call: {said}"))
            }
            ServiceError::TransportClosed => unknown(server, "exited before it answered"),
            ServiceError::UnexpectedResponse => {
                unknown(server, "sent an answer that cannot be read")
            }
            _ => unknown(server, &format!("did not answer ({said})")),
        }
    }
}

/// Answers a call that was sent and may have been done: nobody here can tell.
fn unknown(server: &str, why: &str) -> ToolOutput {
    ToolOutput::failed(format!(
        "MCP server '{server}' {why}: whether the call took effect is unknown. {LOOK}"
    ))
}

/// Tells whether a server says with an error that it did not begin: there is no such tool, or it does
/// not take these arguments.
fn refuses(code: ErrorCode) -> bool {
    [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS].contains(&code)
}

/// Tells whether a request cannot have reached its server: there was no connection to send it on.
fn never_left(error: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = error else { return false };
    let http = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(http, Some(StreamableHttpError::Client(error)) if error.is_connect())
}
