//! One pass over a text: words, paths, addresses, quotes and names, as slices of it.

use super::{
    LONGEST,
    kind::{self, Kind},
};

/// Finds what may be telling; `add` gets each occurrence.
pub(super) fn scan<'a>(text: &'a str, add: &mut impl FnMut(&'a str, Kind)) {
    let mut scanner = Scanner { text, at: 0, closing: None, opens_sentence: true, name: None, add };
    while scanner.at < text.len() {
        scanner.step();
    }
    scanner.end_name();
}

struct Scanner<'a, 'f, F> {
    text: &'a str,
    at: usize,
    /// Where the quote ends that is being read, so that its end does not open another.
    closing: Option<usize>,
    /// Whether the next word begins a sentence, and is capitalised for that.
    opens_sentence: bool,
    name: Option<Name>,
    add: &'f mut F,
}

/// Capitalised words in a row.
struct Name {
    from: usize,
    to: usize,
    words: usize,
    opens_sentence: bool,
}

/// The most words of a name.
const MOST_WORDS: usize = 4;

/// The longest quoted string, in characters.
const LONGEST_QUOTE: usize = 60;

/// The longest path or URL that is read to its end, in bytes.
const LONGEST_WORD: usize = 2_048;

impl<'a, F: FnMut(&'a str, Kind)> Scanner<'a, '_, F> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let Some(c) = rest.chars().next() else { return };
        if starts_word(c) || (matches!(c, '/' | '.' | '~' | '#' | '@') && self.leads_word(rest)) {
            return self.word();
        }
        match c {
            '.' | '!' | '?' | '\n' | '。' | '！' | '？' => self.opens_sentence = true,
            _ => {
                if let Some(close) = closing(c) {
                    return self.quote(c, close);
                }
            }
        }
        self.at += c.len_utf8();
    }

    fn before(&self) -> Option<char> {
        self.text[..self.at].chars().next_back()
    }

    /// Tells whether a sign begins a word: `/etc`, `./a`, `../a`, `~/a`, `.env`, `#12`, `@scope/x`.
    fn leads_word(&self, rest: &str) -> bool {
        if self
            .before()
            .is_some_and(|c| starts_word(c) || matches!(c, '/' | '.' | ')' | ']' | '<' | ':'))
        {
            return false;
        }
        let body = match rest.as_bytes() {
            [b'.', b'.', b'/', ..] => &rest[3..],
            [b'.' | b'~', b'/', ..] => &rest[2..],
            [b'~', ..] => return false,
            _ => &rest[1..],
        };
        body.starts_with(starts_word)
    }

    fn word(&mut self) {
        let from = self.at;
        let (to, url) = word_end(self.text, from);
        self.at = to;
        let word = &self.text[from..to];
        let opens_sentence = std::mem::replace(&mut self.opens_sentence, false);
        if url {
            self.end_name();
            (self.add)(first_chars(word, LONGEST), Kind::Url);
            return;
        }
        let called = self.text[to..].starts_with('(');
        let digits = word.bytes().any(|byte| byte.is_ascii_digit());
        // `#tag` is a word behind a sign, `.parse()` a link of a chain; `#W123` is an id, `.env` a
        // file.
        let bare = match word.as_bytes()[0] {
            b'#' => !digits,
            b'.' => self.text[to..].starts_with(['(', ':']),
            _ => false,
        };
        let word = if bare { &word[1..] } else { word };
        match kind::classify(word, called) {
            Some(Kind::Name) => self.name_word(to - word.len(), to, opens_sentence),
            Some(kind) => {
                self.end_name();
                self.add_bounded(word, kind);
            }
            None => {
                self.end_name();
                self.pieces(word);
            }
        }
    }

    /// Looks at the pieces of what is nothing as a whole, such as `either/or` or `well-known`.
    fn pieces(&mut self, word: &'a str) {
        const BLOB: usize = 64;
        if word.len() > BLOB {
            return;
        }
        let mut pieces = word.split(['/', '-', '.', '\\', '@']);
        if pieces.clone().nth(1).is_none() {
            return;
        }
        for piece in &mut pieces {
            if let Some(kind @ (Kind::Identifier | Kind::Error | Kind::Name | Kind::Id)) =
                kind::classify(piece, false)
            {
                (self.add)(piece, kind);
            }
        }
    }

    fn add_bounded(&mut self, word: &'a str, kind: Kind) {
        let kept = match kind {
            Kind::Path => last_chars(word, LONGEST),
            _ => first_chars(word, LONGEST),
        };
        (self.add)(kept, kind);
    }

    fn name_word(&mut self, from: usize, to: usize, opens_sentence: bool) {
        if let Some(name) = &mut self.name
            && &self.text[name.to..from] == " "
            && name.words < MOST_WORDS
        {
            name.to = to;
            name.words += 1;
            return;
        }
        self.end_name();
        self.name = Some(Name { from, to, words: 1, opens_sentence });
    }

    fn end_name(&mut self) {
        let Some(name) = self.name.take() else { return };
        let text = &self.text[name.from..name.to];
        let kind = match (name.words, name.opens_sentence) {
            (1, true) => Kind::Word,
            (1, false) => Kind::Name,
            _ => Kind::FullName,
        };
        self.add_bounded(text, kind);
    }

    /// Reads a quote; what is in it is looked at word by word as well.
    fn quote(&mut self, open: char, close: char) {
        let at = self.at;
        self.at += open.len_utf8();
        if self.closing.take_if(|closing| *closing == at).is_some() {
            return;
        }
        let apostrophe = open == '\'' && self.text[..at].ends_with(char::is_alphanumeric);
        if apostrophe || self.closing.is_some_and(|closing| closing > at) {
            return;
        }
        let rest = &self.text[self.at..];
        let within = rest.char_indices().take(LONGEST_QUOTE + 1);
        let Some((length, _)) = within.take_while(|(_, c)| *c != '\n').find(|(_, c)| *c == close)
        else {
            return;
        };
        let (quoted, after) = (&rest[..length], &rest[length + close.len_utf8()..]);
        if open == '"' && after.trim_start_matches(' ').starts_with(':') {
            // A key says what sort of thing follows, and it is the same on every page.
            self.at += length + close.len_utf8();
            self.end_name();
            return;
        }
        self.closing = Some(self.at + length);
        if is_telling_quote(quoted) {
            (self.add)(quoted, Kind::Quoted);
        }
    }
}

