//! What storages let their users choose alike.

/// Whether what is missing is made: a file, a folder, tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CreateMode {
    /// It is made, with all above it.
    #[default]
    IfMissing,
    /// It must be there.
    MustExist,
}

/// What happens where a store is there but may not be written: on a read-only file system, or with the
/// right to read alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unwritable {
    /// Opening it is refused.
    #[default]
    Refuse,
    /// It is opened for reading; every write is refused.
    Read,
}

/// What a commit that returned survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut.
    #[default]
    PowerCut,
    /// The end of the process, however it comes; a power cut may take the last commits.
    Process,
}
