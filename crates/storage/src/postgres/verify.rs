//! Verifying: every row of every session read and checked, counts counted anew.
//!
//! Rows stream through, one at a time. What is kept for a session is how often its history refers to
//! each content.

use std::collections::BTreeMap;

use contexture_core::{
    SessionId,
    storage::{ContentHash, StorageError},
};
use deadpool_postgres::ClientWrapper;
use futures::TryStreamExt;
use tokio_postgres::Row;

use super::{
    error::{Fault, FaultResult},
    read::ask,
    rows::{self, HistoryRow, SentRow, SessionRow},
    tables,
};

/// A table whose rows are checked.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    columns: &'static str,
    /// What names a row in its session, as text.
    pub(crate) key: &'static str,
    check: fn(&Row, &SessionId, &mut Tally) -> FaultResult<()>,
}

/// How often a session's history refers to its contents.
pub(crate) type Tally = BTreeMap<ContentHash, i64>;

/// History comes first: it says how often contents are referred to.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "contexture_history",
        columns: HistoryRow::COLUMNS,
        key: "CAST(t.revision AS TEXT)",
        check: |row, session, tally| {
            let entry = HistoryRow::read(row, session)?;
            for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
                *tally.entry(hash).or_default() += 1;
            }
            Ok(())
        },
    },
    Table {
        name: "contexture_contents",
        columns: rows::CONTENT,
        key: "encode(t.hash, 'hex')",
        check: |row, _, _| rows::read_content(row).map(drop),
    },
    Table {
        name: "contexture_segments",
        columns: rows::SEGMENT,
        key: "t.name",
        check: |row, session, _| rows::read_segment(row, session).map(drop),
    },
    Table {
        name: "contexture_pages",
        columns: rows::PAGE,
        key: "t.segment || '-' || CAST(t.number AS TEXT)",
        check: |row, session, _| rows::read_page(row, session).map(drop),
    },
    Table {
        name: "contexture_levels",
        columns: rows::CHUNK,
        key: "t.view_id || ' ' || t.segment || ' ' || CAST(t.chunk AS TEXT)",
        check: |row, session, _| rows::read_chunk(row, session).map(drop),
    },
    Table {
        name: "contexture_views",
        columns: "t.session, t.view_id, t.touched, t.checksum, CAST(NULL AS TEXT)",
        key: "t.view_id",
        check: |row, session, _| rows::read_view(row, session).map(drop),
    },
    Table {
        name: "contexture_focus",
        columns: rows::FOCUS,
        key: "t.view_id",
        check: |row, session, _| rows::read_focus(row, session).map(drop),
    },
    Table {
        name: "contexture_custom",
        columns: rows::CUSTOM,
        key: "t.name",
        check: |row, session, _| rows::read_custom(row, session).map(drop),
    },
    Table {
        name: "contexture_runs",
        columns: rows::RUN,
        key: "t.name",
        check: |row, session, _| rows::read_run(row, session).map(drop),
    },
    Table {
        name: "contexture_ledger",
        columns: SentRow::COLUMNS,
        key: "t.view_id || ' ' || t.format || ' ' || CAST(t.number AS TEXT)",
        check: |row, session, _| SentRow::read(row, session).map(drop),
    },
];

/// A row that cannot be read.
pub(crate) struct Finding {
    pub(crate) table: &'static Table,
    /// What names the row in its session.
    pub(crate) key: String,
    pub(crate) problem: String,
}

/// A session as its row names it, whether or not the rest of that can be read.
pub(crate) struct Named {
    pub(crate) id: i64,
    pub(crate) name: SessionId,
    /// What is wrong with the row.
    pub(crate) problem: Option<String>,
}

/// Lists what is wrong.
pub(crate) async fn problems(db: &ClientWrapper) -> FaultResult<Vec<String>> {
    let mut problems = Vec::new();
    for session in sessions(db, &mut problems).await? {
        problems.extend(session.problem.clone());
        let (findings, tally) = findings(db, &session).await?;
        problems.extend(findings.into_iter().map(|finding| finding.problem));
        let name = rows::session_name(&session.name);
        for (page, difference) in miscounted(db, session.id).await? {
            problems.push(format!(
                "page {page} of {name} lists {difference} more pages than it counts"
            ));
        }
        for (hash, refs, expected) in misreferred(db, session.id, tally).await? {
            problems.push(match refs {
                Some(refs) => {
                    format!("content {hash} of {name} counts {refs} references, but the history has {expected}")
                }
                None => format!(
                    "content {hash} of {name} is missing, but the history refers to it {expected} times"
                ),
            });
        }
    }
    strays(db, &mut problems).await?;
    Ok(problems)
}

/// Lists the sessions there are, in order of name.
pub(crate) async fn sessions(
    db: &ClientWrapper,
    problems: &mut Vec<String>,
) -> FaultResult<Vec<Named>> {
    let sql = format!(
        "SELECT {} FROM contexture_sessions AS t WHERE t.name < '~' ORDER BY t.name",
        SessionRow::COLUMNS
    );
    let mut sessions = Vec::new();
    for row in ask(db, &sql, &[]).await? {
        let (id, name): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
        match name.parse::<SessionId>() {
            Ok(name) => {
                let problem = SessionRow::read(&row).err().map(damage).transpose()?;
                sessions.push(Named { id, name, problem });
            }
            Err(error) => problems.push(format!("session '{name}' is corrupt: {error}")),
        }
    }
    Ok(sessions)
}

