//! Reads: each in one transaction, each bounded by its limit, each verified row by row.

use std::collections::HashMap;

use contexture_core::{
    Actor, Page, PageIndex, Segment, SegmentId, SessionId,
    storage::{
        ChildQuery, ChunkKey, Content, ContentHash, CustomKey, LevelChunk, Order, Place, ScanQuery,
        SessionInfo, StandingFilter, ViewHead, ViewId,
    },
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::{
    contents,
    error::{Fault, FaultResult, limit, natural},
    import::STAGED,
    lookup,
    rows::{self, PAGE_COLUMNS, PageColumns, PageHome, SegmentRow, SessionRow, ViewRow},
};

pub(crate) fn sessions(
    db: &Connection,
    after: Option<&SessionId>,
    most: usize,
) -> FaultResult<Vec<SessionInfo>> {
    let columns = SessionRow::COLUMNS;
    // What is still being taken over has names beyond all others.
    let sql = format!(
        "SELECT {columns} FROM sessions WHERE name > ?1 AND name < ?3 ORDER BY name LIMIT ?2"
    );
    let after = after.map_or("", SessionId::as_str);
    collect(db, &sql, params![after, limit(most), STAGED], |row| Ok(SessionRow::read(row)?.info))
}

pub(crate) fn session(db: &Connection, id: &SessionId) -> FaultResult<Option<SessionInfo>> {
    Ok(lookup::session(db, id)?.map(|row| row.info))
}

pub(crate) fn segments(db: &Connection, session: &SessionId) -> FaultResult<Vec<Segment>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let columns = SegmentRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM segments WHERE session = ?1 ORDER BY name");
    let rows = collect(db, &sql, [key], |row| SegmentRow::read(row, key, session))?;
    let mut segments: Vec<Segment> = rows.into_iter().filter_map(|row| row.segment).collect();
    segments.sort_by(Segment::in_order);
    Ok(segments)
}

pub(crate) fn pages(
    db: &Connection,
    session: &SessionId,
    indices: &[PageIndex],
) -> FaultResult<Vec<Option<Page>>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(vec![None; indices.len()]) };
    let mut segments: HashMap<&SegmentId, Option<i64>> = HashMap::new();
    let sql = format!("SELECT {PAGE_COLUMNS} FROM pages WHERE segment = ?1 AND number = ?2");
    let mut query = db.prepare_cached(&sql)?;
    let mut pages = Vec::with_capacity(indices.len());
    for index in indices {
        let segment = index.segment();
        if !segments.contains_key(segment) {
            segments.insert(segment, lookup::segment_key(db, key, segment)?);
        }
        // A number that SQLite cannot hold is no page's.
        let (Some(key), Ok(number)) = (segments[segment], i64::try_from(index.number())) else {
            pages.push(None);
            continue;
        };
        let mut rows = query.query([key, number])?;
        let home = PageHome { session, segment, key };
        pages.push(rows.next()?.map(|row| rows::read_page(row, home)).transpose()?);
    }
    Ok(pages)
}

pub(crate) fn children(
    db: &Connection,
    session: &SessionId,
    query: &ChildQuery,
) -> FaultResult<Vec<Page>> {
    let Some((home, number)) = directory(db, session, &query.parent)? else {
        return Ok(Vec::new());
    };
    let (beyond, order) = match query.order {
        Order::Forward => ("place > ?3", "ASC"),
        Order::Backward => ("place < ?3", "DESC"),
    };
    let after = match (query.after, query.order) {
        // Places are far below the largest number, so what is clamped is still beyond all of them.
        (Some(place), _) => i64::try_from(place.0).unwrap_or(i64::MAX),
        (None, Order::Forward) => -1,
        (None, Order::Backward) => i64::MAX,
    };
    let of = |standing: i64| {
        format!(
            "SELECT {PAGE_COLUMNS} FROM pages
             WHERE segment = ?1 AND parent = ?2 AND standing = {standing} AND {beyond}
             ORDER BY place {order} LIMIT ?4"
        )
    };
    let sql = match query.standing {
        StandingFilter::Listed => of(PageColumns::LISTED),
        StandingFilter::ColdArchived => of(PageColumns::COLD_ARCHIVED),
        StandingFilter::Any => {
            let (listed, cold) = (of(PageColumns::LISTED), of(PageColumns::COLD_ARCHIVED));
            let moved = of(PageColumns::MOVED);
            format!(
                "SELECT * FROM ({listed}) UNION ALL SELECT * FROM ({cold})
                 UNION ALL SELECT * FROM ({moved}) ORDER BY place {order} LIMIT ?4"
            )
        }
    };
    let params = [home.key, number, after, limit(query.limit)];
    collect(db, &sql, params, |row| rows::read_page(row, home))
}

