//! What sort of string a word is, by its shape alone.

use super::weight;

/// What sort of string a candidate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Path,
    Error,
    Email,
    /// Something with digits in it: an order number, a commit, `gpt-4o`.
    Id,
    /// A name out of a program.
    Identifier,
    Url,
    /// Two or more capitalised words.
    FullName,
    Quoted,
    Function,
    Number,
    Version,
    /// A capitalised word.
    Name,
    /// A repeated run of characters in text without spaces.
    Gram,
    Acronym,
    /// An ordinary word, telling only when it is repeated.
    Word,
}

impl Kind {
    pub(super) fn weight(self) -> u64 {
        match self {
            Self::Path => weight::PATH,
            Self::Error => weight::ERROR,
            Self::Email => weight::EMAIL,
            Self::Id => weight::ID,
            Self::Identifier => weight::IDENTIFIER,
            Self::Url => weight::URL,
            Self::FullName => weight::FULL_NAME,
            Self::Quoted => weight::QUOTED,
            Self::Function => weight::FUNCTION,
            Self::Number => weight::NUMBER,
            Self::Version => weight::VERSION,
            Self::Name => weight::NAME,
            Self::Gram => weight::GRAM,
            Self::Acronym => weight::ACRONYM,
            Self::Word => weight::WORD,
        }
    }

    /// Returns how often a string of this kind must be seen.
    pub(super) fn least_count(self) -> u64 {
        if self == Self::Word { 2 } else { 1 }
    }
}

/// A hash or a blob is longer than this without a break.
const LONGEST_STRETCH: usize = 40;

/// What a word is made of.
#[derive(Default)]
struct Shape {
    length: usize,
    upper: usize,
    lower: usize,
    digits: usize,
    /// Letters of scripts without case.
    uncased: usize,
    /// Lower case followed by upper case.
    humps: usize,
    /// Changes between upper case, lower case and digits.
    changes: usize,
    /// The longest run of letters and digits.
    stretch: usize,
    underscores: usize,
    dashes: usize,
    dots: usize,
    slashes: usize,
    signs: usize,
    colons: usize,
    pluses: usize,
}

impl Shape {
    fn of(word: &str) -> Self {
        let mut shape = Self::default();
        let (mut stretch, mut last) = (0, ' ');
        for c in word.chars() {
            shape.length += 1;
            let class = match c {
                'a'..='z' => (&mut shape.lower, 'a'),
                'A'..='Z' => (&mut shape.upper, 'A'),
                '0'..='9' => (&mut shape.digits, '0'),
                '_' => (&mut shape.underscores, '_'),
                '-' => (&mut shape.dashes, '_'),
                '.' => (&mut shape.dots, '_'),
                '/' | '\\' => (&mut shape.slashes, '_'),
                '@' => (&mut shape.signs, '_'),
                ':' => (&mut shape.colons, '_'),
                '+' => (&mut shape.pluses, '_'),
                c if c.is_uppercase() => (&mut shape.upper, 'A'),
                c if c.is_lowercase() => (&mut shape.lower, 'a'),
                _ => (&mut shape.uncased, 'x'),
            };
            *class.0 += 1;
            let class = class.1;
            shape.humps += usize::from(last == 'a' && class == 'A');
            shape.changes += usize::from(last != class && last != '_' && class != '_');
            stretch = if class == '_' { 0 } else { stretch + 1 };
            shape.stretch = shape.stretch.max(stretch);
            last = class;
        }
        shape
    }

    fn is_blob(&self, word: &str) -> bool {
        let hex = || word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        self.stretch > LONGEST_STRETCH
            || (self.pluses > 0 && self.signs == 0)
            || (self.length >= 20 && self.changes * 2 > self.length && !hex())
    }
}

/// Tells what sort of string a word is, if it is worth telling; `called` says that `(` follows.
pub(super) fn classify(word: &str, called: bool) -> Option<Kind> {
    let shape = Shape::of(word);
    if shape.length < 3 || shape.is_blob(word) {
        return None;
    }
    let letters = shape.upper + shape.lower + shape.uncased;
    if shape.signs > 0 {
        return is_email(word).then_some(Kind::Email);
    }
    if shape.slashes > 0 {
        return is_path(word, &shape).then_some(Kind::Path);
    }
    if letters == 0 {
        return of_digits(&shape);
    }
    if is_error(word, &shape) {
        return Some(Kind::Error);
    }
    if shape.colons > 0 || shape.underscores > 0 {
        return (letters > 1).then_some(Kind::Identifier);
    }
    if shape.dots > 0 {
        return of_dots(word, &shape);
    }
    if shape.digits > 0 {
        return Some(Kind::Id);
    }
    if shape.dashes > 0 {
        return None;
    }
    if shape.length >= 4 && (shape.humps > 0 || (shape.upper > 1 && shape.lower > 1)) {
        return Some(Kind::Identifier);
    }
    if is_stop(word) {
        return None;
    }
    if called {
        return Some(Kind::Function);
    }
    if shape.upper == shape.length {
        return Some(Kind::Acronym);
    }
    if shape.upper == 1 && word.starts_with(char::is_uppercase) {
        return Some(Kind::Name);
    }
    (shape.uncased > 0 || shape.length >= 6).then_some(Kind::Word)
}

fn is_email(word: &str) -> bool {
    word.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !host.contains(['@', '/'])
    })
}

