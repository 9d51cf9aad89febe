use super::*;

#[test]
fn formats_are_spelt_one_way() {
    for format in
        [TranscriptFormat::OpenAi, TranscriptFormat::Anthropic, TranscriptFormat::ClaudeCode]
    {
        assert_eq!(format.as_str().parse::<TranscriptFormat>().unwrap(), format);
        assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
    }
    let error = "codex".parse::<TranscriptFormat>().unwrap_err();
    assert_eq!(error.to_string(), "unknown transcript format 'codex'");
    assert_eq!(error.advice().to_string(), "use one of: openai, anthropic, claude-code");
}

#[test]
fn a_format_shows_in_the_text() {
    use TranscriptFormat::*;
    for (text, format) in [
        (r#"[]"#, Some(OpenAi)),
        (r#"[{"role":"user","content":"hi"}]"#, Some(OpenAi)),
        ("\u{feff}\r\n[{\"role\":\"user\",\"content\":\"hi\"}]\r\n", Some(OpenAi)),
        (r#"{"messages":[{"role":"tool","tool_call_id":"a","content":""}]}"#, Some(OpenAi)),
        (r#"{"system":"be kind","messages":[{"role":"user","content":"hi"}]}"#, Some(Anthropic)),
        (r#"[{"role":"user","content":[{"type":"tool_result"}]}]"#, Some(Anthropic)),
        ("{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"tool\"}", Some(OpenAi)),
        ("# a comment\n{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}\n", Some(Anthropic)),
        (r#"{"type":"user","uuid":"1","message":{"role":"user"}}"#, Some(ClaudeCode)),
        ("// note\n\n{\"type\":\"summary\",\"leafUuid\":\"1\"}\nnot json", Some(ClaudeCode)),
        (r#"{"type":"message","message":{"role":"user"}}"#, None),
        (r#"{"type":"user"}"#, None),
        (r#"{"a":1}"#, None),
        ("[1,2]", None),
        ("\"text\"", None),
        ("hello", None),
        ("", None),
        (r#"[{"role":"user","content":"cut off"}"#, None),
    ] {
        assert_eq!(detect(text), format, "{text}");
    }
}

#[test]
fn what_cannot_be_read_at_all_is_refused_with_what_was_expected() {
    let reason = |text, format| {
        let error = read(text, format).unwrap_err();
        assert_eq!(
            error.advice().to_string(),
            "check the file, or name its format: openai, anthropic or claude-code"
        );
        error.to_string()
    };
    assert_eq!(reason("\u{feff} \n", None), "not a transcript: it is empty");
    assert_eq!(reason("", Some(TranscriptFormat::ClaudeCode)), "not a transcript: it is empty");
    assert_eq!(
        reason("hello", None),
        "not a transcript: expected a JSON array of messages, an object with 'messages', one message per line, or the lines of a Claude Code session"
    );
    assert_eq!(
        reason("hello\nworld", Some(TranscriptFormat::OpenAi)),
        "not a transcript: none of it can be read as openai: 1: it is not valid JSON at column 1"
    );
    assert_eq!(
        reason("[]", Some(TranscriptFormat::ClaudeCode)),
        "not a transcript: none of it can be read as claude-code: 1: it is not a JSON object"
    );
    assert_eq!(
        reason(r#"[{"role":"user","parts":[]}]"#, None),
        "not a transcript: none of it can be read as openai: 1: a user message needs 'content'"
    );
}

#[test]
fn bytes_become_text_and_what_is_none_is_reported_by_line() {
    let lines =
        |problems: &[TranscriptProblem]| problems.iter().map(|each| each.line).collect::<Vec<_>>();
    for bytes in [
        "é\nb".as_bytes(),
        b"\xef\xbb\xbf\xc3\xa9\nb",
        b"\xff\xfe\xe9\x00\x0a\x00b\x00",
        b"\xfe\xff\x00\xe9\x00\x0a\x00b",
    ] {
        assert_eq!(decode(bytes), ("é\nb".to_owned(), Vec::new()));
    }
    let (text, problems) = decode(b"a\xff\xffb\n\n\xc3(\n\x80");
    assert_eq!(text, "a\u{fffd}\u{fffd}b\n\n\u{fffd}(\n\u{fffd}");
    assert_eq!(lines(&problems), [1, 3, 4]);
    assert_eq!(problems[0].to_string(), "1: bytes that are not UTF-8 were replaced");
    // A pair cut in half, and a byte too many at the end of a file being written.
    let (text, problems) = decode(b"\xff\xfea\x00\x0a\x00\x3d\xd8b\x00\x0a");
    assert_eq!((text.as_str(), lines(&problems)), ("a\n\u{fffd}b\u{fffd}", vec![2]));
    let (text, problems) = decode("a\n{\"é".as_bytes().split_last().unwrap().1);
    assert_eq!((text.as_str(), problems.len()), ("a\n{\"\u{fffd}", 0));
    assert_eq!(decode(b""), (String::new(), Vec::new()));
}

/// Cuts and bends texts at random: whatever comes in, nothing panics and mending works.
#[test]
fn no_text_is_too_broken() {
    let mut random = contexture_testkit::random::Random::new(7);
    let samples = [
        r#"{"type":"assistant","uuid":"2","parentUuid":"1","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}}"#,
        r#"{"type":"user","uuid":"3","parentUuid":"2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok \ud83d"}]}}"#,
        r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"f","arguments":{"x":1}}]},{"role":"tool","tool_call_id":"a","content":"é"}]"#,
        r#"{"role":"user","content":[{"type":"text","text":"\\\ud83d\ude00"}]}"#,
    ];
    let bends = ["null", "[", "]", "{", "}", "\"", "\\", "\\ud800", "7", ",", "\n", "true", "é"];
    let formats = [None, Some(TranscriptFormat::ClaudeCode), Some(TranscriptFormat::OpenAi)];
    let mut read_some = 0;
    for _ in 0..20_000 {
        let mut text: Vec<char> = (0..=random.below(3))
            .flat_map(|_| random.pick(&samples).chars().chain(['\n']).collect::<Vec<_>>())
            .collect();
        for _ in 0..random.below(4) {
            let at = random.below(text.len() as u64) as usize;
            let end = (at + random.below(6) as usize).min(text.len());
            text.splice(at..end, random.pick(&bends).chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(transcript) = read(&text, *random.pick(&formats)) {
            let messages: Vec<Message> = repair(transcript)
                .exchanges
                .into_iter()
                .flat_map(|(_, exchange)| exchange.messages)
                .collect();
            read_some += 1;
            crate::message::group_exchanges(messages).unwrap();
        }
    }
    assert!(read_some > 5_000, "{read_some}");
}
