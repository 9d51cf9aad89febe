//! Reading a rendering: the anchors in it, and nothing that only looks like one.

/// What an anchor in a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FoundAnchorKind {
    /// `[button:<key>]`: something to do, without parameters.
    Button,
    /// `[form:<key> a=… b=…]`: something to do, with parameters.
    Form,
    /// `[ref:<key>]`: the page a key names.
    Ref,
    /// `**[<index>]**`: the place where a page stands.
    Page,
}

/// An anchor as it stands in a rendering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAnchor {
    /// What it is.
    pub kind: FoundAnchorKind,
    /// Its key, or the index of the page it marks.
    pub key: String,
    /// The names of its parameters, in order; only a form has some.
    pub params: Vec<String>,
    /// The byte at which it begins.
    pub at: usize,
}

/// Finds the anchors of a rendering, in order.
///
/// An anchor with an odd number of backslashes before it is escaped outside text and is not found;
/// nor is one whose key or parameters are not written exactly as the engine writes them.
pub fn find_anchors(markdown: &str) -> Vec<FoundAnchor> {
    let mut anchors = Vec::new();
    let mut backslashes = 0;
    let mut at = 0;
    while let Some(byte) = markdown.as_bytes().get(at) {
        // Brackets and stars are ASCII, so `at` is a boundary where it matters.
        let found = match byte {
            b'[' | b'*' if backslashes % 2 == 0 => parse(&markdown[at..]),
            _ => None,
        };
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        match found {
            Some((kind, key, params, length)) => {
                anchors.push(FoundAnchor { kind, key: key.to_owned(), params, at });
                at += length;
            }
            None => at += 1,
        }
    }
    anchors
}

type Parsed<'a> = (FoundAnchorKind, &'a str, Vec<String>, usize);

/// Reads the anchor a text begins with.
fn parse(text: &str) -> Option<Parsed<'_>> {
    let (kind, open, close) = [
        (FoundAnchorKind::Button, "[button:", "]"),
        (FoundAnchorKind::Form, "[form:", "]"),
        (FoundAnchorKind::Ref, "[ref:", "]"),
        (FoundAnchorKind::Page, "**[", "]**"),
    ]
    .into_iter()
    .find(|(_, open, _)| text.starts_with(open))?;
    let body = &text[open.len()..];
    let key = &body[..word_length(body)?];
    let (params, rest) = parse_params(&body[key.len()..])?;
    if !rest.starts_with(close) || (kind == FoundAnchorKind::Form) == params.is_empty() {
        return None;
    }
    Some((kind, key, params, text.len() - rest.len() + close.len()))
}

/// Reads ` a=… b=…` up to what cannot belong to it; gives the names and the rest.
fn parse_params(mut rest: &str) -> Option<(Vec<String>, &str)> {
    let mut params = Vec::new();
    while let Some(param) = rest.strip_prefix(' ') {
        let name = &param[..word_length(param)?];
        let value = param[name.len()..].strip_prefix('=')?;
        let end = value.find([' ', ']', '[', '\n', '\\'])?;
        params.push(name.to_owned());
        rest = &value[end..];
    }
    Some((params, rest))
}

/// Returns the length of the key or name a text begins with.
fn word_length(text: &str) -> Option<usize> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let length = text.bytes().take_while(|byte| allowed(*byte)).count();
    let first = text.bytes().next()?;
    (first.is_ascii_alphanumeric() || first == b'_').then_some(length)
}
