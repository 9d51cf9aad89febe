//! Filters of views: what is left out is not rendered, found, listed, counted, named or edited.

use std::collections::BTreeMap;

use contexture_core::{
    AgentContext, ContextSystem, Edit, Error, Format, ListQuery, Mounts, NewDetailPage, PageIndex,
    PageUpdate, PageView, Permission, SegmentKind, Timestamp, View, ViewFilter, context::Apps,
    message::MessageFilter, storage::Order,
};
use contexture_testkit::{
    fixture::{
        add_segment, agent, apply, assistant, calls, leaf, memory, new_directory, page, returned,
        segment, user, valid,
    },
    window::{SECRET, options},
};
use futures::executor::block_on;

pub(crate) fn seen_through(
    agent: &AgentContext,
    system: &ContextSystem,
    filter: ViewFilter,
) -> AgentContext {
    AgentContext::new(system.clone(), View { filter, ..agent.view().clone() })
}

fn only(authors: &[&str]) -> ViewFilter {
    let authors = authors.iter().map(|name| valid(name)).collect();
    ViewFilter { authors: Some(authors), ..ViewFilter::default() }
}

fn speech(speech: MessageFilter) -> ViewFilter {
    ViewFilter { speech, ..ViewFilter::default() }
}

/// Tells everything an agent can learn by asking, of what is there and of what is not.
async fn told(agent: &AgentContext, system: &ContextSystem) -> String {
    let mut told = String::new();
    let mut note = |what: &dyn std::fmt::Debug| told.push_str(&format!("{what:?}\n"));
    let reader = agent.reader();
    for format in Format::ALL {
        for budget in [None, Some(100_000), Some(900), Some(500)] {
            for level in [contexture_core::Level::Full, contexture_core::Level::Summary] {
                let mut asked = options(format).level(level);
                asked.budget = budget.map(contexture_core::Tokens);
                match agent.window(&asked).await {
                    Ok(window) => note(&(window.body, window.account, window.anchors)),
                    Err(error) => note(&error),
                }
            }
        }
        note(&agent.ledger(format, 100).await);
    }
    note(&reader.context(&options(Format::Context)).await);
    for archived in [false, true] {
        let query = ListQuery { limit: 1_000, archived, ..ListQuery::default() };
        note(&agent.list_pages(&query).await.unwrap().items);
    }
    note(&agent.find_page(SECRET, 100).await.unwrap());
    note(&agent.history(None, 1_000).await.unwrap().items);
    note(&reader.focus().await);
    let everything = ListQuery { limit: 1_000, ..ListQuery::default() };
    for seen in system.as_system().reader().list(&everything).await.unwrap().items {
        let index = &seen.page.index;
        note(&agent.get_page(index).await);
        note(&agent.get_messages(index).await);
        note(&agent.get_children(index).await);
        note(&reader.child_count(index).await);
        note(&agent.get_parent(index).await);
        note(&agent.get_ancestors(index).await);
        note(&reader.page_or_archived(index).await);
    }
    told
}

/// Asserts that a page does not exist for an agent: everything answers as for a number never used.
async fn assert_absent(agent: &AgentContext, index: &str) {
    let (hidden, unused) = (page(index), PageIndex::new(page(index).segment().clone(), 9_999));
    let root = hidden.segment().root();
    let answer = async |index: &PageIndex| {
        let named = index.to_string();
        let mut answers: Vec<String> = Vec::new();
        let mut note = |error: Error| {
            let hint = error.advice();
            answers.push(format!("{error} {:?} {hint}", error.kind()).replace(&named, "PAGE"));
        };
        let reader = agent.reader();
        note(agent.get_page(index).await.unwrap_err());
        note(agent.get_messages(index).await.unwrap_err());
        note(agent.get_children(index).await.unwrap_err());
        note(agent.get_parent(index).await.unwrap_err());
        note(agent.get_ancestors(index).await.unwrap_err());
        note(reader.child_count(index).await.unwrap_err());
        note(reader.page_or_archived(index).await.unwrap_err());
        let mut sourced = NewDetailPage::new(root.clone(), valid("n"), "t");
        sourced.sources = vec![index.clone()];
        let mut update = PageUpdate::of(index.clone());
        update.description = Some(valid("mine"));
        let edits = [
            Edit::UpdatePage(update),
            Edit::CreateDetailPage(sourced),
            Edit::CreateDetailPage(NewDetailPage::new(index.clone(), valid("n"), "t")),
            new_directory(&root.to_string(), "d", &[&named]),
            Edit::ExpandDetails(index.clone()),
            Edit::HideDetails(index.clone()),
            Edit::PinPage(index.clone()),
            Edit::UnpinPage(index.clone()),
            Edit::FocusPage(index.clone()),
            Edit::MovePage { page: index.clone(), to: root.clone() },
            Edit::MovePage { page: root.clone(), to: index.clone() },
            Edit::ArchivePage(index.clone()),
            Edit::RemovePage(index.clone()),
            Edit::RestorePage { page: index.clone(), to: None },
            Edit::PurgePage(index.clone()),
        ];
        for edit in edits {
            note(agent.apply(edit).await.unwrap_err());
        }
        for action in ["expand", "hide", "update", "move", "create"] {
            let key = format!("{action}-{index}");
            let params = BTreeMap::new();
            note(agent.press(&key, &params, &Apps::default()).await.unwrap_err());
        }
        note(agent.press(&named, &BTreeMap::new(), &Apps::default()).await.unwrap_err());
        answers
    };
    assert_eq!(answer(&hidden).await, answer(&unused).await, "{index}");
}

