//! The formats of a report, each read by what its users read it with; and names that try to be more than names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use boon::{Compiler, Schemas};
use dupi_tests::binary::{Run, run};
use dupi_tests::workspace::{Workspace, function, pair};
use serde_json::Value;

fn check(workspace: &Workspace, arguments: &[&str]) -> Run {
    run(workspace.path(), &[&["--check"][..], arguments].concat())
}

fn validate(schema: &Path, value: &Value) -> Result<(), String> {
    let mut schemas = Schemas::new();
    let index = Compiler::new().compile(&schema.to_string_lossy(), &mut schemas).expect("the schema is one");
    schemas.validate(value, index).map_err(|error| format!("{error:#}"))
}

/// The schema that OASIS publishes, in a package that is among the tests' own dependencies.
fn sarif_schema() -> PathBuf {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let package = packages.iter().find(|package| package["name"] == "serde-sarif").expect("a dependency");
    Path::new(package["manifest_path"].as_str().expect("a path")).with_file_name("src").join("schema.json")
}

fn gitlab_schema() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gitlab-code-quality.json")
}

#[test]
fn sarif_is_valid_and_each_copy_is_a_result_with_the_others_as_links() {
    let workspace = pair();
    let run = check(&workspace, &["--format", "sarif"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let log = run.json();
    validate(&sarif_schema(), &log).expect("valid");
    let results = log["runs"][0]["results"].as_array().expect("a list").clone();
    assert_eq!(results.len(), 2);
    let result = &results[0];
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!((region["startLine"].as_u64(), region["endLine"].as_u64()), (Some(3), Some(15)));
    assert_eq!((region["startColumn"].as_u64(), region["endColumn"].as_u64()), (Some(1), Some(2)));
    assert_eq!(result["message"]["text"], "13 lines duplicated in 1 other place: [b/b.go:7](1)");
    let related = &result["relatedLocations"][0];
    assert_eq!(
        (&related["id"], &related["physicalLocation"]["artifactLocation"]["uri"]),
        (&1.into(), &"b/b.go".into())
    );

    // A copy keeps its fingerprint when lines shift, and no other has it.
    let prints = |log: &Value| -> Vec<String> {
        let results = log["runs"][0]["results"].as_array().expect("a list");
        results.iter().map(|result| result["partialFingerprints"]["dupiCopy/v1"].to_string()).collect()
    };
    workspace.write("a.go", format!("package a\n\n// more\n\n{}", function("Sum", "values")));
    let shifted = check(&workspace, &["--format", "sarif"]).json();
    assert_eq!(prints(&shifted), prints(&log));
    assert_eq!(prints(&log).into_iter().collect::<BTreeSet<_>>().len(), 2);

    let mut broken = log;
    broken["runs"][0]["results"][0]["level"] = "bad".into();
    assert!(validate(&sarif_schema(), &broken).is_err(), "the schema can fail");
}

#[test]
fn gitlab_gets_an_issue_for_each_copy_with_a_fingerprint_of_its_own() {
    let workspace = pair();
    let issues = check(&workspace, &["--format", "gitlab"]).json();
    validate(&gitlab_schema(), &issues).expect("valid");
    let location = &issues[1]["location"];
    assert_eq!((&location["path"], &location["lines"]["begin"]), (&"b/b.go".into(), &7.into()));
    assert_ne!(issues[0]["fingerprint"], issues[1]["fingerprint"]);
    let clean = check(&Workspace::new("//- a.py\nx = 1\n"), &["--format", "gitlab"]);
    assert_eq!((clean.code, clean.stdout.as_str()), (0, "[]\n"));
}

#[test]
fn checkstyle_lists_copies_by_file() {
    let text = check(&pair(), &["--format", "checkstyle"]).stdout;
    let xml = roxmltree::Document::parse(&text).expect("XML");
    let files: Vec<_> = xml.descendants().filter(|node| node.has_tag_name("file")).collect();
    let names: Vec<_> = files.iter().filter_map(|file| file.attribute("name")).collect();
    assert_eq!(names, ["a.go", "b/b.go"]);
    let error = files[1].children().find(|node| node.is_element()).expect("an error");
    assert_eq!((error.attribute("line"), error.attribute("severity")), (Some("7"), Some("warning")));
}

#[test]
fn github_gets_one_line_for_each_class_and_one_for_what_fails() {
    let text = check(&pair(), &["--format", "github"]).stdout;
    let expected = "::warning file=a.go,line=3,endLine=15,title=Duplicated code (exact)::13 lines duplicated in 1 other \
                    place: b/b.go:7\n::error title=dupi-lsp::1 class of duplicated code\n";
    assert_eq!(text, expected);
}

#[test]
fn csv_has_a_row_for_each_copy() {
    let text = check(&pair(), &["--format", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("CSV");
    assert_eq!(rows.len(), 2);
    let mut column =
        |name: &str| reader.headers().expect("a head").iter().position(|head| head == name).expect("a column");
    let (path, line) = (column("path"), column("start_line"));
    assert_eq!((&rows[1][path], &rows[1][line]), ("b/b.go", "7"));
}

#[test]
fn the_badge_is_a_picture_of_the_share() {
    let text = check(&pair(), &["--format", "badge"]).stdout;
    let xml = roxmltree::Document::parse(&text).expect("XML");
    assert_eq!(xml.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
    assert_eq!(xml.root_element().attribute("aria-label"), Some("duplicated: 76.5 %"));
}

/// Links, and whether there is anything in a Markdown text that is more than text.
fn links(markdown: &str) -> Vec<(String, String)> {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let options = Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_STRIKETHROUGH;
    let (mut links, mut open): (Vec<(String, String)>, bool) = (Vec::new(), false);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                links.push((dest_url.to_string(), String::new()));
                open = true;
            }
            Event::End(TagEnd::Link) => open = false,
            Event::Text(text) if open => links.last_mut().expect("a link").1.push_str(&text),
            Event::Start(Tag::Image { .. } | Tag::CodeBlock(_) | Tag::BlockQuote(_)) | Event::Code(_) => {
                panic!("more than text: {event:?} in {markdown}")
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let own = ["<!-- dupi-lsp -->", "<br>", "<sub>", "</sub>"];
                assert!(own.contains(&html.trim()), "{html} in {markdown}");
            }
            _ => {}
        }
    }
    links
}

#[test]
fn markdown_is_a_comment_with_links_to_both_sides() {
    let workspace = pair();
    let links_of = |arguments: &[&str]| links(&check(&workspace, arguments).stdout);
    let expected = [
        ("https://git.example.org/p/blob/main/a.go#L3-L15".to_owned(), "a.go:3-15".to_owned()),
        ("https://git.example.org/p/blob/main/b/b.go#L7-L19".to_owned(), "b/b.go:7-19".to_owned()),
    ];
    assert_eq!(links_of(&["--format", "markdown", "--links", "https://git.example.org/p/blob/main/"]), expected);
    assert_eq!(links_of(&["--format", "markdown"]), [], "without an address there is nothing to link to");
    let run = check(&workspace, &["--links", "javascript:alert(1)"]);
    assert_eq!((run.code, run.stderr.contains("`--links` is no address")), (2, true), "{}", run.stderr);
}

#[test]
fn several_formats_at_once_each_go_where_they_are_told() {
    let workspace = pair();
    let run = check(
        &workspace,
        &["--format", "sarif", "--output", "x.sarif", "--format", "json", "-o", "x.json", "--format", "text"],
    );
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stdout.contains("13 lines in 2 places"), "{}", run.stdout);
    let read = |name: &str| std::fs::read(workspace.path().join(name)).expect("a file");
    let sarif: Value = serde_json::from_slice(&read("x.sarif")).expect("JSON");
    let json: Value = serde_json::from_slice(&read("x.json")).expect("JSON");
    assert_eq!((&sarif["version"], &json["version"]), (&"2.1.0".into(), &1.into()));
    let both = check(&workspace, &["--format", "text,github"]);
    assert!(both.stdout.contains("scanned") && both.stdout.contains("\n::warning file="), "{}", both.stdout);
    let file = check(&workspace, &["--output", "x.txt"]);
    assert_eq!(file.stdout, "");
    assert!(String::from_utf8(read("x.txt")).expect("text").contains("13 lines in 2 places"));
    for (arguments, message) in [
        (&["--format", "text,json"][..], "text and json all go to standard output"),
        (&["--format", "json", "-o", "a.x", "-o", "b.x"], "two `--output` for one format"),
        (&["--format", "json", "-o", "a.x", "--format", "csv", "-o", "a.x"], "two formats go to a.x"),
        (
            &["--format", "jsn"],
            "possible values: text, json, sarif, github, gitlab, checkstyle, markdown, html, badge, csv",
        ),
        (&["-o", "nowhere/x.txt"], "cannot write nowhere/x.txt"),
    ] {
        let run = check(&workspace, arguments);
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}

const FORMATS: [&str; 10] =
    ["text", "json", "sarif", "github", "gitlab", "checkstyle", "markdown", "html", "badge", "csv"];

/// Fault 34: an older output is replaced, whatever it found; nothing else is.
#[test]
fn fault_34_outputs_replace_older_ones_of_their_kind_and_nothing_else() {
    let (copies, none) = (pair(), Workspace::new(""));
    none.write("only.go", format!("package a\n\n{}", function("Sum", "values")));
    let out = tempfile::tempdir().expect("a folder");
    let path = |name: &str| out.path().join(name).to_str().expect("UTF-8").to_owned();
    let write = |workspace: &Workspace, kind: &str, name: &str| {
        let name = path(name);
        match kind {
            "baseline" => check(workspace, &["--write-baseline", &name]),
            "page" => run(workspace.path(), &["report", "-o", &name]),
            format => check(workspace, &["--format", format, "--output", &name]),
        }
    };
    let kinds: Vec<&str> = FORMATS.into_iter().chain(["baseline", "page"]).collect();
    for &kind in &kinds {
        for workspace in [&none, &copies, &copies, &none, &copies] {
            let run = write(workspace, kind, kind);
            assert!(run.code <= 1, "{kind} over an older one: {}", run.stderr);
        }
        std::fs::write(path("empty"), "").expect("a file");
        assert!(write(&copies, kind, "empty").code <= 1, "{kind} over nothing");
        for (name, text) in [("main.go", function("Main", "x")), ("data.json", "{\"version\": 1}".to_owned())] {
            std::fs::write(path(name), &text).expect("a file");
            let run = write(&copies, kind, name);
            let refused = run.code == 2 && run.stderr.contains(name) && run.stderr.contains("of another kind");
            assert!(refused, "{kind} over {name}: {} {}", run.code, run.stderr);
            assert_eq!(std::fs::read_to_string(path(name)).expect("a file"), text);
        }
    }
    // A report is no baseline, and so on, but for the page that two commands write.
    for &kind in &kinds {
        for &other in kinds.iter().filter(|&&other| ![kind, other].iter().all(|kind| ["html", "page"].contains(kind))) {
            let before = std::fs::read(path(other)).expect("a file");
            if other != kind {
                assert_eq!(write(&copies, kind, other).code, 2, "{kind} over {other}");
                assert_eq!(std::fs::read(path(other)).expect("a file"), before);
            }
        }
    }
    let left = out.path().read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().contains(".tmp")).count(), 0, "no draft stays");
}

