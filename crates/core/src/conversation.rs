//! The loop, for hosts that own theirs: append what was said, ask for the next request, report
//! what the provider charged.
//!
//! ```text
//!  append(messages) ──► request() ──► (your call to the model) ──► report(usage)
//!        ▲                                                              │
//!        └──────────────────── the answer ◄─────────────────────────────┘
//! ```
//!
//! Every request is valid for its provider and fits its budget. A fold that is due is taken when it
//! costs least: when the window is over, or earlier where the provider's cache has gone cold anyway.
//! What the provider reports corrects the counting from then on.

use crate::{
    AppendKey, Edit, Error, ErrorKind, Message, PageIndex, Result, Role, Session, Timestamp,
    Tokens, Usage, WindowOptions,
    message::open_calls,
    quantity::thousandths,
    storage::{LedgerKey, UsageReport},
    system::Purpose,
    window::{CALIBRATION_WINDOWS, Calibration, FoldOutcome, FoldReport, request::RecordedWindow},
};

/// How long a provider keeps a cached prefix that nobody asks for.
const CACHE_LIFE_MILLIS: i64 = 5 * 60 * 1_000;

/// How full a window may be, in thousandths, before a cold cache is reason enough to fold it.
const FULL_WHEN_COLD: u64 = 800;

/// A conversation with a model, of an agent or of a host without one.
#[derive(Debug, Clone)]
pub struct Conversation {
    session: Session,
    options: WindowOptions,
}

/// A request to be sent to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The fragment of the request's body that the window is: add the model, the tools and so on.
    pub body: String,
    /// Its number in the ledger: what usage is reported under.
    pub number: u64,
    /// What it is expected to take, as the model counts.
    pub tokens: Tokens,
    /// What of it the provider is expected to have cached.
    pub cached: Tokens,
    /// What the fold that was taken for it saved and cost.
    pub fold: Option<FoldReport>,
    /// The pages in its system part.
    pub system: Vec<PageIndex>,
    /// What came in broken and was made valid, in words.
    pub repaired: Vec<String>,
}

impl Conversation {
    /// Begins or continues a conversation. The options hold format, budget and model.
    pub fn new(session: impl Into<Session>, options: WindowOptions) -> Self {
        Self { session: session.into(), options }
    }

    /// Returns the session that it is held in.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Writes what was said: user messages begin turns, what follows continues them.
    ///
    /// The last assistant message may have calls without results, and results may come later: tool
    /// messages that come first answer the calls that are open. So a host can append everything as it gets
    /// it.
    pub async fn append(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let (results, rest) = answers_first(messages);
        if results.is_empty() && open_calls(&rest).is_empty() {
            return self.append_whole(rest).await;
        }
        Ok(self.session.apply(self.appending(results, rest)).await?.pages)
    }

    /// Writes what was said under a key of the host's, as one edit: sent again with the same messages, it is
    /// there once and the answer is the same; with other messages it is a conflict.
    pub async fn append_keyed(
        &self,
        messages: Vec<Message>,
        key: AppendKey,
    ) -> Result<Vec<PageIndex>> {
        let keyed = self.session.keyed(key);
        let (results, rest) = answers_first(messages);
        // What an assistant says before there is any turn begins one.
        let begins = results.is_empty() && rest.first().is_some_and(|it| it.role != Role::User);
        let first = match begins && open_calls(&rest).is_empty() {
            true => {
                Some(Edit::AddTurn { segment: self.session.writes_to(), messages: rest.clone() })
            }
            false => None,
        };
        let appended = keyed.apply(self.appending(results, rest)).await;
        let is_other = |error: &Error| {
            matches!(error, Error::KeyReused { .. }) || error.kind() == ErrorKind::NotFound
        };
        match (appended, first) {
            (Err(error), Some(first)) if is_other(&error) => Ok(keyed.apply(first).await?.pages),
            (appended, _) => Ok(appended?.pages),
        }
    }

    /// Returns the edit that answers open calls and writes what follows.
    fn appending(&self, results: Vec<Message>, rest: Vec<Message>) -> Edit {
        let segment = self.session.writes_to();
        let mut edits = Vec::new();
        if !results.is_empty() {
            edits.push(Edit::AddResults { segment: segment.clone(), messages: results });
        }
        if !rest.is_empty() || edits.is_empty() {
            edits.push(Edit::OpenExchange { segment, messages: rest });
        }
        if edits.len() == 1 { edits.remove(0) } else { Edit::Batch(edits) }
    }

