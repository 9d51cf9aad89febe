//! The deep tests of the core: one binary, a module per topic.

#![allow(clippy::unwrap_used)]

#[path = "runner/admit.rs"]
mod admit;
#[path = "runner/apps.rs"]
mod apps;
#[path = "runner/coherence.rs"]
mod coherence;
#[path = "runner/concurrency.rs"]
mod concurrency;
#[path = "runner/conformance.rs"]
mod conformance;
#[path = "runner/copies.rs"]
mod copies;
#[path = "runner/copies_again.rs"]
mod copies_again;
#[path = "runner/depth.rs"]
mod depth;
#[path = "runner/doubt.rs"]
mod doubt;
#[path = "runner/engine.rs"]
mod engine;
#[path = "runner/feed.rs"]
mod feed;
#[path = "runner/keyed.rs"]
mod keyed;
#[path = "runner/lost.rs"]
mod lost;
#[path = "runner/open_exchanges.rs"]
mod open_exchanges;
#[path = "runner/permission_matrix.rs"]
mod permission_matrix;
#[path = "runner/prompt_stands.rs"]
mod prompt_stands;
#[path = "runner/properties.rs"]
mod properties;
#[path = "runner/proxy.rs"]
mod proxy;
#[path = "runner/publish.rs"]
mod publish;
#[path = "runner/repairing.rs"]
mod repairing;
#[path = "runner/runs.rs"]
mod runs;
#[path = "runner/seed_documents.rs"]
mod seed_documents;
#[path = "runner/seed_flow.rs"]
mod seed_flow;
#[path = "runner/seen_in_part.rs"]
mod seen_in_part;
#[path = "runner/structure.rs"]
mod structure;
#[path = "runner/switching.rs"]
mod switching;
#[path = "runner/system_speech.rs"]
mod system_speech;
#[path = "runner/turns.rs"]
mod turns;
#[path = "runner/undo.rs"]
mod undo;
#[path = "runner/undo_many.rs"]
mod undo_many;
#[path = "runner/users.rs"]
mod users;
#[path = "runner/view_filter.rs"]
mod view_filter;
#[path = "runner/view_filter_random.rs"]
mod view_filter_random;
#[path = "runner/views.rs"]
mod views;
#[path = "runner/window.rs"]
mod window;
#[path = "runner/window_append.rs"]
mod window_append;
#[path = "runner/window_authors.rs"]
mod window_authors;
#[path = "runner/window_context.rs"]
mod window_context;
#[path = "runner/window_fold.rs"]
mod window_fold;
#[path = "runner/window_injection.rs"]
mod window_injection;
#[path = "runner/window_loop.rs"]
mod window_loop;
#[path = "runner/window_messages.rs"]
mod window_messages;
#[path = "runner/window_once.rs"]
mod window_once;
#[path = "runner/window_onward.rs"]
mod window_onward;
#[path = "runner/window_press.rs"]
mod window_press;
#[path = "runner/window_request.rs"]
mod window_request;
#[path = "runner/window_sent.rs"]
mod window_sent;
#[path = "runner/window_summaries.rs"]
mod window_summaries;
