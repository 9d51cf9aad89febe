//! Names: paths, dotted names, identifiers and quoted strings, found in one pass over a text.
//!
//! What later work refers to is nearly always one of these, letter for letter. Unlike the telling
//! strings of a page, which are few and ranked, all of them are found here; lines choose among them
//! by how often and how lately they were used.

/// The shortest and the longest name, in characters.
const LENGTHS: (usize, usize) = (4, 80);

/// The longest quoted string, in characters.
const LONGEST_QUOTE: usize = 60;

/// Calls `each` for every name in a text, as often as it occurs.
pub(super) fn names<'a>(text: &'a str, each: &mut dyn FnMut(&'a str)) {
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(first) = rest.chars().next() {
        if is_joined(first) {
            let end = rest.find(|c: char| !is_joined(c)).unwrap_or(rest.len());
            let (run, behind) = rest.split_at(end);
            // A closing tag is no path.
            if !(before == Some('<') && first == '/') {
                joined(run, each);
            }
            (rest, before) = (behind, run.chars().next_back());
            continue;
        }
        if matches!(first, '"' | '\'' | '`') && !before.is_some_and(is_word) {
            quoted(rest, first, each);
        }
        rest = &rest[first.len_utf8()..];
        before = Some(first);
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Tells whether a character can stand within a path or a dotted name.
fn is_joined(c: char) -> bool {
    is_word(c) || matches!(c, '.' | '/' | '~' | '-')
}

/// Finds the names in a stretch without blanks: the path it is, and the names it is made of.
fn joined<'a>(run: &'a str, each: &mut dyn FnMut(&'a str)) {
    if run.contains('/') && run.contains(char::is_alphabetic) {
        let path = run.trim_start_matches(['.', '-']).trim_end_matches('/');
        let path = if path.starts_with("//") { path.trim_start_matches('/') } else { path };
        give(path, each);
    }
    for part in run.split(['/', '-', '~']) {
        let dotted = part.trim_matches('.');
        let is_name = |piece: &str| piece.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if dotted.contains('.') && dotted.split('.').all(is_name) {
            give(dotted, each);
        }
        for word in part.split('.').filter(|word| is_identifier(word)) {
            give(word, each);
        }
    }
}

/// Tells whether a word looks like a name out of a program or a record: with an underscore, a digit
/// or a hump in it.
fn is_identifier(word: &str) -> bool {
    let lettered = word.contains(char::is_alphabetic) || word.chars().count() >= 6;
    let mut last_is_lower = false;
    let hump = word.chars().any(|c| {
        let hump = last_is_lower && c.is_uppercase();
        last_is_lower = c.is_lowercase();
        hump
    });
    lettered && (hump || word.contains(|c: char| c == '_' || c.is_ascii_digit()))
}

/// Tells whether a name looks like a hash, a part of an id, a file mode or a bare number: nobody needs it
/// again unless somebody uses it again.
pub(crate) fn is_number_like(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let hex = name.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'x'));
    digits > 0 && (digits * 2 > name.len() || (hex && name.len() >= 4))
}

/// Finds the quoted string a text begins with.
fn quoted<'a>(text: &'a str, quote: char, each: &mut dyn FnMut(&'a str)) {
    let inner = &text[quote.len_utf8()..];
    let mut ends = inner.char_indices().take(LONGEST_QUOTE + 1);
    let Some((end, found)) = ends.find(|&(_, c)| c == quote || c == '\n') else { return };
    let behind = inner[end..].chars().nth(1);
    if found == quote && !behind.is_some_and(is_word) && inner[..end].contains(char::is_alphabetic)
    {
        give(&inner[..end], each);
    }
}

fn give<'a>(name: &'a str, each: &mut dyn FnMut(&'a str)) {
    let name = name.trim_matches([' ', '.', ',', ':', ';', '-']);
    let length = name.chars().take(LENGTHS.1 + 1).count();
    if (LENGTHS.0..=LENGTHS.1).contains(&length) {
        each(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        names(text, &mut |name| found.push(name));
        found
    }

    #[test]
    fn paths_names_and_quotes_are_found() {
        assert_eq!(found("see src/lexer.rs, then"), ["src/lexer.rs", "lexer.rs"]);
        assert_eq!(found("at /etc/hosts."), ["/etc/hosts"]);
        assert_eq!(found("call models.Model()"), ["models.Model"]);
        assert_eq!(found("parse_item and getName, not plain words"), ["parse_item", "getName"]);
        assert_eq!(found("order #W1234567 for 2024"), ["W1234567"]);
        assert_eq!(found("say \"line one\" or 'it is'"), ["line one", "it is"]);
        assert_eq!(found("don't quote it's own"), Vec::<&str>::new());
        assert_eq!(found("`self.items[at]`"), ["self.items[at]", "self.items"]);
    }

    #[test]
    fn other_scripts_and_odd_texts_do_no_harm() {
        assert_eq!(found("修改 src/解析.rs 文件"), ["src/解析.rs", "解析.rs"]);
        for odd in ["", "/", "//", "\"", "''", "....", "\"\n\"", "é'é'é", "\u{200b}a_b_c"] {
            found(odd);
        }
    }
}
