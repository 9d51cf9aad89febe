//! The options that windows are made with.

use contexture_agents::shares::{self, ShareSettings};
use contexture_core::{Format, Principal, Session, WindowOptions};
use contexture_tokens::counter_for;

use crate::{Host, Result};

/// The tokenizer when no model is named.
pub(crate) const TOKENIZER: &str = "o200k_base";

/// Returns the options of windows for the holder of a session, with the shares that the project sets.
pub(crate) async fn window_options(
    host: &Host,
    session: &Session,
    format: Format,
    model: Option<&str>,
) -> Result<WindowOptions> {
    let mut options = WindowOptions::new(format, counter_for(model.unwrap_or(TOKENIZER)));
    options.model = model.map(str::to_owned);
    let project = host.project().await?;
    let agent = match session.principal() {
        Principal::Agent(view) => project.catalog.definition(&view.agent)?,
        Principal::System | Principal::User(_) => None,
    };
    options.shares = shares::resolve(&ShareSettings::default(), agent, &project.settings)?.shares();
    Ok(options)
}
