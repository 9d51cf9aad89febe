//! Which lines of a session are the conversation as it stands.
//!
//! Every line names the line it follows. Where somebody went back and said something else, two
//! lines follow the same one, and only one branch is the conversation. The rule:
//!
//! - The branch is that of the last line on which somebody speaks, followed back line by line.
//! - A line whose parent is not in the file follows the message before it: writers lose lines.
//! - Parallel calls make forks that are no branches, since each result follows its own call. So the
//!   other lines of a reply on the branch belong to it, and so do results its calls still lack.
//! - A line without an id belongs to it as well: nothing says otherwise.

use std::collections::{HashMap, HashSet};

/// What a line says about its place.
#[derive(Debug, Clone, Default)]
pub(super) struct Node<'a> {
    /// Its own id.
    pub(super) id: Option<&'a str>,
    /// Which line it follows.
    pub(super) parent: Parent<'a>,
    /// Whether somebody speaks.
    pub(super) speaks: bool,
    /// The reply of the model it is a piece of.
    pub(super) reply: Option<&'a str>,
    /// What it says, as it was written.
    pub(super) content: &'a str,
    /// The calls it makes.
    pub(super) calls: Vec<&'a str>,
    /// The calls it answers.
    pub(super) answers: Vec<&'a str>,
}

/// Which line another follows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Parent<'a> {
    /// None: a conversation begins.
    #[default]
    None,
    /// The line of that id.
    Line(&'a str),
    /// The message before it in the file.
    MessageBefore,
}

/// Tells for each line whether it belongs to the conversation as it stands.
pub(super) fn main_line(nodes: &[Node<'_>]) -> Vec<bool> {
    let Some(last) = nodes.iter().rposition(|node| node.speaks) else {
        return vec![true; nodes.len()];
    };
    if nodes[last].id.is_none() {
        return vec![true; nodes.len()];
    }
    let mut on = follow_back(nodes, last);
    take_what_forks_off(nodes, &mut on);
    for (node, on) in nodes.iter().zip(&mut on) {
        *on |= node.id.is_none();
    }
    on
}

fn follow_back(nodes: &[Node<'_>], last: usize) -> Vec<bool> {
    let by_id: HashMap<&str, usize> =
        nodes.iter().enumerate().filter_map(|(at, node)| Some((node.id?, at))).collect();
    let message_before = |at: usize| nodes[..at].iter().rposition(|node| node.speaks);
    let mut on = vec![false; nodes.len()];
    let mut next = Some(last);
    // A line met twice ends the walk: ids may form a circle.
    while let Some(at) = next.filter(|at| !on[*at]) {
        on[at] = true;
        next = match nodes[at].parent {
            Parent::None => None,
            Parent::Line(id) => by_id.get(id).copied().or_else(|| message_before(at)),
            Parent::MessageBefore => message_before(at),
        };
    }
    on
}

fn take_what_forks_off(nodes: &[Node<'_>], on: &mut [bool]) {
    let mut taken = Taken::default();
    for (node, _) in nodes.iter().zip(&*on).filter(|(_, on)| **on) {
        taken.add(node);
    }
    for (node, on) in nodes.iter().zip(on).filter(|(_, on)| !**on) {
        if node.speaks && (taken.lacks_piece(node) || taken.lacks_results(node)) {
            *on = true;
            taken.add(node);
        }
    }
}

/// What the lines taken so far are and say.
#[derive(Default)]
struct Taken<'a> {
    ids: HashSet<&'a str>,
    replies: HashSet<&'a str>,
    pieces: HashSet<(&'a str, &'a str)>,
    calls: HashSet<&'a str>,
    answers: HashSet<&'a str>,
}

impl<'a> Taken<'a> {
    fn add(&mut self, node: &Node<'a>) {
        self.ids.extend(node.id);
        self.replies.extend(node.reply);
        self.pieces.extend(node.reply.map(|reply| (reply, node.content)));
        self.calls.extend(&node.calls);
        self.answers.extend(&node.answers);
    }

    /// Tells whether a line is another piece of a reply taken, rather than a copy of one.
    fn lacks_piece(&self, node: &Node<'a>) -> bool {
        node.reply.is_some_and(|reply| {
            self.replies.contains(reply)
                && !self.pieces.contains(&(reply, node.content))
                && matches!(node.parent, Parent::Line(parent) if self.ids.contains(parent))
        })
    }

    fn lacks_results(&self, node: &Node<'a>) -> bool {
        let lacks = |call: &&str| self.calls.contains(call) && !self.answers.contains(call);
        !node.answers.is_empty() && node.answers.iter().all(lacks)
    }
}
