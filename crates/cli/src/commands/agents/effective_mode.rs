//! Which mode an agent runs in here and now, in words.

use contexture_agents::{settings::Source, standing::Standing};

/// Returns an agent's mode with who decided it, where it is not the default.
pub(super) fn short(standing: &Standing) -> String {
    let mode = standing.mode();
    let by = match &standing.resolution.source {
        _ if standing.is_gated() => "shared is forbidden",
        Source::Flag => "the call",
        Source::SessionOverride => "session override",
        Source::Definition(_) => "agent file",
        Source::Project(_) => "project settings",
        Source::User(_) => "user settings",
        Source::Default => return mode.to_string(),
    };
    format!("{mode} ({by})")
}
