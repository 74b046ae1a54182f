//! Faults 11–15 end to end: a watch, an index that follows it, and in the end the answer of a search from scratch.
#![allow(clippy::print_stdout, reason = "the long run says what it has done")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use dupi::SkipReason;
use dupi::index::Index;
use dupi::watch::{Event, Mode, Watch};
use dupi_tests::answers::{self, difference, refresh, small};
use tempfile::TempDir;

/// Long enough for any machine; no test waits for it unless it fails.
const LONG: Duration = Duration::from_secs(120);

struct Watched {
    folder: TempDir,
    root: PathBuf,
    events: Receiver<Event>,
    watch: Watch,
    index: Index,
    n_walks: usize,
    n_events: usize,
}

fn watched(index_folder: &str, before: impl FnOnce(&Path)) -> Watched {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("work")).expect("a folder");
    let root = folder.path().join("work").canonicalize().expect("a folder");
    before(&root);
    let (sender, events) = mpsc::channel();
    let index_folder = root.join(index_folder);
    let workspace = answers::workspace(&root, small());
    let send = move |event| sender.send(event).unwrap_or_default();
    let watch = Watch::start(&root, small(), vec![index_folder.clone()], send);
    let mut index = answers::open(&index_folder, &workspace);
    refresh(&mut index);
    Watched { folder, root, events, watch, index, n_walks: 0, n_events: 0 }
}

impl Watched {
    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, seed: usize) {
        self.put(name, &text(seed));
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        fs::write(self.path(name), text).expect("a file");
    }

    /// Writes a file, and waits for the event that tells of it: events come in order, so whatever happened before is among
    /// those that are returned.
    fn events_until(&self, name: &str, seed: usize) -> Vec<Event> {
        self.write(name, seed);
        let path = self.path(name);
        let mut events = Vec::new();
        loop {
            let event = self.events.recv_timeout(LONG).expect("an event");
            let is_last = event == Event::Rescan || matches!(&event, Event::Changed(paths) if paths.contains(&path));
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    fn take(&mut self, event: Event) {
        self.n_events += 1;
        match event {
            Event::Changed(paths) => drop(self.index.refresh_within(&paths).expect("a folder")),
            Event::Rescan => {
                self.n_walks += 1;
                refresh(&mut self.index);
            }
        }
        let report = self.index.report(&small()).expect("an answer");
        let empty: Vec<_> = report.skipped.iter().filter(|skip| skip.reason == SkipReason::Empty).collect();
        assert!(empty.is_empty(), "the middle of a save was taken: {empty:?}");
    }

    /// Follows all events until the index is right, and it stays so.
    fn settles(&mut self, what: &str) {
        let start = Instant::now();
        let mut wrong = Some("nothing came".to_owned());
        while wrong.is_some() {
            assert!(start.elapsed() < LONG, "{what}: {}", wrong.unwrap_or_default());
            match self.events.recv_timeout(Duration::from_millis(500)) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => wrong = difference(&mut self.index),
                Err(RecvTimeoutError::Disconnected) => panic!("{what}: the watch ended"),
            }
        }
        assert!(self.index.verify().problems.is_empty(), "{what}");
    }
}

fn text(seed: usize) -> String {
    let body = |i: usize| {
        format!(
            "    total = {i}\n    for row in rows:\n        if row.kind > {i}:\n            total += row.price * {i}\n        else:\n            g(row, total)\n    return total\n"
        )
    };
    format!("def f{seed}(rows):\n{}\ndef g{seed}(rows):\n{}", body(seed % 50), body(seed % 7 + 100))
}

fn checkout(n_files: usize) {
    let mut watched = watched("../index", |_| ());
    assert_eq!(watched.watch.mode(), Mode::Native);
    // Few of them have copies: thousands of copies of one function would make the comparison slow, not the index.
    let content = |i: usize| if i.is_multiple_of(20) { text(i / 20) } else { format!("x{i} = {i}\n") };
    let names: Vec<String> = (0..n_files).map(|i| format!("d{}/e{}/{i}.py", i % 40, i % 11)).collect();
    names.iter().enumerate().for_each(|(i, name)| watched.put(name, &content(i)));
    watched.settles("checked out");
    println!("{n_files} files came in {} events, {} of them walks", watched.n_events, watched.n_walks);
    assert!(watched.n_events < n_files / 10, "one by one");
    // Another branch: some change, some go, some come.
    for (i, name) in names.iter().enumerate() {
        match i % 5 {
            0 => fs::remove_file(watched.path(name)).expect("removed"),
            1 | 2 => watched.put(name, &content(i + 1)),
            _ => {}
        }
    }
    watched.settles("another branch");
    fs::remove_dir_all(watched.path("d1")).expect("removed");
    watched.settles("a folder gone");
    assert!(watched.index.is_committed());
}

#[test]
fn fault_11_a_checkout_of_thousands_of_files_ends_as_a_fresh_index() {
    checkout(2_000);
}

#[test]
#[ignore = "long"]
fn fault_11_a_checkout_of_twenty_thousand_files_ends_as_a_fresh_index() {
    checkout(20_000);
}

#[test]
fn fault_12_polling_ends_as_a_fresh_index() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("work")).expect("a folder");
    let root = folder.path().join("work").canonicalize().expect("a folder");
    let (sender, events) = mpsc::channel();
    let send = move |event| sender.send(event).unwrap_or_default();
    let why = "asked for by a test".to_owned();
    let watch = Watch::polling(&root, small(), Vec::new(), why.clone(), Duration::from_millis(200), send);
    assert_eq!(watch.mode(), Mode::Polling { why });
    let mut index = answers::open(&folder.path().join("index"), &answers::workspace(&root, small()));
    refresh(&mut index);
    let mut watched = Watched { folder, root, events, watch, index, n_walks: 0, n_events: 0 };
    for i in 0..20 {
        watched.write(&format!("{i}.py"), i);
    }
    watched.settles("came");
    watched.write("3.py", 30);
    fs::remove_file(watched.path("4.py")).expect("removed");
    watched.settles("changed");
}