/// Fault 34: a checkout may bring a link by the name of an output, or of a folder on the way to it.
#[cfg(unix)]
#[test]
fn fault_34_outputs_are_never_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let workspace = pair();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let link = |to: &str, name: &str| symlink(elsewhere.path().join(to), workspace.path().join(name)).expect("linked");
    std::fs::write(elsewhere.path().join("victim"), "").expect("a file");
    link("victim", "out");
    link("none", "new");
    link("", "folder");
    let absolute = workspace.path().join("folder/x");
    let absolute = absolute.to_str().expect("UTF-8");
    for name in ["out", "new", "folder/x", "./folder/x", absolute] {
        for format in FORMATS {
            let run = check(&workspace, &["--format", format, "-o", name]);
            assert!(run.code == 2 && run.stderr.contains("is a link"), "{format} to {name}: {}", run.stderr);
        }
        for command in [&["--check", "--write-baseline"][..], &["report", "-o"]] {
            let run = run(workspace.path(), &[command, &[name]].concat());
            assert!(run.code == 2 && run.stderr.contains("is a link"), "{command:?} {name}: {}", run.stderr);
        }
        workspace.write("a.jsonl", "{\"text\": \"a\"}\n");
        let run = run(workspace.path(), &["corpus", "hash", "a.jsonl", "-o", name]);
        assert!(run.code == 2 && run.stderr.contains("is a link"), "hash to {name}: {}", run.stderr);
    }
    assert_eq!(std::fs::read_to_string(elsewhere.path().join("victim")).expect("a file"), "");
    assert_eq!(elsewhere.path().read_dir().expect("a folder").count(), 1);
}

