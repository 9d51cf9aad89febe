//! Finding the pages that match a query best, as far as the session's holder may see them.
//!
//! ```text
//!  catch up ──► scope: segments and what the view sees of them
//!      ──► rank over what is seen ──► admit ──► snippets
//! ```
//!
//! Ranking uses nothing outside the view. The core still admits each page that it returns, because a page may have
//! changed since.

mod branch;
mod hit;
mod phrase;
mod scope;
mod snippet;

use std::{
    collections::{BTreeSet, HashMap},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use async_trait::async_trait;
use contexture_core::{
    Actor, Finder, Message, PageIndex, Role, SegmentId, Session, Timestamp,
    message::{AdmittedMessages, AdmittedPage, MessageFilter},
    storage::ContentHash,
};
use futures::FutureExt;

pub(crate) use branch::Branches;
pub use hit::Hit;
pub use snippet::Snippet;

use crate::{
    document::DocKey,
    embedding::{Meanings, Similarity, Vector},
    error::SearchError,
    index::{Keep, Narrow, SearchIndex, SeenDocuments, entries, terms_of},
    query::Query,
    rank::{Feature, RankOptions, Ranked, rank, rank_among},
};
pub(crate) use scope::Scope;

/// How often a search is repeated because the session was indexed from the beginning meanwhile.
const ATTEMPTS: usize = 4;

/// How many documents are ranked. A page is found by its best one.
const CANDIDATES: usize = 1_000;

/// How many results are admitted at a time, beyond those asked for.
const SPARE: usize = 16;

/// How alike a message must at least be to be found by its meaning alone.
const LEAST_SIMILAR: f32 = 0.25;

/// What to search for, and where.
#[derive(Debug, Clone, Default)]
pub struct FindQuery {
    /// What to look for: words, a question, `"a phrase"`, `pre*`.
    pub text: String,
    /// Only these segments; none: all that are in view.
    pub within: Vec<SegmentId>,
    /// Only pages by these authors; none: by any.
    pub by: Vec<Actor>,
    /// Only messages with these roles; none: with any.
    pub roles: Vec<Role>,
    /// Only calls of these tools and their results.
    pub tools: Vec<String>,
    /// Only messages from this time on.
    pub since: Option<Timestamp>,
    /// Only messages from before this time.
    pub until: Option<Timestamp>,
    /// Only pages in the tree, or only those in the archive.
    pub archived: Option<bool>,
    /// How many pages at most.
    pub limit: usize,
}

impl FindQuery {
    /// Asks for the ten best pages.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), limit: 10, ..Self::default() }
    }

    fn narrow(&self) -> Narrow {
        Narrow {
            by: self.by.clone(),
            roles: self.roles.clone(),
            tools: self.tools.clone(),
            since: self.since.map(Timestamp::as_millis),
            until: self.until.map(Timestamp::as_millis),
        }
    }

    fn is_filtered(&self) -> bool {
        !self.by.is_empty()
            || !self.roles.is_empty()
            || !self.tools.is_empty()
            || self.since.is_some()
            || self.until.is_some()
    }
}

/// The seed's search: pages of the tree, best first.
#[async_trait]
impl Finder for SearchIndex {
    async fn find(
        &self,
        session: &Session,
        text: &str,
        limit: usize,
    ) -> Result<Vec<PageIndex>, contexture_core::Error> {
        let query = FindQuery { limit, archived: Some(false), ..FindQuery::new(text) };
        let hits = SearchIndex::find(self, session, &query).await?;
        Ok(hits.iter().map(|hit| hit.index().clone()).collect())
    }
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The pages, best first.
    pub hits: Vec<Hit>,
    /// Whether meanings were compared; none without an embedding model.
    pub similarity: Option<Similarity>,
}

impl SearchIndex {
    /// Returns the pages that a session's holder may see and that fit best, each by its best message.
    ///
    /// Where the index turns out to be damaged, it is opened again, and then made again from the store.
    pub async fn find(
        &self,
        session: &Session,
        query: &FindQuery,
    ) -> Result<Vec<Hit>, SearchError> {
        Ok(self.search(session, query).await?.hits)
    }

    /// Finds pages, and says whether their meanings were compared too.
    pub async fn search(&self, session: &Session, query: &FindQuery) -> Result<Found, SearchError> {
        for keep in [Keep::Yes, Keep::No] {
            let disk = self.inner.disk();
            match self.search_unwinding(session, query).await {
                Err(error) if error.is_damage() => {
                    tracing::warn!("the search index is made again: {error}");
                    self.inner.renew(&disk, keep)?;
                }
                found => return found,
            }
        }
        self.search_unwinding(session, query).await
    }

