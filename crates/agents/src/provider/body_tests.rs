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
