//! The project: the folder that holds `.contexture`, found from anywhere below it as git does.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::error::{Result, Stop};

/// What marks a project.
const MARK: &str = ".contexture";

/// Returns the working folder.
pub(crate) fn working_folder() -> Result<PathBuf> {
    env::current_dir().map_err(|error| {
        let message = format!("cannot read the working folder: {error}");
        Stop::invalid(message, "change to a folder that you can read")
    })
}

/// Returns the user's home, if the environment names one.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Returns the folder of users' own configuration, if the environment names one.
pub(crate) fn config() -> Option<PathBuf> {
    let named = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|it| it.is_absolute());
    named.or_else(|| Some(home()?.join(".config")))
}

/// Returns the project that the working folder belongs to, or the working folder itself if it belongs
/// to none.
pub(crate) fn find() -> Result<PathBuf> {
    let folder = working_folder()?;
    Ok(find_from(&folder, home().as_deref()).unwrap_or(folder))
}

/// Looks for the nearest marked folder. A mark in the user's home is the user's own and marks no project
/// below it; a parent folder that belongs to another user is not taken either.
fn find_from(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let marked = |at: &&Path| at.join(MARK).is_dir();
    let above = folder.ancestors().skip(1).take_while(|at| Some(*at) != home);
    let mut candidates = std::iter::once(folder).chain(above).filter(marked);
    let found = candidates.next()?;
    (found == folder || is_of_same_owner(found, folder)).then(|| found.to_owned())
}

#[cfg(unix)]
fn is_of_same_owner(project: &Path, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| fs::metadata(path).ok().map(|it| it.uid());
    owner(&project.join(MARK)).is_some() && owner(&project.join(MARK)) == owner(folder)
}

#[cfg(not(unix))]
fn is_of_same_owner(_: &Path, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_marked_folder_is_the_project() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("home/work/app/src/deep")).unwrap();
        fs::create_dir_all(at("home/.contexture/agents")).unwrap();
        let home = at("home");
        let found = |from: &str| find_from(&at(from), Some(&home));
        // A mark in the home belongs to the user, not to a project below it.
        assert_eq!(found("home/work/app/src"), None);
        assert_eq!(found("home"), Some(at("home")));
        fs::create_dir_all(at("home/work/app/.contexture")).unwrap();
        assert_eq!(found("home/work/app/src/deep"), Some(at("home/work/app")));
        fs::create_dir_all(at("home/work/app/src/.contexture")).unwrap();
        assert_eq!(found("home/work/app/src/deep"), Some(at("home/work/app/src")));
        assert_eq!(found("home/work"), None);
        // A file of that name marks nothing.
        fs::write(at("home/work/.contexture"), "").unwrap();
        assert_eq!(found("home/work"), None);
    }
}
