//! Ledgers: windows sent, each a row. Records are appended, and changed afterwards only by what a
//! provider reports or by a purge.

use contexture_core::{
    SessionId,
    storage::{LedgerKey, LedgerQuery, SentWindow, StorageError, UsageReport},
};
use rusqlite::{Connection, Row, params};

use crate::packing::{Packed, checksum, unpack};

use super::{
    commit::Refusal,
    error::{Fault, FaultResult, integer, limit},
    heads::{Head, Heads},
    lookup,
    read::collect,
    rows::{fits, session_name},
};

/// A record as it is stored, but for its session.
pub(crate) struct SentRow {
    view: String,
    format: String,
    number: i64,
    packed: Packed,
    data: Vec<u8>,
}

impl SentRow {
    pub(crate) const COLUMNS: &str = "view, format, number, raw, data, checksum";

    /// Small records are written with every window, and compressing them takes the caller's time.
    const PACKED_FROM: usize = 4_096;

    pub(crate) fn of(key: &LedgerKey, sent: &SentWindow) -> FaultResult<Self> {
        let data = serde_json::to_vec(sent).expect("a record has only string keys");
        Ok(Self {
            view: key.view.to_string(),
            format: key.format.to_string(),
            number: integer(sent.number, "window")?,
            packed: Packed::new(&data, Self::PACKED_FROM),
            data,
        })
    }

    fn stored(&self) -> &[u8] {
        self.packed.stored(&self.data)
    }

    fn checksum(session: i64, view: &str, format: &str, number: i64, stored: &[u8]) -> [u8; 16] {
        let (session, number) = (session.to_le_bytes(), number.to_le_bytes());
        checksum(&[&session, view.as_bytes(), format.as_bytes(), &number, stored])
    }

    /// Writes the row, in place of the one there is.
    pub(crate) fn write(&self, db: &Connection, session: i64) -> FaultResult<()> {
        let (view, format, number) = (self.view.as_str(), self.format.as_str(), self.number);
        db.prepare_cached(
            "INSERT INTO ledger (session, view, format, number, raw, data, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (session, view, format, number) DO UPDATE SET
                 raw = excluded.raw, data = excluded.data, checksum = excluded.checksum",
        )?
        .execute(params![
            session,
            view,
            format,
            number,
            self.packed.raw,
            self.stored(),
            Self::checksum(session, view, format, number, self.stored()),
        ])?;
        Ok(())
    }

    pub(crate) fn read(
        row: &Row<'_>,
        session: i64,
        session_id: &SessionId,
    ) -> FaultResult<SentWindow> {
        let view = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        let format = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let number: i64 = row.get(2)?;
        let corrupt = |reason: &str| {
            let ledger = format!("the {format} ledger of view {view}");
            let session = session_name(session_id);
            Fault::corrupt(format!("window {number} in {ledger} of {session}"), reason)
        };
        let data = row.get_ref(4)?.as_blob().map_err(|_| corrupt("its data is missing"))?;
        if !fits(row, 5, Self::checksum(session, view, format, number, data))? {
            return Err(corrupt("its checksum does not match"));
        }
        let data = unpack(row.get(3)?, data).map_err(|reason| corrupt(&reason))?;
        let sent: SentWindow =
            serde_json::from_slice(&data).map_err(|error| corrupt(&error.to_string()))?;
        if u64::try_from(number) != Ok(sent.number) {
            return Err(corrupt("it is stored under another number"));
        }
        Ok(sent)
    }
}

/// A record to be appended. The caller's thread has packed it.
pub(crate) struct Record {
    pub(crate) session: SessionId,
    pub(crate) key: LedgerKey,
    pub(crate) row: SentRow,
}

