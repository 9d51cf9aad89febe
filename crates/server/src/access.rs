//! Who calls: tokens, and what each of them stands for.
//!
//! ```text
//!  owner's token   a file beside the store, mode 600    the system side of every session
//!  user's token    a record in its session              that user, on the system side of that session
//!  agent's token   a record in its session              that agent in that session, through its view
//! ```

mod owner;
mod proof;
mod text;
mod tokens;

use contexture_core::{Actor, SessionId};

pub use owner::OwnerToken;
pub use proof::Challenge;
pub(crate) use proof::prove;
pub use text::{TokenId, TokenText};
pub use tokens::{Lifetime, NewToken, TokenObject, TokenRecord, Tokens};
pub(crate) use tokens::{holder, still_held_by};

/// Names a token of a session.
pub(crate) type SessionToken = (SessionId, TokenId);

/// Whoever sent a request with a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The owner of the store.
    Owner,
    /// The holder of a token for one session.
    Member {
        /// The session, and no other.
        session: SessionId,
        /// The token.
        token: TokenId,
        /// Who the holder is: a user or an agent, never the system side without a name.
        actor: Actor,
    },
}
