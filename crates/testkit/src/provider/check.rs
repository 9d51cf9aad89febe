//! The rules a request must keep, as strict as the strictest provider.

use std::collections::HashSet;

use contexture_core::{ProviderFormat, window::validate_body};
use serde_json::Value;

use super::{HttpRequest, Protocol};

/// Why a request is refused.
pub(super) enum Refusal {
    /// It has not the right key.
    Key,
    /// It breaks a rule.
    Rule(String),
}

type Checked = Result<(), String>;

/// Checks a request, and returns whom it speaks to.
pub(super) fn check(request: &HttpRequest, key: Option<&str>) -> Result<Protocol, Refusal> {
    let rule = |what: String| Refusal::Rule(what);
    let protocol = request
        .protocol()
        .filter(|_| request.method == "POST")
        .ok_or_else(|| rule(format!("{} {} is no request of any", request.method, request.path)))?;
    if let Some(key) = key {
        if request.path.contains(key) || request.query.contains(key) || request.body.contains(key) {
            return Err(rule("the key stands where it may be logged".to_owned()));
        }
        let (name, expected) = match protocol {
            Protocol::OpenAi => ("authorization", format!("Bearer {key}")),
            Protocol::Anthropic => ("x-api-key", key.to_owned()),
            Protocol::Gemini => ("x-goog-api-key", key.to_owned()),
        };
        if request.header(name) != Some(expected.as_str()) {
            return Err(Refusal::Key);
        }
    }
    rules(protocol, request).map_err(rule)?;
    Ok(protocol)
}

fn rules(protocol: Protocol, request: &HttpRequest) -> Checked {
    if !request.header("content-type").is_some_and(|it| it.starts_with("application/json")) {
        return Err("the content type is not JSON".to_owned());
    }
    let body: Value =
        serde_json::from_str(&request.body).map_err(|error| format!("no JSON: {error}"))?;
    if request.wants_embeddings() {
        return embeddings(&body);
    }
    let format = match protocol {
        Protocol::OpenAi => ProviderFormat::OpenAi,
        Protocol::Anthropic => ProviderFormat::Anthropic,
        Protocol::Gemini => ProviderFormat::Gemini,
    };
    validate_body(format, &body).map_err(|violation| violation.to_string())?;
    if request.model().is_empty() {
        return Err("no model is named".to_owned());
    }
    match protocol {
        Protocol::OpenAi => openai(&body),
        Protocol::Anthropic => anthropic(request, &body),
        Protocol::Gemini => gemini(request, &body),
    }
}

fn embeddings(body: &Value) -> Checked {
    only(body, &["model", "input"])?;
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("no model is named".to_owned());
    }
    let input = body["input"].as_array().filter(|input| (1..=2_048).contains(&input.len()));
    let input = input.ok_or("the input is no list of 1 to 2048 texts")?;
    match input.iter().all(|text| text.as_str().is_some_and(|text| !text.is_empty())) {
        true => Ok(()),
        false => Err("a text of the input is empty".to_owned()),
    }
}

fn openai(body: &Value) -> Checked {
    only(
        body,
        &[
            "model",
            "messages",
            "tools",
            "temperature",
            "reasoning_effort",
            "max_tokens",
            "max_completion_tokens",
            "stream",
            "stream_options",
        ],
    )?;
    let (old, new) = (&body["max_tokens"], &body["max_completion_tokens"]);
    limit(old, false)?;
    limit(new, false)?;
    if !old.is_null() && !new.is_null() {
        return Err("two limits of tokens".to_owned());
    }
    effort(&body["reasoning_effort"])?;
    if !body["stream_options"].is_null() && body["stream"] != true {
        return Err("stream_options without a stream".to_owned());
    }
    tools(&body["tools"], |tool| {
        if tool["type"] != "function" {
            return Err("a tool is no function".to_owned());
        }
        let function = &tool["function"];
        only(function, &["name", "description", "parameters"])?;
        described(function, "parameters")
    })
}

fn anthropic(request: &HttpRequest, body: &Value) -> Checked {
    if request.header("anthropic-version") != Some("2023-06-01") {
        return Err("no anthropic-version".to_owned());
    }
    let settings = ["temperature", "output_config", "max_tokens", "stream"];
    only(body, &[&["model", "system", "messages", "tools"][..], &settings].concat())?;
    if !body["output_config"].is_null() {
        only(&body["output_config"], &["effort"])?;
        effort(&body["output_config"]["effort"])?;
    }
    limit(&body["max_tokens"], true)?;
    tools(&body["tools"], |tool| {
        only(tool, &["name", "description", "input_schema", "cache_control"])?;
        described(tool, "input_schema")
    })
}

