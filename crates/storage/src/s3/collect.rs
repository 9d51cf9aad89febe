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
    fault::{Doing, Fault, Outcome},
    manifest::Manifest,
    objects::{CHUNK, DELTA, Home, MANIFEST, PACK, object_name},
    root::Root,
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
async fn keep(home: &Home, root: &Root, kept: &mut BTreeSet<Path>) -> Outcome<()> {
    let manifest = home.manifest(root.meta.manifest.as_ref()).await?;
    kept.extend(names(root, &manifest).iter().map(|name| home.path(name)));
    Ok(())
}

impl Inner {
    /// Refuses to name objects that were written so long ago that they may have been collected.
    pub(crate) fn check_time(&self, begun: Instant) -> Outcome<()> {
        let most = (self.objects.tuning.grace / 2).max(Duration::from_secs(60));
        if begun.elapsed() < most {
            return Ok(());
        }
        let reason = format!("it took longer than {} seconds", most.as_secs());
        Err(StorageError::Unavailable { what: self.objects.name.clone(), reason }.into())
    }

    /// Deletes what nothing refers to in the folders of a session; returns how much it was.
    pub(crate) async fn collect(&self, session: &Session) -> Outcome<usize> {
        let Some(known) = self.fresh(session).await? else {
            return self.collect_but(&session.id, None, &BTreeSet::new()).await;
        };
        if known.root.is_importing() {
            return Ok(0);
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
        self.collect_but(&session.id, Some(&home), &kept).await
    }

    /// Deletes all but what is kept. `home` is the folder of the session as it is now.
    ///
    /// A root in quarantine may be mended and put back: all folders of its session that may be its
    /// own stay, also when a session of that name was made again.
    async fn collect_but(
        &self,
        session: &SessionId,
        home: Option<&Home>,
        kept: &BTreeSet<Path>,
    ) -> Outcome<usize> {
        let mut listed = self.objects.list(&["data", session.as_str()]).await?;
        listed.retain(|meta| !kept.contains(&meta.location));
        if !listed.is_empty() && self.has_root_aside(session).await? {
            let home = home.map(Home::folder);
            let is_ours = |path: &Path| home.as_ref().is_some_and(|home| path.prefix_matches(home));
            listed.retain(|meta| is_ours(&meta.location));
        }
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
    async fn has_root_aside(&self, session: &SessionId) -> Outcome<bool> {
        let aside = self.objects.list(&["quarantine", "sessions"]).await?;
        let root = format!("{session}@");
        let is_root = |path: &Path| path.filename().is_some_and(|name| name.starts_with(&root));
        Ok(aside.iter().any(|meta| is_root(&meta.location)))
    }

    /// Returns an object that was just written: when that was, the server says by its own clock.
    async fn server_clock(&self) -> Outcome<ObjectMeta> {
        let id = super::root::Id::random(&self.objects.name)?;
        let path = self.objects.path(&[&format!("clock-{id}")]);
        self.objects.put(&path, Vec::new()).await?;
        let head = self.objects.store.head(&path).await;
        self.objects.delete(vec![path]).await?;
        head.map_err(|error| self.objects.refused(Doing::Reading, &error).into())
    }

    /// Deletes what sessions left that are no longer there.
    pub(crate) async fn collect_all(&self) -> Outcome<usize> {
        let listed = self.objects.list(&["data"]).await?;
        let depth = self.objects.path(&["data"]).parts().count();
        let name = |path: &Path| path.parts().nth(depth)?.as_ref().parse::<SessionId>().ok();
        let sessions: BTreeSet<SessionId> =
            listed.iter().filter_map(|meta| name(&meta.location)).collect();
        let mut count = 0;
        for id in sessions {
            count += self.collect(&self.session(&id)).await?;
        }
        Ok(count)
    }
}
