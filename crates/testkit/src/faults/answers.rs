//! What a context system answers, as text.

use std::fmt::Write;

use contexture_core::{
    AgentContext, ContextSystem, Format, ListQuery, Reader, Segment, WindowOptions,
};

use crate::{edits::callers, window::FourBytes};

/// All that the readers of a context system answer, a line each.
pub(super) async fn answers(system: &ContextSystem) -> String {
    let mut told = String::new();
    // The first answer that comes from the storage settles what was in doubt.
    read(&system.as_system().reader(), &mut told).await;
    for caller in callers().into_iter().filter_map(|caller| caller.view().cloned()) {
        let agent = AgentContext::new(system.clone(), caller);
        read(&agent.reader(), &mut told).await;
        let options = WindowOptions::new(Format::Markdown, std::sync::Arc::new(FourBytes));
        let window = agent.window(&options).await.map(|window| window.body);
        writeln!(told, "{window:?}").expect("a text takes any text");
    }
    told
}

async fn read(reader: &Reader<'_>, told: &mut String) {
    for archived in [false, true] {
        let query = ListQuery { limit: 10_000, archived, ..ListQuery::default() };
        let pages = reader.list(&query).await.expect("pages can be listed").items;
        for seen in pages {
            writeln!(told, "{seen:?}").expect("a text takes any text");
            if seen.page.detail().is_some() && !archived {
                let messages = reader.messages(&seen.page.index).await;
                writeln!(told, "{messages:?}").expect("a text takes any text");
            }
        }
    }
    // Counters move on their own and are read where they are needed.
    for segment in reader.segments() {
        let Segment { id, name, kind, permission, capacity, version, .. } = &*segment;
        writeln!(told, "{id} {name} {kind:?} {permission:?} {capacity:?} {version:?}")
            .expect("a text takes any text");
    }
    writeln!(told, "{:?}", reader.focus().await).expect("a text takes any text");
}
