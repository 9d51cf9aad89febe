//! The meter: sums over the requests of a policy.

use std::{collections::HashMap, rc::Rc};

use super::{
    charge::{Block, Marked, WRITE, automatic, common},
    talk::{Call, Talk, TextId},
};

/// A message of a request.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Names its bytes, and says what it takes.
    pub(crate) block: Block,
    /// The tokens of original text in it.
    pub(crate) detail: u64,
    /// What it shows.
    pub(crate) shown: Shown,
}

/// What a message of a request shows.
#[derive(Debug)]
pub(crate) enum Shown {
    /// An original message, whole.
    Whole(TextId),
    /// An original message, cut to this text.
    Cut(TextId, Rc<str>),
    /// Something else, such as lines of the engine.
    Other(Rc<str>),
}

/// What a policy asks for at a call to the model.
#[derive(Debug, Default)]
pub(crate) struct PolicyRequest {
    /// Its messages.
    pub(crate) segments: Vec<Rc<Segment>>,
    /// How many of them stand before each breakpoint, the end and the end before left out.
    pub(crate) marks: Vec<usize>,
    /// The request as explicit breakpoints see it, where that is known better.
    pub(crate) explicit: Option<Explicit>,
    /// What the policy itself spent on models.
    pub(crate) extra: f64,
    /// Whether it rewrote the window on purpose.
    pub(crate) folded: bool,
    /// What it takes by the policy's own account.
    pub(crate) account: u64,
}

/// A request in blocks, with its breakpoints.
#[derive(Debug, Default)]
pub(crate) struct Explicit {
    pub(crate) blocks: Vec<Block>,
    pub(crate) marks: Vec<usize>,
}

/// Sums over requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    /// The cost by an automatic cache, writes at their price.
    pub(crate) written: f64,
    /// The same, writes for nothing more.
    pub(crate) plain: f64,
    /// The cost by explicit breakpoints.
    pub(crate) explicit: f64,
    /// The tokens of original text.
    pub(crate) detail: f64,
    /// The tokens of original text without a gap before the call.
    pub(crate) recent: f64,
    /// The uses of strings that do not all stand any more.
    pub(crate) uses: u64,
    /// Those of them that are still visible.
    pub(crate) visible: u64,
    /// How often the window was rewritten on purpose.
    pub(crate) folds: u64,
    /// The fullest window, as a share of the budget.
    pub(crate) fullest: f64,
}

impl Sums {
    /// Adds others.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        self.written += other.written;
        self.plain += other.plain;
        self.explicit += other.explicit;
        self.detail += other.detail;
        self.recent += other.recent;
        self.uses += other.uses;
        self.visible += other.visible;
        self.folds += other.folds;
        self.fullest = self.fullest.max(other.fullest);
        self
    }
}

