//! Reads: each one statement, so that each sees one moment; each bounded by its limit, each verified
//! row by row. A session that is not there has no key, and so no rows.

use std::collections::HashMap;

use contexture_core::{
    HistoryEntry, Page, PageIndex, Revision, Segment, SessionId, Tokens,
    storage::{
        ChunkKey, Content, ContentHash, CountKey, CustomKey, HistoryQuery, LedgerKey, LedgerQuery,
        LevelChunk, Order, RunRecord, SentWindow, SessionInfo, ViewHead,
    },
};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::{Row, types::ToSql};

use super::{
    error::{FaultResult, limit, natural},
    rows::{self, CONTENT, CUSTOM, HistoryRow, RUN, SEGMENT, SentRow, SessionRow, VIEW},
};

/// The key of the session whose name is the first parameter.
pub(crate) const OF: &str = "(SELECT s.id FROM contexture_sessions AS s WHERE s.name = $1)";

/// Asks a question; its statement is prepared once for each connection.
pub(crate) async fn ask(
    db: &ClientWrapper,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> FaultResult<Vec<Row>> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query(&statement, values).await?)
}

/// Tells whether repairs have set nothing aside.
pub(crate) async fn is_quarantine_empty(db: &ClientWrapper) -> FaultResult<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM contexture_quarantine)";
    Ok(ask(db, sql, &[]).await?.first().map_or(Ok(true), |row| row.try_get(0))?)
}

pub(crate) async fn sessions(
    db: &ClientWrapper,
    after: &Option<SessionId>,
    most: &usize,
) -> FaultResult<Vec<SessionInfo>> {
    // Names with ~ come after all others and are no session's.
    let sql = format!(
        "SELECT {} FROM contexture_sessions AS t WHERE t.name > $1 AND t.name < '~'
         ORDER BY t.name LIMIT $2",
        SessionRow::COLUMNS
    );
    let after = after.as_ref().map_or("", SessionId::as_str);
    let found = ask(db, &sql, &[&after, &limit(*most)]).await?;
    found.iter().map(|row| Ok(SessionRow::read(row)?.info)).collect()
}

pub(crate) async fn session(
    db: &ClientWrapper,
    id: &SessionId,
) -> FaultResult<Option<SessionInfo>> {
    let columns = SessionRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM contexture_sessions AS t WHERE t.name = $1");
    let found = ask(db, &sql, &[&id.as_str()]).await?;
    found.first().map(|row| Ok(SessionRow::read(row)?.info)).transpose()
}

pub(crate) async fn segments(db: &ClientWrapper, session: &SessionId) -> FaultResult<Vec<Segment>> {
    let sql = format!(
        "SELECT {SEGMENT} FROM contexture_segments AS t WHERE t.session = {OF} ORDER BY t.name"
    );
    let found = ask(db, &sql, &[&session.as_str()]).await?;
    let segments: FaultResult<Vec<Segment>> =
        found.iter().map(|row| rows::read_segment(row, session)).collect();
    let mut segments = segments?;
    segments.sort_by(Segment::in_order);
    Ok(segments)
}

pub(crate) async fn pages(
    db: &ClientWrapper,
    session: &SessionId,
    indices: &[PageIndex],
) -> FaultResult<Vec<Option<Page>>> {
    let found = super::fetch::pages(db, session, indices.iter()).await?;
    let mut by_index: HashMap<&PageIndex, &Page> = HashMap::with_capacity(found.len());
    by_index.extend(found.iter().map(|page| (&page.index, page)));
    Ok(indices.iter().map(|index| by_index.get(index).copied().cloned()).collect())
}

pub(crate) async fn contents(
    db: &ClientWrapper,
    session: &SessionId,
    hashes: &[ContentHash],
) -> FaultResult<Vec<Option<Content>>> {
    let sql = format!(
        "SELECT {CONTENT} FROM contexture_contents AS t
         WHERE t.session = {OF} AND t.hash = ANY($2::bytea[])"
    );
    let wanted: Vec<&[u8]> = hashes.iter().map(|hash| &hash.as_bytes()[..]).collect();
    let found = ask(db, &sql, &[&session.as_str(), &wanted]).await?;
    let mut by_hash = HashMap::with_capacity(found.len());
    for row in &found {
        let content = rows::read_content(row)?;
        by_hash.insert(content.hash(), content);
    }
    Ok(hashes.iter().map(|hash| by_hash.get(hash).cloned()).collect())
}

pub(crate) async fn levels(
    db: &ClientWrapper,
    session: &SessionId,
    keys: &[ChunkKey],
) -> FaultResult<Vec<LevelChunk>> {
    let found: HashMap<ChunkKey, LevelChunk> =
        super::fetch::chunks(db, session, keys.iter()).await?.into_iter().collect();
    Ok(keys.iter().map(|key| found.get(key).cloned().unwrap_or_default()).collect())
}

pub(crate) async fn level_keys(
    db: &ClientWrapper,
    session: &SessionId,
) -> FaultResult<Vec<ChunkKey>> {
    let sql = format!(
        "SELECT t.view_id, t.segment, t.chunk FROM contexture_levels AS t WHERE t.session = {OF}"
    );
    let found = ask(db, &sql, &[&session.as_str()]).await?;
    let keys: FaultResult<Vec<ChunkKey>> = found.iter().map(rows::read_chunk_key).collect();
    let mut keys = keys?;
    keys.sort();
    Ok(keys)
}

