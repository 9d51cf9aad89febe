//! Counting through our trait against the library alone. See docs/adr/0011.
//!
//! ```text
//! cargo bench -p contexture-tokens --bench count
//! ```
//!
//! The two sides alternate within the run, and medians are reported. Texts are made here, so that the
//! figures can be had again anywhere. They have few words and repeat them, which the library caches:
//! real English and code are counted about half as fast. The ratio is what matters.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::{hint::black_box, process::Command, time::Instant};

use contexture_core::TokenCounter;
use contexture_tokens::counter_for;

const PAGES: usize = 200;
const PAGE_BYTES: usize = 4_096;
const ROUNDS: usize = 15;

/// Runs this program again, for the first count of a fresh process.
const CHILD: &str = "first-count";

fn main() {
    if std::env::args().any(|argument| argument == CHILD) {
        return println!("{}", first_count());
    }
    let counter = counter_for("gpt-4o");
    let starts: Vec<f64> = (0..7).map(|_| start()).collect();
    println!("first count in a fresh process: {:.0} ms", median(starts));
    println!("{:<22} {:>10} {:>10} {:>7}", "4 KB pages", "raw MB/s", "ours MB/s", "ratio");
    for (name, make) in KINDS {
        let pages: Vec<String> =
            (0..PAGES).map(|page| make(&mut Random::new(page), PAGE_BYTES)).collect();
        compare(name, counter.as_ref(), &pages);
    }
    let long = english(&mut Random::new(1), 1_500_000);
    compare("one text of 1.5 MB", counter.as_ref(), &[long]);
    let run = "a".repeat(50_000);
    compare("50,000 times `a`", counter.as_ref(), &[run]);
}

type Make = fn(&mut Random, usize) -> String;

const KINDS: [(&str, Make); 3] = [("English", english), ("code", code), ("Chinese", chinese)];

fn compare(name: &str, counter: &dyn TokenCounter, texts: &[String]) {
    let library = tiktoken::get_encoding("o200k_base").unwrap();
    let bytes: usize = texts.iter().map(String::len).sum();
    let (mut raw, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let raw_rate = rate(bytes, texts, |text| library.count(text) as u64);
        let our_rate = rate(bytes, texts, |text| counter.count(text).0);
        raw.push(raw_rate);
        ours.push(our_rate);
        ratios.push(our_rate / raw_rate);
    }
    let (raw, ours, ratio) = (median(raw), median(ours), median(ratios));
    println!("{name:<22} {raw:>10.1} {ours:>10.1} {ratio:>7.2}");
}

/// Returns megabytes a second.
fn rate(bytes: usize, texts: &[String], count: impl Fn(&str) -> u64) -> f64 {
    let began = Instant::now();
    for text in texts {
        black_box(count(black_box(text)));
    }
    bytes as f64 / 1e6 / began.elapsed().as_secs_f64()
}

fn start() -> f64 {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).arg(CHILD).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Returns the milliseconds of a first count.
fn first_count() -> f64 {
    let began = Instant::now();
    assert_eq!(counter_for("gpt-4o").count("hello world").0, 2);
    began.elapsed().as_secs_f64() * 1e3
}

fn english(random: &mut Random, bytes: usize) -> String {
    const ENDS: [&str; 8] = [" ", " ", " ", " ", " ", ", ", ". ", ".\n"];
    let mut text = String::with_capacity(bytes + 32);
    while text.len() < bytes {
        text.push_str(random.of(WORDS));
        // Endings make words that no vocabulary holds whole.
        text.push_str(random.of(&["", "", "", "s", "ed", "ing", "ness"]));
        text.push_str(random.of(&ENDS));
    }
    text
}

fn code(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 128);
    while text.len() < bytes {
        let (one, other) = (random.of(WORDS), random.of(WORDS));
        let number = random.below(10_000);
        let line = match random.below(5) {
            0 => format!("fn {one}_{other}(&self, {other}: usize) -> Option<u64> {{\n"),
            1 => format!("    let {one} = self.{other}.get({number})?;\n"),
            2 => format!(
                "    if {one}.len() > {number} && !{other} {{\n        return None;\n    }}\n"
            ),
            3 => format!("    // The {one} is {other} here.\n"),
            _ => format!("    Some({one}.{other}())\n}}\n\n"),
        };
        text.push_str(&line);
    }
    text
}

fn chinese(random: &mut Random, bytes: usize) -> String {
    let letters: Vec<char> = HAN.chars().collect();
    let mut text = String::with_capacity(bytes + 64);
    while text.len() < bytes {
        (0..3 + random.below(14)).for_each(|_| text.push(letters[random.below(letters.len())]));
        text.push_str(random.of(&["，", "，", "。", "、", "。\n"]));
    }
    text
}

const WORDS: &[&str] = &[
    "the",
    "of",
    "and",
    "page",
    "window",
    "token",
    "budget",
    "agent",
    "message",
    "history",
    "model",
    "tree",
    "level",
    "fold",
    "commit",
    "storage",
    "reader",
    "segment",
    "permission",
    "summary",
    "context",
    "revision",
    "because",
    "through",
    "before",
    "written",
    "nothing",
    "every",
    "small",
    "quick",
    "record",
    "careful",
    "provider",
    "request",
    "answer",
    "deterministic",
    "archive",
];

const HAN: &str = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经";

/// Returns the middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

struct Random(u64);

impl Random {
    fn new(seed: usize) -> Self {
        Self(seed as u64 * 2 + 0x9e37_79b9_7f4a_7c15)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % bound as u64) as usize
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}
