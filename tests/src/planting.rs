//! Functions that are cut out of real files, changed, and planted into other files: what recall is measured with.
//!
//! Knows no rule of the search: a function is what the tokenizer says, and a copy is found if the binary's answer says so.

pub mod edits;
pub mod recall;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dupi_grammars::token::{CLOSE_BRACE, COMMA, IDENTIFIER, Lexed, NUMBER, OPEN_BRACE, SEMICOLON, STRING, Token, Unit};
use dupi_grammars::{Language, detect, tokenize};

/// Without this many tokens in statements it is a type, a table, or a signature: there only equal text counts.
const MIN_BODY: u32 = 25;

/// A function of a file.
#[derive(Clone)]
pub struct Function {
    pub language: &'static Language,
    /// The file that it comes from.
    pub path: PathBuf,
    pub extension: String,
    /// With the indent of its first line.
    pub text: String,
    /// In the file: first line, and the line of its end.
    pub lines: (u64, u64),
    /// Its tokens, relative to `text`.
    pub tokens: Vec<Token>,
    /// The units inside it, relative to `tokens`.
    pub units: Vec<Unit>,
    /// Is it test code, to judge by its syntax?
    pub is_test: bool,
}

/// The functions of the frozen sources.
pub fn fixtures() -> Vec<Function> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/planted");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| functions_of(path)).collect()
}

/// The definitions of 50 tokens or more with statements of their own that hold no other such. None of a file that is no
/// text or that nobody can parse.
pub fn functions_of(path: &Path) -> Vec<Function> {
    let Some(extension) = path.extension() else { return Vec::new() };
    let Ok(src) = std::fs::read_to_string(path) else { return Vec::new() };
    let Some(language) = detect(path, src.as_bytes()) else { return Vec::new() };
    let mut lexed = Lexed::default();
    if tokenize(language, src.as_bytes(), &mut lexed).is_err() {
        return Vec::new();
    }
    let is_definition = |unit: &Unit| unit.flags & (Unit::DEFINITION | Unit::CORE) == Unit::DEFINITION;
    let large: Vec<&Unit> =
        lexed.units.iter().filter(|unit| is_definition(unit) && unit.end - unit.start >= 50).collect();
    let holds = |outer: &Unit| large.iter().any(|inner| *inner != outer && is_inside(inner, outer));
    let has_body = |outer: &Unit| {
        let (mut n, mut end) = (0, outer.start);
        for inner in lexed.units.iter().filter(|inner| inner.flags & Unit::DEFINITION == 0 && inner.end <= outer.end) {
            if inner.start >= end {
                n += inner.end - inner.start;
                end = inner.end;
            }
        }
        n >= MIN_BODY
    };
    let is_test = |unit: &Unit| lexed.units.iter().any(|outer| outer.flags & Unit::TEST != 0 && is_inside(unit, outer));
    // A class has its statements in its methods.
    let is_function = |outer: &Unit| {
        let inside = || {
            lexed
                .units
                .iter()
                .filter(|inner| inner.flags & Unit::CORE == 0 && *inner != outer && is_inside(inner, outer))
        };
        let is_own = |step: &Unit| !inside().any(|inner| is_definition(inner) && is_inside(step, inner));
        inside().any(|step| step.flags & Unit::DEFINITION == 0 && is_own(step))
    };
    large
        .iter()
        .filter(|unit| !holds(unit) && has_body(unit) && is_function(unit))
        .map(|unit| {
            let tokens = &lexed.tokens[unit.start as usize..unit.end as usize];
            let start = src[..tokens[0].start as usize].rfind('\n').map_or(0, |i| i + 1);
            let text = &src[start..tokens[tokens.len() - 1].end as usize];
            let moved =
                |token: &Token| Token { start: token.start - start as u32, end: token.end - start as u32, ..*token };
            let inside = |inner: &&Unit| *inner != *unit && is_inside(inner, unit);
            let within = |inner: &Unit| Unit { start: inner.start - unit.start, end: inner.end - unit.start, ..*inner };
            Function {
                language,
                path: path.to_owned(),
                extension: extension.to_string_lossy().into_owned(),
                text: text.to_owned(),
                lines: (u64::from(tokens[0].line) + 1, u64::from(tokens[0].line) + text.lines().count() as u64),
                tokens: tokens.iter().map(moved).collect(),
                units: lexed.units.iter().filter(inside).map(within).collect(),
                is_test: is_test(unit),
            }
        })
        .collect()
}

/// Does a place lie in a string, or between two words of a long one? A comment there would be text.
pub fn is_within_text(tokens: &[Token], offset: usize) -> bool {
    let is_text = |token: &Token| token.code == STRING;
    let within = |token: &Token| (token.start as usize + 1..token.end as usize).contains(&offset);
    let between = |pair: &[Token]| (pair[0].end as usize..=pair[1].start as usize).contains(&offset);
    tokens.iter().any(|token| is_text(token) && within(token))
        || tokens.windows(2).any(|pair| pair.iter().all(is_text) && between(pair))
}

