//! Planted copies: functions of every language, copied as they are, reformatted, commented, renamed, with other literals,
//! into other files. Each is found, whole, on the right lines.
#![allow(clippy::print_stdout, reason = "the rates are the point")]

use std::collections::HashSet;

use dupi_tests::binary::check_json;
use dupi_tests::planting::{Function, fixtures, functions_of};
use dupi_tests::sources;
use dupi_tests::workspace::Workspace;

/// Plants every function, changed by `change`, and checks that it is found with one of `kinds`.
fn plant(name: &str, kinds: &[&str], change: impl Fn(&Function) -> String, file: impl Fn(String) -> Vec<u8>) {
    let functions = fixtures();
    let mut missed = Vec::new();
    // One workspace a function: copies of others must not stand beside it.
    for batch in functions.chunk_by(|a, b| a.path == b.path) {
        let workspace = Workspace::new("");
        let fixture = batch[0].path.file_name().expect("a name").to_string_lossy();
        workspace.write(&fixture, std::fs::read(&batch[0].path).expect("a fixture"));
        let mut planted = Vec::new();
        for (i, function) in batch.iter().enumerate() {
            let (before, after) = function.host();
            let text = change(function);
            let first = before.matches('\n').count() as u64 + 1;
            let skipped = text.lines().position(|line| is_code(line, function)).unwrap_or(0) as u64;
            let host = format!("host{i}.{}", function.extension);
            workspace.write(&host, file(format!("{before}{text}{after}")));
            planted.push((host, first + skipped, first + text.lines().count() as u64 - 1));
        }
        let report = check_json(workspace.path(), &[]);
        for (function, (host, start, end)) in batch.iter().zip(planted) {
            let found = report["classes"].as_array().expect("classes").iter().find(|class| {
                let copies = class["copies"].as_array().expect("copies");
                let stands = |path: &str, lines: (u64, u64)| {
                    copies.iter().any(|copy| {
                        copy["path"] == path
                            && (copy["startLine"].as_u64(), copy["endLine"].as_u64()) == (Some(lines.0), Some(lines.1))
                    })
                };
                stands(&fixture, function.lines) && stands(&host, (start, end))
            });
            let kind = found.map(|class| class["kind"].as_str().unwrap_or_default().to_owned());
            if !kind.as_deref().is_some_and(|kind| kinds.contains(&kind)) {
                missed.push(format!("{} in {host}:{start}-{end}: {kind:?}", function.place()));
            }
        }
    }
    assert!(functions.len() > 90, "only {} functions", functions.len());
    assert!(missed.is_empty(), "{name}: {} of {} missed:\n{}", missed.len(), functions.len(), missed.join("\n"));
}

/// Is a line more than a comment?
fn is_code(line: &str, function: &Function) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with(&format!("{} if (so)", function.language.line_comment))
}

#[test]
fn copies_as_they_are_are_found() {
    plant("exact", &["exact"], |function| function.text.clone(), String::into_bytes);
}

#[test]
fn copies_are_found_with_crlf_bom_and_no_final_newline() {
    plant(
        "crlf",
        &["exact"],
        |function| function.text.clone(),
        |text| format!("\u{FEFF}{}", text.trim_end().replace('\n', "\r\n")).into_bytes(),
    );
}

#[test]
fn reformatted_copies_are_found() {
    plant("reformatted", &["exact"], Function::reformatted, String::into_bytes);
}

#[test]
fn commented_copies_are_found() {
    plant("commented", &["exact"], Function::commented, String::into_bytes);
}

#[test]
fn renamed_copies_are_found() {
    plant("renamed", &["renamed"], Function::renamed, String::into_bytes);
}

#[test]
fn copies_with_other_literals_are_found() {
    plant("literals", &["renamed"], Function::with_other_literals, String::into_bytes);
}

#[test]
fn copies_with_other_names_and_literals_are_found() {
    plant("both", &["renamed"], Function::renamed_with_other_literals, String::into_bytes);
}

