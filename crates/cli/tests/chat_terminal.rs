use std::fs;

use contexture_testkit::provider::{Protocol, Reply};

use crate::{agent_support::PROTOCOLS, chat_support::Room};

// Ctrl-C stops the answer and keeps what there is; the chat goes on.
#[test]
fn an_answer_that_is_stopped_is_kept() {
    for protocol in PROTOCOLS {
        let long = "The first words of an answer that never ends, and many more";
        let room =
            Room::new(protocol, [Reply::text(long).hang_after(8), Reply::text("I was stopped.")]);
        let mut chat = room.chat(&[]);
        chat.enter("Tell me everything.");
        chat.expect("The first");
        chat.keys("\u{3}");
        chat.expect("stopped; everything so far is kept");
        room.server.wait_for_closed(1);
        chat.enter("/window");
        chat.expect("Tell me everything.");
        chat.expect("The first");
        chat.enter("What happened?");
        chat.expect("I was stopped.");
        chat.expect(" · window ");
        chat.enter("/quit");
        assert_eq!(chat.end(), 0);
        let second = room.requests().pop().unwrap();
        assert!(second.contains("The first"), "{second}");
        assert!(!second.contains("many more"));
    }
}

// Ctrl-C at the prompt clears the line; the second leaves. Ctrl-D leaves.
#[test]
fn the_prompt_is_left_with_ctrl_c_twice_or_ctrl_d() {
    let room = Room::new(Protocol::OpenAi, []);
    let mut chat = room.chat(&[]);
    chat.expect("> ");
    chat.keys("half a line");
    chat.expect("half a line");
    chat.keys("\u{3}");
    chat.expect("press Ctrl-C again or Ctrl-D to quit");
    // A line in between begins the count anew.
    chat.enter("/find nothing");
    chat.expect("> ");
    chat.keys("\u{3}");
    chat.expect("press Ctrl-C again or Ctrl-D to quit");
    chat.expect("> ");
    chat.keys("\u{3}");
    assert_eq!(chat.end(), 0);

    let mut chat = room.chat(&[]);
    chat.expect("> ");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), 0);
    assert_eq!(room.requests().len(), 0);
}

#[test]
fn agents_commands_and_pages_are_completed() {
    let room = Room::new(Protocol::OpenAi, [Reply::text("reviewed"), Reply::text("fine")]);
    let mut chat = room.chat(&[]);
    chat.expect("> ");
    chat.keys("@cod\t");
    chat.expect("@code-reviewer ");
    chat.keys("--sh\t");
    chat.expect("--shared ");
    chat.keys("look\r");
    chat.expect("reviewed");
    chat.expect(" · window ");
    chat.expect("> ");
    chat.keys("/hid\t");
    chat.expect("/hide ");
    chat.keys("usr-1\t\r");
    chat.expect("usr-1");
    for (keys, whole) in [("/unp\t", "/unpin "), ("/fol\t--b\t", "/fold --budget ")] {
        chat.expect("> ");
        chat.keys(keys);
        chat.expect(whole);
        chat.keys("\u{3}");
        chat.expect("Ctrl-C again");
        chat.enter("/find nothing");
    }
    chat.expect("> ");
    chat.keys("/pin \tusr-1\t\r");
    chat.expect("pinned");
    chat.enter("/agents context --a\t");
    chat.expect("code-reviewer");
    chat.enter("/quit");
    assert_eq!(chat.end(), 0);
    let request = room.requests().pop().unwrap();
    assert!(request.contains("look\""), "{request}");
}

// What a model says must not act on the terminal, also where its pieces cut an escape sequence.
#[test]
fn escape_sequences_of_a_model_do_not_reach_the_terminal() {
    for protocol in PROTOCOLS {
        let evil = "a\u{1b}]0;owned\u{7}b\u{1b}[2Jc\u{9b}31md\u{202e}e\rf\tg\nh";
        let room = Room::new(
            protocol,
            [
                Reply::text(evil).tool_call("call_1", "read_file", r#"{"path":"x\u001b[2J"}"#),
                Reply::text("done"),
            ],
        );
        // Cut anywhere, one byte at a time.
        let room = Room { server: room.server.chunked(&[1]), ..room };
        let mut chat = room.chat(&[]);
        chat.enter("go");
        chat.expect("a␛]0;owned␇b␛[2Jc\\u{9b}31md\\u{202e}e␍f\tg\r\nh");
        chat.expect("→ read_file x␛[2J");
        chat.expect("done");
        chat.expect(" · window ");
        chat.enter("/window");
        chat.expect("Actions:");
        chat.enter("/quit");
        assert_eq!(chat.end(), 0);
        let shown = chat.text();
        for escape in ["\u{1b}]", "\u{1b}[2J", "\u{7}", "\u{9b}", "\u{202e}"] {
            assert!(!shown.contains(escape), "{escape:?}");
        }
        assert_eq!(room.requests().len(), 2);
    }
}

// Lines are remembered for the next chat, in a file that only its owner reads.
#[test]
fn lines_are_remembered() {
    let room = Room::new(Protocol::OpenAi, []);
    let mut chat = room.chat(&[]);
    chat.enter("/find first\\");
    chat.expect("… ");
    chat.keys("second\r");
    chat.enter("/quit");
    assert_eq!(chat.end(), 0);
    let history = room.sandbox.path().join("home/state/contexture/history");
    assert_eq!(fs::read_to_string(&history).unwrap(), "#V2\n/find first\\nsecond\n/quit\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let mut chat = room.chat(&[]);
    chat.expect("> ");
    // Up, to the last line of the chat before.
    chat.keys("\u{1b}[A");
    chat.expect("/quit");
    chat.keys("\r");
    assert_eq!(chat.end(), 0);
}

// --ask: the person at the terminal decides before a tool changes anything.
#[test]
fn changes_are_asked_for() {
    let write = |id: &str| {
        let arguments = format!(r#"{{"path":"{id}.txt","content":"new"}}"#);
        Reply::call(id, "write_file", &arguments)
    };
    let room = Room::new(Protocol::OpenAi, [write("one"), write("two"), Reply::text("done")]);
    let mut chat = room.chat(&["--ask"]);
    chat.enter("write");
    chat.expect("write_file one.txt: creates a new file of 3 bytes");
    chat.expect("allow this call? [y/N] (? shows all of it)");
    chat.keys("?\r");
    chat.expect("    | new");
    chat.expect("allow this call? [y/N]");
    chat.keys("n\r");
    chat.expect("✗ write_file: permission denied");
    chat.expect("two.txt");
    chat.expect("y/N");
    chat.keys("y\r");
    chat.expect("done");
    chat.enter("/quit");
    assert_eq!(chat.end(), 0);
    assert!(!room.sandbox.path().join("one.txt").exists());
    assert_eq!(fs::read_to_string(room.sandbox.path().join("two.txt")).unwrap(), "new");
}
