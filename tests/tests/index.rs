//! The index as its users meet it: it saves time, and nothing else is different.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dupi_tests::binary::{Run, command, run_with};
use dupi_tests::workspace::{Workspace, files};

const DAMAGED: &str = "was damaged";

/// A function of about 70 tokens; `name` is what varies.
fn function(name: &str) -> String {
    format!(
        "func {name}(values []int, limit int) (int, error) {{\n\ttotal := 0\n\tfor i, v := range values {{\n\t\tif v > limit {{\n\t\t\treturn 0, fmt.Errorf(\"value %d at %d is over %d\", v, i, limit)\n\t\t}}\n\t\ttotal += v * i\n\t}}\n\tif total == 0 {{\n\t\treturn 0, nil\n\t}}\n\treturn total, nil\n}}\n"
    )
}

fn program(package: &str, name: &str) -> String {
    format!("package {package}\n\n{}", function(name))
}

/// A workspace, and a user whose cache folder is empty.
struct Place {
    workspace: Workspace,
    cache: Workspace,
}

impl Place {
    fn new() -> Place {
        let place = Place { workspace: Workspace::new(""), cache: Workspace::new("") };
        place.workspace.write("a.go", program("a", "Sum"));
        place.workspace.write("b/b.go", program("b", "Sum"));
        place.workspace.write("c.go", "package c\n\nvar x = 1\n");
        place.workspace.write("empty.go", "");
        place.workspace.write("LICENSE", "do what you like\n");
        place
    }

    fn run(&self, arguments: &[&str]) -> Run {
        run_with(self.workspace.path(), self.cache.path(), arguments)
    }

    fn check(&self, arguments: &[&str]) -> Run {
        self.run(&[&["--check", "--format", "json"][..], arguments].concat())
    }

    /// Checks with the index and without: the same bytes and exit code. Returns the number of classes.
    fn same(&self, arguments: &[&str]) -> u64 {
        let (run, classes) = self.same_with_notes(arguments);
        assert_eq!(run.stderr, "");
        classes
    }

    fn same_with_notes(&self, arguments: &[&str]) -> (Run, u64) {
        let indexed = self.check(arguments);
        let judging: Vec<&str> = match arguments {
            ["--index-dir", _, rest @ ..] => rest.to_vec(),
            all => all.to_vec(),
        };
        let scratch = self.check(&[&["--no-index"][..], &judging].concat());
        assert_eq!(indexed.stdout, scratch.stdout);
        assert_eq!(indexed.code, scratch.code);
        let classes = indexed.json()["summary"]["classes"].as_u64().expect("a number");
        (indexed, classes)
    }

    /// The folders of all indexes.
    fn indexes(&self) -> Vec<PathBuf> {
        files(self.cache.path()).into_iter().filter(|path| path.ends_with("lock")).map(|path| parent(&path)).collect()
    }

