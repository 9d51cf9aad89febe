//! What a context system answers, as text.

use std::fmt::Write;

use contexture_core::{
    AgentContext, ContextSystem, Format, ListQuery, Reader, Segment, WindowOptions,
};

use crate::{edits::callers, window::FourBytes};

/// All that the readers of a context system answer, a line each.
pub(super) async fn answers(system: &ContextSystem) -> String {
    let mut answered = String::new();
    // The first answer that comes from the storage settles what was in doubt.
    read(&system.as_system().reader(), &mut answered).await;
    for caller in callers().into_iter().filter_map(|caller| caller.view().cloned()) {
        let agent = AgentContext::new(system.clone(), caller);
        read(&agent.reader(), &mut answered).await;
        let options = WindowOptions::new(Format::Markdown, std::sync::Arc::new(FourBytes));
        let window = agent.window(&options).await.map(|window| window.body);
        writeln!(answered, "{window:?}").expect("a text takes any text");
    }
    answered
}

async fn read(reader: &Reader<'_>, answered: &mut String) {
    for archived in [false, true] {
        let query = ListQuery { limit: 10_000, archived, ..ListQuery::default() };
        let pages = reader.list(&query).await.expect("pages can be listed").items;
        for seen in pages {
            writeln!(answered, "{seen:?}").expect("a text takes any text");
            if seen.page.detail().is_some() && !archived {
                let messages = reader.messages(&seen.page.index).await;
                writeln!(answered, "{messages:?}").expect("a text takes any text");
            }
        }
    }
    // Counters move on their own and are read where they are needed.
    for segment in reader.segments() {
        let Segment { id, name, kind, permission, capacity, version, .. } = &*segment;
        writeln!(answered, "{id} {name} {kind:?} {permission:?} {capacity:?} {version:?}")
            .expect("a text takes any text");
    }
    writeln!(answered, "{:?}", reader.focus().await).expect("a text takes any text");
}
