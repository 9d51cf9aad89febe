//! Agents: which there are, whose history each one sees, and the calls that wait for an approval.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use contexture_agents::{
    Team,
    effective_mode::EffectiveMode,
    run::Decision,
    team::{ClearScope, PendingApproval, RunName, StoredRun, WhichCalls},
    wire::{
        AgentContextObject, AgentFileObject, AgentObject, ClearedObject, DecidedObject,
        GraphObject, ListObject, RunObject,
    },
};
use contexture_core::ContextSystem;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Body,
    held::Held,
    list::{Listed, Shape},
    path::Path,
    schema,
};
use crate::{Host, Result, ServerError};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(context, set_mode))
        .routes(routes!(clear))
        .routes(routes!(histories))
        .routes(routes!(approvals, decide))
}

/// Returns the session for operations on its agents, which belong to the system side.
pub(super) async fn system(held: &Held) -> Result<ContextSystem> {
    held.host.system(&held.session, "agents").await
}

/// List the agents of the project and the user
#[utoipa::path(get, path = "/v1/sessions/{session}/agents", tag = "agents",
    responses((status = 200, description = "All of them", body = schema::List<schema::AnyObject>)))]
async fn list(held: Held, shape: Shape) -> Result<Listed<AgentObject>> {
    let team = Team::new(system(&held).await?);
    let project = held.host.project().await?;
    let mut items = Vec::new();
    for agent in project.catalog.agents() {
        // The settings may refuse the mode that the session asks for.
        let effective = EffectiveMode::of(agent, &project.settings, Some(&team)).await.ok();
        let (settings, folder) = (&project.settings, &project.folder);
        items.push(AgentObject::of(agent, effective.as_ref(), settings, folder));
    }
    Ok(Listed::new(shape, ListObject { items, next: None }))
}

/// Everything that an agent's file says, and what comes of it
#[utoipa::path(get, path = "/v1/sessions/{session}/agents/{agent}", tag = "agents",
    responses((status = 200, description = "The agent", body = schema::AnyObject)))]
async fn show(held: Held, Path((_, agent)): Path<(String, String)>) -> Result<Response> {
    let team = Team::new(system(&held).await?);
    let project = held.host.project().await?;
    let agent = project.catalog.find(&agent)?;
    let effective = EffectiveMode::of(agent, &project.settings, Some(&team)).await.ok();
    let object = AgentFileObject::of(agent, effective.as_ref(), &project.settings);
    Ok(Json(object).into_response())
}

/// Which mode an agent runs in and why, and its runs
#[utoipa::path(get, path = "/v1/sessions/{session}/agents/{agent}/context", tag = "agents",
    responses((status = 200, description = "Its mode and its runs", body = schema::AnyObject)))]
async fn context(
    held: Held,
    Path((_, agent)): Path<(String, String)>,
) -> Result<Json<AgentContextObject>> {
    Ok(Json(context_of(&held, &agent).await?))
}

async fn context_of(held: &Held, agent: &str) -> Result<AgentContextObject> {
    let team = Team::new(system(held).await?);
    let project = held.host.project().await?;
    let agent = project.catalog.find(agent)?;
    let effective = EffectiveMode::of(agent, &project.settings, Some(&team)).await?;
    let last_run = team.state(&agent.name).await?.0.last;
    let now = held.session.now();
    let runs = team.runs(Some(&agent.name)).await?;
    let run = |run: &StoredRun| RunObject::of(run, held.host.runs().is_alive(run, now));
    let effective = effective.object(agent, &project.folder);
    Ok(AgentContextObject { effective, last_run, runs: runs.iter().map(run).collect() })
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ModeWanted {
    /// isolated, shared or fork; null takes the session's say back
    #[schema(required)]
    mode: Option<String>,
}

/// Set the session's say on an agent's mode, or take it back
#[utoipa::path(put, path = "/v1/sessions/{session}/agents/{agent}/context", tag = "agents",
    request_body = ModeWanted,
    responses((status = 200, description = "Its mode and its runs", body = schema::AnyObject)))]
async fn set_mode(
    held: Held,
    Path((_, agent)): Path<(String, String)>,
    Body(wanted): Body<ModeWanted>,
) -> Result<Json<AgentContextObject>> {
    let team = Team::new(system(&held).await?);
    let project = held.host.project().await?;
    let name = project.catalog.find(&agent)?.name.clone();
    let mode = wanted.mode.as_deref().map(mode).transpose()?;
    team.set_session_mode(&name, mode).await?;
    Ok(Json(context_of(&held, &agent).await?))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct ClearWanted {
    /// isolated, published or all; isolated by default
    scope: Option<String>,
}

/// Clear an agent's history: its pages move to the archive, and undo brings them back
///
/// Turns that it took in the main session itself stay, and so does what the session says about its mode. Refused
/// while the agent is running.
#[utoipa::path(post, path = "/v1/sessions/{session}/agents/{agent}/clear", tag = "agents",
    request_body = ClearWanted,
    responses((status = 200, description = "What was cleared and what stays", body = schema::AnyObject)))]
