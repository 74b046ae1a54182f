//! Annotations of a GitHub workflow: commands in its log, one a line.
//!
//! A path or a message must not start a command of its own, so both are escaped as the runner's own toolkit does it.

use std::io::{self, Write};

use super::findings::Findings;
use crate::terminal::inline;

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    for finding in &findings.shown {
        // Few annotations are shown of each step: without a change to look at, one for each class must do.
        let copies = finding.spoken_of();
        let n = if finding.touched.is_empty() { 1 } else { copies.len() };
        for copy in copies.into_iter().take(n) {
            let command = if finding.is_minor() { "notice" } else { "warning" };
            let path = property(&findings.repository.path(finding.path(copy)));
            let (first, last) = finding.line_numbers(copy);
            let message = data(&finding.message(copy));
            let title = format!("Duplicated code ({})", finding.class.kind.name());
            writeln!(out, "::{command} file={path},line={first},endLine={last},title={title}::{message}")?;
        }
    }
    for failure in &findings.verdict.failures {
        writeln!(out, "::error title=dupi-lsp::{}", data(failure))?;
    }
    Ok(())
}

/// What stands behind the second `::`.
fn data(text: &str) -> String {
    inline(text).replace('%', "%25")
}

/// The value of a property.
fn property(text: &str) -> String {
    inline(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}
