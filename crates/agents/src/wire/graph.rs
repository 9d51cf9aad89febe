//! Who shares what: histories and the agents that read and write them (M-40).

use contexture_core::{Result, SegmentId};
use serde::Serialize;

use crate::{
    AgentDefinition, ContextMode, Team,
    definition::{ContextFilter, PublishResult},
    effective_mode::EffectiveMode,
    team::Link,
};

/// All histories of a session.
#[derive(Debug, Serialize)]
pub struct GraphObject {
    /// The main session, then groups, then agents' own.
    pub histories: Vec<SharedHistoryObject>,
}

/// A segment and the agents that have to do with it.
#[derive(Debug, Serialize)]
pub struct SharedHistoryObject {
    /// Whose it is.
    pub kind: HistoryKind,
    /// What people call it.
    pub label: String,
    /// Its segment.
    pub segment: SegmentId,
    /// Pages right under its root; none when the segment is not there yet.
    pub pages: Option<u64>,
    /// The agents.
    pub agents: Vec<HistoryMemberObject>,
}

/// Whose a history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryKind {
    /// The main session's.
    Main,
    /// A group's.
    Group,
    /// An agent's own.
    Own,
    /// That of an agent's forks, each behind what its parent showed.
    Fork,
}

/// An agent that has to do with a history.
#[derive(Debug, Serialize)]
pub struct HistoryMemberObject {
    /// Its name.
    pub name: String,
    /// The mode it runs in.
    pub mode: ContextMode,
    /// What it does with the history.
    pub relation: HistoryRelation,
    /// What it sees of it, where that is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<ContextFilter>,
}

/// What an agent does with a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryRelation {
    /// It reads it, and its turns are written there.
    Shares,
    /// Only its requests and answers are recorded there.
    Publishes,
    /// Its runs begin as what is seen there.
    Forks,
}

impl GraphObject {
    /// Sorts agents by the histories they have to do with. Without a session no history has begun.
    pub async fn of(
        agents: &[(&AgentDefinition, EffectiveMode)],
        team: Option<&Team>,
    ) -> Result<Self> {
        let main = "Main Session".to_owned();
        let mut histories = vec![history(HistoryKind::Main, "usr".parse()?, main)];
        for (agent, effective) in agents {
            let mode = effective.mode();
            let (kind, label) = match &effective.link {
                Link::Main(_) => (HistoryKind::Main, String::new()),
                Link::Group(_) => {
                    let group = agent.context_group.as_deref().unwrap_or("");
                    (HistoryKind::Group, format!("Group {group}"))
                }
                Link::Own(_) => (HistoryKind::Own, format!("{} alone", agent.name)),
                Link::Fork { .. } => (HistoryKind::Fork, format!("Forks of {}", agent.name)),
            };
            let segment = effective.link.segment().clone();
            let at = match histories.iter().position(|there| there.segment == segment) {
                Some(at) => at,
                None => {
                    histories.push(history(kind, segment, label));
                    histories.len() - 1
                }
            };
            histories[at].agents.push(member(agent, mode, HistoryRelation::Shares));
            if mode != ContextMode::Shared && agent.publish_result == PublishResult::Exchange {
                histories[0].agents.push(member(agent, mode, HistoryRelation::Publishes));
            }
        }
        for (agent, effective) in agents {
            let Link::Fork { parent, .. } = &effective.link else { continue };
            let named = |(other, _): &&(&AgentDefinition, _)| Some(&other.name) == parent.as_ref();
            let segment = agents.iter().find(named).map(|(_, parent)| parent.link.segment());
            let at = histories.iter().position(|there| Some(&there.segment) == segment);
            let forked = &mut histories[at.unwrap_or_default()];
            forked.agents.push(member(agent, effective.mode(), HistoryRelation::Forks));
        }
        histories.sort_by(|one, other| (one.kind, &one.segment).cmp(&(other.kind, &other.segment)));
        if let Some(team) = team {
            let session = team.system().as_system();
            let reader = session.reader();
            for history in &mut histories {
                if reader.segment(&history.segment).is_ok() {
                    history.pages = Some(reader.child_count(&history.segment.root()).await?);
                }
            }
        }
        Ok(Self { histories })
    }
}

fn history(kind: HistoryKind, segment: SegmentId, label: String) -> SharedHistoryObject {
    SharedHistoryObject { kind, label, segment, pages: None, agents: Vec::new() }
}

fn member(
    agent: &AgentDefinition,
    mode: ContextMode,
    relation: HistoryRelation,
) -> HistoryMemberObject {
    let filtered = mode == ContextMode::Shared && agent.context_filter != ContextFilter::default();
    let filter = filtered.then(|| agent.context_filter.clone());
    HistoryMemberObject { name: agent.name.to_string(), mode, relation, filter }
}
