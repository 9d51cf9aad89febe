//! Filters of views in random sessions, against the rules written once more.

use std::collections::BTreeSet;

use contexture_core::{
    Actor, ContextSystem, Error, Lifecycle, Page, PageIndex, PageView, SegmentKind, Timestamp,
    View, ViewFilter, WindowLevel, message::MessageFilter,
};
use contexture_testkit::{
    fixture::{BEGIN, page, valid},
    random::Random,
    window::World,
};
use futures::executor::block_on;

use super::{
    view_filter::{listed, seen_through},
    window::{check, random_options},
};

/// The rules once more, written for clarity and not for speed.
struct Rules<'a> {
    view: &'a View,
    system: &'a ContextSystem,
}

impl Rules<'_> {
    async fn sees(&self, page: &Page) -> bool {
        let session = self.system.as_system();
        let reader = session.reader();
        let segment = reader.segment(page.index.segment()).unwrap();
        if !self.view.mounts(&segment) {
            return false;
        }
        let filter = &self.view.filter;
        let above = reader.ancestors(&page.index).await.unwrap_or_default();
        let above = above.iter().map(|seen| &seen.page.index);
        if above.chain([&page.index]).any(|index| filter.without.contains(index)) {
            return false;
        }
        let own = page.author == Actor::Agent(self.view.agent.clone());
        if own || page.is_contents() || segment.kind == SegmentKind::System {
            return true;
        }
        let first = reader.page_or_archived(page.turn.as_ref().unwrap_or(&page.index)).await;
        let began = first.map_or(page.created_at, |first| first.page.created_at);
        let messages = reader.messages(&page.index).await.unwrap();
        let hears = |who: &Actor| {
            let own = *who == Actor::Agent(self.view.agent.clone());
            own || filter.authors.as_ref().is_none_or(|authors| {
                authors.contains(who) || (who.is_system_side() && authors.contains(&Actor::System))
            })
        };
        let speaks = match (&page.turn, &page.author, filter.speech) {
            (None, Actor::Agent(_), speech) => speech != MessageFilter::RequestsOnly,
            (None, Actor::System | Actor::User(_), _) => true,
            (Some(_), _, speech) => !speech.heard(messages).is_empty(),
        };
        hears(&page.author)
            && page.rewritten_by.as_ref().is_none_or(hears)
            && filter.since.is_none_or(|since| began >= since)
            && speaks
    }
}

fn random_filter(random: &mut Random, pages: &[PageView]) -> ViewFilter {
    let names = ["alpha", "beta", "gamma", "system"];
    let mut filter = ViewFilter::default();
    if random.chance(60) {
        let chosen: BTreeSet<Actor> =
            names.iter().filter(|_| random.chance(50)).map(|name| valid(name)).collect();
        filter.authors = Some(chosen);
    }
    filter.speech = *random.pick(&[
        MessageFilter::All,
        MessageFilter::WithoutTools,
        MessageFilter::RequestsOnly,
    ]);
    if random.chance(40) {
        filter.since = Some(Timestamp::from_millis(BEGIN + random.below(120) as i64));
    }
    for _ in 0..random.below(4) {
        let index = &random.pick(pages).page.index;
        if !index.is_root() {
            filter.without.insert(index.clone());
        }
    }
    filter
}

// M-39, M-40: in random sessions, what is listed, read, counted and shown is what the rules leave,
// whatever was folded through whichever filter before.
#[test]
fn random_filters_leave_what_the_rules_say() {
    let (mut hidden, mut shown, mut folds) = (0, 0, 0);
    for seed in 800..840 {
        let mut world = World::new(seed);
        for step in 0..8 {
            for _ in 0..4 {
                // Moves between segments are another test's: they give pages new names.
                world.step();
            }
            let pages = world.pages();
            let stays = |seen: &PageView| seen.page.sources.is_empty();
            if !pages.iter().all(stays) {
                break;
            }
            let at = world.random.below(3) as usize;
            let filter = random_filter(&mut world.random, &pages);
            let system = world.system.clone();
            let agent = seen_through(&world.agents[at], &system, filter);
            let rules = Rules { view: agent.view(), system: &system };
            let mut expected: BTreeSet<PageIndex> = BTreeSet::new();
            for seen in &pages {
                if block_on(rules.sees(&seen.page)) {
                    expected.insert(seen.page.index.clone());
                }
            }
            let told = format!("seed {seed} step {step} {:?}", agent.view());
            let asked = random_options(&mut world.random);
            let window = check(&agent, &asked, &told);
            if world.random.chance(50) {
                folds += u64::from(block_on(agent.fold(&asked)).is_ok_and(|fold| fold.is_some()));
            }
            let listed: BTreeSet<PageIndex> =
                block_on(listed(&agent)).iter().map(|it| page(it)).collect();
            assert_eq!(listed, expected, "{told}");
            for account in window.iter().flat_map(|window| &window.account.pages) {
                assert!(expected.contains(&account.page), "{told}: {}", account.page);
                shown += u64::from(account.level == WindowLevel::Full);
            }
            for seen in &pages {
                let index = &seen.page.index;
                let exists = expected.contains(index);
                hidden += u64::from(!exists);
                assert_eq!(block_on(agent.get_page(index)).is_ok(), exists, "{told}: {index}");
                let focused = block_on(agent.focus_page(index));
                assert_eq!(
                    focused.is_err_and(|error| matches!(error, Error::PageNotFound { .. })),
                    !exists,
                    "{told}: {index}"
                );
                if seen.page.is_contents() && exists {
                    let within = |child: &&PageView| {
                        child.page.parent.as_ref() == Some(index)
                            && child.lifecycle != Lifecycle::ColdArchived
                            && expected.contains(&child.page.index)
                    };
                    let count = block_on(agent.reader().child_count(index)).unwrap();
                    assert_eq!(count, pages.iter().filter(within).count() as u64, "{told}");
                    let children = block_on(agent.get_children(index)).unwrap();
                    assert_eq!(children.len() as u64, count, "{told}: {index}");
                }
            }
        }
    }
    assert!(hidden > 500 && shown > 300 && folds > 10, "{hidden} {shown} {folds}");
}
