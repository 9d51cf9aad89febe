//! Vectors of what is said and asked, from an endpoint.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context, Result, ensure};
use contexture_agents::provider::{ProviderSettings, connect_embeddings, resolve};
use contexture_search::Vector;
use tokio::runtime::Runtime;

/// How many texts go out at once.
const BATCH: usize = 64;

/// Vectors of texts.
pub(super) type Vectors = HashMap<String, Vector>;

/// Asks an endpoint for the vectors of texts, each once.
pub(super) fn vectors<'a>(
    runtime: &Runtime,
    url: &str,
    model: &str,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vectors> {
    let settings = ProviderSettings { base_url: Some(url.to_owned()), ..Default::default() };
    let providers = [("measure".to_owned(), settings)].into();
    let variable = |name: &str| std::env::var(name).ok();
    let endpoint = resolve(&format!("measure/{model}"), &variable, &providers)?;
    let embedder = connect_embeddings(endpoint);
    let texts: BTreeSet<&str> = texts.filter(|text| !text.trim().is_empty()).collect();
    let texts: Vec<&str> = texts.into_iter().collect();
    let mut vectors = Vectors::new();
    for batch in texts.chunks(BATCH) {
        let answered = runtime.block_on(embedder.embed(batch))?;
        ensure!(answered.len() == batch.len(), "the endpoint left out texts");
        for (text, numbers) in batch.iter().zip(&answered) {
            let vector = Vector::of(numbers).context("a vector has no direction")?;
            vectors.insert((*text).to_owned(), vector);
        }
    }
    Ok(vectors)
}
