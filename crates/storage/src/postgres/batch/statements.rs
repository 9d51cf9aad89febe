//! What is gathered, as statements.

use contexture_core::{LedgerKey, PageIndex, SentWindow};

use super::{Batch, Bound};
use crate::postgres::{
    error::{Outcome, integer},
    rows::{self, HistoryRow, PageColumns, SentRow},
};

impl Batch {
    /// Returns the statements that write it, in an order in which they may be made.
    pub(crate) fn statements(&self, session: i64, transaction: i64) -> Outcome<Vec<Bound>> {
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
        if !hashes.is_empty() {
            all.push((
                "INSERT INTO contexture_contents (session, hash, refs, raw, data)
                 SELECT $1::bigint, w.hash, w.refs, w.raw, w.data
                 FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[])
                     AS w (hash, refs, raw, data)
                 ON CONFLICT (session, hash) DO UPDATE SET
                     refs = contexture_contents.refs + excluded.refs",
                values![session, hashes, refs, raws, datas],
            ));
        }
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
        if self.segments.is_empty() {
            return;
        }
        let (mut names, mut datas, mut sums) = (vec![], vec![], vec![]);
        for segment in self.segments.values() {
            let (data, sum) = rows::encode_segment(session, segment);
            names.push(segment.id.to_string());
            datas.push(data);
            sums.push(sum.to_vec());
        }
        all.push((
            "INSERT INTO contexture_segments (session, name, data, checksum)
             SELECT $1::bigint, w.name, w.data, w.checksum
             FROM unnest($2::text[], $3::bytea[], $4::bytea[]) AS w (name, data, checksum)
             ON CONFLICT (session, name) DO UPDATE SET
                 data = excluded.data, checksum = excluded.checksum",
            values![session, names, datas, sums],
        ));
    }

    fn write_pages(&self, session: i64, all: &mut Vec<Bound>) -> Outcome<()> {
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
        if !numbers.is_empty() {
            all.push((
                "INSERT INTO contexture_pages (session, segment, number, parent, place, standing,
                     version, turn_author, data, checksum)
                 SELECT $1::bigint, w.segment, w.number, w.parent, w.place, w.standing, w.version,
                     w.turn_author, w.data, w.checksum
                 FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                     $7::bigint[], $8::text[], $9::bytea[], $10::bytea[])
                     AS w (segment, number, parent, place, standing, version, turn_author, data,
                         checksum)
                 ON CONFLICT (session, segment, number) DO UPDATE SET
                     parent = excluded.parent, place = excluded.place,
                     standing = excluded.standing, version = excluded.version,
                     turn_author = excluded.turn_author, data = excluded.data,
                     checksum = excluded.checksum",
                values![
                    session, segments, numbers, parents, places, standings, versions, authors,
                    datas, sums
                ],
            ));
        }
        self.write_counts(session, all)
    }

    fn write_counts(&self, session: i64, all: &mut Vec<Bound>) -> Outcome<()> {
        let (mut segments, mut numbers, mut counts) = (vec![], vec![], vec![]);
        for (parent, by) in self.listed.iter().filter(|(_, by)| **by != 0) {
            segments.push(parent.segment().to_string());
            numbers.push(integer(parent.number(), "page number")?);
            counts.push(*by);
        }
        if !numbers.is_empty() {
            all.push((
                "INSERT INTO contexture_directories (session, segment, number, listed)
                 SELECT $1::bigint, w.segment, w.number, w.listed
                 FROM unnest($2::text[], $3::bigint[], $4::bigint[])
                     AS w (segment, number, listed)
                 ON CONFLICT (session, segment, number) DO UPDATE SET
                     listed = contexture_directories.listed + excluded.listed",
                values![session, segments, numbers, counts],
            ));
        }
        Ok(())
    }

    fn write_levels(&self, session: i64, all: &mut Vec<Bound>) -> Outcome<()> {
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
        if !chunks.is_empty() {
            all.push((
                "INSERT INTO contexture_levels (session, view_id, segment, chunk, data, checksum)
                 SELECT $1::bigint, w.view_id, w.segment, w.chunk, w.data, w.checksum
                 FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bytea[])
                     AS w (view_id, segment, chunk, data, checksum)
                 ON CONFLICT (session, view_id, segment, chunk) DO UPDATE SET
                     data = excluded.data, checksum = excluded.checksum",
                values![session, views, segments, chunks, datas, sums],
            ));
        }
        Ok(())
    }

    fn write_views(&self, session: i64, all: &mut Vec<Bound>) -> Outcome<()> {
        if !self.views.is_empty() {
            let (mut views, mut touched, mut sums) = (vec![], vec![], vec![]);
            for (view, revision) in &self.views {
                let (view, revision) = (view.to_string(), integer(revision.0, "revision")?);
                sums.push(rows::view_checksum(session, &view, revision).to_vec());
                views.push(view);
                touched.push(revision);
            }
            all.push((
                "INSERT INTO contexture_views (session, view_id, touched, checksum)
                 SELECT $1::bigint, w.view_id, w.touched, w.checksum
                 FROM unnest($2::text[], $3::bigint[], $4::bytea[])
                     AS w (view_id, touched, checksum)
                 ON CONFLICT (session, view_id) DO UPDATE SET
                     touched = excluded.touched, checksum = excluded.checksum",
                values![session, views, touched, sums],
            ));
        }
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
        if !views.is_empty() {
            all.push((
                "INSERT INTO contexture_focus (session, view_id, page, checksum)
                 SELECT $1::bigint, w.view_id, w.page, w.checksum
                 FROM unnest($2::text[], $3::text[], $4::bytea[]) AS w (view_id, page, checksum)
                 ON CONFLICT (session, view_id) DO UPDATE SET
                     page = excluded.page, checksum = excluded.checksum",
                values![session, views, pages, sums],
            ));
        }
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
        if !names.is_empty() {
            all.push((
                "INSERT INTO contexture_custom (session, name, content, checksum)
                 SELECT $1::bigint, w.name, w.content, w.checksum
                 FROM unnest($2::text[], $3::bytea[], $4::bytea[]) AS w (name, content, checksum)
                 ON CONFLICT (session, name) DO UPDATE SET
                     content = excluded.content, checksum = excluded.checksum",
                values![session, names, contents, sums],
            ));
        }
    }

    fn write_runs(&self, session: i64, all: &mut Vec<Bound>) -> Outcome<()> {
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
        if !names.is_empty() {
            all.push((
                "INSERT INTO contexture_runs (session, name, version, content, updated_at, checksum)
                 SELECT $1::bigint, w.name, w.version, w.content, w.updated_at, w.checksum
                 FROM unnest($2::text[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[])
                     AS w (name, version, content, updated_at, checksum)
                 ON CONFLICT (session, name) DO UPDATE SET
                     version = excluded.version, content = excluded.content,
                     updated_at = excluded.updated_at, checksum = excluded.checksum",
                values![session, names, versions, contents, times, sums],
            ));
        }
        Ok(())
    }

    fn write_history(&self, session: i64, transaction: i64, all: &mut Vec<Bound>) -> Outcome<()> {
        for (entries, sql) in [
            (
                &self.entries,
                "INSERT INTO contexture_history
                     (session, revision, actor, undoable, written_by, raw, data, checksum)
                 SELECT $1::bigint, w.revision, w.actor, w.undoable, $2::bigint, w.raw, w.data,
                     w.checksum
                 FROM unnest($3::bigint[], $4::text[], $5::boolean[], $6::bigint[], $7::bytea[],
                     $8::bytea[]) AS w (revision, actor, undoable, raw, data, checksum)",
            ),
            (
                &self.amended,
                "UPDATE contexture_history AS t SET undoable = w.undoable, raw = w.raw,
                     data = w.data, checksum = w.checksum
                 FROM unnest($3::bigint[], $4::text[], $5::boolean[], $6::bigint[], $7::bytea[],
                     $8::bytea[]) AS w (revision, actor, undoable, raw, data, checksum)
                 WHERE t.session = $1 AND t.revision = w.revision AND $2::bigint IS NOT NULL",
            ),
        ] {
            if entries.is_empty() {
                continue;
            }
            let (mut revisions, mut actors, mut undoables) = (vec![], vec![], vec![]);
            let (mut raws, mut datas, mut sums) = (vec![], vec![], vec![]);
            for entry in entries.values() {
                let row = HistoryRow::of(entry)?;
                revisions.push(row.revision);
                undoables.push(row.undoable);
                raws.push(row.packed.raw);
                datas.push(row.stored().to_vec());
                sums.push(row.checksum(session).to_vec());
                actors.push(row.actor);
            }
            all.push((
                sql,
                values![session, transaction, revisions, actors, undoables, raws, datas, sums],
            ));
        }
        Ok(())
    }
}

/// Adds the statement that writes records of ledgers, in place of those there are.
pub(crate) fn write_windows<'a>(
    session: i64,
    windows: impl IntoIterator<Item = (&'a (LedgerKey, u64), &'a SentWindow)>,
    all: &mut Vec<Bound>,
) -> Outcome<()> {
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
    if !numbers.is_empty() {
        all.push((
            "INSERT INTO contexture_ledger (session, view_id, format, number, raw, data, checksum)
             SELECT $1::bigint, w.view_id, w.format, w.number, w.raw, w.data, w.checksum
             FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[],
                 $7::bytea[]) AS w (view_id, format, number, raw, data, checksum)
             ON CONFLICT (session, view_id, format, number) DO UPDATE SET
                 raw = excluded.raw, data = excluded.data, checksum = excluded.checksum",
            values![session, views, formats, numbers, raws, datas, sums],
        ));
    }
    Ok(())
}
