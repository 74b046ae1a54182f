//! `dupi-lsp blot`: the blots of a text, where they are in it, and how often they stand in the workspace.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use dupi::blots::Blotting;
use dupi::chunks::{Chunk, counted};
use dupi::document::Document;
use dupi::occurrences::Frequency;
use serde::Serialize;

use crate::asked::{self, LanguageArgument};
use crate::terminal::{unless_closed, write_json};
use crate::workspace::{QueryArguments, unreadable};

#[derive(clap::Args)]
#[command(
    after_help = "A line has the blot, its places and its files in the workspace, and its lines in the text.\nExit code: 0 done, 2 wrong usage or nothing indexed.\n\nExamples:\n  dupi-lsp blot src/main.go                           what the index knows it by\n  dupi-lsp blot src/main.go | dupi-lsp unblot         where each piece of it stands\n  pbpaste | dupi-lsp blot - --as go                   a snippet that is in no file\n  dupi-lsp blot src/main.go --json | jq '.blots[0]'   for programs"
)]
pub struct Arguments {
    /// A file, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    text: PathBuf,
    #[command(flatten)]
    language: LanguageArgument,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    query: QueryArguments,
}

#[derive(Serialize)]
struct JsonText {
    path: String,
    language: &'static str,
    tokens: usize,
    /// Tokens in a window.
    k: usize,
    w: usize,
    blots: Vec<JsonBlot>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonBlot {
    blot: String,
    places: u32,
    files: u32,
    /// The first of its window, from 0.
    token: u32,
    start_line: u32,
    end_line: u32,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workspace = arguments.query.workspace()?;
    let document = asked::read(&arguments.text, false, &arguments.language, &workspace)?.document;
    let settings = &workspace.settings;
    let blotting = Blotting::of(settings);
    let chunks = counted(&document, settings, &mut Vec::new());
    arguments.query.ask(&workspace, |index| {
        let blots: Vec<u64> = chunks.iter().map(|chunk| chunk.blot).collect();
        let frequencies = index.snapshot().frequencies_of(&blots, settings).ok_or_else(|| unreadable(&workspace))?;
        let mut out = anstream::stdout().lock();
        let blots: Vec<JsonBlot> =
            chunks.iter().zip(&frequencies).map(|(c, f)| blot(&document, c, f, &blotting)).collect();
        let written = if arguments.json {
            let Document { shown: path, language, codes, .. } = &*document;
            let (path, language, tokens) = (path.clone(), language.name, codes.len());
            write_json(&mut out, &JsonText { path, language, tokens, k: blotting.k, w: blotting.w, blots })
        } else {
            text(&mut out, &blots)
        };
        Ok(unless_closed(written)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn blot(document: &Document, chunk: &Chunk, frequency: &Frequency, blotting: &Blotting) -> JsonBlot {
    let lines = document.lines(chunk.position, chunk.position + blotting.k as u32);
    JsonBlot {
        blot: format!("{:016x}", chunk.blot),
        places: frequency.places,
        files: frequency.documents,
        token: chunk.position,
        start_line: lines.start + 1,
        end_line: lines.end,
    }
}

fn text(out: &mut impl Write, blots: &[JsonBlot]) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    for JsonBlot { blot, places, files, start_line, end_line, .. } in blots {
        writeln!(out, "{blot} {places:>7} {files:>7}  {start_line}-{end_line}")?;
    }
    out.flush()
}
