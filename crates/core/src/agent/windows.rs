//! Windows through the proxy: only what the view shows is ever rendered, folded, sent or pressed.

use std::collections::BTreeMap;

use super::AgentContext;
use crate::{
    FoldReport, Format, Result, Revision, SentWindow, Usage,
    context::Apps,
    system::{FoldOutcome, FoldedTurn, Pressed, Purpose, TurnLimits},
    window::request::{Sent, Window, WindowOptions},
};

impl AgentContext {
    /// Renders the agent's window. It never writes.
    pub async fn window(&self, options: &WindowOptions) -> Result<Window> {
        self.reader().window(options).await
    }

    /// Returns what the fold that is due would save and cost; none when none is due.
    pub async fn fold_preview(&self, options: &WindowOptions) -> Result<Option<FoldReport>> {
        self.reader().fold_preview(options).await
    }

    /// Takes the fold that is due; none when none is due.
    pub async fn fold(&self, options: &WindowOptions) -> Result<Option<FoldOutcome>> {
        self.system.fold_for(&self.view, options).await
    }

    /// Returns turns in lines of the agent's window that a line could be written for, newest first.
    pub async fn folded_turns(&self, limits: TurnLimits) -> Result<Vec<FoldedTurn>> {
        self.reader().folded_turns(limits).await
    }

    /// Takes the fold that is due, renders the window and records it as sent.
    pub async fn send(&self, options: &WindowOptions) -> Result<Sent> {
        self.system.send_for(&self.view, options, Purpose::Record).await
    }

    /// The same for a model to answer, where a fold may have been taken for it already.
    pub(crate) async fn send_request(
        &self,
        options: &WindowOptions,
        folded: Option<Revision>,
    ) -> Result<Sent> {
        self.system.send_for(&self.view, options, Purpose::Request { folded }).await
    }

    /// Renders a window that was sent again, and proves it by its hash.
    pub async fn sent(&self, options: &WindowOptions, number: u64) -> Result<Sent> {
        self.system.sent_in(options, number, Some(&self.view)).await
    }

    /// Returns the records of the agent's ledger, newest first.
    pub async fn ledger(&self, format: Format, limit: usize) -> Result<Vec<SentWindow>> {
        self.system.ledger_in(format, limit, Some(&self.view)).await
    }

    /// Notes what the provider reported for a window sent.
    pub async fn report_usage(&self, format: Format, number: u64, usage: &Usage) -> Result<()> {
        self.system.report_in(format, number, usage, Some(&self.view)).await
    }

    /// Presses an anchor: the operation behind it, checked like any other.
    pub async fn press(
        &self,
        key: &str,
        params: &BTreeMap<String, String>,
        apps: &Apps,
    ) -> Result<Pressed> {
        self.system.press_in(key, params, apps, Some(&self.view)).await
    }
}
