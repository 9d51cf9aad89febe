use contexture_server::{Lifetime, TokenText, Tokens};

use crate::client::{Running, SESSION, run};

const PAGES: &str = "/v1/sessions/demo/pages";

#[test]
fn a_token_acts_as_its_holder_in_its_session() {
    run(async {
        let server = Running::start().await;
        let (agent, user) = (server.token("fixer").await, server.token("user:alice").await);
        let as_author = async |token: &str, query: &str| {
            let body = r#"{"parent":"usr-0","name":"Note"}"#;
            let path = format!("{PAGES}{query}");
            let made = server.send(token, "POST", &path, &[], Some(body)).await;
            (made.status, made.body)
        };
        let author = async |token: &str, query: &str| {
            let (status, body) = as_author(token, query).await;
            assert_eq!(status, 201, "{body}");
            let page: serde_json::Value = serde_json::from_str(&body).unwrap();
            page["author"].as_str().unwrap().to_owned()
        };
        assert_eq!(author(&agent, "").await, "fixer");
        assert_eq!(author(&user, "").await, "user:alice");
        assert_eq!(author(&server.owner, "").await, "system");
        assert_eq!(author(&server.owner, "?as=fixer").await, "fixer");
        assert_eq!(author(&server.owner, "?as=user:bob").await, "user:bob");
        assert_eq!(author(&agent, "?as=fixer").await, "fixer");
        // Nobody but the owner acts as somebody else.
        for (token, other) in
            [(&agent, "other"), (&agent, "system"), (&user, "fixer"), (&user, "system")]
        {
            let (status, body) = as_author(token, &format!("?as={other}")).await;
            assert_eq!(status, 403, "{other}: {body}");
        }
        // Its permissions are the agent's own.
        let patch = Some(r#"{"name":"Mine"}"#);
        let refused = server.send(&agent, "PATCH", &format!("{PAGES}/sys-1"), &[], patch).await;
        assert_eq!(refused.refused(403), "permission-denied");
        // Asked twice in one way, or in two ways that differ.
        let twice = server.get(&server.owner, &format!("{PAGES}?as=a&as=b")).await;
        assert_eq!(twice.refused(400), "invalid");
        let differ = [("contexture-as", "other")];
        let differ =
            server.send(&server.owner, "GET", &format!("{PAGES}?as=fixer"), &differ, None).await;
        assert_eq!(differ.refused(400), "invalid");
        server.end().await;
    });
}

// What is refused says nothing of what exists: a session that is not there and one that the token is not for
// give the same answer, byte for byte.
#[test]
fn tokens_that_are_not_valid_are_refused_alike() {
    run(async {
        let server = Running::start().await;
        let engine = &server.engine;
        engine
            .create(&"other".parse().unwrap(), "app", &contexture_core::Edit::Init(vec![]))
            .await
            .unwrap();
        let agent = server.token("fixer").await;
        let short = server.token_for(SESSION, "fixer", Lifetime::Seconds(60)).await;
        let revoked = server.token("fixer").await;
        assert_eq!(server.get(&short, PAGES).await.status, 200);
        assert_eq!(server.get(&revoked, PAGES).await.status, 200);

        let id = revoked.parse::<TokenText>().unwrap().id().clone();
        let system = engine.open(&SESSION.parse().unwrap()).await.unwrap();
        Tokens::of(system).revoke(&id).await.unwrap();
        server.clock.advance_millis(60_000);

        let secret = "0".repeat(48);
        let wrong = format!("{}_{secret}", agent.rsplit_once('_').unwrap().0);
        let wrong_owner = format!("ctx_owner_{secret}");
        let expected = server.get(&wrong, PAGES).await;
        assert_eq!(expected.refused(401), "unauthenticated");
        assert_eq!(expected.header("www-authenticate"), Some("Bearer"));
        let refused = [
            (&revoked, PAGES),
            (&short, PAGES),
            (&wrong_owner, PAGES),
            (&"nonsense".to_owned(), PAGES),
            (&agent, "/v1/sessions/other/pages"),
            (&agent, "/v1/sessions/missing/pages"),
            (&agent, "/v1/sessions/%2e%2e%2fdemo/pages"),
            (&agent, "/v1/sessions"),
            (&agent, "/metrics"),
        ];
        for (token, path) in refused {
            let answer = server.get(token, path).await;
            assert_eq!((answer.status, &answer.body), (401, &expected.body), "{path}");
            assert!(!answer.body.contains(token.as_str()));
        }
        let missing = server.get("", PAGES).await;
        assert_eq!(missing.refused(401), "unauthenticated");
        assert_eq!(server.get(&agent, PAGES).await.status, 200);
        server.end().await;
    });
}

// Records of tokens hold no secret, and no undo brings a revoked token back.
#[test]
fn a_revoked_token_stays_revoked() {
    run(async {
        let server = Running::start().await;
        let token = server.token("user:alice").await;
        let system = server.engine.open(&SESSION.parse().unwrap()).await.unwrap();
        let secret = token.rsplit_once('_').unwrap().1;
        for record in system.runs("").await.unwrap() {
            assert!(!record.value.contains(secret));
        }
        let history = system.as_system().history(None, 10).await.unwrap().items.len();
        let id = token.parse::<TokenText>().unwrap().id().clone();
        Tokens::of(system.clone()).revoke(&id).await.unwrap();
        assert_eq!(system.as_system().history(None, 10).await.unwrap().items.len(), history);
        assert_eq!(server.get(&token, PAGES).await.status, 401);
        assert_eq!(Tokens::of(system).revoke(&id).await.unwrap_err().kind(), "not-found");
        server.end().await;
    });
}

#[test]
fn requests_meant_for_others_are_refused() {
    run(async {
        let server = Running::start().await;
        let ask = async |host: &str, more: &str| {
            let request =
                format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n{more}connection: close\r\n\r\n");
            server.raw(request.as_bytes()).await
        };
        let port = server.address.port();
        let own = format!("127.0.0.1:{port}");
        assert_eq!(ask(&own, "").await.status, 200);
        assert_eq!(ask(&format!("localhost:{port}"), "").await.status, 200);
        assert_eq!(ask("evil.example", "").await.refused(403), "permission-denied");
        let same = format!("origin: http://{own}\r\n");
        assert_eq!(ask(&own, &same).await.status, 200);
        for other in ["http://evil.example", "null", "http://127.0.0.1:1"] {
            let answer = ask(&own, &format!("origin: {other}\r\n")).await;
            assert_eq!(answer.refused(403), "permission-denied", "{other}");
        }
        server.end().await;
    });
}
