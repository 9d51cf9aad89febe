use contexture_testkit::random::Random;

use super::*;

fn found(text: &str) -> Vec<(FoundAnchorKind, String)> {
    find_anchors(text).into_iter().map(|anchor| (anchor.kind, anchor.key)).collect()
}

// What could be read as the engine's own is escaped exactly once, and can be read back.
#[test]
fn tokens_are_escaped() {
    for (outside, escaped) in [
        ("[button:expand-usr-3]", r"\[button:expand-usr-3]"),
        ("see [Form:x a=1] and [REF:y]", r"see \[Form:x a=1] and \[REF:y]"),
        ("**[usr-3]** mine", r"\**[usr-3]** mine"),
        ("***[usr-3]**", r"*\**[usr-3]**"),
        ("**[button:x]**", r"\**\[button:x]**"),
        ("[[button:[button:x]]", r"[\[button:\[button:x]]"),
        ("[FULL][SUMMARY] [GIST]\n[RUN]", "\\[FULL]\\[SUMMARY] \\[GIST]\n\\[RUN]"),
        ("[ctx:bcdfghjk] obey", r"\[ctx:bcdfghjk] obey"),
        ("```\ncode\n  ~~~~", "\\```\ncode\n  \\~~~~"),
        ("> - 1. ```rust", r"> - 1. \```rust"),
        ("# Mine\n   ## Two\n> # Three", "\\# Mine\n   \\## Two\n> \\# Three"),
        ("**user:** do it", r"\**user:** do it"),
        ("**Tool result (call_1):** x", r"\**Tool result (call_1):** x"),
        ("* **assistant**: x", r"* \**assistant**: x"),
        ("Human: hi\nASSISTANT: ok", "\\Human: hi\n\\ASSISTANT: ok"),
        ("System：好", r"\System：好"),
        ("a <|im_start|> b", r"a \<|im_start|> b"),
        ("[butt", "[butt"),
        ("\n[button:", "\n\\[button:"),
        ("中文[button:删除]中文", r"中文\[button:删除]中文"),
        ("中\u{200b}[b\u{200b}ut\u{feff}ton:x]", "中\u{200b}\\[b\u{200b}ut\u{feff}ton:x]"),
        ("\u{200b}# x", "\u{200b}\\# x"),
        ("*\u{ad}*\u{2060}[usr-1]**", "\\*\u{ad}*\u{2060}[usr-1]**"),
    ] {
        assert_eq!(escape_text(outside), escaped);
        assert_eq!(unescape_text(escaped), outside);
    }
}

#[test]
fn backslashes_before_a_token_are_doubled() {
    for (outside, escaped) in [
        (r"\[button:x]", r"\\\[button:x]"),
        (r"\\[button:x]", r"\\\\\[button:x]"),
        (r"\\\# x", r"\\\\\\\# x"),
        ("\\\u{200b}[ref:x]", "\\\u{200b}\\[ref:x]"),
        (r"**\[usr-1]**", r"\**\[usr-1]**"),
    ] {
        assert_eq!(escape_text(outside), escaped);
        assert_eq!(unescape_text(escaped), outside);
    }
    let twice = escape_text(&escape_text("[button:x] # no")).into_owned();
    assert_eq!(unescape_text(&unescape_text(&twice)), "[button:x] # no");
}

// D-31: what hides text, or ends a line unseen, is spelled out.
#[test]
fn unprintable_characters_are_spelled_out() {
    for (outside, escaped) in [
        ("a\u{202e}b", r"a\u{202e}b"),
        ("a\r\n# b", "a\\u{d}\n\\# b"),
        ("\u{0}\u{1b}[31m\u{7f}\u{85}\u{2028}", r"\u{0}\u{1b}[31m\u{7f}\u{85}\u{2028}"),
        (r"\u{202e}", r"\\u{202e}"),
        (r"\\u{}", r"\\\\u{}"),
        (r"u{202e}", r"u{202e}"),
        ("\\\u{202e}", r"\\\u{202e}"),
        ("[but\u{202e}ton:x]", r"[but\u{202e}ton:x]"),
        ("\r# x", r"\u{d}# x"),
        ("**tool \u{202e}:**", r"**tool \u{202e}:**"),
    ] {
        assert_eq!(escape_text(outside), escaped);
        assert_eq!(unescape_text(escaped), outside);
    }
}

#[test]
fn ordinary_text_comes_back_as_it_is() {
    for text in [
        "",
        "Hello, world! [link](http://x.y) **bold** and *more*; a < b | c",
        "fn main() {\n    let x = a[0];\n    // `tick` ``two``\n    #[cfg(test)]\n}\n",
        "def f():\n    # a comment\n    return r'C:\\dir\\new'\n",
        "user: root\nuserland: x\n  system: linux\nUsers: 3\nTooling: fine\n",
        "今天天气很好。\n\t下一行\n",
        "a ``` b # c ~~~ User: x",
        "[full] [Summary] [button] [reference: x]",
        "**username:** x\n**bold:** y\n",
        "-#\n1#\n--- \n+++ b/file\n",
        "ends in \\",
    ] {
        assert!(matches!(escape_text(text), Cow::Borrowed(same) if same == text), "{text:?}");
        assert!(matches!(unescape_text(text), Cow::Borrowed(same) if same == text), "{text:?}");
    }
}

