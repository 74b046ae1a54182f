//! The JSON report, version 1. Its schema is `server/dupi-lsp/schema/report.v1.json`; a test holds the two together.

use std::io::{self, Write};

use dupi::Report;
use dupi::locate::Place;
use serde::Serialize;

use super::summary::Summary;
use crate::terminal::write_json;

/// Changes when a field changes its meaning or goes.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct JsonReport<'a> {
    version: u32,
    tool: Tool,
    root: String,
    scanned: Scanned<'a>,
    classes: Vec<JsonClass<'a>>,
    summary: JsonSummary,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Scanned<'a> {
    files: usize,
    lines: u64,
    bytes: u64,
    tokens: u64,
    skipped: Vec<JsonSkip<'a>>,
}

#[derive(Serialize)]
struct JsonSkip<'a> {
    path: &'a str,
    reason: &'static str,
}

#[derive(Serialize)]
struct JsonClass<'a> {
    id: String,
    kind: &'static str,
    zone: &'static str,
    language: &'static str,
    tokens: u32,
    lines: u32,
    similarity: f64,
    copies: Vec<JsonCopy<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonCopy<'a> {
    path: &'a str,
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonSummary {
    classes: usize,
    copies: usize,
    duplicated_lines: u64,
    percent: f64,
}

/// `places` are those of all copies, in the order of the classes.
pub fn write(out: &mut impl Write, report: &Report, places: &[Vec<Place>]) -> io::Result<()> {
    let summary = Summary::new(report);
    let classes = report.classes.iter().zip(places).map(|(class, places)| JsonClass {
        id: format!("{:016x}", class.id),
        kind: class.kind.name(),
        zone: class.zone.name(),
        language: report.files[class.copies[0].document as usize].language.name,
        tokens: class.tokens,
        lines: places.iter().map(Place::lines).max().unwrap_or(class.lines),
        similarity: (class.similarity * 1e4).round() / 1e4,
        copies: class
            .copies
            .iter()
            .zip(places)
            .map(|(copy, place)| JsonCopy {
                path: &report.files[copy.document as usize].shown,
                start_line: place.start.line + 1,
                start_column: place.start.column + 1,
                end_line: place.end.line + 1,
                end_column: place.end.column + 1,
            })
            .collect(),
    });
    let json = JsonReport {
        version: VERSION,
        tool: Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
        root: dupi::files::show(&report.root),
        scanned: Scanned {
            files: report.files.len(),
            lines: report.lines(),
            bytes: report.bytes(),
            tokens: report.tokens(),
            skipped: report
                .skipped
                .iter()
                .map(|skip| JsonSkip { path: &skip.path, reason: skip.reason.name() })
                .collect(),
        },
        classes: classes.collect(),
        summary: JsonSummary {
            classes: report.classes.len(),
            copies: summary.copies,
            duplicated_lines: summary.duplicated_lines,
            percent: (summary.percent(report) * 100.0).round() / 100.0,
        },
    };
    write_json(out, &json)
}