fn indices(pages: &[PageView]) -> Vec<String> {
    pages.iter().map(|seen| seen.page.index.to_string()).collect()
}

pub(crate) async fn listed(agent: &AgentContext) -> Vec<String> {
    let query = ListQuery { limit: 1_000, ..ListQuery::default() };
    indices(&agent.list_pages(&query).await.unwrap().items)
}

async fn turn(agent: &AgentContext, word: &str) -> PageIndex {
    let long = format!("{word} was read in /srv/{word}.rs with Value_{word}");
    let said = vec![
        user(&format!("{word} asks")),
        calls("1", &format!("{{\"path\":\"{word}\"}}")),
        returned("1", &long.repeat(4)),
        assistant(&format!("{word} answers")),
    ];
    agent.add_turn(said).await.unwrap()[0].clone()
}

// M-40: turns of authors that are not chosen do not exist: not in a window of any
// format, folded or not, nor in lists, searches, counts, history, anchors or errors.
#[test]
fn authors_that_are_not_chosen_do_not_exist() {
    block_on(async {
        let system = memory().await;
        leaf(&system, "sys-0", "Prompt").await;
        let [alpha, beta, gamma] = ["alpha", "beta", "gamma"].map(|name| agent(&system, name));
        for number in 0..12 {
            turn(&alpha, &format!("own{number}")).await;
            turn(&beta, &format!("shared{number}")).await;
            turn(&gamma, SECRET).await;
        }
        apply(&system, new_directory("usr-0", "kept", &["usr-2", "usr-3"])).await;
        apply(&system, Edit::RemovePage(page("usr-6"))).await;
        let filtered = seen_through(&alpha, &system, only(&["beta"]));
        for _ in 0..2 {
            let told = told(&filtered, &system).await;
            assert!(!told.contains(SECRET), "{told}");
            assert!(told.contains("own11 answers") && told.contains("shared11"), "{told}");
            // The second time, with what was folded and sent.
            for format in Format::ALL {
                filtered.send(&options(format).budget(1_500)).await.unwrap();
            }
        }
        for index in ["usr-3", "usr-6", "usr-9", "usr-36"] {
            assert_absent(&filtered, index).await;
        }
        let children = filtered.get_children("usr-37").await.unwrap();
        assert_eq!(indices(&children), ["usr-2"]);
        assert_eq!(filtered.reader().child_count(&page("usr-37")).await.unwrap(), 1);
        let first = filtered.reader().children(&page("usr-0"), Order::Forward, None, 23).await;
        assert_eq!((first.as_ref().unwrap().items.len(), first.unwrap().more), (23, true));
        let all = filtered.reader().children(&page("usr-0"), Order::Backward, None, 24).await;
        assert_eq!((all.as_ref().unwrap().items.len(), all.unwrap().more), (24, false));
        // The host's turns are the host's: they are seen when it is among the authors.
        let segment = segment("usr");
        let said = Edit::AddTurn { segment, messages: vec![user("from the main session")] };
        let host = apply(&system, said).await.pages[0].clone();
        assert!(filtered.get_page(&host).await.is_err());
        let host_too = seen_through(&alpha, &system, only(&["beta", "system"]));
        assert!(host_too.get_page(&host).await.is_ok());
        let nobody = seen_through(&alpha, &system, only(&[]));
        assert!(listed(&nobody).await.contains(&"usr-1".to_owned()));
        assert!(!listed(&nobody).await.contains(&"usr-2".to_owned()));
    });
}

