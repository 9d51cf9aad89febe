//! What the journal holds and is not in place, read as if it were: where nothing can be written, it
//! cannot be put there.

use std::collections::BTreeMap;

use super::{
    folder::{Entry, Form, Stamp},
    journal::{Op, Ops},
};

/// Files that stand before those of a folder.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// Files with their bytes and times; none where one is gone.
    files: BTreeMap<String, Option<(Vec<u8>, i64)>>,
    /// Folders that are gone, but for what stands above.
    gone: Vec<String>,
}

impl Overlay {
    /// Makes it from records of the journal, oldest first.
    pub(crate) fn of(records: Vec<Ops>) -> Self {
        let mut overlay = Self::default();
        for (path, op) in records.into_iter().flatten() {
            match op {
                Op::Put { time, bytes } => drop(overlay.files.insert(path, Some((bytes, time)))),
                Op::Delete => drop(overlay.files.insert(path, None)),
                Op::RemoveSession(_) => {
                    overlay.files.retain(|file, _| !is_below(file, &path));
                    overlay.gone.push(path);
                }
            }
        }
        overlay
    }

    /// Returns a file as it stands here; none where the folder's own counts.
    pub(crate) fn file(&self, path: &str) -> Option<Option<(&[u8], Stamp)>> {
        match self.files.get(path) {
            Some(file) => Some(file.as_ref().map(|(bytes, time)| {
                let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
                (bytes.as_slice(), Stamp { time: *time, size })
            })),
            None => self.is_gone(path).then_some(None),
        }
    }

    fn is_gone(&self, path: &str) -> bool {
        self.gone.iter().any(|gone| path == gone || is_below(path, gone))
    }

    /// Returns what lies in a folder, given what the folder itself lists.
    pub(crate) fn listed(&self, path: &str, mut entries: Vec<Entry>) -> Vec<Entry> {
        if self.files.is_empty() && self.gone.is_empty() {
            return entries;
        }
        let full = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        };
        entries.retain(|entry| {
            let full = full(&entry.name);
            !self.is_gone(&full) && self.files.get(&full).is_none_or(Option::is_some)
        });
        let prefix = full("");
        let below = self.files.range(prefix.clone()..);
        let below = below.take_while(|(file, _)| file.starts_with(&prefix));
        for (file, _) in below.filter(|(_, file)| file.is_some()) {
            let rest = &file[prefix.len()..];
            let (name, form) = match rest.split_once('/') {
                Some((name, _)) => (name, Form::Folder),
                None => (rest, Form::File),
            };
            if !entries.iter().rev().any(|entry| entry.name == name) {
                entries.push(Entry { name: name.to_owned(), form });
            }
        }
        entries
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &str) -> (String, Op) {
        (path.to_owned(), Op::Put { time: 7, bytes: b"new".to_vec() })
    }

    fn entry(name: &str, form: Form) -> Entry {
        Entry { name: name.to_owned(), form }
    }

    fn names(entries: Vec<Entry>) -> Vec<(String, Form)> {
        entries.into_iter().map(|entry| (entry.name, entry.form)).collect()
    }

    #[test]
    fn newer_records_stand_before_older_ones() {
        let session = "a".parse().unwrap();
        let overlay = Overlay::of(vec![
            vec![put("sessions/a/x.json"), put("sessions/b/x.json")],
            vec![("sessions/a".to_owned(), Op::RemoveSession(session))],
            vec![put("sessions/a/pages/y.json"), ("sessions/b/x.json".to_owned(), Op::Delete)],
        ]);
        assert_eq!(overlay.file("sessions/a/x.json"), Some(None));
        assert_eq!(overlay.file("sessions/b/x.json"), Some(None));
        assert_eq!(overlay.file("sessions/b/y.json"), None);
        let (bytes, stamp) = overlay.file("sessions/a/pages/y.json").unwrap().unwrap();
        assert_eq!((bytes, stamp), (&b"new"[..], Stamp { time: 7, size: 3 }));
        let listed = overlay
            .listed("sessions/b", vec![entry("x.json", Form::File), entry("y.json", Form::File)]);
        assert_eq!(names(listed), [("y.json".to_owned(), Form::File)]);
        let listed = overlay.listed("sessions/a", vec![entry("x.json", Form::File)]);
        assert_eq!(names(listed), [("pages".to_owned(), Form::Folder)]);
    }
}
