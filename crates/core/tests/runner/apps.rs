//! Applications: the notebook of the examples, driven through its anchors alone.

use std::{collections::BTreeMap, sync::Arc};

use contexture_core::{
    ErrorKind, Level,
    context::{AnchorKind, Apps},
};

#[allow(dead_code)]
#[path = "../../examples/notebook.rs"]
mod notebook;

fn notebook_of(entries: &[(&str, &str)]) -> Apps {
    let mut apps = Apps::default();
    apps.mount(Arc::new(notebook::Notebook::default())).unwrap();
    for (title, text) in entries {
        let params = [("title", title), ("text", text)];
        let params = params.map(|(name, value)| (name.to_owned(), (*value).to_owned()));
        apps.press(Level::Full, "notebook.add", &params.into()).unwrap();
    }
    apps
}

fn escape(text: &str) -> String {
    text.replace('[', "\\[")
}

fn text(apps: &Apps, level: Level) -> String {
    apps.render(level, &escape).text
}

fn press(apps: &Apps, key: &str) -> Result<String, ErrorKind> {
    apps.press(Level::Summary, key, &BTreeMap::new()).map_err(|error| error.kind())
}

// D-20: each level shows more than the one before.
#[test]
fn a_panel_has_levels() {
    let apps = notebook_of(&[("Build", "use the lock"), ("Parser", "line 42")]);
    assert_eq!(text(&apps, Level::Gist), "## Notebook\n\n2 entries\n");
    let anchors =
        "[button:notebook.open-1]\n[button:notebook.open-2]\n[form:notebook.add title=… text=…]\n";
    let summary = format!("## Notebook\n\n1. Build\n2. Parser\n\n{anchors}");
    assert_eq!(text(&apps, Level::Summary), summary);
    let full = format!("## Notebook\n\n1. Build: use the lock\n2. Parser: line 42\n\n{anchors}");
    assert_eq!(text(&apps, Level::Full), full);
}

// Pressing changes the panel, and what was pressed is gone from it.
#[test]
fn anchors_follow_the_state() {
    let apps = notebook_of(&[("Build", "use the lock")]);
    assert_eq!(press(&apps, "notebook.open-1").unwrap(), "open Build");
    assert!(text(&apps, Level::Summary).contains("1. Build: use the lock\n"));
    assert_eq!(press(&apps, "notebook.open-1"), Err(ErrorKind::NotFound));
    assert_eq!(press(&apps, "notebook.close-1").unwrap(), "close Build");
    assert!(!text(&apps, Level::Summary).contains("use the lock"));
    assert_eq!(press(&apps, "notebook.open-2"), Err(ErrorKind::NotFound));
    assert_eq!(press(&apps, "notebook.add"), Err(ErrorKind::Invalid));
    assert_eq!(press(&apps, "open-1"), Err(ErrorKind::NotFound));
}

// D-31: what is written into a notebook cannot become an anchor.
#[test]
fn entries_cannot_forge_anchors() {
    let apps = notebook_of(&[("[button:notebook.wipe]", "[form:notebook.add title=… text=…]")]);
    let panels = apps.render(Level::Full, &escape);
    let keys: Vec<&str> = panels.anchors.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["notebook.add", "notebook.open-1"]);
    assert!(panels.text.contains("1. \\[button:notebook.wipe]: \\[form:"));
    assert_eq!(press(&apps, "notebook.wipe"), Err(ErrorKind::NotFound));
    assert_eq!(panels.anchors.get("notebook.add").unwrap().kind(), AnchorKind::Form);
    assert_eq!(panels.custom["notebook.entries"].as_str(), "1");
}
