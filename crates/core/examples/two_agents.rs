//! Two agents on one session: each sees its own levels, neither touches the system prompt.
//!
//! Run with `cargo run -p contexture-core --example two_agents`.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use contexture_core::*;
use futures::executor::block_on;

fn main() -> Result<()> {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
        let setup = Edit::Batch(vec![
            Edit::AddSegment(NewSegment::new("sys".parse()?, SegmentKind::System)),
            Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User)),
            Edit::CreateDetailPage(NewDetailPage::new(
                "sys-0".parse()?,
                "Rules".parse()?,
                "Never push to main.",
            )),
        ]);
        let system =
            ContextSystem::create_with(storage, "demo".parse()?, "demo", clock, &setup).await?;

        let reviewer = AgentContext::new(system.clone(), View::common("reviewer".parse()?));
        let fixer = AgentContext::new(system.clone(), View::common("fixer".parse()?));

        let finding = reviewer
            .create_detail_page("Finding", "off by one in the parser", "See line 42.", "usr-0")
            .await?;
        reviewer.hide_details(&finding).await?;
        fixer.pin_page(&finding).await?;

        for agent in [&reviewer, &fixer] {
            let page = agent.get_page(&finding).await?;
            println!("{}: {} pinned: {}", agent.agent(), page.visibility, page.pinned);
        }
        if let Err(refusal) = fixer.hide_details("sys-0").await {
            println!("{refusal}");
        }
        for entry in fixer.history(None, 10).await?.items {
            println!("{} {} by {}", entry.revision, entry.operation, entry.actor);
        }
        Ok(())
    })
}
