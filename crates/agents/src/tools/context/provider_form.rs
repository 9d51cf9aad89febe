//! Tools and calls as each provider writes them: what a host passes on between its model and these tools.

use std::{fmt, str::FromStr};

use contexture_core::window::WindowTools;
use serde_json::{Value, json};

use super::{HostOutput, HostTool, HostTools};
use crate::{tool::ToolSpec, tools::shorten};

/// How many calls one request may hold.
const MOST_CALLS: usize = 64;

/// The form in which a provider writes tools and calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallForm {
    /// Chat completions of OpenAI, and of servers that are compatible.
    OpenAi,
    /// The Responses API of OpenAI.
    Responses,
    /// The Messages API of Anthropic.
    Anthropic,
    /// The Gemini API.
    Gemini,
}

/// Calls that a model made, read from the form of its provider.
#[derive(Debug)]
pub struct Calls {
    form: CallForm,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    /// What the answer refers to; Gemini may leave it out.
    id: Option<String>,
    name: String,
    /// The arguments, or what is wrong with them: that is the model's to know.
    arguments: Result<Value, String>,
}

impl CallForm {
    /// All of them.
    pub const ALL: [CallForm; 4] =
        [CallForm::OpenAi, CallForm::Responses, CallForm::Anthropic, CallForm::Gemini];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            CallForm::OpenAi => "openai",
            CallForm::Responses => "responses",
            CallForm::Anthropic => "anthropic",
            CallForm::Gemini => "gemini",
        }
    }

    /// Returns the tools that a host offers its model, as the value of a request's `tools`, in JSON.
    pub fn unfold_tools(self) -> String {
        let tools = HostTool::UNFOLD.map(|tool| self.tool(&tool.spec()));
        self.list(&tools)
    }

    /// Returns a list of tools as the value of a request's `tools`, in JSON.
    pub(crate) fn list(self, tools: &[String]) -> String {
        let list = tools.join(",");
        match self {
            CallForm::Gemini => format!("[{{\"functionDeclarations\":[{list}]}}]"),
            CallForm::OpenAi | CallForm::Responses | CallForm::Anthropic => format!("[{list}]"),
        }
    }

    /// Returns a tool as the provider takes it, in JSON. The bytes of its schema stay as they are.
    pub(crate) fn tool(self, tool: &ToolSpec) -> String {
        let (name, about) = (json!(tool.name), json!(tool.description));
        let schema = tool.schema.as_str();
        let described = format!("\"name\":{name},\"description\":{about}");
        match self {
            CallForm::OpenAi => format!(
                "{{\"type\":\"function\",\"function\":{{{described},\"parameters\":{schema}}}}}"
            ),
            CallForm::Responses => {
                format!("{{\"type\":\"function\",{described},\"parameters\":{schema}}}")
            }
            CallForm::Anthropic => format!("{{{described},\"input_schema\":{schema}}}"),
            // `parameters` would take a part of JSON schema only.
            CallForm::Gemini => format!("{{{described},\"parametersJsonSchema\":{schema}}}"),
        }
    }

    /// Returns how a window is to be explained to a model that is offered these tools, in whatever form; none
    /// where it is offered others.
    pub fn explained(tools: &str) -> Option<WindowTools> {
        let tools: Value = serde_json::from_str(tools).ok()?;
        let mut named = Vec::new();
        names(&tools, &mut named);
        let offers = |tool: &HostTool| named.contains(&tool.name());
        HostTool::UNFOLD.iter().all(offers).then(|| {
            let name = |tool: HostTool| Some(tool.name().to_owned());
            WindowTools {
                expand: name(HostTool::Expand),
                find: name(HostTool::Find),
                pin: name(HostTool::Pin),
            }
        })
    }

    /// Shows the form of a call.
    fn example(self) -> &'static str {
        match self {
            CallForm::OpenAi => {
                r#"{"id":"…","type":"function","function":{"name":"find","arguments":"{…}"}}"#
            }
            CallForm::Responses => {
                r#"{"type":"function_call","call_id":"…","name":"find","arguments":"{…}"}"#
            }
            CallForm::Anthropic => r#"{"type":"tool_use","id":"…","name":"find","input":{…}}"#,
            CallForm::Gemini => r#"{"functionCall":{"name":"find","args":{…}}}"#,
        }
    }
}

impl fmt::Display for CallForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CallForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|form| form.as_str() == text).ok_or_else(|| {
            let text = shorten(text, 40);
            format!("unknown format '{text}': use openai, responses, anthropic or gemini")
        })
    }
}

