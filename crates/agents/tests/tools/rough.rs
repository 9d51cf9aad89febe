//! MCP servers that misbehave: `rough.py`, which notes each call before it goes wrong.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contexture_agents::{
    Tool, ToolOutput,
    definition::McpConfig,
    tools::mcp::{McpOptions, connect},
};
use serde_json::json;
use tempfile::TempDir;

use super::{find, right, wrong};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/rough.py");

/// Long enough that only a server that never answers reaches it.
const PATIENT: Duration = Duration::from_secs(120);

struct Rough {
    folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Rough {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let done = folder.path().join("done").to_str().unwrap().to_owned();
        let args = vec![SCRIPT.to_owned(), done];
        let config = McpConfig::Stdio { command: "python3".to_owned(), args, env: BTreeMap::new() };
        let servers = [("rough".to_owned(), config)];
        let (tools, warnings) = connect(&servers, &McpOptions::new(PATIENT)).await;
        assert_eq!(warnings, [""; 0]);
        Self { folder, tools }
    }

    async fn call(&self, tool: &str) -> ToolOutput {
        find(&self.tools, &format!("mcp__rough__{tool}")).call(&json!({})).await
    }

    /// Returns the calls that took effect.
    fn done(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("done")).unwrap_or_default()
    }
}

const UNKNOWN: &str = "whether the call took effect is unknown. Check before you repeat it.";

#[tokio::test]
async fn a_server_that_dies_may_have_done_it() {
    let rough = Rough::start().await;
    let text = wrong(rough.call("die").await);
    assert_eq!(text, format!("MCP server 'rough' exited before it answered: {UNKNOWN}"));
    assert_eq!(rough.done(), "die\n");
    // Nothing can be sent to it any more, and that is known.
    let text = wrong(rough.call("die").await);
    assert!(text.starts_with("MCP server 'rough' has exited and did not run the call"), "{text}");
    assert_eq!(rough.done(), "die\n");
}

#[tokio::test]
async fn a_result_that_cannot_be_read_may_be_of_something_done() {
    let rough = Rough::start().await;
    let text = wrong(rough.call("unreadable").await);
    assert_eq!(text, format!("MCP server 'rough' sent an answer that cannot be read: {UNKNOWN}"));
    let text = wrong(rough.call("internal").await);
    assert!(text.starts_with("MCP server 'rough' reports an error: "), "{text}");
    assert!(text.contains("the pen broke"), "{text}");
    let text = wrong(rough.call("refuse").await);
    assert!(text.starts_with("MCP server 'rough' did not run the call: "), "{text}");
    assert_eq!(rough.done(), "unreadable\ninternal\nrefuse\n");
}

#[tokio::test]
async fn long_results_are_cut_and_say_so() {
    let rough = Rough::start().await;
    let text = right(rough.call("huge").await);
    assert!(text.starts_with("中中") && text.len() < 110 * 1024, "{} bytes", text.len());
    assert!(text.ends_with("中…\n[cut: the first 102400 of 21000000 bytes]"));
    // Too many parts to be read one by one: the answer begins as it came.
    let text = right(rough.call("many").await);
    assert!(text.starts_with("{\"jsonrpc\": \"2.0\"") && text.len() < 110 * 1024);
    assert!(text.ends_with("\n[cut: the first 102400 of 21700052 bytes]"));
    let text = right(rough.call("picture").await);
    assert_eq!(text, "(image, image/png, about 3000000 bytes, not shown)");
    assert_eq!(rough.done(), "huge\nmany\npicture\n");
}
