//! `dupi-lsp similar --by containment`: how much of a file stands in another.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, anyhow};
use dupi::containment::{Contained, MAX_FILES, Other, TOP, most_contained_first};
use dupi::index::Workspace;
use serde::Serialize;

use super::{Arguments, Format};
use crate::terminal::{csv_field, escape, grouped, unless_closed, write_json};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PATH: Style = AnsiColor::Cyan.on_default();

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    chunks: u32,
    /// Of these, the ones in too many files to count for any two.
    common: u32,
    others: Vec<JsonOther<'a>>,
}

#[derive(Serialize)]
struct JsonOther<'a> {
    path: &'a str,
    /// Its own.
    chunks: u32,
    shared: u32,
    /// The share of the file that stands in the other, and the other way round.
    share: f64,
    #[serde(rename = "shareOfOther")]
    share_of_other: f64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workspace = arguments.query.workspace()?;
    let shown = arguments.file.as_deref().map(|file| shown(file, &workspace)).transpose()?;
    let settings = &workspace.settings;
    arguments.query.ask(&workspace, |index| {
        let files = match &shown {
            Some(shown) => {
                let top = if arguments.format == Format::Text { arguments.top.0.min(TOP) } else { TOP };
                let contained = index.snapshot().contained(shown, settings, top);
                vec![contained.ok_or_else(|| {
                    anyhow!("{shown} is no source that is looked at: `dupi-lsp check --skipped` may say why")
                })?]
            }
            None => {
                let mut files = index.containment(settings)?;
                files.retain(|file| file.chunks >= arguments.min_chunks);
                most_contained_first(&mut files);
                files
            }
        };
        let mut out = anstream::stdout().lock();
        Ok(unless_closed(match arguments.format {
            Format::Json => write_json(&mut out, &files.iter().map(json).collect::<Vec<_>>()),
            Format::Csv => csv(&mut out, &files),
            Format::Text if shown.is_some() => text_of_one(&mut out, &files[0], arguments.top.0),
            Format::Text => text(&mut out, &files, arguments.top.0),
        })?)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The file as the index names it.
fn shown(file: &Path, workspace: &Workspace) -> Result<String> {
    let path = file.canonicalize().with_context(|| format!("cannot read {}", file.display()))?;
    Ok(dupi::files::show(path.strip_prefix(&workspace.root).unwrap_or(&path)))
}

/// Four digits are enough to tell shares apart, and to read.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// Not rounded up: 100 % is all of it.
fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).floor())
}

fn json(file: &Contained) -> JsonFile<'_> {
    let other = |other: &'_ Other| (rounded(file.share(other)), rounded(other.share_of()));
    let others = file.others.iter().map(|of| {
        let (share, share_of_other) = other(of);
        JsonOther { path: &of.shown, chunks: of.chunks, shared: of.shared, share, share_of_other }
    });
    JsonFile { path: &file.shown, chunks: file.chunks, common: file.common, others: others.collect() }
}

fn csv(out: &mut impl Write, files: &[Contained]) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    writeln!(out, "path,chunks,other,other_chunks,shared,share,share_of_other")?;
    for file in files {
        let JsonFile { path, chunks, others, .. } = json(file);
        for JsonOther { path: other, chunks: other_chunks, shared, share, share_of_other } in others {
            let (path, other) = (csv_field(path), csv_field(other));
            writeln!(out, "{path},{chunks},{other},{other_chunks},{shared},{share},{share_of_other}")?;
        }
    }
    out.flush()
}

fn text(out: &mut impl Write, files: &[Contained], top: usize) -> io::Result<()> {
    let contained: Vec<(&Contained, &Other)> =
        files.iter().filter_map(|file| file.others.first().map(|other| (file, other))).collect();
    for (file, other) in contained.iter().take(top) {
        let share = percent(file.share(other));
        write!(
            out,
            "{BOLD}{share:>6}{BOLD:#} of {PATH}{}{PATH:#} in {PATH}{}{PATH:#}",
            escape(&file.shown),
            escape(&other.shown)
        )?;
        let back = percent(other.share_of());
        writeln!(
            out,
            "{DIM}, {back} of that in it: {} of {} chunks{DIM:#}",
            grouped(other.shared.into()),
            grouped(file.chunks.into())
        )?;
    }
    if contained.is_empty() {
        writeln!(out, "no two files share anything")?;
    }
    if contained.len() > top {
        writeln!(out, "{DIM}… and {} more (--top all shows them){DIM:#}", grouped((contained.len() - top) as u64))?;
    }
    Ok(())
}

fn text_of_one(out: &mut impl Write, file: &Contained, top: usize) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}: {} chunks", escape(&file.shown), grouped(file.chunks.into()))?;
    for other in file.others.iter().take(top) {
        let (share, back) = (percent(file.share(other)), percent(other.share_of()));
        write!(out, "{BOLD}{share:>6}{BOLD:#} in {PATH}{}{PATH:#}", escape(&other.shown))?;
        writeln!(out, "{DIM}, {back} of that in it: {} chunks{DIM:#}", grouped(other.shared.into()))?;
    }
    if file.others.is_empty() {
        writeln!(out, "no other file has any of them")?;
    }
    if file.common > 0 {
        writeln!(
            out,
            "{DIM}{} of its chunks stand in more than {MAX_FILES} files and count for none{DIM:#}",
            grouped(file.common.into())
        )?;
    }
    Ok(())
}
