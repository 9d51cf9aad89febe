//! Mending: what cannot be read goes to the quarantine, what is derived is derived anew.
//!
//! Each session in a transaction of its own that holds its lock, so nobody writes to it meanwhile.

use contexture_core::{
    Revision, Timestamp,
    storage::{Mark, Place, SessionInfo, StorageResult},
};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::types::ToSql;

use crate::random;

use super::{
    error::{FaultResult, natural},
    group::{self, BEGIN},
    pool::{Connections, retire},
    read::ask,
    rows::{self, SessionRow},
    verify::{self, BAD_COUNTS, Finding, Named},
    writers::random_id,
};

/// Mends every session; tells what was done.
pub(crate) async fn run(connections: &Connections) -> StorageResult<Vec<String>> {
    let what = connections.what.as_str();
    let db = connections.take().await.map_err(|fault| fault.at(what))?;
    let done = repair(&db, what).await;
    if done.is_err() {
        retire(db);
    }
    done.map_err(|fault| fault.at(what))
}

async fn repair(db: &ClientWrapper, what: &str) -> FaultResult<Vec<String>> {
    let mut done = Vec::new();
    // A name that is no session's is told by verifying; there is nothing to mend it from.
    for session in verify::sessions(db, &mut Vec::new()).await? {
        db.batch_execute(BEGIN).await?;
        // It may think for longer than others may.
        db.batch_execute("SET LOCAL idle_in_transaction_session_timeout = 0").await?;
        repair_session(db, what, &session, &mut done).await?;
        db.batch_execute("COMMIT").await?;
    }
    let moved =
        quarantine(db, what, "contexture_counts", "it is not a valid token count", BAD_COUNTS, &[])
            .await?;
    if moved > 0 {
        done.push(format!("{moved} token counts were moved to the quarantine"));
    }
    Ok(done)
}

async fn repair_session(
    db: &ClientWrapper,
    what: &str,
    session: &Named,
    done: &mut Vec<String>,
) -> FaultResult<()> {
    let lock = "SELECT t.name FROM contexture_sessions AS t WHERE t.id = $1 FOR UPDATE";
    // One that was removed or hidden meanwhile needs no mending.
    let row = ask(db, lock, &[&session.id]).await?;
    if row.first().map(|row| row.try_get::<_, String>(0)).transpose()?.as_deref()
        != Some(session.name.as_str())
    {
        return Ok(());
    }
    let (findings, _) = verify::findings(db, session).await?;
    for Finding { table, key, problem } in findings {
        let condition = format!("t.session = $1 AND {} = $2", table.key);
        quarantine(db, what, table.name, &problem, &condition, &[&session.id, &key]).await?;
        done.push(format!("{problem}; it was moved to the quarantine"));
    }
    let name = rows::session_name(&session.name);
    if let Some(problem) = &session.problem {
        copy(db, what, "contexture_sessions", problem, "t.id = $1", &[&session.id]).await?;
        rewrite_head(db, what, session).await?;
        done.push(format!("{problem}; it was copied to the quarantine and rebuilt"));
    }
    recount(db, session, &name, done).await
}

/// Recounts pages in directories and references to contents.
async fn recount(
    db: &ClientWrapper,
    named: &Named,
    name: &str,
    done: &mut Vec<String>,
) -> FaultResult<()> {
    let session = named.id;
    let wrong = verify::miscounted(db, session).await?;
    if !wrong.is_empty() {
        let clear = "UPDATE contexture_directories SET listed = 0 WHERE session = $1";
        ask(db, clear, &[&session]).await?;
        let fill = "INSERT INTO contexture_directories (session, segment, number, listed)
                    SELECT t.session, t.segment, t.parent, count(*) FROM contexture_pages AS t
                    WHERE t.session = $1 AND t.standing = 0 AND t.parent IS NOT NULL
                    GROUP BY t.session, t.segment, t.parent
                    ON CONFLICT (session, segment, number) DO UPDATE SET listed = excluded.listed";
        ask(db, fill, &[&session]).await?;
        let pages: Vec<&str> = wrong.iter().map(|(page, _)| page.as_str()).take(10).collect();
        done.push(format!("pages of {name} were recounted: {}", pages.join(", ")));
    }
    // After the quarantine took entries, history refers to less.
    let (_, tally) = verify::findings(db, named).await?;
    let wrong = verify::misreferred(db, session, tally).await?;
    let stored = wrong.iter().filter(|(_, refs, _)| refs.is_some());
    let (hashes, refs): (Vec<&[u8]>, Vec<i64>) =
        stored.map(|(hash, _, expected)| (&hash.as_bytes()[..], *expected)).unzip();
    if !hashes.is_empty() {
        let sql = "UPDATE contexture_contents AS t SET refs = w.refs
                   FROM unnest($2::bytea[], $3::bigint[]) AS w (hash, refs)
                   WHERE t.session = $1 AND t.hash = w.hash";
        ask(db, sql, &[&session, &hashes, &refs]).await?;
        done.push(format!("references to {} contents of {name} were recounted", hashes.len()));
    }
    Ok(())
}

