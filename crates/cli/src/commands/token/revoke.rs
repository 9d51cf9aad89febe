//! `contexture token revoke`

use contexture_server::{TokenId, Tokens};

use crate::{
    commands::Status,
    error::{Result, Stop},
    printer::Printer,
    sanitize,
};

/// Revoke a token: every server refuses it from its next request on
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture token create --agent fixer \\
    && contexture token revoke \"$(contexture token list | cut -d ' ' -f 1)\"")]
pub(crate) struct Args {
    /// The token's id, which is its second part: ctx_ID_SECRET
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) async fn run(args: Args, tokens: &Tokens, printer: &mut Printer<'_>) -> Result<Status> {
    let id: TokenId = args.id.parse().map_err(|reason| {
        let message = format!("invalid id '{}': {reason}", sanitize::line(&args.id));
        Stop::invalid(message, "`contexture token list` shows the ids")
    })?;
    let revoked = tokens.revoke(&id).await?;
    if printer.is_json() {
        printer.json(&revoked)?;
        return Ok(Status::Done);
    }
    printer.line(format_args!("revoked: {}", super::line(printer.paint(), &revoked)))?;
    Ok(Status::Done)
}
