//! What becomes of the system prompt at a transcript's head: quoted text, or a page that binds agents.

use contexture_core::{
    ContextSystem, Edit, Message, NewDetailPage, PageIndex, Role, SegmentId,
    message::detail_text,
    storage::Order,
    transcript::{Mended, Problem, quoted},
};
use serde::Serialize;

use super::{check_segment, chunks::is_too_large_to_quote};
use crate::error::Result;

/// The page a system prompt becomes that is taken.
const NAME: &str = "Imported system prompt";

/// What is to be done with the prompt.
#[derive(Default)]
pub(super) enum Prompt {
    /// There is none, or it was dealt with before.
    #[default]
    None,
    /// It is kept as quoted text before the first turn.
    Quote(Edit),
    /// It becomes a page of `sys`.
    Take(Edit),
    /// It stands in `sys` already.
    Stands(PageIndex),
    /// Quoted, it is more than a page may hold.
    TooLarge,
}

/// What the prompt was kept as, and where.
#[derive(Debug, Serialize)]
pub(super) struct Kept {
    r#as: &'static str,
    page: PageIndex,
}

impl Prompt {
    /// Decides it: a prompt is quoted at the first import, and taken whenever that is asked for,
    /// unless it stands in `sys` already.
    pub(super) async fn of(
        mended: &Mended,
        system: &ContextSystem,
        segment: &SegmentId,
        first_import: bool,
        take: bool,
    ) -> Result<Self> {
        let Some(text) = &mended.system else { return Ok(Self::None) };
        if !take {
            let message = quoted(Message::text(Role::System, text));
            let edit = Edit::AddTurn { segment: segment.clone(), messages: vec![message] };
            return Ok(match first_import {
                true if is_too_large_to_quote(text) => Self::TooLarge,
                true => Self::Quote(edit),
                false => Self::None,
            });
        }
        let session = system.as_system();
        let (root, reader): (PageIndex, _) = ("sys-0".parse()?, session.reader());
        check_segment(system, root.segment())?;
        let first = reader.children(&root, Order::Forward, None, 1_000).await?;
        for seen in first.items.iter().filter(|seen| seen.page.detail().is_some()) {
            if detail_text(&reader.messages(&seen.page.index).await?) == *text {
                return Ok(Self::Stands(seen.page.index.clone()));
            }
        }
        Ok(Self::Take(Edit::CreateDetailPage(NewDetailPage::new(root, NAME.parse()?, text))))
    }

    /// Tells whether the caller asked for it, so that it is done even where nothing else is new.
    pub(super) fn is_asked_for(&self) -> bool {
        matches!(self, Self::Take(_) | Self::Stands(_))
    }

    /// Says why it is left out, where it is.
    pub(super) fn problem(&self) -> Option<Problem> {
        let what = "the system prompt is left out: quoted, it is more than a page may hold";
        matches!(self, Self::TooLarge).then(|| Problem { line: 0, what: what.to_owned() })
    }

    /// Returns the edit that keeps it.
    pub(super) fn edit(&self) -> Option<Edit> {
        match self {
            Self::Quote(edit) | Self::Take(edit) => Some(edit.clone()),
            Self::None | Self::Stands(_) | Self::TooLarge => None,
        }
    }

    /// Says what it was kept as, taking its page from those that were made, where it is the first.
    pub(super) fn kept(self, made: &mut impl Iterator<Item = PageIndex>) -> Option<Kept> {
        match self {
            Self::None | Self::TooLarge => None,
            Self::Quote(_) => made.next().map(|page| Kept { r#as: "quoted", page }),
            Self::Take(_) => made.next().map(|page| Kept { r#as: "page", page }),
            Self::Stands(page) => Some(Kept { r#as: "page", page }),
        }
    }
}

impl Kept {
    /// Says it in a sentence.
    pub(super) fn told(&self) -> String {
        let page = &self.page;
        if self.r#as == "page" {
            return format!("its system prompt stands as {page}, which binds every agent");
        }
        format!(
            "its system prompt is kept as quoted text in {page}; --take-prompt puts it into sys"
        )
    }
}
