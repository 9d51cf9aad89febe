use super::*;

type Settings = BTreeMap<String, ProviderSettings>;

fn find(model: &str, env: &[(&str, &str)], settings: &Settings) -> Result<Endpoint> {
    let look = |name: &str| {
        let found = env.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    resolve(model, &look, settings)
}

const KEYS: [(&str, &str); 3] =
    [("OPENAI_API_KEY", "o"), ("ANTHROPIC_API_KEY", "a"), ("GEMINI_API_KEY", "g")];

#[test]
fn names_say_whose_they_are() {
    let cases = [
        ("openai/gpt-4o", "openai/gpt-4o", "https://api.openai.com/v1"),
        ("gpt-5-mini", "openai/gpt-5-mini", "https://api.openai.com/v1"),
        (" o3 ", "openai/o3", "https://api.openai.com/v1"),
        ("chatgpt-4o-latest", "openai/chatgpt-4o-latest", "https://api.openai.com/v1"),
        ("claude-opus-4-1", "anthropic/claude-opus-4-1", "https://api.anthropic.com"),
        ("sonnet", "anthropic/claude-sonnet-5-5", "https://api.anthropic.com"),
        ("anthropic/haiku", "anthropic/claude-haiku-5-5", "https://api.anthropic.com"),
        (
            "gemini-2.0-flash",
            "gemini/gemini-2.0-flash",
            "https://generativelanguage.googleapis.com",
        ),
        ("google/gemini-x", "gemini/gemini-x", "https://generativelanguage.googleapis.com"),
        ("ollama/llama3:8b", "ollama/llama3:8b", "http://127.0.0.1:11434/v1"),
        ("llamacpp/any", "llamacpp/any", "http://127.0.0.1:8080/v1"),
        ("vllm/org/model", "vllm/org/model", "http://127.0.0.1:8000/v1"),
        ("lmstudio/x", "lmstudio/x", "http://127.0.0.1:1234/v1"),
    ];
    for (model, name, url) in cases {
        let found = find(model, &KEYS, &Settings::new()).unwrap();
        assert_eq!((found.name().as_str(), found.base_url()), (name, url), "{model}");
        let keyed = ["openai", "anthropic", "gemini"].contains(&found.provider());
        assert_eq!(found.key().is_some(), keyed, "{model}");
    }
}

#[test]
fn unknown_models_are_reported_with_the_known_ones() {
    for model in ["", "llama3", "meta/llama", "/", "sonnet/x"] {
        let error = find(model, &KEYS, &Settings::new()).unwrap_err();
        assert!(error.hint().contains("openai, anthropic, gemini, ollama"), "{model}: {error}");
    }
    for model in ["openai/", "gemini/a/b", "gemini/a?key=1", "gemini/..", "gemini/", "ollama/a\nb"]
    {
        let error = find(model, &KEYS, &Settings::new()).unwrap_err();
        assert!(matches!(error, AgentsError::Invalid { .. }), "{model}: {error}");
    }
}

#[test]
fn a_key_is_needed_where_the_official_api_is() {
    for (model, name) in [
        ("gpt-4o", "OPENAI_API_KEY"),
        ("opus", "ANTHROPIC_API_KEY"),
        ("gemini-x", "GEMINI_API_KEY"),
    ] {
        for value in ["", " \n"] {
            let error = find(model, &[(name, value)], &Settings::new()).unwrap_err();
            assert!(matches!(error, AgentsError::Model(ModelError::Key { .. })), "{error}");
            assert!(error.hint().contains(name), "{}", error.hint());
        }
        assert!(find(model, &[(name, " k ")], &Settings::new()).unwrap().key().is_some());
    }
    let google = find("gemini-x", &[("GOOGLE_API_KEY", "k")], &Settings::new()).unwrap();
    assert!(google.key().is_some() && google.is_official());
    for (model, base) in [
        ("gpt-4o", "OPENAI_BASE_URL"),
        ("opus", "ANTHROPIC_BASE_URL"),
        ("gemini-x", "GOOGLE_GEMINI_BASE_URL"),
    ] {
        let found = find(model, &[(base, "http://127.0.0.1:9")], &Settings::new()).unwrap();
        assert!(found.key().is_none() && found.is_local() && !found.is_official(), "{model}");
    }
}

#[test]
fn an_official_address_is_one_nobody_can_listen_at() {
    for (url, official) in [
        ("https://api.openai.com/v1", true),
        ("https://api.openai.com:443/v1", true),
        ("http://api.openai.com/v1", false),
        ("https://api.openai.com:8443/v1", false),
        ("https://api.openai.com.evil.example/v1", false),
    ] {
        let env = [("OPENAI_BASE_URL", url), ("OPENAI_API_KEY", "k")];
        let found = find("gpt-4o", &env, &Settings::new()).unwrap();
        assert_eq!(found.is_official(), official, "{url}");
    }
}

#[test]
fn base_urls_are_taken_as_people_write_them() {
    let cases = [
        ("gpt-4o", "OPENAI_BASE_URL", "http://h:1", "http://h:1/v1"),
        ("gpt-4o", "OPENAI_BASE_URL", "http://h:1/", "http://h:1/v1"),
        ("gpt-4o", "OPENAI_BASE_URL", " https://h/v1/ ", "https://h/v1"),
        ("gpt-4o", "OPENAI_BASE_URL", "https://h/openai/v1", "https://h/openai/v1"),
        ("gpt-4o", "OPENAI_BASE_URL", "https://h/v1/chat/completions", "https://h/v1"),
        ("opus", "ANTHROPIC_BASE_URL", "https://h/", "https://h"),
        ("opus", "ANTHROPIC_BASE_URL", "https://h/v1", "https://h"),
        ("opus", "ANTHROPIC_BASE_URL", "https://h/a/v1/messages", "https://h/a"),
        ("gemini-x", "GOOGLE_GEMINI_BASE_URL", "https://h/v1beta/", "https://h"),
        ("gemini-x", "GEMINI_BASE_URL", "https://h/p", "https://h/p"),
        ("ollama/x", "OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("ollama/x", "OLLAMA_HOST", ":5000", "http://127.0.0.1:5000/v1"),
        ("ollama/x", "OLLAMA_HOST", "https://h.example/", "https://h.example/v1"),
        ("ollama/x", "OLLAMA_HOST", "[::]:7", "http://127.0.0.1:7/v1"),
        ("ollama/x", "OLLAMA_BASE_URL", "http://h:2/v1", "http://h:2/v1"),
    ];
    for (model, name, given, expected) in cases {
        let found = find(model, &[(name, given)], &Settings::new()).unwrap();
        assert_eq!(found.base_url(), expected, "{given}");
    }
    let strange =
        ["h", "ftp://h", "http://", "http://me:s3cret@h", "http://h?key=s3cret", "http://h#s3cret"];
    for given in strange {
        let error = find("gpt-4o", &[("OPENAI_BASE_URL", given)], &Settings::new()).unwrap_err();
        assert!(error.to_string().contains("OPENAI_BASE_URL"), "{error}");
        assert!(!format!("{error:?} {}", error.hint()).contains("s3cret"), "{error:?}");
    }
}

#[test]
fn settings_add_providers_and_the_environment_goes_first() {
    let url = |url: &str| Some(url.to_owned());
    let groq = ProviderSettings { base_url: url("https://groq.example/v1"), ..Default::default() };
    let proxy = ProviderSettings {
        base_url: url("https://proxy.example"),
        api_key_env: Some("PROXY_TOKEN".to_owned()),
        kind: Some(ProviderKind::Anthropic),
    };
    let settings = Settings::from([("my-groq".to_owned(), groq), ("proxy".to_owned(), proxy)]);
    let env = [("PROXY_TOKEN", "t"), ("OPENAI_API_KEY", "o"), ("MY_GROQ_API_KEY", "q")];
    let found = find("my-groq/llama", &env, &settings).unwrap();
    assert_eq!((found.name().as_str(), found.kind()), ("my-groq/llama", ProviderKind::OpenAi));
    assert_eq!(found.key(), Key::new("q").as_ref());
    // The key of another provider does not go there.
    assert_eq!(find("my-groq/llama", &[("OPENAI_API_KEY", "o")], &settings).unwrap().key(), None);
    let found = find("proxy/opus", &env, &settings).unwrap();
    assert_eq!((found.kind(), found.key_env()), (ProviderKind::Anthropic, "PROXY_TOKEN"));
    assert_eq!((found.base_url(), found.key()), ("https://proxy.example", Key::new("t").as_ref()));
    let env = [("MY_GROQ_BASE_URL", "http://127.0.0.1:1/x")];
    let found_elsewhere = find("my-groq/a", &env, &settings).unwrap();
    assert_eq!(found_elsewhere.base_url(), "http://127.0.0.1:1/x");
    assert!(found.is_from_settings() && !found_elsewhere.is_from_settings());
    let bare = Settings::from([("bare".to_owned(), ProviderSettings::default())]);
    let error = find("bare/x", &[], &bare).unwrap_err();
    assert!(error.hint().contains("BARE_BASE_URL"), "{}", error.hint());
}
