//! Reading rows by their keys, many at once: what reads ask for, and what a commit wants to know.

use contexture_core::{
    HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId,
    storage::{
        ChunkKey, CustomKey, LedgerKey, LevelChunk, Place, RunKey, RunRecord, SentWindow, ViewId,
    },
};
use deadpool_postgres::ClientWrapper;

use super::{
    error::{Fault, FaultResult, natural},
    read::{OF, ask},
    rows::{self, CHUNK, CUSTOM, FOCUS, HistoryRow, PAGE, RUN, SEGMENT, SentRow},
};

/// Splits indices into segments and numbers. A number that PostgreSQL cannot hold is no page's.
fn split<'a>(indices: impl Iterator<Item = &'a PageIndex>) -> (Vec<&'a str>, Vec<i64>) {
    let known = indices
        .filter_map(|index| Some((index.segment().as_str(), i64::try_from(index.number()).ok()?)));
    known.unzip()
}

pub(crate) async fn pages<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    indices: impl Iterator<Item = &'a PageIndex>,
) -> FaultResult<Vec<Page>> {
    let (segments, numbers) = split(indices);
    // How many there are of a list the server cannot know beforehand, so it plans anew each time; one
    // it plans once.
    let found = if let ([segment], [number]) = (&segments[..], &numbers[..]) {
        let sql = format!(
            "SELECT {PAGE} FROM contexture_pages AS t
             WHERE t.session = {OF} AND t.segment = $2 AND t.number = $3"
        );
        ask(db, &sql, &[&session.as_str(), segment, number]).await?
    } else {
        let sql = format!(
            "SELECT {PAGE} FROM unnest($2::text[], $3::bigint[]) AS w (segment, number)
             JOIN contexture_pages AS t
                 ON t.session = {OF} AND t.segment = w.segment AND t.number = w.number"
        );
        ask(db, &sql, &[&session.as_str(), &segments, &numbers]).await?
    };
    found.iter().map(|row| rows::read_page(row, session)).collect()
}

/// Returns the largest place under each directory, of whatever standing, where there is one.
pub(crate) async fn last_places<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    parents: impl Iterator<Item = &'a PageIndex>,
) -> FaultResult<Vec<(PageIndex, Place)>> {
    let (segments, numbers) = split(parents);
    let of = |standing: u8| {
        format!(
            "(SELECT max(t.place) FROM contexture_pages AS t
              WHERE t.session = {OF} AND t.segment = w.segment AND t.parent = w.number
                  AND t.standing = {standing})"
        )
    };
    let (listed, cold, moved) = (of(0), of(1), of(2));
    let sql = format!(
        "SELECT w.segment, w.number, greatest({listed}, {cold}, {moved})
         FROM unnest($2::text[], $3::bigint[]) AS w (segment, number)"
    );
    let found = ask(db, &sql, &[&session.as_str(), &segments, &numbers]).await?;
    let mut places = Vec::new();
    for row in &found {
        let Some(place) = row.try_get::<_, Option<i64>>(2)? else { continue };
        let (segment, number): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
        let what = format!("the last place in {segment}-{number}");
        let segment: SegmentId = segment.parse().map_err(|error| Fault::corrupt(&what, error))?;
        let index = PageIndex::new(segment, natural(number, &what)?);
        places.push((index, Place(natural(place, what)?)));
    }
    Ok(places)
}

pub(crate) async fn segments<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    ids: impl Iterator<Item = &'a SegmentId>,
) -> FaultResult<Vec<Segment>> {
    let names: Vec<&str> = ids.map(SegmentId::as_str).collect();
    let found = if let [name] = &names[..] {
        let sql = format!(
            "SELECT {SEGMENT} FROM contexture_segments AS t
             WHERE t.session = {OF} AND t.name = $2"
        );
        ask(db, &sql, &[&session.as_str(), name]).await?
    } else {
        let sql = format!(
            "SELECT {SEGMENT} FROM contexture_segments AS t
             WHERE t.session = {OF} AND t.name = ANY($2::text[])"
        );
        ask(db, &sql, &[&session.as_str(), &names]).await?
    };
    found.iter().map(|row| rows::read_segment(row, session)).collect()
}

