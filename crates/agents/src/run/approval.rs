//! Calls that somebody has to allow before they are made, and what was decided.

use contexture_core::{Actor, Timestamp, message::ToolCall};
use serde::{Deserialize, Serialize};

/// An approval that is asked for and that nobody has answered yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedApproval {
    /// Since when it waits.
    pub since: Timestamp,
    /// The MCP server that the tool comes from and what it is called there. The server need not run
    /// when the question is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<(String, String)>,
}

/// What somebody decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What was decided.
    pub decision: Decision,
    /// Who decided.
    #[serde(with = "actor_text")]
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// It is made when the run goes on.
    Approved,
    /// It is not made; the model reads why.
    Denied {
        /// The words of the person who decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A call that waits for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingCall<'a> {
    /// Its place among the calls of its answer.
    pub(crate) place: usize,
    /// The call, with the arguments it will be made with.
    pub call: &'a ToolCall,
    /// What is asked for.
    pub asked: &'a AskedApproval,
}

impl Decision {
    /// Returns it as a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Decision::Approved => "approved",
            Decision::Denied { .. } => "denied",
        }
    }

    /// Returns the reason that was given with it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Decision::Approved => None,
            Decision::Denied { reason } => reason.as_deref(),
        }
    }
}

impl Approval {
    /// Returns what the model reads as the result of a call that was denied; none for an approved one.
    pub fn refusal(&self) -> Option<String> {
        let Decision::Denied { reason } = &self.decision else { return None };
        let who = match &self.by {
            Actor::User(name) => name.to_string(),
            Actor::System | Actor::Agent(_) => "the user".to_owned(),
        };
        let refusal = format!("permission denied: {who} did not allow this call");
        Some(match reason {
            Some(reason) => format!("{refusal}: {reason}"),
            None => refusal,
        })
    }
}

/// Actors as their text, such as `user:anna`.
mod actor_text {
    use contexture_core::Actor;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(actor: &Actor, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(actor)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Actor, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}
