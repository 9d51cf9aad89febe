//! A server's program: spoken to on its standard input and output.

use std::{future::Future, io, process::Stdio, time::Duration};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::narrow::Narrowed;
use crate::tools::program::{ProcessGroup, own_group};

/// How long a program may take to end when its input has ended.
const LEAVE: Duration = Duration::from_secs(3);

/// A program that runs. It is killed when this is dropped, with all processes it started: a server is
/// often started by another program, such as `npx` or a shell.
pub(super) struct Program {
    group: ProcessGroup,
    child: Child,
    lines: AsyncRwTransport<RoleClient, Narrowed<ChildStdout>, ChildStdin>,
}

impl Program {
    /// Starts a program; returns it with what it writes to its standard error.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, Option<ChildStderr>)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        own_group(&mut command);
        // The end of the runtime drops what the connection's own end would have closed.
        let mut child = command.spawn()?;
        let group = ProcessGroup::of(&child);
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("its input and output are not ours"));
        };
        let errors = child.stderr.take();
        let lines = AsyncRwTransport::new_client(Narrowed::new(output), input);
        Ok((Self { group, child, lines }, errors))
    }
}

impl Transport<RoleClient> for Program {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.lines.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.lines.receive()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.lines.close().await?;
        let ended = tokio::time::timeout(LEAVE, self.child.wait()).await;
        // Also what it left behind.
        self.group.end();
        match ended {
            Ok(ended) => ended.map(drop),
            Err(_) => self.child.kill().await,
        }
    }
}
