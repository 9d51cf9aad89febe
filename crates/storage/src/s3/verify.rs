//! Verifying everything: every object with its checksum, every record, every list. It names all it
//! finds.

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{PageIndex, SessionId, storage::StorageError};
use futures::FutureExt;

use super::{
    compact::everything,
    cursor::Direction,
    fault::{Fault, FaultResult},
    keys::{self, family},
    manifest::ChunkRef,
    objects::{CHUNK, DELTA, MANIFEST, PACK, at_once, object_name},
    packs::Pack,
    records::{self, Copy},
    root::{Id, ObjectRef},
    session::Inner,
    snapshot::Frozen,
    stage::listed_in,
    view::View,
};
use crate::packing::{checksum, unpack_content};

/// Objects that cannot be read, by what they are called in their folder, each with what is wrong.
pub(crate) type Damage = BTreeMap<String, Fault>;

impl Inner {
    /// Lists what is wrong with all sessions, or with all of a snapshot.
    pub(crate) async fn verify(&self, frozen: Option<&Frozen>) -> FaultResult<Vec<String>> {
        let names = match frozen {
            Some(frozen) => self.frozen_names(frozen).await?,
            None => self.names().await?,
        };
        let mut problems = Vec::new();
        for name in names {
            match self.verify_session(frozen, &name).await {
                Ok(found) => problems.extend(found),
                Err(Fault::Storage(error @ StorageError::Corrupt { .. })) => {
                    problems.push(error.to_string());
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(problems)
    }

    async fn verify_session(
        &self,
        frozen: Option<&Frozen>,
        session: &SessionId,
    ) -> FaultResult<Vec<String>> {
        if let Some(frozen) = frozen {
            let view = self.frozen(frozen, session).await?;
            return match view {
                Some(view) => self.problems(session, &view).await,
                None => Ok(Vec::new()),
            };
        }
        let mut tried: Option<u64> = None;
        loop {
            let Some(view) = self.view(session).await? else { return Ok(Vec::new()) };
            let found = self.problems(session, &view).await;
            let is_sound = found.as_ref().is_ok_and(Vec::is_empty);
            // While it was looked at, what it named may have been replaced and purged.
            if is_sound || tried.replace(view.root.meta.sequence) == Some(view.root.meta.sequence) {
                return found;
            }
        }
    }

    /// Lists what is wrong with a session, one sentence each.
    pub(crate) async fn problems(
        &self,
        session: &SessionId,
        view: &View,
    ) -> FaultResult<Vec<String>> {
        let damage = damaged(view).await?;
        if !damage.is_empty() {
            return Ok(damage
                .into_values()
                .map(|fault| fault.into_storage_error().to_string())
                .collect());
        }
        let survey = Survey::of(view).await?;
        let mut problems = survey.problems.clone();
        let of = format!("of session '{session}'");
        for (what, found) in survey.lists() {
            if !found {
                problems.push(format!("{what} {of} do not match the records they are made from"));
            }
        }
        problems.extend(survey.contents(view, &of).await?);
        Ok(problems)
    }
}

/// Reads every object of a session from the server, and returns those that are not what they were.
pub(crate) async fn damaged(view: &View) -> FaultResult<Damage> {
    let home = &view.home;
    let meta = &view.root.meta;
    let mut damage = Damage::new();
    let mut packs: BTreeSet<Id> = meta.packs.iter().copied().collect();
    let mut tables: Vec<(char, ObjectRef)> =
        meta.deltas.iter().map(|delta| (DELTA, *delta)).collect();
    if let Some(object) = &meta.manifest {
        match home.read_manifest(object).await {
            Ok(manifest) => {
                packs.extend(&manifest.packs);
                let chunks = manifest.levels.iter().flatten();
                tables.extend(chunks.map(|ChunkRef { object, .. }| (CHUNK, *object)));
            }
            Err(fault) => note(&mut damage, MANIFEST, object.id, fault)?,
        }
    }
    let reads = tables.into_iter().map(|(kind, object)| {
        let read =
            async move { Ok((kind, object.id, home.read_table(kind, &object).await.map(|_| ()))) };
        read.boxed()
    });
    for (kind, id, read) in at_once(reads.collect()).await? {
        read.or_else(|fault| note(&mut damage, kind, id, fault))?;
    }
    // Packs are large: one after the other.
    for id in packs {
        let read = async { Pack::read(home, id).await?.verify(&home.named(PACK, id)) };
        read.await.or_else(|fault| note(&mut damage, PACK, id, fault))?;
    }
    Ok(damage)
}

/// Notes damage; what is only out of reach is none.
fn note(damage: &mut Damage, kind: char, id: Id, fault: Fault) -> FaultResult<()> {
    match fault {
        fault @ (Fault::Gone(_) | Fault::Storage(StorageError::Corrupt { .. })) => {
            damage.insert(object_name(kind, id), fault);
            Ok(())
        }
        fault => Err(fault),
    }
}

/// Sums up records, in whatever order they come, so that two lists are compared without holding them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum(u128);

impl Sum {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.0 = self.0.wrapping_add(u128::from_le_bytes(checksum(&[key, value])));
    }
}

/// What one walk over a session found.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) problems: Vec<String>,
    /// Of lists: what pages and history say they should be, and what they are.
    expected: BTreeMap<u8, Sum>,
    found: BTreeMap<u8, Sum>,
    directories: BTreeMap<PageIndex, u64>,
    /// Contents with copies, and contents referred to.
    copied: Sum,
    referred: Sum,
    last_copied: Option<[u8; 16]>,
    last_referred: Option<[u8; 16]>,
}

impl Survey {
    pub(crate) async fn of(view: &View) -> FaultResult<Self> {
        let mut survey = Self::default();
        let mut cursor = view.walk(everything(), Direction::Forward, 4).await?;
        while let Some((key, value)) = cursor.next().await? {
            if let Err(fault) = survey.record(&key, &value) {
                survey.problems.push(fault.into_storage_error().to_string());
            }
        }
        for (index, count) in std::mem::take(&mut survey.directories) {
            let key = keys::directory(&index);
            survey.expect(&key, &count.to_le_bytes());
        }
        Ok(survey)
    }

