//! The files that recorded calls and scripts read and write.
//!
//! Tools are known by their names and arguments, commands of a shell by theirs. What scripts of Python
//! open to write, and what patches change, is looked for in the text.

use serde_json::Value;

use super::shell::{Command, commands};

/// Arguments of tools that name a file.
const PATHS: [&str; 7] =
    ["path", "file_path", "filePath", "filename", "file", "target_file", "notebook_path"];

/// Arguments of tools that hold a script.
const SCRIPTS: [&str; 3] = ["command", "cmd", "script"];

/// What the names of tools that write have in them.
const WRITES: [&str; 7] = ["write", "edit", "replace", "insert", "create", "append", "patch"];

/// What the names of tools that read have in them.
const READS: [&str; 5] = ["read", "view", "open", "cat", "grep"];

/// Words that may stand before a command.
const LEADS: [&str; 8] = ["do", "then", "else", "if", "while", "!", "{", "sudo"];

/// The files that a call reads and writes, as it names them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) read: Vec<String>,
    pub(super) written: Vec<String>,
}

impl Touched {
    /// Finds the files of a tool's call.
    pub(super) fn by_call(name: &str, arguments: &str) -> Self {
        let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
            return Self { written: patched(arguments), ..Self::default() };
        };
        let first = |keys: &[&str]| keys.iter().find_map(|key| arguments.get(*key));
        let script = first(&SCRIPTS).and_then(|script| match script {
            Value::Array(words) => words.last().and_then(Value::as_str),
            script => script.as_str(),
        });
        let Some(path) = first(&PATHS).and_then(Value::as_str) else {
            let patches = arguments.values().filter_map(Value::as_str).flat_map(patched);
            return script.map_or_else(
                || Self { written: patches.collect(), ..Self::default() },
                Self::by_script,
            );
        };
        // An editor that does several things is told which by its command.
        let verb = script.unwrap_or(name).to_lowercase();
        let path = vec![joined("", path)];
        if WRITES.iter().any(|write| verb.contains(write)) {
            Self { written: path, ..Self::default() }
        } else if READS.iter().any(|read| verb.contains(read)) {
            Self { read: path, ..Self::default() }
        } else {
            Self::default()
        }
    }

    /// Finds the files of a shell's script.
    pub(super) fn by_script(script: &str) -> Self {
        let mut touched = Self { written: patched(script), ..Self::default() };
        touched.written.extend(written_by_python(script));
        let mut folder = String::new();
        for command in commands(script) {
            touched.add(command, &mut folder);
        }
        touched.written.sort();
        touched.written.dedup();
        touched
    }

    fn add(&mut self, command: Command, folder: &mut String) {
        let is_shown = command.into.is_empty();
        self.written.extend(command.into.iter().map(|path| joined(folder, path)));
        let is_lead = |word: &&String| LEADS.contains(&word.as_str()) || is_assignment(word);
        let mut words = command.words.iter().skip_while(is_lead).map(String::as_str);
        let Some(name) = words.next() else { return };
        let name = name.rsplit('/').next().unwrap_or(name);
        let (flags, named): (Vec<&str>, Vec<&str>) =
            words.filter(|word| !is_number(word)).partition(|word| word.starts_with('-'));
        // The first argument is a program or pattern, behind `-e` as well.
        let behind_first = || named.get(1..).unwrap_or_default();
        let (read, written): (&[&str], &[&str]) = match name {
            "cd" => {
                *folder = named.first().map_or_else(String::new, |path| joined(folder, path));
                return;
            }
            "cat" | "nl" | "head" | "tail" | "less" | "more" | "bat" => (&named, &[]),
            "sed" | "perl" if flags.iter().any(is_in_place) => (&[], behind_first()),
            "sed" | "awk" | "grep" | "egrep" | "fgrep" | "rg" => (behind_first(), &[]),
            "tee" => (&[], &named),
            _ => return,
        };
        if is_shown {
            self.read.extend(read.iter().map(|path| joined(folder, path)));
        }
        self.written.extend(written.iter().map(|path| joined(folder, path)));
    }
}

