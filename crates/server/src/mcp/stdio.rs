//! MCP over a pipe: one client, whose rights are known from the beginning.

use std::{io, sync::Arc};

use contexture_core::ErrorKind;
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, ProtocolVersion},
    service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Access, McpServer};
use crate::{Host, Result, ServerError};

/// The longest line that is read: a page of the largest size, with its escapes.
const LONGEST: usize = 64 << 20;

/// Serves MCP over standard input and output until the input ends.
pub async fn serve_mcp(host: Arc<Host>, access: Access) -> Result<()> {
    serve_mcp_over(host, access, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves MCP over any pair of streams until the first ends.
pub async fn serve_mcp_over(
    host: Arc<Host>,
    access: Access,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<()> {
    let server = McpServer { host: host.clone(), access: Some(access) };
    let inner = AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST);
    let ended = match serve_server(server, Patient { inner, began: false }).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
        // The client has gone before it began.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    host.stop();
    host.finish().await;
    ended.map_err(|error| {
        let message = format!("the client ended the connection in disorder: {error}");
        ServerError::of_kind(ErrorKind::Unavailable, message, "start the client again")
    })
}

/// A transport that passes over messages which have no place before the first request. Otherwise a client
/// that cancels something early would end the server.
struct Patient<T> {
    inner: T,
    began: bool,
}

impl<T> Patient<T> {
    fn passes(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let ClientJsonRpcMessage::Request(request) = message {
            let request = &request.request;
            let required = &ProtocolVersion::V_2026_07_28;
            self.began |= match request {
                ClientRequest::InitializeRequest(_) => true,
                ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
                other => other.get_meta().missing_required_keys(required).is_empty(),
            };
            return true;
        }
        self.began
    }
}

impl<T: Transport<RoleServer, Error = io::Error>> Transport<RoleServer> for Patient<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            if self.passes(&message) {
                return Some(message);
            }
            tracing::debug!("passed over a message before the first request");
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}
