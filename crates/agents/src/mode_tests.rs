use std::path::Path;

use super::*;
use crate::settings::{Layer, SettingsDialect, SettingsFile};

fn agent(mode: Option<ContextMode>) -> AgentDefinition {
    let mut agent = crate::definition::AgentDefinition::bare("bug-fixer".parse().unwrap());
    agent.context_mode = mode;
    agent.file = "bug-fixer.md".into();
    agent
}

fn settings(files: &[(Layer, &str)]) -> Settings {
    let read = |(layer, text): &(Layer, &str)| {
        let path = Path::new(if *layer == Layer::User { "user.json" } else { "project.json" });
        SettingsFile::parse(*layer, path, SettingsDialect::Contexture, text.as_bytes()).unwrap()
    };
    Settings::merge(&files.iter().map(read).collect::<Vec<_>>())
}

const SHARED: &str = r#"{"agents":{"defaultContextMode":"shared"}}"#;
const CLOSED: &str = r#"{"agents":{"allowSharedContext":false}}"#;
const OPEN: &str = r#"{"agents":{"allowSharedContext":true}}"#;

#[test]
fn precedence_is_call_session_definition_project_user_isolated() {
    // M-04, M-07: each level decides only when all above it are silent.
    use ContextMode::{Isolated, Shared};
    let user = settings(&[(Layer::User, SHARED)]);
    let none = Settings::default();
    let asked = |flag, session| Asked { flag, session };
    let cases = [
        (agent(None), &none, asked(None, None), Isolated, Source::Default),
        (agent(None), &user, asked(None, None), Shared, Source::User("user.json".into())),
        (
            agent(Some(Isolated)),
            &user,
            asked(None, None),
            Isolated,
            Source::Definition("bug-fixer.md".into()),
        ),
        (agent(Some(Isolated)), &user, asked(None, Some(Shared)), Shared, Source::SessionOverride),
        (agent(Some(Shared)), &user, asked(Some(Isolated), Some(Shared)), Isolated, Source::Flag),
    ];
    for (agent, settings, asked, mode, source) in cases {
        let resolved = resolve(&agent, settings, asked).unwrap();
        assert_eq!((resolved.mode, &resolved.source), (mode, &source));
        assert_eq!(resolved.warnings, Vec::<String>::new());
    }
    let both = settings(&[
        (Layer::Project, r#"{"agents":{"defaultContextMode":"isolated"}}"#),
        (Layer::User, SHARED),
    ]);
    let resolved = resolve(&agent(None), &both, Asked::default()).unwrap();
    assert_eq!(resolved.source, Source::Project("project.json".into()));
}

#[test]
fn the_original_mode_is_what_lasts() {
    // M-32: an override does not hide what the file says.
    let asked = Asked { flag: None, session: Some(ContextMode::Isolated) };
    let resolved = resolve(&agent(Some(ContextMode::Shared)), &Settings::default(), asked).unwrap();
    assert_eq!(resolved.mode, ContextMode::Isolated);
    assert_eq!(resolved.original().1, ContextMode::Shared);
}

#[test]
fn forbidding_shared_contexts_refuses_requests_and_tames_defaults() {
    // M-22.
    let closed = settings(&[(Layer::User, CLOSED)]);
    for asked in [
        Asked { flag: Some(ContextMode::Shared), session: None },
        Asked { flag: None, session: Some(ContextMode::Shared) },
    ] {
        let refused = resolve(&agent(None), &closed, asked).unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused, @"permission denied: agent 'bug-fixer' cannot run shared: agents.allowSharedContext is false in user settings user.json");
        }
    }
    let tamed = resolve(&agent(Some(ContextMode::Shared)), &closed, Asked::default()).unwrap();
    assert_eq!(tamed.mode, ContextMode::Isolated);
    insta::assert_snapshot!(tamed.warnings.join("\n"), @"agent 'bug-fixer' is set to shared by agent file bug-fixer.md, but shared contexts are forbidden by user settings user.json: it runs isolated");
}

#[test]
fn a_project_can_forbid_shared_contexts_and_never_allow_them() {
    // Settings that come with a project's files cannot undo what the user forbids.
    let shared = Asked { flag: Some(ContextMode::Shared), session: None };
    let loosened = settings(&[(Layer::Project, OPEN), (Layer::User, CLOSED)]);
    assert!(resolve(&agent(None), &loosened, shared).is_err());
    let tightened = settings(&[(Layer::Project, CLOSED), (Layer::User, OPEN)]);
    assert!(resolve(&agent(None), &tightened, shared).is_err());
    let open = settings(&[(Layer::Project, OPEN), (Layer::User, OPEN)]);
    assert!(resolve(&agent(None), &open, shared).is_ok());
}

#[test]
fn a_group_is_shared_by_default() {
    // M-40.
    let mut member = agent(None);
    member.context_group = Some("reviewers".to_owned());
    let resolved = resolve(&member, &Settings::default(), Asked::default()).unwrap();
    assert_eq!(resolved.mode, ContextMode::Shared);
    member.context_mode = Some(ContextMode::Isolated);
    let resolved = resolve(&member, &Settings::default(), Asked::default()).unwrap();
    assert_eq!(resolved.mode, ContextMode::Isolated);
}

#[test]
fn forks_are_forbidden_like_shared_contexts() {
    let closed = settings(&[(Layer::User, CLOSED)]);
    let fork = Some(ContextMode::Fork);
    for asked in [Asked { flag: fork, session: None }, Asked { flag: None, session: fork }] {
        let refused = resolve(&agent(None), &closed, asked).unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused, @"permission denied: agent 'bug-fixer' cannot run as a fork: agents.allowSharedContext is false in user settings user.json");
        }
    }
    let tamed = resolve(&agent(fork), &closed, Asked::default()).unwrap();
    assert_eq!((tamed.mode, tamed.warnings.len()), (ContextMode::Isolated, 1));
    let open = settings(&[(Layer::User, OPEN)]);
    assert_eq!(resolve(&agent(fork), &open, Asked::default()).unwrap().mode, ContextMode::Fork);
    // One that names a parent wants to fork it.
    let mut named = agent(None);
    named.context_parent = Some("lead".parse().unwrap());
    assert_eq!(resolve(&named, &open, Asked::default()).unwrap().mode, ContextMode::Fork);
}
