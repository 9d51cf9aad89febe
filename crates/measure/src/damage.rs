//! What a bad disk gets: a SQLite store damaged at every place, and what is read from it then.
//!
//! Every sector of 512 bytes is set to zeros, and every page of the file is replaced by garbage. After each,
//! the store is opened and asked for a window, for an export, and for a run of an agent, whose request is
//! caught. Each must give what was there or an error: anything else is counted as wrong. Then the file is
//! repaired and checked.

mod store;

use std::{io::Write, process::ExitCode};

use anyhow::{Result, bail};

use store::{Answers, Mended, Store};

/// What is damaged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many turns the session has.
    #[arg(long, default_value_t = 60)]
    turns: usize,
    /// Damage only every so many-th place.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    stride: u64,
}

const SECTOR: usize = 512;
const PAGE: usize = 4_096;

/// What came of one question asked of damaged stores.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Tally {
    same: u64,
    refused: u64,
    wrong: Vec<String>,
}

/// What came of one kind of damage.
#[derive(Debug, Default)]
struct DamageReport {
    damaged: u64,
    window: Tally,
    export: Tally,
    run: Tally,
    repaired: Repairs,
}

/// What checks said after repairs.
#[derive(Debug, Default)]
struct Repairs {
    clean: u64,
    accepted: u64,
    /// The repair failed, with this error.
    failed: Vec<String>,
    unclean: Vec<String>,
}

impl DamageReport {
    fn wrong(&self) -> impl Iterator<Item = &String> {
        [&self.window, &self.export, &self.run].into_iter().flat_map(|tally| &tally.wrong)
    }
}

/// Damages, asks and prints.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let store = Store::make(args.turns)?;
    let pages = store.bytes().len() / PAGE;
    writeln!(out, "a SQLite store of {} turns, {pages} pages of {PAGE} bytes\n", args.turns)?;
    writeln!(out, "| damage | stores | question | what was there | error | wrong |")?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    let (mut code, mut repairs) = (ExitCode::SUCCESS, Vec::new());
    for (name, size, damage) in [
        ("a sector of zeros", SECTOR, zeros as Damage),
        ("a page of garbage", PAGE, garbage as Damage),
        ("a page of zeros", PAGE, zeros as Damage),
    ] {
        let outcome = sweep(&store, size, args.stride, damage)?;
        let tallies = [
            ("window", &outcome.window),
            ("export", &outcome.export),
            ("agents run", &outcome.run),
        ];
        for (question, Tally { same, refused, wrong }) in tallies {
            let (damaged, wrong) = (outcome.damaged, wrong.len());
            writeln!(out, "| {name} | {damaged} | {question} | {same} | {refused} | {wrong} |")?;
        }
        let Repairs { unclean, failed, .. } = &outcome.repaired;
        let mut wrong = outcome.wrong().chain(unclean).chain(failed).peekable();
        if wrong.peek().is_some() {
            code = ExitCode::FAILURE;
        }
        for wrong in wrong.take(20) {
            writeln!(out, "  {wrong}")?;
        }
        repairs.push((name, outcome.repaired));
    }
    writeln!(
        out,
        "\n| damage | clean after --repair | after --accept-losses | repair fails | not clean |"
    )?;
    writeln!(out, "|---|---|---|---|---|")?;
    for (name, Repairs { clean, accepted, failed, unclean }) in repairs {
        let (failed, unclean) = (failed.len(), unclean.len());
        writeln!(out, "| {name} | {clean} | {accepted} | {failed} | {unclean} |")?;
    }
    Ok(code)
}

/// Damages a store at every place of a size, one after the other.
fn sweep(store: &Store, size: usize, stride: u64, damage: Damage) -> Result<DamageReport> {
    let expected = store.ask(store.bytes())?;
    for answer in [&expected.window, &expected.export, &expected.run] {
        if let Err(error) = answer {
            bail!("the store fails before it is damaged: {error}");
        }
    }
    let mut outcome = DamageReport::default();
    for at in (0..store.bytes().len()).step_by(size * usize::try_from(stride)?) {
        let mut bytes = store.bytes().to_vec();
        damage(&mut bytes[at..at + size]);
        outcome.damaged += 1;
        let answers = store.ask(&bytes)?;
        let Answers { window, export, run } = &answers;
        for (tally, question, given, expected) in [
            (&mut outcome.window, "window", window, &expected.window),
            (&mut outcome.export, "export", export, &expected.export),
            (&mut outcome.run, "agents run", run, &expected.run),
        ] {
            match (given, expected) {
                (Err(_), _) => tally.refused += 1,
                (Ok(given), Ok(expected)) if given == expected => tally.same += 1,
                (Ok(given), _) => tally.wrong.push(format!(
                    "{question} with {size} bytes damaged at {at}: {} bytes",
                    given.len()
                )),
            }
        }
        let repaired = &mut outcome.repaired;
        match store.repair(&bytes) {
            Ok(Mended::Clean) => repaired.clean += 1,
            Ok(Mended::Accepted) => repaired.accepted += 1,
            Ok(Mended::Not(problems)) => repaired.unclean.push(format!(
                "check after repair with {size} bytes damaged at {at}: {}",
                problems.join("; ")
            )),
            Err(error) => {
                repaired.failed.push(format!("repair with {size} bytes damaged at {at}: {error:#}"))
            }
        }
    }
    Ok(outcome)
}

/// What is done to bytes.
type Damage = fn(&mut [u8]);

/// What a question gave.
type Answer = Result<String, String>;

fn zeros(bytes: &mut [u8]) {
    bytes.fill(0);
}

/// Replaces bytes by others that are the same at every run.
fn garbage(bytes: &mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in bytes {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        *byte = state.to_be_bytes()[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Damage shows as damage, never as absence, whatever is asked.
    #[test]
    fn a_damaged_store_gives_what_was_there_or_an_error() {
        let store = Store::make(3).unwrap();
        let pages = store.bytes().len() / PAGE;
        assert!((25..150).contains(&pages), "{pages} pages");
        for (size, stride, damage) in
            [(SECTOR, 5, zeros as Damage), (PAGE, 1, garbage as Damage), (PAGE, 2, zeros as Damage)]
        {
            let outcome = sweep(&store, size, stride, damage).unwrap();
            let wrong: Vec<&String> = outcome.wrong().collect();
            assert!(wrong.is_empty(), "{wrong:#?}");
            for tally in [&outcome.window, &outcome.export, &outcome.run] {
                assert_eq!(tally.same + tally.refused, outcome.damaged);
                assert!(tally.refused > 0, "nothing was damaged: {outcome:?}");
            }
            let Repairs { clean, accepted, failed, unclean } = outcome.repaired;
            assert!(unclean.is_empty(), "{unclean:#?}");
            assert!(failed.is_empty(), "{failed:#?}");
            assert!(clean > accepted, "{clean} {accepted}");
        }
    }
}
