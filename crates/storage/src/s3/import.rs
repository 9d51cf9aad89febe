//! Taking over a session part by part, and putting one together anew.
//!
//! Parts go into chunks as they come, as commits do, so that a session of any size passes through
//! little memory. A root without a head says that a session is being taken over: whoever begins
//! again replaces it, and what was begun before can no longer be finished. A session whose place is taken
//! keeps its root until the new one is whole; what is written for that lies in a folder of its own, and
//! is collected if it never gets that far.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use contexture_core::{
    HistoryEntry, Page, PageIndex, SessionId,
    storage::{Content, ImportPart, SessionInfo, StorageError, ViewHead},
};
use object_store::UpdateVersion;

use super::{
    compact::Merger,
    fault::FaultResult,
    keys,
    manifest::Manifest,
    objects::Home,
    packs::PackBuilder,
    records::{self, Copy},
    root::{Id, ObjectRef, Root},
    session::{Inner, Known, Published},
    stage::listed_in,
    table::{Key, Over, Table, Value},
};
use crate::packing::PackedContent;

/// A session being put together.
pub(crate) struct Builder {
    merger: Merger,
    buffer: Over,
    bytes: usize,
    pack: PackBuilder,
    /// How many pages each directory lists.
    directories: BTreeMap<PageIndex, u64>,
}

impl Builder {
    pub(crate) fn new(home: Home) -> Self {
        Self {
            merger: Merger::new(home, Manifest::default()),
            buffer: Over::new(),
            bytes: 0,
            pack: PackBuilder::default(),
            directories: BTreeMap::new(),
        }
    }

