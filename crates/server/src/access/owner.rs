//! The owner's token: a file that only the owner of the store can read.

use std::{
    fmt,
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    str::FromStr,
};

use super::TokenText;
use crate::{Result, ServerError};

/// The longest file that is read as a token.
const LONGEST: u64 = 1_024;

/// The owner's token, which stands for the system side of every session of a store.
#[derive(Clone)]
pub struct OwnerToken(TokenText);

impl OwnerToken {
    /// Makes one that lasts as long as the process.
    pub fn random() -> Result<Self> {
        TokenText::random_owner().map(Self).map_err(|error| {
            ServerError::unavailable(error.to_string(), "try again, or restart the machine")
        })
    }

    /// Reads the token of a store; none if there is no file.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let file = match OpenOptions::new().read(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(path, &error)),
        };
        let kept = file.metadata().map_err(|error| unusable(path, &error))?;
        refuse_readable(path, &kept)?;
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(|error| unusable(path, &error))?;
        match text.parse() {
            Ok(token) => Ok(Some(token)),
            Err(_) => Err(ServerError::invalid(
                format!("{} holds no token", path.display()),
                "remove the file: the next `contexture serve` makes a new one",
            )),
        }
    }

    /// Reads the token of a store, or makes it: of several processes that begin at once, all get the same.
    pub fn read_or_create(path: &Path) -> Result<Self> {
        if let Some(token) = Self::read(path)? {
            return Ok(token);
        }
        let token = Self::random()?;
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}.tmp", std::process::id()));
        let draft = PathBuf::from(draft);
        let made =
            write_private(&draft, &format!("{token}\n")).and_then(|()| {
                match fs::hard_link(&draft, path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    linked => linked,
                }
            });
        let cleaned = fs::remove_file(&draft);
        made.and(cleaned).map_err(|error| unusable(path, &error))?;
        Self::read(path)?.ok_or_else(|| {
            let gone = io::Error::from(io::ErrorKind::NotFound);
            unusable(path, &gone)
        })
    }

    /// Returns the token as it is sent.
    pub fn text(&self) -> &TokenText {
        &self.0
    }
}

impl FromStr for OwnerToken {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.trim().parse().map(Self)
    }
}

impl fmt::Display for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Refuses a file that others can read: the token in it is no secret any more.
fn refuse_readable(path: &Path, kept: &fs::Metadata) -> Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&kept.permissions()) & 0o077 != 0 {
        return Err(ServerError::denied(
            format!("other users of this machine can read the token in {}", path.display()),
            "remove the file: the next `contexture serve` makes a new one that only you can read",
        ));
    }
    let _ = (path, kept);
    Ok(())
}

fn unusable(path: &Path, error: &io::Error) -> ServerError {
    ServerError::unavailable(
        format!("cannot use the token file {}: {error}", path.display()),
        "make its folder writable for you, and the file readable for you alone (mode 600)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_file_is_made_once_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contexture.db.token");
        assert!(OwnerToken::read(&path).unwrap().is_none());
        let made = OwnerToken::read_or_create(&path).unwrap();
        let again = OwnerToken::read_or_create(&path).unwrap();
        assert_eq!(made.to_string(), again.to_string());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            let refused = OwnerToken::read(&path).unwrap_err();
            assert_eq!(refused.kind(), "permission-denied");
        }
    }
}
