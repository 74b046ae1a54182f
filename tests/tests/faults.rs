//! What must not hurt the index: each test proves one of the faults of the list, by its number.
//!
//! In all of them the answer is that of a search from scratch, and the index is whole again when the fault is over.
#![allow(clippy::print_stdout, reason = "what cannot be tried on this machine is told")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use dupi::index::{Index, MIN_MEMORY, Workspace};
use dupi::manifest::{NAME, VERSION};
use dupi::segment;
use dupi::store::faulty::{Fault, Faulty};
use dupi::store::{Folder, Memory, Store};
use dupi_tests::answers::{self, assert_right, committed, difference, orphans, refresh, small, told};
use dupi_tests::history::quick_folder;
use fastrand::Rng;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// A workspace of small programs that share functions, and the folder of its index.
struct Scene {
    folder: TempDir,
    workspace: Workspace,
    n_written: AtomicU64,
}

impl Scene {
    fn new(n_files: usize) -> Scene {
        let folder = quick_folder();
        fs::create_dir(folder.path().join("work")).expect("a folder");
        let workspace = answers::workspace(&folder.path().join("work"), small());
        let scene = Scene { folder, workspace, n_written: AtomicU64::new(0) };
        (0..n_files).for_each(|i| scene.write(&format!("{i}.go"), i as u32));
        scene
    }

    /// An index of so many commits of a file each, not merged yet.
    fn of_commits(n: u32) -> (Scene, Index) {
        let scene = Scene::new(0);
        let mut index = scene.open();
        for i in 0..n {
            scene.write(&format!("{i}.go"), i);
            refresh(&mut index);
        }
        (scene, index)
    }

    fn root(&self) -> &Path {
        &self.workspace.root
    }

    fn index_folder(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    /// A program whose functions are drawn by a number: those of neighbours are alike.
    fn write(&self, name: &str, seed: u32) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, program(seed)).expect("a file");
        // What looks new is read again at every refresh, and written again with what is.
        let age = Duration::from_secs(1_000_000 - self.n_written.fetch_add(1, Ordering::Relaxed));
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(SystemTime::now() - age).expect("a time");
    }

    fn open(&self) -> Index {
        answers::open(&self.index_folder(), &self.workspace)
    }

    fn open_on(&self, store: Arc<dyn Store>) -> Index {
        Index::open(store, self.workspace.clone(), MIN_MEMORY)
    }

    /// An index of several segments, written, with its answer.
    fn build(&self) -> Index {
        let mut index = self.open();
        refresh(&mut index);
        assert_right(&mut index, "built");
        assert!(index.is_committed());
        index
    }

    /// Files of the index that end so.
    fn files(&self, end: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.index_folder()).expect("a folder").flatten().map(|entry| entry.path());
        entries.filter(|path| path.to_string_lossy().ends_with(end)).collect()
    }

    /// Name and bytes of all files of the index but the lock.
    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.files("").into_iter().filter(|path| !path.ends_with("lock"));
        files.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
    }

    fn victim(&self, what: &str) -> Command {
        let mut victim = Command::new(env!("CARGO_BIN_EXE_victim"));
        victim.arg(what).arg(self.index_folder()).arg(self.root());
        victim
    }
}

fn program(seed: u32) -> String {
    let function = |i: u32| {
        format!(
            "func f{i}(rows []int, limit int) int {{\n\ttotal := {i}\n\tfor _, row := range rows {{\n\t\tif row > limit + {i} {{\n\t\t\ttotal += row * {}\n\t\t}} else {{\n\t\t\tg{}(row, total)\n\t\t}}\n\t}}\n\treturn total - limit\n}}\n",
            i % 7,
            i % 3,
        )
    };
    format!("package p\n{}{}{}", function(seed), function(seed / 2 + 100), function(seed % 5 + 200))
}

