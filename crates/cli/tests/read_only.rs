use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Ran, Sandbox};

/// What reads, and must work where nothing can be written.
const READING: &[&[&str]] = &[
    &["window"],
    &["window", "--format", "openai"],
    &["--as", "bob", "window", "--json"],
    &["page", "show", "usr-1"],
    &["page", "list", "--json"],
    &["page", "tree"],
    &["page", "find", "one"],
    &["segment", "list"],
    &["session", "list"],
    &["history"],
    &["export"],
    &["store", "check"],
];

const WRITING: &[&[&str]] = &[&["page", "remove", "usr-1"], &["turn", "add", "--user", "Hi"]];

/// A folder that may only be read by the one who runs the program: root may write anything, so the
/// program is run as nobody then.
struct ReadOnly<'a> {
    sandbox: &'a Sandbox,
    program: PathBuf,
}

impl<'a> ReadOnly<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let program = sandbox.path().join("contexture");
        fs::copy(assert_cmd::cargo::cargo_bin!("contexture"), &program).unwrap();
        set_mode(&program, 0o755);
        set_mode(sandbox.path(), 0o755);
        for file in files(sandbox) {
            set_mode(&file, 0o444);
        }
        set_mode(sandbox.database().parent().unwrap(), 0o555);
        Self { sandbox, program }
    }

    fn run(&self, args: &[&str]) -> Ran {
        run_as_nobody(&self.program, self.sandbox.path(), args)
    }
}

fn run_as_nobody(program: &Path, folder: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(program);
    command.env_clear().current_dir(folder).args(args);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    // Another test's child holds the copy open for writing until it has become another program.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            output => break output.unwrap(),
        }
    };
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        set_mode(self.sandbox.database().parent().unwrap(), 0o755);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = fs::read_dir(sandbox.database().parent().unwrap()).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    // The search index is a folder beside the store.
    let mut files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Runs everything that reads and something that writes; nothing may change.
fn assert_readable(sandbox: &Sandbox, expected: &[String]) {
    let names = files(sandbox);
    let bytes: Vec<Vec<u8>> = names.iter().map(|file| fs::read(file).unwrap()).collect();
    let folder = ReadOnly::new(sandbox);
    for (args, expected) in READING.iter().zip(expected) {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}: {}", ran.out);
        assert_eq!(&ran.out, expected, "{args:?}");
    }
    for args in WRITING {
        let refused = folder.run(&[args, &["--json"][..]].concat()).into_refusal(args);
        assert_eq!(refused.0, "unavailable", "{}", refused.1);
    }
    assert_eq!(files(sandbox), names);
    for (name, bytes) in names.iter().zip(bytes) {
        assert!(fs::read(name).unwrap() == bytes, "{} was written", name.display());
    }
}

/// Returns a folder that was used, with what the commands print that read it.
fn used() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_pages();
    let printed = |args: &&[&str]| sandbox.text(args);
    let printed = READING.iter().map(printed).collect();
    (sandbox, printed)
}

/// Returns a folder as a crash leaves it: the newest page is in the log alone.
fn crashed() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_pages();
    // As long as somebody has the store open, the log is not emptied.
    let open = sandbox.meddle();
    let count = || open.query_row("SELECT count(*) FROM pages", [], |row| row.get::<_, i64>(0));
    let before = count().unwrap();
    sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "Late", "--detail", "two"]);
    assert_eq!(count().unwrap(), before + 1);
    let printed = READING.iter().map(|args| sandbox.text(args)).collect();
    let kept: Vec<(PathBuf, Vec<u8>)> =
        files(&sandbox).into_iter().map(|file| (file.clone(), fs::read(&file).unwrap())).collect();
    drop(open);
    kept.into_iter().for_each(|(file, bytes)| fs::write(file, bytes).unwrap());
    let log = sandbox.database().with_file_name("contexture.db-wal");
    assert!(log.metadata().unwrap().len() > 0);
    (sandbox, printed)
}

#[test]
fn a_store_that_may_only_be_read_is_read() {
    let (sandbox, expected) = used();
    assert_readable(&sandbox, &expected);
}

#[test]
fn a_store_that_crashed_is_read_where_nothing_can_be_written() {
    let (sandbox, expected) = crashed();
    assert_readable(&sandbox, &expected);
}

#[test]
fn a_log_without_its_index_is_read_where_nothing_can_be_written() {
    let (sandbox, expected) = crashed();
    fs::remove_file(sandbox.database().with_file_name("contexture.db-shm")).unwrap();
    assert_readable(&sandbox, &expected);
}

#[test]
fn a_store_that_another_writes_is_read_without_the_right_to_write() {
    let (sandbox, _) = used();
    let open = sandbox.meddle();
    open.query_row("SELECT count(*) FROM pages", [], |_| Ok(())).unwrap();
    let folder = ReadOnly::new(&sandbox);
    let before = folder.run(&["page", "list"]);
    assert_eq!((before.code, before.err.as_str()), (0, ""));
    sandbox.run(&["page", "create", "--parent", "usr-0", "--name", "Late", "--detail", "two"]);
    let after = folder.run(&["page", "list"]);
    assert_eq!((after.code, after.err.as_str()), (0, ""));
    let may_write = fs::metadata("/proc/self").unwrap().uid() == 0;
    assert_eq!(after.out.contains("Late"), may_write, "{}", after.out);
}

/// Sets the permissions of everything in a folder.
fn allow(folder: &Path, folders: u32, files: u32) {
    set_mode(folder, 0o755);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            allow(&path, folders, files);
        } else {
            set_mode(&path, files);
        }
    }
    set_mode(folder, folders);
}

// With its index, and as git brings it to another machine.
#[test]
fn a_folder_of_files_that_may_only_be_read_is_read() {
    for cloned in [false, true] {
        let sandbox = Sandbox::empty();
        let in_files = |args: &[&'static str]| [&["--store", "files:ctx"], args].concat();
        sandbox.json(&in_files(&["init"]));
        let page = ["page", "create", "--parent", "usr-0", "--name", "Note", "--detail", "one"];
        sandbox.json(&in_files(&page));
        sandbox.json(&in_files(&["turn", "add", "--user", "Hello"]));
        let expected: Vec<String> =
            READING.iter().map(|args| sandbox.text(&in_files(args))).collect();
        let folder = sandbox.path().join("ctx");
        if cloned {
            fs::remove_dir_all(folder.join(".local")).unwrap();
        }
        let before = sandbox.files();
        allow(&folder, 0o555, 0o444);
        let program = sandbox.path().join("contexture");
        fs::copy(assert_cmd::cargo::cargo_bin!("contexture"), &program).unwrap();
        set_mode(&program, 0o755);
        set_mode(sandbox.path(), 0o755);
        let run = |args: &[&str]| run_as_nobody(&program, sandbox.path(), args);
        for (args, expected) in READING.iter().zip(&expected) {
            let ran = run(&in_files(args));
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}: {}", ran.out);
            assert_eq!(&ran.out, expected, "{args:?}");
        }
        for args in WRITING {
            let refused = run(&[&in_files(args)[..], &["--json"]].concat()).into_refusal(args);
            assert_eq!(refused.0, "unavailable", "{}", refused.1);
        }
        fs::remove_file(&program).unwrap();
        assert_eq!(sandbox.files(), before);
        allow(&folder, 0o755, 0o644);
    }
}
