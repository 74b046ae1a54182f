//! The page for browsers that `dupi-lsp report` writes, of the classes that are shown.

use std::io::{self, Write};

use dupi::Report;

use super::findings::Findings;
use crate::report::html::{self, Details};

pub fn write(mut out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let Report { root, files, skipped, .. } = findings.report;
    let report = Report {
        root: root.clone(),
        files: files.clone(),
        skipped: skipped.clone(),
        classes: findings.shown.iter().map(|finding| finding.class.clone()).collect(),
        ignored: Vec::new(),
    };
    let places: Vec<_> = findings.shown.iter().map(|finding| finding.places.clone()).collect();
    html::write(&mut out, &report, &places, &Details::default()).map(|_| ())
}
