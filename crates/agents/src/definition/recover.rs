//! Front matter that is not YAML, where what was meant is plain.
//!
//! By far the most common mistake in agent files is a free text with `: ` in it and no quotes
//! around it, often with lines of examples after it. YAML sees a map there and refuses it all. Such
//! a text is taken as it stands, up to the next field that is known; everything else must be YAML.
//! Nothing is guessed where a field stands twice, or where the text begins like other YAML; but `tools: *`
//! can only mean all tools.

use super::{
    node::{Entry, Node, Value},
    problem::FileProblem,
    yaml,
};

/// Fields that hold a free text, so that nothing but text can have been meant.
const FREE_TEXT: [&str; 6] =
    ["description", "title", "name", "display_name", "model", "initialPrompt"];

/// What lines of an example begin with, in lower case.
const DIALOGUE: [&str; 6] = ["user", "assistant", "context", "human", "agent", "commentary"];

/// Reads a front matter again that is not YAML. None where it is not plain what was meant.
pub(crate) fn recover(
    text: &str,
    first: u32,
    known: &[&str],
) -> Option<(Vec<Entry>, Vec<FileProblem>)> {
    let lines: Vec<&str> = text.split('\n').collect();
    let fields = fields(&lines, known)?;
    let mut rest: Vec<&str> = lines.clone();
    let (mut taken, mut problems) = (Vec::new(), Vec::new());
    for (at, field) in fields.iter().enumerate() {
        let end = fields.get(at + 1).map_or(lines.len(), |next| next.start);
        let end = field.start + own_lines(&lines[field.start..end]);
        let own = &lines[field.start..end];
        let broken = matches!(yaml::read(&own.join("\n"), 1), Err(yaml::Refused::Syntax(_)));
        if !broken {
            continue;
        }
        let line = first.saturating_add(u32::try_from(field.start).unwrap_or(u32::MAX));
        let column = u32::try_from(field.key.len() + 3).unwrap_or(u32::MAX);
        let value = if is_star(field.key, own) {
            problems.push(star_warning(field.key).at(line, column));
            "*".to_owned()
        } else {
            if !FREE_TEXT.contains(&field.key) || may_hold_a_field(&own[1..], known, &fields) {
                return None;
            }
            problems.push(warning(field.key, own.len()).at(line, column));
            free_text(field.key, own)?
        };
        let node = Node { line, column, value: Value::Text { text: value, plain: false } };
        taken.push(Entry { key: field.key.to_owned(), line, column: 1, node });
        rest[field.start..end].fill("");
    }
    if taken.is_empty() {
        return None;
    }
    let mut entries = yaml::read(&rest.join("\n"), first).ok()?;
    entries.extend(taken);
    entries.sort_by_key(|entry| entry.line);
    Some((entries, problems))
}

struct Field<'a> {
    key: &'a str,
    start: usize,
}

/// Finds the lines on which known fields begin. None where one stands twice.
fn fields<'a>(lines: &[&'a str], known: &[&str]) -> Option<Vec<Field<'a>>> {
    let mut fields: Vec<Field<'a>> = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        if !known.contains(&key) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            continue;
        }
        if fields.iter().any(|field| field.key == key) {
            return None;
        }
        fields.push(Field { key, start });
    }
    Some(fields)
}

/// Returns how many lines are a field's own: all up to the next that looks like a field nobody
/// knows. In a text with a dialogue none does: its lines begin with `user: ` and the like.
fn own_lines(lines: &[&str]) -> usize {
    let key = |line: &&str| -> Option<String> {
        let (key, _) = line.split_once(": ")?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (!key.is_empty() && key.chars().all(fits)).then(|| key.to_ascii_lowercase())
    };
    let keys: Vec<Option<String>> = lines.iter().skip(1).map(key).collect();
    if keys.iter().flatten().any(|key| DIALOGUE.contains(&key.as_str())) {
        return lines.len();
    }
    keys.iter().position(Option::is_some).map_or(lines.len(), |at| at + 1)
}

/// Tells whether a field of tools holds a bare `*`: to YAML the beginning of an alias, to everybody
/// else all tools.
fn is_star(key: &str, lines: &[&str]) -> bool {
    let head = lines.first().and_then(|head| head.get(key.len() + 1..));
    key == "tools"
        && head.is_some_and(|head| head.trim() == "*")
        && lines[1..].iter().all(|line| line.trim().is_empty())
}

fn star_warning(key: &str) -> FileProblem {
    FileProblem::warning(format!("'{key}: *' is not valid YAML; it was read as all tools"))
        .field(key)
        .hint(format!("write `{key}: \"*\"`, or leave the field out"))
}

