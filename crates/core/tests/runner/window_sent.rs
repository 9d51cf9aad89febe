//! The ledger: every window sent can be shown again, proved by its hash, to whoever still sees it.

use std::{collections::BTreeMap, sync::Arc};

use contexture_core::{
    AgentContext, Edit, Error, ErrorKind, Format, ListQuery, Mounts, PageView, Tokens, Usage, View,
    WindowOptions, storage::SentWindow,
};
use contexture_testkit::{
    fixture::{add_segment, agent, apply, leaf, memory, page, segment, user, valid},
    window::{World, options},
};
use futures::executor::block_on;

use super::window::random_options;

// D-35: every window sent in a random session is shown again byte by byte, whatever was edited,
// folded, undone, moved or archived since, also by a process with nothing in memory; but for what was
// moved out of the agent's view.
#[test]
fn every_window_sent_is_shown_again() {
    let (mut shown, mut withheld) = (0, 0);
    for seed in 800..815 {
        let mut world = World::new(seed);
        let mut sent: BTreeMap<(usize, Format, u64), (String, contexture_core::WindowOptions)> =
            BTreeMap::new();
        for _ in 0..60 {
            world.step();
            let at = world.random.below(3) as usize;
            let mut asked = random_options(&mut world.random);
            // A window is shown again with the tokenizer it was made with.
            asked.counter = Arc::new(contexture_testkit::window::FourBytes);
            if world.random.chance(10) {
                let _ = block_on(world.agents[at].undo(None));
            }
            if let Ok(made) = block_on(world.agents[at].send(&asked)) {
                let record = &made.record;
                assert!(record.cached <= record.tokens, "seed {seed}: {record:?}");
                assert_eq!(record.tokens.0, made.window.account.tokens);
                sent.insert((at, asked.format, record.number), (made.window.body, asked));
            }
        }
        let cold = world.cold();
        let cold = world.agents_on(&cold);
        for ((at, format, number), (body, asked)) in &sent {
            for agent in [&world.agents[*at], &cold[*at]] {
                let told = format!("seed {seed} {format} {number}");
                match block_on(agent.sent(asked, *number)) {
                    Err(error) => {
                        assert_eq!(*format, Format::Context, "{told}: {error}");
                        assert!(moved_out(&world, agent) > 0, "{told}: {error}");
                        withheld += 1;
                    }
                    Ok(again) if again.withheld.is_empty() => {
                        assert_eq!(again.window.body, *body, "{told}");
                        shown += 1;
                    }
                    Ok(again) => {
                        let seen = |page| block_on(agent.reader().page_or_archived(page)).is_ok();
                        assert!(!again.withheld.iter().any(seen), "{told}: {:?}", again.withheld);
                        assert!(moved_out(&world, agent) > 0, "{told}: {:?}", again.withheld);
                        withheld += 1;
                    }
                }
            }
        }
        // Numbers count from 1 per view and format.
        for at in 0..3 {
            for format in Format::ALL {
                let records = block_on(world.agents[at].ledger(format, 1_000)).unwrap();
                let numbers: Vec<u64> = records.iter().rev().map(|record| record.number).collect();
                assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<_>>());
            }
        }
    }
    assert!(shown > 1_000 && withheld > 0, "{shown} {withheld}");
}

/// Counts the pages that lie in segments an agent does not see, and were moved there.
fn moved_out(world: &World, agent: &AgentContext) -> usize {
    let reader = agent.reader();
    let out = |seen: &&PageView| {
        !seen.page.sources.is_empty() && reader.segment(seen.page.index.segment()).is_err()
    };
    let listed = |archived| {
        let query = ListQuery { limit: 10_000, archived, ..ListQuery::default() };
        block_on(world.system.as_system().reader().list(&query)).unwrap().items
    };
    listed(false).iter().chain(&listed(true)).filter(out).count()
}

async fn talking() -> AgentContext {
    let system = memory().await;
    leaf(&system, "sys-0", "Rule").await;
    agent(&system, "alpha")
}

async fn say(alpha: &AgentContext, number: u64) {
    let text = format!("turn {number} {}", "word ".repeat(20));
    alpha.add_turn(vec![user(&text)]).await.unwrap();
}