fn succeeded(output: &Output) -> bool {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
    output.status.success()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

// ---- 1, 2: killed, and crashed

/// An index of nine commits, not merged yet, with its files changed since; and what is current before and after.
fn about_to_change() -> (Scene, [BTreeMap<String, u64>; 2]) {
    let (scene, mut index) = Scene::of_commits(9);
    told(&mut index);
    drop(index);
    let old = committed(&scene.index_folder(), scene.root()).expect("a commit");
    change(&scene, 50);
    let new = on_disk(&scene);
    (scene, [old, new])
}

fn change(scene: &Scene, seed: u32) {
    scene.write("1.go", seed);
    scene.write(&format!("new{seed}.go"), seed + 1);
    let _ = fs::remove_file(scene.root().join("2.go"));
}

fn on_disk(scene: &Scene) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(scene.root()).expect("a folder").flatten();
    entries
        .map(|entry| {
            let content = dupi::freshness::content(&fs::read(entry.path()).expect("a file"));
            (entry.file_name().to_string_lossy().into_owned(), content)
        })
        .collect()
}

impl Scene {
    /// After a crash: the old commit or the new one; then one more process leaves nothing behind and answers right.
    fn assert_recovers(&self, allowed: &[BTreeMap<String, u64>], what: &str) -> usize {
        let found = committed(&self.index_folder(), self.root()).unwrap_or_else(|| panic!("{what}: no commit"));
        let which = allowed.iter().position(|state| *state == found);
        let which = which.unwrap_or_else(|| panic!("{what}: {found:?} is none of {allowed:?}"));
        let mut index = self.open();
        assert_eq!(orphans(&self.index_folder()), [""; 0], "{what}");
        assert_eq!(index.verify().problems, [""; 0], "{what}");
        assert!(index.is_writer(), "{what}: the dead hold no lock");
        refresh(&mut index);
        told(&mut index);
        assert_right(&mut index, what);
        assert!(index.is_committed(), "{what}");
        assert_eq!(index.troubles(), [""; 0], "{what}");
        which
    }
}

#[test]
fn fault_01_a_process_killed_at_any_operation_leaves_the_old_commit_or_the_new() {
    let mut seen = [0; 2];
    for at in 0.. {
        let (scene, states) = about_to_change();
        let output = scene.victim("build").arg(at.to_string()).output().expect("it runs");
        seen[scene.assert_recovers(&states, &format!("killed at {at}"))] += 1;
        if succeeded(&output) {
            assert!(at > 15, "a refresh, a merge and an answer are more than {at} operations");
            break;
        }
    }
    assert!(seen.iter().all(|&n| n > 3), "{seen:?}");
}

#[test]
#[ignore = "long: tests/run calls it with fewer cases"]
fn fault_01_a_thousand_processes_killed_at_random_leave_the_old_commit_or_the_new() {
    let (scene, _) = about_to_change();
    let mut rng = Rng::with_seed(number("DUPI_SEED").unwrap_or(1));
    let mut states = vec![committed(&scene.index_folder(), scene.root()).expect("a commit")];
    let (mut n_kills, mut seen) = (0, [0; 2]);
    let wanted = number("DUPI_CASES").unwrap_or(1_000) as usize;
    for round in 0.. {
        if n_kills >= wanted {
            break;
        }
        let seed = rng.u32(0..1_000);
        scene.write(&format!("{}.go", seed % 12), seed);
        let _ = fs::remove_file(scene.root().join(format!("{}.go", rng.u32(0..12))));
        states.truncate(1);
        states.push(on_disk(&scene));
        let mut victim = scene.victim("build");
        let what = if rng.bool() {
            let at = rng.u64(0..20);
            victim.arg(at.to_string());
            n_kills += usize::from(!succeeded(&victim.output().expect("it runs")));
            format!("round {round}, killed at {at}")
        } else {
            let after = Duration::from_micros(rng.u64(0..15_000));
            let mut child = victim.stderr(Stdio::null()).spawn().expect("it runs");
            std::thread::sleep(after);
            let running = child.try_wait().expect("a child").is_none();
            child.kill().expect("it can be killed");
            child.wait().expect("a child");
            n_kills += usize::from(running);
            format!("round {round}, killed after {after:?}")
        };
        seen[scene.assert_recovers(&states, &what)] += 1;
        states[0] = on_disk(&scene);
    }
    println!("{n_kills} kills left the old commit {} times and the new one {} times", seen[0], seen[1]);
}

#[test]
fn fault_02_a_crash_that_drops_what_was_not_synced_leaves_the_old_commit_or_the_new() {
    crashes(false, 3, |scene, states, what| {
        scene.assert_recovers(states, what);
    });
}

