//! Blocks: what of a message a provider takes in which place, and what stands for the rest.

use std::borrow::Cow;

use super::{ProviderFormat, json, picture, step::Bit};

/// Where a block is to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    System,
    User,
    Model,
    Result,
}

/// One block of content: a text, or the format's JSON for anything else.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Json(String),
}

/// Returns a part as a block, or `None` if it has no place there. Calls are written apart.
pub(super) fn block<'a>(
    format: ProviderFormat,
    place: Place,
    bit: &'a Bit<'_>,
) -> Option<Block<'a>> {
    match bit {
        Bit::Text { text, .. } => Some(Block::Text(text.as_ref().into())),
        Bit::Image(source) => {
            let written = takes_images(format, place).then(|| picture::write(format, source));
            let block = written.flatten().map(Block::Json);
            Some(block.unwrap_or(Block::Text(picture::IMAGE.into())))
        }
        Bit::Other { kind, source, native } => {
            let sound = takes_other(format, place, kind, *native) && json::is_sound_object(source);
            let kept = sound.then(|| picture::without_cache_marks(source)).flatten();
            match (kept, place) {
                (Some(kept), _) => Some(Block::Json(kept)),
                // The model's own unknown parts mean nothing to another.
                (None, Place::Model) => None,
                (None, _) if kind.is_empty() => Some(Block::Text("(unknown part)".into())),
                (None, _) => Some(Block::Text(format!("({kind})").into())),
            }
        }
        Bit::Thinking(_) | Bit::Call(_) => None,
    }
}

/// Returns all parts as blocks.
pub(super) fn blocks<'a>(
    format: ProviderFormat,
    place: Place,
    bits: &'a [Bit<'_>],
) -> Vec<Block<'a>> {
    bits.iter().filter_map(|bit| block(format, place, bit)).collect()
}

/// Joins blocks to one text, or returns them if they are more than text.
pub(super) fn joined<'a>(mut blocks: Vec<Block<'a>>) -> Result<Cow<'a, str>, Vec<Block<'a>>> {
    if blocks.iter().any(|block| matches!(block, Block::Json(_))) {
        return Err(blocks);
    }
    match blocks.len() {
        0 => return Ok("".into()),
        1 => {
            if let Some(Block::Text(text)) = blocks.pop() {
                return Ok(text);
            }
        }
        _ => {}
    }
    let texts = blocks.iter().map(|block| match block {
        Block::Text(text) => text.as_ref(),
        Block::Json(_) => "",
    });
    Ok(texts.collect::<Vec<_>>().join("\n").into())
}

/// Counts the texts that say nothing.
pub(super) fn count_empty(blocks: &[Block<'_>]) -> usize {
    blocks.iter().filter(|block| matches!(block, Block::Text(text) if text.is_empty())).count()
}

/// Writes blocks as a JSON array, texts under the type the provider gives them.
pub(super) fn push_array(out: &mut String, text_type: &str, blocks: &[Block<'_>]) {
    out.push('[');
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        match block {
            Block::Text(text) => {
                out.push_str("{\"type\":\"");
                out.push_str(text_type);
                out.push_str("\",\"text\":");
                json::push_text(out, text);
                out.push('}');
            }
            Block::Json(raw) => out.push_str(raw),
        }
    }
    out.push(']');
}

fn takes_images(format: ProviderFormat, place: Place) -> bool {
    match place {
        Place::System => false,
        Place::User => true,
        Place::Model => format == ProviderFormat::Gemini,
        // Chat tool messages are text alone, and Gemini's results are JSON.
        Place::Result => format == ProviderFormat::Responses || format == ProviderFormat::Anthropic,
    }
}

/// Tells which parts of unknown kinds a provider is known to take as they are.
fn takes_other(format: ProviderFormat, place: Place, kind: &str, native: bool) -> bool {
    match (format, place) {
        (ProviderFormat::OpenAi, Place::User) => matches!(kind, "file" | "input_audio"),
        (ProviderFormat::Responses, Place::User | Place::Result) => kind == "input_file",
        (ProviderFormat::Anthropic, Place::User | Place::Result) => {
            matches!(kind, "document" | "search_result")
        }
        // Tools that run at the provider: their calls and results come in one message.
        (ProviderFormat::Anthropic, Place::Model) => {
            native
                && (matches!(kind, "server_tool_use" | "mcp_tool_use")
                    || kind.ends_with("_tool_result"))
        }
        _ => false,
    }
}
