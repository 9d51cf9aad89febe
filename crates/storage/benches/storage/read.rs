//! Reading a resident page through an agent's proxy.

use std::{path::Path, time::Instant};

use contexture_core::{AgentContext, PageIndex, View};
use futures::executor::block_on;

use crate::{median, session::Session};

const READS: usize = 200_000;

pub(crate) fn run(dir: &Path) {
    let session = Session::new(&dir.join("read.db"), "read");
    session.append_batch(0, 1_000);
    let agent = AgentContext::new(session.system, View::common("reader".parse().unwrap()));
    let pages: Vec<PageIndex> =
        (1..=1_000).map(|number| format!("usr-{number}").parse().unwrap()).collect();
    let rounds = (0..7).map(|_| {
        let began = Instant::now();
        block_on(async {
            for at in 0..READS {
                std::hint::black_box(agent.get_page(&pages[at % pages.len()]).await.unwrap());
            }
        });
        began.elapsed().as_secs_f64() * 1e6 / READS as f64
    });
    println!("read: a resident page through AgentContext: {:.3} µs", median(rounds.collect()));
}