/// A disk that lies about its syncs may lose a commit; that is seen, and made good.
#[test]
fn fault_02_cut_tails_of_unsynced_files_are_seen_and_made_good() {
    crashes(true, 3, |scene, _, what| {
        let mut index = scene.open();
        refresh(&mut index);
        assert_right(&mut index, what);
        assert!(index.is_committed() && index.verify().problems.is_empty(), "{what}");
        assert_eq!(orphans(&scene.index_folder()), [""; 0], "{what}");
    });
}

fn crashes(torn: bool, n_seeds: u64, check: impl Fn(&Scene, &[BTreeMap<String, u64>], &str)) {
    for seed in 0..n_seeds {
        for at in 0.. {
            let (scene, states) = about_to_change();
            let inner = Arc::new(Folder::create(scene.index_folder()).expect("a folder"));
            let store = Arc::new(Faulty::new(inner, Fault::Crash { at, torn }, seed));
            let mut index = scene.open_on(Arc::clone(&store) as Arc<dyn Store>);
            refresh(&mut index);
            let what = format!("crashed at {at}, seed {seed}");
            assert_right(&mut index, &what);
            index.merge();
            assert_right(&mut index, &what);
            drop(index);
            check(&scene, &states, &what);
            if !store.crashed() {
                break;
            }
        }
    }
}

// ---- 3, 4: damaged, older, newer

