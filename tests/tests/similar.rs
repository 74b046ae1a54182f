//! `dupi-lsp similar --by simhash`: near files and functions, and what is kept of them.

use std::fs;

use dupi_tests::binary::{Run, run_with};
use dupi_tests::workspace::Workspace;
use serde_json::{Value, json};

fn function(name: &str, n: u32) -> String {
    let steps: String = (0..100).map(|i| format!("\tv{} := f{}(v, {})\n", n + i, n * 3 + i, i * n)).collect();
    format!("func {name}(v int) {{\n{steps}}}\n")
}

struct Place {
    workspace: Workspace,
    cache: Workspace,
}

impl Place {
    fn new() -> Place {
        let place = Place { workspace: Workspace::new(""), cache: Workspace::new("") };
        let two = format!("{}\n{}", function("A", 1), function("B", 100));
        place.workspace.write("a.go", format!("package a\n\n{two}"));
        place.workspace.write("copy/a.go", format!("package a\n\n// The same.\n{two}"));
        place.workspace.write("near.go", format!("package a\n\n{}", two.replacen("f3(", "g3(", 1)));
        place.workspace.write("far.go", format!("package a\n\n{}\n{}", function("C", 7000), function("B", 100)));
        place.workspace.write("tiny.go", "package a\n\nvar x = 1\n");
        place
    }

    fn run(&self, arguments: &[&str]) -> Run {
        run_with(self.workspace.path(), self.cache.path(), &[&["similar", "--by", "simhash"][..], arguments].concat())
    }

    /// Distance and paths of what is found.
    fn found(&self, arguments: &[&str]) -> Vec<(u64, Vec<String>)> {
        let run = self.run(&[&["--format", "json"][..], arguments].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
        let places = |near: &Value| {
            let both =
                ["left", "right"].into_iter().flat_map(|side| near[side].as_array().cloned().unwrap_or_default());
            both.map(|place| place["path"].as_str().unwrap_or("").to_owned()).collect()
        };
        let all = run.json().as_array().cloned().expect("a list");
        all.iter().map(|near| (near["distance"].as_u64().expect("a number"), places(near))).collect()
    }
}

#[test]
fn files_and_functions_near_each_other_are_found() {
    let place = Place::new();
    let found = place.found(&[]);
    assert_eq!(found[0], (0, vec!["a.go".to_owned(), "copy/a.go".to_owned()]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[1].1, ["a.go", "copy/a.go", "near.go"]);
    assert!(found[1].0 <= 3);
    let of_near: Vec<Vec<String>> = place.found(&["near.go"]).into_iter().map(|(_, paths)| paths).collect();
    assert_eq!(of_near, [["near.go", "a.go"], ["near.go", "copy/a.go"]]);
    assert_eq!(place.found(&["far.go"]), []);
    assert_eq!(place.found(&["--distance", "0", "near.go"]), []);

    let functions = place.run(&["--functions", "--distance", "0", "--blocks", "2", "--format", "json"]).json();
    let b = &functions.as_array().expect("a list")[1];
    assert_eq!(b["left"].as_array().map(Vec::len), Some(4), "{functions}");
    assert_eq!(b["left"][0], json!({ "path": "a.go", "startLine": 106, "endLine": 207 }));
    let text = place.run(&["--functions", "far.go"]).stdout;
    assert!(text.contains(" 0 bits far.go:106-207  ~  a.go:106-207\n"), "{text}");
    assert_eq!(place.found(&["--weights", "tf-idf"])[0].1, ["a.go", "copy/a.go"]);
}

#[test]
fn what_is_kept_follows_the_files_and_is_made_anew_if_damaged() {
    let place = Place::new();
    place.found(&[]);
    let kept = || -> Vec<std::path::PathBuf> {
        fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
            let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
            entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
        }
        files(place.cache.path()).into_iter().filter(|path| path.extension().is_some_and(|end| end == "sim")).collect()
    };
    let [file] = &kept()[..] else { panic!("{:?}", kept()) };
    let written = fs::read(file).expect("a file");
    fs::write(place.workspace.path().join("near.go"), fs::read(place.workspace.path().join("far.go")).expect("a file"))
        .expect("a file");
    let expected = vec![
        (0, vec!["a.go".to_owned(), "copy/a.go".to_owned()]),
        (0, vec!["far.go".to_owned(), "near.go".to_owned()]),
    ];
    assert_eq!(place.found(&[]), expected);
    let renewed = fs::read(file).expect("a file");
    assert_ne!(renewed, written);
    let mut flipped = renewed.clone();
    flipped[renewed.len() / 2] ^= 1;
    fs::write(file, flipped).expect("a file");
    let verified = run_with(place.workspace.path(), place.cache.path(), &["index", "--verify"]);
    assert_eq!(verified.code, 1);
    assert!(verified.stdout.contains(".sim is damaged: it is hashed anew"), "{}", verified.stdout);
    assert_eq!(place.found(&[]), expected);
    assert_eq!(fs::read(file).expect("a file"), renewed);
}

#[test]
fn what_is_wrong_is_said_with_exit_code_2() {
    let place = Place::new();
    for (arguments, message) in [
        (&["--distance", "5"][..], "`--distance`, `--blocks`: 5 blocks find what differs in less than 5 bits"),
        (&["--blocks", "1", "--distance", "0"], "a hash is cut into 2 to 64 blocks, not 1"),
        (&["--blocks", "40", "--distance", "20"], "would need"),
        (&["none.go"], "cannot read none.go"),
        (&["tiny.go"], "tiny.go: it has less than 50 tokens"),
        (&["--functions", "tiny.go"], "each of its functions has less than 50 tokens"),
        (&["--weights", "none"], "invalid value 'none'"),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    let help = place.run(&["--help"]).stdout;
    assert!(help.contains("\n  dupi-lsp similar --by simhash src/main.go "), "{help}");
}