// M-39: without tools, nothing of a call or its result is seen in turns of others; one's own stay
// whole, also where the content is the very same.
#[test]
fn tools_of_others_are_not_heard() {
    block_on(async {
        let system = memory().await;
        let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
        for number in 0..9 {
            let result =
                format!("{SECRET} in /srv/{SECRET}.rs is Value_{SECRET} {number} ").repeat(9);
            let said = vec![
                user(&format!("request{number}")),
                assistant(&format!("spoken{number}")),
                calls("1", &format!("{{\"path\":\"{SECRET}\"}}")),
                returned("1", &result),
            ];
            beta.add_turn(said).await.unwrap();
        }
        // A page of nothing but a call, which is not there when the call is not.
        let large = "x".repeat(5_000);
        beta.add_turn(vec![user(&large)]).await.unwrap();
        let call = vec![calls("2", "{}"), returned("2", SECRET)];
        let only_call = beta.extend_turn(call).await.unwrap()[0].clone();
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::WithoutTools));
        for _ in 0..2 {
            let told = told(&filtered, &system).await;
            assert!(!told.contains(SECRET) && !told.contains("read_file"), "{told}");
            assert!(told.contains("spoken8") && told.contains("request8"), "{told}");
            for format in Format::ALL {
                filtered.send(&options(format).budget(2_000)).await.unwrap();
            }
        }
        assert_absent(&filtered, &only_call.to_string()).await;
        let seen = filtered.get_page("usr-1").await.unwrap();
        let detail = seen.page.detail().unwrap();
        assert_eq!((detail.messages, detail.weight), (2, 15));
        assert_eq!(filtered.get_messages("usr-1").await.unwrap().len(), 2);
        assert_eq!(alpha.get_messages("usr-1").await.unwrap().len(), 4);
        // The author's own view has it all, through whatever filter.
        let author = seen_through(&beta, &system, speech(MessageFilter::RequestsOnly));
        assert_eq!(author.get_messages("usr-1").await.unwrap().len(), 4);
        let window = author.window(&options("openai".parse().unwrap())).await.unwrap();
        assert!(window.body.contains(SECRET));
    });
}

// M-39: requests only are what users said: no answer, not even in the name of a turn.
#[test]
fn requests_are_all_that_is_heard() {
    block_on(async {
        let system = memory().await;
        let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
        beta.add_turn(vec![user("request one"), assistant(SECRET)]).await.unwrap();
        // It is named after the answer, for the request has no words.
        beta.add_turn(vec![user(" "), assistant(SECRET)]).await.unwrap();
        beta.add_turn(vec![assistant(SECRET)]).await.unwrap();
        assert_eq!(alpha.find_page(SECRET, 9).await.unwrap().len(), 3);
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::RequestsOnly));
        let told = told(&filtered, &system).await;
        assert!(!told.contains(SECRET) && told.contains("request one"), "{told}");
        assert_eq!(listed(&filtered).await, ["sys-0", "usr-0", "usr-1", "usr-2"]);
        assert_absent(&filtered, "usr-3").await;
    });
}

// M-39, M-40: notes are judged as turns are: by who wrote them, when, and whether they are requests.
#[test]
fn notes_are_judged_as_turns_are() {
    block_on(async {
        let system = memory().await;
        let [alpha, beta, gamma] = ["alpha", "beta", "gamma"].map(|name| agent(&system, name));
        let note = async |agent: &AgentContext, name: &str| {
            agent.create_detail_page(name, name, name, "usr-0").await.unwrap()
        };
        let early = note(&beta, SECRET).await;
        let since = system.now();
        let own = note(&alpha, "own").await;
        let heard = note(&beta, "of beta").await;
        let unheard = note(&gamma, SECRET).await;
        let host = leaf(&system, "usr-0", "of the host").await;
        let empty = note(&beta, "empty").await;
        let mut emptied = PageUpdate::of(empty.clone());
        emptied.detail = Some(String::new());
        beta.apply(Edit::UpdatePage(emptied)).await.unwrap();
        // Words that one who is not heard put into a page of one who is are not heard either.
        let rewritten = note(&beta, "rewritten").await;
        let mut update = PageUpdate::of(rewritten.clone());
        update.detail = Some(SECRET.to_owned());
        gamma.apply(Edit::UpdatePage(update)).await.unwrap();
        let seen = async |filter: ViewFilter| -> Vec<bool> {
            let filtered = seen_through(&alpha, &system, filter);
            let mut seen = Vec::new();
            for index in [&early, &own, &heard, &unheard, &host, &empty, &rewritten] {
                seen.push(filtered.get_page(index).await.is_ok());
                if !seen.last().unwrap() {
                    assert_absent(&filtered, &index.to_string()).await;
                }
            }
            seen
        };
        let (x, o) = (true, false);
        assert_eq!(seen(only(&["beta"])).await, [x, x, x, o, o, x, o]);
        assert_eq!(seen(only(&["beta", "system"])).await, [x, x, x, o, x, x, o]);
        assert_eq!(seen(only(&[])).await, [o, x, o, o, o, o, o]);
        let late = ViewFilter { since: Some(since), ..ViewFilter::default() };
        assert_eq!(seen(late.clone()).await, [o, x, x, x, x, x, x]);
        assert_eq!(seen(speech(MessageFilter::WithoutTools)).await, [x; 7]);
        // An agent's note is what it found, and no request; the host speaks for the person.
        assert_eq!(seen(speech(MessageFilter::RequestsOnly)).await, [o, x, o, o, x, o, o]);
        let strict = ViewFilter { since: late.since, ..only(&["beta"]) };
        let told = told(&seen_through(&alpha, &system, strict), &system).await;
        assert!(!told.contains(SECRET) && told.contains("of beta"), "{told}");
    });
}

