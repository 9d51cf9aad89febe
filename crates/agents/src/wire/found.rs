//! What a search found, and what was brought back.

use contexture_core::{Actor, PageIndex, Result, Revision, Role, Session, Timestamp, WindowLevel};
use contexture_search::{Feature, Hit, RecallPlan, Similarity, Weights};
use serde::Serialize;

/// A page that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundObject {
    /// Its index.
    pub index: PageIndex,
    /// Its name.
    pub name: String,
    /// The directory it is in; none for a root.
    pub parent: Option<PageIndex>,
    /// Whether it is in the archive.
    pub archived: bool,
    /// How much of it stands in the window.
    pub level: WindowLevel,
    /// Who made it.
    pub author: Actor,
    /// When it was made.
    pub created_at: Timestamp,
    /// The message it was found by, counted from 0; none where its name or description was.
    pub message: Option<usize>,
    /// The role of that message.
    pub role: Option<Role>,
    /// What it says there.
    pub snippet: SnippetObject,
    /// How well it fits: larger is better, among the results of one search.
    pub score: f32,
    /// What the score is made of, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Vec<FeatureObject>>,
}

/// What a search found.
#[derive(Debug, Serialize)]
pub struct FoundList {
    /// The pages, best first.
    pub items: Vec<FoundObject>,
    /// None: a search has one page of results.
    pub next: Option<String>,
    /// What became of comparing meanings; absent where no embeddings are set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<SimilarityObject>,
}

/// What became of comparing meanings in a search.
#[derive(Debug, Serialize)]
pub struct SimilarityObject {
    /// Whether meanings were compared. Otherwise words alone ranked.
    pub compared: bool,
    /// How many texts in view have no vector yet.
    pub missing: usize,
    /// What went wrong, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl SimilarityObject {
    /// Describes what became of comparing meanings.
    pub fn of(similarity: &Similarity) -> Self {
        let Similarity { compared, missing, problem } = similarity.clone();
        Self { compared, missing, problem }
    }
}

/// A piece of a text.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnippetObject {
    /// The piece, on one line.
    pub text: String,
    /// Where the words are that were looked for: beginning and end in bytes of the piece.
    pub highlights: Vec<[usize; 2]>,
    /// Whether the text goes on before it.
    pub cut_before: bool,
    /// Whether the text goes on behind it.
    pub cut_behind: bool,
}

/// One thing that speaks for a result, or against it.
#[derive(Debug, Serialize)]
pub struct FeatureObject {
    /// Its name.
    pub feature: &'static str,
    /// How much of it there is.
    pub value: f32,
    /// What it adds to the score.
    pub adds: f32,
}

/// Pages that came back into the window.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecallObject {
    /// The edit; none where nothing was brought back.
    pub revision: Option<Revision>,
    /// The pages, best first.
    pub pages: Vec<RecalledObject>,
    /// What they take together.
    pub tokens: u64,
    /// How many pages fit that the window shows in full already.
    pub already_shown: usize,
    /// How many pages fit that there was no room for.
    pub left_out: usize,
    /// How many archived pages fit that the caller may not restore.
    pub refused: usize,
    /// What became of comparing meanings; absent where no embeddings are set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<SimilarityObject>,
}

/// A page that came back.
#[derive(Debug, Serialize)]
pub struct RecalledObject {
    /// What was found.
    #[serde(flatten)]
    pub found: FoundObject,
    /// What it takes in full.
    pub tokens: u64,
}

impl FoundObject {
    /// Describes a result as the session's holder sees the page now.
    pub async fn of(session: &Session, hit: &Hit, explain: bool) -> Result<Self> {
        let page = &hit.page.page;
        let level = session.reader().page_or_archived(&page.index).await?.level;
        let highlights = hit.snippet.highlights.iter().map(|span| [span.start, span.end]);
        let (cut_before, cut_behind) = hit.snippet.cut;
        Ok(Self {
            index: page.index.clone(),
            name: page.name.to_string(),
            parent: page.parent.clone(),
            archived: hit.page.archived,
            level,
            author: page.author.clone(),
            created_at: page.created_at,
            message: hit.message,
            role: hit.role,
            snippet: SnippetObject {
                text: hit.snippet.text.clone(),
                highlights: highlights.collect(),
                cut_before,
                cut_behind,
            },
            score: hit.score,
            explanation: explain.then(|| explanation(hit)),
        })
    }
}

/// Returns what a score is made of, the largest part first.
fn explanation(hit: &Hit) -> Vec<FeatureObject> {
    let feature = |feature: Feature| {
        let value = hit.features.get(feature);
        let adds = value * Weights::FITTED.get(feature);
        FeatureObject { feature: feature.name(), value, adds }
    };
    let mut features: Vec<FeatureObject> =
        Feature::ALL.map(feature).into_iter().filter(|it| it.value != 0.0).collect();
    features.sort_by(|one, other| other.adds.abs().total_cmp(&one.adds.abs()));
    features
}

impl RecallObject {
    /// Describes what was brought back.
    pub async fn of(
        session: &Session,
        plan: &RecallPlan,
        revision: Option<Revision>,
    ) -> Result<Self> {
        let mut pages = Vec::new();
        for recalled in &plan.pages {
            let found = FoundObject::of(session, &recalled.hit, true).await?;
            pages.push(RecalledObject { found, tokens: recalled.tokens.0 });
        }
        Ok(Self {
            revision,
            pages,
            tokens: plan.tokens().0,
            already_shown: plan.standing,
            left_out: plan.left_out,
            refused: plan.refused,
            similarity: plan.similarity.as_ref().map(SimilarityObject::of),
        })
    }
}
