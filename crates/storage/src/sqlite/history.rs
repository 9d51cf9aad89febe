//! History: entries are appended, and changed afterwards only by an undo's mark or a purge.

use std::collections::{BTreeMap, HashMap};

use contexture_core::{
    HistoryEntry, PageIndex, Revision, SessionId,
    storage::{Change, ContentHash, HistoryQuery, Order},
};
use rusqlite::{Connection, Row, params};

use super::{
    error::{FaultResult, integer, limit},
    heads::Head,
    lookup,
    read::collect,
    rows::HistoryRow,
};

/// Writes an entry anew.
pub(crate) fn rewrite(db: &Connection, session: i64, entry: &HistoryEntry) -> FaultResult<()> {
    let row = HistoryRow::of(entry);
    db.prepare_cached(
        "UPDATE history SET undoable = ?3, raw = ?4, data = ?5, checksum = ?6
         WHERE session = ?1 AND revision = ?2",
    )?
    .execute(params![
        session,
        integer(entry.revision.0, "revision")?,
        row.undoable,
        row.packed.raw,
        row.stored(),
        row.checksum(session),
    ])?;
    Ok(())
}

/// Appends an entry.
pub(crate) fn append(db: &Connection, session: i64, entry: &HistoryEntry) -> FaultResult<()> {
    let row = HistoryRow::of(entry);
    db.prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(
        params![
            session,
            integer(entry.revision.0, "revision")?,
            row.actor,
            row.undoable,
            row.packed.raw,
            row.stored(),
            row.checksum(session),
        ],
    )?;
    Ok(())
}

/// Reads entries.
pub(crate) fn read(
    db: &Connection,
    session: &SessionId,
    query: &HistoryQuery,
) -> FaultResult<Vec<HistoryEntry>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let number = |revision: Revision| i64::try_from(revision.0).unwrap_or(i64::MAX);
    let before = query.before.map_or(i64::MAX, number);
    let after = query.after.map_or(-1, number);
    let most = limit(query.limit);
    let order = match query.order {
        Order::Forward => "ASC",
        Order::Backward => "DESC",
    };
    let of = |filter: &str| {
        let columns = HistoryRow::COLUMNS;
        format!(
            "SELECT {columns} FROM history
             WHERE session = ?1 AND revision < ?2 AND revision > ?3 {filter}
             ORDER BY revision {order} LIMIT ?4"
        )
    };
    let entry = |row: &Row<'_>| HistoryRow::read(row, key, session);
    let Some(actor) = &query.actor else {
        let sql = of(if query.undoable { "AND undoable = 1" } else { "" });
        return collect(db, &sql, [key, before, after, most], entry);
    };
    let open = of("AND actor = ?5 AND undoable = 1");
    let closed = of("AND actor = ?5 AND undoable = 0");
    let sql = if query.undoable {
        open
    } else {
        format!(
            "SELECT * FROM ({open}) UNION ALL SELECT * FROM ({closed})
             ORDER BY revision {order} LIMIT ?4"
        )
    };
    collect(db, &sql, params![key, before, after, most, actor.to_string()], entry)
}

/// Scrubs what a change purges from earlier entries, and sets its marks on them.
///
/// Returns how many references to which contents that frees.
pub(crate) fn amend(
    db: &Connection,
    head: &Head,
    change: &Change,
    revision: Revision,
) -> FaultResult<BTreeMap<ContentHash, i64>> {
    let mut entries = Entries { db, head, loaded: BTreeMap::new() };
    let mut freed = BTreeMap::new();
    for delta in change.pages.iter().filter(|_| change.purge) {
        let mut next = delta.previous;
        while let Some(revision) = next {
            let Some(entry) = entries.load(revision)? else { break };
            let Some(&position) = entry.positions().get(&delta.index) else { break };
            let before = &mut entry.entry.inverse.pages[position];
            next = before.previous;
            if let Some(hash) = before.scrub() {
                *freed.entry(hash).or_default() += 1;
            }
        }
    }
    for mark in &change.marks {
        if let Some(entry) = entries.load(mark.revision)? {
            entry.entry.mark(mark, revision);
        }
    }
    entries.write()?;
    Ok(freed)
}

/// Entries being changed, each loaded and written once however many pages it names.
struct Entries<'a> {
    db: &'a Connection,
    head: &'a Head,
    loaded: BTreeMap<Revision, Loaded>,
}

struct Loaded {
    entry: HistoryEntry,
    /// Where its inverse holds which page, once asked for.
    positions: Option<HashMap<PageIndex, usize>>,
}

impl Loaded {
    fn positions(&mut self) -> &HashMap<PageIndex, usize> {
        let inverse = &self.entry.inverse;
        self.positions.get_or_insert_with(|| inverse.positions())
    }
}

impl Entries<'_> {
    fn load(&mut self, revision: Revision) -> FaultResult<Option<&mut Loaded>> {
        if !self.loaded.contains_key(&revision) {
            let head = self.head;
            let Some(entry) = lookup::entry(self.db, head.key, &head.info.id, revision)? else {
                return Ok(None);
            };
            self.loaded.insert(revision, Loaded { entry, positions: None });
        }
        Ok(self.loaded.get_mut(&revision))
    }

    fn write(&self) -> FaultResult<()> {
        self.loaded
            .values()
            .try_for_each(|Loaded { entry, .. }| rewrite(self.db, self.head.key, entry))
    }
}
