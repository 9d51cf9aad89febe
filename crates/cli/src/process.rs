//! Which process this is, and whether the one that drives a run still lives.

use std::{fs, path::Path};

use contexture_agents::{run::Driver, team::StoredRun};
use contexture_core::Timestamp;

/// How long a run of another machine may be silent before it counts as gone.
const SILENT_MILLIS: i64 = 15 * 60 * 1_000;

/// Returns this process as the driver of runs.
pub(crate) fn driver() -> Driver {
    let process = std::process::id();
    Driver { host: host(), process, started: started(process).unwrap_or_default() }
}

/// Returns whether the process that drives a run still lives. Of another machine that cannot be seen:
/// a run there counts as going on for as long as it was heard of lately.
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

/// Returns when a process began, in the machine's own ticks; none when there is none.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in brackets and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    // One that has ended and was not yet taken note of is still listed.
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
        // It ends by itself; until somebody waits for it, it stays listed.
        while !listed(child.id()) {
            std::thread::yield_now();
        }
        assert_eq!(started(child.id()), None);
        child.wait().unwrap();
    }
}
