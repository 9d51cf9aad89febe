use super::*;

/// Counts words: enough to see where a text is cut.
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(text.split_whitespace().count() as u64)
    }
}

#[test]
fn pieces_fit_and_together_are_the_whole() {
    for unit in ["one two three\n", "é ü 漢字 ", "word ", "a\nb\n\n"] {
        let text = unit.repeat(400);
        let (mut read, mut offset) = (String::new(), 0);
        while offset < text.len() {
            let piece = piece(&Words, &text, offset, 50).unwrap();
            assert_eq!(piece.from, offset, "{unit:?}");
            assert!(Words.count(piece.text).0 <= 50 && !piece.text.is_empty(), "{unit:?}");
            read.push_str(piece.text);
            offset += piece.text.len();
        }
        assert_eq!(read, text);
    }
}

#[test]
fn any_offset_within_a_text_and_any_room_give_a_piece() {
    let text = "漢字 かな\n".repeat(20);
    for offset in 0..text.len() + 3 {
        for room in [0, 1, 7, 1_000] {
            let Some(piece) = piece(&Words, &text, offset, room) else {
                assert!(offset >= text.len());
                continue;
            };
            assert!(text[piece.from..].starts_with(piece.text));
        }
    }
}
