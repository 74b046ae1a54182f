//! The check as a gate: limits, accepted classes, and what a change adds. Each with the exit code and the words that a
//! user meets.

use std::path::Path;

use dupi_tests::binary::{Run, run};
use dupi_tests::repository::{Repository, git};
use dupi_tests::workspace::{Workspace, function, pair};
use serde_json::Value;

fn check(folder: &Path, arguments: &[&str]) -> Run {
    run(folder, &[&["--check"][..], arguments].concat())
}

/// A check that ends with this code and says this, to whomever.
#[track_caller]
fn expect(folder: &Path, arguments: &[&str], code: i32, words: &[&str]) -> Run {
    let run = check(folder, arguments);
    let told = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, code, "{told}");
    for words in words {
        assert!(told.contains(words), "no {words:?} in\n{told}");
    }
    run
}

/// A function that is no copy of [`function`].
fn other(name: &str) -> String {
    format!(
        "func {name}(m map[string]int) []string {{\n\tvar keys []string\n\tfor k := range m {{\n\t\tif len(k) > 3 && m[k] != 0 {{\n\t\t\tkeys = append(keys, k)\n\t\t}}\n\t}}\n\tsort.Slice(keys, func(i, j int) bool {{\n\t\treturn m[keys[i]] < m[keys[j]]\n\t}})\n\treturn keys\n}}\n"
    )
}

fn file(package: &str, functions: &[String]) -> String {
    format!("package {package}\n\n{}", functions.join("\n"))
}

#[test]
fn limits_decide_what_fails_in_all_and_by_zone() {
    let workspace = pair();
    let folder = workspace.path();
    // 26 of 34 lines.
    expect(folder, &["--max-percent", "80"], 0, &["passed"]);
    expect(
        folder,
        &["--max-percent", "76.4"],
        1,
        &["76.47 % of all lines are duplicated; at most 76.4 % are allowed (`max-percent`)"],
    );
    expect(folder, &["--max-percent", "test=10"], 0, &["passed"]);
    expect(folder, &["--max-percent", "test=10,code=20"], 1, &["duplicated in code; at most 20 % are allowed"]);
    expect(folder, &["--max-classes", "1"], 0, &["passed"]);
    expect(
        folder,
        &["--max-classes", "code=0"],
        1,
        &["1 class of duplicated code in code; none is allowed (`max-classes`)"],
    );
    workspace.write("dupi.toml", "max-percent = { code = 90, test = 1 }\nmax-classes = 3\n");
    expect(folder, &[], 0, &["passed"]);
    expect(folder, &["--max-classes", "0"], 1, &["none is allowed"]);
    let gate = expect(folder, &["--max-classes", "0", "--format", "json"], 1, &[]).json()["gate"].clone();
    assert_eq!((&gate["passed"], gate["failures"].as_array().map(Vec::len)), (&false.into(), Some(1)));
}

#[test]
fn wrong_limits_are_told() {
    let workspace = pair();
    let folder = workspace.path();
    for (arguments, message) in [
        (&["--max-percent", "101"][..], "`max-percent`: `101` is not between 0 and 100"),
        (&["--max-percent", "tests=1"], "no such zone: `tests`"),
        (&["--max-classes", "few"], "neither a number nor a zone and a number, as in `test=10`"),
        (&["--max-classes", "1.5"], "`max-classes`: `1.5` is not a number of classes"),
        (&["--max-new", "1"], "`--max-new` needs --baseline, --since or --staged"),
        (&["--prune-baseline"], "--baseline"),
        (&["--baseline", "none.json"], "there is no baseline none.json: write one with --write-baseline"),
        (&["--since", "main"], "in no git repository"),
    ] {
        expect(folder, arguments, 2, &[message]);
    }
    for (text, message) in [
        ("max-percent = \"3\"\n", "neither a number nor a table from zones to numbers"),
        ("max-classes = { tset = 1 }\n", "no such zone: `tset`"),
        ("output = \"/etc/passwd\"\n", "only a flag: a project does not set it"),
        ("[[ignore]]\nreason = \"x\"\n", "each entry names either a `class` or a `path`"),
        ("[[ignore]]\npath = \"a{\"\nreason = \"x\"\n", "bad glob in `path`"),
        ("[[ignore]]\npath = \"a\"\n", "missing field `reason`"),
        ("[[ignore]]\npath = \"a\"\nreason = \"x\"\nexpires = 07:30:00\n", "`expires`: `07:30:00` is no date"),
    ] {
        workspace.write("dupi.toml", text);
        expect(folder, &[], 2, &["dupi.toml:", message]);
    }
    workspace.write("dupi.toml", "");
    workspace.write("bad.json", "<<<<<<< ours\n");
    expect(folder, &["--baseline", "bad.json"], 2, &["bad.json is no baseline"]);
    workspace.write("bad.json", "{\"version\": 2, \"classes\": []}");
    expect(folder, &["--baseline", "bad.json"], 2, &["has version 2, and this program reads 1"]);
}

