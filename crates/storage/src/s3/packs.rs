//! Packs: contents one after the other in one object, with a directory at its end.

use contexture_core::storage::{Content, ContentHash};

use super::{
    fault::{Doing, Fault, FaultResult},
    frame::{self, Kind, Parts, put_number},
    keys,
    objects::{Home, PACK, object_name},
    records::Copy,
    root::Id,
    table::{Key, Value},
};
use crate::packing::unpack_content;

/// A pack being put together.
#[derive(Default)]
pub(crate) struct PackBuilder {
    data: Vec<u8>,
    entries: Vec<PackEntry>,
}

/// A content in a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackEntry {
    pub(crate) hash: ContentHash,
    pub(crate) raw: Option<i64>,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl PackBuilder {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn size(&self) -> usize {
        self.data.len()
    }

    pub(crate) fn add(&mut self, hash: ContentHash, raw: Option<i64>, data: &[u8]) {
        let (offset, length) = (self.data.len() as u64, data.len() as u64);
        self.entries.push(PackEntry { hash, raw, offset, length });
        self.data.extend_from_slice(data);
    }

    /// Writes the pack; returns its name and the records that lead to its contents.
    pub(crate) async fn write(self, home: &Home) -> FaultResult<(Id, Vec<(Key, Value)>)> {
        let Self { mut data, entries } = self;
        let id = Id::random(&home.objects.name)?;
        let mut directory = Vec::new();
        put_number(&mut directory, entries.len() as u64);
        for entry in &entries {
            directory.extend_from_slice(entry.hash.as_bytes());
            directory.extend_from_slice(&entry.raw.unwrap_or(-1).to_le_bytes());
            put_number(&mut directory, entry.offset);
            put_number(&mut directory, entry.length);
        }
        let directory = frame::seal(Kind::Directory, &directory).bytes;
        data.extend_from_slice(&directory);
        data.extend_from_slice(&(directory.len() as u64).to_le_bytes());
        home.objects.put(&home.path(&object_name(PACK, id)), data).await?;
        let records = entries.iter().map(|entry| {
            let PackEntry { hash, raw, offset, length } = entry.clone();
            let copy = Copy::Packed { raw, pack: id, offset, length };
            (keys::copy(&hash, Some(id)), copy.encode().into())
        });
        Ok((id, records.collect()))
    }
}

/// A pack read whole.
pub(crate) struct Pack {
    data: Vec<u8>,
    pub(crate) entries: Vec<PackEntry>,
}

impl Pack {
    pub(crate) async fn read(home: &Home, id: Id) -> FaultResult<Self> {
        let what = home.named(PACK, id);
        let mut data = home.read(PACK, id).await?;
        let short = || Fault::corrupt(&what, "it is too short");
        let end = data.len().checked_sub(8).ok_or_else(short)?;
        let length = data[end..].try_into().expect("eight bytes were cut out");
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(|_| short())?;
        let begin = end.checked_sub(length).ok_or_else(short)?;
        let (directory, _) = frame::unseal(Kind::Directory, &data[begin..end], &what)?;
        let entries = read_directory(&mut Parts(&directory));
        let entries = entries.ok_or_else(|| Fault::corrupt(&what, "its directory is cut off"))?;
        data.truncate(begin);
        let inside = |entry: &PackEntry| {
            entry.offset.checked_add(entry.length).is_some_and(|end| end <= begin as u64)
        };
        if !entries.iter().all(inside) {
            return Err(Fault::corrupt(what, "its directory does not match"));
        }
        Ok(Self { data, entries })
    }

    /// Returns the bytes of a content as they are packed.
    pub(crate) fn stored(&self, entry: &PackEntry) -> &[u8] {
        let (from, to) = (entry.offset as usize, (entry.offset + entry.length) as usize);
        self.data.get(from..to).unwrap_or_default()
    }
}

fn read_directory(parts: &mut Parts<'_>) -> Option<Vec<PackEntry>> {
    let mut entries = Vec::new();
    for _ in 0..parts.number()? {
        let hash = ContentHash::from_bytes(parts.array()?);
        let raw = i64::from_le_bytes(parts.array()?);
        let (offset, length) = (parts.number()?, parts.number()?);
        entries.push(PackEntry { hash, raw: (raw >= 0).then_some(raw), offset, length });
    }
    parts.0.is_empty().then_some(entries)
}

/// A content wanted from a pack.
pub(crate) struct Wanted {
    /// Where the caller wants it.
    pub(crate) at: usize,
    pub(crate) entry: PackEntry,
}

/// Reads some contents of a pack, those that lie close together in one request.
pub(crate) async fn read_some(
    home: &Home,
    pack: Id,
    wanted: Vec<Wanted>,
) -> FaultResult<Vec<(usize, Content)>> {
    let ranges: Vec<_> =
        wanted.iter().map(|one| one.entry.offset..one.entry.offset + one.entry.length).collect();
    let path = home.path(&object_name(PACK, pack));
    let read = match home.objects.store.get_ranges(&path, &ranges).await {
        Ok(read) => read,
        Err(object_store::Error::NotFound { .. }) => {
            return Err(Fault::Gone(home.named(PACK, pack)));
        }
        Err(error) if is_beyond(&error) => {
            return Err(Fault::corrupt(home.named(PACK, pack), "it is too short"));
        }
        Err(error) => return Err(home.objects.refused(Doing::Reading, &error).into()),
    };
    let mut contents = Vec::with_capacity(wanted.len());
    for (one, data) in wanted.into_iter().zip(read) {
        let PackEntry { hash, raw, .. } = one.entry;
        contents.push((one.at, unpack_content(hash, raw, &data)?));
    }
    Ok(contents)
}

/// Tells whether a server said that what was asked for lies beyond an object's end.
fn is_beyond(error: &object_store::Error) -> bool {
    let text = error.to_string();
    ["InvalidRange", "Wanted range", "416"].iter().any(|said| text.contains(said))
}