#[test]
fn paths_are_those_of_the_repository_for_tools_that_annotate_a_change() {
    let workspace = Workspace::new("");
    for name in ["sub/a.go", "sub/b.go"] {
        workspace.write(name, format!("package a\n\n{}", function("Sum", "values")));
    }
    workspace.write(".git/HEAD", "");
    let run = |format: &str| run(workspace.path(), &["--check", "sub", "--format", format]);
    assert!(run("github").stdout.starts_with("::warning file=sub/a.go,"));
    assert_eq!(run("gitlab").json()[0]["location"]["path"], "sub/a.go");
    assert!(run("sarif").stdout.contains("\"uri\": \"sub/a.go\""));
    assert_eq!(run("json").json()["classes"][0]["copies"][0]["path"], "a.go", "relative to the root");
}

/// Fault 26: what names can hold on a file system that takes any. Each is a pair of files, so that each is shown.
#[cfg(target_os = "linux")]
const HOSTILE: [&str; 16] = [
    "\"onmouseover=\"alert(1)\" x=\"<img src=x onerror=alert(1)>",
    "]]><x>&lt;",
    "\u{1b}]0;owned\u{7}\u{1b}[2J",
    "line\r\n::error file=x,line=1::owned",
    "%0A::error::owned",
    "\u{202e}og.exe\u{2066}",
    "a|b|`c` **d** ~~e~~ <!-- f",
    "=cmd|' -C calc'!A1",
    "@everyone +1 -1",
    "[x](javascript:alert(1)) ![y](https:evil) https:example.org www.example.org",
    "C:owned.. \\..\\x",
    "',{{7*7}}${7*7}#{7*7}\\u{41}",
    "::stop-commands::x",
    "##[add-mask]x",
    "##vso[task.setvariable variable=PATH]x",
    "\u{3000}::error::##teamcity[x]",
];