#[test]
fn entries_ignore_a_class_or_paths_until_they_expire_and_stale_ones_are_told() {
    let workspace = pair();
    let folder = workspace.path();
    let id = check(folder, &["--format", "json"]).json()["classes"][0]["id"].as_str().expect("an id").to_owned();
    let ignore = |what: &str| workspace.write("dupi.toml", format!("[[ignore]]\n{what}\nreason = \"two ports\"\n"));
    ignore(&format!("class = \"{id}\""));
    expect(folder, &[], 0, &["no duplicated code"]);
    ignore("path = \"**/*.go\"");
    expect(folder, &[], 0, &["no duplicated code"]);
    ignore("path = \"b/**\"");
    expect(folder, &[], 1, &["[[ignore]] of `b/**` is stale, nothing is ignored for it: remove it"]);
    ignore(&format!("class = \"{id}\"\nowner = \"team a\"\nexpires = 2020-02-29"));
    let told = format!("[[ignore]] of `{id}` expired on 2020-02-29 (two ports, ask team a): it is reported again");
    expect(folder, &[], 1, &[&told]);
    ignore(&format!("class = \"{id}\"\nexpires = 9999-12-31"));
    assert_eq!(expect(folder, &[], 0, &[]).stderr, "");
    ignore("class = \"0123456789abcdef\"");
    expect(folder, &[], 1, &["[[ignore]] of `0123456789abcdef` is stale"]);
}

/// The life of an accepted pair.
#[test]
fn the_story_of_a_baseline() {
    let workspace = pair();
    let folder = workspace.path();
    let sum = || function("Sum", "values");
    workspace.write("c.go", file("c", &[other("Keys")]));

    // Accept.
    expect(
        folder,
        &["--write-baseline", "dupi.json"],
        0,
        &["1 class accepted in dupi.json: check with --baseline from now on"],
    );
    let written = std::fs::read_to_string(folder.join("dupi.json")).expect("a file");
    let entry: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!((&entry["version"], &entry["classes"][0]["copies"]), (&1.into(), &2.into()));
    assert_eq!(written.lines().filter(|line| line.contains("\"id\"")).count(), 1, "a line for each class");
    let accepted = ["--baseline", "dupi.json"];
    assert_eq!(expect(folder, &accepted, 0, &["passed: nothing new, compared with the baseline dupi.json"]).stderr, "");

    // Move a file, shift lines.
    std::fs::create_dir(folder.join("moved")).expect("a folder");
    std::fs::rename(folder.join("b/b.go"), folder.join("moved/d.go")).expect("moved");
    assert_eq!(expect(folder, &accepted, 0, &["passed"]).stderr, "");
    workspace.write("a.go", file("a", &["// A comment.\n\ntype Shift struct{}\n".to_owned(), sum()]));
    assert_eq!(expect(folder, &accepted, 0, &["passed"]).stderr, "");

    // Rename what is in a copy: still the same pair.
    workspace.write("a.go", file("a", &[function("Count", "items")]));
    expect(folder, &accepted, 0, &["passed"]);

    // A third copy.
    workspace.write("e.go", file("e", &[sum()]));
    let failed = "1 class is new or has new copies, compared with the baseline dupi.json; none is allowed (`max-new`)";
    expect(folder, &accepted, 1, &["13 lines in 3 places", "· 1 more", failed, "what to do: share the code"]);
    expect(folder, &["--baseline", "dupi.json", "--max-new", "1"], 0, &["passed"]);

    // Edit it, so that it is no copy any more.
    workspace.write("e.go", file("e", &[other("Other")]));
    workspace.write("c.go", file("c", &["var nothing = 1\n".to_owned()]));
    expect(folder, &accepted, 0, &["passed"]);

    // Edit both copies alike: what was accepted is gone, and what is there is new.
    let longer =
        |text: String| text.replace("\ttotal := 0\n", "\ttotal := 0\n\tif limit < 0 {\n\t\tlimit = -limit\n\t}\n");
    workspace.write("a.go", file("a", &[longer(sum())]));
    workspace.write("moved/d.go", file("b", &[longer(sum())]));
    expect(folder, &accepted, 1, &["· new", failed, "(13 lines in a.go, b/b.go) is gone"]);
    expect(folder, &["--write-baseline", "dupi.json"], 0, &["1 class accepted"]);
    workspace.write("a.go", file("a", &[sum()]));
    workspace.write("moved/d.go", file("b", &[sum()]));
    expect(folder, &accepted, 1, &["which stood in the same files, is gone: if it was only edited, accept it again"]);
    expect(folder, &["--write-baseline", "dupi.json"], 0, &["1 class accepted"]);

    // Remove one: a stale entry does not fail, and goes when told to.
    std::fs::remove_file(folder.join("moved/d.go")).expect("removed");
    expect(
        folder,
        &accepted,
        0,
        &["the baseline dupi.json is stale, --prune-baseline brings it up to date", "is gone"],
    );
    assert_eq!(expect(folder, &["--baseline", "dupi.json", "--prune-baseline"], 0, &["passed"]).stderr, "");
    assert_eq!(expect(folder, &accepted, 0, &["passed"]).stderr, "");
    let written = std::fs::read_to_string(folder.join("dupi.json")).expect("a file");
    assert_eq!(written, "{\n  \"version\": 1,\n  \"classes\": []\n}\n");

    // What was pruned is not accepted any more.
    workspace.write("moved/d.go", file("b", &[sum()]));
    expect(folder, &accepted, 1, &["· new", failed]);
}

