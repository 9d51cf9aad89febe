//! Fitting of weights.
//!
//! A softmax over the candidates of a question should choose those that answer it. Its likelihood is
//! concave, so Newton's method finds the one best set of weights. A set counts by how long its
//! conversations are, for it is long ones that need a search; one that only knows sessions does not count.

use contexture_search::{Feature, Weights};

use super::{
    Searched,
    score::{self, Means},
};

const COUNT: usize = Feature::ALL.len();

/// How much large weights are held back.
const HOLD: f64 = 3e-4;

type Vector = [f64; COUNT];
type Matrix = [Vector; COUNT];

/// Returns the weights of some features that fit questions best; others stay at zero.
pub(super) fn fit(all: &[&Searched], features: &[Feature], start: Weights) -> Weights {
    let mut weights = start.0.map(f64::from);
    let free: Vec<usize> = features.iter().map(|feature| *feature as usize).collect();
    for _ in 0..12 {
        let (gradient, curvature) = slopes(all, &weights);
        let step = solve(&free, &gradient, &curvature);
        let mut largest = 0.0_f64;
        for (weight, step) in weights.iter_mut().zip(step) {
            let step = step.clamp(-2.0, 2.0);
            *weight += step;
            largest = largest.max(step.abs());
        }
        if largest < 1e-4 {
            break;
        }
    }
    Weights(weights.map(|weight| weight as f32))
}

/// Returns the means of each set, every conversation searched with weights that were fitted to the
/// others, as far as these features go.
pub(super) fn left_out(
    all: &[Searched],
    sets: usize,
    features: &[Feature],
    start: Weights,
) -> Vec<Means> {
    let mut means: Vec<Vec<Means>> = vec![Vec::new(); sets];
    for of_one in all.chunk_by(|a, b| a.conversation == b.conversation) {
        let others: Vec<&Searched> =
            all.iter().filter(|other| other.conversation != of_one[0].conversation).collect();
        let weights = fit(&others, features, start);
        means[of_one[0].set].extend(of_one.iter().map(|searched| score::one(searched, &weights)));
    }
    means.into_iter().map(|means| score::mean(means.into_iter())).collect()
}

/// Returns what a question of each set counts, in all 1.
fn shares(all: &[&Searched]) -> Vec<f64> {
    let sets = all.iter().map(|searched| searched.set + 1).max().unwrap_or(0);
    let mut questions = vec![0.0_f64; sets];
    let mut turns = vec![0.0_f64; sets];
    for searched in all.iter().filter(|searched| !searched.by_session) {
        questions[searched.set] += 1.0;
        turns[searched.set] += searched.turns as f64;
    }
    let lengths = turns.iter().zip(&questions).map(|(turns, questions)| turns / questions.max(1.0));
    let whole: f64 = lengths.clone().sum();
    let share = |(length, questions): (f64, &f64)| length / whole / questions.max(1.0);
    lengths.zip(&questions).map(share).collect()
}

/// Returns the gradient of the likelihood and its curvature.
fn slopes(all: &[&Searched], weights: &Vector) -> (Vector, Matrix) {
    let shares = shares(all);
    let mut gradient = weights.map(|weight| -2.0 * HOLD * weight);
    let mut curvature = [[0.0; COUNT]; COUNT];
    for (at, row) in curvature.iter_mut().enumerate() {
        row[at] = 2.0 * HOLD;
    }
    for searched in all {
        add_question(searched, weights, shares[searched.set], &mut gradient, &mut curvature);
    }
    (gradient, curvature)
}

fn add_question(
    searched: &Searched,
    weights: &Vector,
    share: f64,
    gradient: &mut Vector,
    curvature: &mut Matrix,
) {
    let rows: Vec<(Vector, bool)> = searched
        .candidates
        .iter()
        .map(|candidate| {
            let values = Feature::ALL.map(|feature| f64::from(candidate.features.get(feature)));
            (values, searched.gold.contains(&candidate.turn))
        })
        .collect();
    let good = rows.iter().filter(|(_, good)| *good).count() as f64;
    if good == 0.0 || share == 0.0 {
        return;
    }
    let scores: Vec<f64> =
        rows.iter().map(|(row, _)| row.iter().zip(weights).map(|(a, b)| a * b).sum()).collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
    let mut mean = [0.0; COUNT];
    for ((row, good_one), score) in rows.iter().zip(&scores) {
        let chance = (score - most).exp() / sum;
        let wanted = if *good_one { 1.0 / good } else { 0.0 };
        for a in 0..COUNT {
            mean[a] += chance * row[a];
            gradient[a] += share * (wanted - chance) * row[a];
            for b in 0..=a {
                curvature[a][b] += share * chance * row[a] * row[b];
            }
        }
    }
    for a in 0..COUNT {
        for b in 0..=a {
            curvature[a][b] -= share * mean[a] * mean[b];
        }
    }
}

/// Solves for a step over the free weights, by elimination.
fn solve(free: &[usize], gradient: &Vector, curvature: &Matrix) -> Vector {
    let size = free.len();
    let entry = |a: usize, b: usize| if a >= b { curvature[a][b] } else { curvature[b][a] };
    let mut rows: Vec<Vec<f64>> = free
        .iter()
        .map(|a| free.iter().map(|b| entry(*a, *b)).chain([gradient[*a]]).collect())
        .collect();
    for pivot in 0..size {
        let (above, below) = rows.split_at_mut(pivot + 1);
        let top = &above[pivot];
        for row in below {
            let factor = row[pivot] / top[pivot];
            for at in pivot..=size {
                row[at] -= factor * top[at];
            }
        }
    }
    let mut step = [0.0; COUNT];
    for pivot in (0..size).rev() {
        let known: f64 = (pivot + 1..size).map(|at| rows[pivot][at] * step[free[at]]).sum();
        step[free[pivot]] = (rows[pivot][size] - known) / rows[pivot][pivot];
    }
    step
}