pub(crate) fn child_count(
    db: &Connection,
    session: &SessionId,
    parent: &PageIndex,
) -> FaultResult<u64> {
    let Some((home, number)) = directory(db, session, parent)? else { return Ok(0) };
    let count = db
        .prepare_cached("SELECT listed FROM directories WHERE segment = ?1 AND number = ?2")?
        .query_row([home.key, number], |row| row.get(0))
        .optional()?;
    natural(count.unwrap_or(0), format!("the count of pages in {parent}"))
}

pub(crate) fn last_place(
    db: &Connection,
    session: &SessionId,
    parent: &PageIndex,
) -> FaultResult<Option<Place>> {
    let Some((home, number)) = directory(db, session, parent)? else { return Ok(None) };
    let place = lookup::last_place(db, (home.key, number))?;
    let place = place.map(|place| natural(place, format!("the last place in {parent}")));
    Ok(place.transpose()?.map(Place))
}

pub(crate) fn scan(
    db: &Connection,
    session: &SessionId,
    query: &ScanQuery,
) -> FaultResult<Vec<Page>> {
    let Some(home) = home(db, session, &query.segment)? else { return Ok(Vec::new()) };
    let standing = match query.standing {
        StandingFilter::Listed => "AND standing = 0",
        // The first half leads SQLite to the index of unlisted pages.
        StandingFilter::ColdArchived => "AND standing <> 0 AND standing = 1",
        StandingFilter::Any => "",
    };
    let sql = format!(
        "SELECT {PAGE_COLUMNS} FROM pages
         WHERE segment = ?1 AND number > ?2 {standing} ORDER BY number LIMIT ?3"
    );
    let after = query.after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
    let params = [home.key, after, limit(query.limit)];
    collect(db, &sql, params, |row| rows::read_page(row, home))
}

pub(crate) fn last_turn_page(
    db: &Connection,
    session: &SessionId,
    segment: &SegmentId,
    author: &Actor,
) -> FaultResult<Option<Page>> {
    let Some(home) = home(db, session, segment)? else { return Ok(None) };
    let sql = format!(
        "SELECT {PAGE_COLUMNS} FROM pages
         WHERE segment = ?1 AND turn_author = ?2 AND standing = 0 ORDER BY place DESC LIMIT 1"
    );
    let author = author.to_string();
    let pages = collect(db, &sql, params![home.key, author], |row| rows::read_page(row, home))?;
    Ok(pages.into_iter().next())
}

pub(crate) fn next_turn_page(
    db: &Connection,
    session: &SessionId,
    segment: &SegmentId,
    author: &Actor,
    after: Place,
) -> FaultResult<Option<Page>> {
    let Some(home) = home(db, session, segment)? else { return Ok(None) };
    let Ok(after) = i64::try_from(after.0) else { return Ok(None) };
    let sql = format!(
        "SELECT {PAGE_COLUMNS} FROM pages
         WHERE segment = ?1 AND turn_author = ?2 AND standing = 0 AND place > ?3
         ORDER BY place LIMIT 1"
    );
    let values = params![home.key, author.to_string(), after];
    let pages = collect(db, &sql, values, |row| rows::read_page(row, home))?;
    Ok(pages.into_iter().next())
}

pub(crate) fn contents(
    db: &Connection,
    hashes: &[ContentHash],
) -> FaultResult<Vec<Option<Content>>> {
    let mut query = db.prepare_cached(
        "SELECT raw, data FROM contents LEFT JOIN blobs ON blobs.id = contents.blob
         WHERE hash = ?1",
    )?;
    let mut contents = Vec::with_capacity(hashes.len());
    for &hash in hashes {
        let mut rows = query.query([hash.as_bytes()])?;
        contents.push(match rows.next()? {
            Some(row) => Some(contents::read(row, 0, hash)?),
            None => None,
        });
    }
    Ok(contents)
}

