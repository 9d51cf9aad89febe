//! Every tool over a pipe and over HTTP, resources, the prompt and completions.

use serde_json::{Value, json};

use crate::{
    client::{Running, SESSION, run},
    mcp_client::{NEWER, OLDER, Pipe, post, result, text},
};

const MCP: &str = "/mcp?session=demo";

/// Returns a server whose session holds two turns.
async fn begun() -> Running {
    let server = Running::start().await;
    let said = json!([
        {"role": "user", "content": "When is the launch?"},
        {"role": "assistant", "content": "On Friday, after the pelican tests."},
        {"role": "user", "content": "Who writes the notes?"},
        {"role": "assistant", "content": "Ada does."}
    ]);
    let append = format!("/v1/sessions/{SESSION}/append");
    server.post(&server.owner, &append, &json!({"messages": said})).await.json(200);
    server
}

#[test]
fn all_tools_work_over_a_pipe() {
    run(async {
        let server = begun().await;
        let mut pipe = Pipe::owner(&server.host).await;
        let window = pipe.right("window", json!({})).await;
        assert!(window.contains(" of 8000 tokens") && window.contains("pelican"), "{window}");
        let list = pipe.right("window", json!({"list": true})).await;
        assert!(list.contains("usr-1 \"When is the launch?\" (full, "), "{list}");
        let found = pipe.right("find", json!({"query": "pelican tests"})).await;
        assert!(found.starts_with("usr-1 "), "{found}");
        let page = pipe.right("read", json!({"page": "usr-1"})).await;
        assert!(page.contains("version: 1") && page.contains("On Friday"), "{page}");
        let root = pipe.right("read", json!({"page": "usr-0"})).await;
        assert!(root.contains("holds: 2 pages\nusr-1 \"When"), "{root}");

        let hidden = pipe.right("hide", json!({"page": "usr-1"})).await;
        assert!(hidden.contains("tokens freed") && hidden.contains("reads everything"), "{hidden}");
        assert!(!pipe.right("window", json!({})).await.contains("pelican"));
        let opened = pipe.right("expand", json!({"page": "usr-1"})).await;
        assert!(opened.contains("opened in the window") && opened.contains("pelican"), "{opened}");
        assert!(pipe.right("window", json!({})).await.contains("pelican"));
        pipe.right("hide", json!({"page": "usr-1"})).await;
        let recalled = pipe.right("find", json!({"query": "pelican", "recall": true})).await;
        assert!(recalled.contains("1 pages") && recalled.contains("On Friday"), "{recalled}");
        assert!(pipe.right("window", json!({})).await.contains("pelican"));

        let pinned = pipe.right("pin", json!({"page": "usr-1"})).await;
        assert!(pinned.contains("until it is unpinned"), "{pinned}");
        let unpinned = pipe.right("pin", json!({"page": "usr-1", "pinned": false})).await;
        assert!(unpinned.starts_with("unpinned: usr-1"), "{unpinned}");
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn notes_are_written_as_they_were_read_and_everything_is_undone() {
    run(async {
        let server = begun().await;
        let mut pipe = Pipe::owner(&server.host).await;
        let note = json!({"action": "create", "name": "Plan", "text": "1. test"});
        let made = pipe.call("write", note).await;
        let page = &made["structuredContent"]["pages"][0];
        assert_eq!(page, &json!({"index": "usr-3", "version": 1}), "{made}");
        let more = json!({"action": "append", "page": "usr-3", "text": "2. launch", "version": 1});
        let made = pipe.call("write", more.clone()).await;
        assert_eq!(made["structuredContent"]["pages"][0]["version"], 2, "{made}");
        let stale = pipe.wrong("write", more).await;
        assert!(stale.contains("read usr-3 again, then retry"), "{stale}");
        let text = pipe.right("read", json!({"page": "usr-3"})).await;
        assert!(text.ends_with("---\n1. test\n2. launch"), "{text}");
        let renamed = json!({"action": "update", "page": "usr-3", "name": "The plan"});
        pipe.right("write", renamed).await;
        // What was said in a conversation is not written over.
        let over = json!({"action": "update", "page": "usr-1", "text": "Never."});
        assert!(pipe.wrong("write", over).await.contains("a conversation"));

        let directory = json!({"action": "create", "name": "Notes", "pages": ["usr-3"]});
        let made = pipe.call("write", directory).await;
        assert_eq!(made["structuredContent"]["pages"][0]["index"], "usr-4", "{made}");
        let moved = json!({"action": "move", "page": "usr-3", "to": "usr-0"});
        assert!(pipe.right("organise", moved).await.contains("to the end of usr-0"));
        let removed = pipe.right("organise", json!({"action": "remove", "page": "usr-3"})).await;
        assert!(removed.contains("archive"), "{removed}");
        let gone = pipe.wrong("expand", json!({"page": "usr-3"})).await;
        assert!(gone.contains("action restore and page usr-3"), "{gone}");
        let read = pipe.right("read", json!({"page": "usr-3"})).await;
        assert!(read.contains("in the archive") && read.contains("2. launch"), "{read}");
        let back = pipe.right("organise", json!({"action": "restore", "page": "usr-3"})).await;
        assert!(back.starts_with("restored usr-3 \"The plan\" in usr-0"), "{back}");
        let undone = pipe.right("undo", json!({})).await;
        assert!(undone.starts_with("undid revision "), "{undone}");
        let read = pipe.right("read", json!({"page": "usr-3"})).await;
        assert!(read.contains("in the archive"), "{read}");
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn the_newer_revision_works_without_a_beginning_over_http_and_over_a_pipe() {
    run(async {
        let server = begun().await;
        let token = server.token("fixer").await;
        let found = result(&server, &token, MCP, "server/discover", json!({})).await;
        assert_eq!(found["supportedVersions"], json!([OLDER, NEWER]));
        let listed = result(&server, &token, MCP, "tools/list", json!({})).await;
        assert_eq!(
            (&listed["cacheScope"], listed["tools"].as_array().unwrap().len()),
            (&json!("public"), 9)
        );
        let call = json!({"name": "find", "arguments": {"query": "pelican"}});
        let answer = result(&server, &token, MCP, "tools/call", call.clone()).await;
        assert!(text(&answer).starts_with("usr-1 "), "{answer}");
        assert_eq!(answer["resultType"], "complete");

        let mut pipe =
            Pipe::new(&server.host, contexture_server::Access::owner(SESSION.parse().unwrap()));
        let mut params = call;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": NEWER,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        let answer = pipe.ask("tools/call", params).await;
        assert!(text(&answer["result"]).starts_with("usr-1 "), "{answer}");
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn the_older_revision_works_over_http_without_a_session_of_its_own() {
    run(async {
        let server = begun().await;
        let accept = [("accept", "application/json, text/event-stream")];
        let ask = async |method: &str, params: Value| {
            let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
            server.send(&server.owner, "POST", MCP, &accept, Some(&body.to_string())).await
        };
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": OLDER, "capabilities": {}, "clientInfo": client});
        let begun = ask("initialize", params).await;
        assert_eq!(begun.header("mcp-session-id"), None);
        assert_eq!(begun.json(200)["result"]["protocolVersion"], OLDER);
        let call = json!({"name": "read", "arguments": {"page": "usr-2"}});
        let read = ask("tools/call", call).await.json(200);
        assert!(text(&read["result"]).contains("Ada does."), "{read}");
        server.end().await;
    });
}

#[test]
fn tools_are_few_short_closed_and_always_in_the_same_order() {
    run(async {
        let server = begun().await;
        let mut pipe = Pipe::owner(&server.host).await;
        let listed = pipe.ask("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let order =
            ["window", "read", "find", "expand", "hide", "pin", "write", "organise", "undo"];
        assert_eq!(names, order);
        let described: usize =
            tools.iter().map(|tool| tool["description"].as_str().unwrap().len()).sum();
        assert!(described < 2_000, "{described}");
        for tool in tools {
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
            assert!(tool["inputSchema"]["properties"]["session"].is_object(), "{tool}");
            assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
        }
        let only_reads: Vec<&str> = tools
            .iter()
            .filter(|tool| tool["annotations"]["readOnlyHint"] == true)
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(only_reads, ["window", "read"]);
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn pages_are_resources_and_a_session_is_a_prompt() {
    run(async {
        let server = begun().await;
        let many: Vec<Value> =
            (0..120).map(|n| json!({"role": "user", "content": format!("note {n}")})).collect();
        let append = format!("/v1/sessions/{SESSION}/append");
        server.post(&server.owner, &append, &json!({"messages": many})).await.json(200);
        let mut pipe = Pipe::owner(&server.host).await;
        let first = pipe.ask("resources/list", json!({})).await["result"].clone();
        let next = first["nextCursor"].as_str().unwrap();
        let rest = pipe.ask("resources/list", json!({"cursor": next})).await["result"].clone();
        let uris = |list: &Value| -> Vec<String> {
            let listed = list["resources"].as_array().unwrap().iter();
            listed.map(|it| it["uri"].as_str().unwrap().to_owned()).collect()
        };
        let all = [uris(&first), uris(&rest)].concat();
        assert!(all.contains(&"contexture://demo/usr-122".to_owned()), "{all:?}");
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
        assert!(rest["nextCursor"].is_null());
        let read = json!({"uri": "contexture://demo/usr-1"});
        let read = pipe.ask("resources/read", read).await;
        let page = read["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(page.contains("pelican"), "{read}");
        let missing = pipe.ask("resources/read", json!({"uri": "contexture://demo/usr-900"})).await;
        assert_eq!(missing["error"]["code"], -32002, "{missing}");
        let templates = pipe.ask("resources/templates/list", json!({})).await;
        assert_eq!(
            templates["result"]["resourceTemplates"][0]["uriTemplate"],
            "contexture://{session}/{page}"
        );
        let asked = json!({
            "ref": {"type": "ref/resource", "uri": "contexture://{session}/{page}"},
            "argument": {"name": "page", "value": "usr-12"}
        });
        let completed = pipe.ask("completion/complete", asked).await;
        let values = &completed["result"]["completion"]["values"];
        assert_eq!(values, &json!(["usr-12", "usr-120", "usr-121", "usr-122"]), "{completed}");

        let prompts = pipe.ask("prompts/list", json!({})).await;
        assert_eq!(prompts["result"]["prompts"][0]["name"], "continue");
        let get = json!({"name": "continue", "arguments": {"budget": "1500"}});
        let prompt = pipe.ask("prompts/get", get).await;
        let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("of 1500 tokens") && text.contains("note 119"), "{text}");
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn subscribers_hear_of_pages_that_change() {
    run(async {
        let server = begun().await;
        let access = contexture_server::Access::owner(SESSION.parse().unwrap());
        let mut pipe = Pipe::new(&server.host, access);
        pipe.listen(&["contexture://demo/usr-1"]).await;
        let page = format!("/v1/sessions/{SESSION}/pages/usr-1");
        // The stream may begin a moment after it was acknowledged: one of these edits is heard of.
        let edits = async {
            for number in 0.. {
                let body = json!({"name": format!("Launch {number}")}).to_string();
                server.send(&server.owner, "PATCH", &page, &[], Some(&body)).await.json(200);
                tokio::task::yield_now().await;
            }
        };
        let hears = async {
            let (mut updated, mut listed) = (false, false);
            while !(updated && listed) {
                let heard = pipe.receive().await;
                updated |= heard["method"] == "notifications/resources/updated"
                    && heard["params"]["uri"] == "contexture://demo/usr-1";
                listed |= heard["method"] == "notifications/resources/list_changed";
            }
        };
        tokio::select! {
            () = hears => {}
            () = edits => {}
        }
        server.end().await;
    });
}

#[test]
fn long_answers_are_cut_and_say_how_to_read_on() {
    run(async {
        let server = begun().await;
        let mut pipe = Pipe::owner(&server.host).await;
        let long = "the quick brown fox jumps over the lazy dog\n".repeat(20_000);
        let note = json!({"action": "create", "name": "Long", "text": long});
        pipe.right("write", note).await;
        let tokens = contexture_tokens::counter_for("o200k_base");
        let calls = [
            ("read", json!({"page": "usr-3"})),
            ("window", json!({"budget": 1_000_000})),
            ("expand", json!({"page": "usr-3", "offset": 5_000})),
        ];
        for (tool, arguments) in calls {
            let text = pipe.right(tool, arguments).await;
            assert!(tokens.count(&text).0 < 25_000, "{tool}");
            assert!(text.contains("read on with offset "), "{tool}: {}", &text[..200]);
        }
        pipe.end().await;
        server.end().await;
    });
}

#[test]
fn the_owner_names_session_and_agent_in_each_call() {
    run(async {
        let server = begun().await;
        server.send(&server.owner, "PUT", "/v1/sessions/second", &[], Some("{}")).await;
        let mut pipe = Pipe::owner(&server.host).await;
        let note = json!({"action": "create", "name": "Hers", "text": "x", "agent": "fixer"});
        pipe.right("write", note).await;
        let page = pipe.right("read", json!({"page": "usr-3"})).await;
        assert!(page.contains("by fixer"), "{page}");
        let other = json!({"page": "usr-3", "session": "second"});
        assert!(pipe.wrong("read", other).await.contains("not found"));
        let none = pipe.wrong("read", json!({"page": "usr-1", "session": "third"})).await;
        assert!(none.contains("contexture init"), "{none}");
        pipe.end().await;
        let answer = post(&server, &server.owner, MCP, "tools/list", json!({})).await;
        assert_eq!(answer.status, 200);
        server.end().await;
    });
}
