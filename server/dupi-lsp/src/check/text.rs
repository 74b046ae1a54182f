//! The report for people: the worst classes with a preview, and one last line that proves what was scanned.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use dupi::index::Changes;
use dupi::locate::{Place, locate};
use dupi::text::LineIndex;
use dupi::{Class, Kind, Report, SkipReason};

use super::summary::Summary;
use crate::terminal::{count, escape, grouped, tally};

/// Lines of code shown of each class.
const PREVIEW_LINES: u32 = 6;
/// Characters shown of each line.
const PREVIEW_WIDTH: usize = 110;
/// Copies listed of each class.
const MAX_COPIES: usize = 12;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PATH: Style = AnsiColor::Cyan.on_default();

fn colour(kind: Kind) -> Style {
    match kind {
        Kind::Exact => AnsiColor::Red.on_default(),
        Kind::Renamed => AnsiColor::Yellow.on_default(),
        Kind::Near => AnsiColor::Blue.on_default(),
    }
}

pub fn write(out: &mut impl Write, report: &Report, top: usize, skipped: bool, took: Duration) -> io::Result<()> {
    let shown = &report.classes[..report.classes.len().min(top)];
    let places = locate(&report.files, shown);
    for (i, (class, places)) in shown.iter().zip(&places).enumerate() {
        write_class(out, report, i + 1, class, places)?;
    }
    let more = report.classes.len() - shown.len();
    if more > 0 {
        writeln!(out, "{DIM}… and {} more (--top all shows them){DIM:#}\n", count(more as u64, "class", "classes"))?;
    }
    if skipped {
        for skip in &report.skipped {
            writeln!(out, "skipped {}: {}", escape(&skip.path), skip.reason)?;
        }
        if !report.skipped.is_empty() {
            writeln!(out)?;
        }
    }
    if report.files.is_empty() {
        return Ok(());
    }
    write_summary(out, report, took)
}

fn write_class(out: &mut impl Write, report: &Report, n: usize, class: &Class, places: &[Place]) -> io::Result<()> {
    let kind = colour(class.kind);
    let lines = places.iter().map(Place::lines).max().unwrap_or(class.lines);
    write!(out, "{BOLD}{n}. {} in {} places{BOLD:#} · ", count(u64::from(lines), "line", "lines"), class.copies.len())?;
    write!(out, "{kind}{}{kind:#}", class.kind.name())?;
    if class.kind != Kind::Exact {
        write!(out, " {:.0} %", (class.similarity * 100.0).floor())?;
    }
    let zone = if class.zone == dupi::Zone::Code { String::new() } else { format!(" · {}", class.zone.name()) };
    writeln!(out, " · {} tokens{zone} {DIM}· {:016x}{DIM:#}", class.tokens, class.id)?;
    for (copy, place) in class.copies.iter().zip(places).take(MAX_COPIES) {
        let path = escape(&report.files[copy.document as usize].shown);
        writeln!(out, "   {PATH}{path}{PATH:#}:{}-{}", place.start.line + 1, place.end.line + 1)?;
    }
    if class.copies.len() > MAX_COPIES {
        writeln!(out, "   {DIM}… and {} more{DIM:#}", class.copies.len() - MAX_COPIES)?;
    }
    if let (Some(copy), Some(place)) = (class.copies.first(), places.first()) {
        let bytes = std::fs::read(&report.files[copy.document as usize].path).unwrap_or_default();
        preview(out, &bytes, place)?;
    }
    writeln!(out)
}

/// The first lines of a copy, without the indent that they share.
fn preview(out: &mut impl Write, bytes: &[u8], place: &Place) -> io::Result<()> {
    let index = LineIndex::new(bytes);
    let last = place.end.line.min(place.start.line + PREVIEW_LINES - 1);
    let lines: Vec<String> =
        (place.start.line..=last).map(|line| String::from_utf8_lossy(index.line(line)).replace('\t', "    ")).collect();
    let indent = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    for (number, line) in (place.start.line + 1..).zip(&lines) {
        let cut: String = line.get(indent..).unwrap_or("").chars().take(PREVIEW_WIDTH).collect();
        writeln!(out, "   {DIM}{number:>6} │{DIM:#} {}", escape(&cut))?;
    }
    if place.end.line > last {
        writeln!(out, "   {DIM}       ⋮{DIM:#}")?;
    }
    Ok(())
}

fn write_summary(out: &mut impl Write, report: &Report, took: Duration) -> io::Result<()> {
    let summary = Summary::new(report);
    if report.classes.is_empty() {
        writeln!(out, "{BOLD}no duplicated code{BOLD:#}")?;
    } else {
        let zones: Vec<String> =
            summary.zones.iter().map(|(zone, n)| format!("{} in {}", grouped(*n as u64), zone.name())).collect();
        writeln!(
            out,
            "{BOLD}{}{BOLD:#} ({}) with {}: {} duplicated, {:.1} %",
            count(report.classes.len() as u64, "class", "classes"),
            zones.join(", "),
            count(summary.copies as u64, "copy", "copies"),
            count(summary.duplicated_lines, "line", "lines"),
            summary.percent(report),
        )?;
    }
    let mut languages: BTreeMap<&str, u64> = BTreeMap::new();
    for file in &report.files {
        *languages.entry(file.language.name).or_default() += 1;
    }
    writeln!(
        out,
        "scanned {}, {} ({}) in {:.2} s{}",
        count(report.files.len() as u64, "file", "files"),
        count(report.lines(), "line", "lines"),
        tally(languages),
        took.as_secs_f64(),
        skipped(report),
    )
}

/// How much the index has saved, if anything.
pub fn write_reuse(out: &mut impl Write, changes: &Changes) -> io::Result<()> {
    let n_read = changes.added + changes.changed + changes.touched;
    match (changes.same, n_read) {
        (0, _) => Ok(()),
        (_, 0) => writeln!(out, "{DIM}index: no file read, all known{DIM:#}"),
        (_, n) => writeln!(out, "{DIM}index: {} read, all others known{DIM:#}", count(n as u64, "file", "files")),
    }
}

/// "; skipped 12: 10 generated, 2 minified", or nothing.
pub fn skipped(report: &Report) -> String {
    let mut reasons: BTreeMap<SkipReason, u64> = BTreeMap::new();
    for skip in &report.skipped {
        *reasons.entry(skip.reason).or_default() += 1;
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut reasons: Vec<(SkipReason, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(reason, n)| (std::cmp::Reverse(*n), *reason));
    let reasons: Vec<String> = reasons.into_iter().map(|(reason, n)| format!("{} {reason}", grouped(n))).collect();
    format!("; skipped {}: {}", grouped(report.skipped.len() as u64), reasons.join(", "))
}
