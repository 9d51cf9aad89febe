//! What an MCP tool answered, as text a model reads.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use super::narrow::whole;
use crate::tool::ToolOutput;

/// The longest answer, in bytes.
pub(super) const BYTES: usize = 100 * 1024;

/// What stands for a part that is not known.
const UNKNOWN: &str = "(a part of an unknown kind)";

/// Turns a result into an answer: texts as they are, the rest described.
pub(super) fn of(result: &CallToolResult) -> ToolOutput {
    let blocks: Vec<(String, usize)> = result.content.iter().map(block).collect();
    // A text that was cut while it was read counts with the bytes it had.
    let unread: usize = blocks.iter().map(|(text, size)| size - text.len().min(*size)).sum();
    let mut text = blocks.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("\n");
    if text.is_empty()
        && let Some(structured) = &result.structured_content
    {
        write_sorted(structured, &mut text);
    }
    if text.is_empty() {
        text.push_str("(no output)");
    }
    let size = text.len() + unread;
    if size > BYTES {
        text = format!("{}\n[cut: the first {BYTES} of {size} bytes]", cut(&text, BYTES));
    }
    ToolOutput { text, error: result.is_error == Some(true), ..ToolOutput::default() }
}

/// Returns a block as text, and how many bytes it has in whole.
fn block(block: &ContentBlock) -> (String, usize) {
    let text = match block {
        ContentBlock::Text(text) => {
            let (text, size) = whole(&text.text);
            return (text.to_owned(), size);
        }
        ContentBlock::Image(image) => described("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => described("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                let (text, size) = whole(text);
                return (format!("{uri}:\n{text}"), uri.len() + 2 + size);
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                described(uri, mime_type.as_deref().unwrap_or("binary"), blob)
            }
            _ => UNKNOWN.to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("(resource {}: {})", link.uri, link.name),
        _ => UNKNOWN.to_owned(),
    };
    let size = text.len();
    (text, size)
}

fn described(what: &str, kind: &str, base64: &str) -> String {
    format!("({what}, {kind}, about {} bytes, not shown)", whole(base64).1 / 4 * 3)
}

/// Cuts a text at a whole character.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// Writes JSON with the fields of its objects sorted, so that its bytes do not depend on the order
/// they came in.
pub(super) fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (at, (name, value)) in fields.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_sorted(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_sorted(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_as_they_are_and_the_rest_is_described() {
        let result = CallToolResult::success(vec![
            ContentBlock::text("one"),
            ContentBlock::image("AAAA", "image/png"),
            ContentBlock::embedded_text("note://1", "two"),
        ]);
        let expected = "one\n(image, image/png, about 3 bytes, not shown)\nnote://1:\ntwo";
        assert_eq!(of(&result), ToolOutput::of(expected));
        let failed = CallToolResult::error(vec![ContentBlock::text("no")]);
        assert_eq!(of(&failed), ToolOutput::failed("no"));
        assert_eq!(of(&CallToolResult::success(Vec::new())).text, "(no output)");
    }

    #[test]
    fn long_answers_are_cut_at_a_character() {
        let result = CallToolResult::success(vec![ContentBlock::text("é".repeat(BYTES))]);
        let text = of(&result).text;
        assert!(text.len() < BYTES + 100);
        assert!(text.ends_with(&format!("é…\n[cut: the first {BYTES} of {} bytes]", 2 * BYTES)));
    }

    #[test]
    fn fields_are_sorted_at_every_depth() {
        let value = serde_json::json!({"b": [{"z": 1, "a": "x\"y"}], "a": null});
        let mut text = String::new();
        write_sorted(&value, &mut text);
        assert_eq!(text, r#"{"a":null,"b":[{"a":"x\"y","z":1}]}"#);
    }
}
