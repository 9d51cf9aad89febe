//! Words what to do next about an error, in terms of commands and flags.

use contexture_agents::{AgentsError, ModelError};
use contexture_core::Advice;

/// Returns the hint for an error with agents.
pub(crate) fn with_agents(error: &AgentsError) -> String {
    match error {
        AgentsError::AgentNotFound { nearest: Some(nearest), .. } => {
            format!("did you mean '{nearest}'? `contexture agents list` shows all agents")
        }
        AgentsError::AgentNotFound { nearest: None, .. } => {
            "`contexture agents list` shows all agents, `contexture agents create NAME` creates one"
                .to_owned()
        }
        AgentsError::FileBroken { name, .. } => {
            format!("run `contexture agents validate {name}` to see what is wrong with it")
        }
        AgentsError::MaybeBroken { .. } => {
            "run `contexture agents validate` to see what is wrong with them".to_owned()
        }
        AgentsError::RunInterrupted { agent, .. } => format!(
            "finish it with `contexture agents run {agent} --resume`, or end it with the purge: \
             `contexture page purge --give-up-runs`"
        ),
        AgentsError::AlreadyRunning { .. } => {
            "wait for it, or run it in another session with --session NAME".to_owned()
        }
        AgentsError::BrokenOverride { agent, .. } => {
            format!("set it again with `contexture agents context {agent} --mode isolated`")
        }
        AgentsError::NoMainSegment { .. } => "create it with `contexture init`".to_owned(),
        AgentsError::PromptLost { .. } => words(&Advice::CheckStore),
        AgentsError::Model(ModelError::ContextLength { .. }) => {
            "use a smaller --budget, or another model with --model".to_owned()
        }
        AgentsError::Core(error) => words(&error.advice()),
        other => other.hint(),
    }
}

/// Returns the hint for a piece of advice from the core.
pub(crate) fn words(advice: &Advice) -> String {
    let words = match advice {
        Advice::Text(text) => text,
        Advice::History => "`contexture history` lists the edits",
        Advice::NameEdit => {
            "`contexture history` lists the edits; `contexture undo REVISION` undoes one"
        }
        Advice::HistorySince => "`contexture history` shows what happened since",
        Advice::NameDirectory => {
            "choose a directory; `contexture page list` shows them with a trailing slash"
        }
        Advice::NameTarget => "choose the directory to restore it to with --to INDEX",
        Advice::LeavePromptRoot => {
            "leave it: everyone sees the root of a system prompt; `contexture page archive` takes a page below it out of the window"
        }
        Advice::ArchivePrompt { page } => {
            return format!(
                "`contexture page archive {page}` takes it out of the window; or make the segment read-write first"
            );
        }
        Advice::FindPage => {
            "`contexture page list` and `contexture page find` show the pages you can see"
        }
        Advice::ListArchived => "`contexture page list --archived` shows the pages you can restore",
        Advice::RestorePage { page: None } => "`contexture page restore INDEX` brings it back",
        Advice::RestorePage { page: Some(page) } => {
            return format!("`contexture page restore {page}` brings it back");
        }
        Advice::ListSegments => "`contexture segment list` shows the segments you can see",
        Advice::MakeSession { session } => {
            return format!(
                "`contexture --session {session} init` creates it; `contexture session list` shows all sessions"
            );
        }
        Advice::RunAsSystem => "run the command without --as",
        Advice::Cascade => "add --cascade to move its pages to the archive",
        Advice::Force => "add --force as well to remove it anyway",
        Advice::LoadElsewhere => "load into a new session with --session NAME",
        Advice::ReadPage { page } => {
            return format!("look at it with `contexture page show {page}`, then decide again");
        }
        Advice::ListAnchors => "`contexture window` shows the current anchors",
        Advice::RewritePrompt { page } => {
            return format!(
                "write it again with `contexture page update {page} --detail TEXT`, or accept the loss \
                 with `contexture store check --accept-losses`"
            );
        }
        Advice::PresentWindow => "`contexture window` shows the current one",
        Advice::SendWindow => {
            "`contexture window --fold` sends one; numbers start at 1 in each view and format"
        }
        Advice::OtherFormat => {
            "report this with the output of `contexture export`; another --format may work"
        }
        Advice::CopyAgain => {
            "copy again; if it fails again, run `contexture store check` on both stores"
        }
        Advice::CopyElsewhere { session } => {
            return format!(
                "nothing was changed; copy to another store, or first remove the session there with \
                 `contexture --store TARGET session remove {session}`"
            );
        }
        Advice::MoveAcross => {
            "name pages of the parent's segment, each once; `contexture page move` moves a page to another segment"
        }
        Advice::OpenExchange => "open one with `contexture turn open`",
        Advice::AnswerCalls => {
            "answer each call with `contexture turn result CALL`, or close the exchange with \
             `contexture turn close --interrupted`"
        }
        Advice::BeginTurn => "start one with `contexture turn add`",
        Advice::OtherStore => {
            "choose another store with --store, or move what is there out of the way"
        }
        Advice::MakeStore => "`contexture init` creates one; or choose another store with --store",
        Advice::WritableStore => {
            "get write access to it (files need a writable folder), or choose another store with --store"
        }
        Advice::CheckStore => {
            "`contexture store check` lists all damage, `contexture store check --repair` repairs what \
             it can; or restore the store from a copy"
        }
    };
    words.to_owned()
}