#[test]
fn copies_among_non_ascii_text_are_found_on_their_lines() {
    let before = |function: &Function| match function.language.name {
        "php" => String::new(),
        _ => format!("{} Größe, 名前, 😀\n", function.language.line_comment),
    };
    let functions = fixtures();
    let workspace = Workspace::new("");
    for (i, function) in functions.iter().enumerate() {
        let (start, end) = function.host();
        for side in ["a", "b"] {
            let prefix = if side == "b" { before(function) } else { String::new() };
            workspace
                .write(&format!("{side}/{i}.{}", function.extension), format!("{prefix}{start}{}{end}", function.text));
        }
    }
    let report = check_json(workspace.path(), &[]);
    for (i, function) in functions.iter().enumerate() {
        let path = |side: &str| format!("{side}/{i}.{}", function.extension);
        let found = report["classes"].as_array().expect("classes").iter().any(|class| {
            let line = |side: &str| {
                let copies = class["copies"].as_array().expect("copies");
                copies
                    .iter()
                    .find(|copy| copy["path"] == path(side).as_str())
                    .and_then(|copy| copy["startLine"].as_u64())
            };
            let shift = before(function).matches('\n').count() as u64;
            line("a").is_some_and(|line_of_a| line("b") == Some(line_of_a + shift))
        });
        assert!(found, "{}", function.place());
    }
}

/// Functions of real sources, one a file so that none stands beside another.
#[test]
#[ignore = "needs sources: run tests/fetch-sources first"]
fn functions_of_real_sources_are_found() {
    let mut report = Vec::new();
    let mut bad = false;
    for language in dupi_grammars::LANGUAGES.iter().filter(|language| language.lexer.is_some()) {
        let files = sources::files(&sources::roots(), language.name, 120, 64 * 1024);
        let functions: Vec<Function> = files
            .iter()
            .filter_map(|path| {
                functions_of(path).into_iter().find(|function| {
                    // Lines that are joined, or for the preprocessor, cannot be laid out anew.
                    let free = !function.text.contains("\\\n") && !function.text.contains("\n#");
                    free && (50..400).contains(&function.tokens.len())
                })
            })
            .collect();
        let mut line = format!("{:<12} {:>3} functions:", language.name, functions.len());
        for (name, change) in [
            ("exact", (|function| function.text.clone()) as fn(&Function) -> String),
            ("reformatted", Function::reformatted),
            ("commented", Function::commented),
            ("renamed", Function::renamed),
            ("literals", Function::with_other_literals),
        ] {
            let missed = recall(&functions, change);
            line += &format!(" {name} {}/{}", functions.len() - missed.len(), functions.len());
            // Of what is renamed, monotonous functions are left out on purpose: there only equal text counts.
            let allowed = match name {
                "renamed" | "literals" => functions.len() / 4,
                // Laying out code that nobody has looked at may change what it says.
                "reformatted" | "commented" => functions.len() / 50,
                _ => 0,
            };
            bad |= missed.len() > allowed || functions.len() < 10;
            if !missed.is_empty() {
                line += &format!(" ({})", missed[..missed.len().min(14)].join(" "));
            }
        }
        report.push(line);
    }
    let report = report.join("\n");
    println!("{report}");
    assert!(!bad, "{report}");
}

/// Which functions, planted beside themselves, are not found.
fn recall(functions: &[Function], change: fn(&Function) -> String) -> Vec<String> {
    let mut missed = Vec::new();
    let workspace = Workspace::new("");
    for (i, function) in functions.iter().enumerate() {
        let (before, after) = function.host();
        workspace.write(&format!("a/{i}.{}", function.extension), format!("{before}{}{after}", function.text));
        workspace.write(&format!("b/{i}.{}", function.extension), format!("{before}{}{after}", change(function)));
    }
    let zones = "code,test,data,generated";
    let arguments = ["--zone", zones, "--test-min-tokens", "50", "--min-lines", "1", "--nested"];
    let report = check_json(workspace.path(), &arguments);
    let together: HashSet<(String, String)> = report["classes"]
        .as_array()
        .expect("classes")
        .iter()
        .flat_map(|class| {
            let paths: Vec<String> = class["copies"]
                .as_array()
                .expect("copies")
                .iter()
                .map(|copy| copy["path"].as_str().unwrap_or_default().to_owned())
                .collect();
            let of = |side: &str| paths.iter().filter(|path| path.starts_with(side)).cloned().collect::<Vec<_>>();
            let (a, b) = (of("a/"), of("b/"));
            a.into_iter().flat_map(move |x| b.clone().into_iter().map(move |y| (x.clone(), y)))
        })
        .collect();
    for (i, function) in functions.iter().enumerate() {
        let path = |side: &str| format!("{side}/{i}.{}", function.extension);
        if !together.contains(&(path("a"), path("b"))) {
            missed.push(function.place());
        }
    }
    missed
}
