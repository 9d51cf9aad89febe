//! What becomes of the system prompt at a transcript's head: quoted text, or a page that binds agents.

use contexture_core::{
    Edit, Message, NewDetailPage, PageIndex, Role, SegmentId, Session,
    message::detail_text,
    storage::Order,
    transcript::{RepairedTranscript, TranscriptProblem, quoted},
};

use super::{Result, check_segment, chunks::is_too_large_to_quote};
use crate::wire::{KeptAs, KeptPromptObject};

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

impl Prompt {
    /// Decides it: a prompt is quoted at the first import, and taken whenever that is asked for,
    /// unless it stands in `sys` already.
    pub(super) async fn of(
        mended: &RepairedTranscript,
        session: &Session,
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
        let (root, reader): (PageIndex, _) = ("sys-0".parse()?, session.reader());
        check_segment(session, root.segment())?;
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

    /// Says why the system prompt was left out, where it was.
    pub(super) fn problem(&self) -> Option<TranscriptProblem> {
        let what = "the system prompt was left out: quoted, it is larger than a page may be";
        matches!(self, Self::TooLarge).then(|| TranscriptProblem { line: 0, what: what.to_owned() })
    }

    /// Returns the edit that keeps it.
    pub(super) fn edit(&self) -> Option<Edit> {
        match self {
            Self::Quote(edit) | Self::Take(edit) => Some(edit.clone()),
            Self::None | Self::Stands(_) | Self::TooLarge => None,
        }
    }

    /// Says what it was kept as, taking its page from those that were made, where it is the first.
    pub(super) fn kept(
        self,
        made: &mut impl Iterator<Item = PageIndex>,
    ) -> Option<KeptPromptObject> {
        match self {
            Self::None | Self::TooLarge => None,
            Self::Quote(_) => {
                made.next().map(|page| KeptPromptObject { r#as: KeptAs::Quoted, page })
            }
            Self::Take(_) => made.next().map(|page| KeptPromptObject { r#as: KeptAs::Page, page }),
            Self::Stands(page) => Some(KeptPromptObject { r#as: KeptAs::Page, page }),
        }
    }
}
