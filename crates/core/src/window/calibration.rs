//! Calibration: what a count with one tokenizer means for a model that uses another.
//!
//! Counters only count, and counts are kept by the tokenizer's name. The factor from counted to the
//! model's own tokens stays outside: it begins with what is known of the model's family and is then
//! learnt from the input tokens its provider reports. No count has to be taken again when it moves.
//!
//! ```text
//!  last 9 ratios ──► middle ──► reach: four deviations, by their usual distance from it
//!                                 │
//!  last 32 ratios ────────────────┴─► factor: mean of those within reach, later and larger weigh more
//!                                     error: how far all of them lay off, cut at the reach
//! ```
//!
//! So one absurd report changes nothing, and five in a row are believed. Until nine requests are
//! seen, the prior votes twice in the middle; in the mean its weight fades with every request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Tokens, storage::SentWindow};

mod prior;

use prior::Prior;

/// How many requests are remembered.
pub const CALIBRATION_WINDOWS: usize = 32;

/// How many of the latest requests say where the middle is: a lasting change is believed after five.
const RECENT: usize = 9;

/// Reports outside this range of reported to counted say something else than how a tokenizer differs:
/// a request whose bulk was not counted, another model, a provider's mistake.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.2..=5.0;

/// What each older request weighs of the one after it; 14 requests back it is half.
const FADE: f64 = 0.95;

/// A request of this many tokens weighs half of a large one: fixed costs blur its ratio.
const HALF_WEIGHT: f64 = 500.0;

/// Ratios this close to the middle are never outliers: other content alone explains as much.
const LEAST_REACH: f64 = 0.15;

/// No calibration claims to be better than this.
const LEAST_ERROR: f64 = 0.01;

/// From a deviation to the distance within which nine of ten lie. A normal distribution has 1.645;
/// the rest is for a deviation known from few requests only.
const NINE_OF_TEN: f64 = 1.8;

/// The same for half of them, which is what a median of distances tells.
const HALF: f64 = 0.6745;

/// Converts counted tokens to a model's own, and learns how from what its provider reports.
///
/// Equal observations in equal order give equal figures, on any machine. Recorded as JSON it comes
/// back as it was; what is not plausible in the JSON is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Stored")]
pub struct Calibration {
    prior: Prior,
    /// The latest requests, oldest first; at most [`CALIBRATION_WINDOWS`], all plausible.
    recent: Vec<Observation>,
    observations: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Observation {
    counted: Tokens,
    reported: Tokens,
}

/// A model's tokens as estimated from a count, with the relative error to expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// How many tokens the model is expected to see.
    pub tokens: Tokens,
    /// How far off that may be: 0.04 is ±4 %, which nine requests of ten keep.
    pub error: f64,
}

impl Calibration {
    /// Begins with what is known of the model's family; see [`Calibration::observe`].
    ///
    /// The factor is that from `o200k_base` for every model without a public tokenizer of ours, and
    /// about 1 for those counted with their own.
    pub fn prior(model: &str) -> Self {
        Self { prior: Prior::of(model), recent: Vec::new(), observations: 0 }
    }

    /// Begins the same way and learns from windows sent, newest first, as a ledger gives them: those
    /// made for the model, with the usage its provider reported.
    pub fn of_sent(model: &str, sent: &[SentWindow]) -> Self {
        let mut calibration = Self::prior(model);
        let same = sent.iter().rev().filter(|record| record.model.as_deref() == Some(model));
        for record in same {
            if let Some(usage) = &record.usage {
                calibration.observe(record.tokens, Tokens(usage.input));
            }
        }
        calibration
    }

    /// Learns from a request: what was counted for it, and the input tokens the provider reported,
    /// cached ones included.
    ///
    /// Zero counts and reports that no tokenizer explains are ignored.
    pub fn observe(&mut self, counted: Tokens, reported: Tokens) {
        let observation = Observation { counted, reported };
        if !observation.is_plausible() {
            return;
        }
        if self.recent.len() == CALIBRATION_WINDOWS {
            self.recent.remove(0);
        }
        self.recent.push(observation);
        self.observations = self.observations.saturating_add(1);
    }

    /// Returns how many of the model's tokens one counted token makes.
    pub fn factor(&self) -> f64 {
        self.figures().factor
    }

    /// Returns the relative error to expect of an estimate: 0.04 is ±4 %.
    pub fn error(&self) -> f64 {
        self.figures().error
    }

    /// Returns how many requests it has learnt from.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// Estimates the model's tokens from counted ones.
    pub fn estimate(&self, counted: Tokens) -> Estimate {
        let Figures { factor, error } = self.figures();
        Estimate { tokens: Tokens((counted.0 as f64 * factor).round() as u64), error }
    }