    /// Writes exchanges that have all their results.
    async fn append_whole(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let mut pages = Vec::new();
        let begins = messages.iter().position(|message| message.role == Role::User);
        let mut rest = messages;
        let turns = begins.map(|begins| rest.split_off(begins)).unwrap_or_default();
        if !rest.is_empty() {
            // What comes before any user message continues the latest turn, where there is one.
            match self.session.extend_turn(rest.clone()).await {
                Ok(extended) => pages.extend(extended),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    pages.extend(self.session.add_turn(rest).await?);
                }
                Err(error) => return Err(error),
            }
        }
        if !turns.is_empty() {
            pages.extend(self.session.add_turn(turns).await?);
        }
        Ok(pages)
    }

    /// Returns the next request: the fold that is due is taken, and the window recorded as sent.
    ///
    /// A conversation in which nothing was said yet has none.
    pub async fn request(&self) -> Result<ModelRequest> {
        let (calibration, newest) = self.remembered().await?;
        let mut options = self.options.clone();
        // Where parts are cut must not move with the correction: earlier messages would change.
        let part = options.shares.part;
        let limit = options.budget.map(|it| Tokens(thousandths(it.0, part)));
        options.part_limit = options.part_limit.or(limit);
        options.budget = options.budget.map(|budget| fit(calibration.as_ref(), budget));
        let early = self.fold_if_cold(&options, newest).await?;
        let folded = early.and_then(|fold| fold.revision);
        let RecordedWindow { window, record, fold, .. } =
            self.session.send_for(&options, Purpose::Request { folded }).await?;
        let fold = fold.or(early.map(|fold| fold.report));
        let system = window.pieces.iter().filter(|piece| piece.system);
        Ok(ModelRequest {
            system: system.map(|piece| piece.page.clone()).collect(),
            body: window.body,
            number: record.number,
            tokens: corrected(calibration.as_ref(), record.tokens),
            cached: corrected(calibration.as_ref(), record.cached),
            fold,
            repaired: window.repaired,
        })
    }

    /// Reports what the provider charged for a request.
    pub async fn report(&self, request: &ModelRequest, usage: &Usage) -> Result<()> {
        self.session.report_usage(self.options.format, request.number, usage).await
    }

    /// Returns such a report for hosts that note it together with their own records
    /// ([`ContextSystem::keep`](crate::ContextSystem::keep)).
    pub fn report_of(&self, request: &ModelRequest, usage: &Usage) -> UsageReport {
        let ledger =
            LedgerKey { view: self.session.principal().view_id(), format: self.options.format };
        UsageReport { ledger, number: request.number, usage: usage.clone() }
    }

    /// Returns how the model's own counts differ from ours, from what its provider reported; none
    /// when no model is named.
    pub async fn calibration(&self) -> Result<Option<Calibration>> {
        Ok(self.remembered().await?.0)
    }

    /// Returns the calibration, and when the newest request was made.
    async fn remembered(&self) -> Result<(Option<Calibration>, Option<Timestamp>)> {
        let model = self.options.model.as_deref();
        let most = model.map_or(1, |_| CALIBRATION_WINDOWS);
        let records = self.session.ledger(self.options.format, most).await?;
        let calibration = model.map(|model| Calibration::of_sent(model, &records));
        Ok((calibration, records.first().map(|sent| sent.at)))
    }

    /// Folds early where the provider's cache has gone cold: all is read anew in any case.
    async fn fold_if_cold(
        &self,
        options: &WindowOptions,
        newest: Option<Timestamp>,
    ) -> Result<Option<FoldOutcome>> {
        let Some(budget) = options.budget else { return Ok(None) };
        if !newest.is_some_and(|sent| is_cold(sent, self.session.now())) {
            return Ok(None);
        }
        let mut early = options.clone();
        early.budget = Some(Tokens(thousandths(budget.0, FULL_WHEN_COLD)));
        match self.session.fold(&early).await {
            Ok(fold) => Ok(fold),
            // What does not fit the lower mark may well fit the budget.
            Err(Error::WindowTooLarge { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Separates the tool messages that come first, which answer calls, from the rest.
fn answers_first(messages: Vec<Message>) -> (Vec<Message>, Vec<Message>) {
    let said = messages.iter().position(|message| message.role != Role::Tool);
    let mut results = messages;
    let rest = results.split_off(said.unwrap_or(results.len()));
    (results, rest)
}

/// Returns how many counted tokens fit under a model's budget.
fn fit(calibration: Option<&Calibration>, budget: Tokens) -> Tokens {
    calibration.map_or(budget, |calibration| calibration.budget(budget))
}

/// Returns counted tokens as the model counts them.
fn corrected(calibration: Option<&Calibration>, counted: Tokens) -> Tokens {
    calibration.map_or(counted, |calibration| calibration.estimate(counted).tokens)
}

fn is_cold(sent: Timestamp, now: Timestamp) -> bool {
    now.as_millis() - sent.as_millis() > CACHE_LIFE_MILLIS
}