    /// Finds pages. Damage in a file that is open may also end this with a panic, which is an error here.
    async fn search_unwinding(
        &self,
        session: &Session,
        query: &FindQuery,
    ) -> Result<Found, SearchError> {
        let found = AssertUnwindSafe(self.search_once(session, query)).catch_unwind().await;
        found.unwrap_or_else(|_| Err(SearchError::unreadable()))
    }

    async fn search_once(
        &self,
        session: &Session,
        query: &FindQuery,
    ) -> Result<Found, SearchError> {
        if query.limit == 0 {
            return Ok(Found::default());
        }
        session.refresh().await?;
        let parsed = Query::read(&query.text, session.now());
        let asked = self.ask(&query.text).await;
        for _ in 0..ATTEMPTS {
            self.catch_up(session.id()).await?;
            let scope = self.scope(session, query).await?;
            let similarity = match &asked {
                Some(asked) => Some(self.learn(session, &scope, asked).await?),
                None => None,
            };
            let is_compared = similarity.as_ref().is_some_and(|it| it.compared);
            let vector = asked.as_ref().and_then(|asked| asked.vector.as_ref());
            let vector = vector.filter(|_| is_compared);
            if let Some(ranked) = self.ranked(session, query, &parsed, vector, &scope).await? {
                let hits = self.admitted(session, query, &parsed, &scope, ranked).await?;
                return Ok(Found { hits, similarity });
            }
        }
        Err(SearchError::Busy)
    }

    /// Ranks the documents in scope. Returns none if the session was indexed from the beginning meanwhile.
    async fn ranked(
        &self,
        session: &Session,
        query: &FindQuery,
        parsed: &Query,
        vector: Option<&Vector>,
        scope: &Scope,
    ) -> Result<Option<Vec<Ranked>>, SearchError> {
        let mut read = HashMap::new();
        let narrow = query.is_filtered().then(|| query.narrow());
        let among = match parsed.phrases.is_empty() {
            true => None,
            false => match self.with_phrases(session, query, parsed, scope).await? {
                Some(among) => Some(among),
                None => return Ok(None),
            },
        };
        for _ in 0..2 {
            let wanted = {
                let Some(ranked) =
                    self.with_documents(session, scope, &read, narrow.as_ref(), |documents| {
                        let options = RankOptions::new(CANDIDATES);
                        let ranked = match (vector, &among) {
                            (_, Some(among)) => rank_among(documents, parsed, &options, among),
                            (Some(vector), None) => {
                                let table = self.inner.vectors.table();
                                rank(&Meanings::new(documents, &table, vector), parsed, &options)
                            }
                            (None, None) => rank(documents, parsed, &options),
                        };
                        let kept = ranked.into_iter().filter(|ranked| documents.passes(ranked.key));
                        let kept: Vec<Ranked> = kept.collect();
                        documents.check().map(|()| (kept, documents.wanted()))
                    })
                else {
                    return Ok(None);
                };
                let (ranked, wanted) = ranked?;
                if wanted.is_empty() || !read.is_empty() {
                    return Ok(Some(ranked));
                }
                wanted
            };
            read = self.terms_of(session, scope, &wanted).await?;
        }
        Ok(None)
    }

