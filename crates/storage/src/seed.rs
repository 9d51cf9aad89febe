//! What nobody can guess.

use contexture_core::storage::{Mark, StorageError};

/// Makes a mark for a new session.
pub(crate) fn mark(what: &str) -> Result<Mark, StorageError> {
    Ok(Mark::from_seed(&random::<32>(what)?))
}

/// Returns random bytes.
pub(crate) fn random<const LENGTH: usize>(what: &str) -> Result<[u8; LENGTH], StorageError> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(|error| StorageError::Unavailable {
        what: what.to_owned(),
        reason: format!("the system has no random numbers: {error}"),
    })?;
    Ok(bytes)
}
