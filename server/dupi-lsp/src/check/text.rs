//! The report for people: the worst classes with a preview, a line that proves what was scanned, and what fails.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use dupi::index::Changes;
use dupi::locate::Place;
use dupi::output::Ends;
use dupi::text::LineIndex;
use dupi::{Kind, Report, SkipReason};

use super::findings::{Finding, Findings, News};
use super::policy::advice;
use crate::terminal::{count, escape, grouped, tally};

/// Lines of code shown of each class.
const PREVIEW_LINES: u32 = 6;
/// Characters shown of each line.
const PREVIEW_WIDTH: usize = 110;
/// Differences named of each class, and characters of each side of one.
const MAX_DIFFERENCES: usize = 4;
const DIFFERENCE_WIDTH: usize = 32;
/// Copies listed of each class.
const MAX_COPIES: usize = 12;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PATH: Style = AnsiColor::Cyan.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();

fn colour(kind: Kind) -> Style {
    match kind {
        Kind::Exact => AnsiColor::Red.on_default(),
        Kind::Renamed => AnsiColor::Yellow.on_default(),
        Kind::Near => AnsiColor::Blue.on_default(),
    }
}

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let report = findings.report;
    let shown = &findings.shown[..findings.shown.len().min(findings.manner.top)];
    for (n, finding) in (1..).zip(shown) {
        write_class(out, n, finding)?;
    }
    let more = findings.shown.len() - shown.len();
    if more > 0 {
        writeln!(out, "{DIM}… and {} more (--top all shows them){DIM:#}\n", count(more as u64, "class", "classes"))?;
    }
    if findings.manner.list_skipped {
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
    write_summary(out, findings)?;
    if let Some(changes) = &findings.manner.changes {
        write_reuse(out, changes)?;
    }
    write_verdict(out, findings)
}

/// Was a file written by this module? Near its end it says what was scanned.
pub fn is_text(ends: &Ends) -> bool {
    let is_summary =
        |line: &str| line.starts_with("scanned ") && [" file", " line", ") in "].iter().all(|part| line.contains(part));
    String::from_utf8_lossy(&ends.last).lines().any(is_summary)
}

fn write_verdict(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let verdict = &findings.verdict;
    for failure in &verdict.failures {
        writeln!(out, "{BAD}failed{BAD:#}: {}", escape(failure))?;
    }
    if !verdict.passed() {
        writeln!(out, "{DIM}what to do: {}{DIM:#}", advice(findings.compared.is_some()))?;
    } else if verdict.is_gate {
        let compared = findings.compared.as_ref().map(|compared| format!(": nothing new, compared with {compared}"));
        writeln!(out, "{GOOD}passed{GOOD:#}{}", escape(&compared.unwrap_or_default()))?;
    }
    Ok(())
}

fn write_class(out: &mut dyn Write, n: usize, finding: &Finding) -> io::Result<()> {
    let class = finding.class;
    let kind = colour(class.kind);
    let lines = count(u64::from(finding.lines()), "line", "lines");
    write!(out, "{BOLD}{n}. {lines} in {} places{BOLD:#} · ", class.copies.len())?;
    write!(out, "{kind}{}{kind:#}", class.kind.name())?;
    if class.kind != Kind::Exact {
        write!(out, " {:.0} %", (class.similarity * 100.0).floor())?;
    }
    let zone = if class.zone == dupi::Zone::Code { String::new() } else { format!(" · {}", class.zone.name()) };
    let news = match finding.news {
        None => String::new(),
        Some(News::New) => format!(" · {BAD}new{BAD:#}"),
        Some(News::More { before }) => format!(" · {BAD}{} more{BAD:#}", class.copies.len().saturating_sub(before)),
        Some(News::Edited { .. }) => " · edited".to_owned(),
    };
    writeln!(out, " · {} tokens{zone}{news} {DIM}· {}{DIM:#}", class.tokens, finding.id())?;
    let oldest = finding.oldest();
    let mut copies: Vec<usize> = (0..finding.places.len()).collect();
    // What the change has touched comes first: that is what can be changed now.
    copies.sort_by_key(|&copy| !finding.is_touched(copy));
    for &copy in copies.iter().take(MAX_COPIES) {
        let (first, last) = finding.line_numbers(copy);
        write!(out, "   {PATH}{}{PATH:#}:{first}-{last}", escape(finding.path(copy)))?;
        if finding.is_touched(copy) {
            write!(out, " {BAD}← in this change{BAD:#}")?;
        }
        if let Some(brought) = finding.brought.get(copy).and_then(Option::as_ref) {
            let oldest = if oldest == Some(copy) { ", the oldest" } else { "" };
            write!(out, "  {DIM}{}{oldest}{DIM:#}", escape(&brought.to_string()))?;
        }
        writeln!(out)?;
    }
    if class.copies.len() > MAX_COPIES {
        writeln!(out, "   {DIM}… and {} more{DIM:#}", class.copies.len() - MAX_COPIES)?;
    }
    if let [first, second, ..] = copies[..] {
        write_differences(out, &finding.differences(&[first, second]).unwrap_or_default())?;
    }
    if let Some((copy, text)) = copies.first().and_then(|&copy| Some((copy, finding.text(copy)?))) {
        preview(out, &text, &finding.places[copy])?;
    }
    writeln!(out)
}

/// What differs between the first two copies: "a → b, + only in the second, − only in the first".
fn write_differences(out: &mut dyn Write, table: &[Vec<String>]) -> io::Result<()> {
    let mut told: Vec<String> = Vec::new();
    for row in table {
        let clip = |text: &String| {
            let cut: String = text.chars().take(DIFFERENCE_WIDTH).collect();
            if cut.len() < text.len() { format!("{cut}…") } else { cut }
        };
        let words = match &row[..] {
            [first, second] if first.is_empty() => format!("+ {}", clip(second)),
            [first, second] if second.is_empty() => format!("− {}", clip(first)),
            [first, second] => format!("{} → {}", clip(first), clip(second)),
            _ => continue,
        };
        if !told.contains(&words) {
            told.push(words);
        }
    }
    let Some(more) = told.len().checked_sub(1).map(|_| told.len().saturating_sub(MAX_DIFFERENCES)) else {
        return Ok(());
    };
    told.truncate(MAX_DIFFERENCES);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    writeln!(out, "   {DIM}differs: {}{more}{DIM:#}", escape(&told.join(", ")))
}

/// The first lines of a copy, without the indent that they share.
fn preview(out: &mut dyn Write, bytes: &[u8], place: &Place) -> io::Result<()> {
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

fn write_summary(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let (report, summary) = (findings.report, &findings.summary);
    if report.classes.is_empty() {
        writeln!(out, "{BOLD}no duplicated code{BOLD:#}")?;
    } else {
        let zones: Vec<String> =
            summary.zones.iter().map(|(zone, n, _)| format!("{} in {}", grouped(*n as u64), zone.name())).collect();
        let all = if findings.compared.is_some() { "in all: " } else { "" };
        writeln!(
            out,
            "{all}{BOLD}{}{BOLD:#} ({}) with {}: {} duplicated, {:.1} %",
            count(report.classes.len() as u64, "class", "classes"),
            zones.join(", "),
            count(summary.copies as u64, "copy", "copies"),
            count(summary.duplicated_lines, "line", "lines"),
            summary.percent(),
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
        findings.manner.took.as_secs_f64(),
        skipped(report),
    )
}

/// How much the index has saved, if anything.
fn write_reuse(out: &mut dyn Write, changes: &Changes) -> io::Result<()> {
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