/// Reads records, newest first.
pub(crate) fn read(
    db: &Connection,
    session: &SessionId,
    key: &LedgerKey,
    query: &LedgerQuery,
) -> FaultResult<Vec<SentWindow>> {
    let Some(session_key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let columns = SentRow::COLUMNS;
    let sql = format!(
        "SELECT {columns} FROM ledger
         WHERE session = ?1 AND view = ?2 AND format = ?3 AND number <= ?4
         ORDER BY number DESC LIMIT ?5"
    );
    let upto = query.upto.map_or(i64::MAX, |upto| i64::try_from(upto).unwrap_or(i64::MAX));
    let (view, format) = (key.view.to_string(), key.format.as_str());
    let params = params![session_key, view, format, upto, limit(query.limit)];
    collect(db, &sql, params, |row| SentRow::read(row, session_key, session))
}

/// Lists a session's ledgers, in order.
pub(crate) fn keys(db: &Connection, session: &SessionId) -> FaultResult<Vec<LedgerKey>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let sql = "SELECT DISTINCT view, format FROM ledger WHERE session = ?1";
    let mut keys = collect(db, sql, [key], |row| {
        let (view, format): (String, String) = (row.get(0)?, row.get(1)?);
        let what = format!("the {format} ledger of view {view}");
        let view = view.parse().map_err(|error| Fault::corrupt(&what, error))?;
        let format = format.parse().map_err(|error| Fault::corrupt(&what, error))?;
        Ok(LedgerKey { view, format })
    })?;
    keys.sort();
    Ok(keys)
}

/// Appends a record.
pub(crate) fn append(db: &Connection, heads: &mut Heads, record: &Record) -> Result<(), Refusal> {
    let session = next(db, heads, record).map_err(Refusal::Before)?;
    record.row.write(db, session).map_err(Refusal::Midway)
}

/// Returns the session's key if the record's number is the next one.
fn next(db: &Connection, heads: &mut Heads, record: &Record) -> FaultResult<i64> {
    let Record { session, key, row } = record;
    let Some(head) = heads.session(db, session)? else {
        return Err(StorageError::SessionMissing { session: session.clone() }.into());
    };
    let last: Option<i64> = db
        .prepare_cached(
            "SELECT max(number) FROM ledger WHERE session = ?1 AND view = ?2 AND format = ?3",
        )?
        .query_row(params![head.key, row.view, row.format], |row| row.get(0))?;
    if last.unwrap_or(0).checked_add(1) != Some(row.number) {
        let subject = format!("the {} ledger of view {}", key.format, key.view);
        return Err(StorageError::Conflict { subject }.into());
    }
    Ok(head.key)
}

/// Returns the row as a report leaves it; none where there is no such row.
pub(crate) fn reported(
    db: &Connection,
    session: &SessionId,
    report: &UsageReport,
) -> FaultResult<Option<SentRow>> {
    let query = LedgerQuery { upto: Some(report.number), limit: 1 };
    let found = read(db, session, &report.ledger, &query)?.into_iter().next();
    let Some(mut sent) = found.filter(|sent| sent.number == report.number) else {
        return Ok(None);
    };
    sent.usage = Some(report.usage.clone());
    SentRow::of(&report.ledger, &sent).map(Some)
}

/// Scrubs every record of a session.
pub(crate) fn scrub(db: &Connection, head: &Head) -> FaultResult<()> {
    let session = head.key;
    let sql = "SELECT view, format, number FROM ledger WHERE session = ?1";
    let keys = collect(db, sql, [session], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
    })?;
    let columns = SentRow::COLUMNS;
    let sql = format!(
        "SELECT {columns} FROM ledger
         WHERE session = ?1 AND view = ?2 AND format = ?3 AND number = ?4"
    );
    // One by one: what a ledger holds may be more than fits in memory.
    for (view, format, number) in keys {
        let read = |row: &Row<'_>| SentRow::read(row, session, &head.info.id);
        for mut sent in collect(db, &sql, params![session, view, format, number], read)? {
            sent.scrub();
            let data = serde_json::to_vec(&sent).expect("a record has only string keys");
            let packed = Packed::new(&data, SentRow::PACKED_FROM);
            let (view, format) = (view.clone(), format.clone());
            SentRow { view, format, number, packed, data }.write(db, session)?;
        }
    }
    Ok(())
}
