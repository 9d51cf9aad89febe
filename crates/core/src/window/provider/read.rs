//! Reads the shapes of items out of a request body, checking what a shape cannot tell.

use serde_json::Value;

use super::{
    ProviderFormat, Violation,
    check::broken,
    item::{Shape, Tie, Who},
};
use crate::index::shorten;

/// A body as the rules see it.
pub(super) struct Read {
    pub(super) shapes: Vec<Shape>,
    /// How many cache marks it has.
    pub(super) marks: usize,
}

/// Reads a body.
pub(super) fn read(format: ProviderFormat, body: &Value) -> Result<Read, Violation> {
    let key = match format {
        ProviderFormat::OpenAi | ProviderFormat::Anthropic => "messages",
        ProviderFormat::Responses => "input",
        ProviderFormat::Gemini => "contents",
    };
    let Some(items) = body.get(key).and_then(Value::as_array) else {
        return broken(0, "body", format!("the body has no list '{key}'"));
    };
    read_system(format, body)?;
    let shapes = items.iter().enumerate().map(|(at, item)| {
        let at = At(at);
        match format {
            ProviderFormat::OpenAi => at.openai(item),
            ProviderFormat::Responses => at.responses(item),
            ProviderFormat::Anthropic => at.anthropic(item),
            ProviderFormat::Gemini => at.gemini(item),
        }
    });
    let shapes = shapes.collect::<Result<_, _>>()?;
    Ok(Read { shapes, marks: count_marks(body) })
}

fn read_system(format: ProviderFormat, body: &Value) -> Result<(), Violation> {
    let speaks =
        |text: Option<&Value>| text.and_then(Value::as_str).is_some_and(|text| !blank(text));
    let all_speak = |blocks: &Value| {
        let blocks = blocks.as_array().filter(|blocks| !blocks.is_empty());
        blocks.is_some_and(|blocks| blocks.iter().all(|block| speaks(block.get("text"))))
    };
    let sound = match format {
        ProviderFormat::OpenAi => true,
        ProviderFormat::Responses => body.get("instructions").is_none_or(|text| speaks(Some(text))),
        ProviderFormat::Anthropic => {
            body.get("system").is_none_or(|system| speaks(Some(system)) || all_speak(system))
        }
        ProviderFormat::Gemini => body
            .get("systemInstruction")
            .is_none_or(|system| system.get("parts").is_some_and(all_speak)),
    };
    if sound { Ok(()) } else { broken(0, "system", "the system part is empty or no text") }
}

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn count_marks(value: &Value) -> usize {
    match value {
        // What a model called its arguments is no mark.
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| *key != "input")
            .map(|(key, value)| usize::from(key == "cache_control") + count_marks(value))
            .sum(),
        Value::Array(list) => list.iter().map(count_marks).sum(),
        _ => 0,
    }
}

/// Reads the item of that number.
struct At(usize);

impl At {
    fn openai(&self, item: &Value) -> Result<Shape, Violation> {
        let who = match self.text(item, "role")? {
            "system" | "developer" => Who::System,
            "user" => Who::User,
            "assistant" => Who::Model,
            "tool" => Who::Tool,
            role => return self.unknown_role(role),
        };
        let mut shape = Shape::new(who);
        match item.get("content") {
            Some(Value::Null) if who == Who::Model => {}
            None if who == Who::Model => {}
            Some(Value::String(text)) => shape.blocks = usize::from(!text.is_empty()),
            Some(Value::Array(blocks)) if !blocks.is_empty() => {
                for block in blocks {
                    let empty = block.get("text").is_some_and(|text| text == "");
                    self.text(block, "type")?;
                    shape.blocks += 1;
                    shape.empty += usize::from(empty);
                }
            }
            _ => return broken(self.0, "content", "its content is neither text nor parts"),
        }
        if who == Who::Tool {
            shape.answers.push(self.tie(item, "tool_call_id", None)?);
        }
        if let Some(calls) = item.get("tool_calls") {
            let calls = calls.as_array().filter(|calls| !calls.is_empty());
            let Some(calls) = calls.filter(|_| who == Who::Model) else {
                return broken(self.0, "tool-calls", "its calls are no list of the assistant's");
            };
            for call in calls {
                let function = call.get("function").unwrap_or(&Value::Null);
                self.text(function, "arguments")?;
                let name = self.text(function, "name")?.to_owned();
                shape.calls.push(Tie { name, ..self.tie(call, "id", None)? });
            }
        }
        Ok(shape)
    }

    fn responses(&self, item: &Value) -> Result<Shape, Violation> {
        match item.get("type").and_then(Value::as_str).unwrap_or("message") {
            "message" => self.responses_message(item),
            "function_call" => {
                let mut shape = Shape::new(Who::Call);
                self.text(item, "arguments")?;
                shape.calls.push(self.tie(item, "call_id", Some("name"))?);
                Ok(shape)
            }
            "function_call_output" => {
                let mut shape = Shape::new(Who::Output);
                match item.get("output") {
                    Some(Value::String(text)) => shape.blocks = usize::from(!text.is_empty()),
                    Some(Value::Array(blocks)) => shape.blocks = blocks.len(),
                    _ => return broken(self.0, "content", "its output is neither text nor parts"),
                }
                shape.answers.push(self.tie(item, "call_id", None)?);
                Ok(shape)
            }
            "reasoning" => Ok(Shape::new(Who::Reasoning)),
            _ => Ok(Shape::new(Who::Opaque)),
        }
    }

