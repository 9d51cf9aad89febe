//! Lines of the engine: heads, stubs, runs and directories, in the two styles a window is written in.
//!
//! What comes from outside (names, descriptions, words of a page) is escaped and filtered, quoted
//! and labelled, never worded as an instruction. A line says nothing that moves when pages are
//! appended: counts of what may still grow do not stand in it.

mod logs;

use super::{
    escape::{escape_text, flatten, quote_text},
    filter::SensitiveFilter,
    piece::Mark,
    trim::Omitted,
};
use crate::{Actor, AgentName, Page, PageIndex, SegmentKind, Trust, context::PageAction};

pub(crate) use logs::{FILES, LineItem};

/// How lines are written.
#[derive(Clone, Copy)]
pub(crate) struct Style<'a> {
    /// The mark they carry in provider formats; none in `markdown`, where anchors tell them apart.
    pub mark: Option<&'a Mark>,
    /// What is taken out of texts that stubs quote.
    pub filter: &'a dyn SensitiveFilter,
}

/// Tells whether a page's text came from the system side and stands as it is.
pub(crate) fn is_trusted(kind: SegmentKind, page: &Page) -> bool {
    kind == SegmentKind::System && page.trust == Trust::System
}

impl Style<'_> {
    /// Returns outside text between quotes: without what is sensitive, without the mark, and such
    /// that it cannot end the quoted part.
    fn quoted(&self, text: &str) -> String {
        quote_text(&self.harmless(text))
    }

    /// The same, without quotes where it is a single word that needs none.
    fn word(&self, text: &str) -> String {
        let text = flatten(&self.harmless(text));
        if text.contains([' ', '"']) { quote_text(&text) } else { escape_text(&text).into_owned() }
    }

    fn harmless(&self, text: &str) -> String {
        let redacted = self.filter.redact(text);
        match self.mark {
            Some(mark) => mark.defuse(&redacted).into_owned(),
            None => redacted.into_owned(),
        }
    }

    fn begin(&self, tag: &str, index: &PageIndex) -> String {
        match self.mark {
            Some(mark) => format!("{} {index}", mark.tag()),
            None => format!("{tag} **[{index}]**"),
        }
    }

    fn title(&self, page: &Page, line: &mut String) {
        line.push(' ');
        line.push_str(&self.quoted(page.name.as_str()));
        if !page.description.as_str().is_empty() {
            line.push_str(": ");
            line.push_str(&self.quoted(page.description.as_str()));
        }
    }

    fn button(&self, action: PageAction, index: &PageIndex, line: &mut String) {
        if self.mark.is_none() {
            line.push_str(&format!(" [button:{}]", action.key(index)));
        }
    }

    /// Returns the line over a page that stands in full.
    pub(crate) fn head(&self, page: &Page, may_hide: bool) -> String {
        let mut line = self.begin("[FULL]", &page.index);
        self.title(page, &mut line);
        if let Some(rewritten) = rewritten(page) {
            line.push_str(&format!(" ({rewritten})"));
        }
        if may_hide {
            self.button(PageAction::Hide, &page.index, &mut line);
        }
        line
    }

    /// Returns the line over what was asked in a page, where the rest of it is folded.
    pub(crate) fn asked(&self, page: &Page) -> String {
        let mut line = self.begin("[ASKED]", &page.index);
        if let Some(rewritten) = rewritten(page) {
            line.push_str(&format!(" ({rewritten})"));
        }
        line
    }

    /// Returns the lines of a turn's messages, where anything needs saying: `another` is the agent it
    /// belongs to, where that is not the reader.
    ///
    /// The first stands over the messages. The second, if there is one, closes the request that they
    /// begin with. Both stay true whatever becomes of the turn: neither says whether there is an
    /// answer yet.
    pub(crate) fn turn(&self, page: &Page, another: Option<&AgentName>) -> Option<String> {
        let begin = self.begin("[TURN]", &page.index);
        let begins = page.turn.as_ref() == Some(&page.index);
        let whose = another.map(|agent| {
            if begins {
                format!("asked of agent {agent}, not of you")
            } else {
                format!("agent {agent} goes on")
            }
        });
        let said: Vec<String> = whose.into_iter().chain(rewritten(page)).collect();
        if said.is_empty() {
            return None;
        }
        let mut lines = format!("{begin} {}", said.join("; "));
        if let (Some(agent), true, None) = (another, begins, &page.rewritten_by) {
            lines.push_str(&format!("\n{begin} end of what agent {agent} was asked"));
        }
        Some(lines)
    }

    /// Returns the line at the end of a window that says what is still to be answered there.
    pub(crate) fn open_request(&self, turn: &PageIndex) -> String {
        let begin = self.begin("[TURN]", turn);
        format!("{begin} is yours to answer; what stands after it was asked of others")
    }

    /// Returns the line in place of something that was shown once and no longer may be: the page
    /// itself, or lines that speak of another, which may not be known.
    pub(crate) fn withheld(&self, page: &PageIndex, spoken_of: Option<&PageIndex>) -> String {
        let begin = self.begin("[GIST]", page);
        match spoken_of {
            Some(gone) if gone == page => format!("{begin} (no longer in this view)"),
            Some(gone) => format!("{begin} (lines that speak of {gone}, no longer in this view)"),
            None => format!("{begin} (lines that may speak of pages no longer in this view)"),
        }
    }

    /// Returns the heading of a segment.
    pub(crate) fn heading(&self, root: &Page) -> String {
        let mut line = format!("## **[{}]** ", root.index);
        line.push_str(&self.word(root.name.as_str()));
        line
    }

    /// Returns the line of a directory whose pages follow.
    pub(crate) fn directory(&self, page: &Page, may_hide: bool) -> String {
        let mut line = self.begin("[FULL]", &page.index);
        line.push_str(" directory");
        self.title(page, &mut line);
        if may_hide {
            self.button(PageAction::Hide, &page.index, &mut line);
        }
        line
    }

    /// Returns the line that stands for a page: what it is, by whom, how much, and what is most
    /// telling in it, and what can be done to have more or less of it.
    pub(crate) fn stub<'w>(
        &self,
        page: &Page,
        words: impl IntoIterator<Item = &'w str>,
        action: Option<PageAction>,
    ) -> String {
        let mut line = self.begin("[SUMMARY]", &page.index);
        self.title(page, &mut line);
        let author = match rewritten(page) {
            Some(rewritten) => format!("{}, {rewritten}", page.author),
            None => page.author.to_string(),
        };
        match page.detail() {
            Some(detail) => {
                let messages = match detail.messages {
                    1 => "1 message".to_owned(),
                    count => format!("{count} messages"),
                };
                let size = size(detail.weight);
                line.push_str(&format!(" ({author}, {messages}, {size})"));
            }
            None => line.push_str(&format!(" ({author}, directory)")),
        }
        self.extracted(words, &mut line);
        if let Some(action) = action {
            self.button(action, &page.index, &mut line);
        }
        line
    }

    /// Returns the shortest line that stands for a page.
    pub(crate) fn gist(&self, page: &Page) -> String {
        format!("{} {}", self.begin("[GIST]", &page.index), self.quoted(page.name.as_str()))
    }

    /// Adds words, as they are but for what is escaped; those with blanks stand in quotes.
    fn extracted<'w>(&self, words: impl IntoIterator<Item = &'w str>, line: &mut String) {
        for (at, word) in words.into_iter().enumerate() {
            line.push_str(if at == 0 { " extracted: " } else { " " });
            line.push_str(&self.word(word));
        }
    }

    /// Returns the line that stands where a large text was cut.
    pub(crate) fn omitted(&self, omitted: &Omitted) -> String {
        let mark = self.mark.map_or(String::new(), |mark| format!("{} ", mark.tag()));
        let (size, lines) = (size(omitted.bytes), omitted.lines);
        let mut line = format!("{mark}({size} omitted here, {lines} lines; the page holds all)");
        if self.mark.is_some() {
            self.extracted(omitted.words.iter().map(String::as_str), &mut line);
        } else if !omitted.words.is_empty() {
            // In Markdown it stands within a text that is escaped as a whole, and only once.
            let words = self.filter.redact(&omitted.words.join(" ")).into_owned();
            line.push_str(&format!(" extracted: {words}"));
        }
        line
    }
}

/// Says who replaced what a page says, where that was not its author.
fn rewritten(page: &Page) -> Option<String> {
    page.rewritten_by.as_ref().map(|who| match who {
        Actor::System | Actor::User(_) => "rewritten by the system side".to_owned(),
        Actor::Agent(agent) => format!("rewritten by agent {agent}"),
    })
}

/// Returns a size as people read it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
