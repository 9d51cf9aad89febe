//! Snippets: the part of a text that holds most of what was searched for.

use std::ops::Range;

use crate::text::cut;

/// How long a snippet is, in bytes, about.
const LENGTH: usize = 240;

/// How many bytes of a text are searched for a snippet.
const MOST: usize = 256 << 10;

/// A piece of a text, with the matching words marked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The piece, on one line.
    pub text: String,
    /// Where the matching words are, in bytes of the piece.
    pub highlights: Vec<Range<usize>>,
    /// Whether the text goes on before it, and behind it.
    pub cut: (bool, bool),
}

impl Snippet {
    /// Returns the best piece of some texts, given the weight of each term, which is 0 if the query lacks it.
    pub fn cut(texts: &[String], weight: impl Fn(&str) -> f32) -> Self {
        let mut best: Option<(f32, Self)> = None;
        for text in texts {
            let end = text.floor_char_boundary(MOST);
            let (score, snippet) = piece(&text[..end], &weight);
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                best = Some((score, snippet));
            }
        }
        best.map(|(_, snippet)| snippet).unwrap_or_default()
    }
}

/// Returns the best piece of a text and its weight, in which each term counts once.
fn piece(text: &str, weight: &impl Fn(&str) -> f32) -> (f32, Snippet) {
    let mut matches: Vec<(Range<usize>, String, f32)> = Vec::new();
    cut(text, &mut |term| {
        let weight = weight(term.text);
        if weight > 0.0 {
            matches.push((term.start..term.end, term.text.to_owned(), weight));
        }
    });
    let (mut best, mut start) = (0.0, 0);
    for (at, (first, _, _)) in matches.iter().enumerate() {
        let within = matches[at..].iter().take_while(|(it, _, _)| it.end <= first.start + LENGTH);
        let mut terms: Vec<(&str, f32)> =
            within.map(|(_, term, weight)| (&**term, *weight)).collect();
        terms.sort_by(|one, other| one.0.cmp(other.0));
        terms.dedup_by(|one, other| one.0 == other.0);
        let sum: f32 = terms.iter().map(|(_, weight)| weight).sum();
        if sum > best {
            (best, start) = (sum, first.start);
        }
    }
    // A little of the text before it.
    let from = word_start(text, start.saturating_sub(LENGTH / 6));
    let to = word_end(text, (from + LENGTH).min(text.len()));
    let spans = matches.into_iter().map(|(span, _, _)| span);
    let spans = spans.filter(|span| from <= span.start && span.end <= to);
    let mut highlights: Vec<Range<usize>> = Vec::new();
    for span in spans {
        let span = span.start - from..span.end - from;
        match highlights.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => highlights.push(span),
        }
    }
    let one_line = |c: char| if c.is_control() { ' ' } else { c };
    // Control characters are one byte, or two: those are replaced by two spaces, so that places stay.
    let clean = text[from..to].chars().flat_map(|c| {
        std::iter::repeat_n(one_line(c), if c.is_control() { c.len_utf8() } else { 1 })
    });
    let snippet = Snippet { text: clean.collect(), highlights, cut: (from > 0, to < text.len()) };
    (best, snippet)
}

fn word_start(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    match text[..at].char_indices().rev().take(24).find(|(_, c)| c.is_whitespace()) {
        Some((space, c)) => space + c.len_utf8(),
        None if at <= 24 => 0,
        None => at,
    }
}

fn word_end(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    match text[at..].char_indices().take(24).find(|(_, c)| c.is_whitespace()) {
        Some((space, _)) => at + space,
        None => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_best_place() {
        let filler = "nothing of note happens here at all. ".repeat(40);
        let text = format!("{filler}The quick fox\njumped. {filler}");
        let snippet =
            Snippet::cut(&[text], |term| if ["fox", "jump"].contains(&term) { 1.0 } else { 0.0 });
        let marked: Vec<&str> =
            snippet.highlights.iter().map(|at| &snippet.text[at.clone()]).collect();
        assert_eq!(marked, ["fox", "jumped"]);
        assert!(snippet.text.len() < 2 * LENGTH && !snippet.text.contains('\n'));
        assert_eq!(snippet.cut, (true, true));
    }

    #[test]
    fn any_text_gives_a_snippet() {
        for text in ["", "\u{85}\u{1}x", "日本語のテキスト", "é".repeat(5_000).as_str()] {
            let snippet = Snippet::cut(&[text.to_owned()], |_| 1.0);
            for highlight in snippet.highlights {
                assert!(snippet.text.get(highlight).is_some(), "{text:?}");
            }
        }
    }
}
