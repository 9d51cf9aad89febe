//! Collecting: objects that nothing refers to are deleted once nobody can need them any more.
//!
//! Who may: a snapshot or a reader of an older root, and a writer that has not named them yet. They
//! are given a time of grace, measured by the server's own clock; snapshots of this process as long
//! as they are held.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use contexture_core::{SessionId, storage::StorageError};
use object_store::{ObjectMeta, ObjectStoreExt, path::Path};

use super::{
    fault::{Doing, Fault, FaultResult},
    manifest::Manifest,
    objects::{CHUNK, DELTA, Home, Looked, MANIFEST, PACK, object_name},
    root::{Id, Root},
    session::{Inner, Session},
};

/// Returns what all objects are called that a root and its manifest name.
pub(crate) fn names(root: &Root, manifest: &Manifest) -> BTreeSet<String> {
    let meta = &root.meta;
    let deltas = meta.deltas.iter().map(|delta| object_name(DELTA, delta.id));
    let chunks = manifest.levels.iter().flatten();
    let chunks = chunks.map(|chunk| object_name(CHUNK, chunk.object.id));
    let packs = meta.packs.iter().chain(&manifest.packs).map(|pack| object_name(PACK, *pack));
    let manifest = meta.manifest.iter().map(|manifest| object_name(MANIFEST, manifest.id));
    deltas.chain(chunks).chain(packs).chain(manifest).collect()
}

/// Adds where all objects lie that a root and its manifest name.
async fn keep(home: &Home, root: &Root, kept: &mut BTreeSet<Path>) -> FaultResult<()> {
    let manifest = home.manifest(root.meta.manifest.as_ref()).await?;
    kept.extend(names(root, &manifest).iter().map(|name| home.path(name)));
    Ok(())
}

/// Objects of a session that nothing refers to.
struct Unnamed {
    /// Those that are deleted in time.
    free: Vec<ObjectMeta>,
    /// Those that a repair has kept from that.
    aside: Vec<ObjectMeta>,
}

impl Inner {
    /// Refuses to name objects that were written so long ago that they may have been collected.
    pub(crate) fn check_time(&self, begun: Instant) -> FaultResult<()> {
        let most = (self.objects.tuning.grace / 2).max(Duration::from_secs(60));
        if begun.elapsed() < most {
            return Ok(());
        }
        let reason = format!("it took longer than {} seconds", most.as_secs());
        Err(StorageError::Unavailable { what: self.objects.name.clone(), reason }.into())
    }

    /// Deletes what nothing refers to in the folders of a session; returns how much it was.
    pub(crate) async fn collect(&self, session: &Session) -> FaultResult<usize> {
        match self.unnamed(session).await? {
            Some(unnamed) => self.delete_old(unnamed.free).await,
            None => Ok(0),
        }
    }

    /// Deletes what only the quarantine keeps of a session; tells whether none of that is left.
    pub(crate) async fn collect_aside(&self, session: &Session) -> FaultResult<bool> {
        match self.unnamed(session).await? {
            Some(unnamed) => {
                let count = unnamed.aside.len();
                Ok(self.delete_old(unnamed.aside).await? == count)
            }
            None => Ok(false),
        }
    }

    /// Returns what nothing refers to in the folders of a session; nothing while it is being taken over.
    async fn unnamed(&self, session: &Session) -> FaultResult<Option<Unnamed>> {
        let Some(known) = self.fresh(session).await? else {
            return self.unnamed_but(&session.id, None, &BTreeSet::new()).await.map(Some);
        };
        if known.root.is_importing() {
            return Ok(None);
        }
        let mut kept = BTreeSet::new();
        let home = Home::new(&self.objects, &session.id, &known.root);
        keep(&home, &known.root, &mut kept).await?;
        for view in self.held(&session.id) {
            // What a purge took from a snapshot is gone; the rest of it is of no use.
            if let Err(fault @ Fault::Storage(_)) = keep(&view.home, &view.root, &mut kept).await {
                return Err(fault);
            }
        }
        self.unnamed_but(&session.id, Some(&home), &kept).await.map(Some)
    }

