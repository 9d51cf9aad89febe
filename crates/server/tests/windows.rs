use std::sync::Arc;

use contexture_storage::{SqliteOptions, SqliteStorage};
use serde_json::json;

use crate::client::{Running, run};

const SESSION: &str = "/v1/sessions/demo";

// A window is answered with 304 for as long as nothing that it depends on has changed, whoever changed it.
#[test]
fn an_unchanged_window_is_not_sent_again() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let storage =
                SqliteStorage::open(&folder.path().join("a.db"), SqliteOptions::default());
            Arc::new(storage.unwrap())
        };
        let (one, other) = (Running::over(open()).await, Running::over(open()).await);
        let owner = &one.owner;
        let window = |query: &str| format!("{SESSION}/window{query}");
        let said = json!({"messages": [{"role": "user", "content": "Hello"}]});
        one.post(owner, &format!("{SESSION}/append"), &said).await.json(200);
        let first = one.get(owner, &window("")).await;
        let tag = first.header("etag").unwrap().to_owned();
        let again = async |query: &str| {
            let headers = [("if-none-match", tag.as_str())];
            one.send(owner, "GET", &window(query), &headers, None).await
        };
        let unchanged = again("").await;
        assert_eq!((unchanged.status, unchanged.body.as_str()), (304, ""));
        assert_eq!(unchanged.header("etag"), Some(tag.as_str()));
        for other in ["?format=openai", "?budget=500", "?level=gist", "?account=true", "?as=fixer"]
        {
            assert_eq!(again(other).await.status, 200, "{other}");
        }
        // The other server changes what is seen here.
        other.post(&other.owner, &format!("{SESSION}/append"), &said).await.json(200);
        let changed = again("").await;
        assert_eq!(changed.status, 200);
        assert_ne!(changed.header("etag"), Some(tag.as_str()));
        assert_ne!(changed.body, first.body);
        one.end().await;
        other.end().await;
    });
}

#[test]
fn every_format_is_what_its_reader_takes() {
    run(async {
        let server = Running::start().await;
        let owner = &server.owner;
        let said = json!({"messages": [{"role": "user", "content": "Hello"}]});
        server.post(owner, &format!("{SESSION}/append"), &said).await.json(200);
        let window = async |query: &str| {
            server.get(owner, &format!("{SESSION}/window?{query}")).await.json(200)
        };
        assert!(window("").await["content"].as_str().unwrap().contains("Hello"));
        assert!(window("format=openai").await["messages"].is_array());
        assert!(window("format=anthropic").await["system"].is_array());
        assert!(window("format=gemini").await["contents"].is_array());
        assert!(window("format=context").await["header"].is_object());
        let accounted = window("format=openai&account=true").await;
        assert!(accounted["window"]["messages"].is_array());
        assert!(accounted["account"]["tokens"].as_u64().unwrap() > 0);
        let wrong = server.get(owner, &format!("{SESSION}/window?format=xml")).await;
        assert_eq!(wrong.refused(400), "invalid");
        let small = server.get(owner, &format!("{SESSION}/window?budget=1")).await;
        assert_eq!(small.refused(413), "too-large");
        let huge = window(&format!("budget={}", u64::MAX)).await;
        assert!(huge["content"].as_str().unwrap().contains("Hello"));
        let huge =
            server.post(owner, &format!("{SESSION}/fold"), &json!({"budget": u64::MAX})).await;
        assert_eq!(huge.json(200)["revision"], json!(null));
        let huge = json!({"format": "openai", "budget": u64::MAX, "model": "gpt-4o"});
        let huge = server.post(owner, &format!("{SESSION}/window"), &huge).await;
        assert_eq!(huge.json(200)["number"], 1);
        server.end().await;
    });
}
