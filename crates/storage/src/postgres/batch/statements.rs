//! What is gathered, as statements.

use std::sync::LazyLock;

use contexture_core::{
    HistoryEntry, PageIndex,
    storage::{LedgerKey, SentWindow},
};

use super::{
    Batch, Bound,
    upsert::{Clash, Column, Upsert, columns},
};
use crate::postgres::{
    error::{FaultResult, integer},
    rows::{self, HistoryRow, PageColumns, SentRow},
};

/// The columns that every packed value has.
const BYTES: [(&str, &str); 2] = [("data", "bytea"), ("checksum", "bytea")];

static CONTENTS: LazyLock<Upsert> = LazyLock::new(|| {
    let rest = [("refs", "bigint"), ("raw", "bigint"), ("data", "bytea")];
    Upsert::new("contexture_contents", &[("hash", "bytea")], &rest, Clash::Grow("refs"))
});

static SEGMENTS: LazyLock<Upsert> = LazyLock::new(|| {
    Upsert::new("contexture_segments", &[("name", "text")], &BYTES, Clash::Replace)
});

static PAGES: LazyLock<Upsert> = LazyLock::new(|| {
    let rest = [
        ("parent", "bigint"),
        ("place", "bigint"),
        ("standing", "bigint"),
        ("version", "bigint"),
        ("turn_author", "text"),
        BYTES[0],
        BYTES[1],
    ];
    let key = [("segment", "text"), ("number", "bigint")];
    Upsert::new("contexture_pages", &key, &rest, Clash::Replace)
});

static DIRECTORIES: LazyLock<Upsert> = LazyLock::new(|| {
    let key = [("segment", "text"), ("number", "bigint")];
    let rest = [("listed", "bigint")];
    Upsert::new("contexture_directories", &key, &rest, Clash::Grow("listed"))
});

static LEVELS: LazyLock<Upsert> = LazyLock::new(|| {
    let key = [("view_id", "text"), ("segment", "text"), ("chunk", "bigint")];
    Upsert::new("contexture_levels", &key, &BYTES, Clash::Replace)
});

static VIEWS: LazyLock<Upsert> = LazyLock::new(|| {
    let rest = [("touched", "bigint"), ("checksum", "bytea")];
    Upsert::new("contexture_views", &[("view_id", "text")], &rest, Clash::Replace)
});

static FOCUS: LazyLock<Upsert> = LazyLock::new(|| {
    let rest = [("page", "text"), ("checksum", "bytea")];
    Upsert::new("contexture_focus", &[("view_id", "text")], &rest, Clash::Replace)
});

static CUSTOM: LazyLock<Upsert> = LazyLock::new(|| {
    let rest = [("content", "bytea"), ("checksum", "bytea")];
    Upsert::new("contexture_custom", &[("name", "text")], &rest, Clash::Replace)
});

static RUNS: LazyLock<Upsert> = LazyLock::new(|| {
    let rest = [
        ("version", "bigint"),
        ("content", "bytea"),
        ("updated_at", "bigint"),
        ("checksum", "bytea"),
    ];
    Upsert::new("contexture_runs", &[("name", "text")], &rest, Clash::Replace)
});

static HISTORY: LazyLock<Upsert> = LazyLock::new(|| {
    let rest = [
        ("written_by", "bigint"),
        ("actor", "text"),
        ("undoable", "boolean"),
        ("raw", "bigint"),
        BYTES[0],
        BYTES[1],
    ];
    Upsert::new("contexture_history", &[("revision", "bigint")], &rest, Clash::Refuse)
});

static LEDGER: LazyLock<Upsert> = LazyLock::new(|| {
    let key = [("view_id", "text"), ("format", "text"), ("number", "bigint")];
    let rest = [("raw", "bigint"), BYTES[0], BYTES[1]];
    Upsert::new("contexture_ledger", &key, &rest, Clash::Replace)
});

