//! What an agent is called: its name, its title, and how both follow from a file name.

use std::path::Path;

use contexture_core::{AgentName, PageName};

use super::{
    Dialect,
    fields::{Fields, Text},
    problem::{FileProblem, quoted},
};

/// A name, and the spelling it was made from where the file's own is no agent name.
pub(crate) struct Named {
    pub(crate) name: AgentName,
    pub(crate) original: Option<String>,
}

/// Takes the name of an agent and compares it with the file's.
pub(crate) fn name(fields: &mut Fields, dialect: Dialect, path: &Path) -> Option<Named> {
    let stem = stem(path);
    match fields.text("name").filter(|name| !name.text.is_empty()) {
        Some(text) => from_field(fields, dialect, &text, &stem),
        None if dialect.names_by_file() => from_file(fields, &stem),
        None => {
            let slug = slug(&stem).unwrap_or_else(|| "my-agent".to_owned());
            let problem = FileProblem::error("the field 'name' is missing").field("name");
            fields.report(problem.hint(format!("add `name: {slug}`")));
            None
        }
    }
}

fn from_field(fields: &mut Fields, dialect: Dialect, text: &Text, stem: &str) -> Option<Named> {
    let at = |problem: FileProblem| problem.at(text.line, text.column).field("name");
    let (name, original) = match text.text.parse::<AgentName>() {
        Ok(name) => (name, None),
        Err(error) => {
            let error = FileProblem::error(error.to_string());
            let derived = slug(&text.text)
                .or_else(|| slug(stem))
                .and_then(|slug| slug.parse::<AgentName>().ok());
            match derived {
                Some(name) if dialect != Dialect::Contexture && !is_path(&text.text) => {
                    let shown = quoted(&text.text);
                    let message = format!(
                        "'{shown}' is not a valid agent name; the agent is called '{name}'"
                    );
                    let hint = format!("write names like `{name}`; '{shown}' became the title");
                    fields.report(at(FileProblem::warning(message)).hint(hint));
                    (name, Some(text.text.clone()))
                }
                Some(name) => {
                    fields.report(at(error).hint(format!("write `name: {name}`")));
                    return None;
                }
                None => {
                    fields.report(at(error).hint("choose a name such as `code-reviewer`"));
                    return None;
                }
            }
        }
    };
    let ours = dialect == Dialect::Contexture;
    let same = stem == name.as_str() || (!ours && slug(stem).as_deref() == Some(name.as_str()));
    if !same {
        let message =
            format!("the file is named '{}', but the agent is named '{name}'", quoted(stem));
        let problem =
            if ours { FileProblem::error(message) } else { FileProblem::warning(message) };
        fields.report(at(problem).hint("give both the same name"));
    }
    Some(Named { name, original })
}

fn from_file(fields: &mut Fields, stem: &str) -> Option<Named> {
    if let Ok(name) = stem.parse::<AgentName>() {
        return Some(Named { name, original: None });
    }
    let shown = quoted(stem);
    let Some(name) = slug(stem).and_then(|slug| slug.parse::<AgentName>().ok()) else {
        let message = format!("no agent name can be made from the file name '{shown}'");
        let hint = "rename the file to something like `code-reviewer`, or add `name: …`";
        fields.report(FileProblem::error(message).field("name").hint(hint));
        return None;
    };
    let message =
        format!("the file name '{shown}' is not a valid agent name; the agent is called '{name}'");
    let hint = format!("rename the file to '{name}'");
    fields.report(FileProblem::warning(message).field("name").hint(hint));
    Some(Named { name, original: Some(stem.to_owned()) })
}

/// Takes the title: required in ours, elsewhere made from what there is.
pub(crate) fn title(fields: &mut Fields, dialect: Dialect, named: Option<&Named>) -> String {
    for key in ["title", "display_name"] {
        let Some(text) = fields.text(key) else { continue };
        match text.text.parse::<PageName>() {
            Ok(title) => return title.as_str().to_owned(),
            Err(error) => {
                let message =
                    error.to_string().replacen("invalid name", &format!("invalid {key}"), 1);
                fields.report(
                    FileProblem::error(message)
                        .at(text.line, text.column)
                        .field(key)
                        .hint("a title is one line of at most 200 characters"),
                );
                return String::new();
            }
        }
    }
    let name = named.map(|named| named.name.as_str()).unwrap_or("my-agent");
    if dialect == Dialect::Contexture {
        let problem = FileProblem::error("the field 'title' is missing").field("title");
        fields.report(problem.hint(format!("add `title: {}`", readable(name))));
    }
    let original = named.and_then(|named| named.original.as_deref());
    match original.and_then(|original| original.parse::<PageName>().ok()) {
        Some(title) => title.as_str().to_owned(),
        None => readable(name),
    }
}

/// Makes a name readable: `code-reviewer` becomes `Code Reviewer`.
pub(crate) fn readable(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        match chars.next() {
            Some(first) => first.to_uppercase().chain(chars).collect::<String>(),
            None => String::new(),
        }
    };
    name.split(['-', '_']).map(word).collect::<Vec<_>>().join(" ")
}

/// Makes an agent name of any text: `Code Reviewer` and `CodeReviewer` become `code-reviewer`.
fn slug(text: &str) -> Option<String> {
    const MOST: usize = 48;
    let mut slug = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
                slug.push('-');
            }
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with(['-', '_']) {
            slug.push(if c == '_' { '_' } else { '-' });
        }
        before = c;
    }
    if slug.starts_with(|c: char| c.is_ascii_digit()) {
        slug.insert_str(0, "agent-");
    }
    let mut slug = slug.as_str();
    if slug.len() > MOST {
        let cut = &slug[..=MOST];
        slug = &slug[..cut.rfind(['-', '_']).unwrap_or(MOST)];
    }
    let slug = slug.trim_end_matches(['-', '_']);
    (!slug.is_empty()).then(|| slug.to_owned())
}

/// Tells whether a name tries to be a path: nothing is derived from such.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.contains("..") || name.chars().any(char::is_control)
}

/// Returns a file's name without its extension; `NAME.agent.md` is a custom of its own.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_suffix(".agent").unwrap_or(&stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_titles_and_titles_of_names() {
        for (text, expected) in [
            ("Code Reviewer", Some("code-reviewer")),
            ("TeamLeader", Some("team-leader")),
            ("QA", Some("qa")),
            ("bug_fixer", Some("bug_fixer")),
            ("  C++ (pro)! ", Some("c-pro")),
            ("3d-artist", Some("agent-3d-artist")),
            ("代码审查", None),
        ] {
            assert_eq!(slug(text).as_deref(), expected, "{text}");
        }
        let long = slug(&"word ".repeat(30)).unwrap();
        assert_eq!(long.len(), 44);
        assert!(long.parse::<AgentName>().is_ok());
        assert_eq!(slug(&"x".repeat(90)).unwrap().len(), 48);
        assert_eq!(readable("code-reviewer"), "Code Reviewer");
        assert_eq!(readable("bug_fixer2"), "Bug Fixer2");
    }
}
