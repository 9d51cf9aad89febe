use contexture_testkit::random::Random;

use super::*;

fn redact(text: &str) -> String {
    CommonSecrets.redact(text).into_owned()
}

// D-29: common keys and tokens never reach a stub or a published result.
#[test]
fn common_secrets_are_redacted() {
    let long = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
    for secret in [
        format!("sk-{long}"),
        format!("sk-proj-{long}_x-y"),
        format!("sk-ant-api03-{long}"),
        format!("ghp_{long}"),
        format!("gho_{long}"),
        format!("github_pat_11ABC_{long}"),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("AIza{}", &long[..35]),
        "xoxb-123456789012-abcdef".to_owned(),
        format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{long}"),
        format!(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE{long}\n{long}==\n-----END RSA PRIVATE KEY-----"
        ),
        format!("-----BEGIN PRIVATE KEY-----\\nMIIE{long}\\n-----END PRIVATE KEY-----"),
        format!("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl{long}"),
    ] {
        assert_eq!(redact(&secret), "[redacted]", "{secret}");
        assert_eq!(redact(&format!("键：{secret}。")), "键：[redacted]。");
        assert_eq!(redact(&format!("k=\"{secret}\", next")), "k=\"[redacted]\", next");
        assert_eq!(redact(&format!("({secret}) ({secret})")), "([redacted]) ([redacted])");
    }
}

#[test]
fn only_the_value_of_an_assignment_is_redacted() {
    for (text, redacted) in [
        ("password=hunter2", "password=[redacted]"),
        ("password=correcthorse rest", "password=[redacted] rest"),
        ("passwd: s3cret!", "passwd: [redacted]"),
        ("DB_PASSWORD='p w'", "DB_PASSWORD='p w'"),
        ("DB_PASSWORD='pass!word'", "DB_PASSWORD='[redacted]'"),
        ("api_key=abcd1234&x=1", "api_key=[redacted]&x=1"),
        ("x-api-key: 0123456789abcdef", "x-api-key: [redacted]"),
        (r#"{"apiKey": "zzzz-yyyy", "n": 1}"#, r#"{"apiKey": "[redacted]", "n": 1}"#),
        (r#"{\"client_secret\":\"zzzz\"}"#, r#"{\"client_secret\":\"[redacted]\"}"#),
        ("export GITHUB_TOKEN=abcdef", "export GITHUB_TOKEN=[redacted]"),
        ("secret = 'abcd'", "secret = '[redacted]'"),
        ("?access_token=abc123def&page=2", "?access_token=[redacted]&page=2"),
        ("Authorization: Bearer abcdef0123456789.x", "Authorization: Bearer [redacted]"),
        ("token=Bearer abcdef0123456789", "token=Bearer [redacted]"),
        ("authorization: basic dXNlcjpwYXNzd29yZDEyMw==", "authorization: basic [redacted]"),
        ("postgres://bob:p@ss@db/x", "postgres://bob:[redacted]@db/x"),
        ("redis://:pw@host:6379", "redis://:[redacted]@host:6379"),
        ("密码 password=秘密的词 后", "密码 password=[redacted] 后"),
    ] {
        assert_eq!(redact(text), redacted);
    }
}

#[test]
fn ordinary_text_comes_back_as_it_is() {
    for text in [
        "",
        "The token is read by the lexer; the password must have 8 characters. Bearer of bad news",
        "let token = lexer.next_token(); let secret: Secret = make_secret(password);",
        "fn check(token: &str, password: String, api_key: Option<String>) -> bool {",
        "login(user=user, password=password, token=self.token)",
        "f(password=given, secret=other)",
        "max_tokens: 4096, total_tokens=123456, tokenizer=o200k_base",
        "if token == expected { return token; } token => {}",
        "password: ${PASSWORD} token={{ token }} secret=$SECRET api_key=<key> password=****",
        r#"{"type": "password", "token": null, "password": "Password", "secret": "string"}"#,
        "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "see sk-learn-and-other-packages-by-name, xox, AKIA, eyJ.a.b, ghp_short",
        "https://example.com:8080/a?b=c@d mailto:bob@example.com http://[::1]:80/ user:x@y",
        "令牌由词法分析器读取，密码：请输入。",
        "cat: /etc/passwd: No such file or directory",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "已经 [redacted] password=[redacted] Bearer [redacted]",
    ] {
        assert!(
            matches!(CommonSecrets.redact(text), Cow::Borrowed(same) if same == text),
            "{}",
            redact(text)
        );
        assert!(matches!(NoFilter.redact(text), Cow::Borrowed(same) if same == text));
    }
}

const PIECES: [&str; 40] = [
    "password",
    "token",
    "secret",
    "api_key",
    "=",
    ":",
    " ",
    "\"",
    "'",
    "\\",
    "\n",
    "Bearer ",
    "basic ",
    "sk-",
    "sk-ant-",
    "ghp_",
    "AKIA",
    "IOSFODNN7EXAMPLE",
    "AIza",
    "xoxb-",
    "eyJ",
    ".",
    "eyJhbGciOi1",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "-----END ",
    "-----",
    "://",
    "@",
    "/",
    "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0",
    "hunter2",
    "[redacted]",
    "中",
    "&",
    ",",
    ")",
    "x",
    "_",
    "-",
];

#[test]
fn redacting_twice_changes_nothing() {
    let mut random = Random::new(29);
    for _ in 0..60_000 {
        let text: String = (0..random.below(14)).map(|_| *random.pick(&PIECES)).collect();
        let once = redact(&text);
        assert_eq!(redact(&once), once, "{text:?}");
    }
}

#[test]
fn large_texts_come_through() {
    for piece in [
        "-----BEGIN PRIVATE KEY-----x ",
        "password=\"",
        "eyJaaaaaaaa.",
        "://a:",
        "token :",
        "\\",
        "password",
        "password=",
        "中password=",
    ] {
        let text = piece.repeat(200_000 / piece.len()) + "(";
        let once = redact(&text);
        assert_eq!(redact(&once), once, "{piece:?}");
    }
}
