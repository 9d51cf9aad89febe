//! Lists of pages: of a directory, of a segment, of an author's turns.

use contexture_core::{
    Actor, Page, PageIndex, SegmentId, SessionId,
    storage::{ChildQuery, Order, Place, ScanQuery, StandingFilter},
};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::Row;

use super::{
    error::{FaultResult, limit, natural},
    fetch,
    read::{OF, ask},
    rows::{self, PAGE, PageColumns},
};

pub(crate) async fn children(
    db: &ClientWrapper,
    session: &SessionId,
    query: &ChildQuery,
) -> FaultResult<Vec<Page>> {
    // A number that PostgreSQL cannot hold is no page's.
    let Ok(number) = i64::try_from(query.parent.number()) else { return Ok(Vec::new()) };
    let (beyond, order) = match query.order {
        Order::Forward => ("t.place > $4", "ASC"),
        Order::Backward => ("t.place < $4", "DESC"),
    };
    let after = match (query.after, query.order) {
        // Places are far below the largest number, so what is clamped is still beyond all of them.
        (Some(place), _) => i64::try_from(place.0).unwrap_or(i64::MAX),
        (None, Order::Forward) => -1,
        (None, Order::Backward) => i64::MAX,
    };
    let of = |standing: i64| {
        format!(
            "SELECT {PAGE} FROM contexture_pages AS t
             WHERE t.session = {OF} AND t.segment = $2 AND t.parent = $3
                 AND t.standing = {standing} AND {beyond}
             ORDER BY t.place {order} LIMIT $5"
        )
    };
    let sql = match query.standing {
        StandingFilter::Listed => of(PageColumns::LISTED),
        StandingFilter::ColdArchived => of(PageColumns::COLD_ARCHIVED),
        StandingFilter::Any => {
            let (listed, cold) = (of(PageColumns::LISTED), of(PageColumns::COLD_ARCHIVED));
            let moved = of(PageColumns::MOVED);
            format!(
                "({listed}) UNION ALL ({cold}) UNION ALL ({moved})
                 ORDER BY place {order} LIMIT $5"
            )
        }
    };
    let segment = query.parent.segment().as_str();
    let most = limit(query.limit);
    let found = ask(db, &sql, &[&session.as_str(), &segment, &number, &after, &most]).await?;
    decode(&found, session)
}

pub(crate) async fn child_count(
    db: &ClientWrapper,
    session: &SessionId,
    parent: &PageIndex,
) -> FaultResult<u64> {
    let Ok(number) = i64::try_from(parent.number()) else { return Ok(0) };
    let sql = format!(
        "SELECT t.listed FROM contexture_directories AS t
         WHERE t.session = {OF} AND t.segment = $2 AND t.number = $3"
    );
    let found = ask(db, &sql, &[&session.as_str(), &parent.segment().as_str(), &number]).await?;
    let Some(row) = found.first() else { return Ok(0) };
    natural(row.try_get(0)?, format!("the count of pages in {parent}"))
}

pub(crate) async fn last_place(
    db: &ClientWrapper,
    session: &SessionId,
    parent: &PageIndex,
) -> FaultResult<Option<Place>> {
    let found = fetch::last_places(db, session, std::iter::once(parent)).await?;
    Ok(found.into_iter().next().map(|(_, place)| place))
}

pub(crate) async fn scan(
    db: &ClientWrapper,
    session: &SessionId,
    query: &ScanQuery,
) -> FaultResult<Vec<Page>> {
    let standing = match query.standing {
        StandingFilter::Listed => "AND t.standing = 0",
        // The first half leads to the index of unlisted pages.
        StandingFilter::ColdArchived => "AND t.standing <> 0 AND t.standing = 1",
        StandingFilter::Any => "",
    };
    let sql = format!(
        "SELECT {PAGE} FROM contexture_pages AS t
         WHERE t.session = {OF} AND t.segment = $2 AND t.number > $3 {standing}
         ORDER BY t.number LIMIT $4"
    );
    let after = query.after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
    let (segment, most) = (query.segment.as_str(), limit(query.limit));
    let found = ask(db, &sql, &[&session.as_str(), &segment, &after, &most]).await?;
    decode(&found, session)
}

pub(crate) async fn last_turn_page(
    db: &ClientWrapper,
    session: &SessionId,
    segment: &SegmentId,
    author: &Actor,
) -> FaultResult<Option<Page>> {
    let sql = format!(
        "SELECT {PAGE} FROM contexture_pages AS t
         WHERE t.session = {OF} AND t.segment = $2 AND t.turn_author = $3 AND t.standing = 0
         ORDER BY t.place DESC LIMIT 1"
    );
    let author = author.to_string();
    let found = ask(db, &sql, &[&session.as_str(), &segment.as_str(), &author]).await?;
    Ok(decode(&found, session)?.pop())
}

pub(crate) async fn next_turn_page(
    db: &ClientWrapper,
    session: &SessionId,
    segment: &SegmentId,
    author: &Actor,
    after: &Place,
) -> FaultResult<Option<Page>> {
    let Ok(after) = i64::try_from(after.0) else { return Ok(None) };
    let sql = format!(
        "SELECT {PAGE} FROM contexture_pages AS t
         WHERE t.session = {OF} AND t.segment = $2 AND t.turn_author = $3 AND t.standing = 0
             AND t.place > $4
         ORDER BY t.place LIMIT 1"
    );
    let author = author.to_string();
    let found = ask(db, &sql, &[&session.as_str(), &segment.as_str(), &author, &after]).await?;
    Ok(decode(&found, session)?.pop())
}

fn decode(found: &[Row], session: &SessionId) -> FaultResult<Vec<Page>> {
    found.iter().map(|row| rows::read_page(row, session)).collect()
}
