//! An answer goes into the core and comes back to its model as the model gave it.

use contexture_agents::{Model, ModelRequest};
use contexture_core::{
    Message, Role,
    message::{Fields, Part, Text, ToolResult},
    storage::Mark,
    window::{Breakpoints, Piece, PieceContent, PieceKey, WindowParts, assemble, render_piece},
};
use contexture_testkit::{
    fixture::page,
    provider::{ProviderServer, Reply},
};

use super::{MODELS, ask, model, request};

/// Renders messages as the core does for a model.
fn render(model: &dyn Model, name: &str, messages: &[Message]) -> String {
    let mark = Mark::from_seed(b"test");
    let content = PieceContent::Messages(messages.into());
    let piece = Piece { key: PieceKey([0; 32]), page: page("usr-1"), content };
    let talk = [render_piece(model.format(), &piece, &mark, Some(name)).into()];
    let parts = WindowParts { system: &[], talk: &talk, breakpoints: Breakpoints::default() };
    assemble(model.format(), parts).unwrap().json
}

fn result(call: &str) -> Message {
    let text = Part::Text(Text { text: "42".to_owned(), extra: Fields::default() });
    let result = ToolResult {
        call: call.to_owned(),
        content: vec![text],
        error: false,
        extra: Fields::default(),
    };
    Message { parts: vec![Part::ToolResult(result)], ..Message::text(Role::Tool, "") }
}

#[tokio::test]
async fn signatures_and_arguments_go_back_to_the_model_that_made_them() {
    let arguments = r#"{ "z" : 1.50 }"#;
    for name in MODELS {
        for stream in [false, true] {
            let reply = Reply::empty()
                .thinking("Hm.", "c2ln")
                .say("I look.")
                .tool_call("one", "search", arguments)
                .signed("Z2Vt")
                .tool_call("two", "search", "{}");
            let again = reply.clone();
            let server = ProviderServer::scripted([reply, again, Reply::text("Done.")]);
            let model = model(&server, name);
            let mut messages = vec![Message::text(Role::User, "What is it?")];
            // Two steps in a turn: the second must not reuse the first one's ids.
            for _ in 0..2 {
                let window = render(&*model, name, &messages);
                let request = ModelRequest { window, ..request(name, stream) };
                let answer = ask(&*model, &request).await.0.unwrap();
                let ids: Vec<String> =
                    answer.message.tool_calls().map(|call| call.id.clone()).collect();
                messages.push(answer.message);
                messages.extend(ids.iter().map(|id| result(id)));
            }
            let window = render(&*model, name, &messages);
            let request = ModelRequest { window: window.clone(), ..request(name, stream) };
            let answer = ask(&*model, &request).await.0.unwrap();
            assert_eq!(answer.message.plain_text(), "Done.", "{name}");
            // The server checks pairing, ids and, for this Gemini, signatures.
            assert_eq!(server.violations(), [""; 0], "{name}");

            let kept = match name.split('/').next().unwrap() {
                "openai" => r#""extra_content":{"google":{"thought_signature":"Z2Vt"}}"#,
                "anthropic" => r#"{"type":"thinking","thinking":"Hm.","signature":"c2ln"}"#,
                _ => r#""thoughtSignature":"Z2Vt""#,
            };
            assert_eq!(window.matches(kept).count(), 2, "{name}: {window}");
            let spelled = match name.starts_with("openai") {
                true => serde_json::to_string(arguments).unwrap(),
                false => arguments.to_owned(),
            };
            assert_eq!(window.matches(&spelled).count(), 2, "{name}: {window}");
            if name.starts_with("gemini") {
                assert!(window.contains("gemini-4") && !window.contains("gemini-1-"), "{window}");
            }
            // To another model none of it goes.
            let other = format!("{name}-other");
            assert!(!render(&*model, &other, &messages).contains(kept), "{name}");
        }
    }
}
