//! What speaks for a result, and how much each counts.

/// One thing that speaks for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// BM25 of the document, as a share of the best.
    Match,
    /// The share of the query's weight that stands in the document.
    Share,
    /// How much of the query stands in the document and the turns around it, as a share of the best.
    Around,
    /// How much of the query stands in its chapter, as a share of the best.
    Chapter,
    /// BM25 of the turn behind it: somebody takes up what it says.
    Next,
    /// The turn before was a question by somebody else that matches: this may be the answer.
    Answers,
    /// It was said by a speaker whom the query names.
    Speaker,
    /// It was said at a time that the query names.
    Date,
    /// The query asks for a time, and the document names one.
    Time,
    /// The speaker says something of their own.
    Own,
    /// It ends with a question, so the answer stands elsewhere.
    Asks,
    /// It means something like the query, where somebody was asked what it means.
    Similar,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 12] = [
        Feature::Match,
        Feature::Share,
        Feature::Around,
        Feature::Chapter,
        Feature::Next,
        Feature::Answers,
        Feature::Speaker,
        Feature::Date,
        Feature::Time,
        Feature::Own,
        Feature::Asks,
        Feature::Similar,
    ];

    /// Returns the name to print.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Match => "match",
            Feature::Share => "share",
            Feature::Around => "around",
            Feature::Chapter => "chapter",
            Feature::Next => "next",
            Feature::Answers => "answers",
            Feature::Speaker => "speaker",
            Feature::Date => "date",
            Feature::Time => "time",
            Feature::Own => "own",
            Feature::Asks => "asks",
            Feature::Similar => "similar",
        }
    }
}

/// The features of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Features([f32; Feature::ALL.len()]);

impl Features {
    /// Returns a feature.
    pub fn get(&self, feature: Feature) -> f32 {
        self.0[feature as usize]
    }

    pub(super) fn set(&mut self, feature: Feature, value: f32) {
        self.0[feature as usize] = value;
    }
}

/// What each feature weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights(pub [f32; Feature::ALL.len()]);

impl Weights {
    /// Chosen by hand between two fits of `contexture-measure recall --fit`, with and without the features
    /// of the chapter and the next turn. That of similarity was fitted while the others stayed.
    pub const FITTED: Weights =
        Weights([1.0, 2.5, 3.5, 1.0, 0.5, 2.0, 1.5, 4.2, 1.4, 0.9, -0.6, 3.0]);

    /// BM25 alone.
    pub const BM25: Weights = Weights::NONE.with(Feature::Match, 1.0);

    /// Nothing counts.
    const NONE: Weights = Weights([0.0; Feature::ALL.len()]);

    /// Returns the weight of a feature.
    pub fn get(&self, feature: Feature) -> f32 {
        self.0[feature as usize]
    }

    /// Returns them with another weight of a feature.
    pub const fn with(mut self, feature: Feature, weight: f32) -> Self {
        self.0[feature as usize] = weight;
        self
    }

    /// Returns the weighted sum of features.
    pub fn score(&self, features: &Features) -> f32 {
        self.0.iter().zip(features.0).map(|(weight, value)| weight * value).sum()
    }
}