/// main: one function, alone. Then a branch.
fn history() -> Repository {
    let repository = Repository::default();
    repository.write("a.go", file("a", &[function("Sum", "values")]));
    repository.write("old/x.go", file("x", &[other("Keys")]));
    repository.write("old/y.go", file("y", &[other("Keys")]));
    repository.commit("first");
    repository.git(&["switch", "--quiet", "--create", "branch"]);
    repository
}

#[test]
fn since_shows_what_a_branch_adds_and_of_what_its_lines_are_copies() {
    let repository = history();
    let folder = repository.path();
    expect(folder, &["--since", "main"], 0, &["passed: nothing new, compared with main ("]);
    repository.write("b.go", file("b", &["var x = 1\n".to_owned(), function("Sum", "values")]));
    // Not even known to git yet.
    let failed = "1 class is new or has new copies, compared with main (";
    expect(folder, &["--since", "main"], 1, &["b.go:5-17 ← in this change\n   a.go:3-15\n", "· new", failed]);
    repository.commit("a copy");
    let report = expect(folder, &["--since", "main", "--format", "json"], 1, &[]).json();
    let class = &report["classes"][0];
    assert_eq!((&class["status"], &class["before"]), (&"new".into(), &0.into()));
    let touched: Vec<bool> =
        class["copies"].as_array().expect("a list").iter().map(|copy| copy["touched"] == true).collect();
    assert_eq!(touched, [false, true]);
    assert_eq!(report["classes"].as_array().map(Vec::len), Some(1), "old/ has one, too, but it is not of the change");
    // Only what is in the change is spoken of where it stands.
    let github = check(folder, &["--since", "main", "--format", "github"]).stdout;
    assert!(github.starts_with("::warning file=b.go,line=5,endLine=17"), "{github}");
    let without = check(folder, &["--since", "main", "--no-index", "--format", "json"]).json();
    assert_eq!(without, report, "with an index and without");

    // main goes on; what it has in common with the branch is what counts.
    repository.git(&["switch", "--quiet", "main"]);
    repository.write("b.go", file("b", &["var x = 1\n".to_owned(), function("Sum", "values")]));
    repository.commit("the same on main");
    repository.git(&["switch", "--quiet", "branch"]);
    expect(folder, &["--since", "main"], 1, &[failed]);
    repository.git(&["merge", "--quiet", "main", "--message", "merged"]);
    expect(folder, &["--since", "main"], 0, &["passed"]);
}