fn damaged(stride: usize) {
    let (scene, mut index) = Scene::of_commits(3);
    told(&mut index);
    drop(index);
    let n_bytes: usize = scene.bytes().values().map(Vec::len).sum();
    let mut victim = Command::new("sh");
    let limited = "ulimit -v 1048576 && exec \"$0\" \"$@\"";
    victim.args(["-c", limited, env!("CARGO_BIN_EXE_victim"), "damage"]);
    victim.arg(scene.index_folder()).arg(scene.root()).arg(stride.to_string()).env("RAYON_NUM_THREADS", "2");
    let output = victim.output().expect("it runs");
    assert!(succeeded(&output), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{} of an index of {n_bytes} bytes", String::from_utf8_lossy(&output.stdout).trim());
}

#[test]
fn fault_03_some_bytes_flipped_and_some_prefixes_cut_are_made_good() {
    damaged(23);
}

#[test]
#[ignore = "long"]
fn fault_03_every_byte_flipped_and_every_prefix_cut_is_made_good() {
    damaged(1);
}

/// Changes the version of a manifest, and its checksum with it.
fn manifest_of_version(bytes: &[u8], version: u32) -> Vec<u8> {
    let mut bytes = bytes[..bytes.len() - 8].to_vec();
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    let checksum = xxh3_64(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

#[test]
fn fault_04_a_newer_manifest_is_left_alone_and_an_older_one_is_made_anew() {
    let scene = Scene::new(5);
    drop(scene.build());
    let path = scene.index_folder().join(NAME);
    let written = fs::read(&path).expect("a manifest");
    fs::write(&path, manifest_of_version(&written, VERSION + 1)).expect("a file");
    let before = scene.bytes();
    let mut index = scene.open();
    for round in 0..3 {
        scene.write("0.go", 70 + round);
        refresh(&mut index);
        assert_right(&mut index, "newer");
        index.merge();
        assert!(!index.is_writer() && !index.is_committed());
    }
    assert_eq!(index.troubles().len(), 1);
    drop(index);
    assert!(before == scene.bytes(), "a newer index is left alone");

    for older in [manifest_of_version(&written, VERSION - 1), b"#!/bin/sh\n".repeat(9), Vec::new()] {
        fs::write(&path, older).expect("a file");
        let mut index = scene.build();
        assert_eq!(index.troubles().len(), 1);
        assert_eq!(orphans(&scene.index_folder()), [""; 0]);
        assert!(scene.open().troubles().is_empty());
    }
}

#[test]
fn fault_04_a_newer_segment_is_left_alone_and_one_with_a_wrong_magic_is_made_anew() {
    let scene = Scene::new(5);
    drop(scene.build());
    let path = scene.files(".seg").pop().expect("a segment");
    let written = fs::read(&path).expect("a segment");
    let mut newer = written.clone();
    for at in [8, newer.len() - 12] {
        newer[at..at + 4].copy_from_slice(&(segment::VERSION + 1).to_le_bytes());
    }
    fs::write(&path, &newer).expect("a file");
    let before = scene.bytes();
    let mut index = scene.open();
    scene.write("0.go", 70);
    refresh(&mut index);
    assert_right(&mut index, "newer");
    assert_eq!(index.troubles().len(), 1);
    drop(index);
    assert!(before == scene.bytes(), "a newer index is left alone");

    for at in [0, 8, written.len() - 1] {
        let mut wrong = written.clone();
        wrong[at] ^= 0x20;
        fs::write(&path, &wrong).expect("a file");
        let index = scene.build();
        assert_eq!(index.verify().problems, [""; 0]);
        drop(index);
        assert!(scene.open().is_committed());
        let path = scene.files(".seg").pop().expect("a segment");
        fs::write(path, &written).ok();
    }
}

// ---- 5: no place to write

/// While the fault lasts memory answers and one word is said; after it the index is on disk.
fn without_a_place(scene: &Scene, index: &mut Index, end: impl FnOnce()) {
    let n_committed = while_places_go(scene, index, end);
    assert_eq!(n_committed, 0);
}

/// The same where some commits may still find room. How many did?
fn while_places_go(scene: &Scene, index: &mut Index, end: impl FnOnce()) -> usize {
    let mut n_committed = 0;
    for round in 0..4 {
        scene.write(&format!("{round}.go"), 30 + round);
        refresh(index);
        assert_right(index, "while nothing can be written");
        index.merge();
        n_committed += usize::from(index.is_committed());
    }
    let troubles = index.troubles();
    assert!(troubles.len() == 1 || n_committed > 0, "{troubles:?}");
    end();
    refresh(index);
    assert!(index.is_committed(), "{:?}", index.troubles());
    assert_right(index, "afterwards");
    assert_eq!(index.verify().problems, [""; 0]);
    let files = committed(&scene.index_folder(), scene.root()).expect("a commit");
    assert_eq!(files, on_disk(scene));
    assert_eq!(orphans(&scene.index_folder()), [""; 0]);
    n_committed
}

#[test]
fn fault_05_a_disk_that_is_full_or_read_only_costs_nothing_but_one_word() {
    let mut n_committed = Vec::new();
    let full = |after: u64| Fault::DiskFull { after };
    for fault in (0..8_000).step_by(397).map(full).chain([Fault::ReadOnly]) {
        for from_the_start in [true, false] {
            let scene = Scene::new(6);
            let inner = Arc::new(Folder::create(scene.index_folder()).expect("a folder"));
            let store = Arc::new(Faulty::new(inner, if from_the_start { fault } else { Fault::None }, 0));
            let mut index = scene.open_on(Arc::clone(&store) as Arc<dyn Store>);
            refresh(&mut index);
            // A process that has the lock of a folder that turns read-only keeps it.
            store.set(fault);
            n_committed.push(while_places_go(&scene, &mut index, || store.set(Fault::None)));
        }
    }
    assert!([0, 1, 2].iter().all(|n| n_committed.contains(n)), "full at various times: {n_committed:?}");
}

/// A real file system that is too small. Only those who may mount can try.
#[cfg(target_os = "linux")]
#[test]
fn fault_05_a_real_full_disk_costs_nothing_but_one_word() {
    let scene = Scene::new(6);
    fs::create_dir(scene.index_folder()).expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(scene.index_folder())
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("not tried: a small file system cannot be mounted here");
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let ballast = scene.index_folder().join("ballast");
        let mut index = scene.open();
        // All the room there is.
        let mut file = fs::File::create(&ballast).expect("a file");
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
        without_a_place(&scene, &mut index, || {
            drop(file);
            fs::remove_file(&ballast).expect("removed");
        });
    });
    let unmounted = Command::new("umount").arg("-l").arg(scene.index_folder()).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[cfg(unix)]
#[test]
fn fault_05_a_folder_without_the_right_to_write_costs_nothing_but_one_word() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new(6);
    let folder = scene.index_folder();
    let mut index = scene.open();
    let mode = |mode: u32| fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).expect("a mode");
    mode(0o500);
    if fs::write(folder.join("probe"), "").is_ok() {
        println!("not tried: root may write everywhere");
        return mode(0o700);
    }
    without_a_place(&scene, &mut index, || mode(0o700));
}

