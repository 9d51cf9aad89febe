//! What a search is narrowed to, beside what a view sees.

use contexture_core::{Actor, Role};

use super::class::Class;

/// What a search is narrowed to. Only what passes is found; what stands around it still counts for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Narrow {
    /// Who wrote it; nobody: anyone.
    pub(crate) by: Vec<Actor>,
    /// The message's role; none: any.
    pub(crate) roles: Vec<Role>,
    /// The tools it calls, or whose results it has; none: it need not.
    pub(crate) tools: Vec<String>,
    /// When it was said, in milliseconds: from then on, and before.
    pub(crate) since: Option<i64>,
    pub(crate) until: Option<i64>,
}

impl Narrow {
    /// Tells whether documents of a class may pass.
    pub(crate) fn admits(&self, class: &Class) -> bool {
        let has_role = || class.role().is_some_and(|role| self.roles.contains(&role));
        (self.by.is_empty() || self.by.contains(&class.author))
            && (self.roles.is_empty() || has_role())
    }

    /// Tells whether a time is asked for.
    pub(crate) fn has(&self, said: i64) -> bool {
        self.since.is_none_or(|since| said >= since) && self.until.is_none_or(|until| said < until)
    }
}