// D-35: records are differences, and complete every so often; each stands on those before it.
#[test]
fn records_are_differences() {
    block_on(async {
        let alpha = talking().await;
        let asked = options("openai".parse().unwrap());
        let mut sent = Vec::new();
        for number in 0..SentWindow::COMPLETE_EVERY * 2 + 8 {
            say(&alpha, number).await;
            sent.push(alpha.send(&asked).await.unwrap());
        }
        for made in &sent {
            let record = &made.record;
            let all = made.window.pieces.len() as u64;
            assert_eq!(record.kept + record.pieces.len() as u64, all);
            if record.number % SentWindow::COMPLETE_EVERY == 1 {
                assert_eq!(record.kept, 0, "window {}", record.number);
            } else {
                assert_eq!((record.kept, record.pieces.len()), (all - 1, 1), "{}", record.number);
            }
            let cached: u64 =
                made.window.pieces[..all as usize - 1].iter().map(|piece| piece.tokens.0).sum();
            let expected = if record.number == 1 { 0 } else { cached };
            assert_eq!(record.cached.0, expected, "window {}", record.number);
            let again = alpha.sent(&asked, record.number).await.unwrap();
            assert_eq!(again.window.hash, record.hash);
            assert_eq!(again.window.pieces, made.window.pieces);
        }
    });
}

// What the host puts before the window is block 0: when it changes, nothing behind it is cached.
#[test]
fn a_changed_head_leaves_nothing_cached() {
    block_on(async {
        let alpha = talking().await;
        for number in 0..5 {
            say(&alpha, number).await;
        }
        let plain = options("openai".parse().unwrap());
        let tools = plain.clone().head(b"tools", 100);
        let more = plain.clone().head(b"tools and one more", 130);
        let mut asked = Vec::new();
        let mut records = Vec::new();
        for options in [&tools, &tools, &more, &more, &plain, &plain] {
            say(&alpha, 5 + records.len() as u64).await;
            let sent = alpha.send(options).await.unwrap();
            let pieces: Vec<u64> = sent.window.pieces.iter().map(|piece| piece.tokens.0).collect();
            let (last, before) = pieces.split_last().unwrap();
            let before: u64 = before.iter().sum();
            assert_eq!(sent.record.tokens.0, before + last + options.reserved.0);
            assert_eq!((sent.record.head, sent.record.reserved), (options.head, options.reserved));
            asked.push(before);
            records.push(sent.record);
        }
        let charged: Vec<(u64, u64)> =
            records.iter().map(|record| (record.cached.0, record.reread.0)).collect();
        let expected = [
            (0, 0),
            (100 + asked[1], 0),
            (0, asked[2]),
            (130 + asked[3], 0),
            (0, asked[4]),
            (asked[5], 0),
        ];
        assert_eq!(charged, expected);
        // Pieces are recorded as differences all the same.
        assert!(records[1..].iter().all(|record| record.pieces.len() == 1));
        // What was recorded before there were heads can be read, and says as little as it did.
        let written = serde_json::to_string(&records[5]).unwrap();
        assert!(!written.contains("head") && !written.contains("reserved"), "{written}");
        assert_eq!(serde_json::from_str::<SentWindow>(&written).unwrap(), records[5]);
        let written = serde_json::to_string(&records[3]).unwrap();
        assert_eq!(serde_json::from_str::<SentWindow>(&written).unwrap(), records[3]);
    });
}

// D-35: edits of what was shown, moves and archives leave it as it was sent.
#[test]
fn edits_leave_what_was_sent() {
    block_on(async {
        let alpha = talking().await;
        let note = alpha.create_detail_page("Note", "about", "first text", "usr-0").await.unwrap();
        alpha.expand_details(&note).await.unwrap();
        alpha.pin_page(&note).await.unwrap();
        for number in 0..40 {
            say(&alpha, number).await;
        }
        let mut sent = Vec::new();
        for format in Format::ALL {
            let asked = options(format).budget(2_000);
            let body = alpha.send(&asked).await.unwrap().window.body;
            assert!(body.contains("first text"), "{format}");
            sent.push((asked, body));
        }
        let same = async |what: &str| {
            for (asked, body) in &sent {
                let again =
                    alpha.sent(asked, 1).await.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(again.window.body, *body, "{what} {}", asked.format);
            }
        };
        let mut update = contexture_core::PageUpdate::of(note.clone());
        update.detail = Some("second text".to_owned());
        update.name = Some(valid("Renamed"));
        alpha.apply(Edit::UpdatePage(update)).await.unwrap();
        same("updated").await;
        let folder = alpha.create_contents_page("Folder", "", "usr-0", &[]).await.unwrap();
        alpha.move_page(&note, &folder).await.unwrap();
        same("moved").await;
        alpha.archive_page(&note).await.unwrap();
        same("archived").await;
        alpha.restore_page(&note).await.unwrap();
        alpha.remove_page(&folder).await.unwrap();
        same("removed").await;
        alpha.fold(&options(Format::Markdown).budget(600)).await.unwrap().unwrap();
        same("folded").await;
        alpha.undo(None).await.unwrap();
        same("undone").await;
    });
}

