//! What identifies a rendering: the version of its state, and a key of all else it depends on.

use super::Purpose;
use crate::{
    Format, Level, Reader, Result, Revision, Segment, WindowOptions,
    context::{ContextVersion, History, MountedPanels, RenderKey},
    storage::{CustomKey, ViewHead, ViewId},
    view::entries::ViewEntries,
    window::{
        escape_text,
        source::{Family, RENDERER},
    },
};

/// What identifies a rendering.
pub(super) struct Identity {
    pub(super) version: ContextVersion,
    pub(super) key: RenderKey,
    /// The level asked for: for this window, or by the last switch.
    pub(super) level: Level,
    /// The edit that made the state.
    pub(super) state: Revision,
    /// What applications show.
    pub(super) panels: MountedPanels,
    /// The rounds that a Context shows; none in other formats.
    pub(super) history: Option<History>,
}

impl Reader<'_> {
    /// Returns the level the view was switched to; full where it never was.
    pub async fn level_switched(&self) -> Result<Level> {
        let custom = self.system.storage().custom(self.system.session()).await?;
        Ok(ViewEntries::of(&self.view, &custom)?.level)
    }

    /// Finds out what a rendering would be identified by, without rendering anything.
    pub(super) async fn identify(
        &self,
        options: &WindowOptions,
        purpose: Purpose,
        heads: &[ViewHead],
        custom: &[(CustomKey, String)],
    ) -> Result<Identity> {
        let entries = ViewEntries::of(&self.view, custom)?;
        let level = options.level.unwrap_or(entries.level);
        let panels = options.apps.render(level, &|text| escape_text(text).into_owned());
        let (version, state) = self.version(heads, entries.rounds);
        let history = match options.format {
            Format::Context => Some(self.rounds().await?),
            Format::Markdown | Format::Provider(_) => None,
        };
        let key = self.key(options, purpose, level, &panels, history.as_ref());
        Ok(Identity { version, key, level, state, panels, history })
    }

    /// Returns the version of what this view shows, and the edit that made its state: major moves with
    /// content and rounds of applications, minor with levels.
    pub(super) fn version(&self, heads: &[ViewHead], rounds: u64) -> (ContextVersion, Revision) {
        let segments = self.system.segments();
        let mut content = Revision(1);
        for segment in segments.all() {
            let present = Segment { removed: false, ..(**segment).clone() };
            if self.guard.is_none_or(|view| view.mounts(&present)) {
                let touched = self.system.touched(segment);
                content = content.max(segment.revision).max(touched);
            }
        }
        let touched = |view: &ViewId| {
            heads.iter().find(|head| head.view == *view).map_or(Revision(0), |head| head.touched)
        };
        let levels = touched(&self.view).max(touched(&ViewId::SYSTEM));
        let minor = levels.0.saturating_sub(content.0);
        let version = ContextVersion::new(content.0.saturating_add(rounds), minor, RENDERER);
        (version, content.max(levels))
    }

    /// Names all that bytes depend on beside the version. Whatever is asked of a window and is missing
    /// here would let two different renderings pass for one.
    fn key(
        &self,
        options: &WindowOptions,
        purpose: Purpose,
        level: Level,
        panels: &MountedPanels,
        history: Option<&History>,
    ) -> RenderKey {
        let WindowOptions {
            format,
            level: _,
            budget,
            max_messages,
            part_limit,
            reserved,
            // The host's own: it stands before the window and is no part of it.
            head: _,
            counter,
            model,
            apps: _,
            filter,
            shares,
            explain,
        } = options;
        let view = format!("{:?}", self.guard);
        // Rounds of other views show in it too, and move neither content nor levels of this one.
        let history = serde_json::to_vec(&history).expect("it holds only text and numbers");
        let bounds = format!("{budget:?} {max_messages:?} {part_limit:?} {reserved:?} {shares:?}");
        let is_request = matches!(purpose, Purpose::Request { .. });
        let provider = match options.family() {
            Family::Markdown => String::new(),
            Family::Provider => format!("{model:?} {explain:?} {is_request}"),
        };
        RenderKey::of([
            view.as_bytes(),
            format.as_str().as_bytes(),
            level.as_str().as_bytes(),
            bounds.as_bytes(),
            counter.name().as_bytes(),
            filter.name().as_bytes(),
            provider.as_bytes(),
            panels.key().as_str().as_bytes(),
            &history,
        ])
    }
}