/// Tells whether two paths name the same file. One that is not absolute begins somewhere in the other.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let ends = |whole: &str, end: &str| {
        whole.strip_suffix(end).is_some_and(|folder| folder.ends_with('/'))
    };
    match (one.starts_with('/'), other.starts_with('/')) {
        (true, false) => ends(one, other),
        (false, true) => ends(other, one),
        _ => one == other,
    }
}

/// Returns a path as it stands in a folder, without steps that lead nowhere.
fn joined(folder: &str, path: &str) -> String {
    let path =
        if folder.is_empty() || path.starts_with('/') { path } else { &format!("{folder}/{path}") };
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/').filter(|step| !step.is_empty() && *step != ".") {
        match step {
            ".." if steps.last().is_some_and(|last| *last != "..") => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", steps.join("/"))
}

fn is_number(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.chars().all(|char| char.is_ascii_digit())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_identifier(name))
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_of_identifier)
}

fn is_of_identifier(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Tells whether a flag lets a command change its files: `-i`, alone or among other letters.
fn is_in_place(flag: &&str) -> bool {
    let mut letters = flag.chars().skip(1).take_while(char::is_ascii_alphanumeric);
    flag.starts_with("--in-place") || letters.any(|letter| letter == 'i')
}

/// Returns the files that a patch changes.
fn patched(text: &str) -> Vec<String> {
    let starts = ["*** Update File: ", "+++ b/"];
    let name = |line: &str| {
        let path = starts.iter().find_map(|start| line.strip_prefix(start));
        path.map(|path| joined("", path.trim()))
    };
    text.lines().filter_map(name).collect()
}

/// Returns the files that Python within a text opens to write.
fn written_by_python(text: &str) -> Vec<String> {
    let opened = text.match_indices("open(").filter_map(|(at, open)| {
        let (target, rest) = text[at + open.len()..].split_once(',')?;
        let mode =
            rest.trim_start().trim_start_matches("mode=").trim_start_matches(['\\', '"', '\'']);
        mode.starts_with(['w', 'a', 'x']).then(|| value(target.trim(), &text[..at]))?
    });
    let filled = text.match_indices(".write_text(").filter_map(|(at, _)| {
        let before = &text[..at];
        let start = before.rfind(|char| !is_of_identifier(char)).map_or(0, |at| at + 1);
        match before.strip_suffix(')') {
            Some(made) => literal(&made[made.rfind("Path(")? + "Path(".len()..]),
            None => value(&before[start..], before),
        }
    });
    opened.chain(filled).map(|path| joined("", path)).collect()
}

/// Returns the text that an expression stands for: a literal, or a name that was given one before.
fn value<'a>(expression: &'a str, before: &'a str) -> Option<&'a str> {
    if !is_identifier(expression) {
        return literal(expression);
    }
    let given = |statement: &'a str| {
        let rest = statement.trim().strip_prefix(expression)?.trim_start().strip_prefix('=')?;
        literal(rest.trim_start().trim_start_matches("Path("))
    };
    before.rsplit(['\n', ';']).find_map(given)
}