fn gemini(request: &HttpRequest, body: &Value) -> Checked {
    let method = request.path.rsplit(':').next().unwrap_or_default();
    match (method, request.query.as_str()) {
        ("generateContent", "") | ("streamGenerateContent", "alt=sse") => {}
        _ => return Err(format!("'{method}?{}' is no method", request.query)),
    }
    only(body, &["systemInstruction", "contents", "tools", "generationConfig"])?;
    let settings = &body["generationConfig"];
    if !settings.is_null() {
        only(settings, &["temperature", "maxOutputTokens", "thinkingConfig"])?;
        if !settings["thinkingConfig"].is_null() {
            only(&settings["thinkingConfig"], &["thinkingLevel"])?;
            effort(&settings["thinkingConfig"]["thinkingLevel"])?;
        }
    }
    limit(&settings["maxOutputTokens"], false)?;
    let declared = &body["tools"][0]["functionDeclarations"];
    if !body["tools"].is_null() && !declared.is_array() {
        return Err("no functionDeclarations in tools".to_owned());
    }
    tools(declared, |tool| {
        only(tool, &["name", "description", "parametersJsonSchema"])?;
        described(tool, "parametersJsonSchema")
    })?;
    if request.model().starts_with("gemini-3") { signed(body) } else { Ok(()) }
}

/// Checks that each step of the current turn has a signature beside its first call.
fn signed(body: &Value) -> Checked {
    let contents = body["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let parts = |content: &'_ Value| content["parts"].as_array().cloned().unwrap_or_default();
    let asks = |content: &Value| {
        content["role"] == "user" && parts(content).iter().any(|it| it.get("text").is_some())
    };
    let turn = contents.iter().rposition(asks).unwrap_or(0);
    for content in contents[turn..].iter().filter(|content| content["role"] == "model") {
        let calls = parts(content);
        let first = calls.iter().find(|part| part.get("functionCall").is_some());
        if first.is_some_and(|call| call["thoughtSignature"].as_str().is_none_or(str::is_empty)) {
            return Err("a function call is missing its thought_signature".to_owned());
        }
    }
    Ok(())
}

fn tools(list: &Value, check: impl Fn(&Value) -> Checked) -> Checked {
    if list.is_null() {
        return Ok(());
    }
    let list =
        list.as_array().filter(|list| !list.is_empty()).ok_or("tools are no list of some")?;
    let mut names = HashSet::new();
    for tool in list {
        check(tool)?;
        let name = tool["function"]["name"].as_str().or(tool["name"].as_str()).unwrap_or_default();
        if !names.insert(name.to_owned()) {
            return Err(format!("the tool {name} is there twice"));
        }
    }
    Ok(())
}

fn described(tool: &Value, schema: &str) -> Checked {
    let name = tool["name"].as_str().unwrap_or_default();
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!("'{name}' is no name of a tool"));
    }
    if tool["description"].as_str().is_none_or(|about| about.trim().is_empty()) {
        return Err(format!("the tool {name} has no description"));
    }
    if tool[schema]["type"] != "object" {
        return Err(format!("the schema of {name} is no object"));
    }
    Ok(())
}

fn effort(value: &Value) -> Checked {
    let known = ["minimal", "low", "medium", "high", "xhigh", "max"];
    match value.as_str() {
        Some(effort) if known.contains(&effort) => Ok(()),
        None if value.is_null() => Ok(()),
        _ => Err(format!("{value} is no effort")),
    }
}

fn limit(value: &Value, required: bool) -> Checked {
    match value.as_u64() {
        Some(1..) => Ok(()),
        None if value.is_null() && !required => Ok(()),
        _ => Err(format!("{value} is no limit of tokens")),
    }
}

/// Checks that an object has no other fields than these.
fn only(value: &Value, names: &[&str]) -> Checked {
    let object = value.as_object().ok_or("what should be an object is none")?;
    let mut strange = object.keys().filter(|key| !names.contains(&key.as_str()));
    match strange.next() {
        Some(key) => Err(format!("the field '{key}' is not known here")),
        None => Ok(()),
    }
}
