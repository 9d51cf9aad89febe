//! Guesses the word that was meant by one that is nearly right.

/// Returns the known word nearest to an unknown one, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).clamp(1, 2);
    // Distances of very long words are never small, and expensive to compute.
    let short = word.len() <= 100;
    let distance = |known: &&str| strsim::damerau_levenshtein(word, known);
    let near = known.into_iter().filter(|known| short && distance(known) <= most);
    near.min_by_key(|known| (distance(known), *known))
}
