//! `contextFilter`: which messages of others an agent sees in a shared context (M-39).

use contexture_core::{AgentName, Timestamp};

use super::{
    ContextFilter,
    fields::{Fields, Text},
    node::{Entry, Value},
    problem::{FileProblem, nearest, quoted},
};

const KEY: &str = "contextFilter";
const PARTS: [&str; 4] = ["agents", "roles", "since", "maxAge"];
const ROLES: [&str; 3] = ["user", "assistant", "tool"];

/// Takes the filter. Whatever is wrong with it is an error: a filter that is misread shows too much.
pub(crate) fn filter(fields: &mut Fields) -> ContextFilter {
    let mut filter = ContextFilter::default();
    let Some(entry) = fields.take(KEY) else { return filter };
    let Value::Map(parts) = &entry.node.value else {
        fields.wrong_type(KEY, &entry.node, "a map with `agents`, `roles`, `since` or `maxAge`");
        return filter;
    };
    for part in parts {
        match part.key.as_str() {
            "agents" => filter.agents = agents(fields, part),
            "roles" => filter.roles = roles(fields, part),
            "since" => {
                let wanted = "a date or time such as 2025-02-06 or 2025-02-06T10:00:00Z";
                filter.since = scalar(fields, part, wanted, since);
            }
            "maxAge" => {
                let wanted = "a number with s, m, h, d or w, such as 30m or 7d";
                filter.max_age_seconds = scalar(fields, part, wanted, max_age);
            }
            key => {
                let message = format!("'{KEY}' has no field '{}'", quoted(key));
                let problem = FileProblem::error(message).at(part.line, part.column).field(KEY);
                fields.report(problem.hint(match nearest(key, PARTS) {
                    Some(meant) => format!("did you mean '{meant}'?"),
                    None => format!("its fields are {}", PARTS.join(", ")),
                }));
            }
        }
    }
    filter
}

fn agents(fields: &mut Fields, part: &Entry) -> Option<Vec<String>> {
    let texts = fields.texts("contextFilter.agents", &part.node)?;
    for text in &texts {
        if text.text != "user" && text.text.parse::<AgentName>().is_err() {
            let message =
                format!("'{}' in '{KEY}.agents' is not an agent name", quoted(&text.text));
            fields.report(
                place(FileProblem::error(message), text)
                    .hint("name agents, or `user` for the person"),
            );
        }
    }
    Some(texts.into_iter().map(|text| text.text).collect())
}

fn roles(fields: &mut Fields, part: &Entry) -> Option<Vec<String>> {
    let texts = fields.texts("contextFilter.roles", &part.node)?;
    for text in texts.iter().filter(|text| !ROLES.contains(&text.text.as_str())) {
        let message = format!("'{}' in '{KEY}.roles' is not a role", quoted(&text.text));
        let hint = match nearest(&text.text, ROLES) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => format!("the roles are {}", ROLES.join(", ")),
        };
        fields.report(place(FileProblem::error(message), text).hint(hint));
    }
    if !texts.iter().any(|text| text.text == "user") {
        let problem = FileProblem::error(format!("'{KEY}.roles' must include 'user'"));
        let problem = problem.at(part.node.line, part.node.column).field(KEY);
        fields.report(
            problem.hint("add `user`: providers reject a conversation without user messages"),
        );
    }
    Some(texts.into_iter().map(|text| text.text).collect())
}

fn scalar<T>(
    fields: &mut Fields,
    part: &Entry,
    wanted: &str,
    read: fn(&str) -> Option<T>,
) -> Option<T> {
    let value = part.node.text().and_then(|text| read(text.trim()));
    if value.is_none() {
        fields.wrong_type(&format!("{KEY}.{}", part.key), &part.node, wanted);
    }
    value
}

fn since(text: &str) -> Option<Timestamp> {
    match text.parse::<jiff::civil::Date>() {
        // A date is its first moment, in UTC. The parser takes whole times for dates too.
        Ok(date) if text.len() == 10 => format!("{date}T00:00:00Z").parse().ok(),
        _ => text.parse().ok(),
    }
}

fn max_age(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let digits = &text[..text.len() - unit.len_utf8()];
    let number: u64 =
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    number.checked_mul(seconds).filter(|seconds| *seconds > 0)
}

fn place(problem: FileProblem, text: &Text) -> FileProblem {
    problem.at(text.line, text.column).field(KEY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ages_are_read() {
        assert_eq!(since("2025-02-06").unwrap().to_string(), "2025-02-06T00:00:00Z");
        assert_eq!(since("2025-02-06T10:00:00+02:00").unwrap().to_string(), "2025-02-06T08:00:00Z");
        for bad in ["yesterday", "2025-13-01", "2025-02-06T10:00:00", ""] {
            assert_eq!(since(bad), None, "{bad}");
        }
        assert_eq!(max_age("30m"), Some(1_800));
        assert_eq!(max_age("7d"), Some(604_800));
        for bad in
            ["", "h", "0h", "-1h", "+1h", "2 h", "2y", "2h30m", "99999999999999999999d", "2½"]
        {
            assert_eq!(max_age(bad), None, "{bad}");
        }
    }
}