#[test]
fn moving_shifting_and_editing_copies_adds_none() {
    let repository = history();
    let folder = repository.path();
    repository.git(&["mv", "old", "new"]);
    expect(folder, &["--since", "main"], 0, &["passed"]);
    repository.write("new/x.go", file("x", &["type Shift struct{}\n".to_owned(), other("Keys")]));
    expect(folder, &["--since", "main"], 0, &["passed"]);
    repository.commit("moved");
    // A statement in the middle of a long copy makes two shorter ones.
    let long = |more: &str| file("x", &[format!("{}{more}{}", function("Sum", "values"), other("Keys"))]);
    repository.write("p.go", long(""));
    repository.write("q.go", long(""));
    repository.write("a.go", "package a\n");
    repository.commit("a pair");
    repository.git(&["branch", "--quiet", "--force", "main"]);
    repository.write("q.go", long("const more = 1\n\n"));
    expect(folder, &["--since", "main"], 0, &["passed", "q.go:3 was edited, and was a copy of", "p.go:3"]);
    // And a third copy of one of them is one.
    repository.write("r.go", file("r", &[function("Sum", "values")]));
    expect(folder, &["--since", "main"], 1, &["r.go:3-15 ← in this change", "· 1 more"]);
}

#[test]
fn staged_looks_at_the_index_and_not_at_the_work_tree() {
    let repository = history();
    let folder = repository.path();
    let copy = || file("b", &["var x = 1\n".to_owned(), function("Sum", "values")]);
    repository.write("b.go", copy());
    expect(folder, &["--staged"], 0, &["passed"]);
    repository.git(&["add", "b.go"]);
    // Taken out of the work tree again, but it is staged.
    repository.write("b.go", "package b\n");
    expect(folder, &["--staged"], 1, &["b.go:5-17 ← in this change", "compared with HEAD ("]);
    let report = check(folder, &["--staged", "--format", "json"]).json();
    let place = &report["classes"][0]["copies"][1];
    assert_eq!((&place["startLine"], &place["startColumn"], &place["endColumn"]), (&5.into(), &1.into(), &2.into()));
    expect(folder, &["--staged"], 1, &["│ func Sum(values []int, limit int)"]);
    // And the other way round: in the work tree, but not staged.
    repository.git(&["add", "b.go"]);
    repository.write("b.go", copy());
    repository.write("untracked.go", copy());
    expect(folder, &["--staged"], 0, &["passed"]);
    // A copy of what is staged for removal is none.
    repository.git(&["rm", "--quiet", "--cached", "a.go"]);
    repository.git(&["add", "b.go"]);
    expect(folder, &["--staged"], 0, &["passed"]);
    // Before the first commit.
    let fresh = Repository::default();
    fresh.write("a.go", file("a", &[function("Sum", "values")]));
    fresh.write("b.go", copy());
    fresh.git(&["add", "--all"]);
    expect(fresh.path(), &["--staged"], 1, &["compared with no commit at all"]);
}

#[test]
fn a_base_that_is_not_there_is_told_and_never_a_pass() {
    let repository = history();
    repository.write("b.go", file("b", &[function("Sum", "values")]));
    repository.commit("second");
    expect(repository.path(), &["--since", "nowhere"], 2, &["git knows no commit `nowhere`"]);
    expect(repository.path(), &["--since", "--output=/tmp/x"], 2, &[]);
    let clone = Workspace::new("");
    let url = format!("file://{}", repository.path().display());
    git(clone.path(), &["clone", "--quiet", "--depth", "1", "--branch", "branch", &url, "."]);
    expect(
        clone.path(),
        &["--since", "HEAD~1"],
        2,
        &["this is a shallow clone: fetch its history (git fetch --unshallow; in CI, fetch-depth: 0"],
    );
    git(clone.path(), &["fetch", "--quiet", "--depth", "1", "origin", "main:main"]);
    expect(clone.path(), &["--since", "main"], 2, &["`main` and HEAD have no commit in common", "shallow clone"]);
    git(clone.path(), &["fetch", "--quiet", "--unshallow", "origin"]);
    expect(clone.path(), &["--since", "main"], 1, &["b.go:3-15 ← in this change"]);
    let unrelated = history();
    unrelated.git(&["switch", "--quiet", "--orphan", "island"]);
    unrelated.write("c.go", "package c\n");
    unrelated.commit("alone");
    expect(unrelated.path(), &["--since", "main"], 2, &["have no commit in common"]);
}

