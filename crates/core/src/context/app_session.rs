//! An application with a Context of its own, from round to round: built, frozen, pressed, switched.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    App, Apps, Changes, Context, Frozen, History, LevelState, MountedPanels, RenderKey, Shown,
    Source, build::inputs_bytes,
};
use crate::{Error, Level, Result, Timestamp, window::escape_text};

/// An application's session. It keeps what a Context is built from and counts its changes; the host
/// says what time it is.
///
/// ```
/// # use std::{collections::BTreeMap, sync::Arc};
/// # use contexture_core::{Level, Result, Timestamp, context::*};
/// # struct Bell;
/// # impl App for Bell {
/// #     fn id(&self) -> &str { "bell" }
/// #     fn panel(&self, _: Level) -> Panel {
/// #         let anchors = vec![("ring".to_owned(), Anchor::button(None))];
/// #         Panel { title: "Bell".to_owned(), anchors, ..Panel::default() }
/// #     }
/// #     fn press(&self, _: &str, _: &BTreeMap<String, String>) -> Result<String> { Ok("rang".to_owned()) }
/// # }
/// # fn main() -> Result<()> {
/// let at = Timestamp::from_millis;
/// let mut session = AppSession::new(Arc::new(Bell), "sess-001", Level::Summary, at(0))?;
/// let before = session.context();
/// assert!(Arc::ptr_eq(&before, &session.context()));
/// assert_eq!(session.press("bell.ring", &BTreeMap::new(), at(5))?, "rang");
/// let after = session.context();
/// assert!(after.header().version().major() > before.header().version().major());
/// assert_eq!(after.history().unwrap().rounds()[0].action, "press bell.ring");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct AppSession {
    source: AppSource,
    levels: LevelState,
    history: History,
    frozen: Frozen,
}

#[derive(Debug)]
struct AppSource {
    app_id: String,
    session_id: String,
    apps: Apps,
    /// What the application shows, asked for once for each Context: it may change at any time.
    panels: MountedPanels,
    changes: Changes,
    changed_at: Timestamp,
}

impl AppSession {
    /// Begins a session of an application at a level.
    pub fn new(app: Arc<dyn App>, session_id: &str, level: Level, now: Timestamp) -> Result<Self> {
        let app_id = app.id().to_owned();
        let mut apps = Apps::default();
        apps.mount(app)?;
        Ok(Self {
            levels: LevelState::new(level),
            history: History::default(),
            frozen: Frozen::new(&app_id, session_id),
            source: AppSource {
                app_id,
                session_id: session_id.to_owned(),
                apps,
                panels: MountedPanels::default(),
                changes: Changes::begin(),
                changed_at: now,
            },
        })
    }

    /// Returns its Context: the very same until something moves.
    pub fn context(&mut self) -> Arc<Context> {
        let Self { source, levels, history, frozen } = self;
        source.panels = source.apps.render(levels.level(), &|text| escape_text(text).into_owned());
        frozen.build(source, levels, Some(history)).expect("its own counts only go up")
    }

    /// Presses an anchor that stands in the Context. What came of it is a round of the history.
    pub fn press(
        &mut self,
        key: &str,
        params: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> Result<String> {
        let result = self.source.apps.press(self.levels.level(), key, params)?;
        self.history.add(format!("press {key}"), result.clone(), now);
        self.changed(now);
        Ok(result)
    }

    /// Says that the application's data have changed by themselves.
    pub fn changed(&mut self, now: Timestamp) {
        self.source.changes = self.source.changes.next();
        self.source.changed_at = now;
    }

    /// Switches to a level.
    pub fn switch(&mut self, level: Level) {
        self.levels.switch(level);
    }
}

impl Source for AppSource {
    fn app_id(&self) -> &str {
        &self.app_id
    }

    fn session_id(&self) -> &str {
        &self.session_id
    }

    fn changes(&self) -> Changes {
        self.changes
    }

    fn changed_at(&self) -> Timestamp {
        self.changed_at
    }

    fn show(&self, level: Level) -> Result<Shown, Error> {
        let MountedPanels { text, anchors, custom, diagnostics } = self.panels.clone();
        Ok(Shown { level, content: text, anchors, custom, diagnostics })
    }

    /// An application may change without a word, so what it shows is part of the key.
    fn key(&self, levels: &LevelState, history: Option<&History>) -> RenderKey {
        let panels = self.panels.key();
        RenderKey::of([panels.as_str().as_bytes(), &inputs_bytes(levels, history)])
    }
}
