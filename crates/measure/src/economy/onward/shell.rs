//! Scripts of a shell, split into their commands.
//!
//! Enough of the grammar to see what a recorded command reads and writes: quotes, comments, redirections
//! and here-documents. Nothing is expanded.

use std::mem::take;

/// A simple command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// Its name and arguments, without quotes.
    pub(super) words: Vec<String>,
    /// The files that its output goes to.
    pub(super) into: Vec<String>,
}

/// Splits a script into its commands, in order. Bodies of here-documents are left out.
pub(super) fn commands(script: &str) -> Vec<Command> {
    let mut splitter = Splitter { rest: script, ..Splitter::default() };
    while let Some(char) = splitter.next() {
        splitter.take(char);
    }
    splitter.end_command();
    splitter.commands
}

/// What the next word is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Role {
    #[default]
    Argument,
    /// The file that output goes to.
    Into,
    /// What input comes from, or a number of a stream.
    Ignored,
    /// The end of a here-document.
    End,
}

#[derive(Debug, Default)]
struct Splitter<'a> {
    rest: &'a str,
    commands: Vec<Command>,
    command: Command,
    /// The word that is being read; none between words.
    word: Option<String>,
    role: Role,
    /// The ends of the here-documents that begin behind this line.
    ends: Vec<String>,
}

impl Splitter<'_> {
    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.rest = &self.rest[char.len_utf8()..];
        Some(char)
    }

    /// Steps over a text if it comes next.
    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Steps over everything before a character, or over all that is left.
    fn upto(&mut self, end: char) -> &str {
        let (before, rest) = self.rest.split_at(self.rest.find(end).unwrap_or(self.rest.len()));
        self.rest = rest;
        before
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn take(&mut self, char: char) {
        match char {
            ' ' | '\t' | '\r' => self.end_word(),
            '\n' => {
                self.end_command();
                self.skip_documents();
            }
            '#' if self.word.is_none() => {
                self.upto('\n');
            }
            // Both output and errors go where the sign behind it points.
            '&' if self.rest.starts_with('>') => {}
            ';' | '&' | '|' | '(' | ')' => self.end_command(),
            '>' => self.redirect_output(),
            '<' => self.redirect_input(),
            '\'' => {
                let quoted = self.upto('\'').to_owned();
                self.next();
                self.word().push_str(&quoted);
            }
            '"' => self.double_quoted(),
            '\\' => match self.next() {
                None | Some('\n') => {}
                Some(char) => self.word().push(char),
            },
            char => self.word().push(char),
        }
    }

    fn double_quoted(&mut self) {
        self.word();
        while let Some(char) = self.next() {
            match char {
                '"' => return,
                '\\' if self.rest.starts_with(['"', '\\', '$', '`']) => {
                    let char = self.next().expect("the rest begins with it");
                    self.word().push(char);
                }
                char => self.word().push(char),
            }
        }
    }

    fn redirect_output(&mut self) {
        self.end_stream();
        let _ = self.skip(">") || self.skip("|");
        self.role = if self.skip("&") { Role::Ignored } else { Role::Into };
    }

    fn redirect_input(&mut self) {
        self.end_stream();
        self.role = Role::Ignored;
        if self.skip("<<") {
            return;
        }
        if self.skip("<") {
            self.skip("-");
            self.role = Role::End;
        }
    }

    /// Ends the word before a redirection; a number there names a stream.
    fn end_stream(&mut self) {
        let is_number = |word: &String| word.chars().all(|char| char.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match take(&mut self.role) {
            Role::Argument => self.command.words.push(word),
            Role::Into if word.starts_with("/dev/") => {}
            Role::Into => self.command.into.push(word),
            Role::Ignored => {}
            Role::End => self.ends.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.role = Role::Argument;
        let command = take(&mut self.command);
        if command != Command::default() {
            self.commands.push(command);
        }
    }

    fn skip_documents(&mut self) {
        for end in take(&mut self.ends) {
            while !self.rest.is_empty() {
                let is_end = self.upto('\n').trim() == end;
                self.next();
                if is_end {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(script: &str) -> Vec<(String, String)> {
        let commands = commands(script).into_iter();
        commands.map(|command| (command.words.join("|"), command.into.join("|"))).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(words, into)| ((*words).to_owned(), (*into).to_owned())).collect()
    }

    #[test]
    fn splits_at_operators_but_not_within_quotes() {
        let script = "cd a && sed -n '1,5p;7p' \"b \\\"c\\\".py\" | head -n 3 # and; so on\nls";
        let expected = [("cd|a", ""), ("sed|-n|1,5p;7p|b \"c\".py", ""), ("head|-n|3", "")];
        assert_eq!(split(script), pairs(&[&expected[..], &[("ls", "")]].concat()));
        assert_eq!(split("a \\\n b'c\nd'e"), pairs(&[("a|bc\nde", "")]));
    }

    #[test]
    fn finds_where_output_goes() {
        let script = "a 2>&1 > one; b >> two 2>/dev/null; c &> three; d < four; e <<< five";
        let expected = [("a", "one"), ("b", "two"), ("c", "three"), ("d", ""), ("e", "")];
        assert_eq!(split(script), pairs(&expected));
    }

    #[test]
    fn skips_here_documents() {
        let script = "cat <<'EOF' > a.py && ls\nrm x > y\nEOF\ncat > b <<-END\n\tpwd\n\tEND\npwd";
        assert_eq!(split(script), pairs(&[("cat", "a.py"), ("ls", ""), ("cat", "b"), ("pwd", "")]));
        assert_eq!(split("cat > a <<EOF\nnever ended"), pairs(&[("cat", "a")]));
    }
}
