use serde_json::json;

use crate::client::{Running, run};

const PAGES: &str = "/v1/sessions/demo/pages";

#[test]
fn a_page_is_changed_only_as_the_caller_read_it() {
    run(async {
        let server = Running::start().await;
        let owner = &server.owner;
        let new = json!({"parent": "usr-0", "name": "Plan", "detail": "1. read"});
        let page = server.post(owner, PAGES, &new).await.json(201);
        assert_eq!((&page["index"], &page["detail"]), (&json!("usr-1"), &json!("1. read")));
        let read = server.get(owner, &format!("{PAGES}/usr-1")).await;
        assert_eq!(read.header("etag"), Some("\"1\""));
        let patch = async |tag: &str, body: &str| {
            let headers = [("if-match", tag)];
            server.send(owner, "PATCH", &format!("{PAGES}/usr-1"), &headers, Some(body)).await
        };
        let changed = patch("\"1\"", r#"{"detail":"2. think"}"#).await.json(200);
        assert_eq!((&changed["version"], &changed["detail"]), (&json!(2), &json!("2. think")));
        assert_eq!(patch("\"1\"", r#"{"detail":"late"}"#).await.refused(412), "conflict");
        let body = Some(r#"{"detail":"late","ifVersion":1}"#);
        let stale = server.send(owner, "PATCH", &format!("{PAGES}/usr-1"), &[], body).await;
        assert_eq!(stale.refused(409), "conflict");
        assert_eq!(patch("W/1", r#"{"detail":"late"}"#).await.refused(400), "invalid");
        assert_eq!(patch("*", r#"{"clear":["detail"]}"#).await.json(200)["detail"], "");
        server.end().await;
    });
}

#[test]
fn lists_continue_where_they_ended() {
    run(async {
        let server = Running::start().await;
        let owner = &server.owner;
        for name in ["a", "b", "c"] {
            server.post(owner, PAGES, &json!({"parent": "usr-0", "name": name})).await.json(201);
        }
        let children = format!("{PAGES}/usr-0/children");
        let first = server.get(owner, &format!("{children}?limit=2")).await.json(200);
        let next = first["next"].as_str().unwrap();
        let rest = server.get(owner, &format!("{children}?limit=2&cursor={next}")).await.json(200);
        let names = |list: &serde_json::Value| -> Vec<String> {
            let items = list["items"].as_array().unwrap();
            items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!((names(&first), names(&rest)), (vec!["a".into(), "b".into()], vec!["c".into()]));
        assert_eq!(rest["next"], json!(null));

        let accept = [("accept", "application/x-ndjson")];
        let lines = server.send(owner, "GET", &format!("{children}?limit=2"), &accept, None).await;
        assert_eq!(lines.header("contexture-next"), Some(next));
        assert_eq!(lines.body.lines().count(), 2);
        for line in lines.body.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        let last = server.get(owner, &format!("{children}?last=2")).await.json(200);
        assert_eq!(names(&last), ["b", "c"]);
        // The newest first, and on from there.
        let newest = server.get(owner, &format!("{PAGES}?newest=true&limit=3")).await.json(200);
        assert_eq!(
            (names(&newest)[0].as_str(), names(&newest)[2].as_str()),
            ("System prompt", "c")
        );
        let next = newest["next"].as_str().unwrap();
        assert_eq!(next, "usr-3");
        let path = format!("{PAGES}?newest=true&limit=1&cursor={next}");
        assert_eq!(names(&server.get(owner, &path).await.json(200)), ["b"]);
        for wrong in ["limit=0", "limit=1001", "limit=x", "cursor=x", "other=1", "last=2&limit=1"] {
            let answer = server.get(owner, &format!("{children}?{wrong}")).await;
            assert_eq!(answer.refused(400), "invalid", "{wrong}");
        }
        server.end().await;
    });
}

// An agent that moves a page where its view does not reach is not told what is there.
#[test]
fn what_an_agent_does_not_see_does_not_exist() {
    run(async {
        let server = Running::start().await;
        let system = server.engine.open(&"demo".parse().unwrap()).await.unwrap();
        let secret = contexture_core::NewSegment::new(
            "agent-other".parse().unwrap(),
            contexture_core::SegmentKind::Custom,
        );
        system.as_system().add_segment(secret).await.unwrap();
        system
            .as_system()
            .create_detail_page("CANARY", "", "CANARY", "agent-other-0")
            .await
            .unwrap();
        let agent = server.token("fixer").await;
        let there = server.get(&agent, &format!("{PAGES}/agent-other-1")).await;
        let missing = server.get(&agent, &format!("{PAGES}/agent-third-1")).await;
        assert_eq!(there.refused(404), "not-found");
        assert_eq!(there.body.replace("other", "third"), missing.body);
        for path in ["", "?archived=true", "/usr-0/children", "/sys-0/ancestors"] {
            let answer = server.get(&agent, &format!("{PAGES}{path}")).await;
            assert!(!answer.body.contains("CANARY"), "{path}: {}", answer.body);
        }
        let window = server.get(&agent, "/v1/sessions/demo/window").await;
        assert!(window.status == 200 && !window.body.contains("CANARY"), "{}", window.body);
        let window = server.get(&server.owner, "/v1/sessions/demo/window").await;
        assert!(window.body.contains("CANARY"), "the owner sees it");
        server.end().await;
    });
}
