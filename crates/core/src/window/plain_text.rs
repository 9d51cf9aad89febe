//! Messages as plain text, for a model that is to say in one line what happened in them.
//!
//! Every part is cut to what such a line can be made from: of results the beginning and the end, of
//! arguments the beginning. What a model kept to itself is left out.

use super::digest::is_noise;
use crate::{
    Message, Role,
    message::{Part, ToolResult},
};

/// The most bytes of what was asked, said, given to a call, and returned by one.
const ASKED: usize = 4_000;
const SAID: usize = 1_500;
const GIVEN: usize = 400;
const RETURNED: usize = 600;

/// What a line says that stands where text was cut.
const OMITTED: &str = " […] ";

/// What messages say, one part after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlainText {
    /// The text, each part behind who says it.
    pub text: String,
    /// Whether it begins with a request.
    pub is_asked: bool,
}

impl PlainText {
    /// Retells messages.
    pub(crate) fn of(messages: &[Message]) -> Self {
        let asked = messages.first().filter(|first| first.role == Role::User);
        let is_asked = asked.is_some_and(|first| !is_noise(&first.plain_text()));
        let mut plain = Self { text: String::new(), is_asked };
        for message in messages {
            for part in &message.parts {
                plain.add(message.role, part);
            }
        }
        plain
    }

    fn add(&mut self, role: Role, part: &Part) {
        let (who, text, most) = match (part, role) {
            (Part::Text(text), Role::User) => ("user", text.text.clone(), ASKED),
            (Part::Text(text), Role::Assistant) => ("assistant", text.text.clone(), SAID),
            (Part::Text(text), Role::Tool) => ("result", text.text.clone(), RETURNED),
            (Part::Text(text), Role::System) => ("system", text.text.clone(), SAID),
            (Part::ToolCall(call), _) => {
                ("call", format!("{} {}", call.name, call.arguments), GIVEN)
            }
            (Part::ToolResult(result), _) => {
                (if result.error { "error" } else { "result" }, text_of(result), RETURNED)
            }
            (Part::Image(_), _) => ("image", String::new(), 0),
            (Part::Thinking(_) | Part::Other(_), _) => return,
        };
        self.text.push_str(who);
        self.text.push_str(": ");
        self.text.push_str(&cut(text.trim(), most));
        self.text.push('\n');
    }
}

fn text_of(result: &ToolResult) -> String {
    let texts = result.content.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a text within so many bytes: its beginning, and a third as much of its end.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(OMITTED.len());
    let head = text.floor_char_boundary(room * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - room / 4);
    format!("{}{OMITTED}{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("short", 5), "short");
        let long = "ä".repeat(100);
        for most in 0..60 {
            let cut = cut(&long, most);
            assert!(cut.len() <= most.max(OMITTED.len()), "{most}: {cut}");
        }
        assert_eq!(cut("0123456789abcdefghij", 17), "0123456 […] ij");
    }

    #[test]
    fn parts_say_whose_they_are() {
        let messages = [
            Message::text(Role::User, "Why does it fail?"),
            Message::text(Role::Assistant, "The end is off by one."),
        ];
        let told = PlainText::of(&messages);
        assert!(told.is_asked);
        assert_eq!(told.text, "user: Why does it fail?\nassistant: The end is off by one.\n");
        assert!(!PlainText::of(&messages[1..]).is_asked);
    }
}