/// Measures the requests of one policy in one session.
pub(crate) struct Meter<'a> {
    talk: &'a Talk,
    budget: u64,
    before: Vec<Block>,
    marked: Marked,
    /// How many items have said each text so far.
    said: Vec<u32>,
    items: usize,
    sums: Sums,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(talk: &'a Talk, budget: u64) -> Self {
        Self {
            talk,
            budget,
            before: Vec::new(),
            marked: Marked::default(),
            said: vec![0; talk.texts.len()],
            items: 0,
            sums: Sums::default(),
        }
    }

    /// Takes a request into the sums.
    pub(crate) fn take(&mut self, call: &Call, request: &PolicyRequest) {
        let now: Vec<Block> = request.segments.iter().map(|segment| segment.block).collect();
        self.sums.written += automatic(&self.before, &now, WRITE) + request.extra;
        self.sums.plain += automatic(&self.before, &now, 1.0) + request.extra;
        self.sums.explicit += request.extra
            + match &request.explicit {
                Some(explicit) => self.marked.charge(&explicit.blocks, &explicit.marks),
                None => {
                    let mut marks = request.marks.clone();
                    marks.push(now.len());
                    if common(&self.before, &now) == self.before.len() {
                        marks.push(self.before.len());
                    }
                    self.marked.charge(&now, &marks)
                }
            };
        let total = now.iter().map(|block| block.tokens).sum::<u64>().max(request.account);
        self.sums.fullest = self.sums.fullest.max(total as f64 / self.budget as f64);
        self.sums.folds += u64::from(request.folded);
        let detail = request.segments.iter().map(|segment| segment.detail);
        self.sums.detail += detail.sum::<u64>() as f64;
        let unbroken = request.segments.iter().rev().map(|segment| segment.detail);
        self.sums.recent += unbroken.take_while(|detail| *detail > 0).sum::<u64>() as f64;
        self.later_use(call, request);
        self.before = now;
    }

    /// Returns the sums.
    pub(crate) fn finish(self) -> Sums {
        self.sums
    }

    fn later_use(&mut self, call: &Call, request: &PolicyRequest) {
        for item in &self.talk.items[self.items..call.items] {
            self.said[item.text] += 1;
        }
        self.items = call.items;
        let mut whole: HashMap<TextId, u32> = HashMap::new();
        let mut cut: HashMap<TextId, Vec<&str>> = HashMap::new();
        let mut other: Vec<&str> = Vec::new();
        for segment in &request.segments {
            match &segment.shown {
                Shown::Whole(id) => *whole.entry(*id).or_default() += 1,
                Shown::Cut(id, text) => cut.entry(*id).or_default().push(text),
                Shown::Other(text) => other.push(text),
            }
        }
        for (string, held) in &call.uses {
            let (mut gone, mut visible) = (false, false);
            for id in held.iter().filter(|id| self.said[**id] > 0) {
                let cut = cut.get(id).map_or(&[][..], |texts| texts.as_slice());
                let cut = cut.iter().filter(|text| text.contains(&**string)).count();
                let standing = whole.get(id).copied().unwrap_or(0) + cut as u32;
                visible |= standing > 0;
                gone |= standing < self.said[*id];
            }
            if gone {
                visible = visible || other.iter().any(|text| text.contains(&**string));
                self.sums.uses += 1;
                self.sums.visible += u64::from(visible);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Session;

    fn whole(id: TextId) -> Rc<Segment> {
        let block = Block { key: id as u64, tokens: 10 };
        Rc::new(Segment { block, detail: 10, shown: Shown::Whole(id) })
    }

    fn other(text: &str) -> Rc<Segment> {
        let block = Block { key: 99, tokens: 5 };
        Rc::new(Segment { block, detail: 0, shown: Shown::Other(text.into()) })
    }

    #[test]
    fn a_string_counts_once_something_that_held_it_is_gone() {
        let line = r#"{"session_id":"s","messages":[{"role":"user","content":"open src/main"},
            {"role":"user","content":"and src/main again"},{"role":"user","content":"go"},
            {"role":"assistant","content":"reading src/main and src/other"}]}"#;
        let session = Session::parse(&line.replace('\n', " ")).unwrap();
        let counter = contexture_tokens::counter_for("o200k_base");
        let talk = Talk::new(&session, counter.as_ref());
        let measure = |segments: Vec<Rc<Segment>>| {
            let mut meter = Meter::new(&talk, 100);
            meter.take(&talk.calls[0], &PolicyRequest { segments, ..PolicyRequest::default() });
            let sums = meter.finish();
            (sums.uses, sums.visible)
        };
        // All stands: nothing is used that is gone. `src/other` is new.
        assert_eq!(measure(vec![whole(0), whole(1), whole(2)]), (0, 0));
        assert_eq!(measure(vec![whole(1), whole(2)]), (1, 1));
        assert_eq!(measure(vec![whole(2)]), (1, 0));
        assert_eq!(measure(vec![other("run: src/main"), whole(2)]), (1, 1));
        let cut = |text: &str| {
            let block = Block { key: 7, tokens: 5 };
            Rc::new(Segment { block, detail: 5, shown: Shown::Cut(0, text.into()) })
        };
        assert_eq!(measure(vec![cut("op[…]"), whole(1), whole(2)]), (1, 1));
        assert_eq!(measure(vec![cut("[…] src/main"), whole(1), whole(2)]), (0, 0));
    }
}
