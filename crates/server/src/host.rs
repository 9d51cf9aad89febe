//! What every request shares: the engine, the search index, the project, the owner's token, counters.

mod counters;
mod project;
mod rates;

use std::{fmt, sync::Arc, time::Instant};

use contexture_agents::Team;
use contexture_core::{
    Actor, ContextSystem, Engine, Error, Principal, Session, SessionId,
    storage::{StorageError, Trace},
};
use contexture_search::{LazyIndex, SearchIndex};
use tokio::sync::watch;

pub(crate) use counters::Counters;
pub use project::{Project, ProjectSource};
pub use rates::Rate;

use crate::{
    AgentRuns, Caller, Commands, OwnerToken, Result, ServerError, TokenText, Tokens, access,
    agents::Driven,
};
use project::Projects;
use rates::Rates;

/// What a host is made of.
pub struct HostParts {
    /// The sessions.
    pub engine: Engine,
    /// The search index of their store.
    pub index: LazyIndex,
    /// Where agents and settings come from.
    pub project: ProjectSource,
    /// The token that stands for the system side.
    pub owner: OwnerToken,
    /// How fast one token may be used.
    pub rate: Rate,
    /// What runs agents.
    pub runs: Arc<dyn AgentRuns>,
    /// What runs commands for the command line, if it may send any.
    pub commands: Option<Arc<dyn Commands>>,
}

/// What every request shares. Nothing of a session is in it that another process does not see.
pub struct Host {
    engine: Engine,
    index: LazyIndex,
    projects: Projects,
    owner: blake3::Hash,
    rates: Rates,
    runs: Arc<dyn AgentRuns>,
    commands: Option<Arc<dyn Commands>>,
    driven: Driven,
    counters: Counters,
    /// Set when the process is about to end.
    stopping: watch::Sender<bool>,
}

impl Host {
    /// Puts a host together.
    pub fn new(parts: HostParts) -> Self {
        let HostParts { engine, index, project, owner, rate, runs, commands } = parts;
        Self {
            engine,
            index,
            projects: Projects::new(project),
            owner: owner.text().hash(),
            rates: Rates::new(rate),
            runs,
            commands,
            driven: Driven::default(),
            counters: Counters::default(),
            stopping: watch::Sender::new(false),
        }
    }

    /// Returns whose token it is. Where a session is named, its own tokens are valid besides the owner's.
    ///
    /// A token that is missing or not valid gives the same error whether the session exists or not.
    pub async fn authenticate(
        &self,
        token: Option<&str>,
        session: Option<&SessionId>,
    ) -> Result<Caller> {
        let token = token.ok_or_else(ServerError::no_token)?;
        let token: TokenText = token.parse().map_err(|_| ServerError::wrong_token())?;
        // Comparing hashes of this type takes the same time wherever they differ.
        if token.id().as_str() == "owner" {
            let is_owner = token.hash() == self.owner;
            return is_owner.then_some(Caller::Owner).ok_or_else(ServerError::wrong_token);
        }
        let session = session.ok_or_else(ServerError::wrong_token)?;
        let (storage, now) = (self.engine.storage(), self.engine.clock().now());
        let caller = access::holder(&**storage, session, &token, now).await?;
        caller.ok_or_else(ServerError::wrong_token)
    }

    /// Proves that this server knows the owner's token.
    pub(crate) fn prove(&self, challenge: &str) -> String {
        access::prove(&self.owner, challenge).to_hex().to_string()
    }

    /// Refuses a caller whose token was revoked or has expired since it was read.
    pub async fn confirm(&self, caller: &Caller) -> Result<()> {
        let Caller::Member { session, token, actor } = caller else { return Ok(()) };
        let (storage, now) = (self.engine.storage(), self.engine.clock().now());
        let still = access::still_held_by(&**storage, session, token, now).await?;
        (still.as_ref() == Some(actor)).then_some(()).ok_or_else(ServerError::wrong_token)
    }

    /// Counts a request of a caller, and refuses it if there were too many lately.
    pub fn admit(&self, caller: &Caller) -> Result<()> {
        match self.rates.admit(caller, Instant::now()) {
            true => Ok(()),
            false => Err(ServerError::too_many()),
        }
    }

