//! What to do next about an error, in the words of the command line.

use contexture_agents::AgentsError;
use contexture_core::Advice;

/// Words what to do next about an error with agents.
pub(crate) fn with_agents(error: &AgentsError) -> String {
    match error {
        AgentsError::AgentNotFound { nearest: Some(nearest), .. } => {
            format!("did you mean '{nearest}'? `agents list` shows what there is")
        }
        AgentsError::AgentNotFound { nearest: None, .. } => {
            "`agents list` shows what there is, `agents create NAME` makes one".to_owned()
        }
        AgentsError::FileBroken { name, .. } => {
            format!("`contexture agents validate {name}` says what is wrong with it")
        }
        AgentsError::MaybeBroken { .. } => {
            "`contexture agents validate` says what is wrong with them".to_owned()
        }
        AgentsError::Core(error) => words(&error.advice()),
        other => other.hint(),
    }
}

/// Words an advice of the core.
pub(crate) fn words(advice: &Advice) -> String {
    let words = match advice {
        Advice::Text(text) => text,
        Advice::History => "`history` shows what was done",
        Advice::NameEdit => "`history` shows what was done; name an edit to undo it",
        Advice::HistorySince => "`history` shows what happened since",
        Advice::NameDirectory => "name a directory: `page list` shows each page's type",
        Advice::NameTarget => "name a directory to restore it to: --to INDEX",
        Advice::LeavePromptRoot => {
            "leave it: the root of a system prompt stands for everyone; `page archive` takes a page below it out of the window"
        }
        Advice::ArchivePrompt { page } => {
            return format!(
                "`page archive {page}` takes it out of the window; or make the segment read-write first"
            );
        }
        Advice::FindPage => "`page list` and `page find` show what there is",
        Advice::ListArchived => "`page list --archived` shows what can be restored",
        Advice::RestorePage { page: None } => "`page restore` brings it back",
        Advice::RestorePage { page: Some(page) } => {
            return format!("`page restore {page}` brings it back");
        }
        Advice::ListSegments => "`segment list` shows what there is",
        Advice::MakeSession { session } => {
            return format!(
                "`--session {session} init` makes it; `session list` shows what there is"
            );
        }
        Advice::RunAsSystem => "run it without --as",
        Advice::Cascade => "say --cascade to send its pages to the archive",
        Advice::Force => "say --force as well if it must go",
        Advice::LoadElsewhere => "load into a new session: --session NAME",
        Advice::ReadPage { page } => return format!("`page show {page}`, then decide again"),
        Advice::ListAnchors => "`window` shows the anchors there are",
        Advice::RewritePrompt { page } => {
            return format!(
                "write it again with `page update {page} --detail TEXT`, or accept the loss with \
                 `store check --accept-losses`"
            );
        }
        Advice::PresentWindow => "`window` shows the present one",
        Advice::SendWindow => "`window --fold` sends one; numbers count from 1 per view and format",
        Advice::OtherFormat => "report it with the session's export; another --format may work",
        Advice::CopyAgain => "copy again; if it stays so, `store check` both stores",
        Advice::CopyElsewhere { session } => {
            return format!(
                "nothing was changed; copy to another store, or remove what is there first with \
                 `contexture --store TARGET session remove {session}`"
            );
        }
        Advice::MoveAcross => {
            "name each page of the parent's segment once; `page move` crosses segments"
        }
        Advice::BeginTurn => "begin one with `turn add`",
        Advice::OtherStore => "name another store with --store, or move what lies there away",
        Advice::MakeStore => "`init` makes one; --store names another",
        Advice::WritableStore => {
            "ask for the right to write there (files need a writable folder), or name another store \
             with --store"
        }
        Advice::CheckStore => {
            "`store check` lists all damage, `store check --repair` mends what it can; or restore the \
             store from a copy"
        }
    };
    words.to_owned()
}