/// Lines that GitHub, Azure or TeamCity take for commands.
#[cfg(target_os = "linux")]
fn commands(log: &str) -> Vec<&str> {
    let has_command = |line: &str| {
        let words = line.split("##").skip(1).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
        words.into_iter().any(|rest| rest.starts_with('['))
    };
    log.lines().filter(|line| line.trim_start().starts_with("::") || has_command(line)).collect()
}

/// A workspace with a pair of files for each hostile name, and such text in their code.
#[cfg(target_os = "linux")]
fn hostile() -> Workspace {
    let workspace = Workspace::new("");
    // Near each other they all are.
    workspace.write("dupi.toml", "kind = [\"exact\", \"renamed\"]\n");
    for (i, name) in HOSTILE.iter().enumerate() {
        let content =
            format!("package p\n\n// </script> ]]> \u{1b}]0;x\u{7} \u{202e}\n{}", function(&format!("F{i}"), "v"));
        // Each pair is another class: a call with as many more arguments as its number.
        let steps = format!("\tprintln(total{})\n", ", v".repeat(i));
        let code = "\t// ##[add-mask]warning\n\tconst x = `\n::stop-commands::x\n##vso[x]\n`\n";
        let content = content.replacen("\ttotal := 0\n", &format!("{code}\ttotal := 0\n{steps}"), 1);
        workspace.write(&format!("{name}.go"), &content);
        workspace.write(&format!("{name}/{name}.go"), &content);
    }
    workspace
}

