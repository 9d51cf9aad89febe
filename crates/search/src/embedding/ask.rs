//! What a search asks the embedder for: a direction for what was asked, and for texts in view that have none yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use contexture_core::{PageIndex, Session};

use super::{EmbedderError, Piece, Similarity, Vector, Vectors, patience::Alarm};
use crate::{
    document::DocKey,
    error::SearchError,
    index::{SearchIndex, page_pieces},
    search::{Scope, said},
};

/// How much of a query is compared: its end, as for words.
const QUERY_BYTES: usize = 2_000;

/// What was asked, as far as its meaning goes.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The direction of what was asked; none where words alone are compared.
    pub(crate) vector: Option<Vector>,
    problem: Option<EmbedderError>,
}

impl Asked {
    fn similarity(&self, missing: usize, problem: Option<EmbedderError>) -> Similarity {
        let problem = problem.or_else(|| self.problem.clone()).map(|problem| problem.to_string());
        Similarity { compared: self.vector.is_some(), missing, problem }
    }
}

impl SearchIndex {
    /// Asks for the direction of a query; none where there is no embedder.
    pub(crate) async fn ask(&self, text: &str) -> Option<Asked> {
        let vectors = &self.inner.vectors;
        vectors.embedder()?;
        let start = text.ceil_char_boundary(text.len().saturating_sub(QUERY_BYTES));
        let text = text[start..].trim();
        if text.is_empty() {
            return Some(Asked::default());
        }
        let mut alarm = Alarm::after(vectors.limits.patience);
        Some(match embed(vectors, &mut alarm, &[text]).await {
            Ok(mut made) => Asked { vector: made.pop(), problem: None },
            Err(problem) => Asked { vector: None, problem: Some(problem) },
        })
    }

    /// Has vectors made of texts in the scope of a search that have none, the newest first, as far as that takes no longer
    /// than a search may.
    pub(crate) async fn learn(
        &self,
        session: &Session,
        scope: &Scope,
        asked: &Asked,
    ) -> Result<Similarity, SearchError> {
        if asked.vector.is_none() {
            return Ok(asked.similarity(0, None));
        }
        let vectors = &self.inner.vectors;
        let generation = match vectors.refresh() {
            Ok(generation) => generation,
            Err(error) => {
                let problem = Some(format!("vectors cannot be kept: {error}"));
                return Ok(Similarity { compared: false, missing: 0, problem });
            }
        };
        let (missing, wanted) = self.missing(session, scope);
        if missing == 0 {
            return Ok(asked.similarity(0, None));
        }
        if !vectors.has_room() {
            let reason = "the vectors of this store take as much as they may".to_owned();
            return Ok(asked.similarity(missing, Some(EmbedderError::Unavailable { reason })));
        }
        let texts = self.texts_of(session, scope, &wanted).await?;
        let (made, problem) = make(vectors, generation, &texts).await;
        Ok(asked.similarity(missing - made, problem))
    }

    /// Returns how many texts in view have no vector, and the newest of these with the documents they stand in.
    fn missing(&self, session: &Session, scope: &Scope) -> (usize, VecDeque<(DocKey, Piece)>) {
        let vectors = &self.inner.vectors;
        let (mut seen, mut wanted) = (BTreeSet::new(), VecDeque::new());
        // Where the index was begun again meanwhile nothing is missing: the search looks again.
        self.with_documents(session, scope, &Default::default(), None, |documents| {
            // Taken after what is known of the session, as when documents are ranked.
            let table = vectors.table();
            documents.each_piece(&mut |key, piece| {
                if table.has(piece.hash()) || !seen.insert(piece.hash()) {
                    return;
                }
                wanted.push_back((key, piece));
                if wanted.len() > vectors.limits.texts {
                    wanted.pop_front();
                }
            });
        });
        (seen.len(), wanted)
    }

    /// Returns texts as the view sees them, by the hashes of which they are known.
    async fn texts_of(
        &self,
        session: &Session,
        scope: &Scope,
        wanted: &VecDeque<(DocKey, Piece)>,
    ) -> Result<Vec<(u64, String)>, SearchError> {
        let pages: BTreeSet<PageIndex> =
            wanted.iter().filter_map(|(key, _)| scope.index(*key)).collect();
        let pages: Vec<PageIndex> = pages.into_iter().collect();
        let admitted = session.reader().admit(&pages).await?;
        let contents = self.contents_of(session, admitted.iter().flatten()).await?;
        let mut known: BTreeMap<Piece, String> = BTreeMap::new();
        for admitted in admitted.iter().flatten() {
            known.extend(page_pieces(&admitted.page, &said(admitted, &contents)));
        }
        let newest = wanted.iter().rev();
        let texts = newest.filter_map(|(_, piece)| Some((piece.hash(), known.remove(piece)?)));
        Ok(texts.collect())
    }
}

/// Has vectors made of texts; returns how many were made, and what went wrong.
async fn make(
    vectors: &Vectors,
    generation: u64,
    texts: &[(u64, String)],
) -> (usize, Option<EmbedderError>) {
    let mut made = 0;
    let mut alarm = Alarm::after(vectors.limits.patience);
    for batch in texts.chunks(vectors.limits.batch.max(1)) {
        let asked: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let added = match embed(vectors, &mut alarm, &asked).await {
            Ok(found) => {
                let hashes = batch.iter().map(|(hash, _)| *hash);
                vectors.add(generation, &hashes.zip(found).collect::<Vec<_>>())
            }
            // The others are made by later searches.
            Err(_) if made > 0 && alarm.has_rung() => break,
            Err(error) => Err(error),
        };
        match added {
            Ok(()) => made += batch.len(),
            Err(problem) => return (made, Some(problem)),
        }
    }
    (made, None)
}

/// Asks for the directions of texts, unless the embedder failed a short time ago.
async fn embed(
    vectors: &Vectors,
    alarm: &mut Alarm,
    texts: &[&str],
) -> Result<Vec<Vector>, EmbedderError> {
    if let Some(error) = vectors.resting() {
        return Err(error);
    }
    let Some(embedder) = vectors.embedder() else { return Ok(Vec::new()) };
    let answered = match alarm.wait(embedder.embed(texts)).await {
        Some(answered) => answered.and_then(|answer| directions(texts.len(), &answer)),
        None => Err(EmbedderError::Unavailable {
            reason: format!("no answer within {:?}", vectors.limits.patience),
        }),
    };
    if let Err(error) = &answered {
        tracing::debug!(model = embedder.name(), %error, "no vectors");
        vectors.rest(error);
    }
    answered
}

/// Checks an answer and takes the directions out of it.
fn directions(wanted: usize, answer: &[Vec<f32>]) -> Result<Vec<Vector>, EmbedderError> {
    if answer.len() != wanted {
        return Err(EmbedderError::Count { wanted, got: answer.len() });
    }
    let direction = |(at, numbers): (usize, &Vec<f32>)| {
        let dimensions = numbers.len();
        Vector::of(numbers).ok_or(EmbedderError::NoDirection { at, dimensions })
    };
    answer.iter().enumerate().map(direction).collect()
}
