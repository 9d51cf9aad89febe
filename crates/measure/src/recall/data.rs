//! Reading conversations with questions: a folder for each set, a conversation a line.

use std::{io::BufRead, path::Path};

use anyhow::{Context, Result, bail};
use contexture_core::Timestamp;
use serde::Deserialize;

use crate::data::{files, open};

/// The sets, in the order of the table.
const SETS: [&str; 7] = [
    "locomo",
    "realtalk",
    "longmemeval_sample",
    "madial_en",
    "madial_zh",
    "memorybank_zh",
    "memdaily_zh_pool",
];

#[derive(Debug, Deserialize)]
pub(super) struct Conversation {
    pub(super) dataset: String,
    pub(super) turns: Vec<Turn>,
    pub(super) questions: Vec<Question>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) speaker: String,
    pub(super) text: String,
    pub(super) date: String,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) image_caption: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Question {
    pub(super) qid: String,
    pub(super) question: String,
    #[serde(default)]
    pub(super) evidence: Vec<String>,
    #[serde(default)]
    pub(super) evidence_sessions: Vec<String>,
}

impl Conversation {
    /// Tells whether only the sessions are known that answer its questions.
    pub(super) fn is_by_session(&self) -> bool {
        self.dataset.starts_with("longmemeval")
    }
}

impl Turn {
    /// Returns when it was said, in any of the spellings of the sets.
    pub(super) fn at(&self) -> Result<Timestamp> {
        let numbers: Vec<i64> = self
            .date
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|piece| piece.parse().ok())
            .collect();
        let lower = self.date.to_lowercase();
        let month = MONTHS.iter().position(|month| lower.contains(month));
        let (year, month, day, time) = match (month, numbers.as_slice()) {
            // 1:56 pm on 8 May, 2023
            (Some(month), [hour, minute, day, year, ..]) => {
                let half = if lower.contains("pm") { 12 } else { 0 };
                (*year, month as i64 + 1, *day, (hour % 12 + half) * 60 + minute)
            }
            // 2023-04-27, 2023/07/12 (Wed) 10:14, 2024年04月01日 周一 08:47
            (None, [year, month, day, time @ ..]) if *year > 31 => {
                (*year, *month, *day, minutes(time))
            }
            // 29.12.2023, 22:42:04
            (None, [day, month, year, time @ ..]) => (*year, *month, *day, minutes(time)),
            _ => bail!("cannot read the date '{}'", self.date),
        };
        let (hour, minute) = (time / 60, time % 60);
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z");
        text.parse().with_context(|| format!("cannot read the date '{}'", self.date))
    }

    /// Returns what was said, with what a picture shows.
    pub(super) fn said(&self) -> String {
        match &self.image_caption {
            Some(caption) if !caption.is_empty() => format!("{} [image: {caption}]", self.text),
            _ => self.text.clone(),
        }
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

fn minutes(time: &[i64]) -> i64 {
    match time {
        [hour, minute, ..] => hour * 60 + minute,
        _ => 0,
    }
}

/// Returns the sets of a folder, or those of them that are asked for.
pub(super) fn sets(folder: &Path, wanted: &[String]) -> Result<Vec<String>> {
    let is_there = |set: &&str| folder.join(set).is_dir();
    let is_wanted = |set: &&str| wanted.is_empty() || wanted.iter().any(|name| name == set);
    let sets: Vec<String> =
        SETS.iter().copied().filter(is_there).filter(is_wanted).map(str::to_owned).collect();
    if sets.is_empty() {
        bail!("no set of conversations in {}", folder.display());
    }
    Ok(sets)
}

/// Reads the conversations of a set.
pub(super) fn read(folder: &Path, set: &str) -> Result<Vec<Conversation>> {
    let mut conversations = Vec::new();
    for path in files(&folder.join(set))? {
        for line in open(&path)?.lines() {
            let line = line?;
            if !line.trim().is_empty() {
                let read = serde_json::from_str(&line);
                conversations.push(read.with_context(|| format!("in {}", path.display()))?);
            }
        }
    }
    Ok(conversations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_all_spellings() {
        let at = |date: &str| {
            let turn = Turn {
                id: String::new(),
                session: String::new(),
                speaker: String::new(),
                text: String::new(),
                date: date.to_owned(),
                role: None,
                image_caption: None,
            };
            turn.at().expect("a date").to_string()
        };
        assert_eq!(at("1:56 pm on 8 May, 2023"), "2023-05-08T13:56:00Z");
        assert_eq!(at("12:09 am on 13 September, 2023"), "2023-09-13T00:09:00Z");
        assert_eq!(at("29.12.2023, 22:42:04"), "2023-12-29T22:42:00Z");
        assert_eq!(at("2023/07/12 (Wed) 10:14"), "2023-07-12T10:14:00Z");
        assert_eq!(at("2024年04月01日 周一 08:47"), "2024-04-01T08:47:00Z");
        assert_eq!(at("2022-01-18"), "2022-01-18T00:00:00Z");
    }
}
