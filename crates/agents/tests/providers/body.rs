//! What goes out: the window byte for byte, and what each provider wants around it.

use contexture_testkit::provider::{ProviderServer, Reply};

use super::{MODELS, ask, model, request};

/// Sends a request, and returns the path with the query and the body that arrived.
async fn sent(name: &str, request: &contexture_agents::ModelRequest) -> (String, String) {
    let server = ProviderServer::scripted([Reply::text("ok")]);
    ask(&*model(&server, name), request).await.0.unwrap();
    assert_eq!(server.violations(), [""; 0], "{name}");
    let came = server.requests().remove(0);
    (format!("{}?{}", came.path, came.query), came.body)
}

#[tokio::test]
async fn the_window_is_sent_byte_for_byte() {
    // White space, spelling of numbers, order and escapes that no reader and writer would keep.
    let windows = [
        r#"{ "messages" :[{"content":"\u00e9 é\/","role":"user" , "x":1.50}] }"#,
        r#"{"system":[{"type":"text","text":"a"}], "messages":[ {"role":"user","content":"\u00e9\/"}]}"#,
        r#"{"systemInstruction":{"parts":[{"text":"a"}]},"contents":[{"parts":[{"text":"\u00e9\/"}],"role":"user"}]}"#,
    ];
    for (name, window) in MODELS.into_iter().zip(windows) {
        for stream in [false, true] {
            let mut request = request(name, stream);
            request.window = window.to_owned();
            let (_, body) = sent(name, &request).await;
            assert!(body.contains(&window[1..window.len() - 1]), "{name}: {body}");
        }
    }
}

#[tokio::test]
async fn bodies_are_what_each_api_takes() {
    let mut bodies = String::new();
    for name in MODELS {
        for stream in [false, true] {
            let (path, body) = sent(name, &request(name, stream)).await;
            bodies.push_str(&format!("{path}\n{body}\n\n"));
        }
    }
    insta::assert_snapshot!(bodies);
}

#[tokio::test]
async fn without_options_a_body_says_no_more_than_it_must() {
    let mut bodies = String::new();
    for name in MODELS {
        let mut request = request(name, false);
        (request.tools, request.max_tokens, request.temperature) = (Vec::new(), None, None);
        let (_, body) = sent(name, &request).await;
        bodies.push_str(&format!("{body}\n"));
    }
    insta::assert_snapshot!(bodies);
}

#[tokio::test]
async fn the_head_stays_the_same_whatever_the_window_and_the_stream() {
    for name in MODELS {
        let server = ProviderServer::scripted([]);
        let model = model(&server, name);
        let (plain, mut streamed) = (request(name, false), request(name, true));
        streamed.window = "{\"x\":1}".to_owned();
        streamed.max_tokens = None;
        assert_eq!(model.head(&plain), model.head(&streamed), "{name}");
        streamed.tools.pop();
        assert_ne!(model.head(&plain), model.head(&streamed), "{name}");
        assert!(model.head(&plain).contains(name.split('/').nth(1).unwrap()));
    }
}

#[tokio::test]
async fn a_window_that_is_none_is_not_sent() {
    let server = ProviderServer::scripted([]);
    for window in ["", "[]", "{}", " { } ", "{", "null"] {
        let mut request = request(MODELS[0], false);
        request.window = window.to_owned();
        let (answer, _) = ask(&*model(&server, MODELS[0]), &request).await;
        assert_eq!(answer.unwrap_err().kind(), contexture_core::ErrorKind::Invalid, "{window}");
    }
    assert_eq!(server.requests().len(), 0);
}

/// That no rule was broken means something only if the server sees it when one is.
#[tokio::test]
async fn the_server_refuses_what_breaks_a_rule() {
    let windows = [
        r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"b","arguments":"{}"}}]}]}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}"#,
        r#"{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"b","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"b","response":{}}}]}]}"#,
    ];
    for (name, window) in MODELS.into_iter().zip(windows) {
        let strange = window.replacen('{', "{\"strange\":1,", 1);
        let mut twice = request(name, true);
        twice.tools = vec![twice.tools[0].clone(), twice.tools[0].clone()];
        let broken = |window: &str| {
            let mut request = request(name, true);
            request.window = window.to_owned();
            request
        };
        let server = ProviderServer::scripted([]);
        // The last one breaks no rule, but nothing is left to say.
        for request in [broken(window), broken(&strange), twice, request(name, true)] {
            let error = ask(&*model(&server, name), &request).await.0.unwrap_err();
            assert_eq!(error.kind(), contexture_core::ErrorKind::Invalid, "{name}: {error}");
        }
        assert_eq!(server.violations().len(), 4, "{name}: {:?}", server.violations());
    }
}