#[test]
fn blame_tells_who_brought_each_copy_and_which_is_the_oldest() {
    let repository = history();
    repository.write("b.go", file("b", &[function("Sum", "values")]));
    let second = repository.commit("Sum is needed here, too");
    repository.write("c.go", file("c", &[function("Sum", "values")]));
    let run = expect(
        repository.path(),
        &["--blame"],
        1,
        &["A. Writer: first, the oldest", "A. Writer: Sum is needed here, too"],
    );
    let line = run.stdout.lines().find(|line| line.contains("b.go:3-15")).expect("a copy");
    assert!(line.contains(&second[..9]), "{line}");
    let json = check(repository.path(), &["--blame", "--format", "json"]).json();
    let copies = json["classes"][0]["copies"].as_array().expect("a list").clone();
    assert_eq!(copies[1]["commit"]["id"], second.as_str());
    assert_eq!(copies[2]["commit"], Value::Null, "c.go is not committed");
}

/// A program that notes in `.git/ran` by what name it was run.
#[cfg(unix)]
fn program(repository: &Repository, name: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let mark = repository.path().join(".git/ran");
    let text = format!("#!/bin/sh\necho '{name}' >> '{}'\ncat\n", mark.display());
    let path = repository.workspace.write(&format!(".git/evil/{name}"), text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path.to_str().expect("UTF-8").to_owned()
}

/// Makes git doubt all that its index says of files: it was written before them.
fn age_index(repository: &Repository) {
    let index = std::fs::File::options().write(true).open(repository.path().join(".git/index")).expect("an index");
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    index.set_modified(old).expect("a time");
}

/// A repository whose configuration names programs, wherever and under whatever name it can.
#[cfg(unix)]
fn hostile() -> Repository {
    let repository = history();
    // One file for each filter and driver, all of them copies.
    for i in 0..8 {
        repository.write(&format!("f{i}.go"), file("f", &[format!("var x{i} = {i}\n"), function("Sum", "values")]));
    }
    repository.commit("copies");
    for i in 0..8 {
        repository.write(&format!("f{i}.go"), file("f", &[format!("var y{i} = {i}\n"), function("Sum", "values")]));
    }
    repository.commit("edited");
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "sequence.editor",
        "interactive.diffFilter",
        "diff.external",
        "diff.go.command",
        "diff.go.textconv",
        "merge.go.driver",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "filter.a=b.clean",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "uploadpack.packObjectsHook",
        "pager.blame",
        "pager.diff-index",
        "remote.origin.uploadpack",
        "trailer.x.command",
    ] {
        repository.git(&["config", key, &program(&repository, key)]);
    }
    let alias = format!("!{}", program(&repository, "alias"));
    for command in ["rev-parse", "ls-files", "diff-index", "cat-file", "blame", "merge-base"] {
        repository.git(&["config", &format!("alias.{command}"), &alias]);
    }
    for (key, value) in [
        ("filter.x.required", "true"),
        ("log.showSignature", "true"),
        ("extensions.partialClone", "origin"),
        ("extensions.worktreeConfig", "true"),
        ("remote.origin.promisor", "true"),
        ("protocol.allow", "always"),
        ("core.untrackedCache", "true"),
    ] {
        repository.git(&["config", key, value]);
    }
    repository.git(&["config", "remote.origin.url", &format!("ext::{}", program(&repository, "ext"))]);
    // Names that are no UTF-8, are empty, or hold what quotes; and files that are included.
    let named = |kind: &str, name: &[u8], label: &str| {
        let run = program(&repository, label);
        let keys = if kind == "filter" { ["clean", "process"] } else { ["textconv", "command"] };
        let keys = keys.map(|key| format!("\t{key} = {run}\n")).concat();
        [format!("[{kind} \"").as_bytes(), name, b"\"]\n", keys.as_bytes()].concat()
    };
    let git_folder = repository.path().join(".git");
    let append = |name: &str, text: &[u8]| {
        let before = std::fs::read(git_folder.join(name)).unwrap_or_default();
        repository.write(&format!(".git/{name}"), [&before, text].concat());
    };
    append("config", &named("filter", b"\xff", "filter-not-utf8"));
    append("config", &named("filter", b"", "filter-empty"));
    append("config", &named("filter", br#"\"q\\'$(x)"#, "filter-quotes"));
    append("config", &named("diff", b"\xfe", "diff-not-utf8"));
    append("included", &named("filter", b"\xfdincluded", "filter-included"));
    append("included-if", &named("diff", b"\xfdincluded", "diff-included-if"));
    append("config", b"[include]\n\tpath = included\n[includeIf \"gitdir:**\"]\n\tpath = included-if\n");
    append("config.worktree", &named("filter", b"\xfcworktree", "filter-worktree"));
    append("config", format!("[core]\n\tattributesFile = {}/attributes\n", git_folder.display()).as_bytes());
    for hook in ["post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"] {
        let path = git_folder.join("hooks").join(hook);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::copy(program(&repository, "hook"), path).expect("a hook");
    }
    repository.write(
        ".gitattributes",
        b"*.go filter=x diff=go merge=go\nold/*.go filter=a=b\nf0.go filter=\xff diff=\xfe\nf1.go filter=\n\
          f2.go \"filter=\\\"q\\\\'$(x)\"\n",
    );
    append("info/attributes", b"f3.go filter=\xfdincluded diff=\xfdincluded\nf4.go filter=\xfcworktree\n");
    append("attributes", b"f5.go filter=\xff diff=\xfe\n");
    repository
}

/// Runs a check in a repository, with variables that name programs, and says which of all programs were run.
#[cfg(unix)]
fn ran(repository: &Repository, arguments: &[&str]) -> (i32, String) {
    let mark = repository.path().join(".git/ran");
    let _ = std::fs::remove_file(&mark);
    let cache = tempfile::tempdir().expect("a folder");
    let arguments = [&["--check"][..], arguments].concat();
    let mut command = dupi_tests::binary::command(repository.path(), cache.path(), &arguments);
    let variable = program(repository, "variable");
    for name in ["EXTERNAL_DIFF", "PAGER", "EDITOR", "SSH", "SSH_COMMAND", "ASKPASS", "PROXY_COMMAND"] {
        command.env(format!("GIT_{name}"), &variable);
    }
    command.env("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor'='{variable}'"));
    command.env("GIT_CONFIG_COUNT", "9").env("GIT_CONFIG_KEY_7", "core.pager").env("GIT_CONFIG_VALUE_7", &variable);
    let output = command.output().expect("the binary runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().unwrap_or(-1);
    assert!(code <= 2, "{arguments:?}: {told}");
    (code, std::fs::read_to_string(&mark).unwrap_or_default())
}

/// Faults 27 and 33: none of the programs is started, whatever is asked.
#[cfg(unix)]
#[test]
fn fault_33_nothing_that_a_repository_names_is_run() {
    let repository = hostile();
    let checks: [&[&str]; 5] =
        [&["--since", "main"], &["--staged"], &["--blame"], &["--since", "main", "--blame"], &["--since", "HEAD~1"]];
    for arguments in checks {
        age_index(&repository);
        let (code, ran) = ran(&repository, arguments);
        assert!(code <= 1, "{arguments:?}");
        assert_eq!(ran, "", "{arguments:?} has run programs of the repository");
    }
    // An object that a partial clone lacks is not fetched.
    let lost = repository.git(&["-c", "core.fsmonitor=false", "rev-parse", "main:a.go"]);
    std::fs::remove_file(repository.path().join(".git/objects").join(&lost[..2]).join(&lost[2..])).expect("an object");
    repository.write("a.go", "package a\n");
    assert_eq!(ran(&repository, &["--since", "main"]), (2, String::new()));
    // The test can fail: git itself runs them.
    age_index(&repository);
    for arguments in [&["diff", "--no-ext-diff"][..], &["blame", "f0.go"], &["blame", "HEAD", "--", "f3.go"]] {
        let _ = std::process::Command::new("git").arg("-C").arg(repository.path()).args(arguments).output();
    }
    let ran = std::fs::read_to_string(repository.path().join(".git/ran")).unwrap_or_default();
    for name in ["core.fsmonitor", "filter.x.process", "filter-not-utf8"] {
        assert!(ran.contains(name), "{ran}");
    }
}

/// Fault 35: what a checkout does to line ends is no change, in any file, also in texts of several lines.
#[test]
fn fault_35_line_ends_of_a_checkout_are_no_change() {
    let text = |own: &str| {
        let steps: String = (0..10).map(|i| format!("    if a > b + {i}:\n        a = g(a, b, {i})\n")).collect();
        format!(
            "def own_{own}(x):\n    return [x, \"{own}\"]\n\n\ndef f(a, b):\n    \"\"\"Says what\n    it does.\n    \"\"\"\n{steps}    return a\n"
        )
    };
    let repository = Repository::default();
    repository.write("p/a.py", text("a"));
    repository.write("p/b.py", text("b"));
    repository.commit("first");
    repository.git(&["config", "core.autocrlf", "true"]);
    std::fs::remove_dir_all(repository.path().join("p")).expect("removed");
    repository.git(&["checkout", "--quiet", "--", "."]);
    let a = std::fs::read_to_string(repository.path().join("p/a.py")).expect("a file");
    assert!(a.contains("\r\n"), "git writes other line ends than it stores");
    let expect_nothing_new = || {
        for arguments in [&["--since", "HEAD"][..], &["--staged"]] {
            age_index(&repository);
            let json = expect(repository.path(), &[arguments, &["--format", "json"]].concat(), 0, &[]).json();
            assert_eq!(json["classes"], serde_json::json!([]), "{arguments:?}");
        }
    };
    expect_nothing_new();
    repository.write("p/a.py", a.replace("[x, \"a\"]", "[x, \"edited\"]"));
    expect_nothing_new();
    repository.git(&["add", "--all"]);
    expect_nothing_new();
    // Who brought a line is known by the line, not by its end.
    let blamed = expect(repository.path(), &["--blame"], 1, &["A. Writer: first, the oldest"]).stdout;
    assert_eq!(blamed.matches("A. Writer: first").count(), 2, "{blamed}");
    repository.git(&["mv", "p", "q"]);
    expect(repository.path(), &["--since", "HEAD"], 0, &["passed"]);
    expect(repository.path(), &["--staged"], 0, &["passed"]);
}

/// What `--since` and `--staged` say of a copy that was added in some other kind of repository than a plain one.
#[test]
fn a_change_is_seen_in_every_kind_of_repository() {
    let copy = || file("b", &[function("Sum", "values")]);
    let expect_copy = |folder: &Path| {
        std::fs::write(folder.join("b.go"), copy()).expect("a file");
        expect(folder, &["--since", "HEAD"], 1, &["b.go:3-15 ← in this change"]);
        expect(folder, &["--staged"], 0, &["passed"]);
        git(folder, &["add", "b.go"]);
        expect(folder, &["--staged"], 1, &["b.go:3-15 ← in this change"]);
        std::fs::write(folder.join("b.go"), "package b\n").expect("a file");
        expect(folder, &["--staged"], 1, &["b.go:3-15 ← in this change"]);
        expect(folder, &["--since", "HEAD"], 0, &["passed"]);
    };
    let origin = history();
    let url = format!("file://{}", origin.path().display());
    origin.git(&["config", "uploadpack.allowFilter", "true"]);

    let worktree = Workspace::new("");
    origin.git(&["worktree", "add", "--quiet", worktree.path().join("w").to_str().expect("UTF-8"), "main"]);
    expect_copy(&worktree.path().join("w"));

    let module = Repository::default();
    module.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    expect_copy(&module.path().join("sub"));

    for options in [&["--filter=blob:none"][..], &["--depth=1"], &["--separate-git-dir=elsewhere"], &["--shared"]] {
        let clone = Workspace::new("");
        let source = if options == ["--shared"] { origin.path().to_str().expect("UTF-8") } else { &url };
        git(clone.path(), &[&["clone", "--quiet"], options, &[source, "clone"]].concat());
        expect_copy(&clone.path().join("clone"));
    }
    for options in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
        let other = Workspace::new("");
        let made = std::process::Command::new("git").arg("-C").arg(other.path()).arg("init").args(options).output();
        if !made.expect("git runs").status.success() {
            continue; // An older git knows no such repositories.
        }
        other.write("a.go", file("a", &[function("Sum", "values")]));
        git(other.path(), &["add", "--all"]);
        git(other.path(), &["commit", "--quiet", "--message", "first"]);
        expect_copy(other.path());
    }
    for options in [&["update-index", "--split-index"][..], &["update-index", "--index-version=4"]] {
        let other = history();
        other.git(options);
        expect_copy(other.path());
    }
    // What a sparse checkout leaves out has not been removed.
    let sparse = history();
    sparse.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "none"]);
    assert!(!sparse.path().join("old").exists());
    expect_copy(sparse.path());
    let report = check(sparse.path(), &["--since", "HEAD", "--format", "json"]).json();
    assert_eq!(report["gate"]["notes"], serde_json::json!([]));
}

