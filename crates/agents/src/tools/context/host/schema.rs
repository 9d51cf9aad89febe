//! How these tools are described to a model: short, because it stands in every prompt.

use super::HostTool;

/// Returns a tool's description and schema.
pub(super) fn of(tool: HostTool) -> (&'static str, &'static str) {
    match tool {
        HostTool::Window => (
            "Shows the session as its model sees it, folded to fit a token budget. With list, only which pages it shows, each with level and size.",
            r#"{"type":"object","properties":{"budget":{"type":"integer","minimum":1,"description":"Tokens it may take; 8000 by default."},"list":{"type":"boolean"},"offset":{"type":"integer","minimum":0,"description":"Where to read on, as the last answer said."}},"additionalProperties":false}"#,
        ),
        HostTool::Read => (
            "Reads a page: its text, level, size and version; of a directory, its pages. Changes nothing.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"Its index, such as usr-3."},"offset":{"type":"integer","minimum":0,"description":"Where to read on, as the last answer said."}},"required":["page"],"additionalProperties":false}"#,
        ),
        HostTool::Find => (
            "Finds pages by what was said, folded ones too, best first: words, a question, \"a phrase\", pre*. With recall, the best come back in full.",
            r#"{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"description":"Pages at most; 10 by default, up to 50."},"recall":{"type":"boolean"},"budget":{"type":"integer","minimum":1,"description":"Tokens that recall may bring back."}},"required":["query"],"additionalProperties":false}"#,
        ),
        HostTool::Expand => (
            "Opens a folded or hidden page and returns its text; of a directory, its pages.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"Its index, such as usr-3."},"offset":{"type":"integer","minimum":0,"description":"Where to read on, as the last answer said."}},"required":["page"],"additionalProperties":false}"#,
        ),
        HostTool::Hide => (
            "Hides a page that is no longer needed: a line takes its place. expand brings it back.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"Its index, such as usr-3."}},"required":["page"],"additionalProperties":false}"#,
        ),
        HostTool::Pin => (
            "Keeps a page in full in every window. pinned false takes the pin back.",
            r#"{"type":"object","properties":{"page":{"type":"string","description":"Its index, such as usr-3."},"pinned":{"type":"boolean"}},"required":["page"],"additionalProperties":false}"#,
        ),
        HostTool::Write => (
            "Writes a note: create a page (name, text) or a directory (name, pages), update a page, or append text to it. With version, only if the page is still at it.",
            r#"{"type":"object","properties":{"action":{"type":"string","enum":["create","update","append"]},"page":{"type":"string","description":"To update or append to."},"name":{"type":"string"},"description":{"type":"string"},"text":{"type":"string"},"parent":{"type":"string","description":"Directory to create in; by default where you write."},"pages":{"type":"array","items":{"type":"string"},"description":"Pages that the new directory takes."},"version":{"type":"integer","minimum":1}},"required":["action"],"additionalProperties":false}"#,
        ),
        HostTool::Organise => (
            "Moves a page to a directory, removes it to the archive, or restores it from there.",
            r#"{"type":"object","properties":{"action":{"type":"string","enum":["move","remove","restore"]},"page":{"type":"string"},"to":{"type":"string","description":"The directory; restore needs none."}},"required":["action","page"],"additionalProperties":false}"#,
        ),
        HostTool::Undo => (
            "Takes back your newest edit, or the one named by its revision.",
            r#"{"type":"object","properties":{"revision":{"type":"integer","minimum":1}},"additionalProperties":false}"#,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_short() {
        let described: usize = HostTool::ALL.iter().map(|tool| of(*tool).0.len()).sum();
        assert!(described < 1_200, "{described}");
        let all: usize = HostTool::ALL.iter().map(|tool| of(*tool).1.len()).sum();
        assert!(all < 4_000, "{all}");
    }
}
