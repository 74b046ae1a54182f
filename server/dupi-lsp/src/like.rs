//! `dupi-lsp like`: which code of the workspace is like a file, some lines of it, or a snippet.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use dupi::like::{Likeness, MIN_TOKENS, Query};
use serde::Serialize;

use crate::asked::{self, Asked, LanguageArgument};
use crate::terminal::{Top, escape, top, unless_closed, write_json};
use crate::workspace::{QueryArguments, unreadable};

/// As many as a person reads.
const TOP: usize = 25;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PATH: Style = AnsiColor::Cyan.on_default();

#[derive(clap::Args)]
#[command(
    after_help = "Every place was compared token by token, and those with most equal text come first.\nExit code: 0 found, 1 nothing is like it, 2 wrong usage or nothing indexed.\n\nExamples:\n  dupi-lsp like src/main.go                    what else is like this file\n  dupi-lsp like src/main.go:40-80              like these lines, also in the same file\n  pbpaste | dupi-lsp like - --as go            like a snippet that is in no file\n  dupi-lsp like src/main.go --min-similarity 0 whatever has the same shape\n  dupi-lsp like src/main.go --json | jq '.[0].path'"
)]
pub struct Arguments {
    /// A file, some lines of it, or `-` for standard input
    #[arg(value_name = "FILE|FILE:L1-L2|-")]
    text: PathBuf,
    #[command(flatten)]
    language: LanguageArgument,
    /// How many places to show, or `all`
    #[arg(long, value_name = "N|all", value_parser = top, default_value_t = Top(TOP))]
    top: Top,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    query: QueryArguments,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonLike<'a> {
    path: &'a str,
    start_line: u32,
    end_line: u32,
    kind: &'static str,
    similarity: f64,
    /// With the same text on both sides.
    equal_tokens: u32,
    /// What it is like.
    of_start_line: u32,
    of_end_line: u32,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workspace = arguments.query.workspace()?;
    let asked = asked::read(&arguments.text, true, &arguments.language, &workspace)?;
    let tokens = asked.tokens();
    if (tokens.len() as u32) < MIN_TOKENS {
        bail!("{} tokens are like everything: it takes {MIN_TOKENS}", tokens.len());
    }
    let n_found = arguments.query.ask(&workspace, |index| {
        let query = Query { document: &asked.document, tokens };
        let found = index.snapshot().like(&query, &workspace.settings, arguments.top.0);
        let found = found.ok_or_else(|| unreadable(&workspace))?;
        let rows: Vec<JsonLike> = found.iter().map(|likeness| row(&asked, likeness)).collect();
        let mut out = anstream::stdout().lock();
        unless_closed(if arguments.json { write_json(&mut out, &rows) } else { text(&mut out, &rows) })?;
        Ok(rows.len())
    })?;
    Ok(ExitCode::from(if n_found == 0 { 1 } else { 0 }))
}

fn row<'a>(asked: &Asked, likeness: &'a Likeness) -> JsonLike<'a> {
    let Likeness { document, tokens, of, kind, equal, similarity } = likeness;
    let (lines, of) = (document.lines(tokens.start, tokens.end), asked.document.lines(of.start, of.end));
    JsonLike {
        path: &document.shown,
        start_line: lines.start + 1,
        end_line: lines.end,
        kind: kind.name(),
        similarity: (similarity * 1e4).round() / 1e4,
        equal_tokens: *equal,
        of_start_line: of.start + 1,
        of_end_line: of.end,
    }
}

fn text(out: &mut impl Write, rows: &[JsonLike]) -> io::Result<()> {
    for row in rows {
        let JsonLike { path, start_line, end_line, kind, similarity, equal_tokens, of_start_line, of_end_line } = row;
        // Not rounded up: 100 % is equal.
        let percent = format!("{:.0} %", (similarity * 100.0).floor());
        write!(out, "{BOLD}{percent:>6}{BOLD:#} {kind:<8}{equal_tokens:>6} tokens  ")?;
        writeln!(
            out,
            "{PATH}{}{PATH:#}:{start_line}-{end_line}{DIM} is like {of_start_line}-{of_end_line}{DIM:#}",
            escape(path)
        )?;
    }
    if rows.is_empty() {
        writeln!(out, "nothing is like it")?;
    }
    Ok(())
}
