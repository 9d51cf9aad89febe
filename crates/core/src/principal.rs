//! Who holds a session.

use std::sync::Arc;

use crate::{Actor, UserName, View, storage::ViewId};

/// Who holds a session, and what that confines it to.
///
/// The system side and a user see everything and are not checked: a user is a person on the system side
/// whose name stands in the history. An agent sees its view, and every operation of it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// The system side: the host itself.
    System,
    /// A person on the system side.
    User(UserName),
    /// An agent, through its view.
    Agent(Arc<View>),
}

impl Principal {
    /// Returns who its edits are recorded as.
    pub fn actor(&self) -> Actor {
        match self {
            Principal::System => Actor::System,
            Principal::User(name) => Actor::User(name.clone()),
            Principal::Agent(view) => Actor::Agent(view.agent.clone()),
        }
    }

    /// Returns the name of the level state that it reads and changes.
    pub fn view_id(&self) -> ViewId {
        match self {
            Principal::System | Principal::User(_) => ViewId::SYSTEM,
            Principal::Agent(view) => view.id(),
        }
    }

    /// Returns the view it is confined to; none on the system side.
    pub fn view(&self) -> Option<&View> {
        match self {
            Principal::System | Principal::User(_) => None,
            Principal::Agent(view) => Some(view),
        }
    }
}

impl From<View> for Principal {
    fn from(view: View) -> Self {
        Principal::Agent(Arc::new(view))
    }
}
