//! Recall: the pages that match a question best and are not in the window, as many as a budget holds.

use std::collections::HashSet;

use contexture_core::{
    AccessLevel, Edit, PageIndex, Session, Tokens, WindowLevel, WindowOptions,
    window::count_messages,
};

use crate::{FindQuery, Found, Hit, SearchError, SearchIndex, Similarity};

/// How many pages are looked at.
const LOOKED_AT: usize = 60;

/// The share of the best score that a page must reach. Pages that hardly match are not worth their tokens.
const LEAST: f32 = 0.35;

/// What to recall, and how much of it.
#[derive(Debug, Clone, Default)]
pub struct RecallQuery {
    /// What to look for. Its limit is the most pages that are brought back.
    pub find: FindQuery,
    /// How many tokens they may take together.
    pub budget: Tokens,
    /// The directory that archived pages come back to; by default each its old place.
    pub into: Option<PageIndex>,
    /// What becomes of the pages.
    pub purpose: RecallPurpose,
}

/// What becomes of pages that are recalled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecallPurpose {
    /// They come back into the window, archived ones into the tree. That needs write permission on those.
    #[default]
    Window,
    /// They are only read. The plan has no edit.
    Answer,
}

/// A page that was chosen.
#[derive(Debug, Clone)]
pub struct Recalled {
    /// What was found in it, which is why it was chosen.
    pub hit: Hit,
    /// What it takes in full.
    pub tokens: Tokens,
}

/// What to bring back, best first.
#[derive(Debug, Clone, Default)]
pub struct RecallPlan {
    /// The pages.
    pub pages: Vec<Recalled>,
    /// How many pages match that the window already shows in full.
    pub standing: usize,
    /// How many pages match that the budget or the limit has no room for.
    pub left_out: usize,
    /// How many archived pages match that the caller may not restore.
    pub refused: usize,
    /// What became of comparing meanings; none where there is nobody to ask.
    pub similarity: Option<Similarity>,
    edits: Vec<Edit>,
}

impl RecallPlan {
    /// Returns the edit that brings the pages back; none if there are none.
    pub fn edit(&self) -> Option<Edit> {
        (!self.edits.is_empty()).then(|| Edit::Recall(self.edits.clone()))
    }

    /// Returns how many tokens the pages take together.
    pub fn tokens(&self) -> Tokens {
        Tokens(self.pages.iter().map(|page| page.tokens.0).sum())
    }
}

impl SearchIndex {
    /// Chooses the pages that match best and are not in the window in full. It changes nothing:
    /// [`RecallPlan::edit`] does. The options are those that the caller's windows are made with.
    pub async fn recall(
        &self,
        session: &Session,
        query: &RecallQuery,
        options: &WindowOptions,
    ) -> Result<RecallPlan, SearchError> {
        let most = query.find.limit;
        let find = FindQuery { limit: LOOKED_AT.max(most), ..query.find.clone() };
        let Found { hits, similarity } = self.search(session, &find).await?;
        let standing = standing(session, options).await;
        let mut plan = RecallPlan { similarity, ..RecallPlan::default() };
        let best = hits.first().map_or(0.0, |hit| hit.score);
        for hit in hits {
            if best > 0.0 && hit.score < best * LEAST {
                break;
            }
            let index = hit.index().clone();
            // A directory opens when a page in it does.
            if hit.page.page.is_contents() {
                continue;
            }
            if standing.contains(&index) {
                plan.standing += 1;
                continue;
            }
            let messages = session.reader().messages(&index).await?;
            let tokens = count_messages(options.counter.as_ref(), &messages);
            if plan.pages.len() == most || plan.tokens().0 + tokens.0 > query.budget.0 {
                plan.left_out += 1;
                continue;
            }
            if !self.bring_back(session, query, &hit, &mut plan.edits).await? {
                plan.refused += 1;
                continue;
            }
            plan.pages.push(Recalled { hit, tokens });
        }
        Ok(plan)
    }

    /// Adds the edits that bring a page back. Returns false if the caller may not make them.
    async fn bring_back(
        &self,
        session: &Session,
        query: &RecallQuery,
        hit: &Hit,
        edits: &mut Vec<Edit>,
    ) -> Result<bool, SearchError> {
        if query.purpose == RecallPurpose::Answer {
            return Ok(true);
        }
        let index = hit.index().clone();
        let mut add = |edit: Edit| {
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        };
        if hit.page.archived {
            let to = query.into.clone();
            let target = to.as_ref().unwrap_or(&index);
            if !may_write(session, &index) || !may_write(session, target) {
                return Ok(false);
            }
            let stays = to.as_ref().is_none_or(|to| to.segment() == index.segment());
            add(Edit::RestorePage { page: index.clone(), to });
            if stays {
                add(Edit::ExpandDetails(index));
            }
            return Ok(true);
        }
        // From the top, because a page under a closed directory cannot be opened.
        for above in session.reader().ancestors(&index).await?.into_iter().rev() {
            if above.level != WindowLevel::Full {
                add(Edit::ExpandDetails(above.page.index.clone()));
            }
        }
        add(Edit::ExpandDetails(index));
        Ok(true)
    }
}

/// Returns the pages that the window shows in full; none if the window cannot be made.
async fn standing(session: &Session, options: &WindowOptions) -> HashSet<PageIndex> {
    let Ok(window) = session.window(options).await else { return HashSet::new() };
    let pages = window.account.pages.into_iter();
    pages.filter(|page| page.level == WindowLevel::Full).map(|page| page.page).collect()
}

fn may_write(session: &Session, page: &PageIndex) -> bool {
    let Some(view) = session.principal().view() else { return true };
    let segment = session.reader().segment(page.segment());
    segment.is_ok_and(|segment| {
        segment.permission.admits(AccessLevel::Write) && !view.inherits(&segment.id)
    })
}
