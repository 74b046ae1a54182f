//! Planted copies: functions of every language, copied as they are, reformatted, commented, renamed, with other literals,
//! into other files. Each is found, whole, on the right lines.
#![allow(clippy::print_stdout, reason = "the rates are the point")]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use dupi_grammars::token::{CLOSE_BRACE, COMMA, IDENTIFIER, Lexed, NUMBER, OPEN_BRACE, SEMICOLON, STRING, Token, Unit};
use dupi_grammars::{Language, detect, tokenize};
use dupi_tests::binary::check_json;
use dupi_tests::sources;
use dupi_tests::workspace::Workspace;

/// A function of a fixture.
struct Function {
    language: &'static Language,
    fixture: String,
    extension: String,
    /// With the indent of its first line.
    text: String,
    /// In the fixture: first line, and the line of its end.
    lines: (u64, u64),
    /// Its tokens, relative to `text`.
    tokens: Vec<Token>,
}

fn functions() -> Vec<Function> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/planted");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| functions_of(path)).collect()
}

/// The definitions of 50 tokens or more that hold no other such.
fn functions_of(path: &Path) -> Vec<Function> {
    let src = std::fs::read_to_string(path).expect("a fixture");
    let language = detect(path, src.as_bytes()).expect("a language");
    let mut lexed = Lexed::default();
    tokenize(language, src.as_bytes(), &mut lexed).expect("tokens");
    let large: Vec<&Unit> =
        lexed.units.iter().filter(|unit| unit.flags & Unit::DEFINITION != 0 && unit.end - unit.start >= 50).collect();
    let holds = |outer: &Unit| {
        large.iter().any(|inner| *inner != outer && outer.start <= inner.start && inner.end <= outer.end)
    };
    // Without this many tokens in statements it is a type, a table, or a signature: there only equal text counts.
    let has_body = |outer: &Unit| {
        let (mut n, mut end) = (0, outer.start);
        for inner in lexed.units.iter().filter(|inner| inner.flags & Unit::DEFINITION == 0 && inner.end <= outer.end) {
            if inner.start >= end {
                n += inner.end - inner.start;
                end = inner.end;
            }
        }
        n >= 25
    };
    large
        .iter()
        .filter(|unit| !holds(unit) && has_body(unit))
        .map(|unit| {
            let tokens = &lexed.tokens[unit.start as usize..unit.end as usize];
            let start = src[..tokens[0].start as usize].rfind('\n').map_or(0, |i| i + 1);
            let text = &src[start..tokens[tokens.len() - 1].end as usize];
            let shifted =
                |token: &Token| Token { start: token.start - start as u32, end: token.end - start as u32, ..*token };
            Function {
                language,
                fixture: path.file_name().expect("a name").to_string_lossy().into_owned(),
                extension: path.extension().expect("an extension").to_string_lossy().into_owned(),
                text: text.to_owned(),
                lines: (u64::from(tokens[0].line) + 1, u64::from(tokens[0].line) + text.lines().count() as u64),
                tokens: tokens.iter().map(shifted).collect(),
            }
        })
        .collect()
}

impl Function {
    /// The file that it is planted into: what stands before and after it.
    fn host(&self) -> (&'static str, &'static str) {
        let indented = self.text.starts_with([' ', '\t']);
        match self.language.name {
            "go" => ("package host\n\nvar filler = 1\n\n", "\n"),
            "rust" => ("mod host {\n", "\n}\n"),
            "java" | "c-sharp" => ("class Host {\n", "\n}\n"),
            "c" => ("int filler = 1;\n\n", "\n"),
            "cpp" => ("namespace host {\n", "\n}\n"),
            "javascript" | "typescript" | "tsx" if indented => ("class Host {\n", "\n}\n"),
            "python" if indented => ("class Host:\n", "\n"),
            "kotlin" | "swift" | "scala" => ("class Host {\n", "\n}\n"),
            "php" => ("<?php\nclass Host {\n", "\n}\n"),
            "ruby" => ("class Host\n", "\nend\n"),
            _ => ("", "\n"),
        }
    }

    /// The text with each token replaced by what `new` says, if it says anything.
    fn replaced(&self, mut new: impl FnMut(&Token, &str) -> Option<String>) -> String {
        let (mut out, mut at) = (String::new(), 0);
        for token in &self.tokens {
            let (start, end) = (token.start as usize, token.end as usize);
            out.push_str(&self.text[at..start]);
            let text = &self.text[start..end];
            out.push_str(&new(token, text).unwrap_or_else(|| text.to_owned()));
            at = end;
        }
        out + &self.text[at..]
    }

