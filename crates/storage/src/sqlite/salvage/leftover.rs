//! What is left of damaged pages when the new file has been repaired: only a page that holds more than the
//! new file is worth keeping. After another program wrote pages, none does.

use std::collections::BTreeSet;

use rusqlite::params_from_iter;

use super::{
    carve::{self, Carved},
    home::{self, Home},
    rescue::{Rescue, is_blank},
};
use crate::sqlite::{error::FaultResult, quarantine};

impl Rescue<'_> {
    /// Puts damaged pages into the quarantine, without those of which everything is in the new file.
    /// Returns how many.
    pub(super) fn keep_leftovers(&mut self) -> FaultResult<usize> {
        let saved = self.saved_pages()?;
        let mut kept = 0;
        for &number in self.damaged.difference(&saved) {
            let page = self.pages.read(number)?;
            if !is_blank(page) {
                quarantine::keep_bytes(self.db, &format!("page {number}"), page)?;
                kept += 1;
            }
        }
        Ok(kept)
    }

    /// Returns the pages whose rows are all in the new file as they were, and those in which such rows
    /// go on. The repair has taken away every row that does not fit its checksum.
    fn saved_pages(&mut self) -> FaultResult<BTreeSet<u64>> {
        let mut saved = BTreeSet::new();
        if self.damaged.is_empty() {
            return Ok(saved);
        }
        for number in 1..=self.pages.count()? {
            let is_damaged = self.damaged.contains(&number);
            let Carved { cells, mut is_all } = carve::page(&mut self.pages, number, self.reserved)?;
            for mut cell in cells {
                let overflow = std::mem::take(&mut cell.overflow);
                if !is_damaged && overflow.iter().all(|page| !self.damaged.contains(page)) {
                    continue;
                }
                let own = self.roots.get(&number).map(String::as_str);
                match self.has(home::find(cell, own))? {
                    true => saved.extend(overflow),
                    false => is_all = false,
                }
            }
            if is_all {
                saved.insert(number);
            }
        }
        Ok(saved)
    }

    /// Tells whether a row is in the new file as it was.
    fn has(&self, row: Option<Home>) -> FaultResult<bool> {
        let (table, columns, values) = match row {
            None => return Ok(false),
            Some(Home::Derived) => return Ok(true),
            // It has no checksum.
            Some(Home::Table("quarantine", _)) => return Ok(false),
            Some(Home::Table(table, values)) => {
                let query = self.db.prepare_cached(&format!("SELECT * FROM {table}"))?;
                let columns = query.column_names().map(str::to_owned).collect();
                (table, columns, values)
            }
            Some(Home::SessionName(name, key)) => (
                "sessions",
                vec!["name".to_owned(), "id".to_owned()],
                vec![name.into(), key.into()],
            ),
            Some(Home::SegmentName(session, name, key)) => (
                "segments",
                vec!["session".to_owned(), "name".to_owned(), "id".to_owned()],
                vec![session.into(), name.into(), key.into()],
            ),
        };
        let equal: Vec<String> = columns.iter().map(|name| format!("{name} IS ?")).collect();
        let sql = format!("SELECT 1 FROM {table} WHERE {}", equal.join(" AND "));
        Ok(self.db.prepare_cached(&sql)?.exists(params_from_iter(values))?)
    }
}