// M-40: what was begun before a time does not exist, continued later or not.
#[test]
fn earlier_turns_do_not_exist() {
    block_on(async {
        let system = memory().await;
        let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
        let early = turn(&beta, SECRET).await;
        let own = turn(&alpha, "own").await;
        leaf(&system, "usr-0", "note").await;
        let since = system.now();
        beta.extend_turn(vec![assistant(&"x".repeat(5_000))]).await.unwrap();
        let more = beta.extend_turn(vec![assistant(SECRET)]).await.unwrap()[0].clone();
        assert_ne!(more, early);
        let late = turn(&beta, "late").await;
        let filter = ViewFilter { since: Some(since), ..ViewFilter::default() };
        let filtered = seen_through(&alpha, &system, filter);
        let told = told(&filtered, &system).await;
        assert!(!told.contains(SECRET), "{told}");
        for index in [&own, &late] {
            assert!(filtered.get_page(index).await.is_ok(), "{index}");
        }
        assert_absent(&filtered, "usr-3").await;
        assert_absent(&filtered, &early.to_string()).await;
        assert_absent(&filtered, &more.to_string()).await;
        let exactly = seen_through(
            &alpha,
            &system,
            ViewFilter { since: Some(late_time(&system, &late).await), ..ViewFilter::default() },
        );
        assert!(exactly.get_page(&late).await.is_ok());
    });
}

async fn late_time(system: &ContextSystem, index: &PageIndex) -> Timestamp {
    system.as_system().reader().page(index).await.unwrap().page.created_at
}

// M-40: pages that are not mounted do not exist, with all below them, in any segment, and no
// move brings them to light.
#[test]
fn pages_that_are_not_mounted_do_not_exist() {
    block_on(async {
        let system = memory().await;
        let own = "agent-alpha";
        add_segment(&system, own, SegmentKind::Custom, Permission::ReadWrite).await;
        leaf(&system, "sys-0", "Prompt").await;
        leaf(&system, "sys-0", SECRET).await;
        apply(&system, new_directory("usr-0", "outer", &[])).await;
        apply(&system, new_directory("usr-1", SECRET, &[])).await;
        leaf(&system, "usr-2", SECRET).await;
        leaf(&system, "usr-1", "beside").await;
        for index in ["usr-1", "usr-2", "usr-3", "usr-4"] {
            apply(&system, Edit::ExpandDetails(page(index))).await;
        }
        let alpha = agent(&system, "alpha");
        let without = [page("usr-2"), page("sys-2")].into();
        let filtered =
            seen_through(&alpha, &system, ViewFilter { without, ..ViewFilter::default() });
        let first = told(&filtered, &system).await;
        assert!(!first.contains(SECRET) && first.contains("text of beside"), "{first}");
        for index in ["usr-2", "usr-3", "sys-2"] {
            assert_absent(&filtered, index).await;
        }
        // Nor does it bring along what it does not see; the system side does.
        let refused = filtered.move_page("usr-1", format!("{own}-0")).await.unwrap_err();
        assert!(matches!(refused, Error::SeenInPart { .. }), "{refused}");
        let (drawer, to) = (page("usr-1"), page(&format!("{own}-0")));
        let moved = apply(&system, Edit::MovePage { page: drawer, to }).await;
        assert_eq!(moved.moved.len(), 4, "{moved:?}");
        let after = told(&filtered, &system).await;
        assert!(!after.contains(SECRET) && after.contains("text of beside"), "{after}");
        let matching = Some(SECRET.to_owned());
        let query = ListQuery { limit: 99, matching, ..ListQuery::default() };
        for seen in system.as_system().reader().list(&query).await.unwrap().items {
            assert_absent(&filtered, &seen.page.index.to_string()).await;
        }
        apply(&system, Edit::Undo { revision: Some(moved.revision) }).await;
        assert!(!told(&filtered, &system).await.contains(SECRET));
        // A segment without its root is not mounted.
        let without = [page("usr-0")].into();
        let none = seen_through(&alpha, &system, ViewFilter { without, ..ViewFilter::default() });
        assert!(none.get_segment(&segment("usr")).is_err());
        assert!(!listed(&none).await.iter().any(|index| index.starts_with("usr")));
    });
}

