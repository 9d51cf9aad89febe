//! Recall and nDCG of what was found.

use std::collections::HashSet;

use contexture_search::Weights;

use super::Searched;

/// Means over the questions of a set.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Means {
    /// Recall among the first ten.
    pub(super) recall: f64,
    /// Recall among the first five.
    pub(super) recall_at_5: f64,
    /// Normalised discounted cumulative gain of the first ten.
    pub(super) ndcg: f64,
    /// Whether sessions were asked for.
    pub(super) by_session: bool,
}

/// Returns the means of questions under weights.
pub(super) fn means<'a>(searched: impl Iterator<Item = &'a Searched>, weights: &Weights) -> Means {
    mean(searched.map(|searched| one(searched, weights)))
}

/// Returns the mean of measures.
pub(super) fn mean(all: impl Iterator<Item = Means>) -> Means {
    let mut sum = Means::default();
    let mut count = 0.0;
    for means in all {
        sum.recall += means.recall;
        sum.recall_at_5 += means.recall_at_5;
        sum.ndcg += means.ndcg;
        sum.by_session = means.by_session;
        count += 1.0;
    }
    let count = f64::max(count, 1.0);
    Means {
        recall: sum.recall / count,
        recall_at_5: sum.recall_at_5 / count,
        ndcg: sum.ndcg / count,
        by_session: sum.by_session,
    }
}

/// Measures one question.
pub(super) fn one(searched: &Searched, weights: &Weights) -> Means {
    let gold: HashSet<&str> = searched.gold.iter().map(String::as_str).collect();
    measure(&gold, &searched.ranked(weights), searched.by_session)
}

fn measure(gold: &HashSet<&str>, ranked: &[&str], by_session: bool) -> Means {
    let found = |cut: usize| ranked.iter().take(cut).filter(|name| gold.contains(**name)).count();
    let gain = |place: usize| 1.0 / ((place + 2) as f64).log2();
    let gained: f64 = ranked
        .iter()
        .take(10)
        .enumerate()
        .filter(|(_, name)| gold.contains(**name))
        .map(|(place, _)| gain(place))
        .sum();
    let best: f64 = (0..gold.len().min(10)).map(gain).sum();
    Means {
        recall: found(10) as f64 / gold.len() as f64,
        recall_at_5: found(5) as f64 / gold.len() as f64,
        ndcg: gained / best,
        by_session,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_the_usual_ones() {
        let gold = HashSet::from(["a", "b"]);
        let means = measure(&gold, &["x", "a", "y"], false);
        assert_eq!((means.recall, means.recall_at_5), (0.5, 0.5));
        let expected = (1.0 / 3_f64.log2()) / (1.0 + 1.0 / 3_f64.log2());
        assert!((means.ndcg - expected).abs() < 1e-12);
        assert_eq!(measure(&gold, &[], false).ndcg, 0.0);
    }
}