// What a purge took is gone from what was sent, and the ledger says so.
#[test]
fn a_purge_takes_what_was_sent() {
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let note = alpha.create_detail_page("Note", "d", "to be purged", "usr-0").await.unwrap();
        alpha.expand_details(&note).await.unwrap();
        for format in Format::ALL {
            alpha.send(&options(format)).await.unwrap();
        }
        apply(&system, Edit::RemovePage(note.clone())).await;
        apply(&system, Edit::PurgePage(note)).await;
        for format in Format::ALL {
            let lost = alpha.sent(&options(format), 1).await.unwrap_err();
            assert!(matches!(lost, Error::SentLost { number: 1, .. }), "{format}: {lost}");
            let records = alpha.ledger(format, 10).await.unwrap();
            assert!(!format!("{records:?}").contains("to be purged"), "{format}");
            // The next one stands on nothing that was lost.
            let next = alpha.send(&options(format)).await.unwrap();
            assert_eq!(next.record.number, 2);
            let again = alpha.sent(&options(format), 2).await.unwrap();
            assert_eq!(again.window.body, next.window.body, "{format}");
        }
    });
}

fn sees(system: &contexture_core::ContextSystem, segments: &[&str]) -> AgentContext {
    let mounts = Mounts::Listed(segments.iter().map(|id| segment(id)).collect());
    let view = View { mounts, ..View::common(valid("alpha")) };
    AgentContext::new(system.clone(), view)
}

// An agent that lost a segment cannot see it again in what it was sent, not even in lines
// of a fold that stood beside those of a segment it still sees.
#[test]
fn a_lost_segment_is_not_shown_again() {
    use contexture_core::{Permission, SegmentKind};
    block_on(async {
        let system = memory().await;
        add_segment(&system, "old", SegmentKind::Custom, Permission::ReadWrite).await;
        let both = sees(&system, &["sys", "usr", "old"]);
        for number in 0..12 {
            let name = format!("Common {number}");
            both.create_detail_page(&name, "seen by all", "text", "usr-0").await.unwrap();
            let name = format!("Private {number}");
            both.create_detail_page(&name, "of the old days", "text", "old-0").await.unwrap();
        }
        let fewer = sees(&system, &["sys", "usr"]);
        for format in Format::ALL {
            for budget in [None, Some(Tokens(900)), Some(Tokens(500))] {
                let asked = contexture_core::WindowOptions { budget, ..options(format) };
                let sent = both.send(&asked).await.unwrap();
                let number = sent.record.number;
                assert_eq!(both.sent(&asked, number).await.unwrap().window.body, sent.window.body);
                let again = fewer.sent(&asked, number).await;
                let lost = sent.window.body.contains("old-");
                match again {
                    Err(error) => {
                        // A Context also says what could be done with pages, so it is refused.
                        assert!(lost && format == Format::Context, "{format}: {error}");
                        assert!(matches!(error, Error::SentLost { .. }), "{format}: {error}");
                        assert!(!error.to_string().contains("Private"), "{error}");
                    }
                    Ok(again) => {
                        assert_eq!(!again.withheld.is_empty(), lost, "{format}");
                        let told = format!("{again:?}");
                        assert!(
                            !told.contains("Private") && !told.contains("create-old"),
                            "{told}"
                        );
                        let common = sent.window.body.contains("Common");
                        assert_eq!(again.window.body.contains("Common"), common, "{told}");
                    }
                }
            }
        }
    });
}

