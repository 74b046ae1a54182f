//! `dupi-lsp unblot`: the texts behind blots, and where they stand.
//!
//! Whatever is shown was found in the document's own blots and read again from its file. What has one blot and other
//! codes is another **group**: blots may be shared by chance. In a group, what differs in its names is another **text**.

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, anyhow, bail};
use dupi::Settings;
use dupi::blots::Blotting;
use dupi::chunks::Chunk;
use dupi::document::Document;
use dupi::index::Index;
use dupi::locate::{Place, Text};
use serde::Serialize;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::terminal::{count, escape, unless_closed};
use crate::workspace::{QueryArguments, unreadable};

/// Blots that are looked for at a time: few at first, so that who reads need not wait for all; then more, since each
/// document is decoded anew for each batch.
const FIRST_BATCH: usize = 64;
const GROWTH: usize = 8;
const MAX_BATCH: usize = 1 << 16;

/// Texts of a group that are shown: of the others a person needs to know only where they are.
const MAX_TEXTS: usize = 3;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PATH: Style = AnsiColor::Cyan.on_default();

#[derive(clap::Args)]
#[command(
    after_help = "Standard input has a blot in the first word of each line, as extract and blot write it.\nExit code: 0 found, 1 none of them stands anywhere, 2 wrong usage or nothing indexed.\n\nExamples:\n  dupi-lsp unblot 58e56409c01799a3                one blot\n  dupi-lsp extract --sigma 3 | dupi-lsp unblot    the code that stands out\n  dupi-lsp blot main.go | dupi-lsp unblot -       where each piece of a file stands\n  dupi-lsp extract --top 5 | dupi-lsp unblot --json | jq '.[0].groups'"
)]
pub struct Arguments {
    /// Blots, as extract and blot write them; none, or `-`, reads them from standard input
    #[arg(value_name = "BLOT")]
    blots: Vec<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    query: QueryArguments,
}

#[derive(Serialize)]
struct Unblotted {
    blot: String,
    places: usize,
    files: usize,
    groups: Vec<Group>,
}

/// What has the same codes.
#[derive(Serialize)]
struct Group {
    texts: Vec<GroupText>,
}

/// What has the same names, too.
#[derive(Serialize)]
struct GroupText {
    places: Vec<Found>,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
struct Found {
    path: String,
    start_line: u32,
    /// In UTF-16 units, as in a report; the end is exclusive. None of them, if the file changed meanwhile.
    start_column: Option<u32>,
    end_line: u32,
    end_column: Option<u32>,
    /// As it stands there.
    text: Option<String>,
}

/// A place of a blot with what it is grouped by.
struct Hit {
    blot: u64,
    codes: u64,
    text: u64,
    found: Found,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let blots = blots(&arguments.blots)?;
    let workspace = arguments.query.workspace()?;
    let n_found = arguments.query.ask(&workspace, |index| {
        let mut out = io::BufWriter::with_capacity(1 << 16, anstream::stdout().lock());
        let mut n_found = 0;
        let (mut rest, mut size) = (&blots[..], FIRST_BATCH);
        let mut is_first = true;
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            let unblotted = unblot(batch, index, &workspace.settings).ok_or_else(|| unreadable(&workspace))?;
            n_found += unblotted.iter().filter(|unblotted| unblotted.places > 0).count();
            let written = if arguments.json {
                json(&mut out, &unblotted, is_first)
            } else {
                unblotted.iter().try_for_each(|unblotted| text(&mut out, unblotted))
            };
            if written.and_then(|()| out.flush()).is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
                return Ok(n_found);
            }
            (rest, size, is_first) = (later, (size * GROWTH).min(MAX_BATCH), false);
        }
        if arguments.json {
            unless_closed(writeln!(out, "{}]", if is_first { "[" } else { "\n" }).and_then(|()| out.flush()))?;
        }
        Ok(n_found)
    })?;
    Ok(ExitCode::from(if n_found == 0 { 1 } else { 0 }))
}

/// The blots that are asked for, each once.
fn blots(written: &[String]) -> Result<Vec<u64>> {
    let mut blots = Vec::new();
    let is_stdin = |text: &String| text == "-";
    if written.is_empty() || written.iter().any(is_stdin) {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            bail!("no blot: name some, or pipe them in: dupi-lsp extract | dupi-lsp unblot");
        }
        for (i, line) in stdin.lock().lines().enumerate() {
            let line = line.context("cannot read standard input")?;
            let Some(word) = line.split_whitespace().next() else { continue };
            blots.push(blot(word).map_err(|error| anyhow!("standard input, line {}: {error}", i + 1))?);
        }
    }
    for word in written.iter().filter(|text| !is_stdin(text)) {
        blots.push(blot(word)?);
    }
    let mut seen = std::collections::HashSet::new();
    blots.retain(|blot| seen.insert(*blot));
    Ok(blots)
}

