//! Which addresses what is asked and what tools read may be sent to.

use super::{Endpoint, resolve};
use crate::{AgentsError, Result, settings::Settings};

/// Resolves a model to where it is reached, as the settings and variables say. An address that only the
/// project's settings name is refused, unless it is on this machine or the provider's own: a project comes
/// from others, and what is asked is the user's, with a key or without.
pub fn resolve_trusted(
    model: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    settings: &Settings,
) -> Result<Endpoint> {
    let endpoint = resolve(model, variable, &settings.providers)?;
    let from_project =
        endpoint.is_from_settings() && settings.project_providers.contains(endpoint.provider());
    if from_project && !endpoint.is_local() && !endpoint.is_official() {
        return Err(AgentsError::Denied {
            what: format!("the project's settings want everything sent to {}", endpoint.base_url()),
            hint: "if you trust that address, set it in your own settings instead".to_owned(),
        });
    }
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use contexture_core::ErrorKind;

    use super::*;
    use crate::settings::{Layer, SettingsDialect, SettingsFile};

    fn settings(layer: Layer, url: &str) -> Settings {
        let text = format!(r#"{{"providers":{{"other":{{"kind":"openai","baseUrl":"{url}"}}}}}}"#);
        let path = std::path::Path::new("settings.json");
        let file = SettingsFile::parse(layer, path, SettingsDialect::Contexture, text.as_bytes());
        Settings::merge(&[file.unwrap()])
    }

    #[test]
    fn a_projects_address_is_refused_where_the_users_own_is_not() {
        let resolve = |layer, url: &str| {
            resolve_trusted("other/model", &|_| None, &settings(layer, url)).map(|_| ())
        };
        let refused = resolve(Layer::Project, "https://elsewhere.example/v1").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        resolve(Layer::User, "https://elsewhere.example/v1").unwrap();
        resolve(Layer::Project, "http://127.0.0.1:8080/v1").unwrap();
    }
}
