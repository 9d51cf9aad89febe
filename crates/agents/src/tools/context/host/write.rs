//! `write`: pages of one's own, and what they say.

use contexture_core::{
    Error, PageIndex, PageUpdate, PageView, message::detail_text, storage::Version,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::{Done, Failed, Hand, arguments, change, named};
use crate::tool::ToolOutput;

/// How often text is appended again to a page that others change meanwhile.
const ATTEMPTS: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    action: Action,
    #[serde(default)]
    page: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    pages: Option<Vec<String>>,
    #[serde(default)]
    version: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Create,
    Update,
    Append,
}

pub(super) async fn write(hand: &Hand, arguments: &Value) -> Done {
    let wanted: Write = arguments::read(arguments)?;
    match wanted.action {
        Action::Create => create(hand, wanted).await,
        Action::Update => update(hand, wanted).await,
        Action::Append => append(hand, wanted).await,
    }
}

async fn create(hand: &Hand, wanted: Write) -> Done {
    let Write { page, name, description, text, parent, pages, version, .. } = wanted;
    if page.is_some() || version.is_some() {
        return refused("create takes no page and no version: a new page gets an index of its own");
    }
    let Some(name) = name else { return refused("create needs a name") };
    let mut fields = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (key.to_owned(), value)));
    };
    set("name", Some(json!(name)));
    set("description", description.map(Value::String));
    set("parent", parent.map(Value::String));
    match (text, pages) {
        (Some(_), Some(_)) => {
            refused("create makes a page with a text or a directory of pages, not both")
        }
        (None, Some(pages)) => {
            set("children", Some(json!(pages)));
            change::create_contents(hand, &Value::Object(fields)).await
        }
        (text, None) => {
            set("detail", Some(json!(text.unwrap_or_default())));
            change::create_detail(hand, &Value::Object(fields)).await
        }
    }
}

async fn update(hand: &Hand, wanted: Write) -> Done {
    let Write { page, name, description, text, parent, pages, version, .. } = wanted;
    if parent.is_some() || pages.is_some() {
        return refused("update takes no parent and no pages: organise moves pages");
    }
    let Some(page) = page else { return refused("update needs a page") };
    if name.is_none() && description.is_none() && text.is_none() {
        return refused("nothing to change: give a name, a description or a text");
    }
    let index = hand.session.index(&page)?;
    let mut update = PageUpdate::of(index.clone());
    update.name = name.map(|name| name.parse()).transpose()?;
    update.description = description.map(|text| text.parse()).transpose()?;
    update.if_version = version.map(Version);
    if text.is_some() {
        of_a_note(hand, &index).await?;
    }
    update.detail = text;
    change::updated(hand, update).await
}

async fn append(hand: &Hand, wanted: Write) -> Done {
    let Write { page, name, description, text, parent, pages, version, .. } = wanted;
    if name.is_some() || description.is_some() || parent.is_some() || pages.is_some() {
        return refused("append takes a page, a text and a version only");
    }
    let (Some(page), Some(text)) = (page, text) else {
        return refused("append needs a page and a text; create makes a page");
    };
    let index = hand.session.index(&page)?;
    for attempt in 1.. {
        let view = of_a_note(hand, &index).await?;
        let mut whole = detail_text(&hand.session.get_messages(&index).await?);
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(&text);
        let mut update = PageUpdate::of(index.clone());
        update.detail = Some(whole);
        // What was read is what is extended, whoever writes meanwhile.
        update.if_version = Some(version.map_or(view.page.version, Version));
        match change::updated(hand, update).await {
            Err(Failed::Core(Error::VersionMismatch { .. }))
                if version.is_none() && attempt < ATTEMPTS => {}
            done => return done,
        }
    }
    refused("the page is changed by others all the time: try again later")
}

/// Returns a page whose text may be replaced. What was said in a conversation is not: its calls and results
/// would be lost.
async fn of_a_note(hand: &Hand, index: &PageIndex) -> Result<PageView, Failed> {
    let view = hand.session.get_page(index).await?;
    let refused = |why: &str| {
        let text = format!("the text of {} cannot be written: {why}", named(&view.page));
        Err(Failed::Said(ToolOutput::failed(text)))
    };
    if view.page.is_contents() {
        return refused("it is a directory; write with action create and this parent adds a page");
    }
    if view.page.turn.is_some() {
        return refused("it holds what was said in a conversation; write a page of your own");
    }
    Ok(view)
}

fn refused(why: &str) -> Done {
    Ok(ToolOutput::failed(why))
}
