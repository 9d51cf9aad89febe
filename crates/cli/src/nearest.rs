//! What was probably meant by a word that is nearly right.

/// Returns the known word that is nearest to one that is not known, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).clamp(1, 2);
    // Distances of very long words are never small, and dear to compute.
    let short = word.len() <= 100;
    let distance = |known: &&str| strsim::damerau_levenshtein(word, known);
    let near = known.into_iter().filter(|known| short && distance(known) <= most);
    near.min_by_key(|known| (distance(known), *known))
}
