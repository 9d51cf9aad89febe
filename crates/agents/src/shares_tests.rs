use std::path::Path;

use super::*;
use crate::settings::{Layer, SettingsDialect, SettingsFile};

fn settings(files: &[(Layer, &str)]) -> Settings {
    let read = |(layer, shares): &(Layer, &str)| {
        let path = Path::new(if *layer == Layer::User { "user.json" } else { "project.json" });
        let text = format!(r#"{{"window":{{"shares":{shares}}}}}"#);
        SettingsFile::parse(*layer, path, SettingsDialect::Contexture, text.as_bytes()).unwrap()
    };
    Settings::merge(&files.iter().map(read).collect::<Vec<_>>())
}

fn said(values: &[(&str, &str)]) -> ShareSettings {
    let mut said = ShareSettings::default();
    for (name, value) in values {
        let share: Share = name.parse().unwrap();
        said.set(share, share.read(value).unwrap());
    }
    said
}

fn agent(values: &[(&str, &str)]) -> AgentDefinition {
    let mut agent = AgentDefinition::bare("scribe".parse().unwrap());
    agent.file = "scribe.md".into();
    agent.shares = said(values);
    agent
}

#[test]
fn values_are_fractions_with_three_decimals_and_held_is_whole() {
    for (text, thousandths) in [
        ("0", Some(0)),
        ("1", Some(1_000)),
        ("0.25", Some(250)),
        ("0.3", Some(300)),
        ("1e-3", Some(1)),
        ("0.0005", None),
        ("-0.1", None),
        ("1.001", None),
        ("NaN", None),
        ("inf", None),
        ("25%", None),
        ("", None),
    ] {
        assert_eq!(Share::Requests.read(text), thousandths, "{text}");
    }
    for (text, folds) in
        [("0", Some(0)), ("255", Some(255)), ("256", None), ("2.5", None), ("-1", None)]
    {
        assert_eq!(Share::Held.read(text), folds, "{text}");
    }
}

#[test]
fn what_is_written_is_read_as_the_same() {
    for share in Share::ALL {
        assert_eq!(share.as_str().parse(), Ok(share));
        for value in 0..=255 {
            assert_eq!(share.read(&share.write(value)), Some(value), "{share}");
        }
    }
    assert_eq!(Share::Part.write(500), "0.5");
    assert_eq!(Share::Part.write(1_000), "1");
    assert_eq!(Share::Held.write(3), "3");
}

#[test]
fn value_by_value_the_first_word_holds() {
    let settings = settings(&[
        (Layer::Project, r#"{"recent":0.2,"highWater":0.8,"part":0.2}"#),
        (Layer::User, r#"{"recent":0.1,"lines":0.2,"held":7}"#),
    ]);
    let agent = agent(&[("highWater", "0.7"), ("part", "0.3")]);
    let resolved = resolve(&said(&[("part", "0.4")]), Some(&agent), &settings).unwrap();
    let text: Vec<String> = resolved
        .iter()
        .filter(|(_, _, source)| **source != Source::Default)
        .map(|(share, value, source)| format!("{share} {value} by {source}"))
        .collect();
    insta::assert_snapshot!(text.join("\n"), @r"
    recent 0.2 by project settings project.json
    highWater 0.7 by agent file scribe.md
    lines 0.2 by user settings user.json
    part 0.4 by the call
    held 7 by user settings user.json
    ");
    let shares = FoldShares { recent: 200, high_water: 700, lines: 200, ..FoldShares::default() };
    assert_eq!(resolved.shares(), FoldShares { part: 400, held: 7, ..shares });
    let untouched = resolve(&ShareSettings::default(), None, &Settings::default()).unwrap();
    assert_eq!(untouched.shares(), FoldShares::default());
}

#[test]
fn low_water_is_not_above_high_water_after_merging() {
    let project = settings(&[(Layer::Project, r#"{"lowWater":0.6}"#)]);
    let refused = resolve(&said(&[("highWater", "0.5")]), None, &project).unwrap_err();
    insta::assert_snapshot!(refused, @"lowWater is set to 0.6 by project settings project.json, above highWater, which is set to 0.5 by the call");
    assert!(resolve(&said(&[("highWater", "0.6")]), None, &project).is_ok());
    let agent = agent(&[("highWater", "0")]);
    let refused = resolve(&ShareSettings::default(), Some(&agent), &Settings::default());
    let text = refused.unwrap_err().to_string();
    assert!(
        text.ends_with(" by default, above highWater, which is set to 0 by agent file scribe.md")
    );
}

#[test]
fn a_name_that_is_none_says_which_there_are() {
    insta::assert_snapshot!("request".parse::<Share>().unwrap_err(), @"there is no share 'request'; the shares are requests, recent, highWater, lowWater, lines, part, held; did you mean 'requests'?");
    insta::assert_snapshot!("high_water".parse::<Share>().unwrap_err(), @"there is no share 'high_water'; the shares are requests, recent, highWater, lowWater, lines, part, held; did you mean 'highWater'?");
    insta::assert_snapshot!("colour".parse::<Share>().unwrap_err(), @"there is no share 'colour'; the shares are requests, recent, highWater, lowWater, lines, part, held");
}
