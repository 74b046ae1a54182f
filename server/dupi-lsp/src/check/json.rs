//! The JSON report, version 1. Its schema is `server/dupi-lsp/schema/report.v1.json`; a test holds the two together.

use std::io::{self, Write};

use dupi::SkipReason;
use serde::Serialize;

use super::findings::Findings;
use crate::terminal::write_json;

/// Copies of a class that its table of differences has columns for: who wants more compares these first.
const MAX_COMPARED: usize = 16;

/// Changes when a field changes its meaning or goes.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct JsonReport<'a> {
    version: u32,
    tool: Tool,
    root: String,
    scanned: Scanned<'a>,
    /// With what it was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a str>,
    /// Only where somebody has set a limit or compares with something: else the classes say all.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<Gate<'a>>,
    classes: Vec<JsonClass<'a>>,
    summary: JsonSummary,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Gate<'a> {
    passed: bool,
    failures: &'a [String],
    notes: &'a [String],
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
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<usize>,
    copies: Vec<JsonCopy<'a>>,
    /// Only if asked for: rows of texts, one for each of the first copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<Vec<String>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonCopy<'a> {
    path: &'a str,
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    touched: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<JsonCommit<'a>>,
}

#[derive(Serialize)]
struct JsonCommit<'a> {
    id: &'a str,
    date: &'a str,
    author: &'a str,
    summary: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonSummary {
    classes: usize,
    copies: usize,
    duplicated_lines: u64,
    percent: f64,
    unreadable: usize,
}

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let report = findings.report;
    let classes = findings.shown.iter().map(|finding| JsonClass {
        id: finding.id(),
        kind: finding.class.kind.name(),
        zone: finding.class.zone.name(),
        language: finding.file(0).language.name,
        tokens: finding.class.tokens,
        lines: finding.lines(),
        similarity: (finding.class.similarity * 1e4).round() / 1e4,
        status: finding.news.map(|news| news.name()),
        before: finding.news.map(|news| news.before()),
        copies: finding
            .places
            .iter()
            .enumerate()
            .map(|(copy, place)| JsonCopy {
                path: finding.path(copy),
                start_line: place.start.line + 1,
                start_column: place.start.column + 1,
                end_line: place.end.line + 1,
                end_column: place.end.column + 1,
                touched: finding.touched.get(copy).copied(),
                commit: finding.brought.get(copy).and_then(Option::as_ref).map(|brought| JsonCommit {
                    id: &brought.commit,
                    date: &brought.date,
                    author: &brought.author,
                    summary: &brought.summary,
                }),
            })
            .collect(),
        differences: findings.manner.differences.then(|| {
            let first: Vec<usize> = (0..finding.places.len().min(MAX_COMPARED)).collect();
            finding.differences(&first).unwrap_or_default()
        }),
    });
    let verdict = &findings.verdict;
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
        compared: findings.compared.as_deref(),
        gate: verdict.is_gate.then(|| Gate {
            passed: verdict.passed(),
            failures: &verdict.failures,
            notes: &verdict.notes,
        }),
        classes: classes.collect(),
        summary: JsonSummary {
            classes: report.classes.len(),
            copies: findings.summary.copies,
            duplicated_lines: findings.summary.duplicated_lines,
            percent: (findings.summary.percent() * 100.0).round() / 100.0,
            unreadable: report.skipped.iter().filter(|skip| skip.reason == SkipReason::Unreadable).count(),
        },
    };
    write_json(out, &json)
}
