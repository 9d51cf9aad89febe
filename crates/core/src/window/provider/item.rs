//! Items: one message, content or input item as JSON text, and the shape its rules are checked on.

use std::ops::Range;

use super::json::push_escaped;
use crate::PageIndex;

/// A piece rendered for one format: its items, and what of them may have to be named anew.
#[derive(Debug, Clone)]
pub struct RenderedPiece {
    pub(super) page: PageIndex,
    pub(super) items: Vec<Item>,
    /// The ids of its calls, in order, as the format spells them.
    pub(super) calls: Vec<String>,
    pub(super) repaired: Vec<String>,
}

impl RenderedPiece {
    /// Returns the JSON of each item, in order.
    pub fn items(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| item.json.as_str())
    }

    /// Returns the bytes its items take in memory.
    pub fn bytes(&self) -> usize {
        self.items.iter().map(|item| item.json.capacity() + size_of::<Item>()).sum()
    }

    /// Gives room back that was taken while it was written, before it is kept.
    pub(crate) fn shrink(&mut self) {
        self.items.iter_mut().for_each(|item| item.json.shrink_to_fit());
    }
}

/// One message, content or input item.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) json: String,
    pub(super) shape: Shape,
    /// Where ids stand in the text: those of `shape.calls`, then those of `shape.answers`.
    pub(super) slots: Vec<Slot>,
}

/// A place in an item's text where the id of a call stands.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// Which of the piece's calls.
    pub(super) call: usize,
    /// The id's bytes, without the quotes.
    pub(super) range: Range<usize>,
}

impl Item {
    /// Begins an item.
    pub(super) fn new(who: Who, json: &str) -> Self {
        Self { json: json.to_owned(), shape: Shape::new(who), slots: Vec::new() }
    }

    /// Writes the id of a call as a JSON string, to be found again.
    pub(super) fn push_id(&mut self, call: usize, id: &str) {
        self.json.push('"');
        let start = self.json.len();
        push_escaped(&mut self.json, id);
        self.slots.push(Slot { call, range: start..self.json.len() });
        self.json.push('"');
    }

    /// Returns the item with the ids of calls as `ids` has them, or `None` if they already are so.
    pub(super) fn renamed(&self, ids: &[String]) -> Option<Self> {
        let shape = &self.shape;
        let ties = shape.calls.iter().chain(&shape.answers);
        if ties.zip(&self.slots).all(|(tie, slot)| tie.id == ids[slot.call]) {
            return None;
        }
        let mut renamed = self.clone();
        // From the back, so that the ranges before stay true.
        for slot in self.slots.iter().rev() {
            let mut id = String::new();
            push_escaped(&mut id, &ids[slot.call]);
            renamed.json.replace_range(slot.range.clone(), &id);
        }
        let shape = &mut renamed.shape;
        for (tie, slot) in shape.calls.iter_mut().chain(&mut shape.answers).zip(&self.slots) {
            tie.id.clone_from(&ids[slot.call]);
        }
        Some(renamed)
    }
}

/// What the rules need to know of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) who: Who,
    /// The calls it opens.
    pub(super) calls: Vec<Tie>,
    /// The calls it answers.
    pub(super) answers: Vec<Tie>,
    /// How many content blocks it has.
    pub(super) blocks: usize,
    /// How many of them are texts that say nothing.
    pub(super) empty: usize,
    /// Whether a result stands behind another block.
    pub(super) late_answer: bool,
    /// Whether it ends with the model's thinking.
    pub(super) ends_thinking: bool,
}

impl Shape {
    pub(super) fn new(who: Who) -> Self {
        Self {
            who,
            calls: Vec::new(),
            answers: Vec::new(),
            blocks: 0,
            empty: 0,
            late_answer: false,
            ends_thinking: false,
        }
    }
}

/// What ties a call and its result: the id, and the tool's name where the format has it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tie {
    pub(super) id: String,
    pub(super) name: String,
}

/// Who speaks in an item, or what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    System,
    User,
    Model,
    /// An OpenAI tool message.
    Tool,
    /// A Responses function call.
    Call,
    /// A Responses function call's output.
    Output,
    /// A Responses reasoning item.
    Reasoning,
    /// A Responses item of another kind, opaque to us.
    Opaque,
}

/// A piece being rendered.
pub(super) struct Draft {
    pub(super) page: PageIndex,
    pub(super) items: Vec<Item>,
    pub(super) calls: Vec<String>,
    pub(super) repaired: Vec<String>,
}

impl Draft {
    pub(super) fn new(page: &PageIndex) -> Self {
        let page = page.clone();
        Self { page, items: Vec::new(), calls: Vec::new(), repaired: Vec::new() }
    }

    /// Counts a call of the piece and returns its number.
    pub(super) fn call(&mut self, id: &str) -> usize {
        self.calls.push(id.to_owned());
        self.calls.len() - 1
    }

    pub(super) fn finish(self) -> RenderedPiece {
        let Self { page, items, calls, repaired } = self;
        RenderedPiece { page, items, calls, repaired }
    }
}
