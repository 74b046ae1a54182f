//! The verbs that ask the index: what they print is there, and what is wrong is told.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use dupi_tests::binary::{Run, command, run_with};
use dupi_tests::workspace::Workspace;
use serde_json::Value;

/// A function of about 70 tokens; `name` is what varies.
fn function(name: &str) -> String {
    format!(
        "func {name}(values []int, limit int) (int, error) {{\n\ttotal := 0\n\tfor i, v := range values {{\n\t\tif v > limit {{\n\t\t\treturn 0, fmt.Errorf(\"value %d at %d is over %d\", v, i, limit)\n\t\t}}\n\t\ttotal += v * i\n\t}}\n\tif total == 0 {{\n\t\treturn 0, nil\n\t}}\n\treturn total, nil\n}}\n"
    )
}

struct Place {
    workspace: Workspace,
    cache: Workspace,
}

impl Place {
    /// The same function in two files, once with other names and blanks, and a file without it.
    fn new() -> Place {
        let place = Place { workspace: Workspace::new(""), cache: Workspace::new("") };
        place.workspace.write("a.go", format!("package a\n\n{}", function("Sum")));
        let renamed = function("Count").replace("total", "sum").replace("\t", "  ").replace(" {\n", " { // é\n\n");
        place.workspace.write("b/b.go", format!("package b\n\nvar x = 1\n\n{renamed}"));
        place.workspace.write("c.go", "package c\n\nfunc other() { println(1, 2, 3) }\n");
        place
    }

    fn run(&self, arguments: &[&str]) -> Run {
        run_with(self.workspace.path(), self.cache.path(), arguments)
    }

    /// With something on standard input.
    fn pipe(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = command(self.workspace.path(), self.cache.path(), arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        let _ = writer.join();
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

/// What stands from one position (line from 1, column from 1 in UTF-16 units) up to another.
fn text_at(text: &str, place: &Value) -> String {
    let number = |key: &str| place[key].as_u64().unwrap_or_default() as usize;
    let offset = |line: usize, column: usize| {
        let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let mut units = 0;
        let before = text[start..].chars().take_while(|c| {
            units += c.len_utf16();
            units < column
        });
        start + before.map(char::len_utf8).sum::<usize>()
    };
    let start = offset(number("startLine"), number("startColumn"));
    text[start..offset(number("endLine"), number("endColumn"))].to_owned()
}

/// `extract | unblot` over a folder: how many places there are, each text of which stands where it says.
fn verified(place: &Place, root: &Path, arguments: &[&str]) -> usize {
    let folder = root.to_str().expect("a path");
    let common = [&["--in", folder][..], arguments].concat();
    let extracted = place.run(&[&["extract"][..], &common].concat());
    assert_eq!((extracted.code, extracted.stderr.as_str()), (0, ""));
    let unblotted = place.pipe(&[&["unblot", "--json"][..], &common].concat(), &extracted.stdout);
    assert_eq!((unblotted.code, unblotted.stderr.as_str()), (0, ""));
    let unblotted = unblotted.json();
    let unblotted = unblotted.as_array().expect("a list");
    assert_eq!(unblotted.len(), extracted.stdout.lines().count());
    let mut sources: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut n_places = 0;
    for (line, blot) in extracted.stdout.lines().zip(unblotted) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[0], words[1]), (blot["blot"].as_str().expect("a blot"), &*blot["places"].to_string()));
        let texts = blot["groups"].as_array().expect("groups").iter().flat_map(|group| group["texts"].as_array());
        let places: Vec<&Value> = texts.flatten().flat_map(|text| text["places"].as_array().expect("places")).collect();
        assert_eq!(places.len().to_string(), words[1]);
        for found in &places {
            let path = root.join(found["path"].as_str().expect("a path"));
            let source =
                sources.entry(path).or_insert_with_key(|path| std::fs::read_to_string(path).expect("a source"));
            // A byte order mark is no column.
            assert_eq!(found["text"], text_at(source.trim_start_matches('\u{feff}'), found), "{found}");
        }
        n_places += places.len();
    }
    n_places
}

