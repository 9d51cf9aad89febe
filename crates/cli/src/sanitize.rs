//! Makes stored text harmless for a terminal.
//!
//! A page may contain anything, including terminal escapes: printed as they are, they could recolour,
//! overwrite or forge what a person reads. Output to a file or another program is data and stays as it
//! is. Commands make their own output harmless; [`crate::terminal`] catches the rest.

/// Makes text of several lines harmless: line breaks and tabs stay.
pub(crate) fn text(text: &str) -> String {
    clean(text, |c| c == '\n' || c == '\t')
}

/// Makes text harmless that must stay on one line.
pub(crate) fn line(text: &str) -> String {
    clean(text, |_| false)
}

/// Makes JSON harmless and keeps it the same JSON.
pub(crate) fn json(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => clean.push(c),
            // Unescaped, these are white space between values.
            '\0'..='\u{1f}' => clean.push(' '),
            c if is_harmful(c) => clean.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => clean.push(c),
        }
    }
    clean
}

/// Returns the replacement for a character that must not reach a terminal; none for all others.
pub(crate) fn instead(c: char) -> Option<String> {
    match c {
        // The pictures Unicode has for them, such as ␛ for escape.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).map(String::from),
        '\u{7f}' => Some('\u{2421}'.to_string()),
        c if is_harmful(c) => Some(c.escape_unicode().to_string()),
        _ => None,
    }
}

fn clean(text: &str, allowed: impl Fn(char) -> bool) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match instead(c).filter(|_| !allowed(c)) {
            Some(instead) => clean.push_str(&instead),
            None => clean.push(c),
        }
    }
    clean
}

/// Returns whether a character acts on the terminal, or changes the order in which others are shown.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_become_pictures() {
        assert_eq!(super::text("a\u{1b}[31mred\r\n\tb"), "a␛[31mred␍\n\tb");
        assert_eq!(super::line("two\nlines\u{7f}"), "two␊lines␡");
        assert_eq!(super::line("\u{9b}31m \u{202e}gnp.exe"), "\\u{9b}31m \\u{202e}gnp.exe");
        assert_eq!(super::line("\u{61c}\u{200f}\u{2066}"), "\\u{61c}\\u{200f}\\u{2066}");
        assert_eq!(super::line("goroutine原理 é 👩‍💻"), "goroutine原理 é 👩‍💻");
    }
    #[test]
    fn json_stays_the_same_json() {
        let value =
            serde_json::json!({"a\u{9b}": "\u{1b}[2J\u{202e}x\u{7f}\u{85}\r\n\u{200f}é原👩‍💻"});
        let harmless = super::json(&format!("{{\r\n{}", &value.to_string()[1..]));
        assert!(!harmless.chars().any(|c| c != '\n' && super::is_harmful(c)), "{harmless:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).unwrap(), value);
    }
}