/// Names what an agent is shown of a window it was sent; it must not be what was sent.
async fn shown_in_part(agent: &AgentContext, asked: &WindowOptions, hidden: &str) -> Vec<String> {
    let again = agent.sent(asked, 1).await.unwrap();
    let told = format!("{again:?}");
    assert!(!told.contains(hidden), "{}: {told}", asked.format);
    assert_ne!(again.window.hash, again.record.hash, "{}", asked.format);
    assert!(again.window.body.contains("no longer in this view)"), "{}", again.window.body);
    if let Format::Provider(format) = asked.format {
        let body = serde_json::from_str(&again.window.body).unwrap();
        contexture_core::window::validate_body(format, &body).unwrap();
    }
    again.withheld.iter().map(ToString::to_string).collect()
}

// D-35: what was moved out of an agent's view since is not shown again, neither as a page nor
// in a line that quotes it; where it is moved back, everything is.
#[test]
fn a_page_moved_out_of_view_is_not_shown_again() {
    use contexture_core::{Permission, SegmentKind};
    const HIDDEN: &str = "Zanzibar_7";
    block_on(async {
        for format in Format::ALL.into_iter().filter(|format| *format != Format::Context) {
            for budget in [None, Some(Tokens(1_200))] {
                let system = memory().await;
                add_segment(&system, "vault", SegmentKind::Custom, Permission::ReadWrite).await;
                let alpha = sees(&system, &["sys", "usr"]);
                for number in 0..30 {
                    let word = if number == 22 { HIDDEN } else { "Harmless" };
                    let text = format!("{word}_{number} {}", "word ".repeat(20));
                    alpha.add_turn(vec![user(&text)]).await.unwrap();
                }
                let asked = WindowOptions { budget, ..options(format) };
                let sent = alpha.send(&asked).await.unwrap();
                assert!(sent.window.body.contains(HIDDEN), "{format} {budget:?}");
                let own = system.as_system().send(&asked).await.unwrap();
                let (from, to) = (page("usr-23"), page("vault-0"));
                let moved =
                    apply(&system, Edit::MovePage { page: from, to }).await.pages[0].clone();
                let withheld = shown_in_part(&alpha, &asked, HIDDEN).await;
                let whole =
                    if budget.is_none() { vec!["usr-23".to_owned()] } else { withheld.clone() };
                assert_eq!((withheld.len(), withheld), (1, whole), "{format} {budget:?}");
                // The records themselves hold figures alone.
                let records = alpha.ledger(format, 9).await.unwrap();
                assert!(!format!("{records:?}").contains(HIDDEN) && records[0].tokens.0 > 0);
                // The system side sees all it was sent.
                let again = system.as_system().sent(&asked, own.record.number).await.unwrap();
                assert_eq!((again.window.body, again.withheld), (own.window.body, Vec::new()));
                // Back in view under another number, it is shown again, and all of it is proved.
                apply(&system, Edit::MovePage { page: moved, to: page("usr-0") }).await;
                let again = alpha.sent(&asked, 1).await.unwrap();
                assert_eq!((again.window.body, again.withheld), (sent.window.body, Vec::new()));
            }
        }
    });
}

// What a filter leaves out since is not shown again; what a wider one shows is.
#[test]
fn what_a_filter_leaves_out_since_is_not_shown_again() {
    use contexture_core::{ViewFilter, message::MessageFilter};
    block_on(async {
        for format in Format::ALL {
            let system = memory().await;
            let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
            let gamma = agent(&system, "gamma");
            alpha.add_turn(vec![user("of alpha")]).await.unwrap();
            let call = contexture_testkit::fixture::calls("1", "{}");
            let result = contexture_testkit::fixture::returned("1", "HIDDEN");
            beta.add_turn(vec![user("of beta"), call, result]).await.unwrap();
            gamma.add_turn(vec![user("of gamma")]).await.unwrap();
            let asked = options(format);
            let sent = alpha.send(&asked).await.unwrap();
            let through = |filter: ViewFilter| {
                AgentContext::new(system.clone(), View { filter, ..alpha.view().clone() })
            };
            let words = ViewFilter { speech: MessageFilter::WithoutTools, ..ViewFilter::default() };
            let authors = Some([valid("gamma")].into());
            let authors = ViewFilter { authors, ..ViewFilter::default() };
            for (filter, hidden) in [(words.clone(), "HIDDEN"), (authors, "of beta")] {
                let filtered = through(filter);
                if format == Format::Context {
                    let lost = filtered.sent(&asked, 1).await.unwrap_err();
                    assert!(matches!(lost, Error::SentLost { .. }), "{lost}");
                    continue;
                }
                let withheld = shown_in_part(&filtered, &asked, hidden).await;
                assert!(withheld.contains(&"usr-2".to_owned()), "{format}: {withheld:?}");
                let again = filtered.sent(&asked, 1).await.unwrap().window.body;
                assert!(again.contains("of alpha") && again.contains("of gamma"), "{again}");
            }
            // What was sent through a narrow filter is held by a wide one.
            let narrow = through(words).send(&asked).await.unwrap();
            let again = alpha.sent(&asked, narrow.record.number).await;
            if format != Format::Context && format != Format::Markdown {
                assert_eq!(again.unwrap().window.body, narrow.window.body, "{format}");
            }
            assert_eq!(alpha.sent(&asked, 1).await.unwrap().window.body, sent.window.body);
        }
    });
}