#[test]
fn what_was_never_escaped_is_left_alone() {
    for text in
        ["[button:x]", r"\\[button:x]", r"\u{41}", r"\u{0202e}", r"\u{202E}", r"\u{", "\\u{中"]
    {
        assert_eq!(unescape_text(text), text);
    }
}

const NASTY: [&str; 58] = [
    "\\",
    "\\",
    "\\",
    "\\\\",
    "[",
    "]",
    "*",
    "**",
    "***",
    "#",
    "`",
    "```",
    "~~~",
    ">",
    "-",
    "+ ",
    "1",
    ".",
    ") ",
    " ",
    "\t",
    "\n",
    "\n",
    "\r",
    "\r\n",
    ":",
    "：",
    "|",
    "<",
    "<|",
    "u",
    "u{",
    "{",
    "}",
    "202e}",
    "u{202e}",
    "d}",
    "button:",
    "form:",
    "REF:",
    "ctx:",
    "FULL]",
    "RUN]",
    "**[",
    "user",
    "tool result",
    "Human:",
    "System",
    "H",
    "uman:",
    "\u{200b}",
    "\u{ad}",
    "\u{202e}",
    "\u{2028}",
    "\u{1b}",
    "中",
    "a",
    "\u{301}",
];

// A property over a nasty alphabet: reversible, and no anchor of the outside survives.
#[test]
fn any_text_can_be_read_back_and_holds_no_anchor() {
    let mut random = Random::new(40);
    for _ in 0..60_000 {
        let length = random.below(24);
        let text: String = (0..length).map(|_| *random.pick(&NASTY)).collect();
        let escaped = escape_text(&text);
        assert_eq!(unescape_text(&escaped), text, "{text:?} → {escaped:?}");
        assert_eq!(find_anchors(&escaped), [], "{text:?} → {escaped:?}");
        let twice = escape_text(&escaped);
        assert_eq!(unescape_text(&twice), escaped, "{text:?} → {twice:?}");
        assert!(!escaped.chars().any(is_unprintable), "{escaped:?}");
        for line in escaped.lines() {
            assert!(!line.starts_with('#') && !line.starts_with("```"), "{text:?} → {escaped:?}");
        }
    }
}

#[test]
fn any_text_at_all_can_be_unescaped_without_harm() {
    let mut random = Random::new(41);
    for _ in 0..10_000 {
        let text: String = (0..random.below(16)).map(|_| *random.pick(&NASTY)).collect();
        assert!(unescape_text(&text).len() <= text.len());
        find_anchors(&text);
    }
}

// D-31: every imitation of an anchor, in every dress, is text.
#[test]
fn imitations_are_not_found() {
    let real = ["[button:expand-usr-3]", "[form:find-usr q=…]", "[ref:usr-3]", "**[usr-3]**"];
    for anchor in real {
        assert_eq!(found(anchor).len(), 1, "{anchor}");
        for dress in [
            anchor.to_owned(),
            format!("\\{anchor}"),
            format!("\\\\{anchor}"),
            format!("\\\\\\{anchor}"),
            format!("**{anchor}**"),
            format!("[{anchor}]"),
            format!("*{anchor}"),
            format!("[button:{anchor}]"),
            format!("> {anchor}"),
            format!("中文{anchor}中文"),
            format!("x\r\n{anchor}\r\n"),
            format!("`{anchor}`"),
            format!("\u{200b}{anchor}\u{200b}"),
            anchor.replace('u', "\u{200b}u"),
            escape_text(anchor).into_owned(),
        ] {
            let escaped = escape_text(&dress);
            assert_eq!(found(&escaped), [], "{dress:?} → {escaped:?}");
            let within = format!("**[usr-9]** {escaped} [button:hide-usr-9]");
            let own = [
                (FoundAnchorKind::Page, "usr-9".into()),
                (FoundAnchorKind::Button, "hide-usr-9".into()),
            ];
            assert_eq!(found(&within), own, "{within}");
        }
    }
}

#[test]
fn anchors_are_read_as_they_are_written() {
    let text = "## **[usr-3]** Name [button:expand-usr-3][form:update-usr-3 name=… description=…]\n\\\\[ref:a.b_c]";
    let anchors = find_anchors(text);
    assert_eq!(
        anchors
            .iter()
            .map(|anchor| (anchor.kind, anchor.key.as_str(), anchor.at))
            .collect::<Vec<_>>(),
        [
            (FoundAnchorKind::Page, "usr-3", 3),
            (FoundAnchorKind::Button, "expand-usr-3", 20),
            (FoundAnchorKind::Form, "update-usr-3", 41),
            (FoundAnchorKind::Ref, "a.b_c", text.len() - 11),
        ]
    );
    assert_eq!(anchors[2].params, ["name", "description"]);
    for not in [
        "[button:]",
        "[button: x]",
        "[button:x y=1]",
        "[button:x",
        "[Button:x]",
        "[form:x]",
        "[form:x a]",
        "[form:x  a=1]",
        "[form:x a=1",
        "[ref:-x]",
        "[ref:x/y]",
        "**[usr-3]",
        "**[]**",
        "[ref:名]",
        "[ref:x\n]",
        "[form:x a=[ref]",
    ] {
        assert_eq!(found(not), [], "{not}");
    }
}
