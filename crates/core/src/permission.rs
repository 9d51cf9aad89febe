//! Who may do what: every check in one place.
//!
//! Three ordered levels, one table from operation to level, one rule from a segment's
//! permission to the levels it admits, and the few rules that go beyond the table: the system root
//! System-kind segments and what belongs to the system side alone.
//!
//! | operation | ReadOnly | ReadWrite | SystemManaged |
//! |---|---|---|---|
//! | queries, expand, pin, unpin, focus, level | ✓ | ✓ | ✓ |
//! | hide | ✓ (System kind: ✗) | ✓ | ✓ |
//! | update, move, remove, create, archive, restore, turns | ✗ | ✓ | ✓ |
//! | add, update, remove segment, set permission | ✗ | ✗ | ✓ (System kind: ✗) |
//! | purge, publish, load, custom state | ✗ | ✗ | ✗ |
//!
//! The root of a System-kind segment is never hidden, whatever the permission.

use crate::{Error, Operation, PageIndex, Permission, Segment, SegmentKind, View};

/// How much an operation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessLevel {
    /// Looking, and changing one's own levels.
    Read = 0,
    /// Changing pages.
    Write = 1,
    /// Changing segments and permissions.
    System = 2,
}

impl AccessLevel {
    /// Returns how much an operation asks for by its name; an unknown one asks for most.
    pub fn required_by(name: &str) -> Self {
        name.parse().map_or(AccessLevel::System, Operation::required_level)
    }
}

impl Operation {
    /// Returns how much it asks for.
    pub fn required_level(self) -> AccessLevel {
        match self {
            Operation::GetSegment
            | Operation::ListSegments
            | Operation::GetPage
            | Operation::GetChildren
            | Operation::GetParent
            | Operation::GetAncestors
            | Operation::FindPage
            | Operation::ExpandDetails
            | Operation::PinPage
            | Operation::UnpinPage
            | Operation::FocusPage
            | Operation::SwitchLevel
            | Operation::PressAnchor
            | Operation::Recall
            | Operation::FoldPages => AccessLevel::Read,
            Operation::UpdatePage
            | Operation::HideDetails
            | Operation::MovePage
            | Operation::RemovePage
            | Operation::CreatePage
            | Operation::CreateDetailPage
            | Operation::CreateContentsPage
            | Operation::ArchivePage
            | Operation::RestorePage
            | Operation::AddTurn
            | Operation::ExtendTurn
            | Operation::OpenExchange
            | Operation::AddResults
            | Operation::CloseExchange => AccessLevel::Write,
            Operation::AddSegment
            | Operation::UpdateSegment
            | Operation::RemoveSegment
            | Operation::SetPermission
            | Operation::PurgePage
            | Operation::PublishTurn
            | Operation::BranchView
            | Operation::SetCustom
            | Operation::Undo
            | Operation::Load
            | Operation::Batch
            | Operation::Init
            | Operation::Import
            | Operation::Lost => AccessLevel::System,
        }
    }
}

impl Permission {
    /// Tells whether it admits a level.
    pub fn admits(self, level: AccessLevel) -> bool {
        match self {
            Permission::ReadOnly => level <= AccessLevel::Read,
            Permission::ReadWrite => level <= AccessLevel::Write,
            Permission::SystemManaged => true,
        }
    }
}

/// Checks an agent's operation on a page that it is known to see. Without a view, what its segment admits.
pub(crate) fn check_page(
    view: Option<&View>,
    segment: &Segment,
    page: &PageIndex,
    operation: Operation,
) -> Result<(), Error> {
    let system_kind = segment.kind == SegmentKind::System;
    let is_inherited = view.is_some_and(|view| view.inherits(&segment.id));
    let allowed = match operation {
        Operation::HideDetails if system_kind && page.is_root() => {
            return Err(Error::RefusedSystemRoot { page: page.clone() });
        }
        // Hiding changes the caller's own view: only system prompts are held against it.
        Operation::HideDetails if !system_kind => segment.permission.admits(AccessLevel::Read),
        Operation::PurgePage | Operation::PublishTurn => false,
        // What a branch inherits stands as it stood.
        _ if is_inherited && operation.required_level() > AccessLevel::Read => false,
        _ => segment.permission.admits(operation.required_level()),
    };
    if allowed {
        return Ok(());
    }
    Err(Error::Refused { operation, subject: page.to_string() })
}

/// Checks an agent's operation on a segment that it is known to see.
pub(crate) fn check_segment(segment: &Segment, operation: Operation) -> Result<(), Error> {
    let changes = operation.required_level() > AccessLevel::Read;
    let allowed = segment.permission.admits(operation.required_level())
        && !(changes && segment.kind == SegmentKind::System);
    if allowed {
        return Ok(());
    }
    Err(Error::Refused { operation, subject: segment.id.to_string() })
}

/// Checks that an agent may take back what an edit did to a page.
pub(crate) fn check_undo(
    segment: &Segment,
    page: &PageIndex,
    level: AccessLevel,
) -> Result<(), Error> {
    if segment.permission.admits(level) {
        return Ok(());
    }
    Err(Error::Refused { operation: Operation::Undo, subject: page.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Read < Write < System, as numbered in the seed.
    #[test]
    fn levels_are_ordered() {
        assert!(AccessLevel::Read < AccessLevel::Write && AccessLevel::Write < AccessLevel::System);
        assert_eq!(
            [AccessLevel::Read as u8, AccessLevel::Write as u8, AccessLevel::System as u8],
            [0, 1, 2]
        );
    }

    // the seed's table, but that expanding is a read; unknown names fail closed.
    #[test]
    fn operations_ask_for_the_levels_of_the_seed() {
        for name in ["updatePage", "movePage", "removePage", "hideDetails", "createPage"] {
            assert_eq!(AccessLevel::required_by(name), AccessLevel::Write, "{name}");
        }
        for name in [
            "getSegment",
            "listSegments",
            "getPage",
            "getChildren",
            "getParent",
            "getAncestors",
            "expandDetails",
        ] {
            assert_eq!(AccessLevel::required_by(name), AccessLevel::Read, "{name}");
        }
        for name in ["", "formatDisk", "UpdatePage", "update_page"] {
            assert_eq!(AccessLevel::required_by(name), AccessLevel::System, "{name}");
        }
    }

    //
    #[test]
    fn permissions_admit_levels() {
        use AccessLevel::{Read, System, Write};
        let admitted =
            |permission: Permission| [Read, Write, System].map(|level| permission.admits(level));
        assert_eq!(admitted(Permission::ReadOnly), [true, false, false]);
        assert_eq!(admitted(Permission::ReadWrite), [true, true, false]);
        assert_eq!(admitted(Permission::SystemManaged), [true, true, true]);
    }
}
