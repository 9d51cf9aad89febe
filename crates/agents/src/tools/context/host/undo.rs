//! `undo`: edits taken back.

use contexture_core::Revision;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{Done, Hand, arguments},
    names,
};
use crate::tool::ToolOutput;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    #[serde(default)]
    revision: Option<u64>,
}

pub(super) async fn undo(hand: &Hand, arguments: &Value) -> Done {
    let Undo { revision } = arguments::read(arguments)?;
    let outcome = hand.session.undo(revision.map(Revision)).await?;
    let undone = outcome.undone.map(|it| format!(" revision {it}")).unwrap_or_default();
    let pages = match outcome.pages.as_slice() {
        [] => String::new(),
        pages => format!(": {}", names(pages)),
    };
    let again = outcome.revision;
    let text =
        format!("undid{undone} as revision {again}{pages}; undo with revision {again} redoes it");
    Ok(ToolOutput { changes: outcome.pages, ..ToolOutput::of(text) })
}
