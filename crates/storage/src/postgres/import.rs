//! Taking over a session, part by part, under a name that is no session's.

use contexture_core::{
    Revision, SessionId, Timestamp,
    storage::{ImportPart, Mark, Place, SessionInfo, StorageError, StorageResult},
};
use deadpool_postgres::ClientWrapper;

use super::{
    batch::{Batch, Bound, StoredContent},
    error::{Fault, FaultResult},
    fate::{self, Fate},
    group::{self, BEGIN, Ended},
    pool::{Connections, retire},
    read::ask,
    remove,
    rows::SessionRow,
    writers::random_id,
};

/// The name of a session that is not whole.
pub(crate) fn staged(session: &SessionId) -> String {
    format!("~{session}")
}

/// Takes over a part. Tells whether it took the place of a session.
pub(crate) async fn part(
    connections: &Connections,
    session: &SessionId,
    part: ImportPart,
) -> StorageResult<bool> {
    let what = connections.what.as_str();
    if let ImportPart::Begin | ImportPart::BeginOver(_) = part {
        // What an earlier attempt left goes first; it may be much.
        remove::leftover(connections, session).await?;
    }
    let transaction = random_id(what)?;
    let db = connections.take().await.map_err(|fault| fault.at(what))?;
    let is_last = matches!(part, ImportPart::Finish(_));
    let mut replaces = false;
    let ended = write(&db, session, part, transaction, &mut replaces).await;
    let made = match ended {
        Ok(Ended::Made) => Ok(()),
        Ok(Ended::NotMade(fault)) | Err(fault) => {
            retire(db);
            Err(exists(fault, session).at(what))
        }
        Ok(Ended::Unknown(fault)) => {
            retire(db);
            // Of the others nothing shows: whoever was cut off begins again.
            let trace =
                group::Trace { transaction, creates: false, previous: None, revision: None };
            match is_last {
                true => match fate::find_out(connections, session, &trace).await {
                    Fate::Made => Ok(()),
                    Fate::NotMade => Err(fault.at(what)),
                    Fate::Unknown => Err(group::doubtful(what, fault)),
                },
                false => Err(fault.at(what)),
            }
        }
    };
    made?;
    if replaces {
        remove::sweep(connections).await;
    }
    Ok(replaces)
}

/// Says that the session exists, where its name was taken meanwhile.
fn exists(fault: Fault, session: &SessionId) -> Fault {
    match fault.code() {
        Some(&tokio_postgres::error::SqlState::UNIQUE_VIOLATION) => {
            StorageError::SessionExists { session: session.clone() }.into()
        }
        _ => fault,
    }
}

async fn write(
    db: &ClientWrapper,
    session: &SessionId,
    part: ImportPart,
    transaction: i64,
    replaces: &mut bool,
) -> FaultResult<Ended> {
    db.batch_execute(BEGIN).await?;
    let sql = format!(
        "SELECT {} FROM contexture_sessions AS t WHERE t.name = $1 OR t.name = $2 FOR UPDATE",
        SessionRow::COLUMNS
    );
    let hidden = staged(session);
    let found = ask(db, &sql, &[&session.as_str(), &hidden]).await?;
    let (mut there, mut row) = (None, None);
    for found in &found {
        let is_whole = found.try_get::<_, &str>(1)? == session.as_str();
        *(if is_whole { &mut there } else { &mut row }) = Some(SessionRow::read(found)?);
    }
    let over = match &part {
        ImportPart::Begin => None,
        ImportPart::BeginOver(over) => Some(over),
        _ => row.as_ref().filter(|row| is_over(row)).map(|row| &row.info),
    };
    ImportPart::admit(session, there.as_ref().map(|there: &SessionRow| &there.info), over)?;
    let statements = match (part, row) {
        (ImportPart::Begin, None) => {
            vec![group::head(&begun(session, transaction), &hidden, true)?]
        }
        (ImportPart::BeginOver(over), None) => {
            let recent = there.map(|there| there.recent).unwrap_or_default();
            let row = SessionRow { id: transaction, info: over, recent };
            vec![group::head(&row, &hidden, true)?]
        }
        // Somebody else began at the same time.
        (ImportPart::Begin | ImportPart::BeginOver(_), Some(_)) => {
            let subject = format!("the import of session '{session}'");
            return Err(StorageError::Conflict { subject }.into());
        }
        (_, None) => return Err(StorageError::SessionMissing { session: session.clone() }.into()),
        (ImportPart::Finish(info), Some(mut row)) => {
            // Whoever wrote to it left a trace, also beside edits.
            if there.as_ref().is_some_and(|there| there.recent != row.recent) {
                let subject = format!("session '{session}'");
                return Err(StorageError::Conflict { subject }.into());
            }
            row.info = SessionInfo { id: session.clone(), ..info };
            row.note(transaction);
            // What no entry assigned nobody refers to.
            let sql = "DELETE FROM contexture_contents WHERE session = $1 AND refs <= 0";
            let mut statements = vec![(sql, values![row.id])];
            if let Some(there) = there {
                *replaces = true;
                statements.push((remove::HIDE, values![there.id]));
            }
            statements.push(group::head(&row, session.as_str(), false)?);
            statements
        }
        (part, Some(row)) => statements(row.id, part, transaction)?,
    };
    group::finish(db, statements, None).await
}

/// Tells whether a session that is not whole takes the place of another, whose head it has until then.
fn is_over(row: &SessionRow) -> bool {
    row.info.next_place > Place(0)
}

fn begun(session: &SessionId, id: i64) -> SessionRow {
    let at = Timestamp::from_millis(0);
    let info = SessionInfo {
        id: session.clone(),
        app: String::new(),
        revision: Revision(0),
        next_place: Place(0),
        mark: Mark::of_session(session, at),
        created_at: at,
        updated_at: at,
    };
    SessionRow { id, info, recent: Vec::new() }
}

fn statements(session: i64, part: ImportPart, transaction: i64) -> FaultResult<Vec<Bound>> {
    let mut batch = Batch::default();
    match part {
        ImportPart::Begin | ImportPart::BeginOver(_) | ImportPart::Finish(_) => {}
        ImportPart::Segments(segments) => {
            batch.segments.extend(segments.into_iter().map(|it| (it.id.clone(), it)));
        }
        ImportPart::Pages(pages) => pages.into_iter().for_each(|page| batch.add_page(page)),
        ImportPart::Contents(contents) => {
            for content in &contents {
                let (hash, stored) = StoredContent::of(content);
                batch.referred.insert(hash, 0);
                batch.contents.insert(hash, stored);
            }
        }
        ImportPart::History(entries) => {
            for entry in entries {
                for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
                    *batch.referred.entry(hash).or_default() += 1;
                }
                batch.entries.insert(entry.revision, entry);
            }
        }
        ImportPart::Levels(chunks) => batch.levels.extend(chunks),
        ImportPart::Views(heads) => {
            for head in heads {
                batch.views.insert(head.view.clone(), head.touched);
                batch.focus.extend(head.focus.map(|page| (head.view, Some(page))));
            }
        }
        ImportPart::Custom(custom) => {
            batch.custom.extend(custom.into_iter().map(|(key, value)| (key, Some(value))));
        }
        ImportPart::Runs(records) => {
            batch.runs.extend(records.into_iter().map(|it| (it.key.clone(), Some(it))));
        }
        ImportPart::Ledger(key, records) => {
            let numbered = records.into_iter().map(|sent| ((key.clone(), sent.number), sent));
            batch.windows.extend(numbered);
        }
    }
    batch.statements(session, transaction)
}
