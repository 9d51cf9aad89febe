//! The mode an agent runs in here and now, in words.

use contexture_agents::{effective_mode::EffectiveMode, settings::Source};

/// Returns an agent's mode, and where it was set unless it is the default.
pub(super) fn short(effective: &EffectiveMode) -> String {
    let mode = effective.mode();
    let by = match &effective.resolution.source {
        _ if effective.is_shared_forbidden() => "shared is forbidden",
        Source::Flag => "the call",
        Source::SessionOverride => "session override",
        Source::Definition(_) => "agent file",
        Source::Project(_) => "project settings",
        Source::User(_) => "user settings",
        Source::Default => return mode.to_string(),
    };
    format!("{mode} ({by})")
}
