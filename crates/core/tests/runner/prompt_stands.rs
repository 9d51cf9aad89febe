//! While a System-kind segment is read-only, all its pages stand in full in every view.

use std::sync::Arc;

use contexture_core::{
    Advice, AgentContext, ContextSystem, Edit, Error, ErrorKind, Format, Lifecycle, NewDetailPage,
    PageIndex, PageView, Permission, SegmentKind, Visibility, WindowLevel, document,
    storage::{Fold, LevelEntry, PageRun, PageRunForm, Place},
    window::{FoldPlan, FoldReport, FoldStep},
};
use contexture_testkit::{
    fixture::{add_segment, agent, apply, directory, empty, leaf, memory, page, segment, valid},
    window::options,
};
use futures::executor::block_on;

fn permit(permission: Permission) -> Edit {
    Edit::SetPermission { segment: segment("sys"), permission }
}

/// Returns how a page stands in both views, and in how many windows of both its text stands.
async fn standing(
    system: &ContextSystem,
    agent: &AgentContext,
    index: &PageIndex,
    text: &str,
) -> (Vec<(Visibility, WindowLevel, Lifecycle)>, usize) {
    let stands = |seen: PageView| (seen.visibility, seen.level, seen.lifecycle);
    let mut views = vec![stands(system.as_system().reader().page(index).await.unwrap())];
    views.push(stands(agent.get_page(index).await.unwrap()));
    let mut windows = 0;
    for format in Format::ALL {
        for level in [contexture_core::Level::Full, contexture_core::Level::Gist] {
            let asked = options(format).level(level);
            for window in
                [system.as_system().reader().window(&asked).await, agent.window(&asked).await]
            {
                windows += usize::from(window.unwrap().body.contains(text));
            }
        }
    }
    (views, windows)
}

async fn assert_stands(
    system: &ContextSystem,
    agent: &AgentContext,
    index: &PageIndex,
    text: &str,
) {
    let full = (Visibility::Expanded, WindowLevel::Full, Lifecycle::Active);
    let all = Format::ALL.len() * 4;
    assert_eq!(standing(system, agent, index, text).await, (vec![full, full], all), "{index}");
}

// What was hidden while agents could write it stands again when they cannot, also in windows
// that were made before; and the other way round the matrix holds.
#[test]
fn what_was_hidden_stands_again_under_read_only() {
    block_on(async {
        let system = memory().await;
        let drawer = directory(&system, "sys-0", "Rules").await;
        let rule = leaf(&system, &drawer.to_string(), "First").await;
        let alpha = agent(&system, "alpha");
        assert_stands(&system, &alpha, &rule, "text of First").await;
        apply(&system, permit(Permission::ReadWrite)).await;
        alpha.hide_details(&drawer).await.unwrap();
        apply(&system, Edit::HideDetails(rule.clone())).await;
        let (views, windows) = standing(&system, &alpha, &rule, "text of First").await;
        let hidden = [
            (Visibility::Hidden, WindowLevel::Summary, Lifecycle::Active),
            (Visibility::Hidden, WindowLevel::Out, Lifecycle::HotArchived),
        ];
        assert_eq!((views.as_slice(), windows), (&hidden[..], 0));
        apply(&system, permit(Permission::ReadOnly)).await;
        assert_stands(&system, &alpha, &rule, "text of First").await;
        let seen = alpha.get_page(&drawer).await.unwrap();
        assert_eq!((seen.visibility, seen.level), (Visibility::Expanded, WindowLevel::Full));
        // Expanding needs no directory to be expanded first: none is hidden.
        alpha.expand_details(&rule).await.unwrap();
        apply(&system, permit(Permission::SystemManaged)).await;
        let (views, _) = standing(&system, &alpha, &rule, "text of First").await;
        assert_eq!(views[1].1, WindowLevel::Out, "its directory is hidden in this view");
    });
}

