//! The account: what takes how much of a window.

use super::{
    outline::{Outline, Shape},
    plan::{Item, Plan},
    request::{Account, PageAccount, SegmentAccount, WindowOptions},
};
use crate::{Level, Tokens, WindowLevel, storage::PageRunForm};

/// Adds up what a plan takes.
pub(crate) fn account(
    options: &WindowOptions,
    budget: Option<Tokens>,
    outline: &Outline,
    plan: &Plan,
    panels: u64,
) -> Account {
    let segments = outline.sections.iter().enumerate().map(|(at, section)| {
        let mut account = SegmentAccount {
            id: section.segment.id.clone(),
            tokens: 0,
            full: 0,
            lines: 0,
            runs: 0,
            full_pages: 0,
            folded_pages: 0,
        };
        let items = plan.items.iter().filter(|item| item.section == at);
        items.for_each(|item| account.add(item));
        account
    });
    let pages = plan.items.iter().filter(|item| item.tokens > 0).map(|item| PageAccount {
        page: item.block.index().clone(),
        level: window_level(item),
        tokens: item.tokens,
    });
    Account {
        tokens: plan.tokens() + options.reserved.0 + panels,
        budget: budget.map(|budget| budget.0),
        messages: options.max_messages.map(|_| plan.messages()),
        max_messages: options.max_messages,
        reserved: options.reserved.0,
        tokenizer: options.counter.name().to_owned(),
        exact: options.counter.is_exact(),
        segments: segments.collect(),
        pages: pages.collect(),
    }
}

impl SegmentAccount {
    fn add(&mut self, item: &Item) {
        self.tokens += item.tokens;
        match (window_level(item), &item.block.shape) {
            (WindowLevel::Full, _) => {
                self.full += item.tokens;
                self.full_pages += u64::from(item.block.page.detail().is_some());
            }
            (_, Shape::Run(run)) => {
                self.runs += item.tokens;
                self.folded_pages += run.pages;
            }
            (_, Shape::Page(_)) => {
                self.lines += item.tokens;
                self.folded_pages += 1;
            }
        }
    }
}

/// Returns the level an item stands at, as accounts name it.
fn window_level(item: &Item) -> WindowLevel {
    match &item.block.shape {
        Shape::Run(run) if run.form == PageRunForm::Out => WindowLevel::Out,
        Shape::Run(_) => WindowLevel::Run,
        Shape::Page(_) if item.shows_text() => WindowLevel::Full,
        Shape::Page(shape) => match shape.level {
            Level::Full if item.block.page.is_contents() => WindowLevel::Full,
            Level::Full | Level::Summary => WindowLevel::Summary,
            Level::Gist => WindowLevel::Gist,
        },
    }
}