fn is_inside(inner: &Unit, outer: &Unit) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

impl Function {
    /// `file:line`, for messages.
    pub fn place(&self) -> String {
        format!("{}:{}", self.path.file_name().expect("a name").to_string_lossy(), self.lines.0)
    }

    /// A small file that it is planted into: what stands before and after it.
    pub fn host(&self) -> (&'static str, &'static str) {
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

    pub fn reformatted(&self) -> String {
        // Only these languages let a line end stand after any comma, brace or semicolon.
        let free = ["java", "c", "cpp", "c-sharp", "rust"].contains(&self.language.name);
        let wrapped = replaced(&self.text, &self.tokens, |token, text| {
            (free && [COMMA, SEMICOLON, OPEN_BRACE, CLOSE_BRACE].contains(&token.code)).then(|| format!("{text}\n"))
        });
        let mut start = 0;
        wrapped
            .lines()
            .map(|line| {
                let is_text = |offset| !free && is_within_text(&self.tokens, offset);
                let (starts_in_text, ends_in_text) = (is_text(start), is_text(start + line.len()));
                start += line.len() + 1;
                if starts_in_text || ends_in_text {
                    return format!("{line}\n");
                }
                let code = line.trim_start_matches([' ', '\t']);
                let indent = line[..line.len() - code.len()].replace('\t', "    ");
                format!("{indent}{indent}{code}  \n\n")
            })
            .collect::<String>()
            .trim_end()
            .to_owned()
    }

    pub fn commented(&self) -> String {
        let mark = self.language.line_comment;
        let mut start = 0;
        let lines = self.text.lines().map(|line| {
            let is_text = is_within_text(&self.tokens, start);
            start += line.len() + 1;
            if is_text {
                format!("{line}\n")
            } else if self.text.contains("</") || self.text.contains("/>") {
                // Between tags a comment would be text.
                if line.ends_with(';') { format!("{line} /* why {{ ( */\n") } else { format!("{line}\n") }
            } else {
                format!("{mark} if (so) {{ why; }}\n{line}\n")
            }
        });
        lines.collect::<String>().trim_end().to_owned()
    }

    pub fn renamed(&self) -> String {
        renamed(&self.text, &self.tokens)
    }

    pub fn with_other_literals(&self) -> String {
        replaced(&self.text, &self.tokens, other_literal)
    }

    /// Other names and other literals at once.
    pub fn renamed_with_other_literals(&self) -> String {
        let mut names = Names::default();
        replaced(&self.text, &self.tokens, |token, text| {
            names.rename(token, text).or_else(|| other_literal(token, text))
        })
    }
}

/// The text with each token replaced by what `new` says, if it says anything.
pub fn replaced(text: &str, tokens: &[Token], mut new: impl FnMut(&Token, &str) -> Option<String>) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for token in tokens {
        let (start, end) = (token.start as usize, token.end as usize);
        out.push_str(&text[at..start]);
        let text = &text[start..end];
        out.push_str(&new(token, text).unwrap_or_else(|| text.to_owned()));
        at = end;
    }
    out + &text[at..]
}

/// The text with every identifier replaced by another, one to one.
pub fn renamed(text: &str, tokens: &[Token]) -> String {
    let mut names = Names::default();
    replaced(text, tokens, |token, text| names.rename(token, text))
}

/// Which names there were, by their order.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn rename(&mut self, token: &Token, text: &str) -> Option<String> {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !text.starts_with(|c: char| c.is_ascii_digit());
        if token.code != IDENTIFIER || !plain || text == "_" || KEPT.contains(&text) {
            return None;
        }
        let n = self.0.len();
        let n = *self.0.entry(text.to_owned()).or_insert(n);
        // The first letter stays, since some languages read meaning into it.
        Some(format!("{}other{n}", &text[..1]))
    }
}

fn other_literal(token: &Token, text: &str) -> Option<String> {
    match token.code {
        NUMBER if text.bytes().all(|b| b.is_ascii_digit()) => Some(format!("4{text}")),
        // A docstring would be torn apart.
        STRING if text.starts_with("\"\"\"") || text.starts_with("'''") => None,
        STRING if text.len() > 2 && text.starts_with(['"', '\'']) && !text.contains(['{', '$', '#', '\\', '%']) => {
            Some(format!("{}other {}", &text[..1], &text[1..]))
        }
        _ => None,
    }
}

/// Words that a language reads a meaning into though they are names to it.
pub const KEPT: [&str; 34] = [
    "self", "this", "super", "true", "false", "null", "nil", "None", "True", "False", "async", "await", "get", "set",
    "of", "as", "from", "readonly", "type", "declare", "auto", "default", "dyn", "raw", "crate", "Self", "var",
    "yield", "where", "when", "record", "match", "case", "new",
];