impl Batch {
    /// Returns the statements that write it, in an order in which they may be made.
    pub(crate) fn statements(&self, session: i64, transaction: i64) -> FaultResult<Vec<Bound>> {
        let mut all = Vec::new();
        self.write_contents(session, &mut all);
        self.write_segments(session, &mut all);
        self.write_pages(session, &mut all)?;
        self.write_levels(session, &mut all)?;
        self.write_views(session, &mut all)?;
        self.write_custom(session, &mut all);
        self.write_runs(session, &mut all)?;
        self.write_history(session, transaction, &mut all)?;
        write_windows(session, &self.windows, &mut all)?;
        Ok(all)
    }

    fn write_contents(&self, session: i64, all: &mut Vec<Bound>) {
        let (mut hashes, mut refs, mut raws, mut datas) = (vec![], vec![], vec![], vec![]);
        let (mut known, mut known_refs) = (vec![], vec![]);
        for (hash, count) in &self.referred {
            match self.contents.get(hash) {
                Some(content) => {
                    hashes.push(hash.as_bytes().to_vec());
                    refs.push(*count);
                    raws.push(content.raw);
                    datas.push(content.data.clone());
                }
                None => {
                    known.push(hash.as_bytes().to_vec());
                    known_refs.push(*count);
                }
            }
        }
        all.extend(CONTENTS.write(session, columns![hashes, refs, raws, datas]));
        const COUNT: &str = "UPDATE contexture_contents AS t SET refs = t.refs + w.refs
             FROM unnest($2::bytea[], $3::bigint[]) AS w (hash, refs)
             WHERE t.session = $1 AND t.hash = w.hash";
        if !known.is_empty() {
            all.push((COUNT, values![session, known, known_refs]));
        }
        if !self.freed.is_empty() {
            let freed: Vec<Vec<u8>> =
                self.freed.keys().map(|hash| hash.as_bytes().to_vec()).collect();
            let by: Vec<i64> = self.freed.values().map(|count| -count).collect();
            all.push((COUNT, values![session, freed.clone(), by]));
            all.push((
                "DELETE FROM contexture_contents
                 WHERE session = $1 AND hash = ANY($2::bytea[]) AND refs <= 0",
                values![session, freed],
            ));
        }
    }

    fn write_segments(&self, session: i64, all: &mut Vec<Bound>) {
        let (mut names, mut datas, mut sums) = (vec![], vec![], vec![]);
        for segment in self.segments.values() {
            let (data, sum) = rows::encode_segment(session, segment);
            names.push(segment.id.to_string());
            datas.push(data);
            sums.push(sum.to_vec());
        }
        all.extend(SEGMENTS.write(session, columns![names, datas, sums]));
    }

