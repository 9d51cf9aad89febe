//! Identifies this process, and checks whether the process that drives a run is still alive.

use std::{fs, path::Path};

use contexture_agents::{run::Driver, team::StoredRun};
use contexture_core::Timestamp;

/// How long a run on another machine may be silent before it counts as dead.
const SILENT_MILLIS: i64 = 15 * 60 * 1_000;

/// Returns this process as the driver of runs.
pub(crate) fn driver() -> Driver {
    let process = std::process::id();
    Driver { host: host(), process, started: started(process).unwrap_or_default() }
}

/// Returns whether the process that drives a run is still alive. On another machine that cannot be
/// checked: a run there counts as alive while it was heard of recently.
pub(crate) fn is_alive(stored: &StoredRun, now: Timestamp) -> bool {
    let Some(driver) = &stored.run.driver else { return false };
    let lately = now.as_millis() - stored.heard_at().as_millis() < SILENT_MILLIS;
    if driver.host != host() || !Path::new("/proc/self/stat").exists() {
        return lately;
    }
    started(driver.process) == Some(driver.started)
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    // Process numbers mean nothing across a restart of the machine.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    format!(
        "{} {}",
        name.unwrap_or_else(|_| "unknown".to_owned()).trim(),
        boot.unwrap_or_default().trim()
    )
}

/// Returns when a process started, in the machine's own ticks; none if it does not exist.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in parentheses and may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    // A process that has ended is still listed until its parent waits for it.
    let ended = matches!(fields.next()?, "Z" | "X");
    fields.nth(18).filter(|_| !ended)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_others_do_not() {
        let own = std::process::id();
        assert_eq!(started(own), Some(driver().started));
        assert!(driver().started > 0);
        // Process numbers end far below this.
        assert_eq!(started(u32::MAX), None);
    }

    #[test]
    fn a_process_that_ended_and_is_still_listed_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let listed = |process: u32| {
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            stat.contains(") Z ")
        };
        // It ends by itself, but stays listed until somebody waits for it.
        while !listed(child.id()) {
            std::thread::yield_now();
        }
        assert_eq!(started(child.id()), None);
        child.wait().unwrap();
    }
}