/// A hook is run with the index that is being committed, and with a name for it that holds at the top.
#[test]
fn staged_looks_at_the_index_that_a_hook_is_given() {
    let repository = history();
    repository.write("b.go", file("b", &[function("Sum", "values")]));
    std::fs::copy(repository.path().join(".git/index"), repository.path().join(".git/other")).expect("a copy");
    repository.git(&["add", "b.go"]);
    for (index, code) in [(".git/index", 1), (".git/other", 0)] {
        let cache = tempfile::tempdir().expect("a folder");
        let mut command = dupi_tests::binary::command(repository.path(), cache.path(), &["--check", "--staged"]);
        command.env("GIT_INDEX_FILE", index).env("GIT_DIR", ".git").env("GIT_PREFIX", "old/");
        assert_eq!(command.output().expect("the binary runs").status.code(), Some(code), "{index}");
    }
}

/// A conflict, and a file that is only meant to be added.
#[test]
fn conflicts_and_intents_to_add_are_changes_like_others() {
    let repository = history();
    repository.write("a.go", file("a", &["var ours = 1\n".to_owned(), function("Sum", "values")]));
    repository.commit("ours");
    repository.git(&["switch", "--quiet", "main"]);
    repository.write("a.go", file("a", &["var theirs = 1\n".to_owned(), function("Sum", "values")]));
    repository.commit("theirs");
    let _ = std::process::Command::new("git").arg("-C").arg(repository.path()).args(["merge", "branch"]).output();
    assert!(repository.git(&["ls-files", "--unmerged"]).contains("a.go"));
    expect(repository.path(), &["--since", "HEAD"], 0, &["passed"]);
    expect(repository.path(), &["--staged"], 0, &["passed"]);
    let intent = history();
    intent.write("b.go", file("b", &[function("Sum", "values")]));
    intent.git(&["add", "--intent-to-add", "b.go"]);
    expect(intent.path(), &["--since", "HEAD"], 1, &["b.go:3-15 ← in this change"]);
    expect(intent.path(), &["--staged"], 0, &["passed"]);
}

