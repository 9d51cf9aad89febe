//! The preface: a few lines behind the system prompts that say what the engine's lines are and what
//! can be done about them. They stand from the first window on, so that they never break the cache.

use super::{fold::FoldShares, piece::Mark};

/// The least budget at which the preface stands: it must not take the room it explains.
pub(crate) const LEAST_BUDGET: u64 = 1_024;

/// What every preface says.
const LINES: &str = include_str!("prompts/preface.md");

/// The tools a host offers on the window, by the names its model calls them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowTools {
    /// Shows a page in full.
    pub expand: Option<String>,
    /// Finds pages.
    pub find: Option<String>,
    /// Keeps a page in full.
    pub pin: Option<String>,
}

/// Writes the preface.
pub(crate) fn preface(mark: &Mark, tools: &WindowTools, shares: &FoldShares) -> String {
    let mut lines = LINES.trim_end().replace("{mark}", &mark.tag());
    lines.push(' ');
    match &tools.expand {
        Some(tool) => lines.push_str(&format!("To read a page again, call {tool} with its index")),
        None => lines.push_str("To read a page again, say so and name its index: \"open usr-12\""),
    }
    lines.push_str(&format!(
        "; it then stays through {} folds, and longer while its index is mentioned.",
        shares.held
    ));
    let others = [(&tools.find, "searches all pages"), (&tools.pin, "keeps a page for good")];
    for (tool, does) in others {
        if let Some(tool) = tool {
            lines.push_str(&format!(" {tool} {does}."));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_the_tools_that_are_there() {
        let mark = Mark::from_seed(b"x");
        let plain = preface(&mark, &WindowTools::default(), &FoldShares::default());
        assert!(plain.starts_with(&mark.tag()) && plain.contains("\"open usr-12\""), "{plain}");
        assert!(plain.contains("Nothing is lost") && plain.contains("3 folds"), "{plain}");
        let tools = WindowTools {
            expand: Some("expand_details".to_owned()),
            find: Some("find_page".to_owned()),
            pin: None,
        };
        let named = preface(&mark, &tools, &FoldShares::default());
        assert!(named.contains("call expand_details with its index"), "{named}");
        assert!(named.contains("find_page searches") && !named.contains("pin"), "{named}");
        assert!(!named.contains('\n'), "{named}");
    }
}
