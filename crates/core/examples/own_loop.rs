//! A host's own loop: append what was said, ask for the next request, report what it cost.
#![allow(clippy::print_stdout)]
use contexture_core::{TokenCounter, *};
use std::sync::Arc;

struct FourBytes;
impl TokenCounter for FourBytes {
    fn name(&self) -> &str {
        "four-bytes"
    }
    fn count(&self, text: &str) -> Tokens {
        Tokens((text.len() as u64).div_ceil(4))
    }
}

pub(crate) fn main() -> Result<()> {
    futures::executor::block_on(async {
        let (store, clock) = (Arc::new(MemoryStorage::new()), Arc::new(ManualClock::at_millis(0)));
        let usr = Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User));
        let system = ContextSystem::create_with(store, "s".parse()?, "demo", clock, &usr).await?;
        let agent = AgentContext::new(system, View::common("helper".parse()?));
        let options = WindowOptions::new("openai".parse()?, Arc::new(FourBytes)).budget(1_000);
        let talk = Conversation::new(agent, options);
        for turn in 1..=30 {
            let question = format!("question {turn}: {}", "what about this? ".repeat(10));
            talk.append(vec![Message::text(Role::User, question)]).await?;
            let request = talk.request().await?;
            // Here goes your call to the model, with the request's body.
            let (answer, input) = (format!("answer {turn}"), request.body.len() as u64 / 4);
            talk.append(vec![Message::text(Role::Assistant, answer)]).await?;
            talk.report(&request, &Usage { input, ..Usage::default() }).await?;
            let cached = 100 * request.cached.0 / request.tokens.0;
            let saved = request.fold.map_or(0, |fold| fold.saved_tokens);
            println!("turn {turn}: {} tokens, {cached} % cached, {saved} saved", request.tokens);
        }
        Ok(())
    })
}
