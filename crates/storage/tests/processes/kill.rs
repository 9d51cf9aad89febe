use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
};

use crate::{append, assert_sound, make, open, spawn, text};

/// Appends from several threads for ever, and tells of each page once it was acknowledged.
pub(crate) fn child(path: &Path) {
    let system = open(path);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let system = system.clone();
            scope.spawn(move || {
                for at in 0.. {
                    let text = format!("thread {thread} page {at}");
                    let page = append(&system, "acknowledged", &text);
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "{page}\t{text}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

// What was acknowledged survives kill -9, wherever it strikes; the rest is whole or absent.
pub(crate) fn what_was_acknowledged_survives_a_kill(path: &Path) {
    make(path);
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    for strike in [1, 2, 5, 30, 200] {
        let mut writer = spawn(&["kill-child", path.to_str().unwrap()]);
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        for line in lines.take(strike) {
            let line = line.unwrap();
            let (page, text) = line.split_once('\t').unwrap();
            acknowledged.push((page.to_owned(), text.to_owned()));
        }
        // On Unix this is SIGKILL.
        writer.kill().unwrap();
        writer.wait().unwrap();
        let system = open(path);
        for (page, expected) in &acknowledged {
            assert_eq!(text(&system, &page.parse().unwrap()), *expected, "page {page}");
        }
        assert_sound(&system);
    }
}