fn is_telling_quote(quoted: &str) -> bool {
    let edge = |c: char| c.is_alphanumeric() || "/.~#@$-_%?!？！）)]".contains(c);
    let count = quoted.chars().count();
    count >= 3
        && quoted.starts_with(edge)
        && quoted.ends_with(edge)
        && quoted.chars().filter(|c| c.is_alphanumeric()).count() * 2 > count
        && !quoted.contains(|c: char| c.is_control() || matches!(c, '\\' | '{' | '}' | '=' | '<'))
        && !kind::is_stop(quoted)
        // One stretch of random letters is a blob, in quotes or not.
        && (quoted.contains(' ') || count <= 40)
}

/// Returns what ends a quote that a character opens.
fn closing(open: char) -> Option<char> {
    Some(match open {
        '"' | '\'' | '`' => open,
        '“' => '”',
        '‘' => '’',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        '«' => '»',
        _ => return None,
    })
}

fn starts_word(c: char) -> bool {
    if c.is_ascii() {
        return c == '_' || c.is_ascii_alphanumeric();
    }
    c.is_alphanumeric() && !is_east_asian(c)
}

/// Tells whether a character is of a script without spaces; those are left to the repeated runs.
fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns where the word that begins at `from` ends, and whether it is a URL.
fn word_end(text: &str, from: usize) -> (usize, bool) {
    let most = text.floor_char_boundary(text.len().min(from + LONGEST_WORD));
    let text = &text[..most];
    let mut at = from;
    let mut drive = false;
    // The signs that may lead it.
    at += text[at..].bytes().take(3).take_while(|byte| b"/.~#@".contains(byte)).count();
    while let Some(c) = text[at..].chars().next() {
        let next = &text[at + c.len_utf8()..];
        let joins = match c {
            c if starts_word(c) => true,
            '-' | '@' | '+' => next.starts_with(starts_word),
            '.' | '/' => {
                next.starts_with(starts_word)
                    || (c == '/' && next.starts_with('.') && next[1..].starts_with(starts_word))
            }
            '\\' => drive && next.starts_with(starts_word),
            ':' if next.starts_with("//") => return (url_end(text, at), true),
            ':' if at == from + 1 && next.starts_with('\\') => {
                drive = true;
                true
            }
            ':' if next.starts_with(':') && next[1..].starts_with(starts_word) => {
                at += 1;
                true
            }
            _ => false,
        };
        if !joins {
            break;
        }
        at += c.len_utf8();
    }
    (at, false)
}

fn url_end(text: &str, from: usize) -> usize {
    let ends = |c: char| {
        c.is_whitespace() || c.is_control() || is_east_asian(c) || "\"'`<>()[]{}|\\,".contains(c)
    };
    let url = &text[..from + text[from..].find(ends).unwrap_or(text.len() - from)];
    url.trim_end_matches(['.', ';', ':', '!', '?']).len().max(from + 1)
}

fn first_chars(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// Returns the end of a path, from a folder on where one begins.
fn last_chars(text: &str, most: usize) -> &str {
    let Some(cut) = text.chars().count().checked_sub(most).filter(|cut| *cut > 0) else {
        return text;
    };
    let start = text.char_indices().nth(cut).map_or(0, |(start, _)| start);
    let tail = &text[start..];
    tail.find(['/', '\\']).map_or(tail, |folder| &tail[folder + 1..])
}