pub(crate) async fn chunks<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    keys: impl Iterator<Item = &'a ChunkKey>,
) -> FaultResult<Vec<(ChunkKey, LevelChunk)>> {
    let (mut views, mut segments, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
    for key in keys {
        let Ok(chunk) = i64::try_from(key.chunk) else { continue };
        views.push(key.view.to_string());
        segments.push(key.segment.as_str());
        chunks.push(chunk);
    }
    let sql = format!(
        "SELECT {CHUNK} FROM unnest($2::text[], $3::text[], $4::bigint[])
             AS w (view_id, segment, chunk)
         JOIN contexture_levels AS t
             ON t.session = {OF} AND t.view_id = w.view_id AND t.segment = w.segment
                 AND t.chunk = w.chunk"
    );
    let found = ask(db, &sql, &[&session.as_str(), &views, &segments, &chunks]).await?;
    found.iter().map(|row| rows::read_chunk(row, session)).collect()
}

pub(crate) async fn focus<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    views: impl Iterator<Item = &'a ViewId>,
) -> FaultResult<Vec<(ViewId, PageIndex)>> {
    let sql = format!(
        "SELECT {FOCUS} FROM contexture_focus AS t
         WHERE t.session = {OF} AND t.view_id = ANY($2::text[])"
    );
    let names: Vec<String> = views.map(ViewId::to_string).collect();
    let found = ask(db, &sql, &[&session.as_str(), &names]).await?;
    found.iter().map(|row| rows::read_focus(row, session)).collect()
}

pub(crate) async fn custom<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    keys: impl Iterator<Item = &'a CustomKey>,
) -> FaultResult<Vec<(CustomKey, String)>> {
    let sql = format!(
        "SELECT {CUSTOM} FROM contexture_custom AS t
         WHERE t.session = {OF} AND t.name = ANY($2::text[])"
    );
    let names: Vec<&str> = keys.map(CustomKey::as_str).collect();
    let found = ask(db, &sql, &[&session.as_str(), &names]).await?;
    found.iter().map(|row| rows::read_custom(row, session)).collect()
}

pub(crate) async fn entries<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    revisions: impl Iterator<Item = &'a Revision>,
) -> FaultResult<Vec<HistoryEntry>> {
    let sql = format!(
        "SELECT {} FROM contexture_history AS t
         WHERE t.session = {OF} AND t.revision = ANY($2::bigint[])",
        HistoryRow::COLUMNS
    );
    let numbers: Vec<i64> =
        revisions.filter_map(|revision| i64::try_from(revision.0).ok()).collect();
    let found = ask(db, &sql, &[&session.as_str(), &numbers]).await?;
    found.iter().map(|row| HistoryRow::read(row, session)).collect()
}

pub(crate) async fn runs<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    keys: impl Iterator<Item = &'a RunKey>,
) -> FaultResult<Vec<RunRecord>> {
    let sql = format!(
        "SELECT {RUN} FROM contexture_runs AS t
         WHERE t.session = {OF} AND t.name = ANY($2::text[])"
    );
    let names: Vec<&str> = keys.map(RunKey::as_str).collect();
    let found = ask(db, &sql, &[&session.as_str(), &names]).await?;
    found.iter().map(|row| rows::read_run(row, session)).collect()
}

/// Splits keys of ledgers into views and formats.
fn named<'a>(keys: impl Iterator<Item = &'a LedgerKey>) -> (Vec<String>, Vec<&'a str>) {
    keys.map(|key| (key.view.to_string(), key.format.as_str())).unzip()
}

/// Returns the last number in each ledger that has any.
pub(crate) async fn last_windows<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    keys: impl Iterator<Item = &'a LedgerKey>,
) -> FaultResult<Vec<(LedgerKey, u64)>> {
    let (views, formats) = named(keys);
    let sql = format!(
        "SELECT w.view_id, w.format, (
             SELECT max(t.number) FROM contexture_ledger AS t
             WHERE t.session = {OF} AND t.view_id = w.view_id AND t.format = w.format)
         FROM unnest($2::text[], $3::text[]) AS w (view_id, format)"
    );
    let found = ask(db, &sql, &[&session.as_str(), &views, &formats]).await?;
    let mut last = Vec::new();
    for row in &found {
        if let Some(number) = row.try_get::<_, Option<i64>>(2)? {
            last.push((rows::read_ledger_key(row)?, natural(number, "a window's number")?));
        }
    }
    Ok(last)
}

/// Reads records of ledgers by their numbers.
pub(crate) async fn windows<'a>(
    db: &ClientWrapper,
    session: &SessionId,
    keys: impl Iterator<Item = &'a (LedgerKey, u64)> + Clone,
) -> FaultResult<Vec<(LedgerKey, SentWindow)>> {
    let known = keys.filter(|(_, number)| i64::try_from(*number).is_ok());
    let (views, formats) = named(known.clone().map(|(key, _)| key));
    let numbers: Vec<i64> = known.filter_map(|(_, number)| i64::try_from(*number).ok()).collect();
    let sql = format!(
        "SELECT {} FROM unnest($2::text[], $3::text[], $4::bigint[])
             AS w (view_id, format, number)
         JOIN contexture_ledger AS t
             ON t.session = {OF} AND t.view_id = w.view_id AND t.format = w.format
                 AND t.number = w.number",
        SentRow::COLUMNS
    );
    let found = ask(db, &sql, &[&session.as_str(), &views, &formats, &numbers]).await?;
    found.iter().map(|row| SentRow::read(row, session)).collect()
}
