//! Pressing an anchor: the operation behind it, checked like any other.

use std::collections::BTreeMap;

use crate::{
    Advice, Edit, EditOutcome, Error, ErrorKind, Level, NewDetailPage, PageIndex, PageUpdate,
    PageView, Reader, Result, SegmentId, Session,
    context::{Apps, FIND, PageAction},
};

/// How many pages pressing `find` gives.
const FOUND: usize = 20;

/// What came of pressing an anchor.
#[derive(Debug, Clone)]
pub enum Pressed {
    /// An edit was made.
    Edited(EditOutcome),
    /// Pages were found.
    Found(Vec<PageView>),
    /// An application answered.
    Answered(String),
}

/// What pressing an anchor asks for.
enum Wish {
    Edit(Edit),
    Find(String),
    App,
}

impl Reader<'_> {
    /// Finds out what pressing an anchor asks for, or why it no longer can be pressed.
    async fn wish(
        &self,
        key: &str,
        params: &BTreeMap<String, String>,
        apps: &Apps,
    ) -> Result<Wish> {
        if key == FIND {
            let query = required(key, params, "query")?;
            only(key, params, &["query"])?;
            return Ok(Wish::Find(query));
        }
        if key.split_once('.').is_some_and(|(id, _)| apps.ids().any(|app| app == id)) {
            return Ok(Wish::App);
        }
        let Some((action, page)) = PageAction::parse_key(key) else {
            return Err(self.not_an_action(key).await);
        };
        if !self.offers(action, page.segment()) {
            return Err(self.not_an_action(key).await);
        }
        let seen = match self.page(&page).await {
            Ok(seen) => seen,
            Err(Error::PageMoved { to, .. }) => {
                let reason = format!("{page} has moved to {to}");
                return Err(self.stale_for(key, reason, action, &to));
            }
            Err(Error::PageArchived { .. }) => {
                let reason = format!("{page} is in the archive");
                return Err(Error::StaleAnchor { key: key.to_owned(), reason, fresh: None });
            }
            Err(error) => return Err(error),
        };
        only(key, params, action.params())?;
        self.edit(key, action, &seen, params).map(Wish::Edit)
    }

    /// Tells whether an action on pages of a segment has keys in this view.
    pub(super) fn offers(&self, action: PageAction, segment: &SegmentId) -> bool {
        let segments = self.segments();
        action.is_offered(segment, segments.iter().map(|segment| &segment.id))
    }

    async fn not_an_action(&self, key: &str) -> Error {
        let reference = match key.parse::<PageIndex>() {
            Ok(page) => self.page(&page).await.is_ok(),
            Err(_) => false,
        };
        if reference {
            let reason = format!("anchor '{key}' is a reference and cannot be pressed");
            let advice =
                "references only show where something is; press a button or fill in a form".into();
            return Error::InvalidRequest { reason, advice };
        }
        Error::NothingFound {
            what: format!("anchor '{}'", crate::index::shorten(key)),
            advice: Advice::ListAnchors,
        }
    }

    fn edit(
        &self,
        key: &str,
        action: PageAction,
        seen: &PageView,
        params: &BTreeMap<String, String>,
    ) -> Result<Edit> {
        let page = seen.page.index.clone();
        let full = seen.level == crate::WindowLevel::Full;
        Ok(match action {
            PageAction::Expand if full => {
                let reason = format!("{page} is already expanded");
                return Err(self.stale_for(key, reason, PageAction::Hide, &page));
            }
            PageAction::Hide if !full => {
                let reason = format!("{page} is already hidden");
                return Err(self.stale_for(key, reason, PageAction::Expand, &page));
            }
            PageAction::Expand => Edit::ExpandDetails(page),
            PageAction::Hide => Edit::HideDetails(page),
            PageAction::Update => Edit::UpdatePage(PageUpdate {
                name: params.get("name").map(|name| name.parse()).transpose()?,
                description: params.get("description").map(|text| text.parse()).transpose()?,
                detail: params.get("detail").cloned(),
                ..PageUpdate::of(page)
            }),
            PageAction::Move => Edit::MovePage { page, to: required(key, params, "to")?.parse()? },
            PageAction::Create => {
                let name = required(key, params, "name")?.parse()?;
                let detail = params.get("detail").cloned().unwrap_or_default();
                let mut new = NewDetailPage::new(page, name, detail);
                if let Some(description) = params.get("description") {
                    new.description = description.parse()?;
                }
                Edit::CreateDetailPage(new)
            }
        })
    }

    /// Returns the error for an anchor whose page has moved on, with what to press instead.
    fn stale_for(&self, key: &str, reason: String, fresh: PageAction, page: &PageIndex) -> Error {
        let offered = self.offers(fresh, page.segment());
        let fresh = offered.then(|| fresh.key(page).as_str().to_owned());
        Error::StaleAnchor { key: key.to_owned(), reason, fresh }
    }
}

impl Session {
    /// Presses an anchor: what it asks for is confined and checked like any other edit.
    pub async fn press(
        &self,
        key: &str,
        params: &BTreeMap<String, String>,
        apps: &Apps,
    ) -> Result<Pressed> {
        let reader = self.reader();
        Ok(match reader.wish(key, params, apps).await? {
            Wish::Edit(edit) => Pressed::Edited(self.apply(edit).await?),
            Wish::Find(query) => Pressed::Found(self.find_page(&query, FOUND).await?),
            Wish::App => {
                // As the view shows the application, or as a window at full once did.
                let level = reader.level_switched().await?;
                let result = match apps.press(level, key, params) {
                    Err(error) if error.kind() == ErrorKind::NotFound && level != Level::Full => {
                        apps.press(Level::Full, key, params)?
                    }
                    pressed => pressed?,
                };
                // What an application does is a round like any other (D-06), and moves the version.
                let round =
                    Edit::RecordRound { action: format!("press {key}"), result: result.clone() };
                self.apply(round).await?;
                Pressed::Answered(result)
            }
        })
    }
}

fn required(key: &str, params: &BTreeMap<String, String>, name: &str) -> Result<String> {
    params.get(name).cloned().ok_or_else(|| Error::InvalidRequest {
        reason: format!("anchor '{key}' needs the parameter '{name}'"),
        advice: "give it as name=value".into(),
    })
}

fn only(key: &str, params: &BTreeMap<String, String>, known: &[&str]) -> Result<()> {
    match params.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(other) => Err(Error::InvalidRequest {
            reason: format!("anchor '{key}' has no parameter '{}'", crate::index::shorten(other)),
            advice: "give only the parameters of the form".into(),
        }),
    }
}
