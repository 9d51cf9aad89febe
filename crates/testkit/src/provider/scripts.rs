//! Models that several tests share: they decide by what stands in the request, so they go on wherever
//! a run goes on.

use super::{HttpRequest, Reply};

/// Calls five tools, one after the other, then answers. The third edits `count.txt`, and doing that
/// twice would show: what it looks for, `n=`, is still there afterwards.
pub fn five_calls(request: &HttpRequest) -> Reply {
    let done = (1..=5).take_while(|at| request.body.contains(&format!("step-{at}-call"))).count();
    let call = |at: usize, name: &str, arguments: &str| {
        Reply::text(format!("Now step-{at}-call.")).tool_call(&format!("s{at}"), name, arguments)
    };
    match done {
        0 => call(1, "read_file", r#"{"path":"count.txt"}"#),
        1 => call(2, "list_files", "{}"),
        2 => call(3, "edit_file", r#"{"path":"count.txt","old_text":"n=","new_text":"n=1"}"#),
        3 => call(4, "grep", r#"{"pattern":"n="}"#),
        4 => call(5, "read_file", r#"{"path":"count.txt"}"#),
        _ => Reply::text("All five are done."),
    }
}
