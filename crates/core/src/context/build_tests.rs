use std::sync::Arc;

use super::*;
use crate::context::{Anchor, Frozen, Mismatch};

/// A list that shows how long it is, its first entry, or everything; a broken one fails.
#[derive(Clone)]
struct List {
    app: &'static str,
    entries: Vec<&'static str>,
    changes: Changes,
    broken: bool,
}

impl List {
    fn new(entries: &[&'static str]) -> Self {
        let changes = Changes::begin();
        Self { app: "list", entries: entries.to_vec(), changes, broken: false }
    }

    fn push(&mut self, entry: &'static str) {
        self.entries.push(entry);
        self.changes = self.changes.next();
    }
}

impl Source for List {
    fn app_id(&self) -> &str {
        self.app
    }

    fn session_id(&self) -> &str {
        "sess-001"
    }

    fn changes(&self) -> Changes {
        self.changes
    }

    fn changed_at(&self) -> Timestamp {
        Timestamp::from_millis(1_765_360_800_000)
    }

    fn show(&self, level: Level) -> Result<Shown, Error> {
        if self.broken {
            let reason = "the list is torn".to_owned();
            return Err(Error::InvalidRequest { reason, advice: "write it again".into() });
        }
        let content = match level {
            Level::Gist => format!("{} entries", self.entries.len()),
            Level::Summary => self.entries[0].to_owned(),
            Level::Full => self.entries.join("\n"),
        };
        let mut shown = Shown::new(level, content);
        let entries = RawJson::of(&self.entries).expect("texts are JSON");
        shown.custom.insert("entries".to_owned(), entries);
        shown.anchors.register("add".parse()?, Anchor::form(None, &["text"])?).expect("it is free");
        Ok(shown)
    }
}

// D-07, D-08: equal inputs, an equal Context; each input shows in it.
#[test]
fn building_is_a_pure_function_of_its_inputs() {
    let list = List::new(&["a", "b"]);
    let mut levels = LevelState::new(Level::Summary);
    levels.focus_on(Some("entry-1"));
    let mut history = History::default();
    history.add("press add", "added b", list.changed_at());
    let context = build(&list, &levels, Some(&history));
    assert_eq!(context, build(&list, &levels, Some(&history)));
    assert_eq!(context.content(), "a");
    assert_eq!(context.state().current_lod, Level::Summary);
    assert_eq!(context.state().focus_id.as_deref(), Some("entry-1"));
    assert_eq!(context.state().custom.as_ref().unwrap()["entries"].as_str(), r#"["a","b"]"#);
    assert_eq!(context.history(), Some(&history));
    assert!(build(&list, &levels, None).history().is_none());
    Context::parse(&context.to_json()).unwrap();
}

// D-15, D-30: major counts changes of the data, minor those of levels; the key names the rest.
#[test]
fn versions_count_what_changed() {
    let mut list = List::new(&["a"]);
    let mut levels = LevelState::new(Level::Full);
    let first = build(&list, &levels, None);
    let version = first.header().version();
    assert_eq!((version.major(), version.minor()), (1, 0));
    list.push("b");
    levels.switch(Level::Gist);
    levels.switch(Level::Gist);
    let second = build(&list, &levels, None);
    let version = second.header().version();
    assert_eq!((version.major(), version.minor()), (2, 1));
    assert_eq!(version.patch(), RENDERER);
    // The same counts, another level or history: another key.
    let fresh = LevelState::new(Level::Gist);
    let gist = build(&List::new(&["a"]), &fresh, None);
    assert_eq!(gist.header().version(), first.header().version());
    assert!(!gist.header().can_reuse(first.header()));
    // So has another focus, reached by as many changes.
    let focused = |on| {
        let mut levels = LevelState::new(Level::Gist);
        levels.focus_on(Some(on));
        build(&List::new(&["a"]), &levels, None)
    };
    let (one, other) = (focused("entry-1"), focused("entry-2"));
    assert_eq!(one.header().version(), other.header().version());
    assert!(!one.header().can_reuse(other.header()));
    let with_history = build(&List::new(&["a"]), &fresh, Some(&History::default()));
    assert!(!with_history.header().can_reuse(gist.header()));
}

// D-23, D-25: broken data give a Context that says so, with the version of what it could not show.
#[test]
fn broken_data_give_an_error_context() {
    let mut list = List::new(&["a"]);
    list.push("b");
    list.broken = true;
    let levels = LevelState::new(Level::Full);
    let context = build(&list, &levels, None);
    assert_eq!(context.diagnostics()[0].message, "the list is torn");
    assert_eq!(context.header().version().major(), 2);
    assert_eq!(context.header().app_id(), "list");
    // Without a name there is nothing to build, but a Context all the same.
    list.app = " ";
    assert_eq!(build(&list, &levels, None).header().app_id(), "unknown");
}

// D-10, D-11, D-26: applications are frozen like windows; a failure is not kept.
#[test]
fn what_is_built_is_frozen_until_an_input_moves() {
    let mut list = List::new(&["a"]);
    let mut levels = LevelState::new(Level::Full);
    let mut frozen = Frozen::new("list", "sess-001");
    let mut history = History::default();
    let first = frozen.build(&list, &levels, Some(&history)).unwrap();
    assert!(Arc::ptr_eq(&first, &frozen.build(&list, &levels, Some(&history)).unwrap()));
    history.add("look", "seen", list.changed_at());
    let looked = frozen.build(&list, &levels, Some(&history)).unwrap();
    assert_eq!(looked.history().unwrap().rounds().len(), 1);
    levels.switch(Level::Gist);
    let gist = frozen.build(&list, &levels, Some(&history)).unwrap();
    assert_eq!(gist.content(), "1 entries");
    let earlier = list.clone();
    list.push("b");
    list.broken = true;
    assert!(!frozen.build(&list, &levels, None).unwrap().diagnostics().is_empty());
    list.broken = false;
    let whole = frozen.build(&list, &levels, None).unwrap();
    assert_eq!(whole.content(), "2 entries");
    let back = frozen.build(&earlier, &levels, None).unwrap_err();
    assert!(matches!(back, Mismatch::WentBack { .. }), "{back}");
}
