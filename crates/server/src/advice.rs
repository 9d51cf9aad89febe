//! Words what to do next about an error, in terms of routes.

use contexture_core::Advice;

/// Returns the hint for a piece of advice from the core. Routes are named from the session on.
pub(crate) fn words(advice: &Advice) -> String {
    let words = match advice {
        Advice::History => "GET /history lists the edits",
        Advice::NameEdit => "GET /history lists the edits; POST /undo with a revision undoes one",
        Advice::HistorySince => "GET /history shows what happened since",
        Advice::FindPage => "GET /pages and GET /find show the pages you can see",
        Advice::ListArchived => "GET /pages?archived=true shows the pages you can restore",
        Advice::RestorePage { page: None } => "POST /pages/INDEX/restore brings it back",
        Advice::RestorePage { page: Some(page) } => {
            return format!("POST /pages/{page}/restore brings it back");
        }
        Advice::ListSegments => "GET /segments shows the segments you can see",
        Advice::MakeSession { session } => {
            return format!(
                "PUT /v1/sessions/{session} creates it; GET /v1/sessions lists all sessions"
            );
        }
        Advice::RunAsSystem => "use a token of the system side",
        Advice::Cascade => "add ?cascade=true to move its pages to the archive",
        Advice::Force => "add &force=true as well to remove it anyway",
        Advice::LoadElsewhere => "load into a new session",
        Advice::ReadPage { page } => {
            return format!("read it with GET /pages/{page}, then decide again");
        }
        Advice::ListAnchors => "GET /window?format=context lists the current anchors",
        Advice::PresentWindow => "GET /window shows the current one",
        Advice::SendWindow => {
            "POST /window with \"fold\": true sends one; numbers start at 1 in each view and format"
        }
        Advice::OpenExchange => "open one with POST /append or POST /turns/open",
        Advice::AnswerCalls => {
            "answer each call with POST /append or POST /turns/results, or close the exchange with POST /turns/close"
        }
        Advice::BeginTurn => "start one with POST /turns",
        Advice::MoveAcross => {
            "name pages of the parent's segment, each once; POST /pages/INDEX/move moves a page to another segment"
        }
        Advice::Text(_)
        | Advice::NameDirectory
        | Advice::NameTarget
        | Advice::LeavePromptRoot
        | Advice::ArchivePrompt { .. }
        | Advice::RewritePrompt { .. }
        | Advice::OtherFormat
        | Advice::CopyAgain
        | Advice::CopyElsewhere { .. }
        | Advice::OtherStore
        | Advice::MakeStore
        | Advice::WritableStore
        | Advice::CheckStore => return advice.to_string(),
    };
    words.to_owned()
}