/// Fault 37: whatever is in names and code, what is printed has no line that a CI takes for a command.
#[cfg(target_os = "linux")]
#[test]
fn fault_37_no_line_of_a_log_is_a_command_of_the_ci() {
    let workspace = hostile();
    workspace.write("::notice::empty.go", "");
    let file = "::stop-commands::x.go";
    let check = |format: &str| run(workspace.path(), &["--check", "--skipped", "--top", "all", "--format", format]);
    for format in FORMATS {
        let run = check(format);
        let own = ["::warning file=", "::error title=dupi-lsp::", "::notice file="];
        let found = commands(&run.stdout)
            .into_iter()
            .filter(|line| format != "github" || !own.iter().any(|own| line.starts_with(own)));
        assert_eq!(found.collect::<Vec<_>>(), [""; 0], "{format}");
        assert_eq!(commands(&run.stderr), [""; 0], "{format}");
    }
    assert!(check("text").stdout.contains("\\u{3a}:stop-commands::x.go:"), "a name can still be read");
    assert!(check("github").stdout.contains("file=%3A%3Astop-commands%3A%3Ax.go,"), "and a tool gets it as it is");
    for arguments in [
        &["extract"][..],
        &["inspect"],
        &["similar"],
        &["similar", "--by", "simhash"],
        &["blot", file],
        &["like", file],
        &["like", &format!("{file}:4-20")],
        &["index", "--stats"],
        &["index", "--verify"],
        &["doctor"],
        &["report", "-o", "::error::page.html"],
        &["--check", "::error::none", "--no-config"],
        &["--check", "--none\n::error::none"],
        &["--check", "--since", "::error::none"],
        &["--check", "--baseline", "a\n::error::none"],
        &["--check", "--exclude", "{##[x"],
    ] {
        let run = run(workspace.path(), arguments);
        assert!(!run.stdout.is_empty() || !run.stderr.is_empty(), "{arguments:?}");
        assert_eq!(commands(&format!("{}\n{}", run.stdout, run.stderr)), [""; 0], "{arguments:?}");
    }
    // The test can fail: these are commands.
    for line in ["::error::x", " \t::stop-commands::x", "a ##[add-mask]b", "##vso[x", "##teamcity[x"] {
        assert_eq!(commands(line), [line]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_is_nothing_but_a_name_in_every_format() {
    let workspace = hostile();
    let steer = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c) || c == '\u{2066}';
    let all = workspace.path().to_string_lossy().into_owned();
    // From elsewhere, by an absolute path: reports never name one.
    let run =
        |format: &str| run(Path::new("/"), &["--check", &all, "--format", format, "--links", "https://x.example"]);
    let expected: BTreeSet<String> =
        HOSTILE.iter().flat_map(|name| [format!("{name}.go"), format!("{name}/{name}.go")]).collect();
    let strings = |values: &mut dyn Iterator<Item = &Value>| -> BTreeSet<String> {
        values.map(|value| value.as_str().expect("a text").to_owned()).collect()
    };

    let json = run("json").json();
    let copies = json["classes"]
        .as_array()
        .expect("a list")
        .iter()
        .flat_map(|class| class["copies"].as_array().expect("a list"));
    let n_copies = copies.clone().count();
    let n_classes = json["classes"].as_array().map_or(0, Vec::len);
    assert_eq!(strings(&mut copies.map(|copy| &copy["path"])), expected);

    let text = run("text").stdout;
    assert!(text.contains("onmouseover") && !text.contains(steer), "{text}");

    let sarif = run("sarif");
    let log = sarif.json();
    validate(&sarif_schema(), &log).expect("valid");
    assert!(!sarif.stdout.contains(steer));
    let results = log["runs"][0]["results"].as_array().expect("a list");
    let uris = results.iter().map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]);
    let uris = strings(&mut uris.into_iter());
    assert!(
        uris.iter().all(|uri| uri.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/%".contains(&b))),
        "{uris:?}"
    );
    assert!(uris.iter().all(|uri| !uri.starts_with('/')));
    let decoded = |uri: &String| percent_encoding::percent_decode_str(uri).decode_utf8().expect("UTF-8").into_owned();
    assert_eq!(uris.iter().map(decoded).collect::<BTreeSet<_>>(), expected);

    let gitlab = run("gitlab").json();
    validate(&gitlab_schema(), &gitlab).expect("valid");
    let issues = gitlab.as_array().expect("a list");
    assert_eq!(strings(&mut issues.iter().map(|issue| &issue["location"]["path"])), expected);

    let github = run("github").stdout;
    assert!(!github.contains(steer), "{github}");
    let lines: Vec<&str> = github.lines().collect();
    assert_eq!(lines.len(), n_classes + 1, "{github}");
    for line in &lines[..n_classes] {
        let (head, _) = line.strip_prefix("::warning file=").and_then(|rest| rest.split_once("::")).expect("a command");
        assert_eq!(head.split(',').count(), 4, "{line}");
    }

    let checkstyle = run("checkstyle").stdout;
    let xml = roxmltree::Document::parse(&checkstyle).expect("XML");
    let tags: BTreeSet<&str> =
        xml.descendants().filter(|node| node.is_element()).map(|node| node.tag_name().name()).collect();
    assert_eq!(tags, BTreeSet::from(["checkstyle", "error", "file"]));
    assert!(!checkstyle.contains(steer));

    let csv_text = run("csv").stdout;
    let mut reader = csv::Reader::from_reader(csv_text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("CSV");
    assert_eq!(rows.len(), n_copies);
    assert!(rows.iter().flatten().all(|field| !field.starts_with(['=', '+', '-', '@'])), "{csv_text}");
    assert!(!csv_text.replace("\r\n", "\n").contains(steer));

    let markdown = run("markdown").stdout;
    assert!(!markdown.contains(steer), "{markdown}");
    let links = links(&markdown);
    assert_eq!(links.len(), n_copies, "{markdown}");
    assert!(links.iter().all(|(link, _)| link.starts_with("https://x.example/")), "{links:?}");
    assert!(!markdown.contains('@') && !markdown.replace("https://x.example", "").contains("://"), "{markdown}");

    let page = run("html").stdout;
    assert!(page.starts_with("<!doctype html>") && !page.contains("owned"));

    let badge = run("badge").stdout;
    assert!(roxmltree::Document::parse(&badge).is_ok() && !badge.contains("owned"));
}