impl Calls {
    /// Reads calls as the model's provider wrote them. What is wrong with a call's arguments is answered to
    /// the model; what is no call is an error.
    pub fn read(form: CallForm, calls: &[Value]) -> Result<Self, String> {
        if calls.is_empty() || calls.len() > MOST_CALLS {
            return Err(format!("there must be 1 to {MOST_CALLS} calls, not {}", calls.len()));
        }
        let read = |(at, call): (usize, &Value)| {
            Call::read(form, call).ok_or_else(|| {
                format!("call {} is not of the form {form}: {}", at + 1, form.example())
            })
        };
        let calls = calls.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self { form, calls })
    }

    /// Makes the calls, one after the other, and returns the messages that answer them, as the provider takes
    /// them.
    pub async fn answer(self, tools: &HostTools) -> Vec<Value> {
        let mut answers = Vec::new();
        for Call { id, name, arguments } in self.calls {
            let output = match arguments {
                Ok(arguments) => tools.call(&name, arguments).await,
                Err(text) => HostOutput { text, error: true, object: None },
            };
            answers.push(answer(self.form, id, &name, output));
        }
        match self.form {
            CallForm::OpenAi | CallForm::Responses => answers,
            // All results of one message stand in the next.
            CallForm::Anthropic => vec![json!({"role": "user", "content": answers})],
            CallForm::Gemini => vec![json!({"role": "user", "parts": answers})],
        }
    }
}

/// Collects the names of tools, wherever the form has them; schemas are left alone.
fn names<'a>(tools: &'a Value, named: &mut Vec<&'a str>) {
    match tools {
        Value::Array(tools) => tools.iter().for_each(|tool| names(tool, named)),
        Value::Object(tool) => {
            named.extend(tool.get("name").and_then(Value::as_str));
            for inner in ["function", "functionDeclarations"] {
                tool.get(inner).into_iter().for_each(|tool| names(tool, named));
            }
        }
        _ => {}
    }
}

impl Call {
    fn read(form: CallForm, call: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(match form {
            CallForm::OpenAi => {
                let function = &call["function"];
                Self {
                    id: Some(text(&call["id"])?),
                    name: text(&function["name"])?,
                    arguments: written(function["arguments"].as_str()?),
                }
            }
            CallForm::Responses => Self {
                id: Some(text(&call["call_id"])?),
                name: text(&call["name"])?,
                arguments: written(call["arguments"].as_str()?),
            },
            CallForm::Anthropic => Self {
                id: Some(text(&call["id"])?),
                name: text(&call["name"])?,
                arguments: Ok(call["input"].clone()),
            },
            CallForm::Gemini => {
                let call = call.get("functionCall").unwrap_or(call);
                Self {
                    id: text(&call["id"]),
                    name: text(&call["name"])?,
                    arguments: Ok(call["args"].clone()),
                }
            }
        })
    }
}

/// Reads arguments that a model wrote as a text.
fn written(arguments: &str) -> Result<Value, String> {
    if arguments.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(arguments)
        .map_err(|error| format!("the arguments are not valid JSON: {error}; call it again"))
}

/// Returns what answers one call.
fn answer(form: CallForm, id: Option<String>, name: &str, output: HostOutput) -> Value {
    let HostOutput { text, error, .. } = output;
    match form {
        CallForm::OpenAi => json!({"role": "tool", "tool_call_id": id, "content": text}),
        CallForm::Responses => {
            json!({"type": "function_call_output", "call_id": id, "output": text})
        }
        CallForm::Anthropic => match error {
            true => {
                json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true})
            }
            false => json!({"type": "tool_result", "tool_use_id": id, "content": text}),
        },
        CallForm::Gemini => {
            let said = if error { "error" } else { "result" };
            let mut response = json!({"name": name, "response": {said: text}});
            if let Some(id) = id {
                response["id"] = id.into();
            }
            json!({"functionResponse": response})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_explained_with_the_tools_in_every_form() {
        for form in CallForm::ALL {
            let explained = CallForm::explained(&form.unfold_tools()).unwrap();
            assert_eq!(explained.expand.as_deref(), Some("expand"), "{form}");
        }
        for other in ["[]", "{", r#"[{"name":"find"},{"name":"expand"}]"#, "7"] {
            assert!(CallForm::explained(other).is_none(), "{other}");
        }
    }
}
