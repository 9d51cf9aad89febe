//! A way to a server that can be cut after so many bytes.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// Which bytes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

#[derive(Default)]
struct ProxyState {
    /// After how many bytes in which direction the next cut comes.
    cut: Option<(Direction, usize)>,
    /// How many bytes went each way since it was last set.
    passed: [usize; 2],
    /// Whether nobody is let through any more.
    closed: bool,
    /// Whether cutting also closes.
    for_good: bool,
}

/// Listens on loopback and passes on to a server.
pub(crate) struct Proxy {
    state: Arc<Mutex<ProxyState>>,
    port: u16,
}

impl Proxy {
    /// Puts a proxy before the server of a URL; returns the URL through it.
    pub(crate) fn before(url: &str) -> (Self, String) {
        let address = url.split("://").nth(1).unwrap();
        let address = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
        let server = address.split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(ProxyState::default()));
        let (shared, to) = (state.clone(), server.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.lock().unwrap().closed {
                    continue;
                }
                let server = TcpStream::connect(&to).unwrap();
                for (from, to, direction) in [
                    (&client, &server, Direction::ToServer),
                    (&server, &client, Direction::ToClient),
                ] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let state = shared.clone();
                    thread::spawn(move || pass(from, to, direction, &state));
                }
            }
        });
        let through = url.replace(&server, &format!("127.0.0.1:{port}"));
        (Self { state, port }, through)
    }

    /// Cuts the connection on which the nth byte from now on would pass, before it does.
    pub(crate) fn cut_after(&self, direction: Direction, bytes: usize) {
        let mut state = self.state.lock().unwrap();
        state.cut = Some((direction, bytes));
        state.passed = [0, 0];
    }

    /// Lets nobody through any more once it has cut.
    pub(crate) fn for_good(&self) {
        self.state.lock().unwrap().for_good = true;
    }

    /// Lets everything through again; tells how many bytes passed, and whether a cut is still to come.
    pub(crate) fn calm(&self) -> ([usize; 2], bool) {
        let mut state = self.state.lock().unwrap();
        state.closed = false;
        state.for_good = false;
        let waits = state.cut.take().is_some();
        (state.passed, waits)
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({})", self.port)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, direction: Direction, state: &Mutex<ProxyState>) {
    let mut bytes = [0; 16_384];
    loop {
        let count = from.read(&mut bytes).unwrap_or(0);
        let mut upto = count;
        {
            let mut state = state.lock().unwrap();
            let passed = &mut state.passed[direction as usize];
            let before = *passed;
            *passed += count;
            if let Some((cut, at)) = state.cut
                && cut == direction
                && count > 0
                && before + count > at
            {
                upto = at - before;
                state.cut = None;
                state.closed = state.for_good;
            }
        }
        let written = to.write_all(&bytes[..upto]);
        if count == 0 || upto < count || written.is_err() {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
    }
}
