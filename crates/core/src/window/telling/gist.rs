//! One line that says how a page begins.

use crate::{Message, Role, message::Part};

/// A sentence shorter than this says too little: the next one comes along. East Asian characters
/// count twice.
const LEAST_COLUMNS: usize = 16;

/// Returns the first sentence or line of the first user or assistant text, on one line, cut to
/// `max_chars` characters with `…`; empty when nobody said anything.
pub fn gist_line(messages: &[Message], max_chars: usize) -> String {
    let spoken = messages.iter().filter(|m| matches!(m.role, Role::User | Role::Assistant));
    let texts = spoken.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    // A line of nothing but dashes or backticks says nothing.
    let says = |line: &&str| line.chars().any(char::is_alphanumeric);
    match texts.flat_map(str::lines).find(says) {
        Some(line) => cut(line, max_chars),
        None => String::new(),
    }
}

fn cut(line: &str, max_chars: usize) -> String {
    let mut gist = String::new();
    let mut length = 0;
    let mut columns = 0;
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let blank = c.is_whitespace() || c.is_control();
        if blank && (gist.is_empty() || gist.ends_with(' ')) {
            continue;
        }
        if length == max_chars {
            shorten(&mut gist);
            return gist;
        }
        gist.push(if blank { ' ' } else { c });
        length += 1;
        columns += if u32::from(c) >= 0x2e80 { 2 } else { 1 };
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => chars.peek().is_none_or(|next| next.is_whitespace()),
            _ => false,
        };
        if ends && columns >= LEAST_COLUMNS {
            break;
        }
    }
    gist.truncate(gist.trim_end().len());
    gist
}

/// Makes room for the sign that more follows.
fn shorten(gist: &mut String) {
    if gist.pop().is_some() {
        gist.truncate(gist.trim_end().len());
        gist.push('…');
    }
}
