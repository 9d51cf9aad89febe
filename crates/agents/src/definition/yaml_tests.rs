use super::*;

fn refused(text: &str) -> String {
    match read(text, 2).expect_err("it is refused") {
        Refused::Syntax(problem) => {
            format!("syntax {}: {}", problem.line.unwrap_or(0), problem.message)
        }
        Refused::Rule(problem) => {
            format!("rule {}: {}", problem.line.unwrap_or(0), problem.message)
        }
    }
}

#[test]
fn scalars_keep_their_spelling_and_place() {
    let entries = read("a: 1.10\nb: no\nc: 'true'\nd:\ne: [x, {y: true}]\n", 2).unwrap();
    let json: Vec<(String, u32, String)> = entries
        .iter()
        .map(|entry| (entry.key.clone(), entry.line, entry.node.json().to_string()))
        .collect();
    let expected = [
        ("a", 2, "\"1.10\""),
        ("b", 3, "\"no\""),
        ("c", 4, "\"true\""),
        ("d", 5, "null"),
        ("e", 6, r#"["x",{"y":true}]"#),
    ];
    assert_eq!(json, expected.map(|(key, line, json)| (key.to_owned(), line, json.to_owned())));
    assert_eq!(entries[2].node.boolean(), None);
}

// No tags, limits on size, depth and aliases.
#[test]
fn only_plain_data_is_taken() {
    insta::assert_snapshot!(refused("a: 1\nb: !!python/object:os.system x\n"), @"rule 3: the tag '!!python/object:os.system' is not allowed: front matter is plain data");
    insta::assert_snapshot!(refused("a: !!str x\n"), @"rule 2: the tag '!!str' is not allowed: front matter is plain data");
    insta::assert_snapshot!(refused("a: 1\nb: 2\na: 3\n"), @"rule 4: the key 'a' appears twice, first on line 2");
    insta::assert_snapshot!(refused("%YAML 1.1\na: 1\n"), @"syntax 2: the front matter is not YAML: YAML directives are disallowed");
    insta::assert_snapshot!(refused("a: &x [*x]\n"), @"rule 2: an alias refers to a value that contains it");
    insta::assert_snapshot!(refused("? [a]\n: b\n"), @"rule 2: a key of the front matter is a list or map; keys must be plain strings");
    insta::assert_snapshot!(refused("- a\n- b\n"), @"syntax 2: the front matter is a list, not a map of fields");
    insta::assert_snapshot!(refused("a: *missing\n"), @"syntax 2: the front matter is not YAML: while parsing node, found unknown anchor");
    insta::assert_snapshot!(refused("a: one: two\n"), @"syntax 2: the front matter is not YAML: mapping values are not allowed in this context");
}

#[test]
fn a_bomb_is_refused_before_it_grows() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        let items = [before.as_str(); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    insta::assert_snapshot!(refused(&bomb), @"rule 5: aliases make the front matter too large");
    let deep = format!("a: {}{}", "[".repeat(20_000), "]".repeat(20_000));
    insta::assert_snapshot!(refused(&deep), @"syntax 2: the front matter is not YAML: recursion limit exceeded");
    let wide = format!("a: [{}]", "x, ".repeat(10_000));
    insta::assert_snapshot!(refused(&wide), @"rule 2: the front matter holds more than 4000 values");
}

#[test]
fn a_few_aliases_are_plain_data() {
    let entries = read("a: &tools [grep]\nb: *tools\n", 2).unwrap();
    assert_eq!(entries[1].node.json().to_string(), r#"["grep"]"#);
}
