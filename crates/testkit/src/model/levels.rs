//! What a view shows, hides, pins and focuses; and the session's custom state.

use contexture_core::{
    Actor, ErrorKind, Level, PageIndex, Permission, SegmentKind, Visibility,
    storage::{CustomKey, LevelEntry},
};

use super::{Answer, Doing, put};
use crate::fixture::valid;

impl Doing<'_> {
    pub(super) fn expand(&mut self, index: &PageIndex) -> Answer {
        self.find(index)?;
        let above = self.model.above(index);
        if above.iter().any(|page| self.model.is_out_of_sight(&self.view, page)) {
            return Err(ErrorKind::Invalid);
        }
        self.leave_run(index);
        self.change_entry(index, |entry| {
            entry.shown = Some(Visibility::Expanded);
            entry.held = Some(0);
            entry.fold = None;
        });
        Ok(())
    }

    pub(super) fn hide(&mut self, index: &PageIndex) -> Answer {
        self.find(index)?;
        self.may_hide(index)?;
        self.change_entry(index, |entry| {
            entry.shown = Some(Visibility::Hidden);
            entry.held = None;
        });
        Ok(())
    }

    /// A system root is never hidden; under ReadOnly nothing of a system prompt is.
    pub(super) fn may_hide(&self, index: &PageIndex) -> Answer {
        let segment = &self.model.segments[index.segment()];
        if segment.kind != SegmentKind::System {
            return Ok(());
        }
        match (self.is_agent(), index.is_root(), segment.permission) {
            (false, true, _) | (false, false, Permission::ReadOnly) => Err(ErrorKind::Invalid),
            (false, false, Permission::ReadWrite | Permission::SystemManaged) => Ok(()),
            (true, true, _) | (true, false, Permission::ReadOnly) => {
                Err(ErrorKind::PermissionDenied)
            }
            (true, false, Permission::ReadWrite | Permission::SystemManaged) => Ok(()),
        }
    }

    pub(super) fn pin(&mut self, index: &PageIndex, pinned: bool) -> Answer {
        self.find(index)?;
        if pinned {
            self.leave_run(index);
        }
        self.change_entry(index, |entry| {
            entry.pinned = Some(pinned);
            if pinned {
                entry.fold = None;
            }
        });
        Ok(())
    }

    fn change_entry(&mut self, index: &PageIndex, change: impl FnOnce(&mut LevelEntry)) {
        let view = self.view.clone();
        let mut entry = self.model.entry(&view, index);
        change(&mut entry);
        self.put_entry(&view, index, entry);
        self.named.push(index.clone());
    }

    pub(super) fn put_entry(&mut self, view: &Actor, index: &PageIndex, entry: LevelEntry) {
        let said = (entry != LevelEntry::default()).then_some(entry);
        let key = (view.clone(), index.clone());
        put(&mut self.model.levels, &mut self.touched.levels, &key, said);
    }

    pub(super) fn focus(&mut self, index: &PageIndex) -> Answer {
        self.find(index)?;
        let view = self.view.clone();
        self.put_focus(&view, Some(index.clone()));
        self.named.push(index.clone());
        Ok(())
    }

    pub(super) fn put_focus(&mut self, view: &Actor, index: Option<PageIndex>) {
        put(&mut self.model.focus, &mut self.touched.focus, view, index);
    }

    /// A view's level is kept in an entry of its name; there is none while everything stands.
    pub(super) fn switch_level(&mut self, level: Level) -> Answer {
        let key = valid(&format!("contexture.level.{}", self.view));
        let value = (level != Level::Full).then(|| level.as_str().to_owned());
        put(&mut self.model.custom, &mut self.touched.custom, &key, value);
        Ok(())
    }

    /// The last round in a view is kept in an entry of its name, with how many there were.
    pub(super) fn record_round(&mut self, action: &str, result: &str) -> Answer {
        let key = valid(&format!("contexture.round.{}", self.view));
        let last = self.model.custom.get(&key).and_then(|text| {
            let last: serde_json::Value = serde_json::from_str(text).ok()?;
            last["count"].as_u64()
        });
        let count = last.unwrap_or(0) + 1;
        let (action, result) = (serde_json::json!(action), serde_json::json!(result));
        let value = format!(r#"{{"count":{count},"action":{action},"result":{result}}}"#);
        put(&mut self.model.custom, &mut self.touched.custom, &key, Some(value));
        Ok(())
    }

    pub(super) fn set_custom(&mut self, key: &CustomKey, value: Option<&str>) -> Answer {
        if self.is_agent() {
            return Err(ErrorKind::PermissionDenied);
        }
        let value = value.map(str::to_owned);
        put(&mut self.model.custom, &mut self.touched.custom, key, value);
        Ok(())
    }
}
