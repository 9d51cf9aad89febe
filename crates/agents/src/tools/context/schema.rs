//! How context tools are described to a model. The bytes are fixed: they are part of every prompt.

use super::Kind;

/// Returns a tool's name, description and schema.
pub(super) fn of(kind: Kind) -> (&'static str, &'static str, &'static str) {
    match kind {
        Kind::ExpandDetails => (
            "expand_details",
            "Opens a page that is folded or hidden in the window and returns its content; for a directory, the list of its pages. The prompt cache stays valid.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."},"offset":{"type":"integer","minimum":0,"description":"Where to read on in a long page, as the previous answer said."}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::HideDetails => (
            "hide_details",
            "Hides a page you no longer need: one line takes its place. Frees tokens at once; everything after it is read again once. It can be expanded again.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::PinPage => (
            "pin_page",
            "Pins a page you need all the time: your window shows it in full, and no fold lowers it until you unpin it. Pinned pages may take half of the budget; of a directory only its list of pages stays. Pinning a page already shown in full keeps the prompt cache.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::UnpinPage => (
            "unpin_page",
            "Removes a pin: the page may fold again when room is needed.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::UpdatePage => (
            "update_page",
            "Changes a page's name or description; a field left out or empty stays as it is.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."},"name":{"type":"string"},"description":{"type":"string"}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::MovePage => (
            "move_page",
            "Moves a page, with all pages below it, to the end of a directory.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."},"to":{"type":"string","description":"The directory's index."}},"required":["page","to"],"additionalProperties":false}"#,
        ),
        Kind::RemovePage => (
            "remove_page",
            "Moves a page, with all pages below it, out of the tree to the archive.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::RestorePage => (
            "restore_page",
            "Returns a page, with all pages below it, from the archive to the tree. find_page lists the archive with archived: true.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."},"to":{"type":"string","description":"The directory to put it in, at the end; by default its old place."}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::CreateDetailPage => (
            "create_detail_page",
            "Writes a note as a page of its own, so that you can find it again.",
            r#"{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string","description":"What the page is about; shown in the window while the page is hidden."},"detail":{"type":"string","description":"The text of the page."},"parent":{"type":"string","description":"The directory's index; by default the root of the segment you write to."}},"required":["name","detail"],"additionalProperties":false}"#,
        ),
        Kind::CreateContentsPage => (
            "create_contents_page",
            "Creates a directory and puts pages into it.",
            r#"{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"parent":{"type":"string","description":"The directory it goes into; by default the root of the segment you write to."},"children":{"type":"array","items":{"type":"string"},"description":"Indices of pages to put into it, in order."}},"required":["name"],"additionalProperties":false}"#,
        ),
        Kind::FindPage => (
            "find_page",
            "Finds pages by what was said in them, in any language, best first, including folded ones: words, a question, \"a phrase\", pre*. Each comes with the place that fits; expand_details opens it. Pages in the archive are read with get_page.",
            r#"{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"description":"How many at most; 10 by default, at most 50."},"archived":{"type":"boolean","description":"Look in the archive, where removed pages are, instead of the tree."}},"required":["query"],"additionalProperties":false}"#,
        ),
        Kind::Recall => (
            "recall",
            "Brings back what was said about something and is folded now: the pages that fit best, in full, as the answer, as many as the budget holds.",
            r#"{"type":"object","properties":{"query":{"type":"string"},"budget":{"type":"integer","minimum":1,"description":"How many tokens the answer may take; by default a sixteenth of the window."},"archived":{"type":"boolean","description":"Look in the archive, where removed pages are, instead of the tree."}},"required":["query"],"additionalProperties":false}"#,
        ),
        Kind::GetPage => (
            "get_page",
            "Returns the name, description, type, directory, level, version, size and text of a page, in the tree or the archive. Its place in the window stays as it is: expand_details opens it there.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"The page's index, such as usr-3."},"offset":{"type":"integer","minimum":0,"description":"Where to read on in a long page, as the previous answer said."}},"required":["page"],"additionalProperties":false}"#,
        ),
        Kind::ReadWindow => (
            "read_window",
            "Lists what your window shows, in order: each page or run with its level and the tokens it takes, and how full the window is.",
            r#"{"type":"object","properties":{"offset":{"type":"integer","minimum":0,"description":"Where to read on in a long list, as the previous answer said."}},"additionalProperties":false}"#,
        ),
    }
}
