//! `contexture token …`

mod create;
mod list;
mod revoke;

use clap::Subcommand;
use contexture_server::{TokenObject, Tokens};

use super::Status;
use crate::{
    context, error::Result, lines, printer::Paint, printer::Printer, sanitize, settings::Settings,
};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Create(create::Args),
    List(list::Args),
    Revoke(revoke::Args),
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let (system, _) = context::open_host(settings).await?;
    match command {
        Command::Create(args) => create::run(args, system, printer).await,
        Command::List(args) => list::run(args, &Tokens::of(system), printer).await,
        Command::Revoke(args) => revoke::run(args, &Tokens::of(system), printer).await,
    }
}

/// Returns the line of a token, which shows nothing of its secret.
fn line(paint: Paint, token: &TokenObject) -> String {
    let lasts = match token.expires_at {
        None => "until revoked".to_owned(),
        Some(at) if token.expired => format!("expired {}", lines::time(at)),
        Some(at) => format!("until {}", lines::time(at)),
    };
    lines::join([
        paint.id(&token.id),
        token.holder.to_string(),
        paint.dim(lasts),
        sanitize::line(&token.label),
    ])
}
