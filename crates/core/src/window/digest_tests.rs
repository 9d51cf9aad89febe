use super::*;
use crate::message::parse_messages;

fn digest(json: &str) -> Digest {
    Digest::of(&parse_messages(json.as_bytes()).unwrap())
}

#[test]
fn a_turn_is_read_in_order() {
    let digest = digest(
        r#"[{"role":"user","content":"Make the\ntests pass."},
        {"role":"assistant","content":"Let me look.","tool_calls":[
          {"id":"a","type":"function","function":{"name":"run","arguments":"{\"command\":\"cargo test > out.log\"}"}},
          {"id":"b","type":"function","function":{"name":"edit_file","arguments":"{\"path\":\"src/a.rs\",\"old\":\"one\\ntwo\",\"new\":\"three\"}"}}]},
        {"role":"tool","tool_call_id":"b","content":"replaced"},
        {"role":"tool","tool_call_id":"a","content":"running\nerror: mismatched types\nnote: see above"},
        {"role":"assistant","content":"Fixed the types. All is well."}]"#,
    );
    assert_eq!(digest.asked.as_deref(), Some("Make the tests pass."));
    let [Step::Call(run), Step::Call(edit), Step::Said(said)] = &digest.steps[..] else {
        panic!("{:?}", digest.steps);
    };
    assert_eq!(&*run.text, "run command=cargo test > out.log");
    assert_eq!(*run.written, ["out.log".into()]);
    assert!(run.failed());
    assert_eq!(&*run.outcome.as_ref().unwrap().line, "error: mismatched types");
    assert_eq!(&*edit.text, "edit_file path=src/a.rs new=three\nold:\none\ntwo");
    assert_eq!((&*edit.written, &*edit.files), (&["src/a.rs".into()][..], &["a.rs".into()][..]));
    assert!(!edit.failed());
    assert_eq!(&**said, "Fixed the types. All is well.");
    assert_eq!(digest.said(), Some("Fixed the types. All is well."));
}

// Harnesses without tool messages: commands stand in fences, and results come as user messages.
#[test]
fn commands_in_fences_are_calls_where_a_result_follows() {
    let page = digest(
        r#"[{"role":"user","content":"<returncode>1</returncode>\n<output>\nno tests ran\n</output>","observation":true},
        {"role":"assistant","content":"THOUGHT: again.\n\n```bash\ncat src/a.py\n```"}]"#,
    );
    assert!(page.continues() && page.asked.is_none());
    let [Step::Ended(ended), Step::Call(call)] = &page.steps[..] else { panic!("{page:?}") };
    assert_eq!(&*ended.line, "no tests ran");
    assert_eq!((&*call.text, &*call.files), ("$ cat src/a.py", &["a.py".into()][..]));
    // An answer that shows code and is followed by the next request calls nothing.
    let answer = digest(
        r#"[{"role":"user","content":"How?"},{"role":"assistant","content":"So:\n```\nls\n```"},
        {"role":"user","content":"Thanks"}]"#,
    );
    assert_eq!(answer.calls().count(), 0);
    assert_eq!(answer.said(), Some("So: ``` ls ```"));
}

#[test]
fn calls_are_known_without_the_texts_they_write() {
    let digest = digest(
        r#"[{"role":"user","content":"Go."},
        {"role":"assistant","tool_calls":[
          {"id":"a","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"src/a.rs\",\"content\":\"one\\ntwo\"}"}},
          {"id":"b","type":"function","function":{"name":"edit_file","arguments":"{\"path\":\"src/b.rs\",\"new\":\"one\\ntwo\"}"}},
          {"id":"c","type":"function","function":{"name":"run","arguments":"{\"command\":\"cat > c.py <<EOF\\none\\nEOF\\npython c.py\"}"}},
          {"id":"d","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"src/d.rs\"}"}}]}]"#,
    );
    let known: Vec<_> =
        digest.calls().map(|call| (call.bare.as_deref(), &*call.whole, &*call.read)).collect();
    assert_eq!(
        known[0],
        (Some("write_file path=src/a.rs\ncontent: …"), &["src/a.rs".into()][..], &[][..])
    );
    assert_eq!(known[1], (None, &[][..], &[][..]));
    let bare = "run\ncommand:\ncat > c.py <<EOF …\npython c.py";
    assert_eq!(known[2], (Some(bare), &["c.py".into()][..], &[][..]));
    assert_eq!(known[3], (None, &[][..], &["d.rs".into()][..]));
}

#[test]
fn noise_is_not_asked() {
    let page = digest(
        r#"[{"role":"user","content":"<local-command-stdout>ok</local-command-stdout>"},
        {"role":"assistant","content":"Noted."}]"#,
    );
    assert_eq!(page.asked, None);
    assert!(matches!(&page.steps[..], [Step::Noise(_), Step::Said(_)]), "{page:?}");
}

#[test]
fn failures_are_told_from_their_absence() {
    let failed = |text: &str| CallOutcome::of(text, false).failed;
    for text in ["ValueError: bad", "2 failed, 3 passed", "bash: x: command not found"] {
        assert!(failed(text), "{text}");
    }
    for text in ["12 passed, 0 failed", "see errors.rs and error_page", "no errors", "", "ok"] {
        assert!(!failed(text), "{text}");
    }
    assert!(CallOutcome::of("fine", true).failed);
}

#[test]
fn a_head_ends_with_a_sentence_or_a_word() {
    assert_eq!(head("short  and\nsweet", 80), "short and sweet");
    assert_eq!(head("One sentence stands. Another follows it here.", 30), "One sentence stands.…");
    assert_eq!(head("one two three four five", 14), "one two three…");
    assert_eq!(head("It stands in api.py, said in short", 20), "It stands in…");
    assert_eq!(head("修改解析器的所有测试并且运行它们", 8), "修改解析器的所…");
}

#[test]
fn odd_calls_do_no_harm() {
    for arguments in ["", "null", "[1]", "{\"path\":", "\"text\"", "{\"path\":{\"a\":1}}"] {
        let json = serde_json::json!([{"role":"assistant","content":null,"tool_calls":[
            {"id":"a","type":"function","function":{"name":"t","arguments":arguments}}]},
            {"role":"tool","tool_call_id":"a","content":""}]);
        let digest = digest(&json.to_string());
        assert_eq!(digest.calls().count(), 1, "{arguments}");
    }
    let huge = "x".repeat(100_000);
    let json = serde_json::json!([{"role":"assistant","content":null,"tool_calls":[
        {"id":"a","type":"function","function":{"name":"t","arguments":format!("{{\"a\":\"{huge}\"}}")}}]},
        {"role":"tool","tool_call_id":"a","content":huge}]);
    assert!(digest(&json.to_string()).size() < 40_000);
}
