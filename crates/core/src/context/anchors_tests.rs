use super::*;
use crate::ErrorKind;

fn key(text: &str) -> AnchorKey {
    text.parse().unwrap()
}

fn given(params: &[(&str, &str)]) -> BTreeMap<String, String> {
    params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

// D-05, D-19: the kinds differ in their parameters.
#[test]
fn kinds_have_the_parameters_they_may() {
    let form = Anchor::form(Some("usr-3"), &["name", "detail"]).unwrap();
    assert_eq!((form.kind(), form.target()), (AnchorKind::Form, Some("usr-3")));
    assert_eq!(form.params(), ["name", "detail"]);
    assert!(Anchor::button(None).params().is_empty());
    for bad in [&[][..], &["a", "a"], &["a b"], &[""], &["a=1"], &["a]"]] {
        assert!(Anchor::form(None, bad).is_err(), "{bad:?}");
    }
    let params = || vec!["a".to_owned()];
    assert!(Anchor::from_parts(AnchorKind::Button, params(), None).is_err());
    assert!(Anchor::from_parts(AnchorKind::Reference, params(), None).is_err());
    assert!(Anchor::from_parts(AnchorKind::Form, params(), None).is_ok());
}

#[test]
fn keys_follow_their_grammar() {
    for good in ["find", "expand-usr-3", "notebook.open-1", "a_b", &"x".repeat(200)] {
        assert!(good.parse::<AnchorKey>().is_ok(), "{good}");
    }
    for bad in ["", "a b", "a]", "a:b", "é", "a\n", &"x".repeat(201)] {
        assert!(bad.parse::<AnchorKey>().is_err(), "{bad:?}");
    }
}

// How each kind stands in text.
#[test]
fn anchors_have_one_text_each() {
    let mut anchors = Anchors::default();
    anchors.register(key("b"), Anchor::button(Some("x"))).unwrap();
    anchors.register(key("f"), Anchor::form(None, &["name", "detail"]).unwrap()).unwrap();
    anchors.register(key("r"), Anchor::reference()).unwrap();
    assert_eq!(anchors.text("b").unwrap(), "[button:b]");
    assert_eq!(anchors.text("f").unwrap(), "[form:f name=… detail=…]");
    assert_eq!(anchors.text("r").unwrap(), "[ref:r]");
    assert_eq!(anchors.text("x"), None);
}

// D-22, D-27: a key has one anchor, the first; the conflict is recorded.
#[test]
fn the_first_anchor_keeps_its_key() {
    let mut anchors = Anchors::default();
    anchors.register(key("a"), Anchor::button(Some("first"))).unwrap();
    anchors.register(key("a"), Anchor::button(Some("first"))).unwrap();
    assert!(anchors.warnings().is_empty());
    let conflict = anchors.register(key("a"), Anchor::reference()).unwrap_err();
    assert_eq!(anchors.len(), 1);
    assert_eq!(anchors.get("a").unwrap().target(), Some("first"));
    assert_eq!(anchors.warnings(), [conflict]);

    let mut other = Anchors::default();
    other.register(key("a"), Anchor::button(Some("second"))).unwrap();
    other.register(key("b"), Anchor::button(None)).unwrap();
    anchors.append(other);
    assert_eq!((anchors.len(), anchors.warnings().len()), (2, 2));
    assert_eq!(anchors.get("a").unwrap().target(), Some("first"));
}

// D-19: a Button acts at once, a Form needs its parameters, a Reference never acts.
#[test]
fn only_what_can_act_is_pressed() {
    let mut anchors = Anchors::default();
    anchors.register(key("b"), Anchor::button(None)).unwrap();
    anchors.register(key("f"), Anchor::form(None, &["to", "why"]).unwrap()).unwrap();
    anchors.register(key("r"), Anchor::reference()).unwrap();

    let none = given(&[]);
    let both = given(&[("to", "usr-0"), ("why", "")]);
    assert_eq!(anchors.pressable("b", &none).unwrap().kind(), AnchorKind::Button);
    assert_eq!(anchors.pressable("f", &both).unwrap().kind(), AnchorKind::Form);

    let refused = |name: &str, params: &BTreeMap<String, String>| {
        let error = anchors.pressable(name, params).unwrap_err();
        (error.kind(), error.to_string())
    };
    let invalid = |text: &str| (ErrorKind::Invalid, text.to_owned());
    assert_eq!(refused("r", &none), invalid("anchor 'r' is a reference and cannot be pressed"));
    let one = given(&[("to", "usr-0")]);
    assert_eq!(refused("f", &one), invalid("anchor 'f' needs the parameter 'why'"));
    assert_eq!(refused("b", &one), invalid("anchor 'b' has no parameter 'to'"));
    assert_eq!(refused("x", &none), (ErrorKind::NotFound, "anchor 'x' not found".to_owned()));
}
