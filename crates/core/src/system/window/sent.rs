//! Windows that were sent, shown again.
//!
//! The system side sees each as it was, proved by its hash. An agent sees again what its view still
//! holds: a line stands in place of a page that was moved out of it, left out by a filter since, or
//! lies in a segment that is no longer mounted, and of lines that may quote such a page. That is not
//! what was sent, and says so.

use std::sync::Arc;

use super::render::Before;
use crate::{
    Advice, ContextSystem, Error, Format, PageIndex, Reader, Result, Session, TokenCounter, Window,
    WindowOptions,
    decide::MOST_MOVES,
    message::MessageFilter,
    storage::{
        ContentHash, FilterKey, LedgerKey, LedgerQuery, PageStanding, Quoted, SentPiece,
        SentSource, SentWindow, StorageError,
    },
    window::{
        line::Style,
        request::RecordedWindow,
        source::{Family, RENDERER, ShownBody},
    },
};

impl Session {
    /// Returns the records of the view's ledger, newest first.
    pub async fn ledger(&self, format: Format, limit: usize) -> Result<Vec<SentWindow>> {
        let key = LedgerKey { view: self.principal.view_id(), format };
        let query = LedgerQuery { upto: None, limit };
        let system = &self.system;
        let mut records = system.storage().ledger(system.session(), &key, &query).await?;
        // What was seen then may not be seen now: `sent` looks at each piece.
        if self.principal.view().is_some() {
            records.iter_mut().for_each(SentWindow::strip);
        }
        Ok(records)
    }

    /// Renders a window that was sent again, and proves it by its hash.
    pub async fn sent(&self, options: &WindowOptions, number: u64) -> Result<RecordedWindow> {
        self.reader().sent(options, number).await
    }

    /// Renders a window that was sent again, whatever counted it. Where large parts are cut depends on the
    /// counter: those given are tried in turn where the options' own does not give the same bytes.
    pub async fn sent_with_any(
        &self,
        options: &WindowOptions,
        number: u64,
        others: impl IntoIterator<Item = Arc<dyn TokenCounter>>,
    ) -> Result<RecordedWindow> {
        let lost = match self.sent(options, number).await {
            Err(lost @ Error::SentLost { .. }) => lost,
            sent => return sent,
        };
        for counter in others {
            match self.sent(&WindowOptions { counter, ..options.clone() }, number).await {
                Err(Error::SentLost { .. }) => {}
                sent => return sent,
            }
        }
        Err(lost)
    }
}

impl ContextSystem {
    /// Returns all pieces of a window sent, also those it shares with the windows before.
    pub(super) async fn sent_pieces(
        &self,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> Result<Vec<SentPiece>> {
        let limit = usize::try_from(SentWindow::COMPLETE_EVERY).unwrap_or(usize::MAX);
        let upto = Some(sent.number);
        let chain =
            self.storage().ledger(self.session(), key, &LedgerQuery { upto, limit }).await?;
        let mut wanted = u64::MAX;
        let mut parts: Vec<&[SentPiece]> = Vec::new();
        for record in &chain {
            let own = usize::try_from(wanted.saturating_sub(record.kept)).unwrap_or(usize::MAX);
            parts.push(&record.pieces[..record.pieces.len().min(own)]);
            wanted = wanted.min(record.kept);
            if wanted == 0 {
                parts.reverse();
                return Ok(parts.concat());
            }
        }
        let reason = "the records it is based on are missing".to_owned();
        Err(Error::SentLost { number: sent.number, reason })
    }
}

impl Reader<'_> {
    async fn sent(&self, options: &WindowOptions, number: u64) -> Result<RecordedWindow> {
        let system = self.system;
        let key = LedgerKey { view: self.view.clone(), format: options.format };
        let query = LedgerQuery { upto: Some(number), limit: 1 };
        let found = system.storage().ledger(system.session(), &key, &query).await?.pop();
        let record = found.filter(|record| record.number == number);
        let mut record = record.ok_or_else(|| missing(number, options.format))?;
        let mut pieces = system.sent_pieces(&key, &record).await?;
        if pieces.iter().any(|piece| piece.source == SentSource::Purged) {
            let reason = "a page it showed has been purged since".to_owned();
            return Err(Error::SentLost { number, reason });
        }
        if record.tokenizer != options.counter.name() {
            let reason = format!("it was counted with {}", record.tokenizer);
            return Err(Error::SentLost { number, reason });
        }
        let withheld = self.withhold(options, &mut pieces, record.filter).await?;
        if !withheld.is_empty() {
            // A Context also says what could be done with its pages and what was done to them.
            if options.format == Format::Context {
                return Err(Error::SentLost { number, reason: not_held(withheld.len()) });
            }
            record.strip();
        }
        let options = WindowOptions {
            level: Some(record.level),
            model: record.model.clone(),
            ..options.clone()
        };
        let before = Before { frozen: record.frozen, tail: record.previous_tail };
        let frame = record.frame.as_deref();
        let rendering =
            system.render_pieces(&options, system.mark(), &pieces, before, frame).await?;
        let hash = ContentHash::of(rendering.body.as_bytes());
        if withheld.is_empty() && hash != record.hash {
            let reason = if record.renderer == RENDERER {
                "it would no longer be rendered to the same bytes".to_owned()
            } else {
                format!("it was made by renderer {}, this is {RENDERER}", record.renderer)
            };
            return Err(Error::SentLost { number, reason });
        }
        let window = Window {
            format: options.format,
            body: rendering.body,
            hash,
            version: crate::context::ContextVersion::NONE,
            key: crate::context::RenderKey::of([&hash.as_bytes()[..]]),
            revision: record.revision,
            account: Default::default(),
            due: None,
            anchors: Default::default(),
            repaired: rendering.repaired,
            messages: rendering.messages,
            pieces,
            frozen: record.frozen,
            frame: record.frame.clone(),
        };
        Ok(RecordedWindow { window, record, fold: None, withheld })
    }
}

