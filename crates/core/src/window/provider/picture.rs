//! Images: each provider's way of referring to one, read and written.

use serde::Deserialize;

use super::{ProviderFormat, json};
use crate::message::{Fields, RawJson};

/// What stands where a provider cannot be shown an image.
pub(super) const IMAGE: &str = "(image)";

/// The kinds of image Anthropic takes inline.
const ANTHROPIC_MEDIA: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// An image as every provider could refer to it.
enum Picture {
    Data { media: String, data: String },
    Url(String),
}

/// Writes an image as the format's content part, or `None` where it cannot be converted.
pub(super) fn write(format: ProviderFormat, source: &RawJson) -> Option<String> {
    if !json::is_sound_object(source.as_str()) {
        return None;
    }
    let fields: Fields = source.read().ok()?;
    let kind: String = fields.get("type").and_then(|kind| kind.read().ok()).unwrap_or_default();
    let native = match (format, kind.as_str()) {
        (ProviderFormat::OpenAi, "image_url") => has_url(&fields),
        (ProviderFormat::Responses, "input_image") => true,
        (ProviderFormat::Anthropic, "image") => {
            fields.get("source").is_some_and(|source| source.as_str().starts_with('{'))
        }
        (ProviderFormat::Gemini, "") => fields.get("inlineData").is_some(),
        _ => false,
    };
    if native {
        return without_cache_marks(source.as_str());
    }
    convert(format, read(&fields)?)
}

/// Returns a foreign part without the cache mark it may have had: those are ours to place.
pub(super) fn without_cache_marks(source: &str) -> Option<String> {
    // An escape may spell the name another way.
    if !source.contains("cache_control") && !source.contains("\\u") {
        return Some(source.to_owned());
    }
    let mut fields: Fields = serde_json::from_str(source).ok()?;
    let mut stripped = source.to_owned();
    while fields.take("cache_control").is_some() {
        stripped = serde_json::to_string(&fields).ok()?;
    }
    let value: serde_json::Value = serde_json::from_str(&stripped).ok()?;
    (!has_cache_mark(&value)).then_some(stripped)
}

fn has_cache_mark(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Object(map) => {
            map.contains_key("cache_control") || map.values().any(has_cache_mark)
        }
        serde_json::Value::Array(list) => list.iter().any(has_cache_mark),
        _ => false,
    }
}

fn has_url(fields: &Fields) -> bool {
    fields.get("image_url").is_some_and(|url| url.read::<Url>().is_ok())
}

#[derive(Deserialize)]
struct Url {
    url: String,
}

#[derive(Deserialize)]
struct Inline {
    #[serde(alias = "mediaType", alias = "mimeType", alias = "mime_type")]
    media_type: String,
    data: String,
}

fn read(fields: &Fields) -> Option<Picture> {
    if let Some(url) = fields.get("image_url") {
        let url = url.read::<Url>().map(|url| url.url).or_else(|_| url.read::<String>()).ok()?;
        return Some(from_url(url));
    }
    if let Some(source) = fields.get("source") {
        let url = source.read::<Url>().map(|url| from_url(url.url)).ok();
        return url.or_else(|| source.read::<Inline>().ok().map(from_inline));
    }
    let inline = fields.get("inlineData").and_then(|data| data.read::<Inline>().ok());
    inline.map(from_inline).or_else(|| from_tool(fields))
}

/// Reads an image as tools of the Model Context Protocol return it.
fn from_tool(fields: &Fields) -> Option<Picture> {
    let text = |name| fields.get(name).and_then(|raw: &RawJson| raw.read::<String>().ok());
    Some(Picture::Data { media: text("mimeType")?, data: text("data")? })
}

fn from_inline(inline: Inline) -> Picture {
    Picture::Data { media: inline.media_type, data: inline.data }
}

fn from_url(url: String) -> Picture {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media, data)) => Picture::Data { media: media.to_owned(), data: data.to_owned() },
        None => Picture::Url(url),
    }
}

fn convert(format: ProviderFormat, picture: Picture) -> Option<String> {
    let mut out = String::new();
    match (format, picture) {
        (ProviderFormat::OpenAi, picture) => {
            out.push_str("{\"type\":\"image_url\",\"image_url\":{\"url\":");
            json::push_text(&mut out, &url_of(picture)?);
            out.push_str("}}");
        }
        (ProviderFormat::Responses, picture) => {
            out.push_str("{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":");
            json::push_text(&mut out, &url_of(picture)?);
            out.push('}');
        }
        (ProviderFormat::Anthropic, Picture::Data { media, data }) => {
            if !ANTHROPIC_MEDIA.contains(&media.as_str()) || data.is_empty() {
                return None;
            }
            out.push_str("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":");
            json::push_text(&mut out, &media);
            out.push_str(",\"data\":");
            json::push_text(&mut out, &data);
            out.push_str("}}");
        }
        (ProviderFormat::Anthropic, Picture::Url(url)) => {
            if !url.starts_with("https://") {
                return None;
            }
            out.push_str("{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":");
            json::push_text(&mut out, &url);
            out.push_str("}}");
        }
        (ProviderFormat::Gemini, Picture::Data { media, data }) => {
            out.push_str("{\"inlineData\":{\"mimeType\":");
            json::push_text(&mut out, &media);
            out.push_str(",\"data\":");
            json::push_text(&mut out, &data);
            out.push_str("}}");
        }
        // Gemini fetches only what was uploaded to it.
        (ProviderFormat::Gemini, Picture::Url(_)) => return None,
    }
    Some(out)
}

fn url_of(picture: Picture) -> Option<String> {
    match picture {
        Picture::Data { media, data } => Some(format!("data:{media};base64,{data}")),
        Picture::Url(url) if url.starts_with("http://") || url.starts_with("https://") => Some(url),
        Picture::Url(_) => None,
    }
}