    fn responses_message(&self, item: &Value) -> Result<Shape, Violation> {
        let (who, kind) = match self.text(item, "role")? {
            "system" | "developer" => (Who::System, "input_text"),
            "user" => (Who::User, "input_text"),
            "assistant" => (Who::Model, "output_text"),
            role => return self.unknown_role(role),
        };
        let mut shape = Shape::new(who);
        match item.get("content") {
            Some(Value::String(text)) => shape.blocks = usize::from(!text.is_empty()),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    let of = self.text(block, "type")?;
                    if of.ends_with("_text") && of != kind {
                        return broken(self.0, "text-type", format!("a text is '{}'", shorten(of)));
                    }
                    shape.blocks += 1;
                    shape.empty += usize::from(block.get("text").is_some_and(|text| text == ""));
                }
            }
            _ => return broken(self.0, "content", "its content is neither text nor parts"),
        }
        Ok(shape)
    }

    fn anthropic(&self, item: &Value) -> Result<Shape, Violation> {
        let who = match self.text(item, "role")? {
            "user" => Who::User,
            "assistant" => Who::Model,
            role => return self.unknown_role(role),
        };
        let mut shape = Shape::new(who);
        let blocks = match item.get("content") {
            Some(Value::String(text)) => {
                shape.blocks = 1;
                shape.empty = usize::from(blank(text));
                return Ok(shape);
            }
            Some(Value::Array(blocks)) => blocks,
            _ => return broken(self.0, "content", "its content is neither text nor blocks"),
        };
        for block in blocks {
            let kind = self.text(block, "type")?;
            match kind {
                "text" => shape.empty += usize::from(blank(self.text(block, "text")?)),
                "tool_use" if who == Who::Model => {
                    if !block.get("input").is_some_and(Value::is_object) {
                        return broken(self.0, "input-object", "the input of a call is no object");
                    }
                    shape.calls.push(self.tie(block, "id", Some("name"))?);
                }
                "tool_result" if who == Who::User => {
                    shape.late_answer |= shape.answers.len() < shape.blocks;
                    shape.empty += self.empty_result(block)?;
                    shape.answers.push(self.tie(block, "tool_use_id", None)?);
                }
                "tool_use" | "tool_result" => {
                    return broken(self.0, "block-role", format!("a {kind} in the wrong role"));
                }
                _ => {}
            }
            shape.ends_thinking = matches!(kind, "thinking" | "redacted_thinking");
            shape.blocks += 1;
        }
        Ok(shape)
    }

    /// Counts the empty texts inside a result; a failure must say something.
    fn empty_result(&self, block: &Value) -> Result<usize, Violation> {
        let failed = block.get("is_error").is_some_and(|error| error == true);
        match block.get("content") {
            None => Ok(usize::from(failed)),
            Some(Value::String(text)) => Ok(usize::from(failed && blank(text))),
            Some(Value::Array(blocks)) => {
                let text = |block: &Value| block.get("text").and_then(Value::as_str).map(blank);
                let empty = blocks.iter().filter(|block| text(block) == Some(true)).count();
                Ok(empty + usize::from(failed && blocks.is_empty()))
            }
            Some(_) => broken(self.0, "content", "a result is neither text nor blocks"),
        }
    }

    fn gemini(&self, item: &Value) -> Result<Shape, Violation> {
        let who = match self.text(item, "role")? {
            "user" => Who::User,
            "model" => Who::Model,
            role => return self.unknown_role(role),
        };
        let mut shape = Shape::new(who);
        let Some(parts) = item.get("parts").and_then(Value::as_array) else {
            return broken(self.0, "content", "it has no parts");
        };
        for part in parts {
            shape.blocks += 1;
            let said = ["inlineData", "fileData", "executableCode", "codeExecutionResult"];
            if let Some(call) = part.get("functionCall").filter(|_| who == Who::Model) {
                if !call.get("args").is_none_or(Value::is_object) {
                    return broken(self.0, "input-object", "the arguments of a call are no object");
                }
                shape.calls.push(self.gemini_tie(call)?);
            } else if let Some(response) = part.get("functionResponse").filter(|_| who == Who::User)
            {
                if !response.get("response").is_some_and(Value::is_object) {
                    return broken(self.0, "response-object", "a response is no object");
                }
                shape.answers.push(self.gemini_tie(response)?);
            } else if part.get("text").is_some() {
                shape.empty += usize::from(self.text(part, "text")?.is_empty());
            } else if !said.iter().any(|key| part.get(key).is_some()) {
                return broken(self.0, "part", "a part of it is none the role may have");
            }
        }
        Ok(shape)
    }

    fn gemini_tie(&self, value: &Value) -> Result<Tie, Violation> {
        let id = value.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Tie { id, name: self.text(value, "name")?.to_owned() })
    }

    fn tie(&self, value: &Value, id: &str, name: Option<&str>) -> Result<Tie, Violation> {
        let id = self.text(value, id)?.to_owned();
        let name = name.map_or(Ok(""), |name| self.text(value, name))?.to_owned();
        Ok(Tie { id, name })
    }

    fn text<'a>(&self, value: &'a Value, key: &str) -> Result<&'a str, Violation> {
        match value.get(key).and_then(Value::as_str) {
            Some(text) => Ok(text),
            None => broken(self.0, "field", format!("'{key}' is no text")),
        }
    }

    fn unknown_role<T>(&self, role: &str) -> Result<T, Violation> {
        broken(self.0, "role", format!("unknown role '{}'", shorten(role)))
    }
}