/// Tells whether an indented line of a text may have been meant as a field the file lacks.
fn may_hold_a_field(lines: &[&str], known: &[&str], fields: &[Field<'_>]) -> bool {
    lines
        .iter()
        .filter_map(|line| line.trim_start().split_once(": "))
        .any(|(key, _)| known.contains(&key) && !fields.iter().any(|field| field.key == key))
}

/// Returns the text of a field as it stands, or none where it begins like other YAML.
fn free_text(key: &str, lines: &[&str]) -> Option<String> {
    let (head, more) = lines.split_first()?;
    let head = head.get(key.len() + 1..)?.trim();
    let begins = head.chars().next()?;
    let more_text = more.iter().any(|line| !line.trim().is_empty());
    // Only descriptions have lines of examples.
    if more_text && key != "description" {
        return None;
    }
    match begins {
        '"' | '\'' if more_text => return None,
        '"' | '\'' => {
            let inner = &head[1..];
            if let Some(inner) = inner.strip_suffix(begins) {
                return Some(inner.to_owned());
            }
            // A quotation at the start of the text closes before its end.
            inner.contains(begins).then_some(())?;
        }
        '[' | '{' | '|' | '>' | '&' | '*' | '!' | '#' => return None,
        '-' | '?' if head[1..].starts_with(' ') => return None,
        _ => {}
    }
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = more.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let mut text = head.to_owned();
    for line in more {
        text.push('\n');
        text.push_str(line.get(common..).unwrap_or_default().trim_end());
    }
    Some(text.trim_end().to_owned())
}

fn warning(key: &str, lines: usize) -> FileProblem {
    let extent = if lines == 1 { "to the end of its line" } else { "up to the next field" };
    FileProblem::warning(format!(
        "'{key}' is not valid YAML (an unquoted ': ' or quote); it was read as text {extent}"
    ))
    .field(key)
    .hint(format!("write `{key}: >-` and put the text on the next line, indented by two spaces"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = ["name", "title", "description", "tools", "model", "color"];

    fn read(text: &str) -> Option<Vec<(String, String)>> {
        assert!(matches!(yaml::read(text, 2), Err(yaml::Refused::Syntax(_))), "{text}");
        let (entries, problems) = recover(text, 2, &KNOWN)?;
        assert!(!problems.is_empty());
        let text = |entry: Entry| (entry.key, entry.node.text().unwrap_or_default().to_owned());
        Some(entries.into_iter().map(text).collect())
    }

    fn description(text: &str) -> Option<String> {
        let fields = read(text)?;
        fields.into_iter().find(|(key, _)| key == "description").map(|(_, text)| text)
    }

    #[test]
    fn a_text_with_a_colon_is_taken_to_the_end_of_its_line() {
        let text = "name: a\ndescription: Triggers on: 'x', \"y\"\ntools: Read, Grep\n";
        let fields = read(text).unwrap();
        let expected =
            [("name", "a"), ("description", "Triggers on: 'x', \"y\""), ("tools", "Read, Grep")];
        assert_eq!(fields, expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
    }

    #[test]
    fn examples_after_it_belong_to_it() {
        let text = "description: Use it. Examples: <example>\nContext: a test\nuser: \"hi\"\nassistant: \"yes: I do\"\n</example>\ncolor: red";
        assert_eq!(
            description(text).unwrap(),
            "Use it. Examples: <example>\nContext: a test\nuser: \"hi\"\nassistant: \"yes: I do\"\n</example>"
        );
        let indented =
            "description: Improves prompts.\n\n  user: a\n    - b: c: d\n  done\nname: x";
        assert_eq!(
            description(indented).unwrap(),
            "Improves prompts.\n\nuser: a\n  - b: c: d\ndone"
        );
    }

    // What may limit an agent must not vanish in its description.
    #[test]
    fn fields_nobody_knows_stay_fields() {
        let fields = read("description: Use when: asked\nallowed-tools: Read\nname: a").unwrap();
        let expected =
            [("description", "Use when: asked"), ("allowed-tools", "Read"), ("name", "a")];
        assert_eq!(fields, expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
    }

    #[test]
    fn quotes_that_are_part_of_the_text_stay() {
        for (line, meant) in [
            ("description: \"Fast\" reviews", "\"Fast\" reviews"),
            ("description: 'I'll review: all'", "I'll review: all"),
            ("description: @all reviewers", "@all reviewers"),
        ] {
            assert_eq!(description(line).as_deref(), Some(meant), "{line}");
        }
    }

    #[test]
    fn a_bare_star_is_all_tools() {
        let fields = read("name: a\ntools: *\nmodel: opus\n").unwrap();
        let expected = [("name", "a"), ("tools", "*"), ("model", "opus")];
        assert_eq!(fields, expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
    }

    #[test]
    fn what_may_have_been_meant_otherwise_is_not_guessed() {
        for text in [
            "name: *\ntools: Read",
            "tools: *read\nname: a",
            "tools: *\n  - Read\nname: a",
            "tools: Read: Write\nname: a",
            "description: a: b\ndescription: c: d",
            "description: [a: b: c",
            "description: \"never closed: x\nname: a",
            "description: a: b\ntools: [Read\n",
            "name: a\n\tdescription: b",
            "description: a: b\n  tools: Read",
            "title: a: b\nand more",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
