//! Tests of how texts are cut.

use super::*;

fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    cut(text, &mut |term| terms.push(term.text.to_owned()));
    terms
}

#[test]
fn english_is_folded_and_stemmed() {
    assert_eq!(terms("She's RUNNING, they ran!"), ["she", "run", "they", "run"]);
    assert_eq!(terms("café Ｆｕｌｌ ﬁle naïve"), ["cafe", "full", "file", "naiv"]);
    assert_eq!(terms("cafe\u{301}"), ["cafe"]);
}

#[test]
fn chinese_gives_pairs_and_single_characters() {
    assert_eq!(terms("我喜欢"), ["我", "我喜", "喜", "喜欢", "欢"]);
    assert_eq!(terms("好"), ["好"]);
    assert_eq!(terms("用Rust写"), ["用", "rust", "写"]);
}

#[test]
fn japanese_and_korean_give_pairs() {
    assert_eq!(terms("ありがとう"), ["あり", "りが", "がと", "とう"]);
    assert_eq!(terms("東京タワー"), ["東", "東京", "京", "京タ", "タワ", "ワー"]);
    assert_eq!(terms("한국어 책"), ["한국", "국어", "책"]);
    assert_eq!(terms("ﾃｽﾄ"), ["テス", "スト"]);
}

#[test]
fn korean_and_japanese_in_pieces_are_put_together() {
    let pieces: String = unicode_normalization::UnicodeNormalization::nfd("한국어 값 が").collect();
    assert_ne!(pieces, "한국어 값 が");
    assert_eq!(terms(&pieces), terms("한국어 값 が"));
    assert_eq!(terms("ｶﾞﾗｽ"), terms("ガラス"));
    // What is shown of a text are bytes of the text itself.
    let text = format!("a {pieces}");
    let mut found = Vec::new();
    cut(&text, &mut |term| {
        if term.text == "국어" {
            found.push(text[term.start..term.end].to_owned());
        }
    });
    let pieces: String = unicode_normalization::UnicodeNormalization::nfd("국어").collect();
    assert_eq!(found, [pieces]);
}

#[test]
fn letters_are_found_without_their_keyboard() {
    assert_eq!(terms("Straße Łódź smørrebrød ılık"), terms("strasse lodz smorrebrod ilik"));
    assert_eq!(terms("ΛΌΓΟΣ λόγος"), ["λογοσ", "λογοσ"]);
    assert_eq!(terms("שָׁלוֹם"), terms("שלום"));
    assert_eq!(terms("مُحَمَّد"), terms("محمد"));
}

#[test]
fn other_scripts_are_words() {
    assert_eq!(terms("Привет, мир"), ["привет", "мир"]);
    assert_eq!(terms("ΑΘΉΝΑ"), ["αθηνα"]);
    assert_eq!(terms("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
}

#[test]
fn identifiers_are_found_whole_and_by_part() {
    assert_eq!(terms("getUserName"), ["getusernam", "get", "user", "name"]);
    assert_eq!(terms("getUserNames")[0], terms("getusernames")[0]);
    assert_eq!(terms("HTTPServer"), ["httpserver", "http", "server"]);
    assert_eq!(terms("snake_case"), ["snake", "case", "snake_case"]);
    assert_eq!(terms("E0432"), ["e0432"]);
    assert_eq!(
        terms("crates/search/text.rs"),
        ["crate", "search", "text", "rs", "crates/search/text.rs"]
    );
    assert_eq!(terms("std::io::Error"), ["std", "io", "error", "std::io::error"]);
}

#[test]
fn numbers_are_terms() {
    assert_eq!(terms("$350,000"), ["350", "000", "350000"]);
    assert_eq!(terms("172cm 3.14"), ["172cm", "172", "cm", "3", "14", "3.14"]);
    assert_eq!(terms("one, two"), ["one", "two"]);
}

#[test]
fn offsets_point_into_the_text() {
    let text = "Ｆｕｌｌ 宽度 getName";
    let mut seen = Vec::new();
    cut(text, &mut |term| seen.push((text[term.start..term.end].to_owned(), term.position)));
    let expected = [
        ("Ｆｕｌｌ", 0),
        ("宽", 1),
        ("宽度", 1),
        ("度", 2),
        ("getName", 3),
        ("get", 3),
        ("Name", 4),
    ];
    assert_eq!(seen, expected.map(|(text, position)| (text.to_owned(), position)));
}

#[test]
fn hostile_text_is_cut_in_bounded_work() {
    let long = "x".repeat(1 << 20);
    assert_eq!(terms(&long), ["x".repeat(MAX_TERM)]);
    let joined = "a_".repeat(1 << 19);
    assert!(terms(&joined).iter().all(|term| term.len() <= MAX_TERM));
    let quotes = "a'".repeat(1 << 19);
    assert_eq!(terms(&quotes), ["a"]);
    assert!(terms("\u{0}\u{1}\u{200b}\u{feff}").is_empty());
    let accents = "e\u{301}".repeat(1 << 18);
    assert!(terms(&accents).iter().all(|term| term.len() <= MAX_TERM));
    let ligatures = "\u{fdfa}".repeat(1000);
    assert!(terms(&ligatures).iter().all(|term| term.len() <= MAX_TERM));
}