    fn write_pages(&self, session: i64, all: &mut Vec<Bound>) -> FaultResult<()> {
        let (mut segments, mut numbers, mut parents, mut places) = (vec![], vec![], vec![], vec![]);
        let (mut standings, mut versions, mut authors) = (vec![], vec![], vec![]);
        let (mut datas, mut sums) = (vec![], vec![]);
        let (mut gone_segments, mut gone_numbers) = (vec![], vec![]);
        for (index, page) in &self.pages {
            let (segment, number) =
                (index.segment().to_string(), integer(index.number(), "page number")?);
            let Some(page) = page else {
                gone_segments.push(segment);
                gone_numbers.push(number);
                continue;
            };
            let (columns, data) = (PageColumns::of(page)?, page.encode());
            segments.push(segment);
            numbers.push(number);
            parents.push(columns.parent);
            places.push(columns.place);
            standings.push(columns.standing);
            versions.push(columns.version);
            authors.push(columns.turn_author);
            sums.push(rows::page_checksum(session, &data).to_vec());
            datas.push(data);
        }
        if !gone_numbers.is_empty() {
            all.push((
                "DELETE FROM contexture_pages WHERE session = $1 AND (segment, number) IN (
                     SELECT w.segment, w.number
                     FROM unnest($2::text[], $3::bigint[]) AS w (segment, number))",
                values![session, gone_segments, gone_numbers],
            ));
        }
        all.extend(PAGES.write(
            session,
            columns![segments, numbers, parents, places, standings, versions, authors, datas, sums],
        ));
        self.write_counts(session, all)
    }

    fn write_counts(&self, session: i64, all: &mut Vec<Bound>) -> FaultResult<()> {
        let (mut segments, mut numbers, mut counts) = (vec![], vec![], vec![]);
        for (parent, by) in self.listed.iter().filter(|(_, by)| **by != 0) {
            segments.push(parent.segment().to_string());
            numbers.push(integer(parent.number(), "page number")?);
            counts.push(*by);
        }
        all.extend(DIRECTORIES.write(session, columns![segments, numbers, counts]));
        Ok(())
    }

    fn write_levels(&self, session: i64, all: &mut Vec<Bound>) -> FaultResult<()> {
        let (mut views, mut segments, mut chunks) = (vec![], vec![], vec![]);
        let (mut datas, mut sums) = (vec![], vec![]);
        let (mut gone_views, mut gone_segments, mut gone_chunks) = (vec![], vec![], vec![]);
        for (key, chunk) in &self.levels {
            let (view, segment) = (key.view.to_string(), key.segment.to_string());
            let number = integer(key.chunk, "level chunk")?;
            if chunk.is_empty() {
                gone_views.push(view);
                gone_segments.push(segment);
                gone_chunks.push(number);
                continue;
            }
            let (data, sum) = rows::encode_chunk(session, key, chunk)?;
            views.push(view);
            segments.push(segment);
            chunks.push(number);
            datas.push(data);
            sums.push(sum.to_vec());
        }
        if !gone_chunks.is_empty() {
            all.push((
                "DELETE FROM contexture_levels
                 WHERE session = $1 AND (view_id, segment, chunk) IN (
                     SELECT w.view_id, w.segment, w.chunk
                     FROM unnest($2::text[], $3::text[], $4::bigint[])
                         AS w (view_id, segment, chunk))",
                values![session, gone_views, gone_segments, gone_chunks],
            ));
        }
        all.extend(LEVELS.write(session, columns![views, segments, chunks, datas, sums]));
        Ok(())
    }

    fn write_views(&self, session: i64, all: &mut Vec<Bound>) -> FaultResult<()> {
        let (mut views, mut touched, mut sums) = (vec![], vec![], vec![]);
        for (view, revision) in &self.views {
            let (view, revision) = (view.to_string(), integer(revision.0, "revision")?);
            sums.push(rows::view_checksum(session, &view, revision).to_vec());
            views.push(view);
            touched.push(revision);
        }
        all.extend(VIEWS.write(session, columns![views, touched, sums]));
        let (mut views, mut pages, mut sums, mut gone) = (vec![], vec![], vec![], vec![]);
        for (view, page) in &self.focus {
            let view = view.to_string();
            let Some(page) = page.as_ref().map(PageIndex::to_string) else {
                gone.push(view);
                continue;
            };
            sums.push(rows::text_checksum(session, &view, page.as_bytes()).to_vec());
            views.push(view);
            pages.push(page);
        }
        if !gone.is_empty() {
            all.push((
                "DELETE FROM contexture_focus WHERE session = $1 AND view_id = ANY($2::text[])",
                values![session, gone],
            ));
        }
        all.extend(FOCUS.write(session, columns![views, pages, sums]));
        Ok(())
    }

    fn write_custom(&self, session: i64, all: &mut Vec<Bound>) {
        let (mut names, mut contents, mut sums, mut gone) = (vec![], vec![], vec![], vec![]);
        for (key, value) in &self.custom {
            let name = key.to_string();
            let Some(value) = value else {
                gone.push(name);
                continue;
            };
            sums.push(rows::text_checksum(session, &name, value.as_bytes()).to_vec());
            names.push(name);
            contents.push(value.clone().into_bytes());
        }
        if !gone.is_empty() {
            all.push((
                "DELETE FROM contexture_custom WHERE session = $1 AND name = ANY($2::text[])",
                values![session, gone],
            ));
        }
        all.extend(CUSTOM.write(session, columns![names, contents, sums]));
    }

    fn write_runs(&self, session: i64, all: &mut Vec<Bound>) -> FaultResult<()> {
        let (mut names, mut versions, mut contents) = (vec![], vec![], vec![]);
        let (mut times, mut sums, mut gone) = (vec![], vec![], vec![]);
        for (key, record) in &self.runs {
            let Some(record) = record else {
                gone.push(key.to_string());
                continue;
            };
            names.push(key.to_string());
            versions.push(integer(record.version.0, "version")?);
            contents.push(record.value.clone().into_bytes());
            times.push(record.updated_at.as_millis());
            sums.push(rows::run_checksum(session, record).to_vec());
        }
        if !gone.is_empty() {
            all.push((
                "DELETE FROM contexture_runs WHERE session = $1 AND name = ANY($2::text[])",
                values![session, gone],
            ));
        }
        all.extend(RUNS.write(session, columns![names, versions, contents, times, sums]));
        Ok(())
    }

    fn write_history(
        &self,
        session: i64,
        transaction: i64,
        all: &mut Vec<Bound>,
    ) -> FaultResult<()> {
        let written = Entries::of(session, self.entries.values())?;
        let by = vec![transaction; written.revisions.len()];
        let Entries { revisions, actors, undoables, raws, datas, sums } = written;
        let columns = columns![revisions, by, actors, undoables, raws, datas, sums];
        all.extend(HISTORY.write(session, columns));
        if !self.amended.is_empty() {
            let amended = Entries::of(session, self.amended.values())?;
            let Entries { revisions, undoables, raws, datas, sums, .. } = amended;
            all.push((
                "UPDATE contexture_history AS t SET undoable = w.undoable, raw = w.raw,
                     data = w.data, checksum = w.checksum
                 FROM unnest($2::bigint[], $3::boolean[], $4::bigint[], $5::bytea[], $6::bytea[])
                     AS w (revision, undoable, raw, data, checksum)
                 WHERE t.session = $1 AND t.revision = w.revision",
                values![session, revisions, undoables, raws, datas, sums],
            ));
        }
        Ok(())
    }
}

