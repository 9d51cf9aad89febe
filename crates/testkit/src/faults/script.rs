//! The scripted run: every kind of edit, run records and windows sent, each one write.

use std::collections::BTreeSet;

use contexture_core::{
    ContextSystem, Edit, Error, Operation, PageUpdate, Principal, SegmentUpdate, Timestamp, Usage,
    storage::{Fold, LedgerKey, LevelEntry, RunPut, SentWindow, Version},
    window::{FoldPlan, FoldReport, FoldStep},
};

use crate::{
    conformance::sent,
    edits::{Diet, Edits, beginning, callers},
    fixture::{
        BEGIN, assistant, description, new_directory, new_leaf, page, segment, session_id, user,
        valid,
    },
    model::Model,
    property::make,
};

/// How many steps there are.
pub const EDITS: usize = 200;

const SEED: u64 = 31;

/// One step of the script, which makes one write.
#[derive(Debug)]
pub(super) enum Step {
    /// An edit.
    Edit(Principal, Edit),
    /// An edit that moves a run record on.
    Moving(Edit, RunPut),
    /// A run record is kept or removed.
    Keep(RunPut),
    /// A window was sent.
    Sent(Box<SentWindow>),
    /// The provider reported on one.
    Report(u64),
}

impl Step {
    pub(super) async fn make(&self, system: &ContextSystem) -> Result<(), Error> {
        match self {
            Step::Edit(caller, edit) => make(system, caller, edit.clone()).await.map(drop),
            Step::Moving(edit, put) => system
                .apply_with_runs(&Principal::System, edit, std::slice::from_ref(put))
                .await
                .map(drop),
            Step::Keep(put) => system.keep_run(put).await.map(drop),
            Step::Sent(sent) => Ok(system.storage().record(&session_id(), &ledger(), sent).await?),
            Step::Report(number) => {
                let usage = Usage { input: *number, ..Usage::default() };
                let storage = system.storage();
                storage.report(&session_id(), &ledger(), *number, &usage).await?;
                Ok(())
            }
        }
    }
}

/// The ledger the script writes to.
pub(super) fn ledger() -> LedgerKey {
    LedgerKey { view: valid("alpha"), format: valid("openai") }
}

/// Returns the steps. The model only helps to make edits that are not refused.
pub(super) fn steps() -> Vec<Step> {
    let mut model = Model::new();
    let mut steps = Vec::new();
    let mut operations: BTreeSet<&str> = BTreeSet::new();
    for edit in beginning().into_iter().chain(one_of_each()) {
        model.apply(&Principal::System, &edit).unwrap_or_else(|kind| panic!("{edit:?}: {kind:?}"));
        operations.insert(edit.operation().as_str());
        steps.push(Step::Edit(Principal::System, edit));
    }
    let at = Timestamp::from_millis(BEGIN);
    let mut edits = Edits::new(SEED, Diet { purge: true });
    let (mut windows, mut version) = (0, None);
    while steps.len() < EDITS {
        // Every few edits something beside them.
        match steps.len() % 12 {
            3 => {
                windows += 1;
                steps.push(Step::Sent(Box::new(sent(windows))));
                continue;
            }
            5 if windows > 0 => {
                steps.push(Step::Report(windows));
                continue;
            }
            8 => {
                let expect: Option<Version> = version;
                let put = RunPut { key: valid("run"), expect, value: Some("{}".to_owned()), at };
                version = Some(put.version());
                steps.push(Step::Keep(put));
                continue;
            }
            10 if version.is_some() => {
                let number = steps.len();
                let edit = new_leaf("usr-0", &format!("with a run {number}"));
                if model.apply(&Principal::System, &edit).is_err() {
                    continue;
                }
                // Now and then the run ends with it.
                let value = (!number.is_multiple_of(5)).then(|| format!("{number}"));
                let put = RunPut { key: valid("run"), expect: version, value, at };
                version = put.value.is_some().then(|| put.version());
                steps.push(Step::Moving(edit, put));
                continue;
            }
            _ => {}
        }
        let (caller, edit) = edits.next(&model);
        if model.apply(&caller, &edit).is_ok() {
            operations.insert(edit.operation().as_str());
            steps.push(Step::Edit(caller, edit));
        }
    }
    // All there are, but one that only an empty session takes, one that changes nothing, and open
    // exchanges, which the model does not have.
    let editing = [
        Operation::AddSegment,
        Operation::UpdateSegment,
        Operation::RemoveSegment,
        Operation::SetPermission,
        Operation::CreateDetailPage,
        Operation::CreateContentsPage,
        Operation::AddTurn,
        Operation::ExtendTurn,
        Operation::PublishTurn,
        Operation::UpdatePage,
        Operation::ExpandDetails,
        Operation::HideDetails,
        Operation::PinPage,
        Operation::UnpinPage,
        Operation::FocusPage,
        Operation::SwitchLevel,
        Operation::PressAnchor,
        Operation::FoldPages,
        Operation::MovePage,
        Operation::ArchivePage,
        Operation::RemovePage,
        Operation::RestorePage,
        Operation::PurgePage,
        Operation::SetCustom,
        Operation::Undo,
        Operation::Batch,
    ];
    for operation in editing {
        assert!(operations.contains(operation.as_str()), "the script has no {operation:?}");
    }
    assert!(callers().len() > 3, "agents take part");
    steps
}