pub(crate) async fn views(db: &ClientWrapper, session: &SessionId) -> FaultResult<Vec<ViewHead>> {
    let sql = format!(
        "SELECT {VIEW} FROM contexture_views AS t
         LEFT JOIN contexture_focus AS f ON f.session = t.session AND f.view_id = t.view_id
         WHERE t.session = {OF}"
    );
    let found = ask(db, &sql, &[&session.as_str()]).await?;
    let views: FaultResult<Vec<ViewHead>> =
        found.iter().map(|row| rows::read_view(row, session)).collect();
    let mut views = views?;
    views.sort_by(|one, other| one.view.cmp(&other.view));
    Ok(views)
}

pub(crate) async fn custom(
    db: &ClientWrapper,
    session: &SessionId,
) -> FaultResult<Vec<(CustomKey, String)>> {
    let sql = format!(
        "SELECT {CUSTOM} FROM contexture_custom AS t WHERE t.session = {OF} ORDER BY t.name"
    );
    let found = ask(db, &sql, &[&session.as_str()]).await?;
    found.iter().map(|row| rows::read_custom(row, session)).collect()
}

pub(crate) async fn history(
    db: &ClientWrapper,
    session: &SessionId,
    query: &HistoryQuery,
) -> FaultResult<Vec<HistoryEntry>> {
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
            "SELECT {columns} FROM contexture_history AS t
             WHERE t.session = {OF} AND t.revision < $2 AND t.revision > $3 {filter}
             ORDER BY t.revision {order} LIMIT $4"
        )
    };
    let name = session.as_str();
    let found = match &query.actor {
        None => {
            let sql = of(if query.undoable { "AND t.undoable" } else { "" });
            ask(db, &sql, &[&name, &before, &after, &most]).await?
        }
        Some(actor) => {
            // Apart, because each is then read from its end of the index.
            let open = of("AND t.actor = $5 AND t.undoable = TRUE");
            let closed = of("AND t.actor = $5 AND t.undoable = FALSE");
            let sql = if query.undoable {
                open
            } else {
                format!("({open}) UNION ALL ({closed}) ORDER BY revision {order} LIMIT $4")
            };
            ask(db, &sql, &[&name, &before, &after, &most, &actor.to_string()]).await?
        }
    };
    found.iter().map(|row| HistoryRow::read(row, session)).collect()
}

pub(crate) async fn runs(
    db: &ClientWrapper,
    session: &SessionId,
    prefix: &str,
) -> FaultResult<Vec<RunRecord>> {
    // No key holds it, and PostgreSQL takes no text with it.
    if prefix.contains('\0') {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT {RUN} FROM contexture_runs AS t
         WHERE t.session = {OF} AND t.name >= $2 AND left(t.name, char_length($2)) = $2
         ORDER BY t.name"
    );
    let found = ask(db, &sql, &[&session.as_str(), &prefix]).await?;
    found.iter().map(|row| rows::read_run(row, session)).collect()
}

pub(crate) async fn ledgers(
    db: &ClientWrapper,
    session: &SessionId,
) -> FaultResult<Vec<LedgerKey>> {
    let sql = format!(
        "SELECT DISTINCT t.view_id, t.format FROM contexture_ledger AS t WHERE t.session = {OF}"
    );
    let found = ask(db, &sql, &[&session.as_str()]).await?;
    let keys: FaultResult<Vec<LedgerKey>> = found.iter().map(rows::read_ledger_key).collect();
    let mut keys = keys?;
    keys.sort();
    Ok(keys)
}

pub(crate) async fn ledger(
    db: &ClientWrapper,
    session: &SessionId,
    key: &LedgerKey,
    query: &LedgerQuery,
) -> FaultResult<Vec<SentWindow>> {
    let sql = format!(
        "SELECT {} FROM contexture_ledger AS t
         WHERE t.session = {OF} AND t.view_id = $2 AND t.format = $3 AND t.number <= $4
         ORDER BY t.number DESC LIMIT $5",
        SentRow::COLUMNS
    );
    let upto = query.upto.map_or(i64::MAX, |upto| i64::try_from(upto).unwrap_or(i64::MAX));
    let (view, format) = (key.view.to_string(), key.format.as_str());
    let values: &[&(dyn ToSql + Sync)] =
        &[&session.as_str(), &view, &format, &upto, &limit(query.limit)];
    let found = ask(db, &sql, values).await?;
    found.iter().map(|row| Ok(SentRow::read(row, session)?.1)).collect()
}

pub(crate) async fn counts(
    db: &ClientWrapper,
    keys: &[CountKey],
) -> FaultResult<Vec<Option<Tokens>>> {
    let sql = "SELECT t.hash, t.tokens FROM contexture_counts AS t
               WHERE t.hash = ANY($1::bytea[])";
    let wanted: Vec<&[u8]> = keys.iter().map(|key| &key.0[..]).collect();
    let found = ask(db, sql, &[&wanted]).await?;
    let mut by_key: HashMap<&[u8], Tokens> = HashMap::with_capacity(found.len());
    for row in &found {
        by_key.insert(row.try_get(0)?, Tokens(natural(row.try_get(1)?, "a token count")?));
    }
    Ok(keys.iter().map(|key| by_key.get(&key.0[..]).copied()).collect())
}
