//! Phrases: the index knows which documents have all their words, and the texts say whether these stand together.

use std::collections::{BTreeSet, HashMap};

use contexture_core::{PageIndex, Session, message::AdmittedPage};

use super::{FindQuery, Scope, hit::texts, said};
use crate::{
    document::DocKey, error::SearchError, index::SearchIndex, query::Query,
    rank::with_words_of_phrases,
};

/// How many texts are read at a time.
const TOGETHER: usize = 256;

/// How many texts are read at most: those that match best come first.
const MOST: usize = 20_000;

/// How many documents are enough for each page that is wanted, since the ranking may order them otherwise.
const ENOUGH: usize = 8;

impl SearchIndex {
    /// Returns the documents in scope that hold the phrases of a query, in the order of keys: enough for the best
    /// results to be among them. Returns none if the session was indexed from the beginning meanwhile.
    pub(super) async fn with_phrases(
        &self,
        session: &Session,
        query: &FindQuery,
        parsed: &Query,
        scope: &Scope,
    ) -> Result<Option<Vec<DocKey>>, SearchError> {
        let narrow = query.is_filtered().then(|| query.narrow());
        let keys = self.with_documents(session, scope, &HashMap::new(), narrow.as_ref(), |all| {
            let keys = with_words_of_phrases(all, parsed).into_iter();
            let keys = keys.filter(|key| all.passes(*key)).take(MOST).collect::<Vec<_>>();
            all.check().map(|()| keys)
        });
        let Some(keys) = keys else { return Ok(None) };
        let keys = keys?;
        let enough = query.limit.saturating_mul(ENOUGH).max(TOGETHER);
        let mut holding = Vec::new();
        for keys in keys.chunks(TOGETHER) {
            let pages: BTreeSet<PageIndex> =
                keys.iter().filter_map(|key| scope.index(*key)).collect();
            let pages: Vec<PageIndex> = pages.into_iter().collect();
            let admitted = session.reader().admit(&pages).await?;
            let contents = self.contents_of(session, admitted.iter().flatten()).await?;
            let admitted: HashMap<&PageIndex, &AdmittedPage> = admitted
                .iter()
                .flatten()
                .filter(|page| query.archived.is_none_or(|archived| archived == page.archived))
                .map(|page| (&page.page.index, page))
                .collect();
            for key in keys {
                let page = scope.index(*key).and_then(|index| admitted.get(&index).copied());
                let Some(page) = page else { continue };
                let messages = said(page, &contents);
                if texts(page, &messages, key.message).iter().any(|text| parsed.confirms(text)) {
                    holding.push(*key);
                }
            }
            if holding.len() >= enough {
                break;
            }
        }
        holding.sort_unstable();
        Ok(Some(holding))
    }
}