    fn reformatted(&self) -> String {
        // Only these languages let a line end stand after any comma, brace or semicolon.
        let free = ["java", "c", "cpp", "c-sharp", "rust"].contains(&self.language.name);
        let wrapped = self.replaced(|token, text| {
            (free && [COMMA, SEMICOLON, OPEN_BRACE, CLOSE_BRACE].contains(&token.code)).then(|| format!("{text}\n"))
        });
        wrapped
            .lines()
            .map(|line| {
                let code = line.trim_start_matches([' ', '\t']);
                let indent = line[..line.len() - code.len()].replace('\t', "    ");
                format!("{indent}{indent}{code}  \n\n")
            })
            .collect::<String>()
            .trim_end()
            .to_owned()
    }

    fn commented(&self) -> String {
        let mark = self.language.line_comment;
        let lines = self.text.lines().map(|line| {
            if self.text.contains("</") || self.text.contains("/>") {
                // Between tags a comment would be text.
                if line.ends_with(';') { format!("{line} /* why {{ ( */\n") } else { format!("{line}\n") }
            } else {
                format!("{mark} if (so) {{ why; }}\n{line}\n")
            }
        });
        lines.collect::<String>().trim_end().to_owned()
    }

    fn renamed(&self) -> String {
        let mut names: HashMap<String, usize> = HashMap::new();
        self.replaced(|token, text| {
            let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !text.starts_with(|c: char| c.is_ascii_digit());
            if token.code != IDENTIFIER || !plain || text == "_" || KEPT.contains(&text) {
                return None;
            }
            let n = names.len();
            let n = *names.entry(text.to_owned()).or_insert(n);
            // The first letter stays, since some languages read meaning into it.
            Some(format!("{}other{n}", &text[..1]))
        })
    }

    fn with_other_literals(&self) -> String {
        self.replaced(|token, text| match token.code {
            NUMBER if text.bytes().all(|b| b.is_ascii_digit()) => Some(format!("4{text}")),
            // A docstring would be torn apart.
            STRING if text.starts_with("\"\"\"") || text.starts_with("'''") => None,
            STRING if text.len() > 2 && text.starts_with(['"', '\'']) && !text.contains(['{', '$', '#', '\\', '%']) => {
                Some(format!("{}other {}", &text[..1], &text[1..]))
            }
            _ => None,
        })
    }
}

/// Words that a language reads a meaning into though they are names to it.
const KEPT: [&str; 34] = [
    "self", "this", "super", "true", "false", "null", "nil", "None", "True", "False", "async", "await", "get", "set",
    "of", "as", "from", "readonly", "type", "declare", "auto", "default", "dyn", "raw", "crate", "Self", "var",
    "yield", "where", "when", "record", "match", "case", "new",
];

/// Plants every function, changed by `change`, and checks that it is found with one of `kinds`.
fn plant(name: &str, kinds: &[&str], change: impl Fn(&Function) -> String, file: impl Fn(String) -> Vec<u8>) {
    let functions = functions();
    let mut missed = Vec::new();
    // One workspace a function: copies of others must not stand beside it.
    for batch in functions.chunk_by(|a, b| a.fixture == b.fixture) {
        let workspace = Workspace::new("");
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/planted").join(&batch[0].fixture);
        workspace.write(&batch[0].fixture, std::fs::read(fixture).expect("a fixture"));
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
                stands(&function.fixture, function.lines) && stands(&host, (start, end))
            });
            let kind = found.map(|class| class["kind"].as_str().unwrap_or_default().to_owned());
            if !kind.as_deref().is_some_and(|kind| kinds.contains(&kind)) {
                missed.push(format!("{}:{} in {host}:{start}-{end}: {kind:?}", function.fixture, function.lines.0));
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
fn copies_among_non_ascii_text_are_found_on_their_lines() {
    let before = |function: &Function| match function.language.name {
        "php" => String::new(),
        _ => format!("{} Größe, 名前, 😀\n", function.language.line_comment),
    };
    let functions = functions();
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
        assert!(found, "{}:{}", function.fixture, function.lines.0);
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
            .filter(|path| std::fs::read_to_string(path).is_ok())
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
            missed.push(format!("{}:{}", function.fixture, function.lines.0));
        }
    }
    missed
}
