//! Pages as resources: `contexture://SESSION/INDEX`.

use contexture_core::{ErrorKind, ListQuery, PageIndex, PageView};
use rmcp::{
    ErrorData,
    model::{
        CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate,
    },
};
use serde_json::json;

use super::access::{Access, Asked, refusal, tools};
use crate::Host;

const SCHEME: &str = "contexture://";

/// How many pages one answer lists.
const LISTED: usize = 100;

/// The template of every page.
pub(super) const PAGE: &str = "contexture://{session}/{page}";

/// The template of the rest of a long page.
pub(super) const REST: &str = "contexture://{session}/{page}?offset={offset}";

/// Writes the URI of a page.
pub(super) fn uri(session: &str, page: &PageIndex) -> String {
    format!("{SCHEME}{session}/{page}")
}

/// A URI that was read.
struct Address {
    session: String,
    page: String,
    offset: Option<u64>,
}

impl Address {
    fn read(uri: &str) -> Option<Self> {
        let (session, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let (page, offset) = match rest.split_once("?offset=") {
            Some((page, offset)) => (page, Some(offset.parse().ok()?)),
            None => (rest, None),
        };
        let is_plain = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            !text.is_empty() && text.len() <= 200 && text.chars().all(plain)
        };
        (is_plain(session) && is_plain(page)).then(|| Self {
            session: session.to_owned(),
            page: page.to_owned(),
            offset,
        })
    }
}

/// Lists the pages that the caller sees in the session of the connection.
pub(super) async fn list(
    host: &Host,
    access: &Access,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let after: Option<PageIndex> = match cursor.as_deref().map(str::parse).transpose() {
        Ok(after) => after,
        Err(_) => {
            return Err(ErrorData::invalid_params("the cursor is not one of this list", None));
        }
    };
    let session = match access.session(host, &Asked::default()).await {
        Ok(session) => session,
        // A session that nobody has begun has no pages.
        Err(error) if error.class() == ErrorKind::NotFound => {
            return Ok(ListResourcesResult::default());
        }
        Err(error) => return Err(ErrorData::invalid_request(refusal(&error), None)),
    };
    let query = ListQuery { after, limit: LISTED, ..ListQuery::default() };
    let pages = session.list_pages(&query).await;
    let pages = pages.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let last = pages.items.last().map(|view| view.page.index.to_string());
    let resource = |view: &PageView| resource(session.id().as_str(), view);
    let mut result =
        ListResourcesResult::with_all_items(pages.items.iter().map(resource).collect());
    result.next_cursor = last.filter(|_| pages.more);
    Ok(result)
}

fn resource(session: &str, view: &PageView) -> Resource {
    let page = &view.page;
    let mut resource = Resource::new(uri(session, &page.index), page.index.to_string())
        .with_title(page.name.as_str())
        .with_mime_type("text/plain");
    if !page.description.as_str().is_empty() {
        resource = resource.with_description(page.description.as_str());
    }
    resource
}

/// Lists the templates.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = |uri: &str, name: &str, about: &str| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type("text/plain")
    };
    let page = template(PAGE, "page", "A page of a session: its text, level and version");
    let rest = template(REST, "rest", "The rest of a long page, from an offset on");
    ListResourceTemplatesResult::with_all_items(vec![page, rest])
        .with_ttl_ms(3_600_000)
        .with_cache_scope(CacheScope::Public)
}

/// Reads a page. What the caller does not see is missing, like what does not exist.
pub(super) async fn read(
    host: &Host,
    access: &Access,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let missing =
        |why: String| ErrorData::resource_not_found(why, Some(json!({"uri": shown(uri)})));
    let Some(Address { session, page, offset }) = Address::read(uri) else {
        return Err(missing(format!("a resource is written {PAGE}")));
    };
    let asked = Asked { session: Some(session), agent: None };
    let tools = tools(host, access, &asked).await.map_err(|error| missing(refusal(&error)))?;
    let mut arguments = json!({"page": page});
    if let Some(offset) = offset {
        arguments["offset"] = offset.into();
    }
    let output = tools.call("read", arguments).await;
    if output.error {
        return Err(missing(output.text));
    }
    Ok(ReadResourceResult::new(vec![ResourceContents::text(output.text, uri)]))
}

/// Returns as much of a URI as an error repeats.
fn shown(uri: &str) -> String {
    uri.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_strictly() {
        let read = Address::read("contexture://default/usr-3?offset=20").unwrap();
        assert_eq!((&*read.session, &*read.page, read.offset), ("default", "usr-3", Some(20)));
        for wrong in [
            "",
            "contexture://",
            "contexture://a",
            "contexture:///usr-1",
            "contexture://a/../b",
            "contexture://a/usr-1/x",
            "contexture://a/usr-1?offset=x",
            "contexture://a/usr-1#x",
            "contexture://a%2f/usr-1",
            "file:///etc/passwd",
        ] {
            assert!(Address::read(wrong).is_none(), "{wrong}");
        }
    }
}
