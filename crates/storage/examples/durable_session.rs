//! A session in a file: written, closed, opened again, and one edit undone.
//!
//! Run with `cargo run -p contexture-storage --example durable_session`.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use contexture_core::{
    message::{detail_text, wire::parse_messages},
    *,
};
use contexture_storage::{SystemClock, sqlite::SqliteStorage};
use futures::executor::block_on;

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("contexture-example-{}", std::process::id()));
    let path = folder.join("contexture.db");
    let messages = parse_messages(
        br#"[{"role": "user", "content": "Why does the build fail?"},
             {"role": "assistant", "content": null, "tool_calls": [
                 {"id": "call_1", "type": "function",
                  "function": {"name": "read_file", "arguments": "{\"path\": \"build.log\"}"}}]},
             {"role": "tool", "tool_call_id": "call_1", "content": "error: missing semicolon"},
             {"role": "assistant", "content": "A semicolon is missing."}]"#,
    )?;
    block_on(async {
        {
            let storage = Arc::new(SqliteStorage::open(&path, Default::default())?);
            let usr = Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User));
            let system = ContextSystem::create_with(
                storage,
                "demo".parse()?,
                "demo",
                Arc::new(SystemClock),
                &usr,
            )
            .await?;
            system.apply_internal(Edit::AddTurn { segment: "usr".parse()?, messages }).await?;
        }
        let storage = Arc::new(SqliteStorage::open(&path, Default::default())?);
        let system = ContextSystem::open(storage, "demo".parse()?, Arc::new(SystemClock)).await?;
        let turn: PageIndex = "usr-1".parse()?;
        println!("{}", detail_text(&system.reader().messages(&turn).await?));
        let undone = system.apply_internal(Edit::Undo { revision: None }).await?;
        println!("revision {} took the turn back", undone.revision);
        Ok::<(), Error>(())
    })?;
    std::fs::remove_dir_all(&folder).map_err(|error| Error::InvalidRequest {
        reason: format!("{}: {error}", folder.display()),
        hint: "remove it by hand",
    })
}
