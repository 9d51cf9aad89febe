//! The tests of the server, in one program: a real server on loopback, in this process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod bad_input;
mod client;
mod conversation;
mod document;
mod events;
mod host_tools;
mod matrix;
mod mcp;
mod mcp_client;
mod mcp_rough;
mod mcp_views;
mod pages;
mod windows;
