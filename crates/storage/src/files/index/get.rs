//! What the index says a file says: enough to write the file again, but for words.

use contexture_core::{
    SessionId,
    storage::{ChunkKey, LedgerQuery},
};
use rusqlite::Connection;

use super::super::{names::Spot, record::Record};
use crate::sqlite::{error::FaultResult, ledger, lookup, read, runs};

/// Returns what the file of a spot says. A page comes without its words; contents are not known here.
pub(crate) fn record(
    db: &Connection,
    key: i64,
    session: &SessionId,
    spot: &Spot,
) -> FaultResult<Option<Record>> {
    Ok(match spot {
        Spot::Head => super::head(db, session)?.map(Record::Head),
        Spot::Segment(id) => {
            let row = lookup::segment(db, key, session, id)?;
            row.and_then(|row| row.segment).map(Record::Segment)
        }
        Spot::Page(index) => {
            let pages = read::pages(db, session, std::slice::from_ref(index))?;
            pages.into_iter().flatten().next().map(|page| Record::Page(page, None))
        }
        Spot::Entry(revision) => lookup::entry(db, key, session, *revision)?.map(Record::Entry),
        Spot::Content(_) => None,
        Spot::View(view) => {
            let mut views = read::views(db, session)?.into_iter();
            views.find(|head| head.view == *view).map(Record::View)
        }
        Spot::Chunk(chunk @ ChunkKey { segment, .. }) => {
            let Some(segment) = lookup::segment_key(db, key, segment)? else { return Ok(None) };
            let levels = lookup::chunk(db, key, segment, chunk)?;
            (!levels.is_empty()).then(|| Record::Chunk(chunk.clone(), levels))
        }
        Spot::Custom => {
            let custom = read::custom(db, session)?;
            (!custom.is_empty()).then(|| Record::Custom(custom.into_iter().collect()))
        }
        Spot::Run(run) => {
            let mut records = runs::read(db, session, run.as_str())?.into_iter();
            records.find(|record| record.key == *run).map(Record::Run)
        }
        Spot::Sent(ledger, number) => {
            let query = LedgerQuery { upto: Some(*number), limit: 1 };
            let mut sent = ledger::read(db, session, ledger, &query)?.into_iter();
            sent.find(|sent| sent.number == *number).map(|sent| Record::Sent(ledger.clone(), sent))
        }
    })
}