/// One edit of each kind for the system side, on what random sessions begin with.
fn one_of_each() -> Vec<Edit> {
    let messages = || vec![user("a question"), assistant("an answer")];
    let mut update = PageUpdate::of(page("usr-1"));
    update.name = Some(valid("renamed"));
    update.description = Some(description("what it is about"));
    update.detail = Some("another text".to_owned());
    let mut named = SegmentUpdate::of(segment("pub"));
    named.name = Some(valid("Published"));
    let gist = LevelEntry { fold: Some(Fold::Gist), ..LevelEntry::default() };
    let step = FoldStep { page: page("usr-3"), before: LevelEntry::default(), after: gist };
    let fold = FoldPlan { steps: vec![step], report: FoldReport::default() };
    let custom =
        |value: &str| Edit::SetCustom { key: valid("goal"), value: Some(value.to_owned()) };
    vec![
        new_leaf("usr-0", "first"),                                      // usr-1
        new_leaf("usr-0", "second"),                                     // usr-2
        new_directory("usr-0", "directory", &["usr-2"]),                 // usr-3
        Edit::AddTurn { segment: segment("usr"), messages: messages() }, // usr-4
        Edit::ExtendTurn { segment: segment("usr"), messages: vec![assistant("and more")] },
        Edit::PublishTurn {
            segment: segment("pub"),
            agent: valid("alpha"),
            messages: messages(),
            sources: vec![page("usr-1")],
        },
        Edit::UpdatePage(update),
        Edit::ExpandDetails(page("usr-1")),
        Edit::HideDetails(page("usr-1")),
        Edit::PinPage(page("usr-1")),
        Edit::UnpinPage(page("usr-1")),
        Edit::FocusPage(page("usr-1")),
        Edit::SwitchLevel(contexture_core::Level::Summary),
        Edit::RecordRound { action: "press bell.ring".to_owned(), result: "rang".to_owned() },
        Edit::FoldPages(fold),
        custom("win"),
        Edit::MovePage { page: page("usr-1"), to: page("usr-3") },
        Edit::MovePage { page: page("usr-2"), to: page("tool-0") }, // tool-1
        Edit::ArchivePage(page("usr-1")),
        Edit::RestorePage { page: page("usr-1"), to: None },
        Edit::RemovePage(page("usr-1")),
        Edit::RestorePage { page: page("usr-1"), to: None },
        Edit::RemovePage(page("usr-1")),
        Edit::PurgePage(page("usr-1")),
        Edit::UpdateSegment(named),
        Edit::SetPermission {
            segment: segment("tool"),
            permission: contexture_core::Permission::ReadWrite,
        },
        Edit::Batch(vec![
            new_leaf("tool-0", "in a batch"),
            Edit::PinPage(page("tool-1")),
            Edit::ExpectCustom { key: valid("goal"), value: Some("win".to_owned()) },
            custom("lose"),
        ]),
        Edit::Undo { revision: None },
        Edit::RemoveSegment { segment: segment("prm"), cascade: true, force: true },
        Edit::Undo { revision: None },
    ]
}
