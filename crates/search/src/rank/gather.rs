//! The postings of every term of a query, with what each occurrence is worth.

use std::collections::BTreeMap;

use crate::{
    collection::{Collection, Counts, Posting, Size},
    document::{DocKey, Field},
    query::{Asked, Query},
};

/// How fast more occurrences of a term count less.
const K1: f32 = 1.2;

/// How much long documents are held back.
const B: f32 = 0.5;

/// What an occurrence counts, by field.
const FIELDS: [f32; Field::ALL.len()] = [1.2, 1.0, 1.0, 0.6, 0.6];

/// Terms in more documents than this, and in more than a twentieth, say too little for what they cost.
const COMMON: usize = 20_000;

/// How many postings a search keeps before it leaves out the terms that weigh least. Questions stay far
/// below; a whole text as a query may not.
const WORK: usize = 2_000_000;

/// How many documents are looked at closely.
pub(super) const CANDIDATES: usize = 100;

/// What a synonym is worth, as a share of the word itself.
const SYNONYM: f32 = 0.4;

/// How many endings of a prefix are looked up.
const ENDINGS: usize = 32;

/// What was found for a query.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The terms that stand in any document.
    pub(super) terms: Vec<Found>,
    /// The sum of their masses.
    pub(super) mass: f32,
    /// The speakers that the query names.
    pub(super) speakers: Vec<u32>,
    /// Whether only documents with a phrase are wanted, and not those beside them.
    pub(super) only_phrases: bool,
    /// BM25 of the documents that may be candidates, in the order of keys.
    pub(super) scores: Vec<(DocKey, f32)>,
}

/// One term with the documents it stands in.
#[derive(Debug)]
pub(super) struct Found {
    /// Its weight in the query times its idf.
    pub(super) mass: f32,
    /// How much it stands in each document, in the order of keys.
    pub(super) postings: Vec<(DocKey, f32)>,
}

impl Gathered {
    pub(super) fn of(collection: &dyn Collection, query: &Query) -> Self {
        let mut names = query.names.clone();
        names.retain(|name| collection.speaks(*name));
        let scale = Scale::of(collection.size());
        let named = |asked: &Asked| asked.name != 0 && names.contains(&asked.name);
        let plain = |asked: &&Asked| asked.required || !(asked.stop || named(asked));
        let mut gathered = Self { speakers: names.clone(), ..Self::default() };
        gathered.look_up(collection, &scale, query.asked.iter().filter(plain), scale.common);
        if gathered.terms.is_empty() {
            // Nothing but names and common words: these then.
            gathered.look_up(collection, &scale, query.asked.iter(), usize::MAX);
        }
        gathered.mass = gathered.terms.iter().map(|term| term.mass).sum();
        let has_phrases = query.asked.iter().any(|asked| asked.required);
        let wanted = if has_phrases { usize::MAX } else { CANDIDATES };
        gathered.scores = sums(&gathered.terms, wanted);
        gathered.keep_phrases(collection, query);
        gathered
    }

    fn look_up<'a>(
        &mut self,
        collection: &dyn Collection,
        scale: &Scale,
        asked: impl Iterator<Item = &'a Asked>,
        common: usize,
    ) {
        let mut work = 0;
        for asked in asked {
            if work > WORK && !asked.required {
                continue;
            }
            let common = if asked.required { usize::MAX } else { common };
            let Some(own) = postings(collection, scale, asked, common) else { continue };
            let count = own.len();
            let all = with_synonyms(collection, scale, asked, own, common);
            if all.is_empty() {
                continue;
            }
            work += all.len();
            // A word says less where its synonyms are common, and little where it stands nowhere itself.
            let idf = match count {
                0 => SYNONYM * scale.idf(all.len()),
                _ => (scale.idf(count) + scale.idf(all.len())) / 2.0,
            };
            self.terms.push(Found { mass: asked.weight * idf, postings: all });
        }
    }

    /// Keeps only documents that have all terms of all phrases, where there are any.
    fn keep_phrases(&mut self, collection: &dyn Collection, query: &Query) {
        let mut kept: Option<Vec<DocKey>> = None;
        for asked in query.asked.iter().filter(|asked| asked.required) {
            let mut with = Vec::new();
            collection.postings(&asked.term, &mut |posting| {
                with.push(posting.key);
                true
            });
            if let Some(kept) = &kept {
                with.retain(|key| kept.binary_search(key).is_ok());
            }
            kept = Some(with);
        }
        if let Some(kept) = kept.filter(|kept| !kept.is_empty()) {
            self.only_phrases = true;
            self.scores.retain(|(key, _)| kept.binary_search(key).is_ok());
        }
    }
}

/// Returns BM25 of the documents that have a term, in the order of keys. Documents that cannot be among the
/// `wanted` best are left out.
fn sums(terms: &[Found], wanted: usize) -> Vec<(DocKey, f32)> {
    let mut order: Vec<&Found> = terms.iter().collect();
    order.sort_by(|a, b| b.mass.total_cmp(&a.mass));
    // What the terms from here on can add at most.
    let mut left: f32 = terms.iter().map(|term| term.mass * (K1 + 1.0)).sum();
    let mut sums: Vec<(DocKey, f32)> = Vec::new();
    for term in order {
        let least = least_of_best(&sums, wanted);
        if left < least {
            sums.retain(|(_, sum)| sum + left >= least);
            add_to(&mut sums, term);
        } else {
            sums = merged(&sums, &term.postings, |sum, worth| sum + term.mass * worth);
        }
        left -= term.mass * (K1 + 1.0);
    }
    sums
}

