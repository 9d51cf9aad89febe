//! The texts that agents are told beside their own prompt: files beside this one.

use contexture_core::PageName;

use crate::AgentDefinition;

/// What an agent's history is, as its prompt says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stance {
    /// Its own.
    Isolated,
    /// The main session's.
    Shared,
    /// Its group's.
    Group,
}

/// One page of an agent's prompt segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPage {
    /// What the page is called: by this it is found again.
    pub name: PageName,
    /// Its text.
    pub text: String,
    /// The stance it is for; none when it is for all.
    pub stance: Option<Stance>,
}

/// The prompt of the assistant that answers in `chat` when no agent is named.
pub const CHAT: &str = include_str!("prompts/chat.md");

/// The prompt of the model that writes lines of folded turns.
pub const SUMMARIZER: &str = include_str!("prompts/summarizer.md");

/// Returns what an agent is told where its fork begins.
pub fn fork(agent: &AgentDefinition) -> String {
    let told = filled(include_str!("prompts/fork.md"), agent);
    match agent.system_prompt.trim() {
        "" => told,
        own => format!("{told}\n\n{own}"),
    }
}

/// Returns the pages of an agent's prompt segment, in order.
pub fn pages(agent: &AgentDefinition) -> Vec<PromptPage> {
    let page = |name: &str, text: &str, stance| PromptPage {
        name: PageName::from_first_line(name, "Prompt"),
        text: filled(text, agent),
        stance,
    };
    let mut pages = vec![
        page("Isolated", include_str!("prompts/isolated.md"), Some(Stance::Isolated)),
        page("Shared", include_str!("prompts/shared.md"), Some(Stance::Shared)),
        page("Group", include_str!("prompts/group.md"), Some(Stance::Group)),
        page("Reading", include_str!("prompts/reading.md"), None),
    ];
    // An agent's own words come last and are taken as they are.
    let prompt = agent.system_prompt.trim();
    if !prompt.is_empty() {
        let name = PageName::from_first_line("Instructions", "Prompt");
        pages.push(PromptPage { name, text: prompt.to_owned(), stance: None });
    }
    pages
}

fn filled(text: &str, agent: &AgentDefinition) -> String {
    let group = agent.context_group.as_deref().unwrap_or("none");
    text.trim().replace("{agent}", agent.name.as_str()).replace("{group}", group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_told_their_mode_and_how_to_read() {
        let mut agent = AgentDefinition::bare("code-reviewer".parse().unwrap());
        agent.system_prompt = "\nAnalyze code quality.\n".to_owned();
        agent.context_group = Some("reviewers".to_owned());
        let lines: Vec<String> = pages(&agent)
            .iter()
            .map(|page| format!("== {} {:?}\n{}", page.name, page.stance, page.text))
            .collect();
        insta::assert_snapshot!("prompt", lines.join("\n"));
    }
}
