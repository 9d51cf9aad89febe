use std::path::Path;

use super::*;
use crate::provider::ProviderKind;

fn read(text: &str) -> Result<SettingsFile> {
    let path = Path::new(".contexture/settings.json");
    SettingsFile::parse(Layer::Project, path, SettingsDialect::Contexture, text.as_bytes())
}

#[test]
fn the_seeds_settings_are_read() {
    // M-22, M-23.
    let text = r#"{"agents":{"defaultContextMode":"isolated","allowSharedContext":true,"sharedContextMaxMessages":40}}"#;
    let settings = Settings::merge(&[read(text).unwrap()]);
    assert_eq!(settings.default_mode.as_ref().unwrap().value, ContextMode::Isolated);
    assert_eq!(settings.shared_forbidden, None);
    assert_eq!(settings.max_messages(), 40);
    assert_eq!(Settings::default().max_messages(), 100);
    assert_eq!(settings.warnings, Vec::<String>::new());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    // An invalid value anywhere is an error, never a silent fallback.
    let cases = [
        "{\"agents\": {\n  \"defaultContextMode\": shared\n}}",
        r#"{"agents":{"defaultContextMode":"Shared"}}"#,
        r#"{"agents":{"allowSharedContext":"yes"}}"#,
        r#"{"agents":{"sharedContextMaxMessages":-1}}"#,
        r#"{"agents":[]}"#,
        r#"{"providers":{"mine":{"kind":"grpc"}}}"#,
        r#"{"mcpServers":{"time":{}}}"#,
        r#"{"agents":{"allowSharedContext":false,"allowSharedContext":true}}"#,
        r#"{"window":{"shares":{"request":0.5}}}"#,
        r#"{"window":{"shares":{"requests":2}}}"#,
        r#"{"window":{"shares":{"requests":"0.5"}}}"#,
        r#"{"window":{"shares":{"held":0.5}}}"#,
        r#"{"window":{"shares":{"lowWater":0.5,"highWater":0.4}}}"#,
        r#"{"window":{"share":{}}}"#,
        "",
    ];
    let messages: Vec<String> =
        cases.iter().map(|case| read(case).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(messages.join("\n"), @r#"
    settings .contexture/settings.json: it is not JSON (line 2, column 25: expected value)
    settings .contexture/settings.json: agents.defaultContextMode is "Shared": it must be "isolated", "shared" or "fork"
    settings .contexture/settings.json: agents.allowSharedContext must be true or false
    settings .contexture/settings.json: agents.sharedContextMaxMessages must be a whole number above 0
    settings .contexture/settings.json: agents must be an object
    settings .contexture/settings.json: providers.mine.kind is 'grpc': it must be one of openai, anthropic, gemini
    settings .contexture/settings.json: mcpServers.time needs a 'command' or a 'url'
    settings .contexture/settings.json: it is not valid (line 1, column 58: the key 'allowSharedContext' appears twice)
    settings .contexture/settings.json: window.shares: there is no share 'request'; the shares are requests, recent, highWater, lowWater, lines, part, held; did you mean 'requests'?
    settings .contexture/settings.json: window.shares.requests is 2: it must be a number from 0 to 1 with at most three decimals
    settings .contexture/settings.json: window.shares.requests is "0.5": it must be a number from 0 to 1 with at most three decimals
    settings .contexture/settings.json: window.shares.held is 0.5: it must be a whole number from 0 to 255
    settings .contexture/settings.json: window.shares: lowWater (0.5) must not be above highWater (0.4)
    settings .contexture/settings.json: window has no key 'share'; its keys are shares, summarizer, summarizerTokens
    settings .contexture/settings.json: it is not JSON (line 1, column 0: EOF while parsing a value)
    "#);
}

#[test]
fn the_summarizer_is_named_and_the_smallest_cap_holds() {
    let file = |layer, text: &str| {
        let path = Path::new("settings.json");
        SettingsFile::parse(layer, path, SettingsDialect::Contexture, text.as_bytes())
    };
    let project = r#"{"window":{"summarizer":"openai/gpt-4o-mini","summarizerTokens":900000}}"#;
    let user = r#"{"window":{"summarizer":"ollama/small","summarizerTokens":5000}}"#;
    let files = [file(Layer::Project, project).unwrap(), file(Layer::User, user).unwrap()];
    let settings = Settings::merge(&files);
    let named = settings.summarizer.as_ref().unwrap();
    assert_eq!(named.value, "openai/gpt-4o-mini");
    assert!(matches!(named.source, Source::Project(_)));
    let cap = settings.summarizer_tokens.as_ref().unwrap();
    assert!(matches!(cap.source, Source::User(_)));
    assert_eq!(settings.summarizer_tokens(), 5_000);
    assert_eq!(Settings::default().summarizer_tokens(), DEFAULT_SUMMARIZER_TOKENS);
    assert_eq!(settings.warnings, Vec::<String>::new());
    for wrong in [
        r#"{"window":{"summarizer":""}}"#,
        r#"{"window":{"summarizerTokens":0}}"#,
        r#"{"window":{"sumarizer":"x"}}"#,
    ] {
        assert!(file(Layer::User, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn unknown_keys_are_reported_with_what_was_meant() {
    let file = read(r#"{"agents":{"defaultContextmode":"shared"},"agent":{}}"#).unwrap();
    insta::assert_snapshot!(file.warnings.join("\n"), @r#"
    settings .contexture/settings.json: unknown key agent; did you mean agents?
    settings .contexture/settings.json: unknown key agents.defaultContextmode; did you mean agents.defaultContextMode?
    "#);
}

#[test]
fn another_programs_settings_are_read_for_agents_alone() {
    let text = br#"{"mcpServers": 7, "window": 7, "theme": "dark", "agents": {"defaultContextMode": "shared", "x": 1}}"#;
    let path = Path::new(".gemini/settings.json");
    let file = SettingsFile::parse(Layer::User, path, SettingsDialect::Gemini, text).unwrap();
    assert_eq!(file.default_mode, Some(ContextMode::Shared));
    assert_eq!(file.warnings, Vec::<String>::new());
}

#[test]
fn servers_and_providers_are_read() {
    let text = r#"{"providers":{"mine":{"baseUrl":"http://127.0.0.1:1/v1","kind":"gemini"}},
        "mcpServers":{"time":{"command":"mcp-time","args":["--utc"],"env":{"A":"b"}},"far":{"url":"http://127.0.0.1:2/mcp"}}}"#;
    let settings = Settings::merge(&[read(text).unwrap()]);
    assert!(settings.project_providers.contains("mine"));
    assert_eq!(settings.providers["mine"].kind, Some(ProviderKind::Gemini));
    assert!(
        matches!(&settings.mcp_servers["time"].config, McpConfig::Stdio { args, .. } if args == &["--utc"])
    );
    assert!(matches!(&settings.mcp_servers["far"].config, McpConfig::Http { .. }));
}

// A project comes from others.
#[test]
fn of_a_provider_the_users_own_words_win_one_by_one() {
    let project = r#"{"providers":{
        "openai":{"apiKeyEnv":"GITHUB_TOKEN"},
        "mine":{"baseUrl":"https://evil.example","apiKeyEnv":"GITHUB_TOKEN","kind":"anthropic"},
        "far":{"baseUrl":"https://far.example"}}}"#;
    let user = r#"{"providers":{
        "openai":{"baseUrl":"https://proxy.example"},
        "mine":{"baseUrl":"https://mine.example","apiKeyEnv":"MINE"},
        "far":{"apiKeyEnv":"FAR"}}}"#;
    let path = Path::new("settings.json");
    let dialect = SettingsDialect::Contexture;
    let user = SettingsFile::parse(Layer::User, path, dialect, user.as_bytes()).unwrap();
    let settings = Settings::merge(&[read(project).unwrap(), user]);
    let provider = |url: &str, key: Option<&str>, kind| ProviderSettings {
        base_url: Some(url.to_owned()),
        api_key_env: key.map(str::to_owned),
        kind,
    };
    let anthropic = Some(ProviderKind::Anthropic);
    let expected = [
        ("far", provider("https://far.example", Some("FAR"), None)),
        ("mine", provider("https://mine.example", Some("MINE"), anthropic)),
        ("openai", provider("https://proxy.example", None, None)),
    ];
    let expected = expected.map(|(name, provider)| (name.to_owned(), provider));
    assert_eq!(settings.providers, BTreeMap::from(expected));
    assert_eq!(settings.project_providers, BTreeSet::from(["far".to_owned()]));
    let messages =
        "providers.mine.apiKeyEnv is ignored: only your own settings decide which key is sent";
    assert_eq!(settings.warnings.len(), 2);
    assert!(settings.warnings[0].ends_with(messages), "{:?}", settings.warnings);
}

#[test]
fn sources_name_files_of_a_project_by_their_path_in_it() {
    let project = Path::new("/home/me/project");
    let at = |path: &str| Source::Project(project.join(path)).within(project);
    assert_eq!(at(".contexture/settings.json"), "project settings .contexture/settings.json");
    let user = Source::User("/home/me/.config/contexture/settings.json".into());
    assert_eq!(user.within(project), "user settings /home/me/.config/contexture/settings.json");
    assert_eq!(Source::SessionOverride.within(project), "session override");
}
