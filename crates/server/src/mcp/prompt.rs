//! The prompt `continue`: a session's window, for a model that goes on with it.

use rmcp::{
    ErrorData,
    model::{
        CacheScope, GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt,
        PromptArgument, PromptMessage, Role,
    },
};
use serde_json::{Value, json};

use super::access::{Access, Asked, refusal, tools};
use crate::Host;

const CONTINUE: &str = "continue";

/// What stands before the window.
const TEXT: &str = include_str!("continue.md");

/// Lists the prompts.
pub(super) fn list() -> ListPromptsResult {
    let argument = |name: &str, about: &str| {
        PromptArgument::new(name).with_description(about).with_required(false)
    };
    let arguments = vec![
        argument("session", "The session; by default this connection's"),
        argument("agent", "Whose view; by default this connection's"),
        argument("budget", "How many tokens the window may take; 8000 by default"),
    ];
    let about = "Continue this session: what was asked and done, folded to a budget";
    let prompt = Prompt::new(CONTINUE, Some(about), Some(arguments)).with_title("Continue");
    ListPromptsResult::with_all_items(vec![prompt])
        .with_ttl_ms(3_600_000)
        .with_cache_scope(CacheScope::Public)
}

/// Returns the prompt with the window as it is now.
pub(super) async fn get(
    host: &Host,
    access: &Access,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let wrong = |why: String| ErrorData::invalid_params(why, None);
    if request.name != CONTINUE {
        return Err(wrong("there is no such prompt; prompts/list lists them".to_owned()));
    }
    let mut arguments = request.arguments.unwrap_or_default();
    let asked = Asked::take(&mut arguments).map_err(|error| wrong(refusal(&error)))?;
    let budget = match arguments.remove("budget") {
        None | Some(Value::Null) => json!({}),
        Some(budget) => json!({"budget": number(&budget).ok_or_else(|| {
            wrong("'budget' must be a whole number above 0".to_owned())
        })?}),
    };
    if !arguments.is_empty() {
        return Err(wrong("the prompt takes session, agent and budget only".to_owned()));
    }
    let tools = tools(host, access, &asked).await.map_err(|error| wrong(refusal(&error)))?;
    let window = tools.call("window", budget).await;
    if window.error {
        return Err(wrong(window.text));
    }
    let text = format!("{}\n\n{}", TEXT.trim(), window.text);
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
        .with_description("The session as it is now"))
}

/// Reads a number, also from a text: arguments of prompts are texts.
fn number(value: &Value) -> Option<u64> {
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|number| *number > 0)
}
