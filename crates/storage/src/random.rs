//! Random bytes of the system: what nobody can guess.

#[cfg(any(feature = "files", feature = "postgres", feature = "s3"))]
use contexture_core::storage::Mark;
use contexture_core::storage::StorageError;

/// Makes a mark for a new session.
#[cfg(any(feature = "files", feature = "postgres", feature = "s3"))]
pub(crate) fn mark(what: &str) -> Result<Mark, StorageError> {
    Ok(Mark::from_seed(&bytes::<32>(what)?))
}

/// Returns random bytes.
pub(crate) fn bytes<const LENGTH: usize>(what: &str) -> Result<[u8; LENGTH], StorageError> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(|error| StorageError::Unavailable {
        what: what.to_owned(),
        reason: format!("the system provides no random numbers: {error}"),
    })?;
    Ok(bytes)
}
