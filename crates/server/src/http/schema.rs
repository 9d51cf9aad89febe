//! The document that describes the routes: what they have in common, and the objects they answer with.
//!
//! The objects themselves are those of `contexture_agents::wire`. A test sends every answer it gets through
//! this document, so that the two cannot disagree.

mod objects;

use utoipa::{
    OpenApi, PartialSchema as _, ToSchema as _,
    openapi::{
        OpenApi as Document, Ref, RefOr, Required,
        content::ContentBuilder,
        path::{Operation, ParameterBuilder, ParameterIn, PathItem},
        response::ResponseBuilder,
        schema::{ObjectBuilder, Type},
        security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
    },
};

pub(super) use objects::*;

/// The name of the way to authenticate.
const TOKEN: &str = "token";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Contexture",
        description = "Virtual memory for the context window of LLM agents. Every route works on a session \
                       through the view of whoever the token stands for.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "server", description = "Whether the server works, and what it understands"),
        (name = "sessions", description = "Sessions, for the owner of the store"),
        (name = "custom", description = "The custom state of a session, for the system side"),
        (name = "conversation", description = "The loop of a host that calls the model itself"),
        (name = "window", description = "What the model sees"),
        (name = "search", description = "Finding what was said, and bringing it back"),
        (name = "history", description = "Who did what, taking it back, and following it"),
        (name = "segments", description = "Trees of pages with a permission and a capacity"),
        (name = "tokens", description = "Who else may call, for the owner of the store"),
        (name = "agents", description = "Agents, their runs and approvals, for the system side"),
        (name = "pages", description = "Pages, their tree and their archive"),
    )
)]
struct Base;

/// Returns the document without its routes.
pub(super) fn document() -> Document {
    Base::openapi()
}

/// Adds what all routes have in common: the token, the session, as whom to act, and errors.
pub(super) fn complete(mut document: Document) -> Document {
    document.info.version = env!("CARGO_PKG_VERSION").to_owned();
    let components = document.components.get_or_insert_default();
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.security_schemes.insert(TOKEN.to_owned(), scheme.into());
    components.schemas.insert(Failure::name().into_owned(), Failure::schema());
    components.schemas.insert(FailureCause::name().into_owned(), FailureCause::schema());
    for (path, item) in &mut document.paths.paths {
        for operation in operations(item) {
            complete_operation(path, operation);
        }
    }
    document
}

fn complete_operation(path: &str, operation: &mut Operation) {
    let is_open = operation
        .security
        .as_ref()
        .is_some_and(|it| it.iter().any(|it| *it == SecurityRequirement::default()));
    if !is_open {
        operation.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], &str>(TOKEN, [])]);
    }
    // Handlers of one family have short names; in the document a name stands alone.
    if let (Some(id), Some(tag)) = (&operation.operation_id, operation.tags.iter().flatten().next())
    {
        operation.operation_id = Some(format!("{tag}_{id}"));
    }
    let mut parameters = operation.parameters.take().unwrap_or_default();
    let in_path = names(path).map(|name| parameter(name, ParameterIn::Path, described(name)));
    parameters.splice(0..0, in_path.map(RefOr::T));
    if path.contains("{session}") {
        let about = "As whom the owner acts: an agent, or user:NAME. The header Contexture-As says the same";
        parameters.push(parameter("as", ParameterIn::Query, about).into());
    }
    if !parameters.is_empty() {
        operation.parameters = Some(parameters);
    }
    let failure = ContentBuilder::new()
        .schema(Some(RefOr::Ref(Ref::from_schema_name(Failure::name()))))
        .build();
    let failed = ResponseBuilder::new()
        .description("It was refused or failed, and nothing is half done")
        .content("application/json", failure)
        .build();
    operation.responses.responses.insert("default".to_owned(), failed.into());
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().filter_map(Option::as_mut)
}

/// Returns the names in the template of a path.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| rest.split('}').next())
}

fn described(name: &str) -> &'static str {
    match name {
        "session" => "The session's name",
        "index" => "The page's index, such as usr-3",
        "segment" => "The segment's id, such as usr",
        "agent" => "The agent's name",
        "key" => "The entry's key",
        "token" => "The token's id",
        _ => "Which one",
    }
}

fn parameter(name: &str, place: ParameterIn, about: &str) -> utoipa::openapi::path::Parameter {
    let required = match place {
        ParameterIn::Path => Required::True,
        _ => Required::False,
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .description(Some(about))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}
