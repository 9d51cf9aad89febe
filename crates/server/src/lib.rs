//! The server of Contexture: HTTP over the operations of a session.
//!
//! ```text
//!  HTTP · MCP  ──►  Caller  ──►  Host::session  ──►  Session  ──►  objects of `contexture_agents::wire`
//!   (routes)      (a token)     (the one place        (every operation
//!                                that decides who     is checked there)
//!                                acts as whom)
//! ```
//!
//! A handler reads a request, makes one operation on a [`Session`](contexture_core::Session) and writes the
//! object that the command line prints. It never decides who may do what: [`Host::session`] turns a token
//! into a principal, and everything after that is the core's.
//!
//! This crate knows no terminal and no environment. Settings, files of the project and the folder of the
//! search index come in as arguments.

mod access;
mod advice;
mod agents;
mod command;
mod error;
mod host;
mod http;
mod mcp;
mod options;
mod serve;

pub(crate) use access::SessionToken;
pub use access::{
    Caller, Challenge, Lifetime, NewToken, OwnerToken, TokenId, TokenObject, TokenRecord,
    TokenText, Tokens,
};
pub use agents::{AgentRuns, RunDone, RunWanted};
pub use command::Commands;
pub use error::{Result, ServerError};
pub use host::{Host, HostParts, Project, ProjectSource, Rate};
pub use http::{openapi, router};
pub use mcp::{Access, serve_mcp, serve_mcp_over};
pub use serve::{HostNames, Limits, ServeSettings, Server};
