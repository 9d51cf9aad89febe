//! `organise`: where pages are.

use contexture_core::Edit;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{Done, Hand, arguments, change, named};
use crate::tool::ToolOutput;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Organise {
    action: Action,
    page: String,
    #[serde(default)]
    to: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Move,
    Remove,
    Restore,
}

pub(super) async fn organise(hand: &Hand, arguments: &Value) -> Done {
    let Organise { action, page, to } = arguments::read(arguments)?;
    match (action, to) {
        (Action::Move, Some(to)) => change::move_page(hand, &json!({"page": page, "to": to})).await,
        (Action::Move, None) => {
            Ok(ToolOutput::failed("move needs the directory that the page goes to"))
        }
        (Action::Remove, None) => change::remove(hand, &json!({"page": page})).await,
        (Action::Remove, Some(_)) => Ok(ToolOutput::failed("remove takes a page only")),
        (Action::Restore, to) => restore(hand, &page, to).await,
    }
}

async fn restore(hand: &Hand, page: &str, to: Option<String>) -> Done {
    let page = hand.session.index(page)?;
    let to = to.map(|to| hand.session.index(&to)).transpose()?;
    let outcome = hand.session.apply(Edit::RestorePage { page: page.clone(), to }).await?;
    let now = outcome.moved.iter().find(|(from, _)| *from == page).map_or(&page, |(_, to)| to);
    let text = match hand.session.get_page(now).await {
        Ok(view) => {
            let parent = view.page.parent.as_ref().map(|parent| format!(" in {parent}"));
            let (page, version) = (named(&view.page), view.page.version);
            format!("restored {page}{}, version {version}", parent.unwrap_or_default())
        }
        Err(_) => format!("restored {now}; it is not in your view"),
    };
    Ok(ToolOutput::of(text).changing(now.clone()))
}
