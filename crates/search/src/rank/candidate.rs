//! The candidates of a search, and what speaks for each.

use std::collections::{HashMap, HashSet};

use super::{
    feature::{Feature, Features},
    gather::{CANDIDATES, Gathered, skip_to},
};
use crate::{
    collection::{Collection, Facts, Nearest},
    document::DocKey,
    query::Query,
};

/// How many turns around a document belong to it, on each side.
const REACH: usize = 8;

/// What a turn counts less than the next nearer one.
const DECAY: f32 = 0.93;

/// What one term can count at most for the turns around.
const ENOUGH: f32 = 1.5;

/// Turns further apart than this in time do not belong together, in milliseconds.
const APART: i64 = 7 * 24 * 60 * 60 * 1000;

pub(super) struct Candidates<'a> {
    collection: &'a dyn Collection,
    query: &'a Query,
    gathered: &'a Gathered,
    /// Everything that may be looked at, in the order of keys.
    keys: Vec<DocKey>,
    /// What each term is worth in each of the keys: a row per key.
    worth: Vec<f32>,
    /// BM25 of each of the keys, as a share of the best.
    scores: Vec<f32>,
    facts: Vec<Option<Facts>>,
    nearest: Nearest,
    /// What is ranked: places in `keys`, with the messages around them.
    chosen: Vec<Chosen>,
}

struct Chosen {
    at: usize,
    /// Places in `keys` of the messages around it, in order, itself included.
    line: Vec<usize>,
    /// Its own place in the line.
    place: usize,
}

impl<'a> Candidates<'a> {
    pub(super) fn of(
        collection: &'a dyn Collection,
        query: &'a Query,
        gathered: &'a Gathered,
    ) -> Self {
        let nearest = match gathered.only_phrases {
            true => Nearest { keys: Vec::new(), ..collection.nearest(CANDIDATES) },
            false => collection.nearest(CANDIDATES),
        };
        let mut best = best(&gathered.scores);
        let by_words: HashSet<DocKey> = best.iter().copied().collect();
        best.extend(nearest.keys.iter().filter(|key| !by_words.contains(key)));
        let lines: Vec<(DocKey, Vec<DocKey>)> =
            best.into_iter().map(|key| (key, line(collection, key))).collect();
        let mut keys: Vec<DocKey> =
            lines.iter().flat_map(|(key, line)| line.iter().chain([key])).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        let mut candidates = Self {
            collection,
            query,
            gathered,
            worth: worth(gathered, &keys),
            scores: vec![0.0; keys.len()],
            facts: vec![None; keys.len()],
            keys,
            nearest,
            chosen: Vec::new(),
        };
        candidates.score();
        candidates.learn_facts();
        candidates.choose(&lines);
        candidates
    }

    /// Returns every candidate with what speaks for it.
    pub(super) fn features(&self) -> impl Iterator<Item = (DocKey, Features)> {
        let around: Vec<f32> = self.chosen.iter().map(|chosen| self.around(chosen)).collect();
        let most = around.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let chapters = self.chapters();
        self.chosen.iter().zip(around).map(move |(chosen, around)| {
            let mut features = self.own_features(chosen.at);
            features.set(Feature::Around, around / most);
            let chapter = self.chapter(chosen.at).and_then(|chapter| chapters.get(&chapter));
            features.set(Feature::Chapter, chapter.copied().unwrap_or_default());
            features.set(Feature::Next, self.next(chosen));
            features.set(Feature::Answers, self.answers(chosen));
            (self.keys[chosen.at], features)
        })
    }

    fn own_features(&self, at: usize) -> Features {
        let mut features = Features::default();
        features.set(Feature::Match, self.scores[at]);
        let matched = self.row(at).iter().zip(&self.gathered.terms);
        let mass: f32 = matched.filter(|(worth, _)| **worth > 0.0).map(|(_, term)| term.mass).sum();
        features.set(Feature::Share, mass / self.gathered.mass.max(f32::MIN_POSITIVE));
        features.set(Feature::Similar, self.similar(at));
        let Some(facts) = self.facts[at] else { return features };
        let set = |is: bool| if is { 1.0 } else { 0.0 };
        features.set(Feature::Speaker, set(self.is_named(facts.speaker)));
        let close = self.query.dates.iter().map(|date| date.closeness(facts.at));
        features.set(Feature::Date, close.fold(0.0, f32::max));
        features.set(Feature::Time, set(self.query.asks_when && facts.marks.names_time()));
        features.set(Feature::Own, set(facts.marks.first_person()));
        features.set(Feature::Asks, set(facts.marks.ends_asking()));
        features
    }

