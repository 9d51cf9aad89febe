//! Repairing: what cannot be read is copied into the quarantine and no longer named; lists are made
//! anew from what they are made from.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use contexture_core::{SessionId, storage::StorageError};

use super::{
    compact::everything,
    cursor::Direction,
    fault::{Fault, FaultResult},
    import::Builder,
    keys::{self, family},
    manifest::Manifest,
    objects::{CHUNK, DELTA, Looked, MANIFEST, PACK, object_name},
    records,
    root::{Id, ObjectRef, Root},
    session::{Inner, Known, Published, Session},
    verify::{Damage, Survey, damaged},
    view::View,
};

impl Inner {
    /// Mends all sessions; tells what it did. Nothing is deleted, not even what nothing refers to:
    /// what is damaged may have referred to it.
    pub(crate) async fn repair(&self) -> FaultResult<Vec<String>> {
        let mut report = Vec::new();
        for name in self.names().await? {
            let session = self.session(&name);
            let _turn = session.queue.turn().await;
            session.forget();
            match self.fresh(&session).await {
                Ok(Some(known)) => report.extend(self.repair_session(&session, known).await?),
                Ok(None) => {}
                Err(Fault::Storage(StorageError::Corrupt { reason, .. })) => {
                    report.push(self.quarantine_root(&name, &reason).await?);
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(report)
    }

    /// Moves a root that cannot be read into the quarantine. The objects it named stay where they are.
    async fn quarantine_root(&self, session: &SessionId, reason: &str) -> FaultResult<String> {
        let path = self.objects.root_path(session);
        if let Looked::Found(found) = self.objects.look(&path, None).await? {
            let name = format!("{session}@{}", Id::random(&self.objects.name)?);
            self.objects
                .put(&self.objects.path(&["quarantine", "sessions", &name]), found.bytes)
                .await?;
            self.objects.delete(vec![path]).await?;
        }
        Ok(format!(
            "the root of session '{session}' is lost: {reason}; it was moved to quarantine/sessions"
        ))
    }

    async fn repair_session(&self, session: &Session, known: Known) -> FaultResult<Vec<String>> {
        let Some(view) = self.view_of(&session.id, &known) else { return Ok(Vec::new()) };
        let begun = Instant::now();
        let damage = damaged(&view).await?;
        let mut report = Vec::new();
        for (name, fault) in &damage {
            self.quarantine(&view, name).await?;
            report.push(format!(
                "{}; it was copied to the quarantine",
                fault.clone().into_storage_error()
            ));
        }
        let lost = |manifest: &ObjectRef| damage.contains_key(&object_name(MANIFEST, manifest.id));
        if view.root.meta.manifest.as_ref().is_some_and(lost) {
            self.hold(&view.home).await?;
            let objects = view.home.folder();
            report
                .push(format!("the objects it named stay in {objects}, listed in quarantine/held"));
        }
        let view = without(&view, &damage).await?;
        let survey = Survey::of(&view).await?;
        let wrong: Vec<&str> =
            survey.lists().filter(|(_, right)| !right).map(|(what, _)| what).collect();
        if damage.is_empty() && wrong.is_empty() {
            return Ok(report);
        }
        for what in wrong {
            report.push(format!("{what} of session '{}' were rebuilt", session.id));
        }
        let root = rebuilt(&view, &damage).await?;
        self.check_time(begun)?;
        match self.publish(session, Some(known.version), root).await? {
            Published::Done(_) => Ok(report),
            Published::Lost => Err(StorageError::Unavailable {
                what: format!("session '{}'", session.id),
                reason: "other processes wrote to it during the repair; repair it again".to_owned(),
            }
            .into()),
        }
    }

    /// Copies an object into the quarantine, as it is.
    async fn quarantine(&self, view: &View, name: &str) -> FaultResult<()> {
        if let Looked::Found(found) = self.objects.look(&view.home.path(name), None).await? {
            let incarnation = view.home.incarnation.to_string();
            let parts = ["quarantine", "data", view.home.session.as_str(), &incarnation, name];
            self.objects.put(&self.objects.path(&parts), found.bytes).await?;
        }
        Ok(())
    }
}

/// Returns a session without what cannot be read.
async fn without(view: &View, damage: &Damage) -> FaultResult<View> {
    let is_whole = |kind, id| !damage.contains_key(&object_name(kind, id));
    let mut root = (*view.root).clone();
    root.meta.deltas.retain(|delta| is_whole(DELTA, delta.id));
    root.meta.packs.retain(|pack| is_whole(PACK, *pack));
    root.meta.manifest = root.meta.manifest.filter(|manifest| is_whole(MANIFEST, manifest.id));
    let manifest = view.home.manifest(root.meta.manifest.as_ref()).await?;
    let mut whole: Manifest = (*manifest).clone();
    for chunks in &mut whole.levels {
        chunks.retain(|chunk| is_whole(CHUNK, chunk.object.id));
    }
    whole.packs.retain(|pack| is_whole(PACK, *pack));
    if whole != *manifest {
        root.meta.manifest = Some(view.home.put_manifest(&whole).await?);
    }
    Ok(View::new(view.home.clone(), Arc::new(root)))
}

/// Puts a session together anew from what is not made from anything else.
async fn rebuilt(view: &View, damage: &Damage) -> FaultResult<Root> {
    let mut builder = Builder::new(view.home.clone());
    let manifest = view.home.manifest(view.root.meta.manifest.as_ref()).await?;
    let packs: BTreeSet<Id> = view.root.meta.packs.iter().chain(&manifest.packs).copied().collect();
    packs.iter().for_each(|pack| builder.keep_pack(*pack));
    let mut cursor = view.walk(everything(), Direction::Forward, 4).await?;
    while let Some((key, value)) = cursor.next().await? {
        match key.first().copied().unwrap_or_default() {
            family::PAGE => match records::page(&key, &value) {
                Ok(page) => builder.page(&page).await?,
                Err(_) => builder.put(key, value).await?,
            },
            family::HISTORY => match records::entry(&key, &value) {
                Ok(entry) => builder.entry(&entry).await?,
                Err(_) => builder.put(key, value).await?,
            },
            family::CONTENT => {
                let pack = keys::read_copy(&key).and_then(|(_, pack)| pack);
                let lost = |pack| damage.contains_key(&object_name(PACK, pack));
                if !pack.is_some_and(lost) {
                    builder.put(key, value).await?;
                }
            }
            family::ACTOR
            | family::CHILD
            | family::DIRECTORY
            | family::REFERENCE
            | family::TURN
            | family::UNLISTED => {}
            _ => builder.put(key, value).await?,
        }
    }
    let mut root = Root { inline: Arc::default(), ..(*view.root).clone() };
    root.meta.deltas.clear();
    root.meta.packs.clear();
    root.meta.manifest = Some(builder.finish().await?);
    Ok(root)
}
