//! `dupi-lsp report` as its users meet it on the command line; `tests/report` looks at the page itself.

use std::path::Path;

use dupi_tests::binary::{Run, run};
use dupi_tests::workspace::Workspace;

const CODE: &str = "def group(rows, width):\n    seen = {}\n    for row in rows:\n        key = tuple(sorted(row[:width]))\n        if key in seen:\n            seen[key].append(row)\n        else:\n            seen[key] = [row]\n    best = max(seen, key=lambda key: len(seen[key]))\n    return seen.get(best, [])\n";

fn pair() -> Workspace {
    let workspace = Workspace::new("");
    workspace.write("a.py", CODE);
    workspace.write("b/secret.py", CODE);
    workspace
}

fn report(folder: &Path, arguments: &[&str]) -> Run {
    run(folder, &[&["report"][..], arguments].concat())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_page_is_written_and_nothing_else() {
    let workspace = pair();
    let out = tempfile::tempdir().unwrap();
    let page = out.path().join("page.html");
    let run = report(workspace.path(), &["-o", page.to_str().unwrap()]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("page.html: 1 class in 2 files, 100.0 % duplicated; "), "{}", run.stdout);
    assert_eq!(
        (names(out.path()), names(workspace.path())),
        (vec!["page.html".into()], vec!["a.py".into(), "b".into()])
    );
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("Content-Security-Policy") && text.ends_with("</html>\n"));
    for word in ["secret", "lambda", &workspace.path().display().to_string()] {
        assert!(!text.contains(word), "`{word}` stands in the page as it is");
    }
    assert!(!text.contains("%%"), "a part of the frame was not filled in");
}

#[test]
fn without_a_name_it_is_in_the_current_folder_and_is_overwritten_by_the_next() {
    let workspace = pair();
    for _ in 0..2 {
        let run = report(workspace.path(), &[]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        assert_eq!(names(workspace.path()), ["a.py", "b", "dupi-report.html"]);
    }
}

#[test]
fn what_is_no_report_is_not_overwritten() {
    let workspace = pair();
    workspace.write("notes.html", "<!doctype html>\n<p>mine");
    for (output, reason) in
        [("notes.html", "is a file of another kind"), ("b", "is a folder"), ("no/where.html", "cannot write")]
    {
        let run = report(workspace.path(), &["-o", output]);
        assert_eq!(run.code, 2, "{output}");
        assert!(run.stderr.contains(reason) && run.stderr.contains(output), "{}", run.stderr);
    }
    assert_eq!(std::fs::read_to_string(workspace.path().join("notes.html")).unwrap(), "<!doctype html>\n<p>mine");
    workspace.write("empty.html", "");
    assert_eq!(report(workspace.path(), &["-o", "empty.html"]).code, 0, "there is nothing to lose");
}

/// A checkout may bring a link by the name of the page, to a file of whoever runs the report there.
#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let workspace = pair();
    let out = tempfile::tempdir().unwrap();
    let elsewhere = out.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, workspace.path().join("dupi-report.html")).unwrap();
    let run = report(workspace.path(), &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("cannot write dupi-report.html: it is a link"), "{}", run.stderr);
    assert!(!elsewhere.exists());
}

#[test]
fn standard_output_gets_the_page_alone() {
    let workspace = pair();
    let run = report(workspace.path(), &["-o", "-"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("<!doctype html>") && run.stdout.ends_with("</html>\n"));
    assert_eq!(names(workspace.path()), ["a.py", "b"]);
}

#[test]
fn nothing_scanned_is_no_page() {
    let workspace = Workspace::new("//- README.md\nhello\n");
    let run = report(workspace.path(), &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nothing scanned"), "{}", run.stderr);
    assert_eq!(names(workspace.path()), ["README.md"]);
}

#[test]
fn earlier_runs_are_reports_as_json_and_nothing_else() {
    let workspace = pair();
    let json = run(workspace.path(), &["--check", "--format", "json"]).stdout;
    let runs = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = runs.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (good, bad) = (write("monday.json", &json), write("tuesday.json", "{\"summary\": {}}"));
    assert_eq!(report(workspace.path(), &["--history", &good, &good, "-o", "-"]).code, 0);
    for (path, reason) in [(bad.as_str(), "is no report"), ("missing.json", "cannot read missing.json")] {
        let run = report(workspace.path(), &["--history", &good, path, "-o", "-"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains(reason) && run.stderr.contains("--history"), "{}", run.stderr);
    }
}
