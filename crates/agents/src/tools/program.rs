//! Programs that tools start: what they inherit, and how all of their processes end.

use tokio::process::{Child, Command};

/// Variables of the environment that no program inherits, beside all whose name ends in `_API_KEY`:
/// keys of providers, the store and its server are none of its business.
pub const WITHHELD: [&str; 4] =
    ["ANTHROPIC_AUTH_TOKEN", "CONTEXTURE_STORE", "CONTEXTURE_SERVER", "CONTEXTURE_TOKEN"];

/// Takes from a program's environment what it must not inherit: keys, the store, and what is named.
pub(super) fn withhold(command: &mut Command, named: &[String]) {
    for (variable, _) in std::env::vars_os() {
        if is_withheld(&variable.to_string_lossy(), named) {
            command.env_remove(variable);
        }
    }
}

fn is_withheld(variable: &str, named: &[String]) -> bool {
    let named = named.iter().map(String::as_str);
    // Windows takes names in either case for one.
    variable.to_ascii_uppercase().ends_with("_API_KEY")
        || WITHHELD.into_iter().chain(named).any(|name| name.eq_ignore_ascii_case(variable))
}

/// Gives a program a process group of its own: what is typed to stop us is not meant for it, and
/// [`ProcessGroup`] can end it with everything it starts.
pub(super) fn own_group(command: &mut Command) {
    #[cfg(unix)]
    command.process_group(0);
    command.kill_on_drop(true);
}

/// The processes of a program that was started in a group of its own. They are killed when this is
/// dropped, also those that the program left behind. A process that moves to another group escapes.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// Takes the group of a program that has just been started.
    #[cfg(unix)]
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: leader.and_then(rustix::process::Pid::from_raw) }
    }

    /// Does nothing here: only the program itself is killed.
    #[cfg(not(unix))]
    pub(super) fn of(_: &Child) -> Self {
        Self {}
    }

    /// Kills every process of the group.
    pub(super) fn end(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader.take() {
            // The number is not given to another process while one of the group is left. If none is,
            // there is nothing to kill.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_the_store_are_withheld() {
        let named = ["CORNER_TOKEN".to_owned()];
        for variable in
            ["OPENAI_API_KEY", "my_api_key", "CONTEXTURE_STORE", "CONTEXTURE_TOKEN", "corner_token"]
        {
            assert!(is_withheld(variable, &named), "{variable}");
        }
        for variable in ["PATH", "API_KEYS", "HOME"] {
            assert!(!is_withheld(variable, &named), "{variable}");
        }
    }
}