#[test]
fn fault_05_an_index_folder_removed_while_it_is_used_is_written_again() {
    let scene = Scene::new(6);
    let mut index = scene.build();
    for round in 0..3 {
        fs::remove_dir_all(scene.index_folder()).expect("removed");
        assert_right(&mut index, "before anything is noticed");
        if round > 0 {
            scene.write("1.go", 40 + round);
        }
        if round == 2 {
            // Somebody else makes it anew.
            fs::create_dir(scene.index_folder()).expect("a folder");
        }
        refresh(&mut index);
        assert_right(&mut index, "without its folder");
        refresh(&mut index);
        assert!(index.is_committed());
        assert_eq!(committed(&scene.index_folder(), scene.root()), Some(on_disk(&scene)), "{round}");
    }
    // A file in its place cannot be helped.
    fs::remove_dir_all(scene.index_folder()).expect("removed");
    fs::write(scene.index_folder(), "").expect("a file");
    index.troubles();
    for round in 0..3 {
        scene.write("2.go", 60 + round);
        refresh(&mut index);
        assert_right(&mut index, "without a folder");
    }
    assert_eq!(index.troubles().len(), 1);
    fs::remove_file(scene.index_folder()).expect("removed");
    refresh(&mut index);
    assert!(index.is_committed());
    assert_eq!(committed(&scene.index_folder(), scene.root()), Some(on_disk(&scene)));
}

// ---- 6, 7: two processes

struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn holder(scene: &Scene) -> Holder {
    let mut child = scene.victim("hold").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line.trim(), "ready");
    Holder(child)
}

#[test]
fn fault_06_a_second_process_answers_under_the_first_and_takes_over_when_it_is_killed() {
    let scene = Scene::new(6);
    let first = holder(&scene);
    let mut second = scene.open();
    assert!(!second.is_writer());
    let before = scene.bytes();
    for round in 0..3 {
        scene.write(&format!("{round}.go"), 80 + round);
        fs::remove_file(scene.root().join("5.go")).ok();
        refresh(&mut second);
        assert_right(&mut second, "while the first writes");
        second.merge();
        second.set_buffer(&scene.root().join("4.go"), program(80).as_bytes());
        second.drop_buffer(&scene.root().join("4.go"));
        assert_right(&mut second, "with what only it knows");
    }
    assert!(!second.is_writer() && before == scene.bytes(), "only one writes");
    drop(first);
    // Only one path is named; what the second alone knew must not be forgotten.
    second.refresh_within(&[scene.root().join("0.go")]).expect("a folder");
    assert!(second.is_writer() && second.is_committed(), "{:?}", second.troubles());
    assert_right(&mut second, "after it took over");
    assert_eq!(committed(&scene.index_folder(), scene.root()), Some(on_disk(&scene)));
}

#[test]
fn fault_07_a_stale_lock_file_locks_nothing() {
    let scene = Scene::new(3);
    fs::create_dir(scene.index_folder()).expect("a folder");
    fs::write(scene.index_folder().join("lock"), "4711 elsewhere\n").expect("a file");
    let index = scene.build();
    assert!(index.is_writer());
    drop(index);
    let killed = holder(&scene);
    drop(killed);
    assert!(scene.open().is_writer());
}

// ---- 8, 9, 10: mapped files and merges

#[cfg(unix)]
#[test]
fn fault_08_a_mapped_segment_that_is_unlinked_goes_on_answering() {
    let scene = Scene::new(6);
    let mut index = scene.build();
    scene.files(".seg").iter().for_each(|path| fs::remove_file(path).expect("removed"));
    assert_right(&mut index, "unlinked");
    assert_eq!(index.verify().problems, [""; 0]);
    scene.write("1.go", 90);
    refresh(&mut index);
    assert_right(&mut index, "unlinked and changed");
    assert_eq!(committed(&scene.index_folder(), scene.root()), Some(on_disk(&scene)), "written again");
}

