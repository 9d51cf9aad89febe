//! Where the tokens of a window go.

use contexture_core::{
    Account, Result, Session, Tokens, Window,
    storage::SentWindow,
    window::{CALIBRATION_WINDOWS, Calibration, Estimate},
};
use serde::Serialize;

mod kinds;

/// What takes how much of a window.
#[derive(Debug, Serialize)]
pub struct AccountObject {
    /// In all, by segment and by page.
    #[serde(flatten)]
    pub account: Account,
    /// By what was said, shared out by bytes.
    pub kinds: Vec<KindObject>,
    /// What the model itself is expected to count, where its tokenizer is not public.
    pub estimate: Option<EstimateObject>,
}

/// What a kind of text takes of a window.
#[derive(Debug, Serialize)]
pub struct KindObject {
    /// Such as `user text` or `tool results`.
    pub kind: &'static str,
    /// About how many tokens.
    pub tokens: u64,
}

/// What a model is expected to count.
#[derive(Debug, Serialize)]
pub struct EstimateObject {
    /// The model.
    pub model: String,
    /// The tokens it is expected to count.
    pub tokens: Tokens,
    /// How far off that may be, relative to it, in steps of a thousandth.
    pub error: f64,
    /// How many reports of the provider it rests on.
    pub observations: u64,
}

impl AccountObject {
    /// Adds up what a window takes.
    pub async fn of(session: &Session, window: &Window, model: Option<&str>) -> Result<Self> {
        let kinds = kinds::of(session, window).await?;
        let account = window.account.clone();
        let estimate = match model.filter(|_| !account.exact) {
            Some(model) => {
                let sent = session.ledger(window.format, CALIBRATION_WINDOWS).await?;
                Some(EstimateObject::of(model, &sent, Tokens(account.tokens)))
            }
            None => None,
        };
        Ok(Self { account, kinds, estimate })
    }
}

impl EstimateObject {
    fn of(model: &str, sent: &[SentWindow], counted: Tokens) -> Self {
        let calibration = Calibration::of_sent(model, sent);
        let Estimate { tokens, error } = calibration.estimate(counted);
        Self {
            model: model.to_owned(),
            tokens,
            error: (error * 1_000.0).round() / 1_000.0,
            observations: calibration.observations(),
        }
    }
}