pub(crate) fn levels(
    db: &Connection,
    session: &SessionId,
    keys: &[ChunkKey],
) -> FaultResult<Vec<LevelChunk>> {
    let session = lookup::session_key(db, session)?;
    let mut chunks = Vec::with_capacity(keys.len());
    for key in keys {
        let segment = match session {
            Some(session) => lookup::segment_key(db, session, &key.segment)?,
            None => None,
        };
        chunks.push(match (session, segment) {
            (Some(session), Some(segment)) => lookup::chunk(db, session, segment, key)?,
            _ => LevelChunk::default(),
        });
    }
    Ok(chunks)
}

/// Lists the chunks of level state that are stored, in order.
pub(crate) fn level_keys(db: &Connection, session: &SessionId) -> FaultResult<Vec<ChunkKey>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let sql = "SELECT levels.view, segments.name, levels.chunk FROM levels
               JOIN segments ON segments.id = levels.segment WHERE levels.session = ?1";
    let mut keys = collect(db, sql, [key], |row| {
        let (view, segment): (String, String) = (row.get(0)?, row.get(1)?);
        let what = format!("the levels of view {view} in segment {segment}");
        let view = view.parse().map_err(|error| Fault::corrupt(&what, error))?;
        let segment = segment.parse().map_err(|error| Fault::corrupt(&what, error))?;
        Ok(ChunkKey { view, segment, chunk: natural(row.get(2)?, what)? })
    })?;
    keys.sort();
    Ok(keys)
}

pub(crate) fn views(db: &Connection, session: &SessionId) -> FaultResult<Vec<ViewHead>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let sql = format!("SELECT {} FROM views WHERE session = ?1", ViewRow::COLUMNS);
    let mut views = collect(db, &sql, [key], |row| {
        let (view, touched) = ViewRow::read(row, key, session)?;
        Ok(ViewHead { view, focus: None, touched })
    })?;
    views.sort_by(|one, other| one.view.cmp(&other.view));
    let sql = "SELECT view, page, checksum FROM focus WHERE session = ?1";
    let focus = collect(db, sql, [key], |row| rows::read_text(row, key, "the focus of view"))?;
    for (name, page) in focus {
        let what = || format!("the focus of view '{name}' of {}", rows::session_name(session));
        let view: ViewId = name.parse().map_err(|error| Fault::corrupt(what(), error))?;
        let head = views.binary_search_by(|head| head.view.cmp(&view));
        let head = head.map_err(|_| Fault::corrupt(what(), "the view itself is not listed"))?;
        views[head].focus = Some(page.parse().map_err(|error| Fault::corrupt(what(), error))?);
    }
    Ok(views)
}

pub(crate) fn custom(
    db: &Connection,
    session: &SessionId,
) -> FaultResult<Vec<(CustomKey, String)>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let sql = "SELECT name, content, checksum FROM custom WHERE session = ?1 ORDER BY name";
    collect(db, sql, [key], |row| {
        let (name, content) = rows::read_text(row, key, "custom state")?;
        let name = name
            .parse()
            .map_err(|error| Fault::corrupt(format!("custom state '{name}'"), error))?;
        Ok((name, content))
    })
}

/// Runs a query and reads all its rows.
pub(crate) fn collect<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> FaultResult<T>,
) -> FaultResult<Vec<T>> {
    let mut query = db.prepare_cached(sql)?;
    let mut rows = query.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

fn home<'a>(
    db: &Connection,
    session: &'a SessionId,
    segment: &'a SegmentId,
) -> FaultResult<Option<PageHome<'a>>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(None) };
    let key = lookup::segment_key(db, key, segment)?;
    Ok(key.map(|key| PageHome { session, segment, key }))
}

fn directory<'a>(
    db: &Connection,
    session: &'a SessionId,
    parent: &'a PageIndex,
) -> FaultResult<Option<(PageHome<'a>, i64)>> {
    let Ok(number) = i64::try_from(parent.number()) else { return Ok(None) };
    Ok(home(db, session, parent.segment())?.map(|home| (home, number)))
}