#[test]
fn every_text_that_extract_and_unblot_print_stands_where_it_says() {
    let place = Place::new();
    assert!(verified(&place, place.workspace.path(), &[]) >= 4);
    // Other blotters and windows have indexes of their own; XOR blots are shared by chance.
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../grammars/src");
    for arguments in [&[][..], &["--blotter", "circular"], &["--k", "12", "--w", "8"]] {
        assert!(verified(&place, &own, arguments) > 100, "{arguments:?}");
    }
}

#[test]
#[ignore = "long: of a folder named by DUPI_FOLDER, or of the sources that tests/fetch-sources got"]
fn every_text_of_a_large_folder_stands_where_it_says() {
    let sources = dupi_tests::binary::target().join("sources");
    let folder = std::env::var_os("DUPI_FOLDER").map_or(sources, PathBuf::from);
    assert!(verified(&Place::new(), &folder, &[]) > 1000);
}

#[test]
fn extract_is_in_descending_order_and_sigma_is_a_bound() {
    let place = Place::new();
    place.workspace.write("alone.go", "package p\n\nfunc alone(m map[string]int) (n int) {\n\tfor k := range m {\n\t\tswitch {\n\t\tcase k == \"a\":\n\t\t\tdelete(m, k)\n\t\tdefault:\n\t\t\tgo func() { n -= len(k) / 2 }()\n\t\t}\n\t}\n\treturn\n}\n");
    let all = place.run(&["extract", "--min-places", "1", "--json"]).json();
    let places = |json: &Value| -> Vec<u64> {
        json["blots"].as_array().expect("blots").iter().filter_map(|blot| blot["places"].as_u64()).collect()
    };
    assert!(places(&all).is_sorted_by(|a, b| a >= b) && places(&all).contains(&1));
    let n = places(&all).len() as f64;
    let mean = places(&all).iter().sum::<u64>() as f64 / n;
    let sigma = (places(&all).iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!((all["mean"].as_f64().expect("a number") - mean).abs() < 1e-9);
    assert!((all["sigma"].as_f64().expect("a number") - sigma).abs() < 1e-9);
    for s in ["-1", "0", "0.5", "1"] {
        let bound = mean + s.parse::<f64>().expect("a number") * sigma;
        let expected: Vec<u64> = places(&all).into_iter().filter(|&n| n as f64 >= bound).collect();
        let some = place.run(&["extract", "--min-places", "1", "--json", "--sigma", s]).json();
        assert_eq!(places(&some), expected, "{s}");
    }
    assert_eq!(place.run(&["extract", "--top", "1"]).stdout.lines().count(), 1);
    let inspected = place.run(&["inspect", "--json"]).json();
    assert_eq!((&inspected["mean"], inspected["blots"].as_u64()), (&all["mean"], Some(n as u64)));
    assert!(place.run(&["inspect"]).stdout.contains('█'));
}

#[test]
fn a_blot_leads_to_all_its_texts_whatever_their_names_and_blanks() {
    let place = Place::new();
    let blots = place.run(&["blot", "a.go", "--json"]).json();
    let shared =
        blots["blots"].as_array().expect("blots").iter().find(|blot| blot["files"] == 2).expect("a shared one");
    let unblotted = place.run(&["unblot", shared["blot"].as_str().expect("a blot"), "--json"]).json();
    let groups = unblotted[0]["groups"].as_array().expect("groups");
    assert_eq!((groups.len(), groups[0]["texts"].as_array().map(Vec::len)), (1, Some(2)), "{unblotted}");
    let text = place.run(&["unblot", shared["blot"].as_str().expect("a blot")]).stdout;
    assert!(text.contains("2 places in 2 files") && text.contains("with other names:"), "{text}");
    assert!(text.contains("a.go:") && text.contains("b/b.go:"), "{text}");
    let piped = place.pipe(&["unblot", "-"], &place.run(&["blot", "a.go"]).stdout);
    assert!(piped.stdout.contains(&text), "{}", piped.stdout);
    assert_eq!(place.run(&["unblot", "0123456789abcdef"]).code, 1);
}

#[test]
fn like_finds_a_file_some_lines_and_a_snippet_that_is_in_no_file() {
    let place = Place::new();
    let run = place.run(&["like", "a.go", "--json"]);
    let found = run.json();
    assert_eq!((run.code, &found[0]["path"], found.as_array().map(Vec::len)), (0, &"b/b.go".into(), Some(1)));
    assert_eq!((&found[0]["kind"], &found[0]["ofStartLine"]), (&"renamed".into(), &3.into()));
    let lines = place.run(&["like", "a.go:5-9"]);
    assert!(lines.stdout.contains("b/b.go:") && lines.stdout.contains(" is like 5-9"), "{}", lines.stdout);
    let snippet = place.pipe(&["like", "-", "--as", "go"], &function("Another"));
    assert!(snippet.stdout.contains("a.go:3-15") && snippet.stdout.contains("b/b.go:"), "{}", snippet.stdout);
    assert_eq!(place.pipe(&["like", "-", "--as", "python"], "x = [f(y, 1) for y in range(10) if y > 3]\n").code, 1);
    place.workspace.write("d.go", format!("package d\n\n{}", function("Sum")));
    assert_eq!(place.run(&["like", "a.go", "--no-refresh", "--json"]).json(), found, "the index as it was");
    assert_eq!(place.run(&["like", "a.go", "--json"]).json()[0]["path"], "d.go");
}

#[test]
fn similar_tells_shares_in_both_directions() {
    let place = Place::new();
    place
        .workspace
        .write("d.go", format!("package d\n\n{}\n{}", function("Sum"), function("Sum2").replace("0", "f(1)")));
    let all = place.run(&["similar", "--format", "json", "--min-chunks", "1"]).json();
    let file =
        |path: &str| all.as_array().and_then(|all| all.iter().find(|file| file["path"] == path)).expect("a file");
    let other = |path: &str, other: &str| {
        let others = file(path)["others"].as_array().expect("others");
        others.iter().find(|of| of["path"] == other).expect("it shares something").clone()
    };
    let (there, back) = (other("a.go", "d.go"), other("d.go", "a.go"));
    assert_eq!((&there["shared"], &there["share"]), (&back["shared"], &back["shareOfOther"]));
    assert!(there["share"].as_f64() > back["share"].as_f64());
    let one = place.run(&["similar", "a.go", "--format", "json"]).json();
    assert_eq!(&one[0], file("a.go"));
    let csv = place.run(&["similar", "--format", "csv", "--min-chunks", "1"]).stdout;
    assert!(csv.starts_with("path,chunks,other,other_chunks,shared,share,share_of_other\n"), "{csv}");
    assert!(csv.contains("\"a.go\",") && place.run(&["similar", "--min-chunks", "1"]).stdout.contains(" of a.go in "));
}

#[test]
fn what_is_taboo_is_neither_reported_nor_counted() {
    let place = Place::new();
    let before = place.run(&["--check", "--format", "json"]).json();
    assert_eq!(before["summary"]["classes"], 1);
    place.workspace.write("idioms/sum.go.txt", function("Any"));
    place.workspace.write(
        "dupi.toml",
        "[[taboo]]\nfile = \"idioms/sum.go.txt\"\nlang = \"go\"\nreason = \"everybody has it\"\n\n[[taboo]]\ntext = '''\nfor i := 0; i < n; i++ {\n\tprintln(i, n)\n}\n'''\nlang = \"go\"\n",
    );
    for arguments in [&["--check", "--format", "json"][..], &["--check", "--format", "json", "--no-index"]] {
        let after = place.run(arguments);
        assert_eq!((after.code, &after.json()["classes"]), (0, &Value::Array(Vec::new())), "{}", after.stderr);
    }
    assert_eq!(place.run(&["extract"]).stdout, "");
    assert_eq!(place.run(&["like", "a.go"]).code, 1);
    for (text, message) in [
        ("[[taboo]]\n", "`taboo`: needs either `text` or `file`"),
        ("[[taboo]]\ntext = \"x\"\n", "cannot tell the language of text: name it by `lang`"),
        ("[[taboo]]\ntext = \"x := 1\"\nlang = \"go\"\n", "has 3 tokens, and needs 12"),
        ("[[taboo]]\nfile = \"../../etc/passwd\"\n", "no file of the project"),
        ("[[taboo]]\nfile = \"nowhere.go\"\n", "dupi.toml:2: `file`: no file of the project: nowhere.go"),
        ("[[taboo]]\ntext = \"x\"\nlang = \"cobol\"\n", "no such lang: `cobol`"),
    ] {
        place.workspace.write("dupi.toml", text);
        let run = place.run(&["--check"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.stderr.contains(message), "{text}: {}", run.stderr);
    }
}

#[test]
fn wrong_usage_is_exit_code_2_and_says_what_to_do() {
    let place = Place::new();
    place.workspace.write("binary.go", b"package a\0\0\0");
    place.workspace.write("empty.go", "// nothing\n");
    place.workspace.write("notes.txt", "some words");
    for (arguments, message) in [
        (&["extract", "--sigma", "much"][..], "invalid value 'much'"),
        (&["extract", "--sigma", "nan"], "`--sigma` must be a number"),
        (&["extract", "--k", "0"], "0 is not in 1..=1024"),
        (&["extract", "--in", "nowhere"], "cannot read nowhere"),
        (&["extract", "--no-refresh", "--w", "5"], "leave out `--no-refresh`"),
        (&["extract", "--lang", "rust"], "nothing indexed: no source file under"),
        (&["check", "--k", "5"], "unexpected argument '--k'"),
        (&["blot", "nowhere.go"], "cannot read nowhere.go"),
        (&["blot", "notes.txt"], "cannot tell the language of notes.txt: name it by `--as`"),
        (&["blot", "notes.txt", "--as", "cobol"], "`--as`: no such language: `cobol`; known are: go, "),
        (&["blot", "binary.go"], "cannot ask about binary.go: binary"),
        (&["blot", "empty.go"], "cannot ask about empty.go: "),
        (&["unblot", "xyz"], "`xyz` is no blot: 16 hex digits"),
        (&["unblot", "+123456789abcdef"], "is no blot"),
        (&["like", "a.go:9-3"], "`9-3` are no lines: write a.go:10-20"),
        (&["like", "a.go:900-901"], "a.go has no line 900: it has 15"),
        (&["like", "a.go:4"], "tokens are like everything: it takes 12"),
        (&["similar", "nowhere.go"], "cannot read nowhere.go"),
        (&["similar", "notes.txt"], "notes.txt is no source that is looked at"),
        (&["similar", "--by", "looks"], "invalid value 'looks'"),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
    let run = place.pipe(&["unblot"], "0123456789abcdef 7\nnonsense\n");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("standard input, line 2: `nonsense` is no blot"), "{}", run.stderr);
}

#[test]
fn every_verb_has_examples_and_a_page_in_the_manual() {
    let place = Place::new();
    for verb in ["extract", "blot", "unblot", "like", "inspect", "similar"] {
        let help = place.run(&[verb, "--help"]);
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains("Examples:\n  dupi-lsp ") && help.stdout.contains("Exit code:"), "{verb}");
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../server/manual/{verb}.md"));
        let page = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(page.starts_with(&format!("# dupi-lsp {verb}\n")), "{verb}");
    }
}

#[cfg(unix)]
#[test]
fn names_and_code_cannot_steer_the_terminal() {
    let place = Place::new();
    place
        .workspace
        .write("x\u{1b}[31m.go", format!("package x\n\n{}", function("Sum").replace("over", "\u{1b}]0;x\u{7}")));
    let blots = place.run(&["extract"]).stdout;
    for run in [
        place.pipe(&["unblot"], &blots),
        place.run(&["like", "a.go"]),
        place.run(&["similar", "--min-chunks", "1"]),
        place.run(&["similar", "a.go"]),
        place.run(&["like", "x\u{1b}[31m.go:900"]),
    ] {
        assert!(!(run.stdout + &run.stderr).contains(['\u{1b}', '\u{7}']));
    }
}

#[test]
fn a_closed_pipe_is_no_crash() {
    let place = Place::new();
    for arguments in [&["extract"][..], &["inspect"], &["similar", "--min-chunks", "1"], &["like", "a.go"]] {
        let mut command = command(place.workspace.path(), place.cache.path(), arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
