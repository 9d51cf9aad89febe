//! Tests of times in questions.

use super::*;

fn hints(line: &str) -> Vec<DateHint> {
    read(line, line, "2023-05-10T12:00:00Z".parse().expect("a time"))
}

fn civil_hint(year: i32, month: u32, day: u32) -> DateHint {
    let given = |number: u32| (number > 0).then_some(number);
    DateHint::Civil { year: (year > 0).then_some(year), month: given(month), day: given(day) }
}

#[test]
fn dates_are_read_in_many_spellings() {
    for line in [
        "on 8 May, 2023",
        "the 8th of May 2023",
        "May 8th, 2023",
        "2023-05-08?",
        "08.05.2023",
        "2023年5月8日",
    ] {
        assert_eq!(hints(line), [civil_hint(2023, 5, 8)], "{line}");
    }
    assert_eq!(hints("what happened in May 2023?"), [civil_hint(2023, 5, 0)]);
    assert_eq!(hints("in May"), [civil_hint(0, 5, 0)]);
    assert_eq!(hints("在4月27号这天"), [civil_hint(0, 4, 27)]);
    assert_eq!(hints("in 2022"), [civil_hint(2022, 0, 0)]);
    assert!(hints("may I march in?").is_empty());
    assert!(hints("13月 2023-14-01").is_empty());
}

#[test]
fn times_are_seen_from_the_present() {
    let days = |from: &str, to: &str| {
        let day = |text: &str| day_of(format!("{text}T00:00:00Z").parse().expect("a day"));
        vec![DateHint::Days { from: day(from), to: day(to) }]
    };
    assert_eq!(hints("what did I say yesterday?"), days("2023-05-09", "2023-05-09"));
    assert_eq!(hints("last week"), days("2023-05-01", "2023-05-07"));
    assert_eq!(hints("上周我说了什么"), days("2023-05-01", "2023-05-07"));
    assert_eq!(hints("two days ago"), days("2023-05-08", "2023-05-08"));
    assert_eq!(hints("last friday"), days("2023-05-05", "2023-05-05"));
    assert_eq!(hints("the last week of October 2022"), [civil_hint(2022, 10, 0)]);
    assert_eq!(hints("last month"), [civil_hint(2023, 4, 0)]);
}

#[test]
fn close_days_count_less_than_the_day() {
    let at = |text: &str| format!("{text}T09:00:00Z").parse::<Timestamp>().expect("a time");
    let hint = civil_hint(2023, 5, 8);
    let close =
        ["2023-05-08", "2023-05-09", "2023-05-14", "2022-05-08"].map(|day| hint.closeness(at(day)));
    assert_eq!(close, [1.0, 0.5, 0.3, 0.0]);
    assert_eq!(civil_hint(0, 2, 29).closeness(at("2024-02-29")), 1.0);
}

#[test]
fn questions_for_a_time_are_known() {
    assert!(
        asks_when("When did we deploy?")
            && asks_when("what year was it")
            && asks_when("你什么时候去的？")
    );
    assert!(!asks_when("What did we deploy?"));
}