    /// Returns how much more alike a message is to what was asked than the others are, as a share of what is possible.
    fn similar(&self, at: usize) -> f32 {
        let Nearest { compared, mean, .. } = self.nearest;
        let Some(own) = self.collection.similarity(self.keys[at]) else { return 0.0 };
        let others = match compared {
            0 | 1 => 0.0,
            count => (mean * count as f32 - own) / (count - 1) as f32,
        };
        ((own - others) / (1.0 - others).max(f32::EPSILON)).clamp(0.0, 1.0)
    }

    fn is_named(&self, speaker: u32) -> bool {
        self.gathered.speakers.contains(&speaker)
    }

    /// Returns how much of the query stands in a message and those around it.
    fn around(&self, chosen: &Chosen) -> f32 {
        let mut best: Vec<f32> =
            self.row(chosen.at).iter().map(|worth| worth.min(ENOUGH)).collect();
        for (place, at) in chosen.line.iter().enumerate() {
            let distance = place.abs_diff(chosen.place);
            if distance == 0 || distance > REACH || !self.belong_together(chosen.at, *at) {
                continue;
            }
            let decay = DECAY.powi(distance as i32);
            for (best, worth) in best.iter_mut().zip(self.row(*at)) {
                *best = best.max(decay * worth.min(ENOUGH));
            }
        }
        best.iter().zip(&self.gathered.terms).map(|(worth, term)| worth * term.mass).sum()
    }

    /// Returns how much of the query stands in each chapter, as a share of the best.
    fn chapters(&self) -> HashMap<(u16, u32), f32> {
        let mut best: HashMap<(u16, u32), Vec<f32>> = HashMap::new();
        for at in (0..self.keys.len()).filter(|at| self.scores[*at] > 0.0) {
            let Some(chapter) = self.chapter(at) else { continue };
            let best = best.entry(chapter).or_insert_with(|| vec![0.0; self.gathered.terms.len()]);
            for (best, worth) in best.iter_mut().zip(self.row(at)) {
                *best = best.max(worth.min(ENOUGH));
            }
        }
        let sum = |best: &[f32]| -> f32 {
            best.iter().zip(&self.gathered.terms).map(|(worth, term)| worth * term.mass).sum()
        };
        let most = best.values().map(|best| sum(best)).fold(f32::MIN_POSITIVE, f32::max);
        best.into_iter().map(|(chapter, best)| (chapter, sum(&best) / most)).collect()
    }

    /// Returns the chapter of a turn; notes have none.
    fn chapter(&self, at: usize) -> Option<(u16, u32)> {
        let facts = self.facts[at].filter(|facts| facts.speaker != 0)?;
        Some((self.keys[at].segment, facts.chapter))
    }

    /// Returns how well the turn behind matches.
    fn next(&self, chosen: &Chosen) -> f32 {
        let behind = chosen.line.get(chosen.place + 1).copied();
        let behind = behind.filter(|behind| self.belong_together(chosen.at, *behind));
        behind.map_or(0.0, |behind| self.scores[behind])
    }

    /// Returns how well the turn before matches, if it was a question by somebody else.
    fn answers(&self, chosen: &Chosen) -> f32 {
        let before = chosen.place.checked_sub(1).map(|place| chosen.line[place]);
        let Some(before) = before.filter(|before| self.belong_together(chosen.at, *before)) else {
            return 0.0;
        };
        match (self.facts[before], self.facts[chosen.at]) {
            (Some(asked), Some(said)) if asked.marks.asks() && asked.speaker != said.speaker => {
                self.scores[before]
            }
            _ => 0.0,
        }
    }

