//! `dupi-lsp corpus` as those who clean corpora meet it: lines in, lines out, none lost.

use std::fs;
use std::time::Duration;

use dupi_tests::binary::{Run, command, run, run_within};
use dupi_tests::workspace::Workspace;

fn line(text: &str) -> String {
    format!("{}\n", serde_json::json!({ "id": text.len(), "text": text }))
}

/// Some source, of which no two numbers have much in common.
fn text(n: u32) -> String {
    (0..40).map(|i| format!("let v{} = f{}({});\n", n * 31 + i, n * 17 + i * 3, n * i)).collect()
}

fn good(folder: &Workspace, arguments: &[&str]) -> Run {
    let run = run(folder.path(), &[&["corpus"][..], arguments].concat());
    assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.stdout, run.stderr);
    run
}

fn read(folder: &Workspace, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn duplicates_are_flagged_and_the_others_stay_as_they_were() {
    let folder = Workspace::new("");
    let nearly = text(1).replacen("f17", "g17", 1);
    let lines = [line(&text(1)), line(&text(2)), line(&text(1)), line(&nearly), line(&text(3))];
    folder.write("a.jsonl", lines.concat());
    for hash in ["murmur3", "xxh3"] {
        let run = good(&folder, &["hash", "a.jsonl", "-o", "a.mh", "--hash", hash]);
        assert!(run.stdout.starts_with("hashed 5 documents, "), "{}", run.stdout);
        assert_eq!(read(&folder, "a.mh.f"), "11111");
        let run = good(&folder, &["self", "a.mh", "--index", "a.idx"]);
        assert_eq!(run.stdout, "a.mh: 2 duplicates of 5 documents (40.0 %)\n");
        assert_eq!(read(&folder, "a.mh.f"), "11001");
        let kept = good(&folder, &["apply", "a.mh.f", "a.jsonl"]).stdout;
        assert_eq!(kept, [&lines[0][..], &lines[1], &lines[4]].concat());

        folder.write("b.jsonl", [line(&text(9)), line(&text(2)), line(&text(9))].concat().trim_end());
        good(&folder, &["hash", "b.jsonl", "-o", "b.mh", "--hash", hash]);
        assert_eq!(good(&folder, &["other", "a.idx", "b.mh"]).stdout, "b.mh: 1 duplicate of 3 documents (33.3 %)\n");
        assert_eq!(read(&folder, "b.mh.f"), "101");
        let run = good(&folder, &["self", "b.mh", "--threads", "1", "--memory", "1"]);
        assert_eq!(run.stdout, "b.mh: 2 duplicates of 3 documents (66.7 %), 1 of them new\n");
        good(&folder, &["apply", "b.mh.f", "b.jsonl", "-o", "clean.jsonl"]);
        assert_eq!(read(&folder, "clean.jsonl"), line(&text(9)));
    }
}

/// What somebody names may be a pipe, since corpora are larger than disks; a device is none.
#[cfg(unix)]
#[test]
fn documents_come_from_a_pipe_too() {
    let folder = Workspace::new("");
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    let writing = std::thread::spawn(move || fs::write(pipe, [line(&text(1)), line(&text(2))].concat()));
    let run = good(&folder, &["hash", "pipe", "-o", "a.mh"]);
    assert!(run.stdout.starts_with("hashed 2 documents, "), "{}", run.stdout);
    writing.join().expect("a thread").expect("written");
    let endless = command(folder.path(), folder.path(), &["corpus", "hash", "/dev/zero", "-o", "b.mh"]);
    let run = run_within(endless, Duration::from_secs(60)).expect("it ends");
    assert!(run.code == 2 && run.stderr.contains("/dev/zero: not a regular file"), "{}", run.stderr);
}

#[test]
fn what_is_no_document_is_named_and_kept() {
    let folder = Workspace::new("");
    let bad = ["{\"text\": \"cut\n", "\n", "{\"text\": 7}\n", "[\"text\"]\n", "{\"other\": \"x\"}\n"];
    let lines = [&line(&text(1))[..], bad[0], bad[1], bad[2], &line(&text(1)), bad[3], bad[4], bad[0]];
    folder.write("a.jsonl", lines.concat());
    let run = good(&folder, &["hash", "a.jsonl", "-o", "a.mh"]);
    let named = read(&folder, "a.mh.err");
    let places: Vec<&str> = named.lines().map(|line| line.split(": ").next().unwrap_or("")).collect();
    assert_eq!(places, ["a.jsonl:2", "a.jsonl:3", "a.jsonl:4", "a.jsonl:6", "a.jsonl:7", "a.jsonl:8"]);
    assert!(named.contains("a.jsonl:4: no text at the key `text`\n"), "{named}");
    assert!(run.stderr.contains("note: a.jsonl:2: EOF while parsing a string at column "), "{}", run.stderr);
    assert!(run.stderr.contains("6 lines or files are no document, kept and never compared"), "{}", run.stderr);
    good(&folder, &["self", "a.mh"]);
    assert_eq!(read(&folder, "a.mh.f"), "11110111", "not even the two that are alike");
    let kept = good(&folder, &["apply", "a.mh.f", "a.jsonl"]).stdout;
    assert_eq!(kept, [&lines[..4], &lines[5..]].concat().concat());
    folder.write("a.jsonl", line("good again"));
    good(&folder, &["hash", "a.jsonl", "-o", "a.mh"]);
    assert!(!folder.path().join("a.mh.err").exists(), "of another time");
}

#[test]
fn a_folder_of_source_is_a_corpus_and_tokens_are_what_counts_in_code() {
    let folder = Workspace::new("");
    let code =
        |n: u32| format!("package a\n\nfunc f{n}() {{\n{}}}\n", text(n).replace("let ", "\t").replace('=', ":="));
    folder.write("src/a.go", code(1));
    folder.write(
        "src/b/b.go",
        code(1).replace(";\n", "; // as above, but told in other words\n\n").replace('\t', "    "),
    );
    folder.write("src/c.go", code(2));
    folder.write("src/notes.txt", code(1));
    for (by, flags) in [("chars", "111"), ("tokens", "101")] {
        good(&folder, &["hash", "src", "-o", "s.mh", "--by", by]);
        good(&folder, &["self", "s.mh"]);
        assert_eq!(read(&folder, "s.mh.f"), flags, "{by}");
    }
    let kept = good(&folder, &["apply", "s.mh.f", "src"]).stdout;
    let kept: Vec<serde_json::Value> = kept.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(kept.iter().map(|document| &document["path"]).collect::<Vec<_>>(), ["a.go", "c.go"]);
    assert_eq!(kept[0]["text"], code(1));

    let lines = ["a.go", "b/b.go", "c.go"].map(|name| {
        format!("{}\n", serde_json::json!({ "path": name, "content": read(&folder, &format!("src/{name}")) }))
    });
    folder.write("s.jsonl", lines.concat());
    for more in [&[][..], &["--lang", "go", "--path-key", "none"]] {
        let hash = ["hash", "s.jsonl", "-o", "s.mh", "--by", "tokens", "--key", "content"];
        good(&folder, &[&hash[..], more].concat());
        good(&folder, &["self", "s.mh"]);
        assert_eq!(read(&folder, "s.mh.f"), "101", "{more:?}");
    }
}

#[test]
fn what_is_wrong_is_said_with_exit_code_2() {
    let folder = Workspace::new("");
    folder.write("a.jsonl", [line(&text(1)), line(&text(2))].concat());
    folder.write("empty.jsonl", "");
    good(&folder, &["hash", "a.jsonl", "-o", "a.mh"]);
    good(&folder, &["hash", "a.jsonl", "-o", "m.mh", "--hash", "murmur3"]);
    good(&folder, &["self", "a.mh", "--index", "a.idx"]);
    good(&folder, &["hash", "a.jsonl", "-o", "f.mh"]);
    folder.write("f.mh.f", "1x");
    folder.write("short.f", "1");
    folder.write("long.f", "111");
    fs::copy(folder.path().join("a.mh"), folder.path().join("n.mh")).expect("a file");
    for (arguments, message) in [
        (&["hash", "none.jsonl", "-o", "x.mh"][..], "cannot read none.jsonl: No such file"),
        (&["hash", "empty.jsonl", "-o", "x.mh"], "nothing hashed: no document in empty.jsonl"),
        (&["hash", "a.jsonl", "-o", "none/x.mh"], "none/x.mh: No such file"),
        (&["hash", "a.jsonl", "-o", "x.mh", "-b", "0"], "`--bucket`, `--buckets`: a document has at least one"),
        (&["hash", "a.jsonl", "-o", "x.mh", "-r", "99999"], "are more than 65536 hashes"),
        (&["hash", "a.jsonl", "-o", "x.mh", "--by", "tokens", "--lang", "klingon"], "no such language: `klingon`"),
        (&["hash", "a.jsonl", "-o", "x.mh", "--hash", "md5"], "invalid value 'md5'"),
        (&["self", "a.jsonl"], "a.jsonl: not made by `dupi-lsp corpus hash`, or not whole"),
        (&["self", "a.mh", "m.mh"], "m.mh has murmur3 of characters, 20 × 40, a.mh has xxh3 of characters, 20 × 40"),
        (&["self", "a.mh", "a.mh"], "a.mh is named twice"),
        (&["self", "f.mh"], "f.mh.f: character 2 is neither 0 nor 1"),
        (&["self", "n.mh"], "n.mh.f: No such file"),
        (&["other", "a.mh", "a.mh"], "a.mh: not made by `dupi-lsp corpus self --index`"),
        (&["other", "a.idx", "m.mh"], "they cannot be compared"),
        (&["apply", "short.f", "a.jsonl"], "short.f has only 1 flag"),
        (&["apply", "long.f", "a.jsonl"], "1 flag more than documents"),
        (&["hash", "a.jsonl", "-o", "a.jsonl"], "a.jsonl: it is a file of another kind"),
        (&["apply", "a.mh.f", "a.jsonl", "-o", "a.mh"], "cannot write a.mh: it is a file of another kind"),
        (&["apply", "a.mh.f", "a.jsonl", "-o", "a.jsonl"], "a.jsonl would be written over itself"),
    ] {
        let run = run(folder.path(), &[&["corpus"][..], arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    for step in ["hash", "self", "other", "apply"] {
        let help = good(&folder, &[step, "--help"]).stdout;
        assert!(help.contains("Examples:\n  dupi-lsp corpus "), "{help}");
    }
}