fn is_path(word: &str, shape: &Shape) -> bool {
    let rooted = word.starts_with(['/', '.', '~']) || word.get(1..3) == Some(":\\");
    let last = word.rsplit(['/', '\\']).next().unwrap_or("");
    let file = last.rsplit_once('.').is_some_and(|(_, end)| is_extension(end));
    let made = shape.underscores + shape.dashes > 0;
    let letters = shape.upper + shape.lower + shape.uncased;
    letters > 1 && (rooted || file || shape.slashes > 1 || made)
}

/// Tells whether what follows a dot is the ending of a file's name.
fn is_extension(end: &str) -> bool {
    (1..=5).contains(&end.len())
        && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && end.starts_with(|c: char| c.is_ascii_lowercase())
}

fn of_digits(shape: &Shape) -> Option<Kind> {
    match shape.dots {
        0 => {}
        // A price or a measure is seldom what is looked for.
        1 => return (shape.digits >= 6).then_some(Kind::Number),
        _ => return Some(Kind::Version),
    }
    if shape.dashes > 0 {
        return (shape.digits >= 6).then_some(Kind::Id);
    }
    (shape.digits >= 4).then_some(Kind::Number)
}

fn is_error(word: &str, shape: &Shape) -> bool {
    const ENDINGS: [&str; 4] = ["Error", "Exception", "Warning", "Failure"];
    let named = |ending: &&str| word.len() > ending.len() && word.ends_with(*ending);
    // `E0432`, `TS2304`, `ENOENT`, `ERR_X`.
    let code =
        shape.lower == 0 && shape.dashes + shape.dots == 0 && shape.upper <= 3 && shape.digits >= 4;
    let errno =
        shape.upper == shape.length && word.starts_with('E') && (5..=12).contains(&shape.length);
    ENDINGS.iter().any(named)
        || code && word.starts_with(['E', 'T', 'C'])
        || errno && ERRNOS.contains(&word)
        || word.starts_with("ERR_")
}

#[rustfmt::skip]
const ERRNOS: [&str; 12] = [
    "EACCES", "EADDRINUSE", "EAGAIN", "ECONNREFUSED", "ECONNRESET", "EEXIST", "EINVAL", "EISDIR",
    "ENOENT", "ENOTDIR", "EPERM", "ETIMEDOUT",
];

/// A file, a version, a dotted name or a host; not two sentences without a space between.
fn of_dots(word: &str, shape: &Shape) -> Option<Kind> {
    let version = word.strip_prefix(['v', 'V']).unwrap_or(word);
    if version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Some(Kind::Version);
    }
    let (front, end) = word.rsplit_once('.')?;
    if front.is_empty() || is_extension(end) && FILES.contains(&end) {
        return Some(Kind::Path);
    }
    let sentence = end.starts_with(char::is_uppercase)
        && front.ends_with(char::is_lowercase)
        && shape.upper <= 2;
    let short = word.split('.').any(|piece| piece.chars().count() < 2);
    (!sentence && !short).then_some(Kind::Identifier)
}

/// Endings that make a file of a word without a folder before it.
#[rustfmt::skip]
const FILES: [&str; 48] = [
    "bat", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "diff", "doc", "docx", "env",
    "gif", "go", "gz", "h", "hpp", "html", "ini", "ipynb", "java", "jpg", "js", "json", "jsx", "kt",
    "lock", "log", "lua", "md", "pdf", "php", "png", "ps1", "py", "rb", "rs", "sh", "sql", "svg",
    "swift", "toml", "ts", "tsx", "txt", "xml",
];

/// Words of English and of programs that tell nothing, sorted.
#[rustfmt::skip]
const STOPS: [&str; 175] = [
    "about", "above", "actually", "after", "again", "all", "already", "also", "although", "always",
    "and", "another", "any", "are", "array", "assert", "async", "await", "because", "been",
    "before", "being", "below", "between", "bool", "both", "but", "can", "cannot", "case", "catch",
    "check", "class", "const", "could", "create", "currently", "def", "default", "did", "does",
    "done", "each", "either", "else", "enum", "every", "false", "file", "finally", "find", "first",
    "following", "for", "from", "function", "get", "given", "had", "has", "have", "hello", "her",
    "here", "his", "how", "however", "impl", "import", "including", "instead", "int", "into", "its",
    "just", "last", "len", "let", "like", "list", "looks", "make", "many", "match", "may", "might",
    "more", "most", "much", "must", "name", "need", "never", "new", "next", "none", "not", "note",
    "now", "null", "number", "object", "once", "one", "only", "open", "other", "our", "out", "over",
    "please", "print", "pub", "range", "really", "result", "return", "run", "same", "second", "see",
    "self", "set", "several", "she", "should", "since", "some", "something", "still", "str",
    "string", "struct", "such", "sure", "switch", "thanks", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "true", "try", "type", "use", "using",
    "value", "void", "was", "were", "what", "when", "where", "which", "while", "who", "why", "will",
    "with", "within", "without", "would", "yes", "yet", "you", "your", "yours", "yourself",
];

/// Tells whether a word tells nothing, whatever its case.
pub(super) fn is_stop(word: &str) -> bool {
    const LONGEST: usize = 12;
    let mut lower = [0; LONGEST];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    STOPS.binary_search_by(|stop| stop.as_bytes().cmp(lower)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_list_is_sorted() {
        assert!(STOPS.is_sorted() && STOPS.contains(&"with"));
        assert!(is_stop("The") && is_stop("your") && !is_stop("goroutine") && !is_stop("界"));
    }
}
