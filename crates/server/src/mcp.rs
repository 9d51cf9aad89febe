//! MCP: the tools of [`HostTool`](contexture_agents::tools::context::HostTool), pages as resources, and a
//! prompt, over stdio and over HTTP.
//!
//! ```text
//!  stdio ─┐                      ┌ tools      ──► HostTools
//!  /mcp ──┴► Access ──► Session ─┼ resources  ──► HostTools (read)
//!           (who calls,          └ prompt     ──► HostTools (window)
//!            defaults)
//! ```
//!
//! Nothing is kept from one call to the next: each names its session and agent, or takes the defaults that the
//! connection began with. [`Host::session`] decides who acts, as it does for HTTP; everything after that is the
//! core's. Bad arguments are answers that a model reads, not errors of the protocol.

mod access;
mod complete;
mod http;
mod listen;
mod prompt;
mod resources;
mod stdio;
mod tools;

use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
        InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ResourcesCapability, ServerCapabilities, ServerConfig,
        SubscriptionFilter, Tool,
    },
    service::{RequestContext, SubscriptionContext},
};

pub use access::Access;
pub(crate) use http::route;
pub use stdio::{serve_mcp, serve_mcp_over};

use crate::Host;

/// What a client's model is told about the server.
const INSTRUCTIONS: &str = include_str!("mcp/instructions.md");

/// The revisions that are spoken.
const REVISIONS: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// An MCP server: for one connection whose caller is known, or for requests over HTTP that each bring theirs.
#[derive(Clone)]
struct McpServer {
    host: Arc<Host>,
    /// Who calls; none over HTTP, where each request says it.
    access: Option<Access>,
}

impl McpServer {
    /// Returns who calls.
    fn access(&self, context: &RequestContext<RoleServer>) -> Result<Access, ErrorData> {
        let of_request = || {
            let parts = context.extensions.get::<axum::http::request::Parts>()?;
            parts.extensions.get::<Access>().cloned()
        };
        self.access
            .clone()
            .or_else(of_request)
            .ok_or_else(|| ErrorData::internal_error("the request carries no caller", None))
    }
}

/// Turns a panic into an error of the one request. Boxed, because the protocol's own futures are large already
/// and are moved about on the stack.
async fn guarded<T>(
    answer: impl Future<Output = Result<T, ErrorData>> + Send,
) -> Result<T, ErrorData> {
    AssertUnwindSafe(Box::pin(answer)).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a request over MCP panicked");
        Err(ErrorData::internal_error("the request crashed: this is a bug", None))
    })
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let mut resources = ResourcesCapability::default();
        resources.subscribe = Some(true);
        resources.list_changed = Some(true);
        let mut capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .build();
        capabilities.resources = Some(resources);
        let server = Implementation::new("contexture", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(server.with_title("Contexture"))
            .with_instructions(INSTRUCTIONS.trim())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(REVISIONS)
    }

    /// The older revision binds notifications to a connection; nothing is kept for one here.
    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        let mut info = self.get_info();
        info.capabilities.resources = Some(ResourcesCapability::default());
        let asked = &request.protocol_version;
        info.protocol_version = match asked.has_initialize() && REVISIONS.contains(asked) {
            true => asked.clone(),
            false => ProtocolVersion::LATEST_WITH_INITIALIZE,
        };
        Ok(info)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(tools::list())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::list().tools.into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let access = self.access(&context)?;
        guarded(tools::call(&self.host, &access, request)).await.map(Into::into)
    }

    /// Accepted, and without effect: no messages for a log are sent to clients.
    #[expect(deprecated, reason = "clients of the older revision send it")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let access = self.access(&context)?;
        guarded(resources::list(&self.host, &access, cursor(request))).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let access = self.access(&context)?;
        guarded(resources::read(&self.host, &access, &request.uri)).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(prompt::list())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let access = self.access(&context)?;
        guarded(prompt::get(&self.host, &access, request)).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let access = self.access(&context)?;
        guarded(complete::complete(&self.host, &access, request)).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let access = self.access(context.request_context())?;
        guarded(listen::listen(&self.host, &access, &context)).await
    }
}
