//! Assembling: rendered pieces joined to the fragment of a request body.
//!
//! What depends on other pieces is made valid here, in one pass from front to back: ids used
//! before, a conversation that does not begin with the user, and Gemini's turns. Only pieces whose
//! ids clash are written anew.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{
    ProviderFormat, RenderedPiece, RenderedSystem, Violation,
    anthropic::{self, CACHE_MARK, TAIL},
    check, gemini,
    identity::Ids,
    item::{Item, Who},
    openai, responses,
};

/// What a body is made of.
#[derive(Debug, Clone, Copy)]
pub struct WindowParts<'a> {
    /// The pieces of the system part.
    pub system: &'a [Arc<RenderedSystem>],
    /// The pieces of the conversation, all rendered for the same format.
    pub talk: &'a [Arc<RenderedPiece>],
    /// Where the cache is to be written.
    pub breakpoints: Breakpoints,
}

/// Where Anthropic's cache is to be written, besides the end of the system part and of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Breakpoints {
    /// The piece of the conversation that ends its frozen part.
    pub freeze: Option<usize>,
    /// The message that was the last in the window sent before.
    pub previous_tail: Option<usize>,
}

/// A fragment of a request body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The fragment: an object with the system part and the conversation under their names.
    pub json: String,
    /// Where each message, content or item stands in `json`, in order.
    pub items: Vec<Range<usize>>,
    /// What was made valid, in words.
    pub repaired: Vec<String>,
}

/// Joins rendered pieces to the fragment of a request body, and checks it.
///
/// No list of pieces breaks a rule: a [`Violation`] means a fault in this module.
pub fn assemble(format: ProviderFormat, parts: WindowParts<'_>) -> Result<Assembled, Violation> {
    let fillers = Fillers::new(format);
    let system = joined_system(format, parts.system);
    let mut placing = Placing::new(format, &fillers);
    if let (ProviderFormat::OpenAi, Some(text)) = (format, &system) {
        let mut item = Item::new(Who::System, "{\"role\":\"system\",\"content\":");
        item.json.push_str(text);
        item.json.push('}');
        item.shape.blocks = 1;
        placing.items.push(Cow::Owned(item));
    }
    let mut ends = Vec::with_capacity(2);
    for (number, piece) in parts.talk.iter().enumerate() {
        placing.piece(piece);
        if parts.breakpoints.freeze == Some(number) {
            ends.extend(placing.items.len().checked_sub(1));
        }
    }
    let Placing { items, repaired, .. } = placing;
    ends.extend(parts.breakpoints.previous_tail.filter(|&tail| tail < items.len()));
    let mut marked = Vec::new();
    if format == ProviderFormat::Anthropic {
        ends.extend(items.len().checked_sub(1));
        ends.sort_unstable();
        ends.dedup();
        marked = ends;
    }
    let marks = marked.len() + usize::from(system.is_some());
    check::check(format, marks, items.iter().map(|item| &item.shape))?;
    let (json, items) = write(format, system.as_deref(), &items, &marked);
    Ok(Assembled { json, items, repaired })
}

/// Joins the system part as JSON: a list of blocks for Anthropic, a string for others.
fn joined_system(format: ProviderFormat, system: &[Arc<RenderedSystem>]) -> Option<String> {
    let mut texts =
        system.iter().map(|piece| piece.escaped.as_str()).filter(|text| !text.is_empty());
    let mut out = String::with_capacity(system.iter().map(|piece| piece.bytes() + 64).sum());
    if format == ProviderFormat::Anthropic {
        for text in texts {
            out.push_str(if out.is_empty() { "[" } else { "}," });
            out.push_str("{\"type\":\"text\",\"text\":\"");
            out.push_str(text);
            out.push('"');
        }
        if out.is_empty() {
            return None;
        }
        out.push_str(CACHE_MARK);
        out.push_str("}]");
        return Some(out);
    }
    out.push('"');
    out.push_str(texts.next()?);
    for text in texts {
        out.push_str("\\n\\n");
        out.push_str(text);
    }
    out.push('"');
    Some(out)
}

/// What the engine says where a provider's rules need someone to speak.
struct Fillers {
    begin: Item,
    go_on: Item,
    no_reply: Item,
}

