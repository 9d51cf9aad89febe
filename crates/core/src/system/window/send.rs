//! Sending: the fold that is due, the window, and its record in the ledger.

use super::{prepare::Prepared, sent::missing};
use crate::{
    Error, Format, LedgerKey, Result, Revision, SentPiece, SentWindow, Session, Timestamp, Tokens,
    Usage,
    check::is_lost,
    storage::{LedgerQuery, StorageError},
    system::ContextSystem,
    window::{
        request::{Sent, Window, WindowOptions},
        source::RENDERER,
    },
};

/// How often a record is tried again because another was made meanwhile.
const ATTEMPTS: usize = 16;

/// What a window is sent for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// To be kept: whatever the view shows.
    Record,
    /// To be answered by a model: there must be something to answer.
    Request {
        /// A fold that was taken for it already.
        folded: Option<Revision>,
    },
}

impl Session {
    /// Takes the fold that is due, renders the window and records it as sent.
    pub async fn send(&self, options: &WindowOptions) -> Result<Sent> {
        self.send_for(options, Purpose::Record).await
    }

    pub(crate) async fn send_for(&self, options: &WindowOptions, purpose: Purpose) -> Result<Sent> {
        let fold = self.fold(options).await?;
        let (system, reader) = (&self.system, self.reader());
        let key = LedgerKey { view: reader.view.clone(), format: options.format };
        for _ in 0..ATTEMPTS {
            let last = system.newest_sent(&key).await?;
            let prepared = reader.prepare(options, purpose).await?;
            if let Purpose::Request { .. } = purpose {
                has_prompts(&prepared)?;
            }
            let mut window = reader.render(options, &prepared, None).await?;
            let mut record = record(options, &window, &prepared, last.as_ref(), self.now());
            record.fold = fold.and_then(|fold| fold.revision);
            if let Purpose::Request { folded } = purpose {
                answerable(&window)?;
                record.fold = record.fold.or(folded);
            }
            // Breakpoints move with what was sent before; nothing else does.
            if let (Format::Provider(_), Some(last)) = (options.format, &last)
                && let Some(tail) = previous_tail(last, &window)
            {
                window = reader.render(options, &prepared, Some(tail)).await?;
                record.previous_tail = Some(tail);
                record.hash = window.hash;
            }
            let recorded = system.writing().await.record(system.session(), &key, &record).await;
            match recorded {
                Ok(()) => {
                    system.keep_counts().await?;
                    return Ok(Sent { window, record, withheld: Vec::new() });
                }
                Err(StorageError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let subject = format!("the ledger of view {}", key.view);
        Err(Error::TooManyRaces { attempts: ATTEMPTS as u32, subject })
    }

    /// Notes what the provider reported for a window sent.
    pub async fn report_usage(&self, format: Format, number: u64, usage: &Usage) -> Result<()> {
        let key = LedgerKey { view: self.principal.view_id(), format };
        let storage = self.system.writing().await;
        match storage.report(self.system.session(), &key, number, usage).await? {
            true => Ok(()),
            false => Err(missing(number, format)),
        }
    }
}

impl ContextSystem {
    async fn newest_sent(&self, key: &LedgerKey) -> Result<Option<SentWindow>> {
        let newest = LedgerQuery { upto: None, limit: 1 };
        let Some(last) = self.storage().ledger(self.session(), key, &newest).await?.pop() else {
            return Ok(None);
        };
        let pieces = self.sent_pieces(key, &last).await?;
        Ok(Some(SentWindow { pieces, kept: 0, ..last }))
    }
}

/// Refuses a window that holds nothing but the system part: providers refuse it too.
fn answerable(window: &Window) -> Result<()> {
    let provider = matches!(window.format, Format::Provider(_));
    let empty = window.messages.is_empty() || window.pieces.iter().all(|piece| piece.system);
    if provider && empty {
        let reason = "there is nothing to answer: the conversation has no messages".to_owned();
        return Err(Error::InvalidRequest { reason, advice: "append a user message first".into() });
    }
    Ok(())
}

/// Refuses a window whose system part lost a text.
fn has_prompts(prepared: &Prepared) -> Result<()> {
    let mut system = prepared.outline.blocks().filter(|(section, _)| section.is_system());
    match system.find(|(_, block)| is_lost(&block.page)) {
        Some((_, block)) => Err(Error::PromptLost { page: block.page.index.clone() }),
        None => Ok(()),
    }
}

/// Returns the record of a window as the difference to the one before.
fn record(
    options: &WindowOptions,
    window: &Window,
    prepared: &Prepared,
    last: Option<&SentWindow>,
    at: Timestamp,
) -> SentWindow {
    let number = last.map_or(1, |last| last.number + 1);
    let before: &[SentPiece] = last.map_or(&[], |last| &last.pieces);
    let same = |(old, new): &(&SentPiece, &SentPiece)| {
        old.source == new.source && old.page == new.page && old.system == new.system
    };
    let common = before.iter().zip(&window.pieces).take_while(same).count();
    let alike = |(old, new): &(&SentPiece, &SentPiece)| old.quotes == new.quotes;
    // Every so often a record is complete, so that none rests on all before it.
    let kept = match number % SentWindow::COMPLETE_EVERY {
        1 => 0,
        _ => before[..common].iter().zip(&window.pieces).take_while(alike).count(),
    };
    let tokens = |pieces: &[SentPiece]| pieces.iter().map(|piece| piece.tokens.0).sum::<u64>();
    // The host's block stands before all pieces: when it changes, none is where it was.
    let in_place = match last {
        Some(last) if last.head == options.head => Some(common),
        Some(_) | None => None,
    };
    let cached = in_place.map(|count| tokens(&window.pieces[..count]) + options.reserved.0);
    // What was sent before and stands again behind the first change.
    let behind = in_place.unwrap_or(0);
    let moved = window.pieces[behind..].iter();
    let moved = moved.filter(|piece| before[behind..].iter().any(|old| old.source == piece.source));
    SentWindow {
        number,
        at,
        revision: window.revision,
        level: prepared.identity.level,
        budget: prepared.budget,
        tokenizer: options.counter.name().to_owned(),
        model: options.model.clone(),
        renderer: RENDERER,
        head: options.head,
        reserved: options.reserved,
        hash: window.hash,
        tokens: Tokens(window.account.tokens),
        cached: Tokens(cached.unwrap_or(0)),
        reread: Tokens(moved.map(|piece| piece.tokens.0).sum()),
        fold: None,
        kept: kept as u64,
        pieces: window.pieces[kept..].to_vec(),
        frozen: window.frozen,
        previous_tail: None,
        messages: window.messages.len() as u64,
        frame: window.frame.clone(),
        filter: prepared.outline.filter,
        usage: None,
    }
}

/// Returns the last message of the window before, if everything of it still stands.
fn previous_tail(last: &SentWindow, window: &Window) -> Option<u64> {
    let tail = last.messages.checked_sub(1)?;
    let kept = last.pieces.iter().zip(&window.pieces);
    let stands = kept.take_while(|(old, new)| old.page == new.page).count() + 1;
    (stands >= last.pieces.len() && tail < window.messages.len() as u64).then_some(tail)
}
