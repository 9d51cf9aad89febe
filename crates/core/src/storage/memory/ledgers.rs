//! The ledgers of a session in memory.

use std::collections::BTreeMap;

use crate::storage::{
    LedgerKey, LedgerQuery, SentWindow, StorageError, StorageResult, UsageReport,
};

/// The records of a session's ledgers.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledgers(BTreeMap<LedgerKey, BTreeMap<u64, SentWindow>>);

impl Ledgers {
    pub(super) fn keys(&self) -> Vec<LedgerKey> {
        self.0.keys().cloned().collect()
    }

    pub(super) fn read(&self, key: &LedgerKey, query: &LedgerQuery) -> Vec<SentWindow> {
        let Some(records) = self.0.get(key) else { return Vec::new() };
        let upto = query.upto.unwrap_or(u64::MAX);
        records.range(..=upto).rev().take(query.limit).map(|(_, sent)| sent.clone()).collect()
    }

    pub(super) fn record(&mut self, key: &LedgerKey, sent: &SentWindow) -> StorageResult<()> {
        let records = self.0.entry(key.clone()).or_default();
        let next = records.last_key_value().map_or(1, |(number, _)| number + 1);
        if sent.number != next {
            let subject = format!("the {} ledger of view {}", key.format, key.view);
            return Err(StorageError::Conflict { subject });
        }
        records.insert(sent.number, sent.clone());
        Ok(())
    }

    /// Puts records as they are.
    pub(super) fn import(&mut self, key: LedgerKey, records: Vec<SentWindow>) {
        let numbered = records.into_iter().map(|sent| (sent.number, sent));
        self.0.entry(key).or_default().extend(numbered);
    }

    pub(super) fn report(&mut self, report: &UsageReport) -> bool {
        let records = self.0.get_mut(&report.ledger);
        let Some(sent) = records.and_then(|records| records.get_mut(&report.number)) else {
            return false;
        };
        sent.usage = Some(report.usage.clone());
        true
    }

    pub(super) fn scrub(&mut self) {
        self.0.values_mut().flat_map(BTreeMap::values_mut).for_each(SentWindow::scrub);
    }
}