    /// Returns how many counted tokens fit under a model's budget, the error kept free as a margin.
    ///
    /// The estimate of that many, with its error on top, is within the budget.
    pub fn budget(&self, budget: Tokens) -> Tokens {
        let Figures { factor, error } = self.figures();
        // One token and a half are lost to the roundings of `estimate` and `most`.
        let tokens = (budget.0 as f64 - 1.0) / (1.0 + error) - 0.5;
        Tokens((tokens / factor) as u64)
    }

    fn figures(&self) -> Figures {
        let ratios: Vec<f64> = self.recent.iter().map(Observation::ratio).collect();
        let recent = &ratios[ratios.len().saturating_sub(RECENT)..];
        let votes = if recent.len() < RECENT { 2 } else { 0 };
        let middle = median(recent, self.prior.factor(), votes);
        let distances: Vec<f64> = recent.iter().map(|ratio| (ratio / middle - 1.0).abs()).collect();
        let usual = median(&distances, self.prior.error() / NINE_OF_TEN * HALF, votes);
        let reach = (4.0 / HALF * usual).max(LEAST_REACH);

        let weights = self.weights();
        let seen: f64 = weights.iter().sum();
        let prior = (self.prior.factor(), 2.0 / (1.0 + seen));
        let within = |&(ratio, _): &(f64, f64)| (ratio / middle - 1.0).abs() <= reach;
        let weighed = || ratios.iter().copied().zip(weights.iter().copied());
        let factor = mean(weighed().chain([prior]).filter(within)).unwrap_or(middle);

        // The less was seen, the more the factor itself is off.
        let wider = NINE_OF_TEN * (1.0 + 1.0 / seen).sqrt();
        let square = |(ratio, weight): (f64, f64)| {
            let off = (ratio / factor - 1.0).abs();
            let off = if off <= reach { off * wider } else { reach };
            (off * off, weight)
        };
        let doubt = (self.prior.error() * self.prior.error(), prior.1);
        let error = mean(weighed().map(square).chain([doubt])).map_or(0.0, f64::sqrt);
        Figures { factor, error: error.max(LEAST_ERROR) }
    }

    /// What each remembered request weighs; later and larger ones more.
    fn weights(&self) -> Vec<f64> {
        let mut age = 1.0;
        let weight = |observation: &Observation| {
            let counted = observation.counted.0 as f64;
            let weight = age * counted / (counted + HALF_WEIGHT);
            age *= FADE;
            weight
        };
        let mut weights: Vec<f64> = self.recent.iter().rev().map(weight).collect();
        weights.reverse();
        weights
    }
}

impl Estimate {
    /// Returns the most tokens to expect: the estimate with its error on top.
    pub fn most(&self) -> Tokens {
        Tokens((self.tokens.0 as f64 * (1.0 + self.error)).ceil() as u64)
    }
}

/// Writes such as `estimate, ±4 % after 12 requests`.
impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded up: an error is never told smaller than it is.
        write!(f, "estimate, ±{} % ", percent(self.error()))?;
        match self.observations {
            0 => f.write_str("before the first request"),
            1 => f.write_str("after 1 request"),
            many => write!(f, "after {many} requests"),
        }
    }
}

/// Writes such as `12400 tokens ±4 %`.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens ±{} %", self.tokens, percent(self.error))
    }
}

struct Figures {
    factor: f64,
    error: f64,
}

impl Observation {
    fn ratio(&self) -> f64 {
        self.reported.0 as f64 / self.counted.0 as f64
    }

    fn is_plausible(&self) -> bool {
        self.counted.0 > 0 && PLAUSIBLE.contains(&self.ratio())
    }
}

/// What was recorded, before it is checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    prior: Prior,
    #[serde(default)]
    recent: Vec<Observation>,
    #[serde(default)]
    observations: u64,
}

impl From<Stored> for Calibration {
    fn from(stored: Stored) -> Self {
        let mut recent = stored.recent;
        recent.retain(Observation::is_plausible);
        recent.drain(..recent.len().saturating_sub(CALIBRATION_WINDOWS));
        let observations = stored.observations.max(recent.len() as u64);
        Self { prior: stored.prior, recent, observations }
    }
}

/// Returns the middle of some figures, the higher of two, where `prior` has some votes as well.
fn median(figures: &[f64], prior: f64, votes: usize) -> f64 {
    let mut figures = figures.to_vec();
    figures.extend(std::iter::repeat_n(prior, votes));
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(prior)
}

/// Returns the mean of figures with their weights; none if nothing weighs.
fn mean(figures: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let add = |(sum, all): (f64, f64), (figure, weight)| (sum + figure * weight, all + weight);
    let (sum, all) = figures.fold((0.0, 0.0), add);
    (all > 0.0).then(|| sum / all)
}

fn percent(error: f64) -> u64 {
    // What is one part in a million above a whole per cent is the float's doing.
    (error * 100.0 - 1e-4).ceil() as u64
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
