//! `/mcp`: streamable HTTP. Each request brings its token, and nothing is kept between two.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::request::Parts,
    response::{IntoResponse as _, Response},
    routing::any,
};
use contexture_core::{AgentName, SessionId};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};

use super::{Access, McpServer};
use crate::{
    Host, Result, ServerError,
    http::{BODY, bearer, pairs, read_body},
};

type Service = StreamableHttpService<McpServer, NeverSessionManager>;

/// The session where neither the address nor a call names one.
const SESSION: &str = "default";

/// Returns the route.
pub(crate) fn route(host: &Arc<Host>) -> Router<Arc<Host>> {
    let server = McpServer { host: host.clone(), access: None };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY)
        // Every request has passed the gate, which checks Host and Origin.
        .disable_allowed_hosts();
    let service: Service =
        StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config);
    let host = host.clone();
    let answer = move |request: Request| {
        let (host, service) = (host.clone(), service.clone());
        async move { answer(&host, &service, request).await }
    };
    Router::new().route("/mcp", any(answer))
}

async fn answer(host: &Host, service: &Service, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let access = match access(host, &parts).await {
        Ok(access) => access,
        Err(refused) => return refused.into_response(),
    };
    parts.extensions.insert(access);
    let body = match read_body(Request::from_parts(parts.clone(), body), BODY).await {
        Ok(body) => body,
        Err(refused) => return refused.into_response(),
    };
    let request = axum::http::Request::from_parts(parts, Full::new(Bytes::from(body)));
    service.handle(request).await.map(Body::new)
}

/// Returns whose token a request carries, and the defaults that its address names: `?session=S&agent=A`.
async fn access(host: &Host, parts: &Parts) -> Result<Access> {
    let (mut session, mut agent) = (None, None);
    let mut unknown = false;
    for (name, value) in pairs(parts.uri.query().unwrap_or_default()) {
        match name.as_str() {
            "session" if session.is_none() => session = Some(value),
            "agent" if agent.is_none() => agent = Some(value),
            _ => unknown = true,
        }
    }
    let session: std::result::Result<SessionId, _> = session.as_deref().unwrap_or(SESSION).parse();
    let caller = host.authenticate(bearer(&parts.headers), session.as_ref().ok()).await?;
    host.admit(&caller)?;
    if unknown {
        return Err(ServerError::invalid(
            "the address takes 'session' and 'agent' only, each once",
            "write /mcp?session=NAME&agent=NAME, or leave either out",
        ));
    }
    let agent: Option<AgentName> = agent.as_deref().map(str::parse).transpose()?;
    let access = Access::by_token(caller, session?, agent.clone());
    access.admits(agent.as_ref())?;
    Ok(access)
}