    /// The files of the one index whose names end so.
    fn index_files(&self, end: &str) -> Vec<PathBuf> {
        let [index] = &self.indexes()[..] else { panic!("{:?} is not one index", self.indexes()) };
        files(index).into_iter().filter(|path| path.to_string_lossy().ends_with(end)).collect()
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().expect("a file in a folder").to_owned()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[at] ^= 0x10;
    fs::write(path, bytes).expect("a file can be written");
}

/// A number of `--stats`, by the name that it stands beside.
fn figures(stats: &str, name: &str) -> Vec<u64> {
    let lines = stats.lines().filter(|line| line.split_whitespace().next() == Some(name));
    lines.filter_map(|line| line.split([' ']).find_map(|word| word.replace('\u{202f}', "").parse().ok())).collect()
}

#[test]
fn a_check_with_the_index_gives_the_same_bytes_through_edits_renames_and_deletions() {
    let place = Place::new();
    let (root, write) = (place.workspace.path(), |path: &str, text: String| place.workspace.write(path, text));
    assert_eq!(place.same(&[]), 1, "the first time");
    assert_eq!(place.same(&[]), 1, "the second time");
    write("b/b.go", program("b", "Sum").replace("limit", "most"));
    assert_eq!(place.same(&[]), 1, "edited");
    write("b/b.go", program("b", "Sum").replace("func", "   func"));
    assert_eq!(place.same(&[]), 1, "moved to the right");
    write("b/b.go", "package b\n".to_owned());
    assert_eq!(place.same(&[]), 0, "a copy less");
    write("d.go", program("d", "Sum"));
    assert_eq!(place.same(&[]), 1, "added");
    fs::rename(root.join("d.go"), root.join("b/d.go")).expect("renamed");
    assert_eq!(place.same(&[]), 1, "renamed");
    fs::rename(root.join("b"), root.join("e")).expect("renamed");
    assert_eq!(place.same(&[]), 1, "a folder renamed");
    write(".gitignore", "/e/\n".to_owned());
    assert_eq!(place.same(&[]), 0, "ignored");
    fs::remove_file(root.join(".gitignore")).expect("removed");
    assert_eq!(place.same(&[]), 1, "no longer ignored");
    fs::remove_dir_all(root.join("e")).expect("removed");
    assert_eq!(place.same(&[]), 0, "deleted");
    write("f.go", program("f", "Sum"));
    assert_eq!(place.run(&["index", "--clear"]).code, 0);
    assert_eq!(place.indexes(), Vec::<PathBuf>::new());
    assert_eq!(place.same(&[]), 1, "cleared");
    for round in 0..12 {
        write("g.go", program(&format!("g{round}"), if round % 2 == 0 { "Sum" } else { "Total" }));
        assert_eq!(place.same(&[]), 1, "{round}");
    }
    assert!(place.index_files(".seg").len() < 12, "merged");
    assert_eq!(place.run(&["index", "--verify"]).code, 0);
}

#[test]
fn every_way_to_judge_gets_its_own_answer() {
    let place = Place::new();
    for _ in 0..2 {
        assert_eq!(place.same(&["--min-tokens", "20", "--nested"]), place.same(&["--nested", "--min-tokens", "20"]));
        for (arguments, classes) in [
            (&[][..], 1),
            (&["--min-tokens", "500"], 0),
            (&["--zone", "test"], 0),
            (&["--zone", "code,test,generated,data,imports"], 1),
            (&["--exclude", "b"], 0),
            (&["--min-lines", "40"], 0),
            (&["--blotter", "circular", "--threads", "1"], 1),
            (&["a.go", "b"], 1),
        ] {
            assert_eq!(place.same(arguments), classes, "{arguments:?}");
        }
    }
}

/// Files as old as those of a project are: what was written this second is read again, to be sure.
fn set_time(path: &Path, time: SystemTime) {
    let file = fs::File::options().write(true).open(path);
    file.and_then(|file| file.set_modified(time)).expect("a file's time can be set");
}

/// `touch -r`, `cp -p`, `rsync -t` and archives bring other contents with the time of before.
#[test]
fn another_content_with_the_size_and_time_of_before_is_read() {
    let place = Place::new();
    let old = SystemTime::now() - Duration::from_secs(60);
    files(place.workspace.path()).iter().for_each(|path| set_time(path, old));
    assert_eq!(place.same(&[]), 1);
    let path = place.workspace.path().join("b/b.go");
    let before = fs::read(&path).expect("a file");
    let other = format!("{:width$}", "package b\n", width = before.len());

    // Another file takes the name.
    let new = place.workspace.write("b/b.new", &other);
    set_time(&new, old);
    fs::rename(&new, &path).expect("renamed");
    assert_eq!(place.same(&[]), 0, "another file");

    // The file is overwritten. Windows has no time of change that programs cannot set.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let ctime = || fs::metadata(&path).map(|meta| (meta.ctime(), meta.ctime_nsec())).expect("a file");
        let earlier = ctime();
        while ctime() == earlier {
            fs::write(&path, &before).expect("written");
            set_time(&path, old);
        }
        assert_eq!(place.same(&[]), 1, "overwritten");
    }
}

