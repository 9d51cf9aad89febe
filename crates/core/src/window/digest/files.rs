//! Files that a call names, and those it writes.

/// The longest path that is taken for one, in bytes.
const LONGEST: usize = 160;

/// Visits the words of a text that look like paths of files: with an ending, or a slash within.
pub(super) fn each_file<'a>(text: &'a str, visit: &mut dyn FnMut(&'a str)) {
    let separates = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}')
            || matches!(c, '<' | '>' | '|' | ';' | ',' | '=' | ':' | '&' | '*' | '$' | '\\')
    };
    for word in text.split(separates) {
        let word = word.trim_matches(['.', '-', '!', '?']);
        if is_file(word) {
            visit(word);
        }
    }
}

fn is_file(word: &str) -> bool {
    if word.len() < 3 || word.len() > LONGEST || word.contains("//") || word.ends_with('/') {
        return false;
    }
    let name = base(word);
    let ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    // `self.name` and `1.5` are no files; a path says by its slash that it is one.
    let known = || {
        let ending = name.rsplit('.').next().unwrap_or_default();
        ENDINGS.binary_search(&ending).is_ok()
    };
    if word.contains('/') { ending || word.starts_with('/') } else { ending && known() }
}

/// Endings by which a name alone is taken for a file, in order.
const ENDINGS: [&str; 45] = [
    "bat", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "go", "h", "hpp", "htm",
    "html", "ini", "ipynb", "java", "jl", "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua",
    "md", "php", "pl", "py", "pyi", "rb", "rs", "rst", "scala", "sh", "sql", "swift", "toml", "ts",
    "tsx", "txt", "xml", "yml",
];

/// Returns the name of a file without its folders.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Visits the files that a shell command writes.
pub(super) fn each_written<'a>(command: &'a str, visit: &mut dyn FnMut(&'a str)) {
    let mut file = |word: &'a str| {
        let word = word.trim_matches(['"', '\'', '(', ')', ';']);
        if !word.starts_with('&') && word != "/dev/null" && !word.is_empty() && is_file(word) {
            visit(word);
        }
    };
    for line in command.lines() {
        // `> file` and `>> file`, as in `cat > file <<'EOF'`.
        let mut rest = line;
        while let Some(at) = rest.find('>') {
            let redirects = rest[..at].ends_with([' ', '>', '\t', '1']) || at == 0;
            rest = &rest[at + 1..];
            if redirects
                && let Some(word) = rest.trim_start_matches(['>', ' ']).split_whitespace().next()
            {
                file(word);
            }
        }
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            match word {
                "tee" | "touch" => words.clone().take(2).for_each(&mut file),
                "sed" | "perl" if line.contains(" -i") => {
                    words.by_ref().last().into_iter().for_each(&mut file);
                }
                "mv" | "cp" => words.clone().take(3).last().into_iter().for_each(&mut file),
                _ => {}
            }
        }
        // `open('file', 'w')` in scripts.
        for (at, _) in line.match_indices("open(") {
            let inner = &line[at + 5..];
            let mut parts = inner.splitn(3, ['\'', '"']).skip(1);
            let (Some(path), Some(behind)) = (parts.next(), parts.next()) else { continue };
            if ["'w", "\"w", "'a", "\"a"].iter().any(|mode| behind.contains(mode)) {
                file(path);
            }
        }
        if let Some((path, _)) = line.split_once(").write_text(")
            && let Some(path) = path.rsplit(['\'', '"']).nth(1)
        {
            file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        each_file(text, &mut |file| found.push(file));
        found
    }

    fn written(command: &str) -> Vec<&str> {
        let mut found = Vec::new();
        each_written(command, &mut |file| found.push(file));
        found
    }

    #[test]
    fn endings_are_in_order() {
        assert!(ENDINGS.is_sorted());
    }

    #[test]
    fn files_are_named_by_their_ending_or_their_folders() {
        assert_eq!(files("cat src/lexer.rs | head -5"), ["src/lexer.rs"]);
        assert_eq!(files(r#"{"path": "a/b.py", "old": "self.name"}"#), ["a/b.py"]);
        assert_eq!(files("cd /etc && grep -n 1.5 setup.cfg"), ["/etc", "setup.cfg"]);
        assert_eq!(files("修改 src/解析.rs 文件"), ["src/解析.rs"]);
        assert!(files("see https://example.com/a.html, self.items e.g. this").is_empty());
    }

    #[test]
    fn commands_say_which_files_they_write() {
        assert_eq!(written("cat <<'EOF' > src/a.py\nx = 1 > 0\nEOF"), ["src/a.py"]);
        assert_eq!(written("sed -i 's/a/b/' src/b.py"), ["src/b.py"]);
        assert_eq!(written("python x.py 2>&1 | tee out.log"), ["out.log"]);
        assert_eq!(written("with open('c.py', 'w') as f:"), ["c.py"]);
        assert_eq!(written("Path('d.py').write_text(x)"), ["d.py"]);
        assert_eq!(written("mv old.py new.py"), ["new.py"]);
        assert!(written("cat src/a.py > /dev/null; grep 'a -> b.py' x").is_empty());
    }
}
