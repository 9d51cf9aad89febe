//! A model that makes vectors of English texts, on loopback.

use super::script::Script;

/// MiniLM behind `/v1/embeddings`. It goes when dropped.
pub struct EmbeddingServer {
    _script: Script,
    url: String,
}

impl EmbeddingServer {
    /// Starts it.
    pub fn start() -> Self {
        let mut script = Script::start("embedding-server", &[]);
        let url = script.line();
        Self { _script: script, url }
    }

    /// Returns its address, `http://127.0.0.1:PORT/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }
}
