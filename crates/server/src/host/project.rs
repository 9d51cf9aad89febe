//! The agents and settings of the project, read again when they are asked for and a moment has passed.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use contexture_agents::{catalog::Catalog, settings::Settings};
use tokio::sync::Mutex;

use crate::Result;

/// For how long what was read is used without looking again.
const FRESH: Duration = Duration::from_secs(1);

/// Reads the agents and settings of the project.
pub type ProjectSource = Arc<dyn Fn() -> Result<Project> + Send + Sync>;

/// The agents and settings of a project and its user.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// The agents.
    pub catalog: Catalog,
    /// The settings.
    pub settings: Settings,
    /// The project's folder: its files are named by their path in it.
    pub folder: PathBuf,
}

/// The project, as it was read last. Whose history an agent sees is decided by its files, so a server that
/// runs for weeks must not decide by files of last week.
pub(super) struct Projects {
    source: ProjectSource,
    last: Mutex<Option<(Instant, Arc<Project>)>>,
}

impl Projects {
    pub(super) fn new(source: ProjectSource) -> Self {
        Self { source, last: Mutex::new(None) }
    }

    /// Returns the project as its files say now, or said a moment ago.
    pub(super) async fn current(&self) -> Result<Arc<Project>> {
        let mut last = self.last.lock().await;
        if let Some((at, project)) = &*last
            && at.elapsed() < FRESH
        {
            return Ok(project.clone());
        }
        let project = Arc::new((self.source)()?);
        *last = Some((Instant::now(), project.clone()));
        Ok(project)
    }
}
