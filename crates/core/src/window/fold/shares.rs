//! Shares of the budget that shape a fold.

/// Shares that shape a fold, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FoldShares {
    /// What earlier requests may take, of the budget.
    pub requests: u64,
    /// What recent pages may take that stay in full beside the last, of the room for work: the budget
    /// without prompts, pins and requests.
    pub recent: u64,
    /// What logs and full pages may take after a fold before all is settled again, of the room.
    pub high_water: u64,
    /// Where settling stops, of the room.
    pub low_water: u64,
    /// What lines of turns may take together, of the budget.
    pub lines: u64,
    /// What a part of a page may take when it is first shown, of the budget; a larger one is cut.
    pub part: u64,
    /// After how many folds without being referred to an expanded page folds again. Not a share.
    pub held: u64,
}

impl Default for FoldShares {
    fn default() -> Self {
        Self {
            requests: 250,
            recent: 25,
            high_water: 900,
            low_water: 150,
            lines: 60,
            part: 500,
            held: 3,
        }
    }
}