// Pages that come from elsewhere, or were made hidden, stand as all others do.
#[test]
fn pages_that_come_hidden_stand_as_well() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let drawer = directory(&system, "usr-0", "Drawer").await;
        leaf(&system, &drawer.to_string(), "Moved").await;
        apply(&system, Edit::HideDetails(drawer.clone())).await;
        alpha.hide_details(&drawer).await.unwrap();
        let moved = apply(&system, Edit::MovePage { page: drawer, to: page("sys-0") }).await;
        let (drawer, note) = (&moved.moved[0].1, &moved.moved[1].1);
        assert_stands(&system, &alpha, note, "text of Moved").await;
        assert_stands(&system, &alpha, drawer, "Drawer").await;
        let mut new = NewDetailPage::new(page("sys-0"), valid("Quiet"), "made hidden");
        new.visibility = Some(Visibility::Hidden);
        let made = apply(&system, Edit::CreateDetailPage(new)).await.pages[0].clone();
        assert_stands(&system, &alpha, &made, "made hidden").await;
        // What the operator archives stays archived.
        apply(&system, Edit::ArchivePage(made.clone())).await;
        let seen = alpha.get_page(&made).await.unwrap();
        assert_eq!((seen.level, seen.lifecycle), (WindowLevel::Out, Lifecycle::HotArchived));
        assert_eq!(standing(&system, &alpha, &made, "made hidden").await.1, 0);
    });
}

// Nobody hides it; the system side is told how to take it out.
#[test]
fn a_read_only_prompt_cannot_be_hidden() {
    block_on(async {
        let system = memory().await;
        let prompt = leaf(&system, "sys-0", "Prompt").await;
        let error = system.as_system().apply(Edit::HideDetails(prompt.clone())).await.unwrap_err();
        assert!(matches!(error, Error::PromptStands { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(error.advice(), Advice::ArchivePrompt { page: prompt.clone() });
        apply(&system, permit(Permission::ReadWrite)).await;
        apply(&system, Edit::HideDetails(prompt)).await;
    });
}

// A name that stood for another segment brings no folds and no runs with it.
#[test]
fn folds_of_an_earlier_segment_do_not_lower_it() {
    block_on(async {
        let system = memory().await;
        add_segment(&system, "rules", SegmentKind::Custom, Permission::ReadWrite).await;
        let rule = leaf(&system, "rules-0", "Rule").await;
        apply(&system, Edit::ExpandDetails(rule.clone())).await;
        let alpha = agent(&system, "alpha");
        let run = PageRun {
            first: Place(0),
            last: Place(99),
            from: rule.clone(),
            to: rule.clone(),
            pages: 1,
            messages: 0,
            calls: 0,
            requests: Vec::new(),
            filter: Default::default(),
            form: PageRunForm::Out,
            cited: Vec::new(),
            apart: Vec::new(),
        };
        let none = LevelEntry::default;
        let runs = LevelEntry { runs: Arc::new([run]), ..none() };
        let gist = LevelEntry { fold: Some(Fold::Gist), ..none() };
        let step = |index: PageIndex, after| FoldStep { page: index, before: none(), after };
        let steps = vec![step(page("rules-0"), runs), step(rule.clone(), gist)];
        let fold = Edit::FoldPages(FoldPlan { steps, report: FoldReport::default() });
        alpha.apply(fold).await.unwrap();
        let removed = Edit::RemoveSegment { segment: segment("rules"), cascade: true, force: true };
        apply(&system, removed).await;
        add_segment(&system, "rules", SegmentKind::System, Permission::ReadOnly).await;
        apply(&system, Edit::RestorePage { page: rule.clone(), to: None }).await;
        assert_stands(&system, &alpha, &rule, "text of Rule").await;
    });
}

// A document that hides a prompt is loaded with the prompt in full.
#[test]
fn a_loaded_prompt_stands() {
    block_on(async {
        let text = br#"{"segments": [
                {"id": "sys", "segmentType": "system", "permission": 0},
                {"id": "usr", "permission": 1}
            ], "pages": {
                "sys-1": {"type": "DetailPage", "name": "Prompt", "detail": "be good",
                    "visibility": "Hidden"}
            }}"#;
        let storage = Arc::new(contexture_core::MemoryStorage::new());
        let system = empty(storage).await;
        let parsed = document::parse(text, system.now()).unwrap();
        assert_eq!(parsed.warnings.len(), 1, "{:?}", parsed.warnings);
        apply(&system, Edit::Load(Box::new(parsed.plan))).await;
        assert_stands(&system, &agent(&system, "alpha"), &page("sys-1"), "be good").await;
    });
}
