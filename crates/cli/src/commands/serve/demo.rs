//! The session of the tour, served: a store of its own, and lines to paste.

use super::ServingObject;
use crate::{commands::tour, error::Result, settings::Settings, store::StoreUrl};

/// Makes a store that holds the session of the tour.
pub(super) fn prepare() -> Result<StoreUrl> {
    tour::stored()?.parse()
}

/// Returns what to try, as lines to paste into a shell.
pub(super) fn lines(serving: &ServingObject, settings: &Settings) -> Vec<String> {
    let ServingObject { url, token_file, .. } = serving;
    let file = token_file.as_deref().unwrap_or_default();
    let session = format!("{url}/v1/sessions/{}", settings.session);
    let json = "-H 'content-type: application/json'";
    vec![
        String::new(),
        "Try, in another terminal:".to_owned(),
        format!("  AUTH=\"authorization: Bearer $(cat '{file}')\""),
        format!("  curl -s -H \"$AUTH\" '{session}/window?as=fixer'"),
        format!("  curl -s -H \"$AUTH\" '{session}/find?q=why+does+the+empty+line+fail'"),
        format!(
            "  curl -s -H \"$AUTH\" {json} '{session}/append' -d '{{\"messages\":[{{\"role\":\"user\",\"content\":\"And now?\"}}]}}'"
        ),
        format!(
            "  curl -s -H \"$AUTH\" {json} '{session}/window' -d '{{\"format\":\"anthropic\",\"budget\":1000}}'"
        ),
        format!("  curl -s -N -H \"$AUTH\" '{session}/events'"),
    ]
}