/// Writes a session's row from what its other rows say, and what can be read of it.
async fn rewrite_head(db: &ClientWrapper, what: &str, session: &Named) -> FaultResult<()> {
    let sql = "SELECT t.app, t.mark, t.created_at, t.updated_at, t.next_place, t.recent,
                   (SELECT max(h.revision) FROM contexture_history AS h WHERE h.session = t.id),
                   (SELECT max(p.place) FROM contexture_pages AS p WHERE p.session = t.id)
               FROM contexture_sessions AS t WHERE t.id = $1";
    let found = ask(db, sql, &[&session.id]).await?;
    let Some(row) = found.first() else { return Ok(()) };
    let mark = match Mark::try_from(row.try_get::<_, String>(1)?) {
        Ok(mark) => mark,
        Err(_) => random::mark(what)?,
    };
    let revision: Option<i64> = row.try_get(6)?;
    let last_place: i64 = row.try_get::<_, Option<i64>>(7)?.unwrap_or(0);
    let stored_place: i64 = row.try_get(4)?;
    // The stored one may know of places whose pages are gone, unless it is the damage.
    let likely = last_place + 1..=last_place.saturating_add(1 << 32);
    let next_place =
        if likely.contains(&stored_place) { stored_place } else { last_place.saturating_add(1) };
    let recent: Vec<u8> = row.try_get(5)?;
    let info = SessionInfo {
        id: session.name.clone(),
        app: String::from_utf8_lossy(row.try_get(0)?).into_owned(),
        revision: Revision(natural(revision.unwrap_or(0), "a revision")?),
        next_place: Place(natural(next_place, "a place")?),
        mark,
        created_at: Timestamp::from_millis(row.try_get(2)?),
        updated_at: Timestamp::from_millis(row.try_get(3)?),
    };
    let row = SessionRow { id: session.id, info, recent };
    let (sql, values) = group::head(&row, session.name.as_str(), false)?;
    let values: Vec<&(dyn ToSql + Sync)> =
        values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
    ask(db, sql, &values).await.map(drop)
}

/// Moves rows to the quarantine; tells how many.
async fn quarantine(
    db: &ClientWrapper,
    what: &str,
    table: &'static str,
    reason: &str,
    condition: &str,
    values: &[&(dyn ToSql + Sync)],
) -> FaultResult<u64> {
    let copied = copy(db, what, table, reason, condition, values).await?;
    if copied > 0 {
        db.execute(&format!("DELETE FROM {table} AS t WHERE {condition}"), values).await?;
    }
    Ok(copied)
}

/// Copies rows to the quarantine, each as JSON; tells how many.
async fn copy(
    db: &ClientWrapper,
    what: &str,
    table: &'static str,
    reason: &str,
    condition: &str,
    values: &[&(dyn ToSql + Sync)],
) -> FaultResult<u64> {
    let select = format!(
        "SELECT convert_to(CAST(row_to_json(t) AS TEXT), 'UTF8') FROM {table} AS t WHERE {condition}"
    );
    let rows = db.query(&select, values).await?;
    let insert = "INSERT INTO contexture_quarantine (id, source, reason, content, taken_at)
                  VALUES ($1, $2, $3, $4, now())";
    for row in &rows {
        let content: &[u8] = row.try_get(0)?;
        db.execute(insert, &[&random_id(what)?, &table, &reason, &content]).await?;
    }
    Ok(rows.len() as u64)
}
