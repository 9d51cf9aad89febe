//! Other processes: this program, started again to do one job.

use std::process::{Child, Command, Stdio};

use crate::{opening, processes};

/// What tells a child its job.
const JOB: &str = "CONTEXTURE_TEST_JOB";

/// Starts a child.
pub(crate) fn spawn(job: &[&str]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "children::a_job_of_another_test", "--nocapture", "--test-threads=1"])
        .env(JOB, job.join("\n"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

// Only a child has a job.
#[test]
fn a_job_of_another_test() {
    let Ok(job) = std::env::var(JOB) else { return };
    match job.split('\n').collect::<Vec<_>>()[..] {
        ["open", url] => opening::child(url),
        ["work", url, name, rounds] => processes::child(url, name, rounds.parse().unwrap()),
        _ => panic!("no such job: {job}"),
    }
}