    /// Calls `show` with the documents in scope. Returns none if the session was indexed from the beginning meanwhile.
    pub(crate) fn with_documents<T>(
        &self,
        session: &Session,
        scope: &Scope,
        read: &HashMap<DocKey, Vec<(String, u32)>>,
        narrow: Option<&Narrow>,
        show: impl FnOnce(&SeenDocuments<'_>) -> T,
    ) -> Option<T> {
        let followed = self.inner.followed(session.id());
        // Memory is looked at before the snapshot: a page that has left it by then is on disk.
        let known = followed.sorted();
        let snapshot = self.inner.snapshot();
        if !known.is_whole(session.id(), &snapshot.state) {
            return None;
        }
        let segments = scope.segments(session.id(), &known, &snapshot);
        let disk = self.inner.disk();
        let documents = SeenDocuments::new(disk.fields(), &snapshot, segments, read.clone());
        Some(show(&documents.narrowed(narrow)))
    }

    /// Reads the terms of documents that are on disk.
    async fn terms_of(
        &self,
        session: &Session,
        scope: &Scope,
        wanted: &BTreeSet<DocKey>,
    ) -> Result<HashMap<DocKey, Vec<(String, u32)>>, SearchError> {
        let pages: BTreeSet<PageIndex> =
            wanted.iter().filter_map(|key| scope.index(*key)).collect();
        let pages: Vec<PageIndex> = pages.into_iter().collect();
        let admitted = session.reader().admit(&pages).await?;
        let contents = self.contents_of(session, admitted.iter().flatten()).await?;
        let mut terms: HashMap<DocKey, Vec<(String, u32)>> = HashMap::new();
        for (index, admitted) in pages.iter().zip(&admitted) {
            let Some(admitted) = admitted else { continue };
            let messages = said(admitted, &contents);
            for entry in entries(&admitted.page, &messages, admitted.page.created_at, false) {
                let key = wanted.iter().find(|key| {
                    key.page == entry.at.page
                        && key.message == entry.at.message
                        && scope.index(**key).as_ref() == Some(index)
                });
                if let Some(key) = key {
                    terms.insert(*key, terms_of(&entry, crate::index::Parts::ALL));
                }
            }
        }
        // A document that can no longer be read has no terms, and is not requested again.
        for key in wanted {
            terms.entry(*key).or_default();
        }
        Ok(terms)
    }

    pub(crate) async fn contents_of(
        &self,
        session: &Session,
        pages: impl Iterator<Item = &AdmittedPage>,
    ) -> Result<HashMap<ContentHash, Arc<[Message]>>, SearchError> {
        let pages = pages.filter_map(|page| Some((page, page.page.detail()?.content)));
        let pages: Vec<(&AdmittedPage, ContentHash)> = pages.collect();
        let hashes: Vec<ContentHash> = pages.iter().map(|(_, hash)| *hash).collect();
        let contents = self.inner.storage.contents(session.id(), &hashes).await?;
        let mut read: HashMap<ContentHash, Arc<[Message]>> = HashMap::new();
        for ((page, hash), content) in pages.into_iter().zip(contents) {
            let messages = match content.map(|content| content.messages()) {
                Some(Ok(messages)) => messages,
                // A fork shows an exchange that was open as interrupted, and no store holds that text.
                _ if page.messages == AdmittedMessages::All && session.branch_point().is_some() => {
                    session.reader().messages(&page.page.index).await?
                }
                _ => continue,
            };
            read.insert(hash, messages.into());
        }
        Ok(read)
    }

    /// Returns the best pages that are admitted.
    async fn admitted(
        &self,
        session: &Session,
        query: &FindQuery,
        parsed: &Query,
        scope: &Scope,
        ranked: Vec<Ranked>,
    ) -> Result<Vec<Hit>, SearchError> {
        let mut seen = BTreeSet::new();
        let best = ranked.into_iter().filter_map(|ranked| Some((scope.index(ranked.key)?, ranked)));
        let best: Vec<(PageIndex, Ranked)> = best
            .filter(|(_, ranked)| says_something(ranked))
            .filter(|(index, _)| seen.insert(index.clone()))
            .collect();
        let mut hits = Vec::new();
        for best in best.chunks(query.limit.saturating_add(SPARE)) {
            let indices: Vec<PageIndex> = best.iter().map(|(index, _)| index.clone()).collect();
            let admitted = session.reader().admit(&indices).await?;
            let contents = self.contents_of(session, admitted.iter().flatten()).await?;
            for ((_, ranked), admitted) in best.iter().zip(admitted) {
                let Some(admitted) = admitted else { continue };
                if query.archived.is_some_and(|archived| archived != admitted.archived) {
                    continue;
                }
                let messages = said(&admitted, &contents);
                hits.extend(Hit::of(admitted, &messages, ranked, query, parsed));
                if hits.len() == query.limit {
                    return Ok(hits);
                }
            }
        }
        Ok(hits)
    }
}

/// Returns whether a document matches the query or answers it. A document that only stands beside such a one helps to
/// rank others, and is not a result.
fn says_something(ranked: &Ranked) -> bool {
    let has = |feature| ranked.features.get(feature) > 0.0;
    let means = ranked.features.get(Feature::Similar) >= LEAST_SIMILAR;
    has(Feature::Match) || has(Feature::Answers) || means
}

/// Returns a page's messages as the view sees them, each at its position. Hidden messages are empty.
pub(crate) fn said(
    page: &AdmittedPage,
    contents: &HashMap<ContentHash, Arc<[Message]>>,
) -> Vec<Message> {
    let content = page.page.detail().and_then(|detail| contents.get(&detail.content));
    let Some(content) = content else { return Vec::new() };
    let AdmittedMessages::Some(admitted) = &page.messages else { return content.to_vec() };
    let blank = |message: &Message| Message { parts: Vec::new(), ..message.clone() };
    let mut messages: Vec<Message> = content.iter().map(blank).collect();
    for seen in admitted {
        let (Some(from), Some(to)) = (content.get(seen.position), messages.get_mut(seen.position))
        else {
            continue;
        };
        // Only messages without their tools are seen in part.
        let heard = match seen.whole {
            true => Some(from.clone()),
            false => MessageFilter::WithoutTools.heard(vec![from.clone()]).pop(),
        };
        if let Some(heard) = heard {
            *to = heard;
        }
    }
    messages
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