/// How far a view still holds what a piece shows.
enum Hold {
    /// All of it.
    All,
    /// Not this page.
    Without(PageIndex),
    /// It is not known which pages it speaks of.
    Unknown,
}

impl Reader<'_> {
    /// Puts a line in place of each piece that shows what the view no longer holds, and returns the
    /// pages in question. `filter` is the one that the pieces were seen through.
    async fn withhold(
        &self,
        options: &WindowOptions,
        pieces: &mut [SentPiece],
        filter: FilterKey,
    ) -> Result<Vec<PageIndex>> {
        let mut withheld: Vec<PageIndex> = Vec::new();
        let Some(view) = self.guard else { return Ok(withheld) };
        let same_filter = view.filter.key() == filter;
        let style = Style {
            mark: (options.family() == Family::Provider).then_some(self.system.mark()),
            filter: options.filter.as_ref(),
        };
        for piece in pieces {
            let gone = match self.hold(piece, same_filter).await? {
                Hold::All => continue,
                Hold::Without(gone) => Some(gone),
                Hold::Unknown => None,
            };
            piece.source = SentSource::Engine(style.withheld(&piece.page, gone.as_ref()));
            piece.quotes = None;
            let gone = gone.unwrap_or_else(|| piece.page.clone());
            if !withheld.contains(&gone) {
                withheld.push(gone);
            }
        }
        Ok(withheld)
    }

    /// Tells how far the view still holds what a piece shows.
    async fn hold(&self, piece: &SentPiece, same_filter: bool) -> Result<Hold> {
        if let Some(body) = ShownBody::of(&piece.source) {
            let held = match self.sees_now(&piece.page).await? {
                Some(now) => self.says_as_much(&body, now).await?,
                None => false,
            };
            return Ok(if held { Hold::All } else { Hold::Without(piece.page.clone()) });
        }
        let Some(quotes) = &piece.quotes else { return Ok(Hold::Unknown) };
        if quotes.is_empty() {
            return Ok(Hold::All);
        }
        // Lines of runs count what was seen through the filter they were made with.
        let of_one_page = matches!(&quotes[..], [only] if only.page == piece.page);
        if !same_filter && !of_one_page {
            return Ok(Hold::Unknown);
        }
        for Quoted { page, speech } in quotes {
            // A wider sight holds what a narrower one did.
            if self.sees_now(page).await?.is_none_or(|now| now > *speech) {
                return Ok(Hold::Without(page.clone()));
            }
        }
        Ok(Hold::All)
    }

    /// Tells whether a page says now all it said when it was shown.
    async fn says_as_much(&self, body: &ShownBody, now: MessageFilter) -> Result<bool> {
        if now <= body.speech {
            return Ok(true);
        }
        let content = self.system.content(body.content).await?;
        let messages = content.messages().map_err(|reason| StorageError::Corrupt {
            what: "the content of a window sent".to_owned(),
            reason,
        })?;
        Ok(now.heard(messages.clone()) == body.speech.heard(messages))
    }

    /// Returns which messages the view sees of a page that it saw once, wherever that page is now;
    /// none where it does not see it. What is no longer there at all cannot be judged by a filter.
    async fn sees_now(&self, index: &PageIndex) -> Result<Option<MessageFilter>> {
        let mut index = index.clone();
        for _ in 0..MOST_MOVES {
            let page = self.system.page(&index).await?;
            if let Some(PageStanding::Moved(to)) = page.as_ref().map(|page| &page.standing) {
                index = to.clone();
                continue;
            }
            let Ok(segment) = self.segment(index.segment()) else { return Ok(None) };
            return Ok(match page {
                Some(page) => {
                    self.seen_page(&segment, page).await?.map(|seen_page| seen_page.speech)
                }
                None => self.filtered().is_none().then_some(MessageFilter::All),
            });
        }
        Ok(None)
    }
}

/// Says that some pages of a window are no longer in the view.
fn not_held(pages: usize) -> String {
    match pages {
        1 => "1 page it showed is no longer in this view".to_owned(),
        pages => format!("{pages} pages it showed are no longer in this view"),
    }
}

pub(super) fn missing(number: u64, format: Format) -> Error {
    Error::NothingFound {
        what: format!("window {number} in format {format} among those sent"),
        advice: Advice::SendWindow,
    }
}
