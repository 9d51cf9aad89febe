//! Windows: rendered and folded here; sent, shown again and pressed in `system/window`. Only what the view
//! shows is ever in one.

use super::Session;
use crate::{
    Result, Tokens, Window, WindowOptions,
    window::{FoldReport, FoldedTurn, TurnLimits},
};

impl Session {
    /// Renders the window. It never writes.
    pub async fn window(&self, options: &WindowOptions) -> Result<Window> {
        self.reader().window(options).await
    }

    /// Returns what a window may take: its own budget, or the session's.
    pub async fn window_budget(&self, options: &WindowOptions) -> Result<Option<Tokens>> {
        self.reader().window_budget(options).await
    }

    /// Returns what the fold that is due would save and cost; none when none is due.
    pub async fn fold_preview(&self, options: &WindowOptions) -> Result<Option<FoldReport>> {
        self.reader().fold_preview(options).await
    }

    /// Returns turns in lines of the window that a line could be written for, newest first.
    pub async fn folded_turns(&self, limits: TurnLimits) -> Result<Vec<FoldedTurn>> {
        self.reader().folded_turns(limits).await
    }
}
