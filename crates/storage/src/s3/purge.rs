//! Purging: what is taken away is in no object afterwards.
//!
//! Everything that held any of it is written anew without it, the root is replaced, and the old
//! objects are deleted at once: also those that nothing referred to any more and that only waited to
//! be collected. What is still to be deleted stands in the root, so that the next writer finishes it.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use object_store::UpdateVersion;

use super::{
    collect::names,
    compact::Merger,
    fault::FaultResult,
    keys,
    objects::{PACK, object_name},
    packs::{Pack, PackBuilder},
    root::{Id, Root},
    session::{Inner, Published, Session},
    stage::Stage,
    table::{Over, Table},
    view::View,
};

impl Inner {
    /// Replaces a root by one under which nothing is left of what was purged.
    pub(crate) async fn publish_purge(
        &self,
        session: &Session,
        base: Option<UpdateVersion>,
        stage: Stage,
    ) -> FaultResult<Published> {
        let begun = Instant::now();
        let home = stage.view.home.clone();
        // Listed before the root is replaced: what others write later is based on the new one.
        let listed = home.list().await?;
        let mut doomed: BTreeSet<String> =
            listed.iter().filter_map(|meta| meta.location.filename().map(str::to_owned)).collect();

        let layers = View::new(home.clone(), stage.view.root.clone()).layers().await?;
        let mut merger = Merger::new(home.clone(), (*layers.manifest).clone());
        merger.manifest.packs.extend(&stage.view.root.meta.packs);
        let mut over = stage.view.over.clone();
        for packed in &stage.large {
            let mut pack = PackBuilder::default();
            let data = packed.packed.stored(packed.content.bytes());
            pack.add(packed.content.hash(), packed.packed.raw, data);
            merger.write_pack(pack, &mut over).await?;
        }
        for pack in &stage.dirty {
            rewrite(&mut merger, &stage.view, *pack, &mut over).await?;
            doomed.insert(object_name(PACK, *pack));
        }
        let mut tables = vec![Arc::new(Table::of(&over))];
        tables.extend(layers.tables);
        let packed = merger.pack(&tables).await?;
        tables.insert(0, Arc::new(packed));
        merger.add(tables).await?;
        merger.flatten().await?;

        let mut root = Root { inline: Arc::default(), ..(*stage.view.root).clone() };
        if let Some(info) = &stage.info {
            root.set_info(info);
        }
        root.meta.deltas.clear();
        root.meta.packs.clear();
        root.meta.manifest = Some(home.put_manifest(&merger.manifest).await?);
        let kept = names(&root, &merger.manifest);
        doomed.append(&mut root.meta.doomed.drain(..).collect());
        doomed.extend(merger.replaced);
        doomed.retain(|name| !kept.contains(name));
        root.meta.doomed = doomed.into_iter().collect();
        self.check_time(begun)?;
        let published = self.publish(session, base, root).await?;
        if let Published::Done(known) = &published {
            for name in &known.root.meta.doomed {
                let id = name.split_once('-').and_then(|(_, id)| id.parse().ok());
                id.into_iter().for_each(|id| self.objects.cache.forget(id));
            }
            if let Err(fault) = home.delete(&known.root.meta.doomed).await {
                tracing::warn!(session = %session.id, error = %fault.into_storage_error(), "a purge is not finished");
            }
        }
        Ok(published)
    }
}

/// Writes a pack anew with those of its contents that stay.
async fn rewrite(merger: &mut Merger, view: &View, id: Id, over: &mut Over) -> FaultResult<()> {
    let pack = Pack::read(&merger.home, id).await?;
    let mut kept = PackBuilder::default();
    for entry in &pack.entries {
        let key = keys::copy(&entry.hash, Some(id));
        if view.get(&key).await?.is_some() {
            kept.add(entry.hash, entry.raw, pack.stored(entry));
            over.insert(key, None);
        }
    }
    merger.manifest.packs.retain(|kept| *kept != id);
    if !kept.is_empty() {
        merger.write_pack(kept, over).await?;
    }
    Ok(())
}
