//! `dupi-lsp similar --by simhash`: files, or functions, of which few bits differ.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use dupi::index::Workspace;
use dupi::search::File;
use dupi::simhash::prints::{Grain, Print, Weighting};
use dupi::simhash::{BLOCKS, Blocking, DISTANCE, Held, Near, Sketches, Sketching};
use serde::Serialize;

use super::{Arguments, Format};
use crate::terminal::{count, csv_field, escape, grouped, unless_closed, write_json};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PATH: Style = AnsiColor::Cyan.on_default();

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Weights {
    /// Each run of tokens counts as often as it is there
    Tf,
    /// … and the less, the more files have it
    TfIdf,
}

#[derive(clap::Args)]
#[command(next_help_heading = "By simhash")]
pub struct SimhashArguments {
    /// How many of 64 bits may differ
    #[arg(long, value_name = "D", default_value_t = DISTANCE)]
    distance: u32,
    /// In how many blocks hashes are cut to find them: more than D; more of them compare less and sort more
    #[arg(long, value_name = "B", default_value_t = BLOCKS)]
    blocks: u32,
    /// Compare functions instead of files
    #[arg(long)]
    functions: bool,
    /// What counts
    #[arg(long, value_enum, default_value = "tf")]
    weights: Weights,
}

impl SimhashArguments {
    fn sketching(&self, min_tokens: u32) -> Result<Sketching> {
        let blocking = Blocking::new(self.distance, self.blocks)
            .map_err(|problem| anyhow!("`--distance`, `--blocks`: {problem}"))?;
        let grain = if self.functions { Grain::Functions } else { Grain::Files };
        let weighting = match self.weights {
            Weights::Tf => Weighting::Tf,
            Weights::TfIdf => Weighting::TfIdf,
        };
        Ok(Sketching { grain, weighting, min_tokens, blocking })
    }
}

#[derive(Serialize)]
struct JsonPlace<'a> {
    path: &'a str,
    /// From 1, inclusive.
    #[serde(rename = "startLine")]
    start_line: u32,
    #[serde(rename = "endLine")]
    end_line: u32,
}

#[derive(Serialize)]
struct JsonNear<'a> {
    distance: u32,
    left: Vec<JsonPlace<'a>>,
    /// None, if all have the same hash.
    right: Vec<JsonPlace<'a>>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workspace = arguments.query.workspace()?;
    let sketching = arguments.simhash.sketching(workspace.settings.min_tokens)?;
    arguments.query.ask(&workspace, |index| {
        let (files, sketches) = index.sketches(&sketching)?;
        let near = match &arguments.file {
            Some(file) => near_to(file, &files, &sketches, &sketching, &workspace)?,
            None => sketches.all(),
        };
        let out = &mut anstream::stdout().lock();
        Ok(unless_closed(match arguments.format {
            Format::Json => write_json(out, &near.iter().map(|near| json(near, &files)).collect::<Vec<_>>()),
            Format::Csv => csv(out, &near, &files),
            Format::Text => text(out, &near, &files, arguments.top.0, &sketching, sketches.len()),
        })?)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What is near a file, or near its functions.
fn near_to(
    file: &Path,
    files: &[File],
    sketches: &Sketches,
    sketching: &Sketching,
    workspace: &Workspace,
) -> Result<Vec<Near>> {
    let path = file.canonicalize().with_context(|| format!("cannot read {}", file.display()))?;
    let shown = dupi::files::show(path.strip_prefix(&workspace.root).unwrap_or(&path));
    let Ok(document) = files.binary_search_by(|known| known.shown.as_str().cmp(&shown)) else {
        bail!("{shown} is no source that is looked at: `dupi-lsp check --skipped` may say why");
    };
    let document = document as u32;
    let prints = sketches.of(document);
    if prints.is_empty() {
        let what = if sketching.grain == Grain::Files { "it" } else { "each of its functions" };
        bail!("{shown}: {what} has less than {} tokens: `--min-tokens` says what is enough", sketching.min_tokens);
    }
    let mut near: Vec<Near> = Vec::new();
    for Print { lines, hash } in prints {
        let itself = Held { document, line: lines.start, end: lines.end };
        let others = sketches.near(*hash).into_iter().filter(|(_, held)| *held != itself);
        near.extend(others.map(|(distance, held)| Near { distance, left: vec![itself], right: vec![held] }));
    }
    near.sort();
    Ok(near)
}

fn place<'a>(held: &Held, files: &'a [File]) -> JsonPlace<'a> {
    let path = files.get(held.document as usize).map_or("", |file| file.shown.as_str());
    JsonPlace { path, start_line: held.line + 1, end_line: held.end }
}

fn json<'a>(near: &Near, files: &'a [File]) -> JsonNear<'a> {
    let places = |held: &[Held]| held.iter().map(|held| place(held, files)).collect();
    JsonNear { distance: near.distance, left: places(&near.left), right: places(&near.right) }
}

/// A row for each place: those of one number are near each other.
fn csv(out: &mut impl Write, near: &[Near], files: &[File]) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    write!(out, "number,distance,side,path,start_line,end_line\r\n")?;
    for (number, Near { distance, left, right }) in (1..).zip(near) {
        for (side, held) in left.iter().map(|held| ("left", held)).chain(right.iter().map(|held| ("right", held))) {
            let JsonPlace { path, start_line, end_line } = place(held, files);
            write!(out, "{number},{distance},{side},{},{start_line},{end_line}\r\n", csv_field(path))?;
        }
    }
    out.flush()
}

fn text(
    out: &mut impl Write,
    near: &[Near],
    files: &[File],
    top: usize,
    sketching: &Sketching,
    n: usize,
) -> io::Result<()> {
    let is_function = sketching.grain == Grain::Functions;
    let places = |held: &[Held]| {
        let one = |held: &Held| {
            let JsonPlace { path, start_line, end_line } = place(held, files);
            let lines = if is_function { format!(":{start_line}-{end_line}") } else { String::new() };
            format!("{PATH}{}{lines}{PATH:#}", escape(path))
        };
        held.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    for Near { distance, left, right } in near.iter().take(top) {
        let bits = if *distance == 1 { "bit" } else { "bits" };
        write!(out, "{BOLD}{distance:>2} {bits:<4}{BOLD:#} {}", places(left))?;
        if right.is_empty() { writeln!(out)? } else { writeln!(out, "  {DIM}~{DIM:#}  {}", places(right))? }
    }
    if near.len() > top {
        writeln!(out, "{DIM}… and {} more (--top all shows them){DIM:#}", grouped((near.len() - top) as u64))?;
    }
    let what = if is_function { ("function", "functions") } else { ("file", "files") };
    let all = count(n as u64, what.0, what.1);
    let pairs = count(near.len() as u64, "pair or group", "pairs or groups");
    writeln!(out, "{DIM}{pairs} within {} bits, of {all}{DIM:#}", sketching.blocking.distance())
}
