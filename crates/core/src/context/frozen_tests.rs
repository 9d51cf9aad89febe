use super::*;
use crate::{
    Level, Timestamp,
    context::{Anchor, Anchors, ContextState, Header, Round},
};

const LEVEL: Level = Level::Summary;

/// The key of a rendering at a level.
fn key(level: Level) -> &'static RenderKey {
    Box::leak(Box::new(RenderKey::of([level.as_str().as_bytes()])))
}

fn version(major: u64, minor: u64, patch: u64) -> ContextVersion {
    ContextVersion::new(major, minor, patch)
}

fn inputs(version: ContextVersion) -> Inputs<'static> {
    Inputs { app_id: "app", session_id: "demo", version, key: key(LEVEL) }
}

fn context_of(app: &str, session: &str, version: ContextVersion, level: Level) -> Context {
    let at = Timestamp::from_millis(0);
    let header = Header::new(app, session, version, at, Some(key(level).clone())).unwrap();
    let state = ContextState { current_lod: level, focus_id: None, custom: None };
    Context::new(header, state, format!("# {version}"), Anchors::default(), None, Vec::new())
}

fn context(version: ContextVersion) -> Arc<Context> {
    Arc::new(context_of("app", "demo", version, LEVEL))
}

fn frozen_at(version: ContextVersion) -> (Frozen, Arc<Context>) {
    let mut frozen = Frozen::new("app", "demo");
    let context = frozen.freeze(context(version)).unwrap();
    (frozen, context)
}

#[track_caller]
fn assert_same(frozen: &Frozen, inputs: &Inputs<'_>, expected: &Arc<Context>) {
    match frozen.reuse(inputs) {
        Reuse::Same(context) => assert!(Arc::ptr_eq(&context, expected), "an equal, not the same"),
        Reuse::Stale(reason) => panic!("{reason}"),
    }
}

// D-11, D-35: until something changes, the very same rendering is given again.
#[test]
fn an_unchanged_state_gives_the_identical_context() {
    let (mut frozen, first) = frozen_at(version(3, 1, 0));
    assert_same(&frozen, &inputs(version(3, 1, 0)), &first);
    // Rendered again all the same: the first one stays.
    let again = frozen.freeze(context(version(3, 1, 0))).unwrap();
    assert!(Arc::ptr_eq(&again, &first));
    assert_same(&frozen, &inputs(version(3, 1, 0)), &first);
}

// D-12: source data (major), level state (minor) and rendering (patch) each invalidate.
#[test]
fn any_newer_version_renders_again() {
    let (frozen, _) = frozen_at(version(3, 1, 1));
    for asked in [version(4, 0, 0), version(3, 2, 1), version(3, 1, 2)] {
        let expected = Mismatch::Older { frozen: version(3, 1, 1), asked };
        assert_eq!(frozen.reuse(&inputs(asked)), Reuse::Stale(expected));
    }
}

// D-21, D-26: a version that went back is a mismatch, and never replaces what is frozen.
#[test]
fn a_version_never_goes_back() {
    let (mut frozen, first) = frozen_at(version(3, 1, 1));
    for asked in [version(2, 9, 9), version(3, 0, 9), version(3, 1, 0), ContextVersion::NONE] {
        let expected = Mismatch::WentBack { frozen: version(3, 1, 1), asked };
        assert_eq!(frozen.reuse(&inputs(asked)), Reuse::Stale(expected.clone()));
        assert_eq!(frozen.freeze(context(asked)), Err(expected));
    }
    assert_same(&frozen, &inputs(version(3, 1, 1)), &first);
}

// D-09, D-26: application and session are fixed from the beginning.
#[test]
fn another_application_or_session_is_a_mismatch() {
    let (mut frozen, first) = frozen_at(version(1, 0, 0));
    let now = version(1, 0, 0);
    for (app_id, session_id) in [("other", "demo"), ("app", "other")] {
        let asked = Inputs { app_id, session_id, ..inputs(now) };
        let Reuse::Stale(reason) = frozen.reuse(&asked) else { panic!("reused for {asked:?}") };
        assert_eq!(matches!(reason, Mismatch::OtherApp { .. }), app_id == "other");
        assert_eq!(matches!(reason, Mismatch::OtherSession { .. }), session_id == "other");
        let later = context_of(app_id, session_id, version(2, 0, 0), LEVEL);
        assert!(frozen.freeze(Arc::new(later)).is_err());
    }
    assert_same(&frozen, &inputs(now), &first);
}

// D-10: each key has its own rendering; another level never gives the one of this.
#[test]
fn levels_are_frozen_apart() {
    let now = version(1, 0, 0);
    let (mut frozen, summary) = frozen_at(now);
    let full = Inputs { key: key(Level::Full), ..inputs(now) };
    assert_eq!(frozen.reuse(&full), Reuse::Stale(Mismatch::Nothing));
    let rendered = Arc::new(context_of("app", "demo", now, Level::Full));
    let rendered = frozen.freeze(rendered).unwrap();
    assert_same(&frozen, &full, &rendered);
    assert_same(&frozen, &inputs(now), &summary);

    // A newer version takes all of them away.
    frozen.freeze(context(version(2, 0, 0))).unwrap();
    let stale = Inputs { version: version(2, 0, 0), ..full };
    assert_eq!(frozen.reuse(&stale), Reuse::Stale(Mismatch::Nothing));
}

// D-13, D-14, D-24: anchors and history change with a version or not at all.
#[test]
fn a_frozen_part_cannot_change() {
    let now = version(1, 0, 0);
    let (mut frozen, first) = frozen_at(now);
    let mut anchors = Anchors::default();
    anchors.register("expand-usr-1".parse().unwrap(), Anchor::button(Some("usr-1"))).unwrap();
    let (action, result) = ("press".to_owned(), "done".to_owned());
    let round = Round { round: 1, action, result, timestamp: Timestamp::from_millis(0) };
    let history = History::latest(vec![round], 1);
    let with = |version, anchors: &Anchors, history: Option<&History>| {
        let plain = context_of("app", "demo", version, LEVEL);
        let Context { header, state, content, diagnostics, .. } = plain;
        Arc::new(Context::new(
            header,
            state,
            content,
            anchors.clone(),
            history.cloned(),
            diagnostics,
        ))
    };
    let plain = || Context::clone(&context_of("app", "demo", now, LEVEL));
    let worded = Arc::new(Context { content: "# Other".to_owned(), ..plain() });
    let mut focused = plain();
    focused.state.focus_id = Some("usr-1".to_owned());
    let anchored = with(now, &anchors, None);
    let counted = with(now, &Anchors::default(), Some(&history));
    for changed in [anchored, counted, worded, Arc::new(focused)] {
        assert_eq!(frozen.freeze(changed), Err(Mismatch::Differs { version: now }));
        assert_same(&frozen, &inputs(now), &first);
    }
    let later = version(2, 0, 0);
    let changed = frozen.freeze(with(later, &anchors, Some(&history))).unwrap();
    assert_same(&frozen, &inputs(later), &changed);
}

#[test]
fn nothing_is_reused_before_the_first_rendering() {
    let frozen = Frozen::new("app", "demo");
    let expected = Reuse::Stale(Mismatch::Nothing);
    assert_eq!(frozen.reuse(&inputs(version(1, 0, 0))), expected);
}