#[test]
fn the_second_check_says_how_little_was_read() {
    let place = Place::new();
    let old = SystemTime::now() - Duration::from_secs(60);
    files(place.workspace.path()).iter().for_each(|path| set_time(path, old));
    // What follows is the verdict.
    let last = |run: Run| {
        run.stdout.lines().take_while(|line| !line.starts_with("failed: ")).last().unwrap_or_default().to_owned()
    };
    assert!(last(place.run(&["--check"])).starts_with("scanned 3 files, "));
    assert_eq!(last(place.run(&["--check"])), "index: no file read, all known");
    place.workspace.write("c.go", "package c\n\nvar x = 2\n");
    assert_eq!(last(place.run(&["--check"])), "index: 1 file read, all others known");
    assert!(last(place.run(&["--check", "--no-index"])).starts_with("scanned 3 files, "));
}

#[test]
fn the_index_command_says_what_changed() {
    let place = Place::new();
    let index = || {
        let run = place.run(&["index"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.stdout
    };
    let first = index();
    assert!(first.starts_with("indexed 3 files (1 skipped) in 0.") && first.contains(" s: all new; "), "{first}");
    assert!(first.trim_end().ends_with(" % of source"), "{first}");
    assert!(index().contains(" s: nothing changed; "));
    place.workspace.write("a.go", "package a\n");
    place.workspace.write("d.go", "package d\n");
    place.workspace.write("e.go", "package e\n");
    fs::remove_file(place.workspace.path().join("c.go")).expect("removed");
    let second = index();
    assert!(second.starts_with("indexed 4 files (1 skipped) in 0."), "{second}");
    assert!(second.contains(" s: 2 added, 1 changed, 1 removed; "), "{second}");
}

#[test]
fn nothing_indexed_is_an_error() {
    let place = Place { workspace: Workspace::new("//- README.md\nhello\n"), cache: Workspace::new("") };
    let run = place.run(&["index"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("nothing indexed: no source file under "), "{}", run.stderr);
}

#[test]
fn the_figures_add_up() {
    let place = Place::new();
    assert_eq!(place.check(&[]).code, 1);
    let run = place.run(&["index", "--stats"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let figure = |name: &str| figures(&run.stdout, name);
    assert_eq!((figure("documents"), figure("skipped")), (vec![3], vec![1]), "{}", run.stdout);
    let [posts, posts_bytes] = figure("posts")[..] else { panic!("{}", run.stdout) };
    assert!(posts > 0 && figure("tokens")[0] > 100, "{}", run.stdout);
    let parts = ["streams", "dictionary", "tables", "answers", "other"].map(|name| figure(name)[0]);
    assert!(parts.iter().all(|&bytes| bytes > 0), "{}", run.stdout);
    let on_disk: u64 = place.index_files("").iter().map(|path| path.metadata().expect("a file").len()).sum();
    assert_eq!((figure("all")[0], parts.iter().sum::<u64>() + posts_bytes), (on_disk, on_disk), "{}", run.stdout);
    let source = ["a.go", "b/b.go", "c.go"].map(|path| place.workspace.path().join(path).metadata().expect("a file"));
    assert_eq!(figure("source")[0], source.iter().map(fs::Metadata::len).sum::<u64>());
    let index = place.indexes()[0].display().to_string();
    assert!(run.stdout.lines().nth(1).is_some_and(|line| line == index), "{}", run.stdout);
}

#[test]
fn what_is_not_there_is_told_and_not_made() {
    let place = Place::new();
    for flag in ["--stats", "--verify"] {
        let run = place.run(&["index", flag]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains("no index of ") && run.stderr.contains("`dupi-lsp index` builds it"));
    }
    let run = place.run(&["index", "--clear"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("no index of "), "{}", run.stdout);
    assert_eq!(files(place.cache.path()), Vec::<PathBuf>::new());
}

#[test]
fn looking_changes_nothing() {
    let place = Place::new();
    assert_eq!(place.check(&[]).code, 1);
    place.workspace.write("d.go", program("d", "Sum"));
    flip(&place.index_files(".seg")[0], 100);
    let content = || -> Vec<(PathBuf, Vec<u8>)> {
        files(place.cache.path()).into_iter().map(|path| (path.clone(), fs::read(&path).expect("a file"))).collect()
    };
    let before = content();
    for flag in ["--stats", "--verify", "--verify"] {
        let run = place.run(&["index", flag]);
        assert!(format!("{}{}", run.stdout, run.stderr).contains(DAMAGED), "{}{}", run.stdout, run.stderr);
        assert!(content() == before, "{flag} has written");
    }
}

#[test]
fn clearing_says_how_much_was_freed() {
    let place = Place::new();
    place.same(&[]);
    place.same(&["--exclude", "c.go"]);
    assert_eq!(place.indexes().len(), 2);
    let run = place.run(&["index", "--clear"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("cleared the index of ") && run.stdout.ends_with(" kB freed\n"), "{}", run.stdout);
    assert_eq!(files(place.cache.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_flipped_byte_is_found_changes_no_answer_and_is_repaired() {
    for (end, message) in [
        (".seg", "a part of the index was damaged"),
        ("manifest", "the index on disk was damaged"),
        (".ans", ""),
        ("places", ""),
    ] {
        for share in [0, 2, 4] {
            let place = Place::new();
            assert_eq!(place.same(&[]), 1);
            let [file] = &place.index_files(end)[..] else { panic!("not one {end}") };
            // A file's first and last eight bytes tell what it is: another magic may be another program's or a newer one.
            let length = fs::metadata(file).expect("a file").len() as usize;
            flip(file, 12 + (length - 12 - 20) * share / 4);
            let verified = place.run(&["index", "--verify"]);
            assert_eq!(verified.code, 1, "{end} {share}: {}{}", verified.stdout, verified.stderr);
            assert!(verified.stdout.contains("1 problem in the index: "), "{}", verified.stdout);
            assert!(verified.stdout.contains("damaged"), "{}", verified.stdout);
            let (run, classes) = place.same_with_notes(&[]);
            assert_eq!(classes, 1);
            match message {
                "" => assert_eq!(run.stderr, "", "it is only found anew"),
                _ => {
                    assert!(run.stderr.starts_with(&format!("dupi-lsp: note: {message}: ")), "{}", run.stderr);
                    assert_eq!(run.stderr.lines().count(), 1, "told once: {}", run.stderr);
                }
            }
            let verified = place.run(&["index", "--verify"]);
            assert_eq!(verified.code, 0, "{end} {share}: {}", verified.stdout);
            assert!(verified.stdout.starts_with("the index is good: 3 documents and "), "{}", verified.stdout);
            assert_eq!(place.same(&[]), 1);
        }
    }
}

#[test]
fn a_part_that_is_missing_is_found_and_repaired() {
    let place = Place::new();
    assert_eq!(place.same(&[]), 1);
    fs::remove_file(&place.index_files(".seg")[0]).expect("removed");
    let run = place.run(&["index", "--verify"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.starts_with("a part of the index is missing: "), "{}", run.stdout);
    let (run, classes) = place.same_with_notes(&[]);
    assert_eq!(classes, 1);
    assert!(run.stderr.starts_with("dupi-lsp: note: a part of the index is missing: "), "{}", run.stderr);
    assert_eq!(place.same(&[]), 1);
    assert_eq!(place.run(&["index", "--verify"]).code, 0);
}

#[test]
fn two_workspaces_do_not_share() {
    let place = Place::new();
    let other = Place { workspace: Workspace::new(""), cache: Workspace::new("") };
    // The same names and content, so that only the place tells them apart; then less.
    other.workspace.write("a.go", program("a", "Sum"));
    other.workspace.write("b/b.go", program("b", "Sum"));
    let check = |workspace: &Workspace| {
        run_with(workspace.path(), place.cache.path(), &["--check", "--format", "json"]).json()["summary"]["classes"]
            .as_u64()
    };
    assert_eq!((check(&place.workspace), check(&other.workspace)), (Some(1), Some(1)));
    assert_eq!(place.indexes().len(), 2);
    other.workspace.write("b/b.go", "package b\n");
    assert_eq!((check(&other.workspace), check(&place.workspace)), (Some(0), Some(1)));
    assert_eq!(run_with(other.workspace.path(), place.cache.path(), &["index", "--clear"]).code, 0);
    assert_eq!(place.indexes().len(), 1, "the other's is left alone");
    assert!(place.run(&["index"]).stdout.contains("nothing changed"));
}

#[test]
fn an_index_that_cannot_be_made_is_a_note_and_no_other_answer() {
    let place = Place::new();
    let file = place.cache.write("file", "in the way");
    let there = file.join("indexes");
    let (run, classes) = place.same_with_notes(&["--index-dir", there.to_str().expect("UTF-8")]);
    assert_eq!(classes, 1);
    assert!(run.stderr.starts_with("dupi-lsp: note: no index, all files are read: cannot create "), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    let run = place.run(&["index", "--index-dir", there.to_str().expect("UTF-8")]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("dupi-lsp: cannot create "), "{}", run.stderr);
    // A folder that is there and takes no file.
    assert_eq!(place.same(&[]), 1);
    let lock = place.indexes()[0].join("lock");
    fs::remove_file(&lock).expect("removed");
    fs::create_dir(&lock).expect("made");
    place.workspace.write("d.go", program("d", "Sum"));
    let (run, classes) = place.same_with_notes(&[]);
    assert_eq!((classes, run.json()["classes"][0]["copies"].as_array().map(Vec::len)), (1, Some(3)));
    assert!(run.stderr.starts_with("dupi-lsp: note: the index stays in memory: "), "{}", run.stderr);
    let run = place.run(&["index"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains(" was not brought up to date"), "{}", run.stderr);
}

#[test]
fn without_a_cache_folder_the_answer_is_the_same() {
    let place = Place::new();
    let file = place.cache.write("file", "in the way");
    let mut check = command(place.workspace.path(), &file, &["--check"]);
    let output = check.output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.starts_with("dupi-lsp: note: no index, all files are read: "), "{notes}");
}

#[cfg(unix)]
#[test]
fn an_index_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    assert_eq!(place.same(&[]), 1);
    let index = place.indexes().remove(0);
    for folder in index.ancestors().take_while(|folder| *folder != place.cache.path()) {
        let mode = fs::metadata(folder).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
}

#[test]
fn an_index_within_the_workspace_is_not_indexed() {
    for (folder, more) in [(".cache", &[][..]), (".cache", &["--hidden", "--no-gitignore"]), ("cache", &[]), (".", &[])]
    {
        let place = Place::new();
        let arguments = [&["--index-dir", folder][..], more].concat();
        // It must be there for both, since a hidden folder is told of.
        fs::create_dir_all(place.workspace.path().join(folder)).expect("a folder");
        for _ in 0..3 {
            assert_eq!(place.same(&arguments), 1, "{arguments:?}");
        }
        let index = [&["index"][..], &arguments].concat();
        for _ in 0..2 {
            let run = place.run(&index);
            assert!(run.stdout.contains(": nothing changed; "), "{arguments:?}: {}{}", run.stdout, run.stderr);
            assert!(run.stdout.starts_with("indexed 3 files (1 skipped) in "), "{arguments:?}: {}", run.stdout);
        }
        assert_eq!(files(place.cache.path()), Vec::<PathBuf>::new(), "all is where it was asked for");
        assert_eq!(place.run(&[&index[..], &["--clear"]].concat()).code, 0);
        assert_eq!(files(place.workspace.path()).len(), 5, "{arguments:?}: nothing is left");
    }
}

#[cfg(unix)]
#[test]
fn names_and_links_do_not_lead_out_of_the_cache_folder() {
    let outer = Workspace::new("");
    for (i, name) in ["...", "-rf", "a\nb", "\u{202e}x", "%2e%2e%2f", "$(touch x)"].into_iter().enumerate() {
        let cache = Workspace::new("");
        outer.write(&format!("{i}/{name}/a.go"), program("a", "Sum"));
        let root = outer.path().join(i.to_string()).join(name);
        let run = run_with(&root, cache.path(), &["--check"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
        let indexes = fs::read_dir(cache.path().join("dupi")).expect("a folder").count();
        assert_eq!(indexes, 1, "{name}");
        assert!(files(cache.path()).iter().all(|file| file.starts_with(cache.path().join("dupi"))), "{name}");
    }
    // Somebody put a link where the index would be.
    let place = Place::new();
    assert_eq!(place.same(&[]), 1);
    let index = place.indexes().remove(0);
    let elsewhere = Workspace::new("");
    for link in [index.clone(), parent(&index)] {
        fs::remove_dir_all(&link).expect("removed");
        std::os::unix::fs::symlink(elsewhere.path(), &link).expect("a link");
        let (run, classes) = place.same_with_notes(&[]);
        assert_eq!(classes, 1);
        assert!(run.stderr.contains(" is a link: "), "{}", run.stderr);
        assert_eq!(files(elsewhere.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_project_sets_neither_where_its_index_is_nor_how_much_memory_is_taken() {
    let place = Place::new();
    for key in ["index-dir = \"/tmp/x\"", "memory = 1000000", "no-index = true"] {
        place.workspace.write("dupi.toml", format!("min-tokens = 40\n{key}\n"));
        let name = key.split(' ').next().unwrap_or_default();
        for arguments in [&["--check"][..], &["index"]] {
            let run = place.run(arguments);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""));
            let message = format!("dupi.toml:2: `{name}`: only a flag: a project does not set it\n");
            assert!(run.stderr.ends_with(&message), "{}", run.stderr);
        }
    }
    assert_eq!(files(place.cache.path()), Vec::<PathBuf>::new());
}

#[test]
fn wrong_usage_is_exit_code_2_and_says_what_to_do() {
    let place = Place::new();
    for (arguments, message) in [
        (&["index", "--memory", "63"][..], "an index cannot be built in less than 64 MiB"),
        (&["--check", "--memory", "lots"], "not a number of MiB"),
        (&["index", "--stats", "--verify"], "'--stats' cannot be used with '--verify'"),
        (&["index", "--verify", "--clear"], "'--verify' cannot be used with '--clear'"),
        (&["--check", "--no-index", "--index-dir", "x"], "'--no-index' cannot be used with '--index-dir <DIR>'"),
        (&["index", "--no-index"], "unexpected argument '--no-index'"),
        (&["index", "nowhere"], "cannot read nowhere"),
    ] {
        let run = place.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(files(place.cache.path()), Vec::<PathBuf>::new());
    assert!(place.run(&["index", "--memory", "64"]).stdout.starts_with("indexed 3 files"));
}

#[test]
fn help_has_examples_of_every_flag() {
    let place = Place::new();
    let help = place.run(&["index", "--help"]).stdout;
    for flag in ["--stats", "--verify", "--clear", "--index-dir ~/ci", "--memory 256"] {
        assert!(help.contains(&format!("\n  dupi-lsp index {flag}")), "{flag}: {help}");
    }
    let help = place.run(&["check", "--help"]).stdout;
    for flag in ["--index-dir ~/ci", "--no-index"] {
        assert!(help.contains(&format!("\n  dupi-lsp --check {flag}")), "{flag}: {help}");
    }
}
