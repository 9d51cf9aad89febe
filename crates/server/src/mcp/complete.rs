//! Completions: sessions, agents and pages that the caller may name.

use contexture_core::{ListQuery, SessionId};
use rmcp::{
    ErrorData,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference},
};

use super::{
    access::{Access, Asked},
    resources,
};
use crate::{Caller, Host, Result};

/// How many names one answer has.
const MOST: usize = CompletionInfo::MAX_VALUES;

/// How many sessions and pages are looked through.
const LOOKED_THROUGH: usize = 1_000;

/// Returns what an argument may be.
pub(super) async fn complete(
    host: &Host,
    access: &Access,
    request: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let known = match &request.r#ref {
        Reference::Prompt(prompt) => prompt.name == "continue",
        Reference::Resource(resource) => {
            [resources::PAGE, resources::REST].contains(&resource.uri.as_str())
        }
        _ => false,
    };
    if !known {
        return Err(ErrorData::invalid_params("there is no such prompt or template", None));
    }
    let given = |name: &str| {
        let context = request.context.as_ref()?;
        context.get_argument(name).cloned()
    };
    let begin = request.argument.value.as_str();
    let found = match request.argument.name.as_str() {
        "session" => sessions(host, access, begin).await,
        "agent" => agents(host, access, begin).await,
        "page" => pages(host, access, given("session"), given("agent"), begin).await,
        _ => Ok(Vec::new()),
    };
    // What cannot be completed has no completions: an error would say more than a name may.
    let mut values = found.unwrap_or_default();
    let more = values.len() > MOST;
    values.truncate(MOST);
    let completion = CompletionInfo::with_pagination(values, None, more);
    completion.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
}

async fn sessions(host: &Host, access: &Access, begin: &str) -> Result<Vec<String>> {
    let names = match access.caller() {
        Caller::Member { session, .. } => vec![session.to_string()],
        Caller::Owner => {
            let none: Option<&SessionId> = None;
            let found = host.engine().storage().sessions(none, LOOKED_THROUGH).await?;
            found.iter().map(|info| info.id.to_string()).collect()
        }
    };
    Ok(beginning(names, begin))
}

async fn agents(host: &Host, access: &Access, begin: &str) -> Result<Vec<String>> {
    let names = match access.caller() {
        Caller::Member { actor, .. } => actor.agent().iter().map(ToString::to_string).collect(),
        Caller::Owner => {
            let project = host.project().await?;
            project.catalog.agents().map(|agent| agent.name.to_string()).collect()
        }
    };
    Ok(beginning(names, begin))
}

async fn pages(
    host: &Host,
    access: &Access,
    session: Option<String>,
    agent: Option<String>,
    begin: &str,
) -> Result<Vec<String>> {
    let session = access.session(host, &Asked { session, agent }).await?;
    let query = ListQuery { limit: LOOKED_THROUGH, ..ListQuery::default() };
    let pages = session.list_pages(&query).await?;
    Ok(beginning(pages.items.iter().map(|view| view.page.index.to_string()).collect(), begin))
}

fn beginning(names: Vec<String>, begin: &str) -> Vec<String> {
    names.into_iter().filter(|name| name.starts_with(begin)).collect()
}