    fn expect(&mut self, key: &[u8], value: &[u8]) {
        self.expected.entry(key[0]).or_default().add(key, value);
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> FaultResult<()> {
        match key.first().copied().unwrap_or_default() {
            family::PAGE => {
                let page = records::page(key, value)?;
                for (key, value) in keys::derived(&page) {
                    self.expect(&key, &value);
                }
                if let Some(parent) = listed_in(&page) {
                    *self.directories.entry(parent).or_default() += 1;
                }
            }
            family::HISTORY => {
                let entry = records::entry(key, value)?;
                for (key, value) in records::beside_entry(&entry) {
                    self.expect(&key, &value);
                }
            }
            family::CONTENT => {
                Copy::decode(key, value)?;
                let hash = keys::read_copy(key).map(|(hash, _)| hash);
                if hash.is_some() && hash != self.last_copied {
                    self.copied.add(&hash.unwrap_or_default(), &[]);
                    self.last_copied = hash;
                }
            }
            family::SEGMENT => drop(records::segment(key, value)?),
            family::LEVEL => drop(records::level(key, value)?),
            family::VIEW => drop(records::view(key, value)?),
            family::FOCUS => drop(records::focus(key, value)?),
            family::CUSTOM => drop(records::text(key, value)?),
            family::RUN => drop(records::run(key, value)?),
            family::LEDGER => drop(records::sent(key, value)?),
            list @ (family::ACTOR
            | family::CHILD
            | family::DIRECTORY
            | family::REFERENCE
            | family::TURN
            | family::UNLISTED) => {
                self.found.entry(list).or_default().add(key, value);
                let hash = key.get(1..17).and_then(|hash| hash.try_into().ok());
                if list == family::REFERENCE && hash != self.last_referred {
                    self.referred.add(&hash.unwrap_or_default(), &[]);
                    self.last_referred = hash;
                }
            }
            _ => return Err(Fault::corrupt(keys::named(key), "its kind is unknown")),
        }
        Ok(())
    }

    /// Tells of each list whether it is what it should be.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let lists = [
            (family::CHILD, "lists of pages"),
            (family::UNLISTED, "lists of archived pages"),
            (family::DIRECTORY, "counts of pages"),
            (family::TURN, "lists of turns"),
            (family::ACTOR, "lists of entries"),
            (family::REFERENCE, "references to contents"),
        ];
        lists
            .into_iter()
            .map(|(list, what)| (what, self.expected.get(&list) == self.found.get(&list)))
    }

    /// Names contents that are missing or that nothing refers to, and those that are damaged.
    async fn contents(&self, view: &View, of: &str) -> FaultResult<Vec<String>> {
        let mut problems = Vec::new();
        let mut copied: BTreeSet<[u8; 16]> = BTreeSet::new();
        let differ = self.copied != self.referred;
        let range = keys::Range::family(family::CONTENT);
        let mut cursor = view.walk(range, Direction::Forward, 4).await?;
        while let Some((key, value)) = cursor.next().await? {
            let Some((hash, _)) = keys::read_copy(&key) else { continue };
            if differ {
                copied.insert(hash);
            }
            // Those in packs were verified with them.
            if let Ok(Copy::Inline { raw, data }) = Copy::decode(&key, &value)
                && inline_hash(raw, &data) != Some(hash)
            {
                problems.push(format!("{} {of} does not match its hash", keys::named(&key)));
            }
        }
        if !differ {
            return Ok(problems);
        }
        let range = keys::Range::family(family::REFERENCE);
        let mut cursor = view.walk(range, Direction::Forward, 4).await?;
        let mut last: Option<[u8; 16]> = None;
        while let Some((key, _)) = cursor.next().await? {
            let hash = key.get(1..17).and_then(|hash| hash.try_into().ok());
            if let Some(hash) = hash.filter(|_| hash != last)
                && !copied.remove(&hash)
            {
                problems.push(format!(
                    "{} {of} is missing, but the history refers to it",
                    keys::named(&key)
                ));
            }
            last = hash;
        }
        for hash in copied {
            let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            problems.push(format!("content {name}… {of} is kept, but nothing refers to it"));
        }
        Ok(problems)
    }
}

/// Returns the beginning of the hash that a content has.
fn inline_hash(raw: Option<i64>, data: &[u8]) -> Option<[u8; 16]> {
    let bytes = crate::packing::unpack(raw, data).ok()?;
    contexture_core::storage::ContentHash::of(&bytes).as_bytes()[..16].try_into().ok()
}

impl Pack {
    /// Verifies every content.
    fn verify(&self, what: &str) -> FaultResult<()> {
        for entry in &self.entries {
            unpack_content(entry.hash, entry.raw, self.stored(entry))
                .map_err(|error| Fault::corrupt(what, error.to_string()))?;
        }
        Ok(())
    }
}
