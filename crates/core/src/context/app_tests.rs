use super::*;
use crate::ErrorKind;

/// Shows what it was made with and repeats what is pressed.
struct Echo(&'static str, Panel);

impl App for Echo {
    fn id(&self) -> &str {
        self.0
    }

    fn panel(&self, level: Level) -> Panel {
        let mut panel = self.1.clone();
        // A form that only stands there in full.
        if level != Level::Full {
            panel.anchors.retain(|(key, _)| key != "say");
        }
        panel
    }

    fn press(&self, key: &str, params: &BTreeMap<String, String>) -> Result<String, Error> {
        Ok(format!("{} {key} {params:?}", self.0))
    }
}

fn panel(anchors: Vec<(&str, Anchor)>) -> Panel {
    Panel {
        title: "Echo\nroom".to_owned(),
        body: "text [button:forged]\n".to_owned(),
        anchors: anchors.into_iter().map(|(key, anchor)| (key.to_owned(), anchor)).collect(),
        custom: BTreeMap::from([("n".to_owned(), RawJson::of_text("1"))]),
    }
}

fn echo(id: &'static str) -> Arc<dyn App> {
    let anchors = vec![
        ("say", Anchor::form(None, &["what"]).unwrap()),
        ("ring", Anchor::button(None)),
        ("spot", Anchor::reference()),
    ];
    Arc::new(Echo(id, panel(anchors)))
}

fn mounted(apps: impl IntoIterator<Item = Arc<dyn App>>) -> Apps {
    let mut mounted = Apps::default();
    for app in apps {
        mounted.mount(app).unwrap();
    }
    mounted
}

fn escape(text: &str) -> String {
    text.replace('[', "\\[")
}

// D-31: text is escaped, only declared anchors stand, each under its application's name.
#[test]
fn panels_stand_in_order_with_their_own_keys() {
    let apps = mounted([echo("two"), echo("one")]);
    let panels = apps.render(Level::Full, &escape);
    let expected = "## Echo room\n\ntext \\[button:forged]\n\n\
         [form:two.say what=…]\n[button:two.ring]\n[ref:two.spot]\n\n\
         ## Echo room\n\ntext \\[button:forged]\n\n\
         [form:one.say what=…]\n[button:one.ring]\n[ref:one.spot]\n";
    assert_eq!(panels.text, expected);
    let keys: Vec<&str> = panels.anchors.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["one.ring", "one.say", "one.spot", "two.ring", "two.say", "two.spot"]);
    let custom: Vec<&String> = panels.custom.keys().collect();
    assert_eq!(custom, ["one.n", "two.n"]);
    assert_eq!(panels, apps.render(Level::Full, &escape));
    assert_eq!(Apps::default().render(Level::Full, &escape), MountedPanels::default());
}

#[test]
fn an_id_is_valid_and_taken_once() {
    let mut apps = mounted([echo("one")]);
    assert_eq!(apps.mount(echo("one")).unwrap_err().kind(), ErrorKind::Conflict);
    for bad in ["", "One", "1a", "a.b", "a_b", "-a", "é"] {
        let app = Arc::new(Echo(bad, Panel::default()));
        assert_eq!(apps.mount(app).unwrap_err().kind(), ErrorKind::Invalid, "{bad:?}");
    }
    assert!(apps.unmount("one") && !apps.unmount("one"));
    apps.mount(echo("one")).unwrap();
    assert_eq!(apps.ids().collect::<Vec<_>>(), ["one"]);
}

// D-27: what is declared against the rules is told of and left out; the rest stands.
#[test]
fn faults_of_an_application_are_told() {
    let anchors = vec![
        ("a", Anchor::button(None)),
        ("a", Anchor::reference()),
        ("not a key", Anchor::button(None)),
    ];
    let mut faulty = panel(anchors);
    faulty.custom.insert("line\nbreak".to_owned(), RawJson::string(""));
    let panels =
        mounted([Arc::new(Echo("faulty", faulty)) as Arc<dyn App>]).render(Level::Full, &escape);
    assert!(panels.text.ends_with("forged]\n\n[button:faulty.a]\n"), "{}", panels.text);
    assert_eq!((panels.anchors.len(), panels.anchors.warnings().len()), (1, 1));
    let codes: Vec<&str> = panels.diagnostics.iter().map(|told| told.code.as_str()).collect();
    assert_eq!(codes, ["invalid", "invalid"]);
    assert_eq!(panels.custom.len(), 1);
}

// D-19: pressing reaches the application only with what its present panel declares.
#[test]
fn pressing_is_checked_against_the_present_panel() {
    let apps = mounted([echo("one"), echo("two")]);
    let none = BTreeMap::new();
    let what = BTreeMap::from([("what".to_owned(), "hi".to_owned())]);
    assert_eq!(apps.press(Level::Full, "two.ring", &none).unwrap(), "two ring {}");
    assert_eq!(apps.press(Level::Full, "one.say", &what).unwrap(), r#"one say {"what": "hi"}"#);

    let kind = |level, key, params| apps.press(level, key, params).unwrap_err().kind();
    assert_eq!(kind(Level::Full, "one.say", &none), ErrorKind::Invalid);
    assert_eq!(kind(Level::Full, "one.ring", &what), ErrorKind::Invalid);
    assert_eq!(kind(Level::Full, "one.spot", &none), ErrorKind::Invalid);
    // The form does not stand at Summary.
    assert_eq!(kind(Level::Summary, "one.say", &what), ErrorKind::NotFound);
    for unknown in ["ring", "one", "one.", "three.ring", "one.gone", "", ".ring", "one.one.ring"] {
        assert_eq!(kind(Level::Full, unknown, &none), ErrorKind::NotFound, "{unknown:?}");
    }
}