#[test]
fn fault_13_every_way_to_save_and_to_move_ends_as_a_fresh_index() {
    let mut watched = watched("../index", |root| {
        for i in 0..6 {
            fs::create_dir_all(root.join("src")).expect("a folder");
            fs::write(root.join(format!("src/{i}.py")), text(i)).expect("a file");
        }
    });
    let file = watched.path("src/1.py");

    let draft = watched.path("src/.1.py.swp");
    fs::write(&draft, text(2)).expect("a file");
    fs::rename(&draft, &file).expect("renamed");
    watched.settles("an atomic save");

    fs::rename(&file, watched.path("src/1.py~")).expect("renamed");
    fs::write(&file, text(3)).expect("a file");
    watched.settles("a backup, then a new file");
    fs::remove_file(watched.path("src/1.py~")).expect("removed");

    let truncated = fs::File::create(&file).expect("a file");
    std::thread::sleep(Duration::from_millis(60));
    std::io::Write::write_all(&mut &truncated, text(4).as_bytes()).expect("written");
    drop(truncated);
    watched.settles("truncated, then written");

    fs::rename(watched.path("src/2.py"), watched.path("src/2.PY")).expect("renamed");
    fs::rename(watched.path("src/3.py"), watched.path("src/Three.py")).expect("renamed");
    fs::rename(watched.path("src/Three.py"), watched.path("src/three.py")).expect("renamed");
    watched.settles("letters changed case");

    let outside = watched.folder.path().join("outside");
    fs::rename(watched.path("src"), &outside).expect("renamed");
    watched.settles("a folder moved out");
    assert!(watched.index.report(&small()).expect("an answer").files.is_empty());
    fs::rename(&outside, watched.path("lib")).expect("renamed");
    watched.settles("a folder moved in");
    fs::write(watched.path("lib/1.py"), text(5)).expect("a file");
    watched.settles("a change in a folder that was moved in");

    fs::hard_link(watched.path("lib/1.py"), watched.path("lib/linked.py")).expect("a link");
    watched.settles("a hard link");
    fs::write(watched.path("lib/linked.py"), text(6)).expect("a file");
    fs::write(watched.path("lib/new.py"), text(6)).expect("a file");
    // No system tells of the other name of a file; a walk finds it.
    refresh(&mut watched.index);
    watched.settles("a change through a hard link");
}

#[test]
fn fault_14_membership_follows_ignore_files_and_the_index_does_not_watch_itself() {
    for index_folder in ["../index", ".cache/index", "cache"] {
        let mut watched = watched(index_folder, |root| {
            for i in 0..6 {
                fs::create_dir_all(root.join("src")).expect("a folder");
                fs::write(root.join(format!("src/{i}.py")), text(i)).expect("a file");
            }
        });
        fs::write(watched.path(".ignore"), "src/1.py\n").expect("a file");
        watched.settles("ignored");
        fs::write(watched.path("src/.ignore"), "2.py\n!1.py\n").expect("a file");
        watched.settles("ignored further below");
        fs::remove_file(watched.path(".ignore")).expect("removed");
        fs::remove_file(watched.path("src/.ignore")).expect("removed");
        watched.settles("no longer ignored");
        watched.write("src/0.py", 20);
        watched.settles("changed");
        watched.events_until("src/0.py", 21);
        refresh(&mut watched.index);
        let before = watched.index.stats().generation;
        watched.index.report(&small()).expect("an answer");
        std::thread::sleep(Duration::from_millis(2_100)); // nothing is racy any more
        refresh(&mut watched.index);
        let changes = refresh(&mut watched.index);
        assert!(!changes.any() && changes.touched == 0, "{index_folder}: {changes:?}");
        assert!(watched.index.stats().generation <= before + 1, "{index_folder}: it goes on writing");
        let told = watched.events_until("src/0.py", 22);
        let only = Event::Changed(vec![watched.path("src/0.py")]);
        assert!(told.iter().all(|event| *event == only), "{index_folder}: {told:?}");
    }
}

#[cfg(unix)]
#[test]
fn fault_15_loops_links_pipes_and_locked_folders_are_passed_by() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mut watched = watched("../index", |root| {
        fs::create_dir_all(root.join("src")).expect("a folder");
        fs::write(root.join("src/a.py"), text(1)).expect("a file");
    });
    symlink("..", watched.path("src/loop")).expect("a link");
    symlink("/etc", watched.path("outside")).expect("a link");
    symlink("src/a.py", watched.path("again.py")).expect("a link");
    symlink("nowhere", watched.path("broken.py")).expect("a link");
    let piped = Command::new("mkfifo").arg(watched.path("pipe.py")).status();
    assert!(piped.is_ok_and(|status| status.success()));
    let _socket = std::os::unix::net::UnixListener::bind(watched.path("socket.py")).expect("a socket");
    watched.write("locked/b.py", 2);
    fs::set_permissions(watched.path("locked"), PermissionsExt::from_mode(0o000)).expect("a mode");
    watched.write("src/c.py", 1);
    watched.settles("links and pipes");
    fs::remove_file(watched.path("src/c.py")).expect("removed");
    symlink("a.py", watched.path("src/c.py")).expect("a link");
    watched.settles("a file that became a link");
    fs::set_permissions(watched.path("locked"), PermissionsExt::from_mode(0o700)).expect("a mode");
    refresh(&mut watched.index);
    assert!(difference(&mut watched.index).is_none());
}

#[cfg(unix)]
use std::process::Command;