/// Says what is wrong with a row; what is wrong with the connection stays an error.
fn damage(fault: Fault) -> FaultResult<String> {
    if fault.code().is_some() || fault.is_lost() {
        return Err(fault);
    }
    match fault.at("a row") {
        StorageError::Unavailable { what, reason } => {
            Err(StorageError::Unavailable { what, reason }.into())
        }
        error => Ok(error.to_string()),
    }
}

/// Finds the rows of a session that cannot be read, and how often its history refers to contents.
pub(crate) async fn findings(
    db: &ClientWrapper,
    session: &Named,
) -> FaultResult<(Vec<Finding>, Tally)> {
    let (mut findings, mut tally) = (Vec::new(), Tally::new());
    for table in TABLES {
        let Table { name, columns, key, check } = table;
        // The key comes last, where no reader looks.
        let sql = format!("SELECT {columns}, {key} FROM {name} AS t WHERE t.session = $1");
        let statement = db.prepare_cached(&sql).await?;
        let rows = db.query_raw(&statement, [session.id]).await?;
        futures::pin_mut!(rows);
        while let Some(row) = rows.try_next().await? {
            if let Err(fault) = check(&row, &session.name, &mut tally) {
                let problem = damage(fault)?;
                let key = row.try_get(row.len() - 1)?;
                findings.push(Finding { table, key, problem });
            }
        }
    }
    Ok((findings, tally))
}

/// Returns directories that list more or fewer pages than is noted, and by how many.
pub(crate) async fn miscounted(
    db: &ClientWrapper,
    session: i64,
) -> FaultResult<Vec<(String, i64)>> {
    let sql = "SELECT c.segment || '-' || CAST(c.number AS TEXT), CAST(sum(c.listed) AS BIGINT)
               FROM (
                   SELECT t.segment, t.parent AS number, count(*) AS listed
                   FROM contexture_pages AS t
                   WHERE t.session = $1 AND t.standing = 0 AND t.parent IS NOT NULL
                   GROUP BY t.segment, t.parent
                   UNION ALL
                   SELECT d.segment, d.number, -d.listed
                   FROM contexture_directories AS d WHERE d.session = $1
               ) AS c
               GROUP BY c.segment, c.number HAVING sum(c.listed) <> 0
               ORDER BY c.segment, c.number";
    let rows = ask(db, sql, &[&session]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Returns contents that are referred to more or less often than is noted: how often that is noted,
/// none where they are missing, and how often it is.
pub(crate) async fn misreferred(
    db: &ClientWrapper,
    session: i64,
    mut tally: Tally,
) -> FaultResult<Vec<(ContentHash, Option<i64>, i64)>> {
    let sql = "SELECT t.hash, t.refs FROM contexture_contents AS t WHERE t.session = $1
               ORDER BY t.hash";
    let statement = db.prepare_cached(sql).await?;
    let rows = db.query_raw(&statement, [session]).await?;
    futures::pin_mut!(rows);
    let mut wrong = Vec::new();
    while let Some(row) = rows.try_next().await? {
        // One whose hash cannot be read was found before.
        let Ok(hash) = rows::read_hash(&row, 0) else { continue };
        let (refs, expected) = (row.try_get(1)?, tally.remove(&hash).unwrap_or(0));
        if refs != expected {
            wrong.push((hash, Some(refs), expected));
        }
    }
    wrong.extend(tally.into_iter().map(|(hash, expected)| (hash, None, expected)));
    Ok(wrong)
}

/// The counts that can be nobody's.
pub(crate) const BAD_COUNTS: &str = "length(t.hash) <> 16 OR t.tokens < 0";

/// Finds rows that belong to nothing.
async fn strays(db: &ClientWrapper, problems: &mut Vec<String>) -> FaultResult<()> {
    for (table, _) in tables::OF_SESSIONS {
        let sql = format!(
            "SELECT t.session, count(*) FROM {table} AS t
             WHERE NOT EXISTS (SELECT 1 FROM contexture_sessions AS s WHERE s.id = t.session)
             GROUP BY t.session ORDER BY t.session"
        );
        for row in db.query(&sql, &[]).await? {
            let (session, count): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            problems.push(format!("{count} rows of {table} belong to no session (key {session})"));
        }
    }
    let sql = "SELECT f.view_id FROM contexture_focus AS f WHERE NOT EXISTS (
                   SELECT 1 FROM contexture_views AS v
                   WHERE v.session = f.session AND v.view_id = f.view_id)";
    for row in db.query(sql, &[]).await? {
        let view: &str = row.try_get(0)?;
        problems.push(format!("the focus of view {view} belongs to nothing"));
    }
    let sql =
        format!("SELECT encode(t.hash, 'hex') FROM contexture_counts AS t WHERE {BAD_COUNTS}");
    for row in db.query(&sql, &[]).await? {
        let key: &str = row.try_get(0)?;
        problems.push(format!("token count {key} is corrupt"));
    }
    Ok(())
}
