//! Tests of tools.

mod command;
mod confinement;
mod context;
mod files;
mod kept;
mod mcp;
mod named_stores;
mod pins;
mod racing;
mod rough;
mod stores;
mod toolbox;

use std::sync::Arc;

use contexture_agents::{Tool, ToolOutput};
use contexture_core::message::{Fields, ToolCall};
use serde_json::Value;

/// A call as a model writes it.
fn call(name: &str, arguments: &Value) -> ToolCall {
    let (id, name, arguments) = ("call_1".to_owned(), name.to_owned(), arguments.to_string());
    ToolCall { id, name, arguments, extra: Fields::default() }
}

/// Finds a tool by its name.
fn find<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a Arc<dyn Tool> {
    tools.iter().find(|tool| tool.spec().name == name).unwrap_or_else(|| panic!("no tool {name}"))
}

/// Expects an answer that is no failure.
#[track_caller]
fn right(output: ToolOutput) -> String {
    assert!(!output.error, "{}", output.text);
    output.text
}

/// Expects a failure.
#[track_caller]
fn wrong(output: ToolOutput) -> String {
    assert!(output.error, "{}", output.text);
    output.text
}