// M-39: what was moved into one's own segment is judged as it was where it came from.
#[test]
fn moving_unveils_nothing() {
    block_on(async {
        let system = memory().await;
        add_segment(&system, "agent-alpha", SegmentKind::Custom, Permission::ReadWrite).await;
        let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
        beta.add_turn(vec![user("hello"), calls("1", SECRET), returned("1", SECRET)])
            .await
            .unwrap();
        let filtered = seen_through(&alpha, &system, speech(MessageFilter::WithoutTools));
        let edit = Edit::MovePage { page: page("usr-1"), to: page("agent-alpha-0") };
        let moved = apply(&system, edit).await;
        let to = &moved.moved[0].1;
        assert_eq!(filtered.get_messages(to).await.unwrap().len(), 1);
        assert!(!told(&filtered, &system).await.contains(SECRET));
        // What the host writes there is for the agent.
        let segment = segment("agent-alpha");
        let said = vec![user("task"), calls("1", "{}"), returned("1", "given")];
        let task = apply(&system, Edit::AddTurn { segment, messages: said }).await.pages[0].clone();
        assert_eq!(filtered.get_messages(&task).await.unwrap().len(), 3);
    });
}

// M-40: lines of folds and windows sent through another filter tell nothing more than this one
// sees.
#[test]
fn another_filter_tells_nothing_of_before() {
    block_on(async {
        let system = memory().await;
        let (alpha, beta) = (agent(&system, "alpha"), agent(&system, "beta"));
        turn(&beta, "first").await;
        for number in 0..10 {
            turn(&alpha, &format!("{SECRET}{number}")).await;
            turn(&beta, &format!("shared{number}")).await;
        }
        let gamma = agent(&system, "gamma");
        let asked = options("markdown".parse().unwrap()).budget(600);
        let open = gamma.send(&asked).await.unwrap();
        assert!(open.record.fold.is_some() && open.window.body.contains(SECRET));
        let filtered = seen_through(&gamma, &system, only(&["beta"]));
        let told = told(&filtered, &system).await;
        assert!(!told.contains(SECRET), "{told}");
        let again = filtered.sent(&asked, 1).await.unwrap();
        assert!(!again.withheld.is_empty() && !format!("{again:?}").contains(SECRET), "{again:?}");
        let window = filtered.window(&options("markdown".parse().unwrap())).await.unwrap();
        let usr = window.account.segments.iter().find(|it| it.id.as_str() == "usr").unwrap();
        assert_eq!(usr.full_pages + usr.folded_pages, 11, "{}", window.body);
        // And back: all of them are counted again.
        let window = gamma.window(&options("markdown".parse().unwrap())).await.unwrap();
        let usr = window.account.segments.iter().find(|it| it.id.as_str() == "usr").unwrap();
        assert_eq!(usr.full_pages + usr.folded_pages, 21, "{}", window.body);
        assert!(gamma.sent(&asked, 1).await.is_ok());
    });
}

// M-39: a view without a filter is told from none by nothing, and its records say nothing of one.
#[test]
fn an_open_filter_leaves_no_trace() {
    block_on(async {
        let system = memory().await;
        let beta = agent(&system, "beta");
        turn(&beta, "word").await;
        let mounts = Mounts::Listed(vec![segment("usr")]);
        let view = View { mounts, ..View::common(valid("alpha")) };
        let alpha = AgentContext::new(system.clone(), view);
        let sent = alpha.send(&options("openai".parse().unwrap())).await.unwrap();
        let record = serde_json::to_string(&sent.record).unwrap();
        assert!(!record.contains("speech") && !record.contains("filter"), "{record}");
    });
}
