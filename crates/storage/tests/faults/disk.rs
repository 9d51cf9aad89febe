//! A disk that is full, a folder that is read-only, permissions that are withdrawn.
//!
//! Each runs in a child process: on a small file system of its own, mounted where nobody else sees
//! it, with a limit on the size of files, or as a user who is not root. The child's homes lie in the
//! temporary folder it is given.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use contexture_core::{
    ContextSystem, Edit, ErrorKind, NewDetailPage, PageIndex, PageStorage,
    message::detail_text,
    storage::check::{check_session, check_storage},
};
use contexture_storage::{CreateMode, FilesOptions, FilesStorage, Unwritable};
use contexture_testkit::{
    backend::{Backend, Home},
    fixture::{self, page, session_id, valid},
};
use futures::executor::block_on;

use crate::damage::{Files, collect};

use crate::backends;

/// A child's work, by name.
pub(crate) fn child(what: &str, name: &str) {
    let backend = backends::all().into_iter().find(|backend| backend.name() == name);
    let scene = Scene::new(&*backend.expect("the parent knows it"));
    match what {
        "full" => scene.full(Some(&ballast())),
        "limited" => scene.full(None),
        "read-only" => scene.read_only(),
        "permissions" => scene.permissions(),
        other => panic!("'{other}' is no scene"),
    }
}

/// Runs every scene; returns a line that tells what came of it.
pub(crate) fn run(backend: &dyn Backend) -> String {
    let name = backend.name();
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().expect("a path of letters");
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().expect("a path of letters");
    let mounted = |size: &str, what: &str| {
        let mount = format!("mount -t tmpfs -o size={size} none '{place}'");
        let script =
            format!("{mount} && TMPDIR='{place}' exec '{program}' disk-child {what} {name}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        command
    };
    // Writes beyond the limit fail instead of ending the process.
    let script =
        format!("trap '' XFSZ; ulimit -f 1024; exec '{program}' disk-child limited {name}");
    let mut limited = Command::new("bash");
    limited.args(["-c", &script]);
    let mut unprivileged = Command::new("unshare");
    unprivileged.args(["--user", "--map-user=1000", "--map-group=1000", program]);
    unprivileged.args(["disk-child", "permissions", name]);

    let mut told = vec![passed("limited file size", limited)];
    if may_mount() {
        told.push(passed("disk full", mounted("6m", "full")));
        told.push(passed("read-only folder", mounted("16m", "read-only")));
    } else {
        // The limit on files stands for the full disk, permissions for the folder.
        told.push("no file system can be mounted here".to_owned());
    }
    told.push(passed("permissions withdrawn", unprivileged));
    format!("disk: {name}: {}", told.join(", "))
}

fn may_mount() -> bool {
    let script = "mount -t tmpfs -o size=64k none /tmp";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script]);
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn passed(what: &str, mut command: Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.ends_with("ok"), "{what}: {told}\n{complaint}");
    format!("{what} {told}")
}

/// Takes up room that can be given back.
fn ballast() -> std::path::PathBuf {
    let path = std::env::temp_dir().join("ballast");
    fs::write(&path, vec![7; 2 << 20]).unwrap();
    path
}

struct Scene {
    name: &'static str,
    home: Box<dyn Home>,
    pages: std::cell::RefCell<Vec<(PageIndex, String)>>,
}

impl Scene {
    fn new(backend: &dyn Backend) -> Self {
        let home = backend.home();
        drop(block_on(fixture::session(home.open())));
        Self { name: backend.name(), home, pages: std::cell::RefCell::default() }
    }

    /// Appends a page of some kilobytes, and remembers it once it was acknowledged.
    fn append(&self, system: &ContextSystem) -> Result<(), contexture_core::Error> {
        let number = self.pages.borrow().len();
        let mut random = contexture_testkit::random::Random::new(number as u64);
        // It does not compress, so that the disk fills.
        let text: String = (0..2_000).map(|_| format!("{:x} ", random.number())).collect();
        let new = NewDetailPage::new(page("usr-0"), valid("page"), text.clone());
        let made = block_on(system.as_system().apply(Edit::CreateDetailPage(new)))?;
        self.pages.borrow_mut().push((made.pages[0].clone(), text));
        Ok(())
    }

    /// Everything acknowledged is there.
    fn assert_there(&self, storage: &Arc<dyn PageStorage>) {
        let system = block_on(fixture::reopen(storage.clone()));
        for (page, text) in self.pages.borrow().iter() {
            let messages = block_on(system.as_system().reader().messages(page)).unwrap();
            assert!(detail_text(&messages) == *text, "{page} has another text");
        }
    }

    fn assert_sound(&self) {
        let storage = self.home.open();
        self.assert_there(&storage);
        assert_eq!(block_on(check_session(&*storage, &session_id())).unwrap(), [""; 0]);
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    }

