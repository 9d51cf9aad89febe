//! What was last read of each file, and which of it the model is about to change.

use std::collections::HashSet;

use super::{
    files::{Touched, is_same},
    words::add_lines,
};
use crate::economy::record::Recorded;

/// What recorded agents put around results of commands; no file says it.
const FRAMES: [&str; 4] = ["<returncode>", "<output", "</output", "<warning>"];

/// What was read of files so far. Fed message by message.
#[derive(Debug)]
pub(super) struct Readings {
    /// Whether commands stand in what the model says, and their results are user messages.
    in_text: bool,
    /// The files whose text is due, with the call that asks for it, if a tool's.
    due: Vec<(Option<String>, Vec<String>)>,
    /// The lines that stood in results, the latest last.
    read: Vec<(String, HashSet<u64>)>,
}

impl Readings {
    pub(super) fn new(in_text: bool) -> Self {
        Self { in_text, due: Vec::new(), read: Vec::new() }
    }

    /// Takes in a message.
    pub(super) fn hear(&mut self, message: &Recorded) {
        let by = match message.role.as_str() {
            "assistant" => {
                let touched = self.touched(message).into_iter();
                self.due = touched.map(|(call, touched)| (call, touched.read)).collect();
                return;
            }
            "tool" => message.answers(),
            _ if self.in_text => None,
            _ => return,
        };
        let mut lines = HashSet::new();
        let is_framed = |line: &&str| FRAMES.iter().any(|frame| line.starts_with(frame));
        let said = message.content().lines().filter(|line| !is_framed(line));
        said.for_each(|line| add_lines(line, &mut lines));
        let answered = self.due.extract_if(.., |(call, _)| call.as_deref() == by);
        let paths = answered.flat_map(|(_, paths)| paths);
        self.read.extend(paths.map(|path| (path, lines.clone())));
    }

    /// Returns the lines of the latest reading of each file that a message is about to write.
    pub(super) fn about_to_change(&self, answer: &Recorded) -> Vec<&HashSet<u64>> {
        let touched = self.touched(answer).into_iter();
        let mut files: Vec<String> = touched.flat_map(|(_, touched)| touched.written).collect();
        files.sort();
        files.dedup();
        let latest = |file: &String| self.read.iter().rev().find(|(path, _)| is_same(path, file));
        files.iter().filter_map(latest).map(|(_, lines)| lines).collect()
    }

    fn touched(&self, message: &Recorded) -> Vec<(Option<String>, Touched)> {
        if self.in_text {
            let script = only_script(message.content());
            return script.map(|script| (None, Touched::by_script(script))).into_iter().collect();
        }
        let calls = message.calls().iter();
        calls
            .map(|call| (Some(call.id.clone()), Touched::by_call(&call.name, &call.arguments)))
            .collect()
    }
}

/// Returns the script of a message that has one. Agents that speak so run nothing if there are more.
fn only_script(text: &str) -> Option<&str> {
    let mut scripts = text.split("```bash\n").skip(1);
    let script = scripts.next().filter(|_| scripts.next().is_none())?;
    Some(script.find("\n```").map_or(script, |end| &script[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: &str, content: &str) -> Recorded {
        let json = serde_json::json!({ "role": role, "content": content });
        serde_json::from_value(json).unwrap()
    }

    fn lines(texts: &[&str]) -> HashSet<u64> {
        let mut lines = HashSet::new();
        texts.iter().for_each(|text| add_lines(text, &mut lines));
        lines
    }

    #[test]
    fn finds_the_latest_reading_of_a_file_in_scripts() {
        let mut readings = Readings::new(true);
        let mut step = |script: &str, result: &str| {
            let said = message("assistant", &format!("So:\n```bash\n{script}\n```"));
            let found: Vec<_> = readings.about_to_change(&said).into_iter().cloned().collect();
            readings.hear(&said);
            let output = format!("<returncode>0</returncode>\n<output>\n{result}\n</output>");
            readings.hear(&message("user", &output));
            found
        };
        assert!(step("cat /repo/a.py", "def first():\n    return 1\n    pass").is_empty());
        assert!(step("cat b.py", "of another file").is_empty());
        let whole = lines(&["def first():", "return 1"]);
        assert_eq!(step("sed -i 's/1/2/' a.py && nl -ba a.py", "   1\tdef second():"), [whole]);
        assert_eq!(step("cat > a.py <<EOF\nx\nEOF", ""), [lines(&["def second():"])]);
        let two = message("assistant", "```bash\ntee a.py\n```\nor\n```bash\ntee a.py\n```");
        assert!(readings.about_to_change(&two).is_empty());
    }

    #[test]
    fn results_of_tools_belong_to_their_calls() {
        let call = |id: &str, name: &str, path: &str| {
            let arguments = format!(r#"{{"path": "{path}"}}"#);
            serde_json::json!({ "id": id, "name": name, "arguments": arguments })
        };
        let said = |calls: &[serde_json::Value]| -> Recorded {
            let json = serde_json::json!({ "role": "assistant", "tool_calls": calls });
            serde_json::from_value(json).unwrap()
        };
        let answer = |id: &str, content: &str| -> Recorded {
            let json =
                serde_json::json!({ "role": "tool", "tool_call_id": id, "content": content });
            serde_json::from_value(json).unwrap()
        };
        let mut readings = Readings::new(false);
        readings.hear(&said(&[call("1", "read", "a.rs"), call("2", "read", "b.rs")]));
        readings.hear(&answer("2", "text of the second"));
        readings.hear(&message("user", "what the user says"));
        readings.hear(&answer("1", "text of the first"));
        let edit = said(&[call("3", "edit", "a.rs"), call("4", "write", "c.rs")]);
        assert_eq!(readings.about_to_change(&edit), [&lines(&["text of the first"])]);
    }
}
