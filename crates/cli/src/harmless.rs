//! Makes stored text harmless for a terminal.
//!
//! A page may hold anything, terminal escapes included: printed as they are, they could recolour,
//! overwrite or forge what a person reads. JSON output is left alone; it is data.

/// Makes text of several lines harmless: line breaks and tabs stay.
pub(crate) fn text(text: &str) -> String {
    clean(text, |c| c == '\n' || c == '\t')
}

/// Makes text harmless that must stay on one line.
pub(crate) fn line(text: &str) -> String {
    clean(text, |_| false)
}

fn clean(text: &str, allowed: impl Fn(char) -> bool) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if allowed(c) => clean.push(c),
            // The pictures Unicode has for them, such as ␛ for escape.
            '\0'..='\u{1f}' => clean.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => clean.push('\u{2421}'),
            c if c.is_control() || reorders(c) => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}

/// Tells whether a character changes the order in which others are shown.
fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_become_pictures() {
        assert_eq!(super::text("a\u{1b}[31mred\r\n\tb"), "a␛[31mred␍\n\tb");
        assert_eq!(super::line("two\nlines\u{7f}"), "two␊lines␡");
        assert_eq!(super::line("\u{9b}31m \u{202e}gnp.exe"), "\\u{9b}31m \\u{202e}gnp.exe");
        assert_eq!(super::line("goroutine原理 é 👩‍💻"), "goroutine原理 é 👩‍💻");
    }
}
