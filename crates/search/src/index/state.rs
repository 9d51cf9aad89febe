//! What the index knows beside its documents: which sessions it holds, and up to where. Kept in its commits.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hasher, RandomState},
};

use contexture_core::{Revision, SegmentId, SessionId, storage::Mark};
use serde::{Deserialize, Serialize};

use super::{class::Class, key::Space};
use crate::follow::Anchor;

/// What an index says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) sessions: BTreeMap<SessionId, SessionState>,
    /// The number of the next segment.
    next_space: u32,
    /// The number of the next build.
    next_build: u64,
    /// Classes, by their number.
    pub(crate) classes: Vec<Class>,
}

/// What the index holds of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionState {
    pub(crate) mark: MarkHash,
    /// Tells it from the same session indexed again: pages of two builds never stand together.
    pub(crate) build: u64,
    /// Everything up to this edit is in the index; none while the session is read from the beginning.
    pub(crate) revision: Option<Revision>,
    /// That edit.
    pub(crate) anchor: Option<Anchor>,
    pub(crate) spaces: BTreeMap<SegmentId, u32>,
    /// Whether documents carry what vectors are made of.
    #[serde(default)]
    pub(crate) pieces: bool,
}

/// Tells whether a session is the one that was indexed. The mark itself stays in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MarkHash(String);

impl MarkHash {
    pub(crate) fn of(mark: &Mark) -> Self {
        let written = serde_json::to_vec(mark).unwrap_or_default();
        Self(contexture_core::storage::Checksum::of(&written).to_string())
    }
}

impl State {
    /// Returns what a new index says of itself. Its builds have numbers that no earlier index in its place gave, so
    /// that other processes do not take them for those.
    pub(crate) fn begin() -> Self {
        // Every state of the standard hasher is keyed at random. The number must fit what JSON can say.
        let first = RandomState::new().build_hasher().finish() >> 12;
        Self { next_build: first, ..Self::default() }
    }

    /// Reads it from a commit; none where it cannot be read.
    pub(crate) fn read(payload: Option<&str>) -> Option<Self> {
        match payload {
            None => Some(Self::begin()),
            Some(payload) => serde_json::from_str(payload).ok(),
        }
    }

    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).expect("a state has only string keys")
    }

    /// Returns the number of a segment of a session, if the index holds any of it.
    pub(crate) fn space(&self, session: &SessionId, segment: &SegmentId) -> Option<Space> {
        self.sessions.get(session)?.spaces.get(segment).copied().map(Space)
    }

    /// Gives out the number of the next build.
    pub(crate) fn next_build(&mut self) -> u64 {
        self.next_build += 1;
        self.next_build
    }

    /// Gives out the number of the next segment; none where there are too many.
    pub(crate) fn next_space(&mut self) -> Option<Space> {
        let space = Space(self.next_space);
        (space.0 < Space::MOST).then(|| {
            self.next_space += 1;
            space
        })
    }
}
