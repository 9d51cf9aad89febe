//! Sending: the fold that is due, the window, and its record in the ledger.

use std::sync::Arc;

use super::{FoldOutcome, READS, prepare::Prepared, sent::missing};
use crate::{
    ContextSystem, Edit, EditOutcome, Error, Format, Reader, Result, Revision, Session, Timestamp,
    Tokens, Usage, Window, WindowOptions,
    storage::{LedgerKey, LedgerQuery, SentPiece, SentWindow, StorageError, check::is_lost},
    window::{request::RecordedWindow, source::RENDERER},
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
    pub async fn send(&self, options: &WindowOptions) -> Result<RecordedWindow> {
        self.send_for(options, Purpose::Record).await
    }

    pub(crate) async fn send_for(
        &self,
        options: &WindowOptions,
        purpose: Purpose,
    ) -> Result<RecordedWindow> {
        let (system, reader) = (&self.system, self.reader());
        let newest_windows = &system.inner.newest_windows;
        let key = LedgerKey { view: reader.view.clone(), format: options.format };
        let mut fold = None;
        for _ in 0..ATTEMPTS {
            let since = newest_windows.drops();
            let last = system.newest_sent(&key).await?;
            // A branch goes on from what its parent sent: the provider has that in its cache.
            let parent = match &last {
                Some(_) => None,
                None => self.sent_by_parent(options.format).await?,
            };
            let number = last.as_ref().map_or(1, |last| last.number + 1);
            let last = last.or(parent);
            let prepared = self.prepare_folded(options, purpose, &mut fold).await?;
            let before = last.as_deref().filter(|_| matches!(options.format, Format::Provider(_)));
            let (window, tail) = reader.render_after(options, &prepared, before).await?;
            let last = last.as_deref();
            let mut record = record(options, &window, &prepared, (last, number), self.now());
            record.previous_tail = tail;
            record.fold = fold.and_then(|fold| fold.revision);
            if let Purpose::Request { folded } = purpose {
                answerable(&window)?;
                record.fold = record.fold.or(folded);
            }
            let recorded = system.writing().await.record(system.session(), &key, &record).await;
            match recorded {
                Ok(()) => {
                    let (pieces, kept) = (window.pieces.clone(), 0);
                    let whole = SentWindow { pieces, kept, ..record.clone() };
                    newest_windows.keep(&key, Arc::new(whole), since);
                    system.keep_counts().await?;
                    let fold = fold.map(|fold| fold.report);
                    return Ok(RecordedWindow { window, record, fold, withheld: Vec::new() });
                }
                Err(StorageError::Conflict { .. }) => newest_windows.remove(&key),
                // It may have been recorded all the same.
                Err(error) => {
                    newest_windows.remove(&key);
                    return Err(error.into());
                }
            }
        }
        let subject = format!("the ledger of view {}", key.view);
        Err(Error::TooManyRaces { attempts: ATTEMPTS as u32, subject })
    }

    /// Returns the newest window that the parent of a branch was sent; none where it is no branch.
    async fn sent_by_parent(&self, format: Format) -> Result<Option<Arc<SentWindow>>> {
        let Some(branch) = self.principal.view().and_then(|view| view.branch.as_ref()) else {
            return Ok(None);
        };
        let view = branch.parent.clone();
        self.system.newest_sent(&LedgerKey { view, format }).await
    }

    /// Prepares a window that is sent. The fold that is due is taken, once, and what was prepared
    /// stands as the fold leaves it, unless others changed what it shows meanwhile.
    async fn prepare_folded(
        &self,
        options: &WindowOptions,
        purpose: Purpose,
        taken: &mut Option<FoldOutcome>,
    ) -> Result<Prepared> {
        let reader = self.reader();
        let mut outdated = None;
        for _ in 0..READS {
            let mut prepared = reader.prepare(options, purpose).await?;
            if let Purpose::Request { .. } = purpose {
                has_prompts(&prepared)?;
            }
            if taken.is_some() {
                return Ok(prepared);
            }
            let Some(fold) = prepared.fold.take() else { return Ok(prepared) };
            let report = fold.report;
            match self.apply(Edit::FoldPages(fold)).await {
                Ok(outcome) => {
                    *taken = Some(FoldOutcome { revision: Some(outcome.revision), report });
                    if reader.stands_after_fold(options, &mut prepared, purpose, &outcome).await? {
                        return Ok(prepared);
                    }
                }
                // Somebody changed a level since it was planned: plan again.
                Err(error @ Error::FoldOutdated { .. }) => outdated = Some(error),
                Err(error) => return Err(error),
            }
        }
        match outdated {
            Some(error) if taken.is_none() => Err(error),
            _ => reader.prepare(options, purpose).await,
        }
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

impl Reader<'_> {
    /// Makes what was prepared stand as the fold leaves it that was just committed; tells whether it
    /// does, because nothing else of what it shows has changed.
    async fn stands_after_fold(
        &self,
        options: &WindowOptions,
        prepared: &mut Prepared,
        purpose: Purpose,
        fold: &EditOutcome,
    ) -> Result<bool> {
        // A Context also shows the state itself.
        let Some(before) = prepared.made_of.take().filter(|_| options.format != Format::Context)
        else {
            return Ok(false);
        };
        let expected = before.after_fold(&self.view, fold.revision);
        if self.made_of(options).0 != expected {
            return Ok(false);
        }
        let system = self.system;
        let heads = system.storage().views(system.session()).await?;
        prepared.identity = self.identify(options, purpose, &heads, &prepared.custom).await?;
        prepared.revision = fold.revision;
        Ok(self.made_of(options).0 == expected)
    }
}

impl ContextSystem {
    /// Returns the newest window of a ledger, with all its pieces.
    async fn newest_sent(&self, key: &LedgerKey) -> Result<Option<Arc<SentWindow>>> {
        let newest_windows = &self.inner.newest_windows;
        if let Some(tail) = newest_windows.get(key)
            && self.knows_all().await?
        {
            return Ok(Some(tail));
        }
        let since = newest_windows.drops();
        let newest = LedgerQuery { upto: None, limit: 1 };
        let Some(last) = self.storage().ledger(self.session(), key, &newest).await?.pop() else {
            return Ok(None);
        };
        let pieces = self.sent_pieces(key, &last).await?;
        let last = Arc::new(SentWindow { pieces, kept: 0, ..last });
        newest_windows.keep(key, last.clone(), since);
        Ok(Some(last))
    }

    /// Tells whether nothing was committed that is not known here: another process may have purged
    /// something, and a purge scrubs ledgers.
    async fn knows_all(&self) -> Result<bool> {
        if !self.storage().capabilities().shared {
            return Ok(true);
        }
        let info = self.storage().session(self.session()).await?;
        Ok(info.is_some_and(|info| info.revision <= self.seen_upto()))
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
    (last, number): (Option<&SentWindow>, u64),
    at: Timestamp,
) -> SentWindow {
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