/// In processes of their own: touching a page behind the end of a file kills, and the rest of a page reads as zeroes.
/// What remains is a cut while something is asked.
#[cfg(unix)]
#[test]
fn fault_08_whatever_is_asked_after_a_mapped_segment_was_cut_is_answered_right() {
    let scene = Scene::new(9);
    let all_but_a_byte = u64::MAX;
    for ask in ["refresh", "report", "clones", "snapshot", "merge", "verify", "stats", "buffer", "touched"] {
        for length in [0, 5, all_but_a_byte] {
            fs::remove_dir_all(scene.index_folder()).ok();
            let output = scene.victim("cut").args([&length.to_string(), ask]).output().expect("it runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(succeeded(&output), "{ask} after a cut to {length}: {:?} {stderr}", output.status);
            assert_right(&mut scene.open_and_refresh(), ask);
        }
    }
}

impl Scene {
    fn open_and_refresh(&self) -> Index {
        let mut index = self.open();
        refresh(&mut index);
        index
    }
}

#[test]
fn fault_09_without_mapping_the_answers_are_the_same() {
    let scene = Scene::new(6);
    drop(scene.build());
    let store = Arc::new(Folder::with_plain_reads(scene.index_folder()).expect("a folder"));
    let mut index = scene.open_on(Arc::clone(&store) as Arc<dyn Store>);
    assert!(index.is_committed() && store.plain_reads());
    for round in 0..10 {
        scene.write(&format!("{round}.go"), 20 + round);
        refresh(&mut index);
        index.merge();
        assert_right(&mut index, "read, not mapped");
        assert_eq!(index.verify().problems, [""; 0]);
    }
    drop(index);
    assert!(scene.open().is_committed());
}

#[test]
fn fault_10_a_merge_that_fails_changes_nothing() {
    let (scene, mut index) = Scene::of_commits(9);
    let before = scene.bytes();
    let merge = index.plan_merge().expect("a full tier");
    // Zeroes of the same length behind the map: every block fails to decode.
    let segment = scene.files(".seg").pop().expect("a segment");
    let written = fs::read(&segment).expect("a file");
    fs::write(&segment, vec![0; written.len()]).expect("a file");
    let merged = merge.run();
    fs::write(&segment, &written).expect("a file");
    assert!(merged.is_none(), "what cannot be read is not merged");
    assert!(before == scene.bytes());
    assert_right(&mut index, "after a merge that failed");
    index.merge();
    assert!(index.stats().segments < 9);
    assert_right(&mut index, "after one that did not");
}

#[test]
fn fault_10_a_snapshot_that_is_held_across_a_merge_goes_on_answering() {
    let scene = Scene::new(0);
    let mut index = scene.open();
    for i in 0..9 {
        scene.write(&format!("{i}.go"), i);
        scene.write(&format!("more{i}.go"), i + 20);
        refresh(&mut index);
    }
    let held = index.snapshot();
    let settings = scene.workspace.settings.clone();
    let clones = |snapshot: &dupi::snapshot::Snapshot| {
        let clones = snapshot.clones_of("1.go", &settings).expect("a document");
        format!("{:?}", clones.classes)
    };
    let before = clones(&held);
    assert_ne!(before, "[]");
    let merge = index.plan_merge().expect("a full tier");
    scene.write("1.go", 99);
    scene.write("3.go", 98);
    refresh(&mut index);
    let n_segments = index.stats().segments;
    index.install(merge.run().expect("merged"));
    assert!(index.stats().segments < n_segments, "none of its segments has gone meanwhile");
    assert_right(&mut index, "a merge of what changed meanwhile");
    assert_eq!(index.verify().problems, [""; 0]);
    assert_eq!(orphans(&scene.index_folder()), [""; 0], "the merged ones are gone");
    assert_eq!(clones(&held), before);
    assert_ne!(clones(&index.snapshot()), before);
    drop(index);
    let mut index = scene.open();
    assert!(index.is_committed());
    refresh(&mut index);
    assert_right(&mut index, "opened again");
}

#[test]
fn an_index_in_memory_answers_the_same() {
    let scene = Scene::new(6);
    let mut index = scene.open_on(Arc::new(Memory::default()));
    refresh(&mut index);
    assert!(difference(&mut index).is_none());
}
