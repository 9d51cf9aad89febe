//! Tests of which endpoint texts may go to.

use std::path::Path;

use contexture_core::ErrorKind;

use super::*;
use crate::settings::{Layer, SettingsDialect, SettingsFile};

fn file(layer: Layer, text: &str) -> SettingsFile {
    let path = Path::new("settings.json");
    SettingsFile::parse(layer, path, SettingsDialect::Contexture, text.as_bytes()).unwrap()
}

fn resolved(files: &[(Layer, &str)]) -> Result<Option<String>> {
    let files: Vec<SettingsFile> = files.iter().map(|(layer, text)| file(*layer, text)).collect();
    let variable =
        |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-a-real-looking-key".to_owned());
    let endpoint = resolve_embeddings(&variable, &Settings::merge(&files))?;
    Ok(endpoint.map(|endpoint| format!("{} {}", endpoint.name(), endpoint.base_url())))
}

const OPENAI: &str = r#"{"search":{"embeddings":{"model":"openai/text-embedding-3-small"}}}"#;
const ELSEWHERE: &str = r#"{"search":{"embeddings":{"model":"other/e"}},
    "providers":{"other":{"baseUrl":"https://elsewhere.example/v1"}}}"#;
const HERE: &str = r#"{"search":{"embeddings":{"model":"other/e"}},
    "providers":{"other":{"baseUrl":"http://127.0.0.1:8080/v1/embeddings"}}}"#;

#[test]
fn nothing_is_sent_where_nothing_is_set() {
    assert_eq!(resolved(&[]).unwrap(), None);
    assert_eq!(resolved(&[(Layer::User, r#"{"search":{"embeddings":false}}"#)]).unwrap(), None);
}

#[test]
fn a_user_may_send_texts_anywhere_and_a_project_only_to_this_machine() {
    let openai = "openai/text-embedding-3-small https://api.openai.com/v1";
    assert_eq!(resolved(&[(Layer::User, OPENAI)]).unwrap().unwrap(), openai);
    assert_eq!(
        resolved(&[(Layer::User, ELSEWHERE)]).unwrap().unwrap(),
        "other/e https://elsewhere.example/v1"
    );
    assert_eq!(
        resolved(&[(Layer::Project, HERE)]).unwrap().unwrap(),
        "other/e http://127.0.0.1:8080/v1"
    );
    // Not even to the official address, whose key the user has set for other things.
    for refused in [OPENAI, ELSEWHERE] {
        let error = resolved(&[(Layer::Project, refused)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
    // The user's model at an address that the project gives.
    let model = r#"{"search":{"embeddings":{"model":"other/e"}}}"#;
    let address = r#"{"providers":{"other":{"baseUrl":"https://elsewhere.example/v1"}}}"#;
    let error = resolved(&[(Layer::Project, address), (Layer::User, model)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn what_the_user_says_goes_before_what_the_project_says() {
    let both = resolved(&[(Layer::Project, HERE), (Layer::User, OPENAI)]).unwrap();
    assert!(both.unwrap().starts_with("openai/"));
    let off = (Layer::User, r#"{"search":{"embeddings":false}}"#);
    assert_eq!(resolved(&[(Layer::Project, HERE), off]).unwrap(), None);
}

#[test]
fn slips_in_the_settings_are_errors() {
    let path = Path::new("settings.json");
    for slip in [
        r#"{"search":1}"#,
        r#"{"search":{"embedding":{}}}"#,
        r#"{"search":{"embeddings":true}}"#,
        r#"{"search":{"embeddings":{}}}"#,
        r#"{"search":{"embeddings":{"model":" "}}}"#,
        r#"{"search":{"embeddings":{"model":"openai/x","url":"x"}}}"#,
    ] {
        let read =
            SettingsFile::parse(Layer::User, path, SettingsDialect::Contexture, slip.as_bytes());
        assert_eq!(read.unwrap_err().kind(), ErrorKind::Invalid, "{slip}");
    }
    let gemini = r#"{"search":{"embeddings":{"model":"gemini/text-embedding-004"}},
        "providers":{"gemini":{"baseUrl":"http://127.0.0.1:1"}}}"#;
    assert_eq!(resolved(&[(Layer::User, gemini)]).unwrap_err().kind(), ErrorKind::Invalid);
}