/// Returns the lowest of the best sums; 0 where there are fewer.
fn least_of_best(sums: &[(DocKey, f32)], wanted: usize) -> f32 {
    if sums.len() <= wanted {
        return 0.0;
    }
    let mut values: Vec<f32> = sums.iter().map(|(_, sum)| *sum).collect();
    *values.select_nth_unstable_by(wanted, |a, b| b.total_cmp(a)).1
}

/// Adds a term to documents that are there already.
fn add_to(sums: &mut [(DocKey, f32)], term: &Found) {
    let mut rest = term.postings.as_slice();
    for (key, sum) in sums {
        rest = skip_to(rest, key);
        match rest.first() {
            Some((found, worth)) if found == key => *sum += term.mass * worth,
            Some(_) => {}
            None => return,
        }
    }
}

/// Returns the postings from a key on, in ever larger steps.
pub(super) fn skip_to<'a>(postings: &'a [(DocKey, f32)], key: &DocKey) -> &'a [(DocKey, f32)] {
    let mut step = 1;
    while step < postings.len() && postings[step].0 < *key {
        step *= 2;
    }
    let from = step / 2;
    let until = (step + 1).min(postings.len());
    let ahead = postings[from.min(until)..until].partition_point(|(other, _)| other < key);
    &postings[(from + ahead).min(postings.len())..]
}

/// Returns where a term stands, or nothing where it stands in too many documents.
fn postings(
    collection: &dyn Collection,
    scale: &Scale,
    asked: &Asked,
    common: usize,
) -> Option<Vec<(DocKey, f32)>> {
    let mut found = Vec::new();
    if !asked.prefix && collection.at_least(&asked.term) > common {
        return None;
    }
    if !asked.prefix {
        collection.postings(&asked.term, &mut |posting| {
            found.push((posting.key, scale.worth(posting)));
            found.len() <= common
        });
    } else {
        let mut best: BTreeMap<DocKey, f32> = BTreeMap::new();
        for term in collection.completions(&asked.term, ENDINGS) {
            collection.postings(&term, &mut |posting| {
                let worth = best.entry(posting.key).or_default();
                *worth = worth.max(scale.worth(posting));
                best.len() <= common
            });
        }
        found.extend(best);
    }
    (found.len() <= common).then_some(found)
}

/// Adds the documents with synonyms of a term, which are worth less.
fn with_synonyms(
    collection: &dyn Collection,
    scale: &Scale,
    asked: &Asked,
    own: Vec<(DocKey, f32)>,
    common: usize,
) -> Vec<(DocKey, f32)> {
    let mut all = own;
    for synonym in asked.synonyms {
        let mut found = Vec::new();
        collection.postings(synonym, &mut |posting| {
            found.push((posting.key, SYNONYM * scale.worth(posting)));
            found.len() <= common
        });
        if found.len() <= common {
            all = merged(&all, &found, f32::max);
        }
    }
    all
}

/// Merges two lists in the order of keys.
fn merged(
    one: &[(DocKey, f32)],
    other: &[(DocKey, f32)],
    join: impl Fn(f32, f32) -> f32,
) -> Vec<(DocKey, f32)> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let mut rest = one;
    for (key, value) in other {
        let before = rest.iter().take_while(|(before, _)| before < key).count();
        all.extend_from_slice(&rest[..before]);
        rest = &rest[before..];
        let same = match rest.split_first() {
            Some(((same, value), behind)) if same == key => {
                rest = behind;
                *value
            }
            _ => 0.0,
        };
        all.push((*key, join(same, *value)));
    }
    all.extend_from_slice(rest);
    all
}

/// The statistics that BM25 needs.
struct Scale {
    documents: f32,
    average: f32,
    common: usize,
}

impl Scale {
    fn of(size: Size) -> Self {
        let documents = size.documents.max(1);
        let terms: u64 = size.terms.iter().sum();
        let common = usize::try_from(documents / 20).unwrap_or(usize::MAX).max(COMMON);
        Self {
            documents: documents as f32,
            average: (terms as f32 / documents as f32).max(1.0),
            common,
        }
    }

    fn idf(&self, documents: usize) -> f32 {
        let with = documents as f32;
        (1.0 + (self.documents - with + 0.5).max(0.0) / (with + 0.5)).ln()
    }

    /// Returns what the occurrences of a term in a document are worth.
    fn worth(&self, posting: &Posting) -> f32 {
        let count = weighted(&posting.counts);
        // Whole numbers of this size are exact.
        let length = posting.lengths.iter().map(|length| u32::from(*length)).sum::<u32>() as f32;
        count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / self.average))
    }
}

fn weighted(counts: &Counts) -> f32 {
    counts.iter().zip(FIELDS).map(|(count, weight)| f32::from(*count) * weight).sum()
}