    /// Opens a session for a caller: the one place that turns a token into a principal.
    ///
    /// The owner acts as the system side, or as whom the request asks for. The holder of any other token acts
    /// as nobody but themselves, in the session that the token is for.
    pub async fn session(
        &self,
        caller: &Caller,
        session: &SessionId,
        asked: Option<&Actor>,
    ) -> Result<Session> {
        let actor = match caller {
            Caller::Owner => asked.cloned().unwrap_or(Actor::System),
            Caller::Member { session: own, actor, .. } => {
                if own != session {
                    return Err(ServerError::wrong_token());
                }
                if asked.is_some_and(|asked| asked != actor) {
                    return Err(ServerError::denied(
                        "permission denied: this token acts as its own holder only",
                        format!("leave out whom to act as, or name '{actor}'"),
                    ));
                }
                actor.clone()
            }
        };
        let system = self.open(session).await?;
        Ok(match actor {
            Actor::System => system.held_by(Principal::System),
            Actor::User(name) => system.held_by(Principal::User(name)),
            Actor::Agent(name) => {
                let project = self.projects.current().await?;
                let team = Team::new(system);
                team.context_of(&name, &project.catalog, &project.settings).await?.into()
            }
        })
    }

    /// Returns the whole of a session, for operations that belong to the system side: with what only a host
    /// does. Agents are refused.
    pub async fn system(&self, session: &Session, what: &str) -> Result<ContextSystem> {
        match session.principal() {
            Principal::System | Principal::User(_) => self.open(session.id()).await,
            Principal::Agent(_) => Err(Error::SystemSideOnly { what: format!("'{what}'") }.into()),
        }
    }

    /// Returns the tokens of a session, which only the owner makes, sees and revokes.
    pub async fn tokens(&self, caller: &Caller, session: &SessionId) -> Result<Tokens> {
        self.only_owner(caller, "tokens")?;
        Ok(Tokens::of(self.open(session).await?))
    }

    /// Notes in a session that an agent has a file, if it has one here: a token of it is refused where the file is
    /// not found.
    pub(crate) async fn note_file(&self, session: &SessionId, holder: &Actor) -> Result<()> {
        let Some(agent) = holder.agent() else { return Ok(()) };
        if self.projects.current().await?.catalog.definition(agent)?.is_some() {
            Team::new(self.open(session).await?).note_file(agent).await?;
        }
        Ok(())
    }

    /// Refuses every caller but the owner.
    pub fn only_owner(&self, caller: &Caller, what: &str) -> Result<()> {
        match caller {
            Caller::Owner => Ok(()),
            Caller::Member { .. } => Err(ServerError::denied(
                format!("permission denied: {what} is for the owner of the store"),
                "use the owner's token, which lies in a file beside the store",
            )),
        }
    }

    /// Opens a session as it stands now, with what other processes have committed.
    async fn open(&self, session: &SessionId) -> Result<ContextSystem> {
        let system = self.engine.open(session).await?;
        match system.refresh().await {
            Ok(_) => Ok(system),
            // Another process removed it, and may have made another of its name.
            Err(StorageError::SessionMissing { .. }) => {
                self.engine.close(session);
                Ok(self.engine.open(session).await?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the sessions.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the search index, opened at the first search.
    pub fn index(&self) -> Result<&SearchIndex> {
        Ok(self.index.get()?)
    }

    /// Returns the search index for callers that open it when they search.
    pub fn lazy_index(&self) -> LazyIndex {
        self.index.clone()
    }

    /// Takes what was destroyed out of the search index as well: a session, or pages of one that stays. What fails
    /// there fails nothing that was done; returns where words may still lie.
    pub(crate) async fn forget(&self, left: Option<&SessionId>) -> Vec<Trace> {
        let forgotten = match (self.index.get(), left) {
            (Ok(index), Some(session)) => index.forget(session).await,
            (Ok(index), None) => index.clear().await,
            (Err(error), _) => Err(error),
        };
        let Err(error) = forgotten else { return Vec::new() };
        tracing::warn!("the search index keeps words of what was destroyed: {error}");
        vec![contexture_search::trace("this store")]
    }

    /// Returns the agents and settings of the project as they are now.
    pub async fn project(&self) -> Result<Arc<Project>> {
        self.projects.current().await
    }

    /// Returns what runs agents.
    pub(crate) fn runs(&self) -> &dyn AgentRuns {
        &*self.runs
    }

    /// Returns what runs commands for the command line.
    pub(crate) fn commands(&self) -> Option<Arc<dyn Commands>> {
        self.commands.clone()
    }

    /// Returns the runs that this process drives.
    pub(crate) fn driven(&self) -> &Driven {
        &self.driven
    }

    /// Returns what is counted.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Ends what would go on for long, such as event streams and agents' runs: those can be resumed.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
        self.driven.stop_all();
    }

    /// Writes down what is only in memory and would be made again otherwise.
    pub(crate) async fn finish(&self) {
        if let Some(index) = self.index.opened()
            && let Err(error) = index.flush().await
        {
            tracing::warn!(%error, "the search index was not written; the next search makes it again");
        }
    }

    /// Returns what says that the process is about to end.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("engine", &self.engine).finish_non_exhaustive()
    }
}
