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

/// Commands that show the text of the files they name.
const SHOWING: [&str; 13] = [
    "awk", "bat", "cat", "egrep", "fgrep", "grep", "head", "less", "more", "nl", "rg", "sed",
    "tail",
];

/// Visits the files whose text a shell command shows.
pub(super) fn each_read<'a>(command: &'a str, visit: &mut dyn FnMut(&'a str)) {
    let mut lines = command.lines();
    while let Some(line) = lines.next() {
        each_command(line, &mut |command, is_shown| {
            let is_lead = |word: &&str| *word == "sudo" || word.contains('=');
            let name = command.split_whitespace().find(|word| !is_lead(word)).unwrap_or_default();
            let in_place = name == "sed" && command.contains(" -i");
            if is_shown && !in_place && SHOWING.contains(&base(name)) {
                each_file(command, &mut |file| {
                    if !file.starts_with("/dev/") {
                        visit(file);
                    }
                });
            }
        });
        // What stands in a here-document is not run.
        if let Some(end) = document(line) {
            lines.by_ref().find(|line| line.trim() == end);
        }
    }
}

/// Visits the commands of a line, each with whether its output is shown.
fn each_command<'a>(line: &'a str, visit: &mut dyn FnMut(&'a str, bool)) {
    let (mut from, mut is_shown) = (0, true);
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open && before != '\\' => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            // `2>&1` separates nothing.
            (None, '&') if before == '>' => {}
            (None, ';' | '|' | '&') => {
                visit(&line[from..at], is_shown);
                (from, is_shown) = (at + 1, true);
            }
            (None, '>') if before != '2' => {
                let into = line[at..].trim_start_matches(['>', ' ']);
                is_shown &= into.starts_with('&') || into.starts_with("/dev/");
            }
            (None, _) => {}
        }
        before = c;
    }
    visit(&line[from..], is_shown);
}

/// Returns a command without the here-documents that are written into files as they are, and those
/// files.
pub(super) fn without_documents(command: &str) -> (String, Vec<&str>) {
    let (mut bare, mut files) = (String::new(), Vec::new());
    let mut lines = command.lines();
    while let Some(line) = lines.next() {
        bare.push_str(line);
        if let Some(end) = document(line) {
            let known = files.len();
            if line.contains("cat ") && !line.contains(">>") {
                each_written(line, &mut |file| files.push(file));
            }
            let is_written = files.len() > known;
            bare.push_str(if is_written { " …" } else { "" });
            for inner in lines.by_ref() {
                if !is_written {
                    bare.push('\n');
                    bare.push_str(inner);
                }
                if inner.trim() == end {
                    break;
                }
            }
        }
        bare.push('\n');
    }
    (bare.trim_end().to_owned(), files)
}

/// Returns the word that ends the here-document which begins behind a line.
fn document(line: &str) -> Option<&str> {
    let (_, behind) = line.split_once("<<").filter(|(_, behind)| !behind.starts_with('<'))?;
    let word = behind.trim_start_matches(['-', ' ']).split_whitespace().next()?;
    let word = word.trim_matches(['\'', '"', '\\']);
    // `1 << 4` begins none.
    Some(word).filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
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
    fn commands_say_which_files_they_show() {
        let read = |command| {
            let mut found = Vec::new();
            each_read(command, &mut |file| found.push(file));
            found
        };
        assert_eq!(read("cd src && cat a.py | head -5; sed -n '1,5p' b.py"), ["a.py", "b.py"]);
        assert_eq!(read("grep -n 'x -> y\\|z; w' a.py 2>&1 | tail -3"), ["a.py"]);
        assert_eq!(read("LANG=C sudo tail a.log 2>/dev/null"), ["a.log"]);
        assert_eq!(read("cat > a.py <<'EOF'\ncat b.py\nEOF\nnl c.py"), ["c.py"]);
        assert!(read("cat a.py > b.py; sed -i 's/a/b/' c.py; python d.py; pytest e.py").is_empty());
        assert!(read("git diff a.py; ls b.py; echo 'cat c.py'").is_empty());
    }

    #[test]
    fn commands_are_known_without_the_files_they_write() {
        let command = "cd a && cat <<'EOF' > b.py\nx = 1\nEOF\npython - <<END\ny = 2\nEND\nls";
        let bare = "cd a && cat <<'EOF' > b.py …\npython - <<END\ny = 2\nEND\nls";
        assert_eq!(without_documents(command), (bare.to_owned(), vec!["b.py"]));
        for part in ["cat >> b.py <<EOF\nx\nEOF", "echo $((1 << 4)) > n.txt", "cat b.py"] {
            assert_eq!(without_documents(part), (part.to_owned(), vec![]));
        }
        // What is never ended goes on to the end.
        assert_eq!(without_documents("cat > b.py <<EOF\nx").0, "cat > b.py <<EOF …");
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