    /// Returns whether two messages are turns of one chapter that were said within some days. Notes, which
    /// nobody says, are no turns.
    fn belong_together(&self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.facts[one], self.facts[other]) else { return false };
        one.speaker != 0
            && other.speaker != 0
            && one.chapter == other.chapter
            && (one.at.as_millis() - other.at.as_millis()).abs() <= APART
    }

    fn row(&self, at: usize) -> &[f32] {
        let terms = self.gathered.terms.len();
        &self.worth[at * terms..(at + 1) * terms]
    }

    fn score(&mut self) {
        for at in 0..self.keys.len() {
            let row = self.row(at).iter().zip(&self.gathered.terms);
            self.scores[at] = row.map(|(worth, term)| worth * term.mass).sum();
        }
        let most = self.scores.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        self.scores.iter_mut().for_each(|score| *score /= most);
    }

    /// Asks for the facts of messages that match, and of those beside them.
    fn learn_facts(&mut self) {
        for at in 0..self.keys.len() {
            let near = at.saturating_sub(1)..(at + 2).min(self.keys.len());
            let is_near = |key: &DocKey| self.nearest.keys.binary_search(key).is_ok();
            let matches = self.scores[near.clone()].iter().any(|score| *score > 0.0);
            if matches || self.keys[near].iter().any(is_near) {
                self.facts[at] = self.collection.facts(self.keys[at]);
            }
        }
    }

    /// Chooses the best documents and the messages directly beside them.
    fn choose(&mut self, lines: &[(DocKey, Vec<DocKey>)]) {
        let place_of = |key: &DocKey| self.keys.binary_search(key).ok();
        let mut chosen: HashMap<usize, Chosen> = HashMap::new();
        for (key, line) in lines {
            let line: Vec<usize> = line.iter().filter_map(place_of).collect();
            let Some(at) = place_of(key) else { continue };
            let Some(own) = line.iter().position(|other| *other == at) else {
                chosen.entry(at).or_insert(Chosen { at, line: vec![at], place: 0 });
                continue;
            };
            for place in own.saturating_sub(1)..(own + 2).min(line.len()) {
                let at = line[place];
                let is_own = place == own;
                let is_beside = !self.gathered.only_phrases
                    && self.belong_together(line[own], at)
                    && !chosen.contains_key(&at);
                if is_own || is_beside {
                    chosen.insert(at, Chosen { at, line: line.clone(), place });
                }
            }
        }
        let mut chosen: Vec<Chosen> = chosen.into_values().collect();
        chosen.sort_unstable_by_key(|chosen| chosen.at);
        self.chosen = chosen;
    }
}

/// Returns the best documents by BM25, best first.
fn best(scores: &[(DocKey, f32)]) -> Vec<DocKey> {
    let mut scores = scores.to_vec();
    let order = |a: &(DocKey, f32), b: &(DocKey, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if scores.len() > CANDIDATES {
        scores.select_nth_unstable_by(CANDIDATES, order);
        scores.truncate(CANDIDATES);
    }
    scores.sort_unstable_by(order);
    scores.into_iter().map(|(key, _)| key).collect()
}

/// Returns the messages around one, as far as the messages beside it need them.
fn line(collection: &dyn Collection, key: DocKey) -> Vec<DocKey> {
    let mut line = Vec::with_capacity(2 * REACH + 3);
    collection.around(key, REACH + 1, &mut |key| line.push(key));
    line
}

/// Returns what each term is worth in each key: a row per key.
fn worth(gathered: &Gathered, keys: &[DocKey]) -> Vec<f32> {
    let terms = gathered.terms.len();
    let mut worth = vec![0.0; keys.len() * terms];
    for (column, term) in gathered.terms.iter().enumerate() {
        let mut rest = term.postings.as_slice();
        for (row, key) in keys.iter().enumerate() {
            rest = skip_to(rest, key);
            match rest.first() {
                Some((found, value)) if found == key => worth[row * terms + column] = *value,
                Some(_) => {}
                None => break,
            }
        }
    }
    worth
}
