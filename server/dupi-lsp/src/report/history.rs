//! Earlier runs: the figures that the trend needs, out of what `--check --format json` wrote then.

use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result};
use dupi::regular;
use serde::{Deserialize, Serialize};

/// A report with a million classes has some hundred megabytes.
const MAX_REPORT: u64 = 1 << 30;

/// A run as the page shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The name of the file, without its extension.
    label: String,
    files: u64,
    lines: u64,
    classes: u64,
    copies: u64,
    duplicated_lines: u64,
    percent: f64,
}

/// What is read of a JSON report: a part that has not changed since its first version.
#[derive(Deserialize)]
struct Earlier {
    scanned: Scanned,
    summary: Figures,
}

#[derive(Deserialize)]
struct Scanned {
    files: u64,
    lines: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    classes: u64,
    copies: u64,
    duplicated_lines: u64,
    percent: f64,
}

pub fn read(path: &Path) -> Result<Run> {
    let shown = path.display();
    let (file, _) = regular::open(path, MAX_REPORT).with_context(|| format!("cannot read {shown} of `--history`"))?;
    let earlier: Earlier = serde_json::from_reader(BufReader::new(file))
        .with_context(|| format!("{shown} of `--history` is no report by `--check --format json`"))?;
    let Earlier { scanned, summary } = earlier;
    Ok(Run {
        label: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        files: scanned.files,
        lines: scanned.lines,
        classes: summary.classes,
        copies: summary.copies,
        duplicated_lines: summary.duplicated_lines,
        percent: summary.percent,
    })
}
