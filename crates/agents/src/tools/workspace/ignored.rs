//! What a folder's `.ignore`, `.gitignore` and `.git/info/exclude` leave out, read from its handle.

use std::{io::Read, path::Path};

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::recognise::reading;

/// How much of a file of rules is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// What one folder says about everything below it: what comes first counts first.
#[derive(Debug)]
pub(super) struct Rules([Gitignore; 3]);

impl Rules {
    /// Reads a folder's rules. Like git, it goes through no symlink for them.
    pub(super) fn of(dir: &Dir) -> Self {
        let exclude = || {
            let info = dir.open_dir_nofollow(".git")?.open_dir_nofollow("info")?;
            Ok::<_, std::io::Error>(rules(&info, "exclude"))
        };
        let exclude = exclude().unwrap_or_else(|_| Gitignore::empty());
        Self([rules(dir, ".ignore"), rules(dir, ".gitignore"), exclude])
    }
}

/// Tells whether an entry is left out. It is named from the innermost folder outwards: by its path in
/// each folder, with that folder's rules.
pub(super) fn is_ignored<'a>(
    named: impl Iterator<Item = (&'a Path, &'a Rules)>,
    is_folder: bool,
) -> bool {
    let mut said = [Match::None, Match::None, Match::None];
    for (path, Rules(rules)) in named {
        for (said, rules) in said.iter_mut().zip(rules) {
            if said.is_none() {
                *said = rules.matched(path, is_folder).map(|_| ());
            }
        }
    }
    said.into_iter().find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
}

fn rules(dir: &Dir, name: &str) -> Gitignore {
    let mut bytes = Vec::new();
    let is_file = dir.symlink_metadata(name).is_ok_and(|found| found.is_file());
    let opened = is_file.then(|| dir.open_with(name, &reading()).ok()).flatten();
    let Some(file) = opened else { return Gitignore::empty() };
    if file.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
        return Gitignore::empty();
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { break };
        // A rule that is none leaves nothing out; the others hold.
        let _ = builder.add_line(None, line.strip_suffix('\r').unwrap_or(line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
