//! Commands that any process can run which has the store open: what they take, and nothing of where they began.

use serde::{Deserialize, Serialize};

use crate::{
    commands::{Status, find, page, recall, turn, window},
    error::Result,
    printer::Printer,
    settings::Settings,
};

/// A command that another process can run: its arguments, with all files read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    Window(window::Args),
    Find(find::Args),
    Recall(recall::Args),
    ShowPage(page::ShowArgs),
    Turn(turn::Write),
}

impl Job {
    /// Runs it in this process.
    pub(crate) async fn run(
        self,
        settings: &Settings,
        printer: &mut Printer<'_>,
    ) -> Result<Status> {
        match self {
            Job::Window(args) => window::run(args, settings, printer).await,
            Job::Find(args) => find::run(args, settings, printer).await,
            Job::Recall(args) => recall::run(args, settings, printer).await,
            Job::ShowPage(args) => page::show(args, settings, printer).await,
            Job::Turn(write) => turn::run(write, settings, printer).await,
        }
    }
}

#[cfg(feature = "server")]
impl Job {
    /// Returns whether it searches, which may need a model that compares meanings.
    pub(crate) fn searches(&self) -> bool {
        match self {
            Job::Find(_) | Job::Recall(_) => true,
            Job::Window(_) | Job::ShowPage(_) | Job::Turn(_) => false,
        }
    }

    /// Returns what it may have written that a second run would write again.
    pub(crate) fn writes(&self) -> Option<&'static str> {
        match self {
            Job::Window(args) => {
                args.sends().then_some("the window may have been recorded as sent")
            }
            Job::Recall(args) => (!args.is_preview()).then_some("pages may have been brought back"),
            Job::Turn(write) => (!write.is_keyed()).then_some("it may have been written"),
            Job::Find(_) | Job::ShowPage(_) => None,
        }
    }
}
