//! What handlers take instead of a token: a session in the hands of its caller.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{FromRequestParts, Path},
    http::{HeaderMap, header, request::Parts},
};
use contexture_core::{Actor, Error, Session, SessionId};

use crate::{Caller, Host, Result, ServerError};

/// The header that says as whom the owner acts.
const ACT_AS: &str = "contexture-as";

/// The session of the path, held by whoever the request's token stands for.
pub(crate) struct Held {
    pub(crate) host: Arc<Host>,
    pub(crate) caller: Caller,
    /// As whom the owner acts.
    pub(crate) asked: Asked,
    pub(crate) session: Session,
}

/// The session of the path, held by somebody on the system side: agents are refused before a body is read.
pub(crate) struct SystemSide(pub(crate) Held);

/// As whom a request is to be made, if it says so.
pub(crate) type Asked = Option<Actor>;

/// A request with the owner's token.
pub(crate) struct Owned {
    pub(crate) host: Arc<Host>,
}

/// A request about the session of the path with the owner's token; the session need not exist.
pub(crate) struct OwnedSession {
    pub(crate) host: Arc<Host>,
    pub(crate) caller: Caller,
    pub(crate) id: SessionId,
    /// As whom the owner acts.
    pub(crate) asked: Asked,
}

impl FromRequestParts<Arc<Host>> for Held {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self> {
        let (caller, session) = authenticated(parts, host).await?;
        let asked = asked(parts)?;
        let session = host.session(&caller, &session, asked.as_ref()).await?;
        Ok(Self { host: host.clone(), caller, asked, session })
    }
}

impl FromRequestParts<Arc<Host>> for SystemSide {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self> {
        let held = Held::from_request_parts(parts, host).await?;
        held.only_system_side("import")?;
        Ok(Self(held))
    }
}

impl Held {
    /// Refuses agents.
    pub(crate) fn only_system_side(&self, what: &str) -> Result<()> {
        match self.session.principal().view() {
            None => Ok(()),
            Some(_) => Err(Error::SystemSideOnly { what: format!("'{what}'") }.into()),
        }
    }
}

impl FromRequestParts<Arc<Host>> for Owned {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self> {
        let caller = host.authenticate(bearer(&parts.headers), None).await?;
        host.admit(&caller)?;
        host.only_owner(&caller, "this")?;
        Ok(Self { host: host.clone() })
    }
}

impl FromRequestParts<Arc<Host>> for OwnedSession {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self> {
        let (caller, id) = authenticated(parts, host).await?;
        host.only_owner(&caller, "this")?;
        let asked = asked(parts)?;
        Ok(Self { host: host.clone(), caller, id, asked })
    }
}

/// Returns who calls, and the session of the path. Without a valid token, nothing is said about the name.
async fn authenticated(parts: &mut Parts, host: &Arc<Host>) -> Result<(Caller, SessionId)> {
    let path = Path::<HashMap<String, String>>::from_request_parts(parts, host).await;
    let path = path.map(|Path(path)| path).unwrap_or_default();
    let named = path.get("session").map(String::as_str).unwrap_or_default();
    let session = named.parse::<SessionId>();
    let caller = host.authenticate(bearer(&parts.headers), session.as_ref().ok()).await?;
    host.admit(&caller)?;
    Ok((caller, session?))
}

/// Returns the token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns as whom the request is to be made: by its header, or by `as` in its query.
fn asked(parts: &Parts) -> Result<Option<Actor>> {
    let twice = || {
        ServerError::invalid(
            "the request says more than once as whom to act",
            "send one header 'Contexture-As', or one 'as' in the query",
        )
    };
    let query = parts.uri.query().unwrap_or_default();
    let mut named =
        super::query::pairs(query).filter(|(name, _)| name == "as").map(|(_, value)| value);
    let (by_query, None) = (named.next(), named.next()) else { return Err(twice()) };
    let mut headers = parts.headers.get_all(ACT_AS).iter();
    let (by_header, None) = (headers.next(), headers.next()) else { return Err(twice()) };
    let by_header = match by_header {
        Some(value) => Some(value.to_str().map(str::to_owned).map_err(|_| {
            ServerError::invalid(
                "the header 'Contexture-As' is not plain text",
                "name an agent, or user:NAME",
            )
        })?),
        None => None,
    };
    let name = match (by_query, by_header) {
        (Some(one), Some(other)) if one != other => return Err(twice()),
        (one, other) => one.or(other),
    };
    Ok(name.map(|name| name.parse()).transpose()?)
}
