//! Shares of windows in runs: whose word holds, and that it is used.

use std::path::Path;

use contexture_agents::{
    settings::{Layer, SettingsDialect, SettingsFile},
    shares::{Share, ShareSettings},
};
use contexture_testkit::provider::{ProviderServer, Reply};

use super::*;

fn set(share: Share, value: &str) -> ShareSettings {
    let mut shares = ShareSettings::default();
    shares.set(share, share.read(value).unwrap());
    shares
}

fn settings(part: &str) -> Settings {
    let text = format!(r#"{{"window":{{"shares":{{"part":{part}}}}}}}"#);
    let path = Path::new("settings.json");
    let dialect = SettingsDialect::Contexture;
    let file = SettingsFile::parse(Layer::User, path, dialect, text.as_bytes()).unwrap();
    Settings::merge(&[file])
}

/// Tells whether a long answer stands whole in the request after it.
async fn stands_whole(settings: Settings, file: ShareSettings, call: ShareSettings) -> bool {
    let system = memory().await;
    let runner = runner_with(&system, settings);
    let long = "many words about the weather ".repeat(200);
    let server = ProviderServer::scripted([Reply::text(&long), Reply::text("Fine.")]);
    let mut agent = agent("chatty", ContextMode::Isolated);
    agent.shares = file;
    let mut job = job(&agent, model(&server, MODELS[0]));
    job.options.budget = Some(10_000);
    job.options.shares = call;
    execute(&runner, &job, "tell me").await;
    execute(&runner, &job, "and now?").await;
    server.requests()[1].json().to_string().contains(long.trim())
}

#[tokio::test]
async fn the_call_goes_before_the_file_and_the_file_before_the_settings() {
    let none = ShareSettings::default;
    let (small, large) = (set(Share::Part, "0.01"), set(Share::Part, "0.5"));
    assert!(stands_whole(settings("0.5"), none(), none()).await);
    assert!(!stands_whole(settings("0.01"), none(), none()).await);
    assert!(stands_whole(settings("0.01"), large.clone(), none()).await);
    assert!(!stands_whole(settings("0.5"), small.clone(), none()).await);
    assert!(stands_whole(settings("0.01"), small.clone(), large.clone()).await);
    assert!(!stands_whole(settings("0.5"), large, small).await);
}

#[tokio::test]
async fn shares_that_contradict_each_other_run_nothing() {
    let system = memory().await;
    let runner = runner(&system);
    let server = ProviderServer::scripted([]);
    let mut agent = agent("chatty", ContextMode::Isolated);
    agent.shares = set(Share::LowWater, "0.5");
    let mut job = job(&agent, model(&server, MODELS[0]));
    job.options.shares = set(Share::HighWater, "0.4");
    let (_stopper, stop) = stop_signal();
    let refused = runner.execute(&job, "tell me", &mut Quiet, stop).await.unwrap_err();
    assert!(refused.to_string().starts_with("lowWater is set to 0.5 by "), "{refused}");
    assert_eq!(server.requests().len(), 0);
    assert!(runner.team().members().is_empty());
}