    /// Returns all but what is kept. `home` is the folder of the session as it is now.
    ///
    /// A root in quarantine may be mended and put back: all folders of its session that may be its
    /// own stay, also when a session of that name was made again.
    async fn unnamed_but(
        &self,
        session: &SessionId,
        home: Option<&Home>,
        kept: &BTreeSet<Path>,
    ) -> FaultResult<Unnamed> {
        let mut free = self.objects.list(&["data", session.as_str()]).await?;
        free.retain(|meta| !kept.contains(&meta.location));
        let mut aside = Vec::new();
        if !free.is_empty() && self.has_root_aside(session).await? {
            let home = home.map(Home::folder);
            let is_others =
                |path: &Path| home.as_ref().is_none_or(|home| !path.prefix_matches(home));
            aside.extend(free.extract_if(.., |meta| is_others(&meta.location)));
        }
        if !free.is_empty() {
            let held = self.on_hold(session).await?;
            aside.extend(free.extract_if(.., |meta| held.contains(meta.location.as_ref())));
        }
        Ok(Unnamed { free, aside })
    }

    /// Deletes those that nobody can need any more; returns how many they were.
    async fn delete_old(&self, listed: Vec<ObjectMeta>) -> FaultResult<usize> {
        if listed.is_empty() {
            return Ok(0);
        }
        let clock = self.server_clock().await?;
        let mut old = Vec::new();
        for meta in listed {
            let age = clock.last_modified.signed_duration_since(meta.last_modified);
            let age = age.to_std().unwrap_or_default();
            if age >= self.objects.tuning.grace {
                old.push(meta.location);
            }
        }
        let count = old.len();
        self.objects.delete(old).await?;
        Ok(count)
    }

    /// Tells whether a root of a session lies in quarantine.
    async fn has_root_aside(&self, session: &SessionId) -> FaultResult<bool> {
        let aside = self.objects.list(&["quarantine", "sessions"]).await?;
        let root = format!("{session}@");
        let is_root = |path: &Path| path.filename().is_some_and(|name| name.starts_with(&root));
        Ok(aside.iter().any(|meta| is_root(&meta.location)))
    }

    /// Returns an object that was just written: when that was, the server says by its own clock.
    async fn server_clock(&self) -> FaultResult<ObjectMeta> {
        let id = Id::random(&self.objects.name)?;
        let path = self.objects.path(&[&format!("clock-{id}")]);
        self.objects.put(&path, Vec::new()).await?;
        let head = self.objects.store.head(&path).await;
        self.objects.delete(vec![path]).await?;
        head.map_err(|error| self.objects.refused(Doing::Reading, &error).into())
    }

    /// Keeps all that is in a folder now from being collected: what named it cannot be read.
    pub(crate) async fn hold(&self, home: &Home) -> FaultResult<()> {
        let listed = home.list().await?;
        let paths: Vec<&str> = listed.iter().map(|meta| meta.location.as_ref()).collect();
        let id = Id::random(&self.objects.name)?.to_string();
        let path = self.objects.path(&["quarantine", "held", home.session.as_str(), &id]);
        self.objects.put(&path, paths.join("\n").into_bytes()).await
    }

    /// Returns where all lies that was so kept.
    async fn on_hold(&self, session: &SessionId) -> FaultResult<BTreeSet<String>> {
        let mut paths = BTreeSet::new();
        for meta in self.objects.list(&["quarantine", "held", session.as_str()]).await? {
            if let Looked::Found(found) = self.objects.look(&meta.location, None).await? {
                let text = String::from_utf8_lossy(&found.bytes);
                paths.extend(text.lines().map(str::to_owned));
            }
        }
        Ok(paths)
    }

    /// Deletes what sessions left that are no longer there.
    pub(crate) async fn collect_gone(&self) -> FaultResult<usize> {
        let folder = self.objects.path(&["data"]);
        let listed = self.objects.store.list_with_delimiter(Some(&folder)).await;
        let listed = listed.map_err(|error| self.objects.refused(Doing::Reading, &error))?;
        let there: BTreeSet<SessionId> = self.names().await?.into_iter().collect();
        let name = |path: &Path| path.filename()?.parse::<SessionId>().ok();
        let mut count = 0;
        for id in listed.common_prefixes.iter().filter_map(name) {
            if !there.contains(&id) {
                count += self.collect(&self.session(&id)).await?;
            }
        }
        Ok(count)
    }
}
