//! Who calls, and which session and agent a call is about.

use std::str::FromStr;

use contexture_agents::tools::context::HostTools;
use contexture_core::{Actor, AgentName, ErrorKind, Format, Session, SessionId};
use serde_json::{Map, Value};

use crate::{Caller, Host, Result, ServerError, TokenId, options::window_options};

/// The most characters of an error that an answer repeats: a caller's names may be of any length.
const MOST_OF_AN_ERROR: usize = 500;

/// Who calls over MCP, and what applies where a call names no session or agent.
#[derive(Debug, Clone)]
pub struct Access {
    caller: Caller,
    session: SessionId,
    agent: Option<AgentName>,
    /// Whether the caller holds a token that may be revoked meanwhile.
    by_token: bool,
}

/// What a call is about.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
}

impl Access {
    /// Gives the rights of the store's owner. A call may name any session, and act as any agent there.
    pub fn owner(session: SessionId) -> Self {
        Self { caller: Caller::Owner, session, agent: None, by_token: false }
    }

    /// Confines everything to one agent or user of one session.
    pub fn confined(session: SessionId, actor: Actor) -> Self {
        let token = TokenId::local();
        let caller = Caller::Member { session: session.clone(), token, actor };
        Self { caller, session, agent: None, by_token: false }
    }

    /// Gives what a token gives. The agent is whom the owner acts as where a call names none.
    pub(super) fn by_token(caller: Caller, session: SessionId, agent: Option<AgentName>) -> Self {
        let session = match &caller {
            Caller::Member { session: own, .. } => own.clone(),
            Caller::Owner => session,
        };
        Self { caller, session, agent, by_token: true }
    }

    /// Refuses the holder of a token who asks to act as somebody else.
    pub(super) fn admits(&self, agent: Option<&AgentName>) -> Result<()> {
        match (&self.caller, agent) {
            (Caller::Member { actor, .. }, Some(agent)) if actor.agent() != Some(agent) => {
                Err(ServerError::denied(
                    "permission denied: this connection acts as one agent or user only",
                    format!("leave the agent out; it is '{actor}'"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Returns whose rights apply.
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the session where none is named.
    pub(super) fn default_session(&self) -> &SessionId {
        &self.session
    }

    /// Opens the session that a call is about. What the caller may not name is refused alike, whether it
    /// exists or not.
    pub(super) async fn session(&self, host: &Host, asked: &Asked) -> Result<Session> {
        if self.by_token {
            // A connection may outlive its token.
            host.confirm(&self.caller).await?;
        }
        let session = named(asked.session.as_deref())?.unwrap_or_else(|| self.session.clone());
        let agent: Option<AgentName> = named(asked.agent.as_deref())?;
        self.admits(agent.as_ref())?;
        let actor = match &self.caller {
            Caller::Member { session: own, .. } if *own != session => {
                return Err(ServerError::denied(
                    "permission denied: this connection is for one session",
                    format!("leave the session out, or name '{own}'"),
                ));
            }
            Caller::Member { .. } => None,
            Caller::Owner => agent.or_else(|| self.agent.clone()).map(Actor::Agent),
        };
        host.session(&self.caller, &session, actor.as_ref()).await
    }
}

fn named<T: FromStr>(text: Option<&str>) -> Result<Option<T>>
where
    ServerError: From<T::Err>,
{
    Ok(text.filter(|text| !text.is_empty()).map(str::parse).transpose()?)
}

impl Asked {
    /// Takes what a call is about out of its arguments.
    pub(super) fn take(arguments: &mut Map<String, Value>) -> Result<Self> {
        let mut text = |name: &str| match arguments.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ServerError::invalid(
                format!("'{name}' must be a string"),
                "leave it out to take the default of this connection",
            )),
        };
        Ok(Self { session: text("session")?, agent: text("agent")? })
    }
}

/// Puts the tools into the hands of whoever a call is by.
pub(super) async fn tools(host: &Host, access: &Access, asked: &Asked) -> Result<HostTools> {
    let session = access.session(host, asked).await?;
    let options = window_options(host, &session, Format::Markdown, None).await?;
    Ok(HostTools::mcp(session, options, host.lazy_index()))
}

/// Says why a session cannot be used, with what to do next in terms that a client of MCP has.
pub(super) fn refusal(error: &ServerError) -> String {
    let hint = match error.class() {
        ErrorKind::NotFound => "`contexture init` or `contexture session create` makes a session",
        ErrorKind::PermissionDenied if error.kind() == "unauthenticated" => {
            "connect again with a token that is valid"
        }
        _ => error.hint(),
    };
    let error: String = error.to_string().chars().take(MOST_OF_AN_ERROR).collect();
    format!("{error}; {hint}")
}
