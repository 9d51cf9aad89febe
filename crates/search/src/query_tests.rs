//! Tests of what is read from questions.

use super::*;

fn read(text: &str) -> Query {
    Query::read(text, Timestamp::from_millis(1_683_720_000_000))
}

fn looked_up(query: &Query) -> Vec<&str> {
    query.asked.iter().filter(|asked| !asked.stop).map(|asked| asked.term.as_str()).collect()
}

#[test]
fn a_question_needs_no_syntax() {
    let query = read("What did Caroline buy? AND (NOT \"");
    assert_eq!(looked_up(&query), ["buy", "carolin"]);
    assert!(query.names.contains(&speaker_hash("Caroline")));
    assert!(query.phrases.is_empty());
}

#[test]
fn phrases_and_prefixes_are_known() {
    let query = read("\"connection refused\" conf*");
    assert!(query.asked.iter().any(|asked| asked.term == "conf" && asked.prefix));
    assert_eq!(query.asked.iter().filter(|asked| asked.required).count(), 2);
    assert!(query.confirms("error: Connection refused by peer"));
    assert!(!query.confirms("refused the connection"));
    let chinese = read("\"长跑比赛\"");
    assert!(chinese.confirms("我参加了长跑比赛。") && !chinese.confirms("长跑和比赛"));
}

#[test]
fn later_lines_weigh_more_and_labels_are_left_out() {
    let query = read("<Ann>: \"pizza\"\n<Assistant>: \"music\"");
    assert_eq!(looked_up(&query), ["music", "pizza"]);
    assert!(query.asked[0].weight > query.asked[1].weight);
    assert!(query.phrases.is_empty() && query.names.is_empty());
}

#[test]
fn what_is_told_before_a_question_names_no_time() {
    assert!(read("昨天的电影真好看！我用的手机怎么样？").dates.is_empty());
    assert_eq!(read("我昨天说了什么？").dates.len(), 1);
}

#[test]
fn a_role_is_no_name() {
    assert!(!read("what did the user say").names.contains(&speaker_hash("user")));
    assert!(read("王峰喜欢什么").names.contains(&speaker_hash("王峰")));
    assert!(read("where is Mary Ann").names.contains(&speaker_hash("Mary Ann")));
}

#[test]
fn hostile_queries_are_bounded() {
    for text in
        ["a ".repeat(1 << 19), "\"".repeat(1 << 20), "*".repeat(1 << 20), "字".repeat(1 << 18)]
    {
        let query = read(&text);
        assert!(query.asked.len() <= MAX_TERMS);
        assert!(query.names.len() <= MAX_BYTES);
    }
    let words: String = (0..100_000).map(|number| format!("w{number} ")).collect();
    assert_eq!(read(&words).asked.len(), MAX_TERMS);
    assert_eq!(read("\u{0}\n\u{1b}[31m").phrases, []);
    assert_eq!(read(""), Query::default());
}
