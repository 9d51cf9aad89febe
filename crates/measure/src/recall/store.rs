//! Storing a conversation as a user would, and taking its documents from the stored pages.

use std::{collections::HashMap, sync::Arc};

use anyhow::{Result, ensure};
use contexture_core::{
    Clock, ContextSystem, Edit, ManualClock, MemoryStorage, Message, NewContentsPage,
    NewDetailPage, NewSegment, PageIndex, PageName, Role, SegmentKind, Session, Timestamp,
    message::RawJson,
};
use contexture_search::{DocKey, Document, MemoryCollection};

use super::{
    data::{Conversation, Turn},
    embed::Vectors,
};

/// A conversation that was stored, with its documents.
pub(super) struct Stored {
    pub(super) collection: MemoryCollection,
    /// Which turn each document is.
    pub(super) turns: HashMap<DocKey, usize>,
    /// What vectors are made of, by document.
    pieces: Vec<(DocKey, Vec<String>)>,
    /// When the last turn was said: questions are asked then.
    pub(super) last: Timestamp,
}

impl Stored {
    /// Stores a conversation: a directory for each session, and in it a page for each turn of a
    /// dialogue, or a note where nobody speaks.
    pub(super) async fn new(conversation: &Conversation) -> Result<Self> {
        let clock = Arc::new(ManualClock::at_millis(0));
        let storage = Arc::new(MemoryStorage::new());
        let system =
            ContextSystem::create(storage, "recall".parse()?, "measure", clock.clone()).await?;
        let host = system.as_system();
        let segment = NewSegment::new("usr".parse()?, SegmentKind::User);
        host.apply(Edit::AddSegment(segment)).await?;
        let mut stored = Self {
            collection: MemoryCollection::new(),
            turns: HashMap::new(),
            pieces: Vec::new(),
            last: Timestamp::from_millis(0),
        };
        let mut pages: Vec<(PageIndex, usize)> = Vec::new();
        let mut first = 0;
        for session in conversation.turns.chunk_by(|a, b| a.session == b.session) {
            for turn in session {
                stored.last = stored.last.max(turn.at()?);
            }
            if session[0].speaker.is_empty() {
                pages.extend(write_notes(&host, &clock, session, first).await?);
            } else {
                pages.extend(write_turns(&host, session, first).await?);
            }
            first += session.len();
        }
        for (page, turn) in pages {
            stored.take(&host, &page, turn).await?;
        }
        Ok(stored)
    }

    /// Returns the texts that vectors are made of.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().flat_map(|(_, pieces)| pieces).map(String::as_str)
    }

    /// Says what each document means.
    pub(super) fn learn(&mut self, vectors: &Vectors) {
        for (key, pieces) in &self.pieces {
            let known = pieces.iter().filter_map(|piece| vectors.get(piece).cloned());
            self.collection.insert_vectors(*key, known.collect());
        }
    }

    /// Takes the documents of a page; its messages are the turns from that number on.
    async fn take(&mut self, host: &Session, page: &PageIndex, first: usize) -> Result<()> {
        let messages = host.get_messages(page).await?;
        let view = host.get_page(page).await?;
        for document in Document::of_page(&view.page, &messages) {
            let number = u32::try_from(page.number())?;
            let key = DocKey { segment: 0, page: number, message: document.message };
            self.turns.insert(key, first + usize::from(document.message.max(1)) - 1);
            self.collection.insert(key, &document);
            if document.message > 0 {
                self.pieces.push((key, document.pieces().map(str::to_owned).collect()));
            }
        }
        Ok(())
    }
}

/// Writes a session of a dialogue as turns and puts them into a directory.
async fn write_turns(
    host: &Session,
    session: &[Turn],
    first: usize,
) -> Result<Vec<(PageIndex, usize)>> {
    let messages = session.iter().map(message).collect::<Result<Vec<_>>>()?;
    let pages = host.add_turn(messages).await?;
    let name = session[0].session.as_str();
    host.create_contents_page(name, "", "usr-0", &pages).await?;
    let mut placed = Vec::new();
    let mut next = first;
    for page in pages {
        let count = host.get_messages(&page).await?.len();
        placed.push((page, next));
        next += count;
    }
    ensure!(next == first + session.len(), "a session was not stored turn by turn");
    Ok(placed)
}

/// Writes notes into a directory, each at its own time.
async fn write_notes(
    host: &Session,
    clock: &ManualClock,
    session: &[Turn],
    first: usize,
) -> Result<Vec<(PageIndex, usize)>> {
    let directory = NewContentsPage::new("usr-0".parse()?, session[0].session.parse()?);
    let made = host.apply(Edit::CreateContentsPage(directory)).await?;
    let mut placed = Vec::new();
    for (number, turn) in session.iter().enumerate() {
        clock.advance_millis(turn.at()?.as_millis() - clock.now().as_millis());
        let name = PageName::from_first_line(&turn.text, "Note");
        let note = NewDetailPage::new(made.pages[0].clone(), name, turn.said());
        let made = host.apply(Edit::CreateDetailPage(note)).await?;
        placed.push((made.pages[0].clone(), first + number));
    }
    Ok(placed)
}

/// Makes the message of a turn. A speaker is its `name`, as chat messages have it.
fn message(turn: &Turn) -> Result<Message> {
    let role = match turn.role.as_deref() {
        Some("assistant") => Role::Assistant,
        _ => Role::User,
    };
    let mut message = Message::text(role, turn.said());
    message.at = Some(turn.at()?);
    if turn.role.as_deref() != Some(turn.speaker.as_str()) {
        message.extra.push("name", RawJson::string(&turn.speaker));
    }
    Ok(message)
}