impl Fillers {
    fn new(format: ProviderFormat) -> Self {
        let item = |who: Who, text: &str| {
            let role = match (format, who) {
                (_, Who::User) => "user",
                (ProviderFormat::Gemini, _) => "model",
                _ => "assistant",
            };
            let json = match format {
                ProviderFormat::OpenAi => openai::plain(role, text),
                ProviderFormat::Responses => responses::plain(role, text),
                ProviderFormat::Anthropic => anthropic::plain(role, text),
                ProviderFormat::Gemini => gemini::plain(role, text),
            };
            let mut item = Item::new(who, &json);
            item.shape.blocks = 1;
            item
        };
        Self {
            begin: item(Who::User, "(conversation begins)"),
            go_on: item(Who::User, "(continue)"),
            no_reply: item(Who::Model, "(no reply)"),
        }
    }
}

/// The items of a body, being put in order.
struct Placing<'a> {
    format: ProviderFormat,
    fillers: &'a Fillers,
    items: Vec<Cow<'a, Item>>,
    ids: Ids<'a>,
    last: Option<Who>,
    repaired: Vec<String>,
}

impl<'a> Placing<'a> {
    fn new(format: ProviderFormat, fillers: &'a Fillers) -> Self {
        Self {
            format,
            fillers,
            items: Vec::new(),
            ids: Ids::default(),
            last: None,
            repaired: Vec::new(),
        }
    }

    fn piece(&mut self, piece: &'a RenderedPiece) {
        self.repaired.extend_from_slice(&piece.repaired);
        let ids = self.ids.take(piece, &mut self.repaired);
        for item in &piece.items {
            self.fill_before(item.shape.who);
            let renamed = ids.as_deref().and_then(|ids| item.renamed(ids));
            self.items.push(renamed.map_or(Cow::Borrowed(item), Cow::Owned));
            self.last = Some(item.shape.who);
        }
    }

    /// Lets someone speak where the rules do not let `who` speak next.
    fn fill_before(&mut self, who: Who) {
        let filler = match (self.last, who) {
            (None, Who::User | Who::System) => return,
            (None, _) => {
                self.repaired.push("the conversation does not begin with the user".to_owned());
                &self.fillers.begin
            }
            (Some(last), _) if self.format != ProviderFormat::Gemini || last != who => return,
            (Some(_), Who::User) => &self.fillers.no_reply,
            (Some(_), _) => &self.fillers.go_on,
        };
        self.items.push(Cow::Borrowed(filler));
    }
}

/// Writes the body, with cache marks in the items that `marked` names in order.
fn write(
    format: ProviderFormat,
    system: Option<&str>,
    items: &[Cow<'_, Item>],
    marked: &[usize],
) -> (String, Vec<Range<usize>>) {
    let (before_system, after_system, list) = match format {
        ProviderFormat::OpenAi => ("", "", "\"messages\":["),
        ProviderFormat::Responses => ("\"instructions\":", ",", "\"input\":["),
        ProviderFormat::Anthropic => ("\"system\":", ",", "\"messages\":["),
        ProviderFormat::Gemini => {
            ("\"systemInstruction\":{\"parts\":[{\"text\":", "}]},", "\"contents\":[")
        }
    };
    let system = system.filter(|_| format != ProviderFormat::OpenAi);
    let length: usize = items.iter().map(|item| item.json.len() + 1).sum();
    let mut json = String::with_capacity(length + system.map_or(0, str::len) + 256);
    let mut ranges = Vec::with_capacity(items.len());
    json.push('{');
    if let Some(system) = system {
        json.push_str(before_system);
        json.push_str(system);
        json.push_str(after_system);
    }
    json.push_str(list);
    let mut marked = marked.iter().peekable();
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            json.push(',');
        }
        let start = json.len();
        if marked.next_if_eq(&&number).is_some() {
            let (body, tail) = item.json.split_at(item.json.len() - TAIL);
            json.push_str(body);
            json.push_str(CACHE_MARK);
            json.push_str(tail);
        } else {
            json.push_str(&item.json);
        }
        ranges.push(start..json.len());
    }
    json.push_str("]}");
    (json, ranges)
}
