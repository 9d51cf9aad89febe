//! The root: the one object of a session that changes, always by a conditional write.
//!
//! It names all the others, and holds the newest records itself until they are too many.

use std::{fmt, str::FromStr, sync::Arc};

use contexture_core::{
    Revision, SessionId, Timestamp,
    storage::{Mark, Place, SessionInfo, StorageResult},
};
use serde::{Deserialize, Serialize};

use super::{
    fault::{Fault, FaultResult},
    frame::{self, Kind, Parts},
    table::Table,
};
use crate::random;

/// A random name, or a checksum: sixteen bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) [u8; 16]);

impl Id {
    pub(crate) fn random(what: &str) -> StorageResult<Self> {
        Ok(Self(random::bytes(what)?))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Id {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
        number.map(|number| Self(number.to_be_bytes())).ok_or("it is not 32 hexadecimal digits")
    }
}

impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Names an immutable object, with the checksum it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectRef {
    pub(crate) id: Id,
    pub(crate) size: u64,
    pub(crate) sum: Id,
}

/// A session's root.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) meta: Meta,
    /// The newest records.
    pub(crate) inline: Arc<Table>,
}

/// What a root says, but for records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    session: String,
    /// The folder in which its objects lie: another each time a session of that name is made.
    pub(crate) incarnation: Id,
    /// Counts its writes.
    pub(crate) sequence: u64,
    /// The write that left it so, and those before, newest last: by this a writer whose answer was
    /// lost knows its own.
    pub(crate) writes: Vec<Id>,
    /// The session's head; none while it is being taken over from elsewhere.
    head: Option<Head>,
    /// Records that came before those it holds, oldest first.
    pub(crate) deltas: Vec<ObjectRef>,
    /// Where all older records are.
    pub(crate) manifest: Option<ObjectRef>,
    /// Packs that the manifest does not name yet.
    pub(crate) packs: Vec<Id>,
    /// Objects that a purge has yet to delete, as they are called in the session's folder.
    pub(crate) doomed: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    app: String,
    revision: Revision,
    next_place: Place,
    mark: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Root {
    /// How many of its writers it remembers.
    pub(crate) const REMEMBERED: usize = 32;

    /// Makes the first root of a session's new life.
    pub(crate) fn new(session: &SessionId, incarnation: Id) -> Self {
        let meta = Meta {
            session: session.to_string(),
            incarnation,
            sequence: 0,
            writes: Vec::new(),
            head: None,
            deltas: Vec::new(),
            manifest: None,
            packs: Vec::new(),
            doomed: Vec::new(),
        };
        Self { meta, inline: Arc::default() }
    }

    /// Notes a write to come.
    pub(crate) fn sign(&mut self, write: Id) {
        self.meta.sequence += 1;
        self.meta.writes.push(write);
        let surplus = self.meta.writes.len().saturating_sub(Self::REMEMBERED);
        self.meta.writes.drain(..surplus);
    }

    /// Tells whether a write is among those that led here.
    pub(crate) fn is_signed(&self, write: Id) -> bool {
        self.meta.writes.contains(&write)
    }

    /// Tells whether it would still name the write of another root, had that led here.
    pub(crate) fn would_remember(&self, other: &Root) -> bool {
        let since = self.meta.sequence.saturating_sub(other.meta.sequence);
        self.meta.incarnation == other.meta.incarnation && since < Self::REMEMBERED as u64
    }

    /// Tells whether it is only a session being taken over.
    pub(crate) fn is_importing(&self) -> bool {
        self.meta.head.is_none()
    }

    pub(crate) fn set_info(&mut self, info: &SessionInfo) {
        self.meta.head = Some(Head {
            app: info.app.clone(),
            revision: info.revision,
            next_place: info.next_place,
            mark: info.mark.as_str().to_owned(),
            created_at: info.created_at,
            updated_at: info.updated_at,
        });
    }

    pub(crate) fn info(&self) -> FaultResult<Option<SessionInfo>> {
        let what = || format!("the root of session '{}'", self.meta.session);
        let Some(head) = &self.meta.head else { return Ok(None) };
        let id = self.meta.session.parse();
        let mark = Mark::try_from(head.mark.clone());
        Ok(Some(SessionInfo {
            id: id.map_err(|error| Fault::corrupt(what(), format!("{error}")))?,
            app: head.app.clone(),
            revision: head.revision,
            next_place: head.next_place,
            mark: mark.map_err(|error| Fault::corrupt(what(), error.to_string()))?,
            created_at: head.created_at,
            updated_at: head.updated_at,
        }))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let meta = serde_json::to_vec(&self.meta).expect("a root has only string keys");
        let mut payload = Vec::with_capacity(meta.len() + 8);
        frame::put_bytes(&mut payload, &meta);
        payload.extend_from_slice(&self.inline.encode());
        frame::seal(Kind::Root, &payload).bytes
    }

    pub(crate) fn decode(session: &SessionId, bytes: &[u8]) -> FaultResult<Self> {
        let what = format!("the root of session '{session}'");
        let (payload, _) = frame::unseal(Kind::Root, bytes, &what)?;
        let mut parts = Parts(&payload);
        let meta = parts.bytes().ok_or_else(|| Fault::corrupt(&what, "it is cut off"))?;
        let meta: Meta = serde_json::from_slice(meta)
            .map_err(|error| Fault::corrupt(&what, error.to_string()))?;
        if meta.session != session.as_str() {
            let reason = format!("it belongs to session '{}'", meta.session);
            return Err(Fault::corrupt(what, reason));
        }
        Ok(Self { meta, inline: Arc::new(Table::decode(parts.0, &what)?) })
    }
}
