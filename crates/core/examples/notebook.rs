//! A notebook as an application: a live panel with entries that open, close and grow.
//!
//! Run with `cargo run -p contexture-core --example notebook`.

#![allow(clippy::print_stdout)]

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use contexture_core::{
    Error, Level, Result, Timestamp,
    context::{Anchor, App, AppSession, Panel},
    message::RawJson,
};

/// Entries with a title and a text; closed ones show their title only.
#[derive(Default)]
pub(crate) struct Notebook(Mutex<Vec<Entry>>);

struct Entry {
    title: String,
    text: String,
    open: bool,
}

impl Notebook {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Each change is a single step, so the entries are whole whatever happened to a holder.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App for Notebook {
    fn id(&self) -> &str {
        "notebook"
    }

    /// Gist counts the entries, Summary lists titles and open entries, Full shows all.
    fn panel(&self, level: Level) -> Panel {
        let entries = self.entries();
        let mut panel = Panel { title: "Notebook".to_owned(), ..Panel::default() };
        panel.custom.extend(RawJson::of(&entries.len()).map(|count| ("entries".to_owned(), count)));
        if level == Level::Gist {
            panel.body = format!("{} entries", entries.len());
            return panel;
        }
        for (number, entry) in (1..).zip(entries.iter()) {
            let text = if entry.open || level == Level::Full { &*entry.text } else { "" };
            let gap = if text.is_empty() { "" } else { ": " };
            let _ = writeln!(panel.body, "{number}. {}{gap}{text}", entry.title);
            let verb = if entry.open { "close" } else { "open" };
            panel.anchors.push((format!("{verb}-{number}"), Anchor::button(None)));
        }
        let add = Anchor::form(None, &["title", "text"]);
        panel.anchors.extend(add.map(|add| ("add".to_owned(), add)));
        panel
    }

    fn press(&self, key: &str, params: &BTreeMap<String, String>) -> Result<String> {
        let mut entries = self.entries();
        if let ("add", Some(title), Some(text)) = (key, params.get("title"), params.get("text")) {
            entries.push(Entry { title: title.clone(), text: text.clone(), open: false });
            return Ok(format!("added entry {}", entries.len()));
        }
        let gone = || Error::NothingFound {
            what: format!("entry of '{key}'"),
            advice: "look again".into(),
        };
        let (verb, number) = key.split_once('-').ok_or_else(gone)?;
        let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let entry = at.and_then(|at| entries.get_mut(at)).ok_or_else(gone)?;
        entry.open = verb == "open";
        Ok(format!("{verb} {}", entry.title))
    }
}

fn main() -> Result<()> {
    let at = Timestamp::from_millis;
    let notebook = Arc::new(Notebook::default());
    let mut session = AppSession::new(notebook, "sess-001", Level::Summary, at(0))?;
    for (title, text) in [("Build", "use the lock"), ("Parser", "off by one in line 42")] {
        let params = [("title", title), ("text", text)];
        let params = params.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        println!("{}", session.press("notebook.add", &params, at(1_000))?);
    }
    println!("{}\n", session.press("notebook.open-2", &BTreeMap::new(), at(2_000))?);

    for level in [Level::Gist, Level::Summary, Level::Full] {
        session.switch(level);
        println!("{}: {}", level.as_str(), session.context().content());
    }
    println!("{}", session.context().to_json());
    if let Err(stale) = session.press("notebook.open-2", &BTreeMap::new(), at(3_000)) {
        println!("{stale}: {}", stale.advice());
    }
    Ok(())
}