// Lines recorded without the pages they quote may quote anything: an agent is not shown them.
#[test]
fn lines_of_unknown_pages_are_not_shown_again() {
    use contexture_core::storage::LedgerKey;
    block_on(async {
        let system = memory().await;
        let alpha = agent(&system, "alpha");
        let note = alpha.create_detail_page("Note", "", "text", "usr-0").await.unwrap();
        alpha.hide_details(&note).await.unwrap();
        say(&alpha, 1).await;
        let asked = options("openai".parse().unwrap());
        let mut old = alpha.send(&asked).await.unwrap().record;
        old.number = 2;
        old.kept = 0;
        old.pieces.iter_mut().for_each(|piece| piece.quotes = None);
        let key = LedgerKey { view: alpha.view().id(), format: asked.format };
        system.storage().record(system.session(), &key, &old).await.unwrap();
        assert_eq!(alpha.sent(&asked, 1).await.unwrap().withheld, []);
        assert_eq!(alpha.sent(&asked, 2).await.unwrap().withheld, [note]);
    });
}

// What providers report is kept with the window, and nothing else is.
#[test]
fn usage_is_reported() {
    block_on(async {
        let alpha = talking().await;
        say(&alpha, 1).await;
        let asked = options("anthropic".parse().unwrap());
        let sent = alpha.send(&asked).await.unwrap();
        assert_eq!(sent.record.usage, None);
        let usage = Usage { input: 120, cached: 80, output: 7, ..Usage::default() };
        alpha.report_usage(asked.format, 1, &usage).await.unwrap();
        assert_eq!(alpha.ledger(asked.format, 1).await.unwrap()[0].usage, Some(usage.clone()));
        for number in [0, 2, u64::MAX] {
            let missing = alpha.report_usage(asked.format, number, &usage).await.unwrap_err();
            assert_eq!(missing.kind(), ErrorKind::NotFound);
            assert_eq!(alpha.sent(&asked, number).await.unwrap_err().kind(), ErrorKind::NotFound);
        }
        // Another format and another view have ledgers of their own.
        let other = options("openai".parse().unwrap());
        assert_eq!(alpha.send(&other).await.unwrap().record.number, 1);
        assert!(alpha.ledger(Format::Markdown, 9).await.unwrap().is_empty());
        assert_eq!(alpha.sent(&asked, 1).await.unwrap().window.body, sent.window.body);
    });
}

// D-29: what was rendered with one filter is not shown with another.
#[test]
fn filters_do_not_share_what_was_rendered() {
    use contexture_core::{PageIndex, window::NoFilter};
    block_on(async {
        let alpha = talking().await;
        let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
        let text =
            format!("{}\nOPENAI_API_KEY={key}\n{}", "a\n".repeat(3_000), "b\n".repeat(3_000));
        let note: PageIndex = alpha.create_detail_page("Log", "", &text, "usr-0").await.unwrap();
        let told = alpha.create_detail_page("Key", key, "", "usr-0").await.unwrap();
        alpha.hide_details(&told).await.unwrap();
        alpha.expand_details(&note).await.unwrap();
        for format in Format::ALL {
            let filtered = options(format).budget(2_000);
            let mut open = filtered.clone();
            open.filter = Arc::new(NoFilter);
            let clean = alpha.window(&filtered).await.unwrap().body;
            let bare = alpha.window(&open).await.unwrap().body;
            assert!(!clean.contains(key), "{format}");
            let again = alpha.window(&filtered).await.unwrap().body;
            assert_eq!(clean, again, "{format}: what the open one rendered was kept");
            assert!(bare.contains(key), "{format}: {bare}");
        }
    });
}
