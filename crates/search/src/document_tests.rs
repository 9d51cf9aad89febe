//! Tests of how pages become documents.

use super::*;

#[test]
fn a_speaker_is_the_same_in_any_spelling() {
    assert_eq!(speaker_hash("Zoë"), speaker_hash("zoe"));
    assert_ne!(speaker_hash("Ann"), speaker_hash("Anna"));
    assert_eq!(speaker_hash("  "), 0);
}
