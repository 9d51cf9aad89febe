//! Open exchanges: stored, there after a crash, shown, answered and closed.

use std::sync::Arc;

use contexture_core::{Message, PageStorage, ProviderFormat, Session, window::validate_body};

use crate::{
    backend::Home,
    fixture::{agent, calls, page, reopen, returned, session, user, valid},
    window::options,
};

async fn body(session: &Session, format: ProviderFormat) -> String {
    let asked = options(contexture_core::Format::Provider(format));
    let window = session.window(&asked).await.expect("it can be shown");
    let body = serde_json::from_str(&window.body).expect("it is JSON");
    validate_body(format, &body).unwrap_or_else(|broken| panic!("{format}: {broken}"));
    window.body
}

async fn open(session: &Session) -> Vec<String> {
    let seen = session.get_page("usr-1").await.expect("it is there");
    seen.page.detail().expect("it is a leaf").open.clone()
}

/// Opens the storage again, as after a crash: nothing was told that the process would end.
async fn again(home: &dyn Home) -> (Arc<dyn PageStorage>, Session) {
    let storage = home.open();
    let system = reopen(storage.clone()).await;
    (storage, agent(&system, "helper").into())
}

pub(super) async fn open_exchanges_outlive_the_process(home: Arc<dyn Home>) {
    for results in [0, 2] {
        let storage = home.open();
        let id = crate::fixture::session_id();
        storage.remove_session(&id).await.expect("it can be removed");
        let system = session(storage.clone()).await;
        let helper: Session = agent(&system, "helper").into();
        let ids = ["a", "b", "c"];
        let parts = ids.iter().flat_map(|id| calls(id, "{}").parts).collect();
        let asked = vec![user("three calls"), Message { parts, ..calls("a", "{}") }];
        let opening = helper.keyed(valid("opening"));
        let pages = opening.open_exchange(asked.clone()).await.expect("it may");
        for id in ids.iter().rev().take(results) {
            let result = vec![returned(id, &format!("result of {id}"))];
            helper.add_results(result).await.expect("the call is open");
        }
        drop((system, helper, storage));

        let (storage, helper) = again(&*home).await;
        let left = &ids[..ids.len() - results];
        assert_eq!(open(&helper).await, left);
        helper.add_turn(vec![user("too early")]).await.expect_err("calls are open");
        assert_eq!(helper.keyed(valid("opening")).open_exchange(asked).await.expect("once"), pages);
        for format in ProviderFormat::ALL {
            let shown = body(&helper, format).await;
            assert_eq!(shown.matches("no result yet").count(), left.len(), "{format}");
            assert_eq!(shown.matches("result of ").count(), results, "{format}");
        }
        helper.close_exchange().await.expect("it is open");
        drop((helper, storage));

        let (storage, helper) = again(&*home).await;
        assert_eq!(open(&helper).await, [""; 0]);
        let shown = body(&helper, ProviderFormat::Anthropic).await;
        assert_eq!(shown.matches("interrupted").count(), left.len());
        let custom = storage.custom(&id).await.expect("reads");
        assert_eq!(custom, [], "nothing of it is left");
        let next = helper.add_turn(vec![user("next")]).await.expect("nothing is open");
        assert_eq!(next, [page("usr-2")]);
    }
}