/// Returns the text of the literal that an expression begins with.
fn literal(expression: &str) -> Option<&str> {
    let expression = expression.trim_start_matches('\\');
    let quote = expression.chars().next().filter(|char| matches!(char, '"' | '\''))?;
    let (text, _) = expression[1..].split_once(quote)?;
    Some(text.trim_end_matches('\\')).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(script: &str) -> (String, String) {
        let touched = Touched::by_script(script);
        (touched.read.join(" "), touched.written.join(" "))
    }

    fn call(name: &str, arguments: &str) -> (String, String) {
        let touched = Touched::by_call(name, arguments);
        (touched.read.join(" "), touched.written.join(" "))
    }

    fn pair(read: &str, written: &str) -> (String, String) {
        (read.to_owned(), written.to_owned())
    }

    #[test]
    fn finds_files_that_commands_read() {
        assert_eq!(script("cat ./src/a.py"), pair("src/a.py", ""));
        assert_eq!(script("nl -ba a.py | sed -n '10,20p'"), pair("a.py", ""));
        assert_eq!(script("sed -n '1,5p' a.py; head -n 20 b.py"), pair("a.py b.py", ""));
        assert_eq!(script("tail -n +5 a.py 2>/dev/null"), pair("a.py", ""));
        assert_eq!(script("grep -n -A 3 'def run' a.py b.py"), pair("a.py b.py", ""));
        assert_eq!(script("cd /repo/src && grep -e x ../a.py"), pair("/repo/a.py", ""));
        assert_eq!(script("X=1 python run.py && ls a.py"), pair("", ""));
    }

    #[test]
    fn finds_files_that_commands_write() {
        assert_eq!(script("cat <<'EOF' > a.py\ncat b.py\nEOF"), pair("", "a.py"));
        assert_eq!(script("cat > ./a.py <<EOF\nx\nEOF\ncat a.py"), pair("a.py", "a.py"));
        assert_eq!(script("cat a.py > b.py"), pair("", "b.py"));
        assert_eq!(script("echo x | tee -a a.py"), pair("", "a.py"));
        assert_eq!(script("sed -i 's/a/b/' a.py b.py"), pair("", "a.py b.py"));
        assert_eq!(script("sed -i.bak -e '5a\\\n  x' a.py"), pair("", "a.py"));
        assert_eq!(script("perl -0pi -e 's/a/b/' a.py"), pair("", "a.py"));
        assert_eq!(script("for f in 1 2; do sed -Ei 's/a/b/' a.py; done"), pair("", "a.py"));
    }

    #[test]
    fn finds_files_that_python_writes() {
        let named = "cat > fix.py <<'EOF'\np = 'src/a.py'\nwith open(p) as f:\n    s = f.read()\n\
                     with open(p, 'w') as f:\n    f.write(s)\nEOF\npython fix.py";
        assert_eq!(script(named), pair("", "fix.py src/a.py"));
        let inline = r#"python -c "s = open('a.py', 'r').read(); open(\"b.py\", \"w\").write(s)""#;
        assert_eq!(script(inline), pair("", "b.py"));
        let paths = "python - <<'EOF'\nfile = Path('a.py')\nfile.write_text(file.read_text())\n\
                     Path(\"b.py\").write_text('')\nopen('c.py', mode='a')\nEOF";
        assert_eq!(script(paths), pair("", "a.py b.py c.py"));
        assert_eq!(script("python - <<'EOF'\nopen(f'{x}/a.py', 'w')\nEOF"), pair("", ""));
    }

    #[test]
    fn finds_files_of_tools() {
        assert_eq!(call("read", r#"{"path": "./a.ts", "limit": 5}"#), pair("a.ts", ""));
        assert_eq!(call("Edit", r#"{"file_path": "/a.ts", "old_string": ""}"#), pair("", "/a.ts"));
        let editor = "str_replace_based_edit_tool";
        assert_eq!(call(editor, r#"{"command": "view", "path": "a"}"#), pair("a", ""));
        assert_eq!(call(editor, r#"{"command": "str_replace", "path": "a"}"#), pair("", "a"));
        assert_eq!(call("bash", r#"{"command": "cat a > b; cat c"}"#), pair("c", "b"));
        assert_eq!(call("shell", r#"{"command": ["bash", "-lc", "cat a"]}"#), pair("a", ""));
        let patch = r#"{"input": "*** Begin Patch\n*** Update File: src/a.rs\n+x\n"}"#;
        assert_eq!(call("apply_patch", patch), pair("", "src/a.rs"));
        assert_eq!(script("git apply <<'EOF'\n--- a/x.c\n+++ b/x.c\nEOF"), pair("", "x.c"));
        assert_eq!(call("search_direct_flight", r#"{"origin": "JFK"}"#), pair("", ""));
    }

    #[test]
    fn compares_absolute_and_relative_paths() {
        assert!(is_same("a/b.py", "a/b.py") && is_same("/repo/a/b.py", "a/b.py"));
        assert!(!is_same("a/b.py", "b.py") && !is_same("/repo/ab.py", "b.py"));
    }
}