    pub(crate) async fn put(&mut self, key: Key, value: Value) -> FaultResult<()> {
        const MOST: usize = 4 * 1024 * 1024;
        self.bytes += key.len() + value.len();
        self.buffer.insert(key, Some(value));
        if self.bytes > MOST { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> FaultResult<()> {
        let table = Table::of(&std::mem::take(&mut self.buffer));
        self.bytes = 0;
        self.merger.add(vec![Arc::new(table)]).await
    }

    pub(crate) async fn page(&mut self, page: &Page) -> FaultResult<()> {
        self.put(keys::page(&page.index), page.encode().into()).await?;
        for (key, value) in keys::derived(page) {
            self.put(key, value.into()).await?;
        }
        if let Some(parent) = listed_in(page) {
            *self.directories.entry(parent).or_default() += 1;
        }
        Ok(())
    }

    pub(crate) async fn entry(&mut self, entry: &HistoryEntry) -> FaultResult<()> {
        for (key, value) in records::of_entry(entry) {
            self.put(key, value).await?;
        }
        Ok(())
    }

    pub(crate) async fn content(&mut self, content: &Content) -> FaultResult<()> {
        let packed = PackedContent::new(content);
        let data = packed.packed.stored(content.bytes());
        if data.len() < Copy::LEAST_PACKED {
            let copy = Copy::inline(&packed).encode().into();
            return self.put(keys::copy(&content.hash(), None), copy).await;
        }
        self.pack.add(content.hash(), packed.packed.raw, data);
        if self.pack.size() >= self.merger.home.objects.tuning.pack_bytes {
            self.write_pack().await?;
        }
        Ok(())
    }

    async fn write_pack(&mut self) -> FaultResult<()> {
        let pack = std::mem::take(&mut self.pack);
        if !pack.is_empty() {
            let mut records = Over::new();
            self.merger.write_pack(pack, &mut records).await?;
            for (key, value) in records {
                if let Some(value) = value {
                    self.put(key, value).await?;
                }
            }
        }
        Ok(())
    }

    /// Takes over a pack as it is.
    pub(crate) fn keep_pack(&mut self, pack: Id) {
        self.merger.manifest.packs.push(pack);
    }

    /// Writes what is left, and the manifest that names it all.
    pub(crate) async fn finish(mut self) -> FaultResult<ObjectRef> {
        self.write_pack().await?;
        for (index, count) in std::mem::take(&mut self.directories) {
            self.put(keys::directory(&index), count.to_le_bytes().as_slice().into()).await?;
        }
        self.flush().await?;
        let Merger { home, manifest, replaced } = self.merger;
        let object = home.put_manifest(&manifest).await?;
        // Nobody but this has ever seen them.
        home.delete(&replaced).await?;
        Ok(object)
    }
}

/// A session being taken over.
pub(crate) struct Importing {
    version: UpdateVersion,
    root: Arc<Root>,
    builder: Builder,
    /// The session whose place it takes, and since when: what no root names is collected in time.
    over: Option<(Known, Instant)>,
}

impl Inner {
    pub(crate) async fn import(&self, session: &SessionId, part: ImportPart) -> FaultResult<()> {
        match part {
            ImportPart::Begin => {
                let importing = self.begin(session).await?;
                self.imports.lock().await.insert(session.clone(), importing);
                Ok(())
            }
            ImportPart::BeginOver(over) => {
                let importing = self.begin_over(session, &over).await?;
                self.imports.lock().await.insert(session.clone(), importing);
                Ok(())
            }
            ImportPart::Finish(info) => {
                let missing = || StorageError::SessionMissing { session: session.clone() };
                let importing = self.imports.lock().await.remove(session).ok_or_else(missing)?;
                let over = importing.over;
                let manifest = importing.builder.finish().await?;
                let mut root = (*importing.root).clone();
                root.meta.manifest = Some(manifest);
                root.set_info(&info);
                let shared = self.session(session);
                let _turn = shared.queue.turn().await;
                if let Some((_, begun)) = &over {
                    self.check_time(*begun)?;
                }
                match self.publish(&shared, Some(importing.version), root).await? {
                    Published::Done(_) => {
                        let earlier = over.map(|(earlier, _)| earlier);
                        let view = earlier.as_ref().and_then(|it| self.view_of(session, it));
                        self.hand_to_snapshots(&shared, view.as_ref());
                        if let Some(earlier) = earlier {
                            self.forget_folder(session, &earlier).await;
                        }
                        Ok(())
                    }
                    Published::Lost if over.is_some() => {
                        let subject = format!("session '{session}'");
                        Err(StorageError::Conflict { subject }.into())
                    }
                    Published::Lost => match self.view(session).await? {
                        Some(_) => {
                            Err(StorageError::SessionExists { session: session.clone() }.into())
                        }
                        None => Err(missing().into()),
                    },
                }
            }
            part => {
                let taken = self.imports.lock().await.remove(session);
                let Some(mut importing) = taken else {
                    return Err(match self.view(session).await? {
                        Some(_) => StorageError::SessionExists { session: session.clone() },
                        None => StorageError::SessionMissing { session: session.clone() },
                    }
                    .into());
                };
                // Where it fails it is not put back: it would go on with a gap.
                self.still_importing(session, &importing).await?;
                take(&mut importing.builder, part).await?;
                self.imports.lock().await.insert(session.clone(), importing);
                Ok(())
            }
        }
    }

    /// Refuses to go on where others made the session or began to take it over themselves.
    async fn still_importing(&self, session: &SessionId, ours: &Importing) -> FaultResult<()> {
        let now = self.fresh(&self.session(session)).await?;
        let session = session.clone();
        match now {
            Some(known) if ours.over.is_some() && known.version == ours.version => Ok(()),
            _ if ours.over.is_some() => {
                Err(StorageError::Conflict { subject: format!("session '{session}'") }.into())
            }
            Some(known) if !known.root.is_importing() => {
                Err(StorageError::SessionExists { session }.into())
            }
            Some(known) if known.root.meta.incarnation == ours.root.meta.incarnation => Ok(()),
            _ => Err(StorageError::SessionMissing { session }.into()),
        }
    }

    async fn begin(&self, session: &SessionId) -> FaultResult<Importing> {
        let shared = self.session(session);
        let _turn = shared.queue.turn().await;
        for tries in 0..20 {
            let known = self.fresh(&shared).await?;
            if known.as_ref().is_some_and(|known| !known.root.is_importing()) {
                return Err(StorageError::SessionExists { session: session.clone() }.into());
            }
            let mut root = Root::new(session, Id::random(&self.objects.name)?);
            root.meta.sequence = known.as_ref().map_or(0, |known| known.root.meta.sequence);
            let base = known.as_ref().map(|known| known.version.clone());
            if let Published::Done(now) = self.publish(&shared, base, root).await? {
                if let Some(known) = known {
                    self.delete_folder(&Home::new(&self.objects, session, &known.root)).await?;
                }
                let home = Home::new(&self.objects, session, &now.root);
                let builder = Builder::new(home);
                let (version, root) = (now.version, now.root);
                return Ok(Importing { version, root, builder, over: None });
            }
            self.wait(tries).await?;
        }
        let reason = "other processes are importing this session too".to_owned();
        Err(StorageError::Unavailable { what: self.objects.name.clone(), reason }.into())
    }

    /// Begins beside a session that is there.
    async fn begin_over(&self, session: &SessionId, over: &SessionInfo) -> FaultResult<Importing> {
        let known = self.fresh(&self.session(session)).await?;
        let there = known.as_ref().filter(|known| !known.root.is_importing());
        let info = there.map(|known| known.root.info()).transpose()?.flatten();
        ImportPart::admit(session, info.as_ref(), Some(over))?;
        let missing = || StorageError::SessionMissing { session: session.clone() };
        let known = known.ok_or_else(missing)?;
        let mut root = Root::new(session, Id::random(&self.objects.name)?);
        root.meta.sequence = known.root.meta.sequence;
        let builder = Builder::new(Home::new(&self.objects, session, &root));
        let (version, root) = (known.version.clone(), Arc::new(root));
        Ok(Importing { version, root, builder, over: Some((known, Instant::now())) })
    }

    /// Deletes what a session held whose place was taken. What cannot be deleted now is collected later.
    async fn forget_folder(&self, session: &SessionId, earlier: &Known) {
        let home = Home::new(&self.objects, session, &earlier.root);
        if let Err(fault) = self.delete_folder(&home).await {
            tracing::warn!(%session, error = %fault.into_storage_error(), "an earlier state was left behind");
        }
    }

    /// Deletes everything in a folder that no root names any more.
    pub(crate) async fn delete_folder(&self, home: &Home) -> FaultResult<()> {
        let listed = home.list().await?;
        self.objects.delete(listed.into_iter().map(|meta| meta.location).collect()).await
    }
}

async fn take(builder: &mut Builder, part: ImportPart) -> FaultResult<()> {
    match part {
        ImportPart::Begin | ImportPart::BeginOver(_) | ImportPart::Finish(_) => {}
        ImportPart::Segments(segments) => {
            for segment in segments {
                builder.put(keys::segment(&segment.id), records::json(&segment).into()).await?;
            }
        }
        ImportPart::Pages(pages) => {
            for page in pages {
                builder.page(&page).await?;
            }
        }
        ImportPart::Contents(contents) => {
            for content in contents {
                builder.content(&content).await?;
            }
        }
        ImportPart::History(entries) => {
            for entry in entries {
                builder.entry(&entry).await?;
            }
        }
        ImportPart::Levels(chunks) => {
            for (key, chunk) in chunks {
                builder.put(keys::level(&key), records::json(&chunk).into()).await?;
            }
        }
        ImportPart::Views(heads) => {
            for ViewHead { view, focus, touched } in heads {
                if let Some(page) = focus {
                    builder.put(keys::focus(&view), page.to_string().into_bytes().into()).await?;
                }
                let touched = touched.0.to_le_bytes();
                builder.put(keys::view(&view), touched.as_slice().into()).await?;
            }
        }
        ImportPart::Custom(custom) => {
            for (key, text) in custom {
                builder.put(keys::custom(&key), text.into_bytes().into()).await?;
            }
        }
        ImportPart::Runs(runs) => {
            for record in runs {
                builder.put(keys::run(&record.key), records::encode_run(&record).into()).await?;
            }
        }
        ImportPart::Ledger(key, windows) => {
            for sent in windows {
                builder.put(keys::sent(&key, sent.number), records::json(&sent).into()).await?;
            }
        }
    }
    Ok(())
}
