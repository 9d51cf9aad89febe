//! What a file or folder is apart from its name, and where a path leads or will lead.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use cap_fs_ext::MetadataExt;
use cap_std::fs::Dir;

/// How many symlinks are followed for one path.
const HOPS: usize = 40;

/// A file or folder itself, whatever it is called: its device and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    pub(super) fn of(metadata: &impl MetadataExt) -> Self {
        Self { device: metadata.dev(), number: metadata.ino() }
    }

    pub(super) fn of_folder(dir: &Dir) -> io::Result<Self> {
        dir.dir_metadata().map(|metadata| Self::of(&metadata))
    }
}

/// A name as it is compared where there is nothing yet to compare: not every system tells upper case
/// from lower.
pub(super) fn folded(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

/// A place on disk: a folder that exists, and the names that lead on from there.
#[derive(Debug)]
pub(super) struct Place {
    /// The path, without the symlinks that were followed to it.
    pub(super) path: PathBuf,
    /// What lies there now.
    pub(super) here: Option<Identity>,
    within: Identity,
    /// At least one.
    names: Vec<String>,
}

impl Place {
    /// Returns where a path lies, then where each symlink on it leads: with what is there already, or
    /// will be once somebody makes it.
    pub(super) fn all(path: &Path) -> Vec<Self> {
        let mut places = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next.take().filter(|_| places.len() < HOPS) {
            let Some((base, within)) = folder_above(&path) else { break };
            let Ok(rest) = path.strip_prefix(&base) else { break };
            let Some(first) = rest.iter().next() else { break };
            let step = base.join(first);
            if let Ok(target) = fs::read_link(&step) {
                let mut onward = base.join(target);
                onward.extend(rest.iter().skip(1));
                next = Some(onward);
            }
            let names: Vec<String> = rest.iter().map(folded).collect();
            let found = fs::metadata(&step).ok().filter(|_| names.len() == 1);
            let here = found.as_ref().map(Identity::of);
            places.push(Self { path, here, within, names });
        }
        places
    }
}

/// Returns the nearest folder above a path that exists.
fn folder_above(path: &Path) -> Option<(PathBuf, Identity)> {
    path.ancestors().skip(1).find_map(|above| {
        let metadata = fs::metadata(above).ok().filter(fs::Metadata::is_dir)?;
        Some((above.to_owned(), Identity::of(&metadata)))
    })
}

/// Many places, asked by what is opened and by what is about to be.
#[derive(Debug, Default)]
pub(super) struct Places {
    here: HashSet<Identity>,
    names: HashMap<Identity, Vec<Vec<String>>>,
}

impl Places {
    pub(super) fn add(&mut self, place: Place) {
        self.here.extend(place.here);
        self.names.entry(place.within).or_default().push(place.names);
    }

    /// Tells whether one of them is this very file or folder.
    pub(super) fn is_here(&self, identity: Identity) -> bool {
        self.here.contains(&identity)
    }

    /// Tells whether these names, gone through from a folder, lead to one of them or below it.
    pub(super) fn is_on_the_way(&self, folder: Identity, names: &[String]) -> bool {
        let places = self.names.get(&folder).map(Vec::as_slice).unwrap_or_default();
        places.iter().any(|place| names.starts_with(place))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn places(path: &Path) -> Places {
        let mut places = Places::default();
        Place::all(path).into_iter().for_each(|place| places.add(place));
        places
    }

    fn identity(path: &Path) -> Identity {
        Identity::of(&fs::metadata(path).unwrap())
    }

    fn names(path: &str) -> Vec<String> {
        path.split('/').map(|name| folded(OsStr::new(name))).collect()
    }

    #[test]
    fn what_is_not_there_yet_has_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let found = places(&root.join("a/b/c"));
        let at = identity(root);
        for (path, expected) in [
            ("a/b/c", true),
            ("A/b/C", true),
            ("a/b/c/d", true),
            ("a/b", false),
            ("a/b/d", false),
            ("b/c", false),
        ] {
            assert_eq!(found.is_on_the_way(at, &names(path)), expected, "{path}");
        }
        fs::create_dir(root.join("a")).unwrap();
        let found = places(&root.join("a/b/c"));
        assert!(found.is_on_the_way(identity(&root.join("a")), &names("b/c")));
    }

    #[test]
    fn links_are_followed_also_where_they_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("real/inner")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("../link/inner", root.join("real/again")).unwrap();
        symlink("real/later", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        assert!(places(&root.join("link/again")).is_here(identity(&root.join("real/inner"))));
        let found = places(&root.join("dangling/x"));
        assert!(found.is_on_the_way(identity(&root.join("real")), &names("later/x")));
        assert_eq!(Place::all(&root.join("loop")).len(), HOPS);
    }
}
