//! What the budget has lowered: the level a rendering really has, and which pages stand how.

use std::collections::BTreeMap;

use crate::{
    Level, PageIndex,
    context::Diagnostic,
    storage::{Fold, PageRunForm},
    window::{
        outline::Shape,
        plan::{Item, Plan},
    },
};

/// What folds have lowered in a plan.
pub(super) struct Lowered {
    /// The lowest level that a fold gave a page; none where nothing is folded.
    pub(super) level: Option<Level>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// How pages stand that a fold has lowered, from the most that is left to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stands {
    Trimmed,
    Log,
    Summary,
    Line,
    Gist,
    ShortLine,
    Out,
}

impl Stands {
    fn of(item: &Item) -> Option<Self> {
        Some(match &item.block.shape {
            Shape::Run(run) => match run.form {
                PageRunForm::Line => Stands::Line,
                PageRunForm::Gist => Stands::ShortLine,
                PageRunForm::Out => Stands::Out,
            },
            Shape::Page(shape) => match shape.fold? {
                Fold::Trimmed => Stands::Trimmed,
                Fold::Log | Fold::Rewritten => Stands::Log,
                Fold::Summary => Stands::Summary,
                Fold::Gist => Stands::Gist,
            },
        })
    }

    fn level(self) -> Level {
        match self {
            Stands::Trimmed => Level::Full,
            Stands::Log | Stands::Summary | Stands::Line => Level::Summary,
            Stands::Gist | Stands::ShortLine | Stands::Out => Level::Gist,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Stands::Trimmed => "with large results cut to head and tail",
            Stands::Log => "as a log of what was asked and called",
            Stands::Summary => "as summaries",
            Stands::Line => "as lines of their turns",
            Stands::Gist => "by name only",
            Stands::ShortLine => "as short lines of their turns",
            Stands::Out => "not at all",
        }
    }
}

impl Lowered {
    /// Looks at what stands in a plan.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut groups: BTreeMap<Stands, Vec<(PageIndex, PageIndex)>> = BTreeMap::new();
        for item in plan.items.iter().filter(|item| !item.system) {
            let Some(stands) = Stands::of(item) else { continue };
            let (from, to) = match &item.block.shape {
                Shape::Run(run) => (run.from.clone(), run.to.clone()),
                Shape::Page(_) => (item.block.page.index.clone(), item.block.page.index.clone()),
            };
            let ranges = groups.entry(stands).or_default();
            match ranges.last_mut() {
                Some((_, last)) if is_next(last, &from) => *last = to,
                _ => ranges.push((from, to)),
            }
        }
        let diagnostics = groups.iter().map(|(stands, ranges)| {
            let pages: Vec<String> = ranges.iter().map(range).collect();
            let (level, words) = (stands.level().as_str(), stands.words());
            let message = format!("to fit the budget, at {level}: {}, {words}", pages.join(", "));
            Diagnostic { code: "lowered".to_owned(), message }
        });
        Self {
            level: groups.keys().map(|stands| stands.level()).min(),
            diagnostics: diagnostics.collect(),
        }
    }
}

fn is_next(last: &PageIndex, page: &PageIndex) -> bool {
    last.segment() == page.segment() && last.number() + 1 == page.number()
}

fn range((from, to): &(PageIndex, PageIndex)) -> String {
    if from == to { from.to_string() } else { format!("{from} to {to}") }
}