    /// Fills the disk. With something to give back it goes on afterwards, without being reopened.
    fn full(&self, ballast: Option<&Path>) {
        let storage = self.home.open();
        let system = block_on(fixture::reopen(storage.clone()));
        let error = loop {
            if let Err(error) = self.append(&system) {
                break error;
            }
            assert!(self.pages.borrow().len() < 2_000, "the disk never fills");
        };
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        // It stays so, and what is there can be read.
        for _ in 0..5 {
            let again = self.append(&system);
            assert!(
                again.is_ok() || again.is_err_and(|error| error.kind() == ErrorKind::Unavailable)
            );
        }
        self.assert_there(&storage);
        let before = self.pages.borrow().len();
        if let Some(ballast) = ballast {
            fs::remove_file(ballast).unwrap();
            self.append(&system).expect("there is room again");
            self.append(&system).expect("there is room again");
        }
        drop((system, storage));
        if ballast.is_some() {
            self.assert_sound();
        } else if let Ok(storage) = self.home.try_open() {
            self.assert_there(&storage);
        }
        println!("after {before} pages ok");
    }

    fn read_only(&self) {
        let storage = self.home.open();
        let system = block_on(fixture::reopen(storage.clone()));
        (0..5).for_each(|_| self.append(&system).unwrap());
        drop((system, storage));
        let remount = |how: &str| {
            let folder = std::env::temp_dir();
            let status = Command::new("mount").args(["-o", how]).arg(folder).status().unwrap();
            assert!(status.success(), "it can be mounted again, {how}");
        };
        remount("remount,ro");
        self.assert_only_read();
        remount("remount,rw");
        self.assert_sound();
        println!("ok");
    }

    /// It cannot be opened, and says so, or it can be read and nothing else.
    fn assert_only_read(&self) {
        if self.name == "files" {
            self.assert_files_are_read();
        }
        match self.home.try_open() {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
            Ok(storage) => {
                self.assert_there(&storage);
                let system = block_on(fixture::reopen(storage));
                let error = self.append(&system).expect_err("nothing can be written");
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            }
        }
    }

    /// A folder of files is opened to be read where that is asked for, and nothing in it changes.
    fn assert_files_are_read(&self) {
        let folder = self.home.folder().expect("it keeps files").join("store");
        let mut before = Files::new();
        collect(&folder, &folder, &mut before);
        let options = FilesOptions {
            create: CreateMode::MustExist,
            unwritable: Unwritable::Read,
            ..FilesOptions::default()
        };
        let storage = Arc::new(FilesStorage::open(&folder, options).unwrap());
        assert_eq!(block_on(check_storage(&*storage)).unwrap(), [""; 0]);
        let read: Arc<dyn PageStorage> = storage.clone();
        self.assert_there(&read);
        let system = block_on(fixture::reopen(read));
        let error = self.append(&system).expect_err("nothing can be written");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        let repair = block_on(storage.repair()).expect_err("nothing can be written");
        assert_eq!(repair.kind(), ErrorKind::Unavailable, "{repair}");
        drop((system, storage));
        let mut after = Files::new();
        collect(&folder, &folder, &mut after);
        assert!(after == before, "nothing was written");
    }

    /// Leaves a folder of files as a crash does: the newest page stands in the journal alone.
    fn assert_journal_is_read(&self) {
        let folder = self.home.folder().expect("it keeps files").join("store");
        let local = |name: &str| folder.join(".local").join(name);
        let storage = self.home.open();
        let system = block_on(fixture::reopen(storage.clone()));
        self.append(&system).unwrap();
        let journal = fs::read(local("journal")).unwrap();
        assert!(!journal.is_empty());
        drop((system, storage));
        let (newest, _) = self.pages.borrow().last().cloned().expect("one was appended");
        fs::write(local("journal"), journal).unwrap();
        fs::remove_file(local("applied")).unwrap();
        fs::remove_file(folder.join(format!("sessions/test/pages/{newest}.json"))).unwrap();
        allow(&folder, 0o555, 0o444);
        self.assert_files_are_read();
        // Without an index, too.
        allow(&folder, 0o755, 0o644);
        fs::remove_file(local("index.db")).unwrap();
        allow(&folder, 0o555, 0o444);
        self.assert_files_are_read();
        allow(&folder, 0o755, 0o644);
        self.assert_sound();
    }

    fn permissions(&self) {
        let folder = self.home.folder().expect("it keeps files");
        if self.name == "files" {
            self.assert_journal_is_read();
        }
        let storage = self.home.open();
        let system = block_on(fixture::reopen(storage.clone()));
        (0..5).for_each(|_| self.append(&system).unwrap());
        // Withdrawn while it is open: what is open may go on, or fail with a clear word.
        allow(&folder, 0o555, 0o444);
        for _ in 0..5 {
            if let Err(error) = self.append(&system) {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            }
        }
        drop((system, storage));
        self.assert_only_read();
        allow(&folder, 0o000, 0o000);
        let error = self.home.try_open().err().expect("nothing can be read");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        allow(&folder, 0o755, 0o644);
        self.assert_sound();
        println!("ok");
    }
}

/// Sets the permissions of a folder and all in it.
fn allow(folder: &Path, folders: u32, files: u32) {
    // Opened before its content is looked at, closed after.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            allow(&path, folders, files);
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(files)).unwrap();
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(folders)).unwrap();
}