async fn clear(
    held: Held,
    Path((_, agent)): Path<(String, String)>,
    Body(wanted): Body<ClearWanted>,
) -> Result<Response> {
    let scope: ClearScope =
        wanted.scope.as_deref().unwrap_or("isolated").parse().map_err(|reason: String| {
            ServerError::invalid(reason, "use isolated, published or all")
        })?;
    let team = Team::new(system(&held).await?);
    let project = held.host.project().await?;
    let name = match project.catalog.find(&agent) {
        Ok(agent) => agent.name.clone(),
        // Its file may be gone; the session remembers it.
        Err(error) => {
            let members = team.members();
            members.into_iter().find(|it| it.as_str() == agent).ok_or(error)?
        }
    };
    let now = held.session.now();
    let is_alive = |run: &StoredRun| held.host.runs().is_alive(run, now);
    let cleared = team.clear(&name, scope, is_alive).await?;
    let session = team.session_mode(&name).await.ok().flatten();
    Ok(Json(ClearedObject::of(&name, scope, &cleared, session)).into_response())
}

/// Which histories there are, and which agents read and write each of them
#[utoipa::path(get, path = "/v1/sessions/{session}/histories", tag = "agents",
    responses((status = 200, description = "All of them", body = schema::AnyObject)))]
async fn histories(held: Held) -> Result<Response> {
    let team = Team::new(system(&held).await?);
    let project = held.host.project().await?;
    let mut agents = Vec::new();
    for agent in project.catalog.agents() {
        // The settings may refuse the mode that the session asks for.
        let effective = EffectiveMode::of(agent, &project.settings, Some(&team)).await.ok();
        agents.extend(effective.map(|effective| (agent, effective)));
    }
    Ok(Json(GraphObject::of(&agents, Some(&team)).await?).into_response())
}

/// Reads a mode.
pub(super) fn mode(text: &str) -> Result<contexture_agents::ContextMode> {
    text.parse()
        .map_err(|reason: String| ServerError::invalid(reason, "use isolated, shared or fork"))
}

/// List the calls that wait until somebody approves or denies them
#[utoipa::path(get, path = "/v1/sessions/{session}/approvals", tag = "agents",
    responses((status = 200, description = "All of them", body = schema::List<schema::Approval>)))]
async fn approvals(held: Held, shape: Shape) -> Result<Listed<PendingApproval>> {
    let team = Team::new(system(&held).await?);
    let items = team.approvals(None, &held.host.runs().tools()?).await?;
    Ok(Listed::new(shape, ListObject { items, next: None }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DecisionMade {
    /// The run: the agent and the number of its run, such as fixer/3
    run: String,
    /// The call's id; left out, every call of the run that waits
    call: Option<String>,
    /// Whether the calls may be made
    approve: bool,
    /// Why not, for the model
    reason: Option<String>,
}

/// Approve or deny calls that wait; the run acts on it when it is resumed
#[utoipa::path(post, path = "/v1/sessions/{session}/approvals", tag = "agents",
    request_body = DecisionMade,
    responses((status = 200, description = "What was decided, and what still waits", body = schema::Decided)))]
async fn decide(held: Held, Body(made): Body<DecisionMade>) -> Result<Response> {
    let team = Team::new(system(&held).await?);
    let run: RunName = made.run.parse()?;
    let reason = made.reason.filter(|reason| !reason.trim().is_empty());
    let decision = match (made.approve, reason) {
        (true, None) => Decision::Approved,
        (true, Some(_)) => {
            return Err(ServerError::invalid("an approval takes no reason", "leave it out"));
        }
        (false, reason) => Decision::Denied { reason },
    };
    let pending = team.approvals(Some(&run.agent), &held.host.runs().tools()?).await?;
    let which = made.call.as_deref().map_or(WhichCalls::All, WhichCalls::One);
    let (now, by) = (held.session.now(), held.session.principal().actor());
    let is_alive = |run: &StoredRun| held.host.runs().is_alive(run, now);
    let calls = team.answer_approval(&run, which, &decision, &by, is_alive).await?;
    let waits = |it: &PendingApproval| it.run == run && !calls.contains(&it.call);
    let waiting = pending.into_iter().filter(waits).collect();
    let (reason, by) = (decision.reason(), by.to_string());
    let decision = decision.as_str();
    let decided = DecidedObject { run: &run, calls: &calls, decision, reason, by, waiting };
    Ok(Json(decided).into_response())
}
