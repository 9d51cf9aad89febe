//! The traces a purge left, and why: noted as a word of our own, reported as a sentence.

use contexture_core::storage::Trace;

/// What is left of something that was taken out, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceReason {
    /// Nothing was wiped yet.
    Begun,
    /// The file was not rewritten: it is large.
    Large,
    /// It was not rewritten: there was no room.
    NoRoom,
    /// It was not rewritten: somebody reads an earlier state.
    Read,
    /// It was not rewritten, for another reason.
    Failed,
    /// It was rewritten, but somebody reads an earlier state, so the log still holds it.
    Log,
    /// The journal of a folder of files could not be emptied.
    Journal,
    /// The copy that a salvage had begun could not be removed.
    Copy,
}

impl TraceReason {
    pub(super) const ALL: [Self; 8] = [
        Self::Begun,
        Self::Large,
        Self::NoRoom,
        Self::Read,
        Self::Failed,
        Self::Log,
        Self::Journal,
        Self::Copy,
    ];

    /// Returns the word that notes it.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Large => "large",
            Self::NoRoom => "no room",
            Self::Read => "read",
            Self::Failed => "failed",
            Self::Log => "log",
            Self::Journal => "journal",
            Self::Copy => "copy",
        }
    }

    /// Tells whether the file must still be rewritten.
    pub(super) fn is_whole_file(self) -> bool {
        !matches!(self, Self::Log | Self::Journal | Self::Copy)
    }

    /// Says it of a database.
    pub(crate) fn trace(self, what: &str) -> Trace {
        let readers = "all readers of an earlier state have ended";
        let (place, until) = match self {
            Self::Begun => (what.to_owned(), "it is opened again or scrubbed"),
            Self::Large => {
                let until = "a scrub rewrites it: it is large, so that takes long";
                (what.to_owned(), until)
            }
            Self::NoRoom => {
                let until = "there is room on the disk and a scrub rewrites it";
                (what.to_owned(), until)
            }
            Self::Read => (format!("{what} and its log"), readers),
            Self::Failed => (what.to_owned(), "a scrub rewrites it"),
            Self::Log => (format!("the log of {what}"), readers),
            Self::Journal => (format!("the journal beside {what}"), "a scrub empties it"),
            Self::Copy => (format!("a copy beside {what}"), "a scrub removes it"),
        };
        Trace::new(place, until)
    }
}