#[test]
fn a_baseline_and_a_change_together_show_what_is_in_neither() {
    let repository = history();
    let folder = repository.path();
    repository.write("b.go", file("b", &[function("Sum", "values")]));
    repository.commit("a copy");
    expect(folder, &["--since", "main"], 1, &[]);
    expect(folder, &["--write-baseline", "accepted.json"], 0, &["2 classes accepted"]);
    expect(folder, &["--since", "main", "--baseline", "accepted.json"], 0, &["passed"]);
}

/// For every commit of a history: what `--since` says of it is the difference of two runs over all files, one before
/// and one after. This is the short form; `tests/bench/since` goes through the history of real repositories.
#[test]
fn what_commits_add_is_the_difference_of_two_full_runs() {
    let repository = Repository::default();
    let cache = tempfile::tempdir().expect("a folder");
    let mut random = fastrand::Rng::with_seed(7);
    let pool: Vec<String> = (0..6)
        .map(|i| {
            let steps = "\ttotal += v(i)\n".repeat(i % 3);
            function(&format!("F{i}"), "values").replace("\ttotal := 0\n", &format!("\ttotal := {i}\n{steps}"))
        })
        .chain((0..3).map(|i| other(&format!("G{i}"))))
        .collect();
    repository.write("start.go", "package p\n");
    repository.commit("start");
    for _ in 0..40 {
        let name = format!("{}/f{}.go", ["a", "b", "vendor"][random.usize(..3)], random.usize(..4));
        match random.usize(..6) {
            0 => drop(std::fs::remove_file(repository.path().join(&name))),
            1 => drop(std::fs::rename(repository.path().join(&name), repository.path().join("start.go"))),
            _ => {
                let mut functions: Vec<String> =
                    (0..random.usize(1..5)).map(|_| random.choice(&pool).expect("one").clone()).collect();
                if random.bool() {
                    functions.insert(0, "var shift = 1\n".to_owned());
                }
                repository.write(&name, file("p", &functions));
            }
        }
        repository.commit("next");
    }
    let commits = repository.git(&["rev-list", "--reverse", "HEAD"]);
    let commits: Vec<&str> = commits.lines().collect();
    let compared = dupi_tests::since::compare(repository.path(), cache.path(), &commits, &[]);
    assert!(compared.commits > 30 && compared.adding > 3, "{} of {} commits add", compared.adding, compared.commits);
}