fn blot(word: &str) -> Result<u64> {
    let digits = Some(word).filter(|word| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits
        .and_then(|word| u64::from_str_radix(word, 16).ok())
        .ok_or_else(|| anyhow!("`{word}` is no blot: 16 hex digits"))
}

fn unblot(blots: &[u64], index: &Index, settings: &Settings) -> Option<Vec<Unblotted>> {
    let blotting = Blotting::of(settings);
    let hits = index.snapshot().occurrences(blots, settings, |document, chunks| hits(document, &chunks, &blotting))?;
    // Documents are in the order of their paths, and sorting keeps that.
    let mut hits: Vec<Hit> = hits.into_iter().flatten().collect();
    hits.sort_by_key(|hit| hit.blot);
    let by_blot: BTreeMap<u64, &[Hit]> =
        hits.chunk_by(|a, b| a.blot == b.blot).map(|same| (same[0].blot, same)).collect();
    let unblotted = |blot: &u64| {
        let hits = by_blot.get(blot).copied().unwrap_or_default();
        let mut files: Vec<&str> = hits.iter().map(|hit| &*hit.found.path).collect();
        files.dedup();
        Unblotted { blot: format!("{blot:016x}"), places: hits.len(), files: files.len(), groups: groups(hits) }
    };
    Some(blots.iter().map(unblotted).collect())
}

fn hits(document: &Arc<Document>, chunks: &[Chunk], blotting: &Blotting) -> Vec<Hit> {
    let source = Text::read(document);
    let source = source.as_ref().map(|source| (source, source.lines()));
    let hit = |chunk: &Chunk| {
        let tokens = chunk.position..chunk.position + blotting.k as u32;
        let (codes, symbols) = document.read_tokens(tokens.start, tokens.end);
        let codes = xxh3_64(codes);
        let symbols: Vec<u8> = symbols.iter().flat_map(|symbol| symbol.to_le_bytes()).collect();
        let lines = document.lines(tokens.start, tokens.end);
        let mut found = Found {
            path: document.shown.clone(),
            start_line: lines.start + 1,
            start_column: None,
            end_line: lines.end,
            end_column: None,
            text: None,
        };
        if let Some((Place { start, end }, text)) = source.as_ref().map(|(source, lines)| source.of(tokens, lines)) {
            found.start_line = start.line + 1;
            found.start_column = Some(start.column + 1);
            found.end_line = end.line + 1;
            found.end_column = Some(end.column + 1);
            found.text = Some(String::from_utf8_lossy(text).into_owned());
        }
        Hit { blot: chunk.blot, codes, text: xxh3_64_with_seed(&symbols, codes), found }
    };
    chunks.iter().map(hit).collect()
}

/// Those with most places first; equal ones in the order of their first place.
fn groups(hits: &[Hit]) -> Vec<Group> {
    let by = |hits: &[&Hit], key: fn(&Hit) -> u64| -> Vec<Vec<usize>> {
        let mut order: BTreeMap<u64, usize> = BTreeMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (i, hit) in hits.iter().enumerate() {
            let group = *order.entry(key(hit)).or_insert(groups.len());
            if group == groups.len() {
                groups.push(Vec::new());
            }
            groups[group].push(i);
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        groups
    };
    let all: Vec<&Hit> = hits.iter().collect();
    let group = |members: Vec<usize>| {
        let hits: Vec<&Hit> = members.into_iter().map(|i| all[i]).collect();
        let text = |members: Vec<usize>| GroupText { places: members.iter().map(|&i| hits[i].found.clone()).collect() };
        Group { texts: by(&hits, |hit| hit.text).into_iter().map(text).collect() }
    };
    by(&all, |hit| hit.codes).into_iter().map(group).collect()
}

/// One array over all batches.
fn json(out: &mut impl Write, unblotted: &[Unblotted], is_first: bool) -> io::Result<()> {
    for (i, unblotted) in unblotted.iter().enumerate() {
        writeln!(out, "{}", if is_first && i == 0 { "[" } else { "," })?;
        serde_json::to_writer_pretty(&mut *out, unblotted)?;
    }
    Ok(())
}

fn text(out: &mut impl Write, unblotted: &Unblotted) -> io::Result<()> {
    let Unblotted { blot, places, files, groups } = unblotted;
    let (places, files) = (count(*places as u64, "place", "places"), count(*files as u64, "file", "files"));
    writeln!(out, "{BOLD}{blot}{BOLD:#} {places} in {files}")?;
    for (n, group) in groups.iter().enumerate() {
        if groups.len() > 1 {
            writeln!(out, "   {DIM}{}, the same blot by chance:{DIM:#}", n + 1)?;
        }
        for (n, same) in group.texts.iter().enumerate() {
            if n > 0 {
                writeln!(out, "   {DIM}with other names:{DIM:#}")?;
            }
            for Found { path, start_line, end_line, .. } in &same.places {
                writeln!(out, "   {PATH}{}{PATH:#}:{start_line}-{end_line}", escape(path))?;
            }
            let first = &same.places[0];
            if n >= MAX_TEXTS {
                continue;
            }
            for (line, text) in (first.start_line..).zip(first.text.iter().flat_map(|text| text.lines())) {
                writeln!(out, "   {DIM}{line:>6} │{DIM:#} {}", escape(text))?;
            }
        }
    }
    writeln!(out)
}
