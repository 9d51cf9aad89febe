use std::collections::BTreeMap;

use super::*;

fn limit(model: &str, base_url: Option<&str>) -> String {
    let env = |name: &str| match name {
        "OPENAI_API_KEY" => Some("k".to_owned()),
        "OPENAI_BASE_URL" => base_url.map(str::to_owned),
        _ => None,
    };
    let endpoint = crate::provider::resolve(model, &env, &BTreeMap::new()).unwrap();
    let request = ModelRequest {
        window: "{\"messages\":[]}".to_owned(),
        tools: Vec::new(),
        max_tokens: Some(7),
        temperature: Some(f64::NAN),
        effort: None,
        stream: false,
    };
    body(&endpoint, &request).unwrap()
}

#[test]
fn a_limit_goes_under_the_name_the_server_knows() {
    let new = |model: &str| {
        format!("{{\"model\":\"{model}\",\"messages\":[],\"max_completion_tokens\":7}}")
    };
    let old = |model: &str| format!("{{\"model\":\"{model}\",\"messages\":[],\"max_tokens\":7}}");
    let own = Some("http://h/v1");
    assert_eq!(limit("openai/gpt-4o", None), new("gpt-4o"));
    assert_eq!(limit("openai/gpt-4o", own), old("gpt-4o"));
    assert_eq!(limit("openai/o3-mini", own), new("o3-mini"));
    assert_eq!(limit("openai/org/gpt-5", own), new("org/gpt-5"));
    assert_eq!(limit("ollama/llama3", None), old("llama3"));
}

#[test]
fn effort_is_said_in_each_apis_words_to_models_that_know_it() {
    let written = |model: &str, effort: Option<&str>| {
        let env = |name: &str| name.ends_with("_API_KEY").then(|| "k".to_owned());
        let endpoint = crate::provider::resolve(model, &env, &BTreeMap::new()).unwrap();
        let request = ModelRequest {
            window: "{\"w\":[]}".to_owned(),
            tools: Vec::new(),
            max_tokens: Some(7),
            temperature: None,
            effort: effort.map(str::to_owned),
            stream: false,
        };
        (body(&endpoint, &request).unwrap(), head(&endpoint, &request))
    };
    for (model, said, field) in [
        ("openai/gpt-5", "high", r#"{"model":"gpt-5","reasoning_effort":"high","w":[]"#),
        ("ollama/gpt-oss", "low", r#"{"model":"gpt-oss","reasoning_effort":"low","w":[]"#),
        (
            "anthropic/claude-opus-5",
            "medium",
            r#"{"model":"claude-opus-5","output_config":{"effort":"medium"},"w":[]"#,
        ),
        (
            "gemini/gemini-3-pro",
            "high",
            r#"{"w":[],"generationConfig":{"maxOutputTokens":7,"thinkingConfig":{"thinkingLevel":"high"}}}"#,
        ),
    ] {
        let (body, head) = written(model, Some(said));
        assert!(body.starts_with(field), "{body}");
        // Another effort is another head: what was cached for one is not there for the other.
        assert!(head.contains(said) && head != written(model, Some("other")).1, "{head}");
    }
    for model in ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini-2.0-flash"] {
        assert_eq!(written(model, Some("high")), written(model, None), "{model}");
    }
}
