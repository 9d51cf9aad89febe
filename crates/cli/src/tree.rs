//! The tree of pages: loaded within bounds, and drawn for people.

use contexture_agents::wire::TreeBounds;
use contexture_core::{PageIndex, PageView, Session, storage::Order};
use futures::future::{FutureExt, LocalBoxFuture};

use crate::{error::Result, lines, printer::Paint};

/// A page with the part of its subtree that was loaded.
pub(crate) struct Branch {
    seen: PageView,
    /// For a root: the kind and the permission of its segment.
    segment: Option<String>,
    /// How many children it has, loaded or not.
    child_count: u64,
    children: Vec<Branch>,
    /// Which children come first.
    order: Order,
}

impl Branch {
    /// Loads the tree below a page.
    pub(crate) async fn grow(
        session: &Session,
        seen: PageView,
        bounds: &mut TreeBounds,
    ) -> Result<Self> {
        grow(session, seen, bounds.depth, bounds).await
    }

    /// Draws the tree, one line per page.
    pub(crate) fn draw(&self, paint: Paint) -> Vec<String> {
        let mut drawn = vec![self.label(paint)];
        self.draw_children(paint, "", &mut drawn);
        drawn
    }

    fn draw_children(&self, paint: Paint, indent: &str, drawn: &mut Vec<String>) {
        let unseen = self.unseen();
        let last = self.children.len().saturating_sub(1);
        for (at, child) in self.children.iter().enumerate() {
            let is_last = at == last && unseen.is_none();
            let (twig, deeper) =
                if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            drawn.push(format!("{}{}", paint.dim(format!("{indent}{twig}")), child.label(paint)));
            child.draw_children(paint, &format!("{indent}{deeper}"), drawn);
        }
        drawn.extend(unseen.map(|unseen| paint.dim(format!("{indent}└── {unseen}"))));
    }

    fn label(&self, paint: Paint) -> String {
        let seen = &self.seen;
        let mut marks: Vec<String> = self.segment.iter().cloned().collect();
        marks.extend(lines::marks(seen));
        marks.extend(lines::message_count(seen));
        if seen.page.is_contents() {
            marks.push(lines::count(self.child_count, "page"));
        }
        let index = paint.id(&seen.page.index);
        lines::join([index, lines::name(paint, seen), paint.dim(marks.join(", "))])
    }

    /// Returns how many children were not loaded, and which command shows them.
    fn unseen(&self) -> Option<String> {
        let grown = self.children.len() as u64;
        let rest = self.child_count.saturating_sub(grown);
        let index = &self.seen.page.index;
        let count = lines::grouped(rest);
        match (rest, grown, self.order) {
            (0, ..) => None,
            (_, 0, _) => Some(format!("… {count} below (page tree {index})")),
            (.., Order::Forward) => Some(format!(
                "… {count} more (page children {index}; newest first: page tree {index} --newest)"
            )),
            (.., Order::Backward) => Some(format!("… {count} older (page children {index})")),
        }
    }
}

fn grow<'a>(
    session: &'a Session,
    seen: PageView,
    depth: usize,
    bounds: &'a mut TreeBounds,
) -> LocalBoxFuture<'a, Result<Branch>> {
    async move {
        bounds.pages = bounds.pages.saturating_sub(1);
        let (order, children) = (bounds.order, Vec::new());
        let mut branch = Branch { seen, segment: None, child_count: 0, children, order };
        if !branch.seen.page.is_contents() {
            return Ok(branch);
        }
        let index: PageIndex = branch.seen.page.index.clone();
        let reader = session.reader();
        if index.is_root() {
            let segment = reader.segment(index.segment())?;
            branch.segment = Some(format!("{}, {}", segment.kind, segment.permission));
        }
        let wanted = if depth == 0 { 0 } else { bounds.children.min(bounds.pages) };
        let listing = reader.children(&index, order, None, wanted).await?;
        branch.child_count = listing.items.len() as u64;
        if listing.more {
            branch.child_count = reader.child_count(&index).await?;
        }
        for child in listing.items {
            if bounds.pages == 0 {
                break;
            }
            branch.children.push(grow(session, child, depth - 1, bounds).await?);
        }
        Ok(branch)
    }
    .boxed_local()
}
