//! One way to cut any text into terms.

/// Shows the terms of a text, in order.
pub(crate) fn terms(text: &str, emit: &mut dyn FnMut(&str)) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        emit(&word.to_lowercase());
    }
}
