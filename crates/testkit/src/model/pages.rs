//! Pages and turns: created, updated, extended.

use contexture_core::{
    Actor, AgentName, ErrorKind, Message, NewContentsPage, NewDetailPage, PageIndex, PageUpdate,
    Role, SegmentId, Trust, Visibility, storage::PageStanding,
};

use super::{Answer, Doing, ModelPage, is_listed};

/// The bytes of text beyond which a page takes no further exchange.
const FULL: usize = 4096;

impl Doing<'_> {
    pub(super) fn create_detail(&mut self, new: &NewDetailPage) -> Answer {
        let parent = self.writable(&new.parent)?;
        if !parent.is_contents {
            return Err(ErrorKind::Invalid);
        }
        let mut trust = self.trust();
        for source in &new.sources {
            trust = trust.min(self.find(source)?.trust);
        }
        let mut page = self.new_page(&new.parent, new.name.as_str(), new.visibility);
        page.description = new.description.to_string();
        page.trust = trust;
        page.sources = new.sources.clone();
        page.texts = self.own_text(&new.detail);
        let index = self.next_index(new.parent.segment());
        self.named.push(index.clone());
        self.put_page(&index, Some(page));
        Ok(())
    }

    pub(super) fn create_contents(&mut self, new: &NewContentsPage) -> Answer {
        let parent = self.writable(&new.parent)?;
        if !parent.is_contents {
            return Err(ErrorKind::Invalid);
        }
        let above = self.model.above(&new.parent);
        for (at, child) in new.children.iter().enumerate() {
            self.writable(child)?;
            let twice = new.children[..at].contains(child);
            let cycle = *child == new.parent || above.contains(child);
            let elsewhere = child.segment() != new.parent.segment();
            if child.is_root() || cycle || elsewhere || twice {
                return Err(ErrorKind::Invalid);
            }
        }
        if new.visibility != Some(Visibility::Hidden) {
            self.keep_visible(&new.parent, &new.children);
        }
        let mut page = self.new_page(&new.parent, new.name.as_str(), new.visibility);
        page.description = new.description.to_string();
        page.is_contents = true;
        let index = self.next_index(new.parent.segment());
        self.named.push(index.clone());
        self.put_page(&index, Some(page));
        for child in &new.children {
            let mut adopted = self.model.pages[child].clone();
            adopted.parent = Some(index.clone());
            adopted.rank = self.next_rank();
            self.put_page(child, Some(adopted));
        }
        Ok(())
    }

    pub(super) fn update_page(&mut self, update: &PageUpdate) -> Answer {
        assert!(update.if_version.is_none(), "the model keeps no versions");
        let mut page = self.writable(&update.page)?;
        let nothing =
            update.name.is_none() && update.description.is_none() && update.detail.is_none();
        if nothing || (page.is_contents && update.detail.is_some()) {
            return Err(ErrorKind::Invalid);
        }
        if let Some(name) = &update.name {
            page.name = name.to_string();
        }
        if let Some(description) = &update.description {
            page.description = description.to_string();
        }
        if let Some(detail) = &update.detail {
            page.texts = self.own_text(detail);
            let caller = self.caller.actor();
            let among_us = caller.is_system_side() && page.author.is_system_side();
            page.rewritten_by = (caller != page.author && !among_us).then_some(caller);
        }
        page.trust = page.trust.min(self.trust());
        self.named.push(update.page.clone());
        self.put_page(&update.page, Some(page));
        Ok(())
    }

    fn own_text(&self, text: &str) -> Vec<(Role, String)> {
        let role = if self.is_agent() { Role::Assistant } else { Role::System };
        if text.is_empty() { Vec::new() } else { vec![(role, text.to_owned())] }
    }

    /// Makes an empty leaf at the end of a directory.
    fn new_page(
        &mut self,
        parent: &PageIndex,
        name: &str,
        visibility: Option<Visibility>,
    ) -> ModelPage {
        ModelPage {
            parent: Some(parent.clone()),
            rank: self.next_rank(),
            is_contents: false,
            name: name.to_owned(),
            description: String::new(),
            visibility: visibility.unwrap_or(Visibility::Expanded),
            standing: PageStanding::InTree,
            author: self.caller.actor(),
            rewritten_by: None,
            trust: self.trust(),
            sources: Vec::new(),
            turn: None,
            texts: Vec::new(),
            stamp: 0,
        }
    }

    // --- turns; the generator makes texts only, each of which is an exchange -------------------

    pub(super) fn add_turn(&mut self, segment: &SegmentId, messages: &[Message]) -> Answer {
        self.writable(&segment.root())?;
        if messages.is_empty() {
            return Err(ErrorKind::Invalid);
        }
        let mut turn: Option<PageIndex> = None;
        let mut open: Option<PageIndex> = None;
        let mut title = String::new();
        let mut count = 0;
        let mut written: Vec<PageIndex> = Vec::new();
        for message in messages {
            let text = message.plain_text();
            if message.role == Role::User || turn.is_none() {
                (turn, open, count) = (None, None, 0);
                title = text.lines().next().unwrap_or("Turn").to_owned();
            }
            open = Some(match open.filter(|page| self.weight(page) <= FULL) {
                Some(page) => page,
                None => {
                    count += 1;
                    let name =
                        if count == 1 { title.clone() } else { format!("{title} ({count})") };
                    self.turn_page(segment, &name, turn.clone())
                }
            });
            let page = open.clone().expect("it was just set");
            turn.get_or_insert(page.clone());
            self.append(&page, message.role, text);
            written.push(page);
        }
        written.dedup();
        self.named.extend(written);
        Ok(())
    }

    pub(super) fn publish_turn(
        &mut self,
        segment: &SegmentId,
        agent: &AgentName,
        messages: &[Message],
        sources: &[PageIndex],
    ) -> Answer {
        if self.is_agent() {
            return Err(ErrorKind::PermissionDenied);
        }
        self.find(&segment.root())?;
        let mut trust = Trust::Agent;
        for source in sources {
            trust = trust.min(self.find(source)?.trust);
        }
        let before = self.named.len();
        self.add_turn(segment, messages)?;
        let published = self.named[before..].to_vec();
        for index in published {
            let mut page = self.model.pages[&index].clone();
            page.author = Actor::Agent(agent.clone());
            page.trust = page.trust.min(trust);
            page.sources = sources.to_vec();
            self.put_page(&index, Some(page));
        }
        Ok(())
    }

    pub(super) fn extend_turn(&mut self, segment: &SegmentId, messages: &[Message]) -> Answer {
        self.writable(&segment.root())?;
        if messages.is_empty() || messages.iter().any(|message| message.role == Role::User) {
            return Err(ErrorKind::Invalid);
        }
        let author = self.caller.actor();
        let own = self.model.pages.iter().filter(|(index, page)| {
            index.segment() == segment
                && page.turn.is_some()
                && is_listed(&page.standing)
                && page.author == author
        });
        let latest = own.max_by_key(|(_, page)| page.rank).map(|(index, _)| index.clone());
        let latest = latest.ok_or(ErrorKind::NotFound)?;
        let last = self.model.pages[&latest].clone();
        let in_line = self.model.under(&segment.root()).last() == Some(&latest);
        let mut open = in_line.then_some(latest);
        let (title, mut count) = numbered(&last.name);
        let mut written: Vec<PageIndex> = Vec::new();
        for message in messages {
            let page = match open.filter(|page| self.weight(page) <= FULL) {
                Some(page) => page,
                None => {
                    count += 1;
                    self.turn_page(segment, &format!("{title} ({count})"), last.turn.clone())
                }
            };
            self.append(&page, message.role, message.plain_text());
            written.push(page.clone());
            open = Some(page);
        }
        written.dedup();
        self.named.extend(written);
        Ok(())
    }

    fn weight(&self, page: &PageIndex) -> usize {
        self.model.pages[page].texts.iter().map(|(_, text)| text.len()).sum()
    }

    fn turn_page(&mut self, segment: &SegmentId, name: &str, turn: Option<PageIndex>) -> PageIndex {
        let mut page = self.new_page(&segment.root(), name, Some(Visibility::Expanded));
        let index = self.next_index(segment);
        page.turn = Some(turn.unwrap_or_else(|| index.clone()));
        self.put_page(&index, Some(page));
        index
    }

    fn append(&mut self, index: &PageIndex, role: Role, text: String) {
        let mut page = self.model.pages[index].clone();
        let spoken = match role {
            Role::System => Trust::System,
            Role::User => Trust::User,
            Role::Assistant => Trust::Agent,
            Role::Tool => Trust::Tool,
        };
        page.trust = page.trust.min(spoken).min(self.trust());
        page.texts.push((role, text));
        self.put_page(index, Some(page));
    }
}

/// Parts `name (3)` into `name` and 3.
fn numbered(name: &str) -> (String, u64) {
    let parts = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let parsed = parts.and_then(|(title, number)| Some((title, number.parse::<u64>().ok()?)));
    match parsed.filter(|(_, number)| *number > 1) {
        Some((title, number)) => (title.to_owned(), number),
        None => (name.to_owned(), 1),
    }
}
