//! `contexture token create`

use contexture_agents::Team;
use contexture_core::{Actor, AgentName, ContextSystem, UserName};
use contexture_server::{Lifetime, NewToken, Tokens};

use crate::{commands::Status, error::Result, printer::Printer, project::Project};

/// Create a token for one agent or one user of this session, and print it
///
/// Requests to `contexture serve` carry it. An agent's token gives the agent's own view and permissions in this
/// session, as its file says; a server that does not find the file refuses the token. An agent without a file sees
/// every segment but other agents'. A user's token gives the system side of this session, and the user's name
/// stands in the history. The token is shown only here: the store keeps a hash of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture token create --agent fixer --expires 30d
  contexture token create --user alice --label laptop")]
#[command(group = clap::ArgGroup::new("holder").required(true))]
pub(crate) struct Args {
    /// The agent that the token is for
    #[arg(id = "for_agent", long = "agent", value_name = "NAME", group = "holder")]
    agent: Option<AgentName>,
    /// The user that the token is for
    #[arg(long, value_name = "NAME", group = "holder")]
    user: Option<UserName>,
    /// How long it is valid, such as 90m, 12h, 30d or 8w; by default until it is revoked
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    expires: Option<u64>,
    /// What you call it
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
}

pub(crate) async fn run(
    args: Args,
    system: ContextSystem,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if let Some(agent) = &args.agent
        && Project::load()?.catalog.definition(agent)?.is_some()
    {
        // The token is used where the file may not be found: then it must be refused, not see more.
        Team::new(system.clone()).note_file(agent).await?;
    }
    let user = args.user.map(Actor::User);
    let Some(holder) = args.agent.map(Actor::Agent).or(user) else {
        return Ok(Status::NotOk);
    };
    let lifetime = args.expires.map_or(Lifetime::UntilRevoked, Lifetime::Seconds);
    let made = Tokens::of(system).create(NewToken { holder, label: args.label, lifetime }).await?;
    if printer.is_json() {
        printer.json(&made)?;
        return Ok(Status::Done);
    }
    printer.line(made.token.as_deref().unwrap_or_default())?;
    let id = &made.id;
    printer.note(&format!("it is not shown again; `contexture token revoke {id}` revokes it"))?;
    Ok(Status::Done)
}

/// Reads how long a token is valid.
fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "use a number with s, m, h, d or w, such as 30d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let count: u64 = text.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    match count.checked_mul(seconds) {
        None | Some(0) => Err(wrong()),
        Some(seconds) => Ok(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_read() {
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("2w"), Ok(14 * 24 * 60 * 60));
        for wrong in ["", "30", "d", "0d", "-1d", "3y", "99999999999999999999d", "é"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