/// History entries by columns.
#[derive(Default)]
struct Entries {
    revisions: Vec<i64>,
    actors: Vec<String>,
    undoables: Vec<bool>,
    raws: Vec<Option<i64>>,
    datas: Vec<Vec<u8>>,
    sums: Vec<Vec<u8>>,
}

impl Entries {
    fn of<'a>(session: i64, entries: impl Iterator<Item = &'a HistoryEntry>) -> FaultResult<Self> {
        let mut all = Self::default();
        for entry in entries {
            let row = HistoryRow::of(entry)?;
            all.revisions.push(row.revision);
            all.undoables.push(row.undoable);
            all.raws.push(row.packed.raw);
            all.datas.push(row.stored().to_vec());
            all.sums.push(row.checksum(session).to_vec());
            all.actors.push(row.actor);
        }
        Ok(all)
    }
}

/// Adds the statement that writes records of ledgers, in place of those there are.
pub(crate) fn write_windows<'a>(
    session: i64,
    windows: impl IntoIterator<Item = (&'a (LedgerKey, u64), &'a SentWindow)>,
    all: &mut Vec<Bound>,
) -> FaultResult<()> {
    let (mut views, mut formats, mut numbers) = (vec![], vec![], vec![]);
    let (mut raws, mut datas, mut sums) = (vec![], vec![], vec![]);
    for ((key, _), sent) in windows {
        let row = SentRow::of(key, sent)?;
        raws.push(row.packed.raw);
        datas.push(row.stored().to_vec());
        sums.push(row.checksum(session).to_vec());
        numbers.push(row.number);
        views.push(row.view);
        formats.push(row.format);
    }
    all.extend(LEDGER.write(session, columns![views, formats, numbers, raws, datas, sums]));
    Ok(())
}
